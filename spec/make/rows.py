"""Makes the vectors of tables: the same reports as bytes, JSON and rows, and the tally that all of them give.

Further tables have rows that are refused. `tests/engines/row_reader.py` reads them by the text alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

import deniable as dn
from deniable.engines.parquet import reports_schema, to_batch
from deniable.reports.reports import Tallies
from deniable.study import Plan
from deniable.wire import Report, Wire
from spec.make import groups, near, unlisted
from spec.make.vectors import (
    Case,
    answers_of,
    faked,
    metric_of_each,
    nested,
    of,
    one_of_each,
    report_from,
    sample,
)

PEOPLE = 6


@cache
def plans() -> Mapping[str, Plan]:
    """A plan of every shape of reports, and of every kind of record."""
    dotted = {"home": [f"{i}" for i in range(9)], "home.0": ["yes", "no"]}
    one = one_of_each()
    return {
        **{name: one[name] for name in ("direct", "unary", "subset", "packed-subset", "hashed", "pooled")},
        **{name: one[name] for name in ("hadamard", "bit-flip", "split", "memoized", "memoized-mean")},
        "linear": unlisted.plans()["text"],
        "several words": of(dn.sue(130, 1.0)),
        "all words of 56 bits": of(dn.sue(56, 1.0)),
        "a subset of several words": of(dn.ss(70, 1.0)),
        "kept, hashed": of(dn.rounds.loloha(20, 1.0, 2.0), rounds=2),
        "kept, pooled": of(dn.rounds.l_plh(20, 1.0, 2.0), rounds=2),
        **{name: plan for name, plan in metric_of_each().items() if name != "mixed, split"},
        "sampled": sample()["sample oue"],
        "two of three": sample()["two of three"],
        "faked": faked()["faked oue-z"],
        **{name: nested()[name] for name in ("a sample last", "two samples", "age and place from everybody")},
        "known groups": groups.plans()["two questions"],
        **{f"near, {name}": plan for name, plan in near.plans().items() if name != "three of ten"},
        "a name with a dot": of(dn.records.Split((dn.oue(9, 1.0), dn.grr(2, 1.0))), dotted),
        "a known group with a dot": of(dn.oue(5, 1.0)).with_known({"city.0": ["A", "B"]}),
    }


def make_reports(name: str, plan: Plan) -> list[Report]:
    """Reports of a few people in the first round."""
    people = [{"city.0": "B", "city": "city 3"}] if name == "a known group with a dot" else answers_of(plan)
    found = []
    for i in range(PEOPLE):
        seed = hashlib.sha256(f"rows {name} {i}".encode()).digest()
        words = [int(word) for word in dn.seeded(int.from_bytes(seed[:4], "little")).take(plan.words)]
        found.append(report_from(plan, people[i % len(people)], seed, words, 1, seed[:16]))
    return found


def make_rows(plan: Plan, reports: Sequence[Report]) -> list[dict[str, Any]]:
    """The same reports as rows, with their plan, round and id."""
    records = Wire(plan.document).reports([report.body for report in reports]).records
    form = plan.table_form
    rows = to_batch(records, form, reports_schema(form)).to_pylist()
    return [
        row | {"plan": plan.id, "round": report.round, "id": report.id.hex()}
        for row, report in zip(rows, reports, strict=True)
    ]


def write_tally(tallies: Tallies, refused: dict[str, int]) -> dict[str, Any]:
    """The tally of a vector, whose plan and round are told already."""
    written = {key: value for key, value in tallies.to_dict().items() if key not in ("plan", "round")}
    return written | {"refused": refused}


def list_cases() -> Iterator[Case]:
    """Tables of each shape; then those with rows that are refused."""
    for name, plan in plans().items():
        wire, reports = Wire(plan.document), make_reports(name, plan)
        tallies = plan.tally(wire.reports([report.body for report in reports]))
        yield {
            "name": name,
            "plan": plan.to_json(),
            "asked": None,
            "bytes": [report.to_bytes().hex() for report in reports],
            "json": [wire.to_json(report).decode() for report in reports],
            "rows": make_rows(plan, reports),
            "tally": write_tally(tallies, {}),
        }
    yield from list_refused()


MOST, LEAST = (1 << 63) - 1, -(1 << 63)

FORMS: dict[str, dict[str, dict[str, Any]]] = {
    "direct": {
        "a value beyond the last": {"city": 5},
        "a negative value": {"city": -1},
        "the largest integer": {"city": MOST},
        "no value": {"city": None},
        "no id": {"id": None},
    },
    "unary": {
        "a bit beyond the last": {"city.0": 1 << 5},
        "the highest bit": {"city.0": LEAST},
    },
    "several words": {"a word of 57 bits": {"city.0": 1 << 56}, "a word is missing": {"city.1": None}},
    "subset": {
        "another order": {"city": [5, 4, 1, 2, 3]},
        "a member too few": {"city": [1]},
        "a null in a list": {"city": [1, None, 3]},
        "an empty list": {"city": []},
    },
    "packed-subset": {"no member": {"city.0": 0}},
    "hashed": {
        "a is 0": {"city.a": 0},
        "a too large": {"city.a": (1 << 31) - 1},
        "b too large": {"city.b": (1 << 31) - 1},
        "a bucket beyond the last": {"city.bucket": 1 << 32},
        "no bucket": {"city.bucket": None},
    },
    "linear": {
        "no hash": {"site.bits.0": 0, "site.bits.1": 0},
        "a hash of too low a rank": {"site.bits.0": 1, "site.bits.1": 0},
        "a hash of the last bits only": {"site.bits.0": 4, "site.bits.1": 0},
        "a bit beyond the last": {"site.bits.1": 1 << 6},
        "a bucket beyond the last": {"site.bucket": 8},
        "half of a hash": {"site.bits.1": None},
    },
    "pooled": {"a function beyond the last": {"city": 12}},
    "hadamard": {"a column beyond the last": {"city": 8}},
    "geometric": {"an output beyond the last": {"age": 8}},
    "duchi": {"an output beyond the last": {"income": 2}},
    "bit-flip": {"a value twice": {"city.about": [1, 1, 2, 3]}, "a bit too many": {"city.bits.0": 16}},
    "sampled": {
        "nothing": {"color.0": None, "age.0": None, "smokes.0": None},
        "two attributes": {"color.0": 1, "age.0": 1},
    },
    "known groups": {"a group beyond the last": {"arm": 2}, "no group": {"arm": None}},
    "near, two of five, beside a question": {
        "all options": {f"dishes: dish {number}": 0 for number in range(5)},
        "no option": {f"dishes: dish {number}": 1 for number in range(5)},
        "a value beyond the last": {"dishes: dish 3": 2},
        "an option is missing": {"dishes: dish 0": None},
    },
}
"""What is changed in the last row, so that it is not in canonical form."""


def list_refused() -> Iterator[Case]:
    """Tables in which one row is refused."""
    everything = plans()
    for name, changes in FORMS.items():
        for change, cells in changes.items():
            yield refuse_last(f"{name}, {change}", everything[name], cells, "form")
    direct, kept = everything["direct"], everything["memoized"]
    yield refuse_last("another plan", direct, {"plan": kept.id}, "plan")
    yield refuse_last("no plan", direct, {"plan": None}, "plan")
    yield refuse_last("another plan, and no value", direct, {"plan": kept.id, "city": None}, "plan")
    yield refuse_last("another round", kept, {"round": 2}, "round", 1)
    yield refuse_last("no round", kept, {"round": None}, "round", 1)
    yield refuse_last("no round, and none is named", kept, {"round": None}, "round")
    yield refuse_last("round 0", kept, {"round": 0}, "round")
    yield refuse_last("a round beyond the last", kept, {"round": 3}, "round")
    yield refuse_last("a second round of a plan that asks once", direct, {"round": 2}, "round")
    yield refuse_last("another round, and no value", kept, {"round": 2, "city.0": None}, "round", 1)
    first = make_reports("refused", direct)[0].id.hex()
    yield refuse_last("an id twice, a larger value", direct, {"id": first, "city": 4}, "repeated", values=[3])
    same = {"id": first, "city": 3}
    yield refuse_last("an id twice, the same value", direct, same, "repeated", values=[3])
    yield refuse_last("an id twice, not in canonical form", direct, {"id": first, "city": 5}, "form")
    # of rows with one id the smaller value is counted, wherever it stands
    smaller = refuse_last(
        "an id twice, a smaller value", direct, {"id": first, "city": 0}, "repeated", values=[3]
    )
    smaller["tally"] = count_values(direct, [0, *(row["city"] for row in smaller["rows"][1:-1])], "repeated")
    yield smaller


def refuse_last(
    name: str,
    plan: Plan,
    cells: dict[str, Any],
    why: str,
    asked: int | None = None,
    values: Sequence[int] = (),
) -> Case:
    """A table whose last row is changed, and refused for it; the first rows may be given other values."""
    reports = make_reports("refused", plan)
    rows = make_rows(plan, reports)
    assert set(cells) <= set(rows[-1])
    tallies = plan.tally(Wire(plan.document).reports([report.body for report in reports[:-1]]))
    tally = write_tally(tallies, {why: 1})
    for row, value in zip(rows, values, strict=False):
        row["city"] = value
    if values:
        tally = count_values(plan, [row["city"] for row in rows[:-1]], why)
    rows[-1] |= cells
    return {"name": name, "plan": plan.to_json(), "asked": asked, "rows": rows, "tally": tally}


def count_values(plan: Plan, values: Sequence[int], why: str) -> dict[str, Any]:
    """The tally of direct reports, counted one by one."""
    k = plan.document.parts[0].k
    counts = [list(values).count(value) for value in range(k)]
    return {"n": len(values), "tallies": {"city": {"n": len(values), "counts": counts}}, "refused": {why: 1}}


def to_table(plan: Plan, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows of a vector as a table; columns are wide enough for what is wrong, too."""
    form = plan.table_form
    kinds: dict[str, pa.DataType] = {
        column.name: pa.int64() if column.length is None else pa.list_(pa.int64())
        for columns in form.columns
        for column in columns
    }
    if form.group is not None:
        kinds[form.group[0]] = pa.int64()
    kinds |= {"plan": pa.string(), "round": pa.int32(), "id": pa.string()}
    return pa.Table.from_pylist(list(rows), schema=pa.schema(list(kinds.items())))


FILES = {"rows": list_cases}
