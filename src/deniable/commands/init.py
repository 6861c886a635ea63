"""`deniable init`: writes an example of a study, and answers of simulated people to try it with."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import FILE

EXAMPLE = """\
# A study: what is asked, and how much one report may give away. Make a plan of it with
#   deniable plan study.toml --people 50000 -o plan.json

title = "How people come to work"

# The privacy budget of one report: no report is more than e^epsilon times likelier from one person than
# from another.
epsilon = 1.0

# What epsilon is about: the whole "record" (any two people), or one "attribute" (two people who differ in
# it only).
per = "record"

# A missing answer: "refuse" it, make it a "value" of its own ("no answer"), or answer at "random".
missing = "refuse"

# Everything below is chosen by the least error unless it is named.
# mechanism = "sample"  # or "split", "faked"
# protocol = "grr"      # for all attributes; see: deniable protocols

[attributes]
transport = ["car", "train", "bus", "bicycle", "on foot"]

[attributes.satisfied]
values = ["yes", "no"]
# protocol = "grr"      # for this attribute only

[attributes.minutes]    # numbers, in bins: 0 to under 10, 10 to under 20, ...
low = 0
high = 120
step = 10
open_high = true        # 120 and above count in the last bin, so that there is a median, and no mean

# More kinds of questions (docs: Questions); any may have missing = true, and only_if = { satisfied = "no" }.
# [attributes.media]
# several = ["tv", "radio", "web"]           # all that apply: as much budget as three questions
# [attributes.mood]
# scale = [1, 7]
# ends = ["not at all", "very much"]
# [attributes.moved]
# dates = ["2020-01-01", "2026-12-31"]
# by = "year"
# [attributes.salary]
# low = 0
# high = 65536
# step = 1
# queries = "ranges"    # shares of any range, and the median, in place of shares of single values

# What nobody can list; deniable discover finds what many people have (docs: Values nobody listed).
# [attributes.site]
# alphabet = "a-z0-9.-"
# longest = 10
# [attributes.device]
# bits = 48             # a number from 0 to 2^48 - 1

# What is ordered, or a location, can have an epsilon of its own, per unit of distance: near answers are
# hidden best.
# [attributes.age]
# low = 0
# high = 100
# step = 1
# privacy = "metric"
# epsilon = 0.3         # per unit, here per year; the epsilon above is shared by all others. Decades of
#                       # 5,000 people can be read at 0.3; at 0.1 only their mean can. A device counts
#                       # the whole range, 29.7 here, and refuses more than 4 unless its person allows it.
# [attributes.home]     # two columns of the data, home.latitude and home.longitude; or one, "47.64, 6.86"
# south = 47.60
# west = 6.80
# north = 47.70
# east = 6.95
# rows = 20
# columns = 20
# level = 2.0           # at most this is lost about two locations ...
# radius = 2000         # ... this number of meters apart

# [attributes.income]   # a number, of which the mean is wanted
# low = 0
# high = 10000
# open_high = true      # more counts as 10000
# mean = true

# [objective]           # limits on what may be chosen
# success_cap = 0.5     # no attacker's best guess of an answer may be right more often
# bytes_cap = 16        # no report may take more bytes
# influence_cap = 5     # no fake report may count for more people
# worst = true          # the largest error of any question is to be small

# To ask the same people again and again, leave out epsilon and per, and give instead:
# [repeat]
# epsilon_first = 0.5   # one report
# epsilon_forever = 1.0 # any number of reports of an answer that does not change
# rounds = 4            # a device counts what answers that change give away in all of them
"""


PEOPLE = 50_000
"""How many people there are in the answers that go with the example."""


@click.command("init")
@click.argument("study", type=FILE, default=Path("study.toml"))
@click.option(
    "--data",
    type=FILE,
    help=f"Also write the answers of {PEOPLE:,} simulated people to this CSV file.",
)
@console.force
def write_example(study: Path, data: Path | None, force: bool) -> None:
    """Write an example of a study.

    STUDY is a commented TOML file to edit, study.toml unless named otherwise.
    """
    from deniable.frames import replacing

    if data is not None:
        console.refuse_ending(data, [".csv"], "simulated data")
    console.refuse_existing([study, *([data] if data else [])], force)
    with replacing(study) as temporary:
        temporary.write_text(EXAMPLE, encoding="utf-8")
    if data is not None:
        with replacing(data) as temporary:
            temporary.write_text(_simulate_answers(PEOPLE), encoding="utf-8")
        click.echo(f"wrote {data}, with simulated people")
    click.echo(f"wrote {study}; next: deniable plan {study} --people 50000 -o plan.json")


def _simulate_answers(people: int) -> str:
    """Simulates answers: 45 % come by car, 70 % are satisfied, few take more than an hour."""
    transport = ["car"] * 45 + ["train"] * 20 + ["bus"] * 15 + ["bicycle"] * 12 + ["on foot"] * 8
    satisfied = ["yes"] * 7 + ["no"] * 3
    minutes = [5 + 90 * i * i // 10**6 for i in range(1000)]
    rows = (
        f"{transport[i % 100]},{satisfied[i // 100 % 10]},{minutes[i * 617 % 1000]}\n" for i in range(people)
    )
    return "transport,satisfied,minutes\n" + "".join(rows)
