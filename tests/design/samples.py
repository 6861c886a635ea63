"""Study files for the design page: a few questions, every kind of question on two pages, and eight."""

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
EIGHT = """\
title = "Life at our company"
epsilon = 1.0

[attributes.sex]
values = ["female", "male", "other"]
question = "What is your sex?"
known = true

[attributes.mood]
scale = [1, 5]
ends = ["never", "always"]
question = "How often did you enjoy your work in the last four weeks?"

[attributes.harassed]
yes_no = true
question = "Were you harassed at work in the last twelve months?"

[attributes.income]
low = 0
high = 8000
step = 1000
open_high = true
question = "What do you earn a month, before taxes?"

[attributes.drugs]
several = ["alcohol", "cannabis", "cocaine", "sleeping pills", "none"]
question = "Which of these did you take in the last week?"

[attributes.medicine]
alphabet = "a-z"
longest = 8
question = "Which medicine do you take most often?"

[attributes.home]
south = 54.0
west = 10.0
north = 54.4
east = 10.8
rows = 8
columns = 10
level = 2
radius = 80000
question = "Where do you live?"

[attributes.joined]
dates = ["2015-01-01", "2025-12-31"]
by = "year"
question = "When did you begin to work here?"
"""
