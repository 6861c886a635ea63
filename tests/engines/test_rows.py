"""Reports as bytes, as JSON and as rows give the tally of the vectors, on this machine and in an engine."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from deniable.reports.reports import Tallies
from deniable.study import Plan
from deniable.wire import Report, Wire
from spec.make.rows import to_table, write_tally
from spec.make.vectors import Case, read_file, read_plan
from tests.cases import check_each
from tests.engines.row_reader import Table
from tests.engines.test_counts import require

CASES = read_file("rows")
CHANGED = ("direct", "unary", "subset", "hashed", "hadamard", "piecewise", "bit-flip", "known groups")
TRAVELED = [(name, case) for name, case in CASES if "bytes" in case]


@cache
def open_duckdb() -> Any:
    """A database for all vectors."""
    return require("duckdb").connect(config={"threads": 1})


def count_wire(plan: Plan, reports: list[Report]) -> dict[str, Any]:
    """The tally of reports as they travel."""
    wire = Wire(plan.document)
    return write_tally(plan.tally(wire.reports([wire.check(report).body for report in reports])), {})


def count_rows(case: Case) -> list[dict[str, Any]]:
    """The tally of a vector's rows: counted here, and in DuckDB."""
    plan = read_plan(case["plan"])
    table = to_table(plan, case["rows"])
    sources = (table, open_duckdb().from_arrow(table))
    found: list[Tallies] = [plan.tally(source, number=case["asked"]) for source in sources]
    return [write_tally(one, dict(one.refused)) for one in found]


def test_bytes_and_json_give_the_tally() -> None:
    def check(case: Case) -> None:
        plan = read_plan(case["plan"])
        assert (
            count_wire(plan, [Report.from_bytes(bytes.fromhex(one)) for one in case["bytes"]])
            == case["tally"]
        )
        assert (
            count_wire(plan, [Wire(plan.document).from_json(one.encode()) for one in case["json"]])
            == case["tally"]
        )

    check_each(check, TRAVELED)


def test_rows_give_the_tally() -> None:
    def check(case: Case) -> None:
        here, inside = count_rows(case)
        assert here == case["tally"]
        assert inside == case["tally"]

    check_each(check, CASES)


def test_a_reading_of_the_specification_gives_the_rows_and_the_tally() -> None:
    def check(case: Case) -> None:
        table = Table(json.loads(case["plan"]))
        assert [table.write_row(text) for text in case.get("json", [])] == case["rows"][
            : len(case.get("json", []))
        ]
        assert table.count(case["rows"], case["asked"]) == case["tally"]

    check_each(check, CASES)


def change_number(case: Case) -> Case:
    """The same vector with one number of the first row changed, to another that some device sends if there
    is one.
    """
    changed = deepcopy(case)
    row = changed["rows"][0]
    name = next(name for name, cell in row.items() if cell is not None)
    row[name] = [*row[name][:-1], row[name][-1] ^ 1] if isinstance(row[name], list) else row[name] ^ 1
    return changed


def test_a_changed_number_would_be_seen() -> None:
    """Tables with one number of one row changed give another tally, the same in all three counts."""

    def check(case: Case) -> None:
        changed = change_number(case)
        third = Table(json.loads(case["plan"])).count(changed["rows"], case["asked"])
        for found in (*count_rows(changed), third):
            assert found != case["tally"]
            assert found == third

    check_each(check, [(name, dict(CASES)[name]) for name in CHANGED])


def test_vectors_have_every_reason_and_every_shape() -> None:
    assert {why for _, case in CASES for why in case["tally"]["refused"]} == {
        "plan",
        "round",
        "form",
        "repeated",
    }
    kinds = {part["kind"] for _, case in TRAVELED for part in Table(json.loads(case["plan"])).parts}
    direct = {"direct", "pooled", "hadamard", "geometric", "planar-geometric", "duchi", "piecewise", "hybrid"}
    assert kinds == direct | {"unary", "subset", "packed-subset", "hashed", "linear", "bit-flip", "tick"}


@pytest.mark.parametrize(
    ("name", "columns"),
    [("a name with a dot", {"home..0", "home.0"}), ("a known group with a dot", {"city..0", "city.0"})],
)
def test_no_two_columns_have_one_name(name: str, columns: set[str]) -> None:
    assert set(dict(CASES)[name]["rows"][0]) == columns | {"plan", "round", "id"}
