"""Reads tables of reports by the text of spec/wire.md alone: a second reading, which imports nothing of the
library.

It writes the row of a report from its JSON text, and counts rows one by one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, final

Data = dict[str, Any]
PRIME = (1 << 31) - 1
WORD = 56
LISTS = {"subset": "size", "bit-flip": "bits"}
BITS = ("unary", "packed-subset")


class WrongForm(Exception):
    """A row that no device sends."""


@final
@dataclass(frozen=True)
class Table:
    """What the rows of a plan's reports are like."""

    plan: Data
    names: list[str] = field(init=False)
    parts: list[Data] = field(init=False)
    columns: list[list[str]] = field(init=False)

    def __post_init__(self) -> None:
        parts = [plain(part) for group in groups_of(self.plan["mechanism"]) for part in group[0]]
        names = [one["name"] for one in self.plan["attributes"]]
        dot = "."
        while True:
            columns = [list(columns_of(name, part, dot)) for name, part in zip(names, parts, strict=True)]
            flat = [column for mine in columns for column in mine]
            flat += [] if self.group is None else [self.group]
            if len(set(flat)) == len(flat):
                break
            dot += "."
        for name, value in (("names", names), ("parts", parts), ("columns", columns)):
            object.__setattr__(self, name, value)

    @property
    def group(self) -> str | None:
        """The column of the known group."""
        return " x ".join(one["name"] for one in self.plan["known"]) if "known" in self.plan else None

    @property
    def groups(self) -> int:
        """How many known groups there are."""
        return math.prod(values_of(one["domain"]) for one in self.plan.get("known", []))

    def write_row(self, text: str) -> Data:
        """The row of a report in JSON."""
        report = json.loads(text)
        said = report["report"]
        row: Data = {}
        for name, part, columns in zip(self.names, self.parts, self.columns, strict=True):
            cells = [None] * len(columns) if name not in said else cells_of(part, said[name])
            row |= dict(zip(columns, cells, strict=True))
        if self.group is not None:
            row[self.group] = said[self.group]
        return row | {"plan": self.plan["id"], "round": report["round"], "id": report["id"]}

    def count(self, rows: Sequence[Data], asked: int | None) -> Data:
        """The tally of rows, and how many were refused."""
        refused: dict[str, int] = {}
        first: dict[tuple[int, str], Data] = {}
        for row in rows:
            why = self._refuse(row, asked)
            name = (row["round"], row["id"])
            if why is None and name in first:
                why = "repeated"
                first[name] = min(first[name], row, key=self._rank)
            elif why is None:
                first[name] = row
            if why is not None:
                refused[why] = refused.get(why, 0) + 1
        counted = list(first.values())
        tally = {"n": len(counted), "tallies": self._tally(counted)}
        if self.group is not None:
            each = [[row for row in counted if row[self.group] == group] for group in range(self.groups)]
            tally["groups"] = [self._tally(some) for some in each]
        return tally | {"refused": refused}

    def _refuse(self, row: Data, asked: int | None) -> str | None:
        if row["plan"] != self.plan["id"]:
            return "plan"
        if row["round"] not in range(1, (self.plan["rounds"] or 1) + 1):
            return "round"
        if asked is not None and row["round"] != asked:
            return "round"
        here = []
        for part, columns in zip(self.parts, self.columns, strict=True):
            cells = [row[column] for column in columns]
            here.append(cells[0] is not None)
            if len({cell is None for cell in cells}) > 1:
                return "form"
            try:
                supported(part, cells) if here[-1] else None
            except WrongForm:
                return "form"
        start = 0
        for parts, reported in groups_of(self.plan["mechanism"]):
            if sum(here[start : start + len(parts)]) != reported:
                return "form"
            if "marked" in parts[0]:
                columns = [columns[0] for columns in self.columns[start : start + len(parts)]]
                least, most = parts[0]["marked"]
                if not least <= sum(row[column] == 0 for column in columns) <= most:
                    return "form"
            start += len(parts)
        in_group = self.group is None or row[self.group] in range(self.groups)
        return None if in_group and row["id"] is not None else "form"

    def _rank(self, row: Data) -> Any:
        numbers = [row[column] for columns in self.columns for column in columns]
        group = "" if self.group is None else hashlib.md5(str(row[self.group]).encode()).hexdigest()
        return [(cell is None, cell or 0) for cell in numbers], group

    def _tally(self, rows: Sequence[Data]) -> Data:
        found: Data = {}
        for name, part, columns in zip(self.names, self.parts, self.columns, strict=True):
            mine = [[row[column] for column in columns] for row in rows if row[columns[0]] is not None]
            counts = [0] * size_of(part)
            for cells in mine:
                for value in supported(part, cells):
                    counts[value] += 1
            found[name] = {"n": len(mine), "counts": counts}
            if part["kind"] == "bit-flip":
                about = [value for cells in mine for value in cells[0]]
                found[name]["asked"] = [about.count(value) for value in range(part["k"])]
        return found


