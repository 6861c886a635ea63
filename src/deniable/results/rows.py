"""Writes what was found as rows, for tables and for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Floats
from deniable.estimate import consistency
from deniable.results.change import MEAN
from deniable.results.noise import find_noisy
from deniable.results.possible_shares import Shares, find_moved
from deniable.results.range_queries import ShownShare
from deniable.results.respondents import read_columns, share_answered

if TYPE_CHECKING:
    from deniable.results.findings import Findings

MEDIAN = 0.5
RANGE = "range"
"""The kind of rows that are about the people between two numbers."""
AMONG = "among"
"""The kind of rows that are about those who answered, beside rows about everybody."""
WORST = ("fakes low", "fakes high")
"""The columns of the worst case."""
PROJECTED, MLE = "projected", "mle"
"""The columns of shares that were made consistent, and of the most likely ones."""
_LAST = ("n", "level", "plan")  # of a table's columns
_SHARE = ("share", "low", "high", "count", "noisy", "method")
_UNBIASED = ("unbiased", "stderr", "unbiased_low", "unbiased_high")
MOVED = "moved_from"
"""The column of the unbiased number, where what is shown is more than two standard errors from it."""


@final
@dataclass(frozen=True)
class FoundRows:
    """What was found, as rows: a dictionary for each value, group, mean or quantile."""

    found: Findings

    def table(self, bins: bool = True) -> list[dict[str, Any]]:
        """The same as rows of one table: `kind` tells values, groups, means and quantiles apart, and shares
        among those who answered.

        Without bins, single values are left out where there are groups.
        """
        values = [row for row in self.values if bins or row["attribute"] not in self.found.groups]
        rows = [row | {"kind": "value"} for row in values]
        rows += [row | {"kind": "group"} for row in self.groups]
        rows += [row | {"kind": AMONG} for row in self.answered]
        rows += [{"value": MEAN} | row | {"kind": MEAN} for row in self.means]
        for row in self.quantiles:
            rest = {name: cell for name, cell in row.items() if name != "share"}
            rows.append({"value": name_quantile(row["share"])} | rest | {"kind": "quantile"})
        rows += [row | {"kind": RANGE} for row in self.ranges]
        names = dict.fromkeys(name for row in rows for name in row)
        columns: dict[str, Any] = dict.fromkeys(
            ["attribute", "value", "kind", *(one for one in names if one not in _LAST), *_LAST]
        )
        return [columns | row for row in rows]

    @cached_property
    def means(self) -> list[dict[str, Any]]:
        """A row per mean."""
        rows = []
        for name, mean in self.found.means.items():
            raw = self.found.unbiased_means[name]
            row = {"attribute": name, "mean": mean.value, "low": mean.low, "high": mean.high}
            row |= {"within": mean.within, "noisy": name in self.found.noisy_means}
            row |= dict(zip(_UNBIASED, (raw.value, raw.stderr, raw.low, raw.high), strict=True))
            row |= {MOVED: find_moved(mean.value, raw.value, raw.stderr)}
            rows.append(row | self._name_people(name, middle=True) | self._context(name))
        return rows

    @cached_property
    def quantiles(self) -> list[dict[str, Any]]:
        """A row per median, and per quantile that was asked for."""
        return [
            {
                "attribute": name,
                "share": share,
                "quantile": as_finite(found.value),
                "low": as_finite(found.low),
                "high": as_finite(found.high),
                "stderr": as_finite(found.stderr),
                "noisy": self.found.is_wide(name, found),
                **self._name_people(name, middle=True),
                **self._context(name),
            }
            for name, shares in self.found.all_quantiles.items()
            for share, found in shares.items()
        ]

    @cached_property
    def ranges(self) -> list[dict[str, Any]]:
        """A row per share between two numbers that was asked for."""
        rows = []
        for name, asked in self.found.ranges.items():
            for between, raw in asked.items():
                one = ShownShare.of(self.found.result, name, between, raw)
                count = one.share.value * float(self.found.result[name].n)
                row = {"attribute": name, "value": str(between), "share": one.share.value}
                row |= {"low": one.share.low, "high": one.share.high, "count": count, "noisy": one.noisy}
                row |= dict(zip(_UNBIASED, (raw.value, raw.stderr, raw.low, raw.high), strict=True))
                row |= {MOVED: one.moved_from}
                rows.append(row | self._name_people(name, middle=True) | self._context(name))
        return rows

    @cached_property
    def values(self) -> list[dict[str, Any]]:
        """A row per value, with nothing in it where nobody reported."""
        rows: list[dict[str, Any]] = []
        for name in self.found.names:
            estimate = self.found.result.estimates[name]
            more: dict[str, Sequence[Any]] = {}
            if self.found.fakes is not None:
                worst = self._find_worst(name)
                more = {end: list(map(as_finite, at)) for end, at in zip(WORST, worst, strict=True)}
            labels = range(estimate.k) if estimate.labels is None else estimate.labels
            rows += self._share_rows(name, labels, self.found.shares[name], self.found.unbiased[name], more)
        columns = rows[0] if rows else dict.fromkeys(("attribute", "value", *_SHARE, *_UNBIASED, MOVED))
        for name, nothing in self.found.result.unreported.items():
            empty = dict.fromkeys(columns)
            labels = () if nothing.labels == (MEAN,) else nothing.labels  # a number has no shares
            rows += [empty | {"attribute": name, "value": one} | self._context(name) for one in labels]
        return rows

    def _find_worst(self, name: str) -> tuple[Floats, Floats]:
        """Where each share is in the worst case that fakes allow; nan where they cannot explain it."""
        estimate, fakes, n = self.found.result.estimates[name], self.found.fakes, self.found.result.n
        assert fakes is not None
        if not self.found.result.is_drawn(name):
            return estimate.interval_with_fakes(fakes, self.found.level, n)
        # fakes may also be about who answered, and then anything is possible
        return np.zeros(estimate.k), np.ones(estimate.k)

    @cached_property
    def groups(self) -> list[dict[str, Any]]:
        """A row per group."""
        rows = []
        for name, groups in self.found.groups.items():
            unbiased = read_columns([one.share for one in groups])
            labels = [group.label for group in groups]
            rows += self._share_rows(name, labels, self.found.group_shares[name], unbiased, {})
        return rows

    @cached_property
    def answered(self) -> list[dict[str, Any]]:
        """A row per value, or per group, of those who answered."""
        rows = []
        for name, one in self.found.answered.items():
            n, shares = float(self.found.result[name].n) * one.part, one.shares
            noisy = find_noisy(shares).tolist()
            columns = [shares.share, shares.low, shares.high, shares.share * n]
            shown = zip(*(each.tolist() for each in columns), noisy, strict=True)
            unbiased = zip(*(each.tolist() for each in one.unbiased), strict=True)
            for label, told, raw in zip(one.labels, shown, unbiased, strict=True):
                row: dict[str, Any] = {"attribute": name, "value": label}
                row |= dict(zip(_SHARE, (*told, shares.method), strict=True))
                row |= dict(zip(_UNBIASED, raw, strict=True))
                row |= {MOVED: find_moved(row["share"], row["unbiased"], row["stderr"])}
                rows.append(row | {AMONG: one.people} | self._context(name))
        return rows

    def _share_rows(
        self,
        name: str,
        labels: Sequence[object],
        shares: Shares,
        unbiased: tuple[Floats, ...],
        more: Mapping[str, Sequence[Any]],
    ) -> list[dict[str, Any]]:
        n = float(self.found.result[name].n)
        if self.found.result.is_drawn(name):
            n *= min(max(share_answered(self.found.result, name, self.found.level).value, 0.0), 1.0)
        noisy = find_noisy(shares)
        ends = shares.low.tolist(), shares.high.tolist()
        columns: dict[str, Sequence[Any]] = dict(
            zip(_UNBIASED, (each.tolist() for each in unbiased), strict=True)
        )
        moves = zip(shares.share.tolist(), columns["unbiased"], columns["stderr"], strict=True)
        columns[MOVED] = [find_moved(*move) for move in moves]
        columns |= more
        columns |= {of: self._sums(name, found, shares.share.size) for of, found in self._others(name)}
        context, people = self._context(name), self._name_people(name, middle=False)
        rows = []
        for v, (label, share, low, high) in enumerate(zip(labels, shares.share.tolist(), *ends, strict=True)):
            told = (share, low, high, share * n, bool(noisy[v]), shares.method)
            row = {"attribute": name, "value": label, **dict(zip(_SHARE, told, strict=True))}
            rows.append(row | {of: column[v] for of, column in columns.items()} | people | context)
        return rows

    def _others(self, name: str) -> list[tuple[str, Floats]]:
        """Other shares of single values that were asked for, by name."""
        found: list[tuple[str, Floats]] = []
        if name in self.found.leveled:  # which have no shares of single values
            return found
        if self.found.project is not None:
            found.append((PROJECTED, self._project(name, self.found.project)))
        found += [(of, one[name].frequencies) for of, one in self.found.likelihoods if name in one]
        return found

    def _project(self, name: str, method: str) -> Floats:
        """Unbiased shares after a consistency step; those of everybody know how to take it."""
        estimate = self.found.result.estimates[name]
        if not self.found.result.is_drawn(name):
            return estimate.project(method)
        level = 1 - 0.1 / estimate.k
        unbiased = self.found.unbiased[name][0]
        return consistency.project(method, unbiased, lambda: self.found.find_unbiased(name, level)[2])

    def _sums(self, name: str, shares: Floats, size: int) -> list[float]:
        """Those shares, or their sums where rows are groups."""
        if size == shares.size:
            return [float(share) for share in shares]
        return [float(shares[group.values].sum()) for group in self.found.groups[name]]

    def _context(self, name: str) -> dict[str, Any]:
        """The last columns of a row about this attribute."""
        known = self.found.result.unreported.get(name) or self.found.result[name]
        return dict(zip(_LAST, (known.n, self.found.level, self.found.result.plan_id), strict=True))

    def _name_people(self, name: str, middle: bool) -> dict[str, str]:
        """The same as a column, which rows about everybody do not have."""
        people = self.found.among(name, middle)
        return {} if people is None else {"among": people}


def name_quantile(share: float) -> str:
    """What a quantile is called."""
    return "median" if share == MEDIAN else f"quantile {share:g}"


def as_finite(position: float) -> float | None:
    """A position for JSON, which has no infinite ones."""
    return float(position) if math.isfinite(position) else None
