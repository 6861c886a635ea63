"""Shows attacks by made-up reports, and what each defense leaves of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from deniable.formatting import format_count, format_percent
from deniable_papers import data
from deniable_papers.experiment import (
    Asked,
    Column,
    Experiment,
    Shown,
    Table,
    ask_choice,
    ask_count,
    ask_epsilons,
    ask_names,
    ask_people,
)
from deniable_papers.reproduce.points import warn_if_fewer
from deniable_papers.studies import poisoning
from deniable_papers.studies.plot.poisoning import poisoning_plot
from deniable_papers.studies.poisoning import FAKES, HALF, OTHER, TWICE, PoisoningPoint

_SHOWN = 60  # lines of a table; all rows are in --json and -o

Defenses = Mapping[str, PoisoningPoint]
"""The rows of one attack, by defense."""


def _points(share: float | None) -> str:
    return "" if share is None else f"{round(100 * share, 1) + 0.0:.1f}"  # never -0.0


def _percent(share: float | None) -> str:
    return "" if share is None else format_percent(share)


def _show_gain(defense: str) -> Callable[[Defenses], str]:
    return lambda rows: _points(rows[defense].gain)


def _show_measured(rows: Defenses) -> str:
    row = rows["nothing"]
    return _points(row.gain) if row.stderr is None else f"{_points(row.gain)} +- {_points(row.stderr)}"


def _show_recovered(rows: Defenses) -> str:
    """What is left of the gain if the statement is right; nothing where no model is."""
    gains = [row.gain for name, row in rows.items() if name.startswith("recovery, ")]
    return _points(gains[0] if len(gains) == 1 else None)


_CASE: tuple[Column, ...] = (
    ("protocol", lambda rows: rows["nothing"].protocol),
    ("epsilon", lambda rows: f"{rows['nothing'].epsilon:g}"),
    ("targets", lambda rows: str(rows["nothing"].targets)),
)
_GAINS: tuple[Column, ...] = (
    *_CASE,
    ("attack", lambda rows: rows["nothing"].attack),
    ("gain", _show_measured),
    ("expected", lambda rows: _points(rows["nothing"].expected)),
    ("published", lambda rows: _points(rows["nothing"].published)),
    ("alarmed", lambda rows: _percent(rows["nothing"].alarmed)),
    ("worst case", lambda rows: _percent(rows["worst case"].covered)),
    ("recovered", _show_recovered),
    ("norm-sub", _show_gain("norm-sub")),
)
_WRONG: tuple[Column, ...] = (
    *_CASE,
    ("gain", _show_gain("nothing")),
    ("recovered", _show_recovered),
    ("half stated", _show_gain(HALF)),
    ("twice stated", _show_gain(TWICE)),
    ("wrong model", _show_gain(OTHER)),
)


def _list_tables(rows: Sequence[PoisoningPoint], _asked: Asked) -> list[Table]:
    first = rows[0]
    about = f"{first.dataset}, k = {first.k}, {first.n:,} honest people, {format_percent(FAKES)} of fakes"
    runs = f"{format_count(first.runs, 'run')}, seed {first.seed}; gains in points"
    groups: dict[tuple[str, float, int, str], dict[str, PoisoningPoint]] = {}
    for row in rows:
        if row.refused is None:
            by_defense = groups.setdefault((row.protocol, row.epsilon, row.targets, row.attack), {})
            by_defense[row.defense] = row
    lines = [group for group in groups.values() if "nothing" in group]
    shown = lines
    if len(lines) > _SHOWN:
        shown = [group for group in lines if group["nothing"].attack == "MGA"]
    more = len(lines) - len(shown)
    after = f"\u2026 and {more:,} of other attacks; -o writes all, and --json prints them" if more else ""
    wrong = [group for group in groups.values() if HALF in group and group["nothing"].attack == "MGA"]
    told = "MGA, if recovery is told a wrong share or model of the fakes; gains in points"
    return [
        Table(title=f"{about}; {runs}", columns=_GAINS, rows=shown, after=after),
        Table(title=told, columns=_WRONG, rows=wrong),
    ]


def _list_notes(rows: Sequence[PoisoningPoint], _asked: Asked) -> Iterator[str]:
    for row in rows:
        if row.defense.startswith("planner") and row.attack == "MGA":
            chosen = row.refused or f"chooses {row.protocol}, where MGA gains {_points(row.gain)} points"
            what = f"epsilon {row.epsilon:g}, {format_count(row.targets, 'target')}"
            yield f"{row.defense} ({what}): {chosen}"
    for attack, note in dict.fromkeys((row.attack, row.note) for row in rows if row.note is not None):
        yield f"note ({attack}): {note}"
    yield "not done: the paper's search for fake users by frequent itemsets; pairs of values are checked"


def _warn(_rows: Sequence[Any], asked: Asked) -> Iterator[str]:
    if asked.given["dataset"] == "adult":
        yield from warn_if_fewer(asked, [("adult", data.load("adult-10").n)], "asked")


EXPERIMENT = Experiment(
    name="poisoning",
    shows=(Shown("Data poisoning", "gains of RPA, RIA and MGA, and what defenses leave"),),
    minutes=(12, 0.2),
    data="simulated, adult; or your own",
    about="""Made-up reports against each defense.

    5 % of the reports push 1 or 10 targets of 100 values, by the published attacks. RPA sends random reports,
    RIA false answers through the mechanism, MGA reports that support as many targets as it finds. MAX
    supports all of them, where MGA finds fewer. The gain is how much the shares of all targets together grow,
    in points: `expected` by the law, `published` by the paper, and measured. `worst case` says how often the
    interval of a target for 5 % of fakes holds the truth. `recovered` and `norm-sub` are gains that remain.
    With the attack `none` all people are honest. A second table says what recovery leaves of MGA if its
    statement is wrong: half or twice the share of fakes, or false answers as their model. --data takes the
    first column of a file.
    """,
    measure=poisoning.reproduce,
    runs=(poisoning.RUNS, poisoning.QUICK_RUNS),
    quick_text="Try one epsilon and few runs. Takes half a minute.",
    sizes=(
        ask_people(
            ask_choice(
                "--dataset",
                "people",
                "The values: Adult's ages, or those of simulated people.",
                ["adult", "zipf"],
                "zipf",
                read=lambda name: data.load("adult-10") if name == "adult" else None,
            ),
            data.read_people,
        ),
        ask_names("--protocol", "methods", "The protocols.  [default: all]"),
        ask_epsilons(poisoning.EPSILONS, poisoning.QUICK_EPSILONS),
        ask_count("--users", "Ask only this number of honest people.  [default: 10,000]"),
    ),
    tables=_list_tables,
    draw=poisoning_plot,
    warnings=_warn,
    notes=_list_notes,
    refusals=lambda row: row.protocol if row.defense == "nothing" else None,
    written_refusals=False,
)