def values_of(domain: Data) -> int:
    """How many values a known question has."""
    return len(domain["labels"]) if domain["kind"] == "categories" else int(domain["bins"])


def outputs(mean: Data) -> int:
    """How many outputs a mechanism for a mean has."""
    if mean["kind"] == "duchi":
        return 2
    return outputs(mean["piecewise"]) + 2 if mean["kind"] == "hybrid" else int(mean["k"] + mean["window"] - 1)


def groups_of(mechanism: Data) -> Iterator[tuple[list[Data], int]]:
    """Parts, and how many of them a record reports."""
    if mechanism["kind"] == "faked":
        yield [fake["part"] for fake in mechanism["fakes"]], len(mechanism["fakes"])
    elif mechanism["kind"] in ("near-sets", "near-bits"):
        tick: Data = {"kind": "tick", "k": 2}
        many = mechanism["options" if mechanism["kind"] == "near-sets" else "answers"]
        if mechanism["kind"] == "near-sets":
            tick["marked"] = max(mechanism["size"] - mechanism["spare"], 0), mechanism["size"]
        yield [tick] * many, many
    elif mechanism["kind"] == "sample":
        yield mechanism["parts"], mechanism["reported"]
    else:
        for part in mechanism["parts"]:
            if part["kind"] in ("sample", "faked", "near-sets", "near-bits"):
                yield from groups_of(part)
            else:
                yield [part], 1


def plain(part: Data) -> Data:
    """The mechanism whose report a repeated one sends."""
    if part["kind"] in ("hashed-memoized", "pooled-memoized"):
        kind = part["kind"].partition("-")[0]
        return {"kind": kind, "k": part["k"], "g": part["buckets"]["second"]["k"]}
    if part["kind"] == "memoized-mean":
        return {"kind": "duchi"}
    return dict(part["second"]) if part["kind"] == "memoized" else part


