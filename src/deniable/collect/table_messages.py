"""Defines the collector's messages about tables of two questions, and how they change."""

from __future__ import annotations

from typing import Annotated, Literal

from deniable.collect.messages import Message, explain


class CrossCell(Message, frozen=True):
    """Two answers: their share of all people, and that of the row's people with the column's answer."""

    row: str
    column: str
    cell: Annotated[float, explain("The unbiased share of all people, which may be below 0.")]
    cell_stderr: float
    share: Annotated[float | None, explain("The share of the row's people; null where none is seen there.")]
    shown: Annotated[float, explain("A possible share within the interval, as people read it.")]
    low: float
    high: float
    stderr: Annotated[float | None, explain("To first order; null where nobody is seen in the row.")]
    known: Annotated[bool, explain("Whether the interval leaves anything out.")]


class CrossTest(Message, frozen=True):
    """Whether the two answers depend on each other, or whether any cell changed."""

    statistic: float
    degrees: int
    p: Annotated[
        float | None,
        explain(
            "How often chance alone has such a statistic; null where there is no test, as of few reports."
        ),
    ]
    verdict: Annotated[
        Literal["found", "not found", "cannot tell"],
        explain('At 5 %; "cannot tell" where there is no test, or hardly a chance to find anything.'),
    ]
    detectable: Annotated[
        float | None,
        explain("The difference or change of a row's share that four of five such studies find."),
    ]
    sentence: str


class Cross(Message, frozen=True):
    """A table of two questions that were asked together."""

    plan: str
    round: int | None
    of: str
    by: str
    n: int
    level: float
    rows: list[str]
    columns: list[str]
    cells: list[CrossCell]
    method: Annotated[
        Literal["unbiased", "most likely", "projected"], explain("How the shares that are shown were found.")
    ]
    note: Annotated[str, explain("What to know about the shares that are shown; empty where nothing is.")]
    test: CrossTest


class CellChange(Message, frozen=True):
    """How much larger a share of a row's people is than in the earlier round, and that of all people."""

    row: str
    column: str
    earlier: Annotated[float | None, explain("The earlier share; null where nobody is seen in the row.")]
    later: Annotated[float | None, explain("The later share; null where nobody is seen in the row.")]
    difference: Annotated[float | None, explain("Later less earlier; null where one of them is not known.")]
    stderr: Annotated[float | None, explain("To first order; null where nothing is known.")]
    low: float
    high: float
    known: Annotated[bool, explain("Whether something is known of both shares.")]
    cell_difference: float
    cell_stderr: float
    cell_low: float
    cell_high: float


class CrossChange(Message, frozen=True):
    """The change of a table since an earlier round."""

    plan: str
    round: int | None
    since: int
    of: str
    by: str
    n: Annotated[
        list[int], explain("Reports that hold both answers: in the earlier round, and in the later.")
    ]
    level: float
    people: Annotated[
        Literal["others", "same"] | None, explain("Who is taken to have answered; null where nothing is.")
    ]
    validity: Annotated[str, explain("For whom the intervals hold, in words.")]
    cells: list[CellChange]
    test: CrossTest
