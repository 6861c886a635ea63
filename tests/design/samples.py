"""Two study files for the design page: a few questions, and every kind of question on two pages."""

from __future__ import annotations

from spec.make.questionnaires import TABLES

TEXT = """\
# Written by hand.
title = "Town"
epsilon = 2.0  # for a year

[attributes.smokes]
values = ["yes", "no"]
question = { en = "Do you smoke?", de = "Rauchen Sie?" }

[attributes.age]
low = 18
high = 98
step = 1
privacy = "metric"
epsilon = 0.3

[attributes.pay]
low = 0
high = 10000
open_high = true
mean = true

[survey]
introduction = { en = "Three questions.", de = "Drei Fragen." }
"""
KINDS = f"""\
epsilon = 4

[survey]
pages = [["works", "hours"], ["media", "mood", "born"]]

{TABLES}
[attributes.born]
dates = ["1990-01-01", "2009-12-31"]
by = "year"
missing = "value"
privacy = "metric"
epsilon = 0.5
"""