def columns_of(name: str, part: Data, dot: str) -> Iterator[str]:
    """The columns of an attribute."""
    kind = part["kind"]
    if kind == "hashed":
        yield from (f"{name}{dot}{one}" for one in ("a", "b", "bucket"))
    elif kind == "linear":
        words = words_of(8 * -(-(part["bits"] + part["rows"] - 1) // 8))
        yield from (f"{name}{dot}bits{dot}{word}" for word in range(words))
        yield f"{name}{dot}bucket"
    elif kind == "bit-flip":
        yield f"{name}{dot}about"
        yield from (f"{name}{dot}bits{dot}{word}" for word in range(words_of(part["bits"])))
    elif kind in BITS:
        yield from (f"{name}{dot}{word}" for word in range(words_of(part["k"])))
    else:
        yield name


def words_of(bits: int) -> int:
    """How many words hold so many bits."""
    return -(-bits // WORD)


def pack(members: Sequence[int], bits: int) -> list[int]:
    """Words with the bits of these members set."""
    whole = sum(1 << member for member in members)
    return [whole >> (WORD * word) & ((1 << WORD) - 1) for word in range(words_of(bits))]


def unpack(words: Sequence[int], bits: int) -> list[int]:
    """The members whose bits are set."""
    must(all(0 <= word < 1 << WORD for word in words))
    whole = sum(word << (WORD * number) for number, word in enumerate(words))
    must(whole < 1 << bits)
    return [bit for bit in range(bits) if whole >> bit & 1]


def cells_of(part: Data, said: Any) -> list[Any]:
    """The cells of an attribute whose report says this."""
    if part["kind"] == "hashed":
        return [said["a"], said["b"], said["bucket"]]
    if part["kind"] == "linear":
        raw = bytes.fromhex(said["bits"])
        bits = [bit for bit in range(8 * len(raw)) if raw[bit // 8] >> bit % 8 & 1]
        return [*pack(bits, 8 * len(raw)), said["bucket"]]
    if part["kind"] == "bit-flip":
        members = [position for position, value in enumerate(said["about"]) if value in said["set"]]
        return [said["about"], *pack(members, part["bits"])]
    return pack(said, part["k"]) if part["kind"] in BITS else [said]


def size_of(part: Data) -> int:
    """How many counts a tally has."""
    kind = part["kind"]
    if kind == "linear":
        return 1 << int(part["rows"])
    if kind == "geometric":
        return len(part["tails"])
    if kind == "planar-geometric":
        return len(part["noise"]) * len(part["noise"][0])
    return outputs(part) if kind in ("duchi", "piecewise", "hybrid") else int(part["k"])


def supported(part: Data, cells: Sequence[Any]) -> list[int]:
    """The values, or the output, that a report counts for; WrongForm for what is no report."""
    kind, k = part["kind"], size_of(part)
    if kind in LISTS:
        must(len(cells[0]) == part[LISTS[kind]] and None not in cells[0])
        must(all(a < b for a, b in pairwise([-1, *cells[0], k])))
        return cells[0] if kind == "subset" else [cells[0][i] for i in unpack(cells[1:], part["bits"])]
    if kind in BITS:
        members = unpack(cells, k)
        must(kind == "unary" or len(members) == part["size"])
        return members
    if kind == "hashed":
        a, b, bucket = cells
        must(1 <= a < PRIME and 0 <= b < PRIME and 0 <= bucket < part["g"])
        return [value for value in range(k) if (a * (value + 1) + b) % PRIME % part["g"] == bucket]
    if kind == "linear":
        *words, bucket = cells
        m = part["bits"] + part["rows"] - 1
        t = sum(1 << bit for bit in unpack(words, m))
        below = max(0, part["bits"] - part["rows"] - 13)  # what is below the leading bits
        rows = [(t >> j & (1 << part["bits"]) - 1) >> below for j in range(part["rows"])]
        spanned = {0}
        for row in rows:
            must(row not in spanned and 0 <= bucket < k)
            spanned |= {row ^ other for other in spanned}
        return [bucket]
    (number,) = cells
    if kind == "hadamard":
        must(0 <= number < 1 << k.bit_length())
        return [value for value in range(k) if ((value + 1) & number).bit_count() % 2 == 0]
    if kind == "pooled":
        return supported_in_pool(k, part["g"], number)
    must(0 <= number < k)
    return [int(number)]


def supported_in_pool(k: int, g: int, number: int) -> list[int]:
    """The values that a function of the pool sends to a bucket."""
    digits = next(m for m in range(2, 21) if g**m >= k)
    must(0 <= number < g * sum(g**m for m in range(digits)))
    rest, bucket = divmod(number, g)
    j = 0
    while rest >= g**j:
        rest -= g**j
        j += 1

    def hash_value(value: int) -> int:
        mixed = sum((rest // g**i % g) * (value // g**i % g) for i in range(j))
        return int(mixed + value // g**j % g) % g

    return [value for value in range(k) if hash_value(value) == bucket]


def must(holds: bool) -> None:
    if not holds:
        raise WrongForm
