"""What mechanisms, record mechanisms and plans print, and what their plots draw."""

from __future__ import annotations

import re
from typing import Any

import pytest

import deniable as dn
from deniable.formatting import format_loss
from tests.plot.test_charts import texts

GRID = dn.Grid(south=40, west=-4, north=41, east=-3, rows=3, columns=2)
MECHANISMS: dict[str, Any] = {
    **{name: row.make(12, 1.0) for name, row in dn.PROTOCOLS.items()},
    "geometric": dn.metric.geometric(11, 0.3),
    "planar": dn.metric.planar_geometric(GRID, 0.0001),
    "square wave": dn.metric.square_wave(1.0, 12),
    "l_sue": dn.rounds.l_sue(12, 1.0, 2.0),
    "l_grr": dn.rounds.l_grr(12, 1.0, 2.0),
    "loloha": dn.rounds.loloha(12, 1.0, 2.0),
    "dbitflip": dn.rounds.dbitflip(12, 1.0, 3),
    "mean": dn.metric.Averaged(dn.metric.duchi(1.0)),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_prints_what_it_is_in_one_line(name: str) -> None:
    m = MECHANISMS[name]
    text = str(m)
    assert text == m.describe()
    assert "\n" not in text
    assert m.phrase in text
    assert re.search(rf"\b{m.report_bytes} bytes? a report$", text)
    assert f"{100 * m.success():.3g} % (blind" in text
    assert repr(m) != text


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_loss_that_is_printed_is_the_loss(name: str) -> None:
    assert format_loss(MECHANISMS[name].loss()) in str(MECHANISMS[name])


def test_words_and_numbers_people_know() -> None:
    assert str(dn.oue(16, 1.0)) == (
        "OUE, 16 values: a report is one bit per value, loss 1.0000, "
        "best guess right 11.6 % (blind 6.25 %), 2 bytes a report"
    )


def test_what_no_protocol_makes_is_called_by_its_shape() -> None:
    assert str(dn.ss(100, 1.0, size=20)).startswith(
        "Subset selection, 100 values: a report is a set of 20 values, "
    )
    assert str(dn.ss(100, 1.0)).startswith("SS, 100 values: a report is a set of 27 values, ")


def test_repeated_and_metric_mechanisms_print_both_losses() -> None:
    assert "loss 1.0000 of one report, 2.0000 of any number of one value" in str(MECHANISMS["l_sue"])
    assert "loss 0.3 per step and 3.3000 in the worst case" in str(MECHANISMS["geometric"])


def test_of_very_many_metric_values_the_best_guess_is_left_out() -> None:
    assert "best guess" not in str(dn.metric.geometric(5000, 1.0))


RECORDS: dict[str, dn.records.RecordMechanism] = {
    "split": dn.spl([3, 5], 1.0),
    "sample": dn.smp([3, 5, 4], 1.0),
    "faked": dn.rsfd([3, 5], 1.0),
    "nested": dn.records.Split((dn.grr(4, 1.0), dn.records.Sample((dn.grr(3, 0.5), dn.oue(20, 0.5))))),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_mechanism_prints_its_losses_and_a_line_for_each_attribute(kind: str) -> None:
    m = RECORDS[kind]
    first, *lines = str(m).splitlines()
    for per in ("record", "attribute"):
        assert f"{format_loss(m.loss(per))} per {per}" in first
    sampled = ", if reported"
    when = {
        "split": ["", ""],
        "sample": [sampled, sampled, sampled],
        "faked": [", if real", ", if real"],
        "nested": ["", sampled, sampled],
    }
    numbered = [line.strip() for line in lines if "attribute " in line]
    expected = enumerate(zip(when[kind], m.mechanisms, strict=True))
    assert numbered == [f"attribute {j}{some}: {part}" for j, (some, part) in expected]


def test_a_split_says_what_its_parts_report() -> None:
    """A sample and fakes inside a split have a line of their own; names that do not fit are refused."""
    m = dn.records.Split((dn.grr(4, 1.0), dn.rsfd([3, 5], 1.0), dn.smp([2, 2], 1.0)))
    lines = str(m).splitlines()
    assert lines[2] == "  Faked: all 2 attributes, one real and not named, the others fakes"
    assert lines[5] == "  Sample: 1 of 2 attributes, drawn at random and named"
    with pytest.raises(dn.InvalidParameter, match="there are 5 attributes, got 1 names"):
        m.describe(["age"])


def test_one_byte_is_not_many() -> None:
    assert str(dn.records.Single(dn.grr(3, 1.0))).splitlines()[0].endswith(", 1 byte a report")


def test_sizes_of_a_record_are_a_range_where_attributes_are_sampled() -> None:
    assert str(RECORDS["nested"]).splitlines()[0].endswith(", 3 to 5 bytes a report")


def test_of_many_attributes_the_first_have_a_line() -> None:
    assert str(dn.spl([2] * 20, 1.0)).splitlines()[-1] == "  and 8 more"


def test_a_plan_prints_its_attributes_by_name() -> None:
    ages = dn.Range(0, 100, step=5, privacy="metric", epsilon=0.1)
    plan = dn.Study({"color": ["red", "<green>"], "age": ages}, epsilon=1.0, title="A & B").plan(1000)
    title, how, *lines = str(plan).splitlines()
    assert title == f"Plan {plan.id[:12]} · A & B: 1,000 people, 2 attributes"
    assert "per attribute at worst" in how
    assert [line.split(":")[0] for line in lines] == ["  color", "  age"]
    assert "color: shares of 2 values (useful)" in texts(plan.plot())
