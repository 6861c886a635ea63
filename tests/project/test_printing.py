"""What people see when they print the objects of the library."""

from __future__ import annotations

import dataclasses
import html
import inspect
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.choose import consider
from deniable.crowd import shuffled
from deniable.formatting import Printed
from deniable.law import Matrix

GRID = dn.Grid(south=40, west=-4, north=41, east=-3, rows=3, columns=2)
FAKED = dn.records.rsrfd([3, 2], 1.0, priors=[[0.5, 0.3, 0.2], [0.5, 0.5]])
STUDY = dn.Study(
    {
        "color": ["red", "green", "blue"],
        "age": dn.Range(0, 100, step=10, open_high=True, privacy="metric", epsilon=0.1),
        "income": dn.Number(0, 10_000),
    },
    epsilon=1.0,
    title="Colors",
)
PRINTED: dict[str, tuple[Any, str]] = {
    "law": (
        dn.oue(16, 1.0).law,
        "Law, 16 values: a report supports the true one with probability 0.5000, any other with 0.2689, "
        "loss 1.0000",
    ),
    "noisy sum": (
        dn.law.Moments(8, 8.0),
        "Law of a noisy sum, 8 values: a report adds noise of variance 8 to each",
    ),
    "matrix": (Matrix.of([[3, 1], [1, 3]]), "Matrix, 2 values, 2 reports: loss 1.0987"),
    "channel": (
        dn.metric.geometric(8, 1.0).law,
        "Channel of Geometric noise, 9 values, 9 reports: loss 1 per step and 8.0000 in the worst case",
    ),
    "study": (
        STUDY,
        "Study · Colors: 3 attributes, epsilon 1 per record\n"
        "  color: 3 values: red, green, blue\n"
        "  age: 10 bins of 10, from 0 to 100 or more, metric (epsilon 0.1 per unit)\n"
        "  income: a number from 0 to 10,000, for its mean",
    ),
    "repeated study": (
        dn.Study({"smokes": ["yes", "no"]}, epsilon_first=1.0, epsilon_forever=2.0),
        "Study: 1 attribute, epsilon 1 for a report, 2 for any number\n  smokes: 2 values: yes, no",
    ),
    "prior": (dn.records.Prior.of([0.5, 0.3, 0.2], 3), "Prior, 3 values: 50 %, 30 %, 20 %"),
    "grid": (GRID, "3 x 2 cells, latitude 40 to 41, longitude -4 to -3, metric"),
    "duchi": (
        dn.metric.duchi(1.0),
        "Duchi, numbers from -1 to 1: a report is one of 2 numbers that are right on average, loss 1.0000, "
        "1 byte a report",
    ),
    "objective": (
        dn.Objective(success_cap=0.2, bytes_cap=10, worst=True),
        "Objective: the least error of the worst attribute, best guess right at most 20 %, "
        "at most 10 bytes a report",
    ),
    "tally": (
        dn.Tally(2000, np.array([10, 1200])),
        "Tally, 2 values: 2,000 reports, counts from 10 to 1,200",
    ),
    "chance": (dn.attack.Chance(0.25, 0.01, exact=False), "25 % (simulated, standard error 1 point)"),
    "event": (
        dn.audit.Event("first byte", 1000, 500, 0.01, claim=1.0),
        "first byte: 500 of 1,000 guesses right, so epsilon is at least 0.0000 (claim 1.0000)",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_object_prints_words_and_numbers_that_people_know(name: str) -> None:
    given, text = PRINTED[name]
    assert str(given) == text


def test_what_depends_on_computations_prints_its_numbers() -> None:
    crowd = shuffled(1.0, 1000)
    assert str(crowd).startswith("Shuffled: epsilon 0.1487 with delta 1e-06 (stronger clones")
    best = consider([10, 2], 1.0, 1000)[0]
    assert str(best).startswith(f"{best.name}, 1,000 people: standard error ")
    assert "loss 1.0000 per record" in str(best)
    assert str(FAKED.marginal(0)).startswith("Marginal law, 3 values: a report supports the true one")


def test_a_choice_that_is_excluded_says_why() -> None:
    out = next(one for one in consider([100, 2], 4.0, 1000, dn.Objective(bytes_cap=2)) if one.why_not)
    assert str(out) == f"{out.name}: excluded, {out.why_not}"


def test_a_notebook_shows_what_is_printed_with_labels_escaped() -> None:
    study = dn.Study({"<b>": ["<script>", "y"]}, epsilon=1.0)
    plan = study.plan(people=10)
    result = plan.estimate(plan.tally(plan.privatize({"<b>": ["y"] * 10}, dn.seeded(1))))
    for shown in (study, plan, plan.loss, plan.mechanism, result, result["<b>"], dn.attack.success(plan)):
        page = shown._repr_html_()
        assert page == f"<pre>{html.escape(str(shown))}</pre>"
        assert page.count("<") == 2
    assert "&lt;b&gt;" in study._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()


def test_tallies_of_a_plan_print_a_line_for_each_attribute() -> None:
    plan = dn.Study({"color": ["red", "green"], "smokes": ["yes", "no"]}, epsilon=1.0).plan(people=100)
    answers = {"color": ["red", "green"] * 50, "smokes": ["yes"] * 100}
    lines = str(plan.tally(plan.privatize(answers))).split("\n")
    assert lines[0] == f"Tallies of 100 records for plan {plan.id[:12]}"
    assert [line.split(":")[0] for line in lines[1:]] == ["  color", "  smokes"]


@pytest.mark.parametrize("fake", [*FAKED.fakes, dn.records.Blank(dn.oue(4, 1.0))])
def test_a_fake_prints_what_it_is(fake: dn.records.Fake) -> None:
    assert str(fake) == f"Fake, {fake.part.k} values: {fake.phrase}"


def test_no_public_class_shows_its_fields() -> None:
    """A dataclass without words of its own prints arrays and fractions, and a notebook shows its `repr`."""
    rooms = [dn, *(member for name in dn.__all__ if inspect.ismodule(member := getattr(dn, name)))]
    members = [getattr(room, name) for room in rooms for name in room.__all__]
    made = [
        member
        for member in members
        if inspect.isclass(member)
        and dataclasses.is_dataclass(member)
        and hasattr(member.__repr__, "__wrapped__")  # made by dataclass
    ]
    assert [member.__name__ for member in made if member.__str__ is object.__str__] == []
    assert [member.__name__ for member in made if not issubclass(member, Printed)] == []


def test_a_client_says_whose_it_is() -> None:
    plan = dn.Study({"color": ["red", "blue"]}, epsilon=1.0).plan(people=100)
    assert repr(dn.Client(plan, secret=bytes(32))) == f"<Client of plan {plan.id[:12]}: 1 question>"
