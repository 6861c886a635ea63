"""What is shown of values that were found: tables, sentences, figures, and who is left out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.discovery import Decision, Discovery, decide_listed, discover

M = dn.mechanisms.linear(20, 4.0)
PEOPLE = np.array([77] * 1500 + [1000] * 800 + [5] * 90 + [6] * 610)


def found(least: int = 50) -> Discovery:
    sent = M.privatize(PEOPLE, dn.seeded(3))
    decided = decide_listed((M, sent), [5, 6, 77, 1000, 1001])
    return Discovery.of(decided, hex, people=3000, limit=0.02, least=least, notes=["Codes are cut."])


def test_values_are_named_with_the_most_common_first() -> None:
    made = found()
    assert made.names[:3] == ("0x4d", "0x3e8", "0x6")
    assert len(made) == len(made.names)
    for share, low, high in zip(made.shares, made.low, made.high, strict=True):
        assert low <= share <= high
    assert (made.low_at_once <= made.shares).all()
    assert (made.shares <= made.high_at_once).all()


def test_values_of_few_people_are_left_out() -> None:
    every = found(0)
    few = found(500)
    assert few.hidden == len(every) - len(few) > 0
    plain = (few.counts / few.n - M.law.q) / M.law.gain
    assert (plain * 3000 >= 500).all()
    assert "fewer than 500 people, by the plain share: not shown" in str(few)
    assert "not shown" not in str(every)


def test_few_people_are_no_number() -> None:
    """A count at the threshold is shown by its plain share; given that, hardly anybody may have it."""
    least = Decision(dn.mechanisms.linear(20, 1.0), np.array([6]), np.zeros(1, dtype=np.int64), 3000)
    decided = replace(least, counts=np.array([least.threshold]))
    made = Discovery.of(decided, hex, people=3000, limit=1.0)
    assert made.people_of[0] < 50
    assert str(made).splitlines()[2].endswith("  fewer than 50")
    assert "Given that it is, fewer than 50 people may have a value." in " ".join(made.sentences)
    assert "Even a value that everybody has is found at most half of the time." in made.sentences
    assert Discovery.from_dict(made.to_dict()).sentences == made.sentences
    assert "fewer than" not in str(Discovery.of(decided, hex, people=3000, limit=0.02, least=0))


def test_tables_say_what_may_be_wrong() -> None:
    text = str(found())
    assert text.startswith("3,000 people: ")
    assert "A value that nobody has is among those shown in 5 % of studies at most." in text
    assert "Values with a share of 2 % are found about half of the time." in text
    assert text.endswith("Codes are cut.")


def test_numbers_go_into_json_and_dataframes() -> None:
    made = found()
    data = json.loads(json.dumps(made.to_dict()))
    assert [row["value"] for row in data["found"]] == list(made.names)
    assert data["people"] == data["reports"] == 3000
    assert data["candidates"] == 5
    frame = made.frame()
    assert list(frame.columns) == [*data["found"][0], "n", "alpha"]
    assert data["found"][0]["low_at_once"] == made.low_at_once[0]


def test_bars_have_the_names() -> None:
    drawn = found().plot()
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == list(found().names)


def test_nothing_found_is_said() -> None:
    """A group of nobody decides nothing, and a search without survivors ends."""
    empty = M.privatize(np.zeros(0, dtype=np.int64), dn.seeded(1))
    decided = discover([(M, empty)], (M, empty))
    nothing = Discovery.of(decided, hex, people=0, limit=1.0)
    assert str(nothing).startswith("0 people: no value found")
    assert nothing.to_dict()["found"] == []
    with pytest.raises(dn.InvalidParameter, match="nothing to draw"):
        nothing.plot()
