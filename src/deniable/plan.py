"""A plan: the compiled study, in integers only, so that a client in any language is a small interpreter without mathematics.

It states what a report gives away; whoever holds it can recompute that from its thresholds and refuse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

from deniable import explain, references, table
from deniable.choose import Considered
from deniable.document import VERSION, Attribute, Content, Loss, Missing, Stated
from deniable.domain import NO_ANSWER, as_domain, refuse_missing
from deniable.errors import DeniableError, InvalidParameter, InvalidReport
from deniable.estimate import Backend, Estimate
from deniable.law import Integers
from deniable.mechanism import Tally
from deniable.notation import InvalidPlan, canonical, parsed
from deniable.result import Result
from deniable.shape import Encoder
from deniable.share import Records, Sample, Share
from deniable.words import Words, below, system

__all__ = ["Backend", "InvalidPlan", "Loss", "Plan", "Reports", "Result", "Tallies"]


@final
@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of n records, and the id of the plan they were made for."""

    plan_id: str
    records: Records

    def __len__(self) -> int:
        return self.records.n


@final
@dataclass(frozen=True)
class Tallies:
    """A tally for each attribute of a plan: all that its estimates ever need, so that reports can be deleted."""

    plan_id: str
    n: int
    """How many records were reported; the tally of an attribute counts those that report it."""
    tallies: Mapping[str, Tally]

    def __getitem__(self, name: str) -> Tally:
        return self.tallies[name]

    def __add__(self, other: Tallies) -> Tallies:
        _same_plan(other.plan_id, self.plan_id)
        return replace(
            self, n=self.n + other.n, tallies={name: tally + other.tallies[name] for name, tally in self.tallies.items()}
        )

    def __sub__(self, other: Tallies) -> Tallies:
        _same_plan(other.plan_id, self.plan_id)
        return replace(
            self, n=self.n - other.n, tallies={name: tally - other.tallies[name] for name, tally in self.tallies.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return {"plan": self.plan_id, "n": self.n, "tallies": {name: tally.to_dict() for name, tally in self.tallies.items()}}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Tallies:
        """Back from `to_dict`."""
        if set(data) != {"plan", "n", "tallies"}:
            raise InvalidParameter("the tallies of a plan are {'plan': ..., 'n': ..., 'tallies': {...}}")
        tallies = {name: Tally.from_dict(tally) for name, tally in data["tallies"].items()}
        return Tallies(data["plan"], data["n"], tallies)


@final
@dataclass(frozen=True)
class Plan:
    """What is asked, how a record becomes a report, and what that gives away.

    Plans are made by `Study.plan`, read from a file, or put together from mechanisms of your own by `Plan.of`.
    """

    content: Content
    stated: Stated
    considered: tuple[Considered, ...] = field(default=(), repr=False, compare=False)
    """What the study chose from, best first; a plan that is read from a file does not know."""

    @staticmethod
    def of(
        attributes: Mapping[str, object],
        share: Share | Encoder,
        people: int,
        title: str = "",
        missing: Missing = "refuse",
        rounds: int | None = None,
        considered: Sequence[Considered] = (),
    ) -> Plan:
        """A plan for these attributes by this share (or, for one attribute, this mechanism), which states its true losses.

        >>> from deniable.multidimensional import smp
        >>> plan = Plan.of({"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, smp([3, 2], 1.0, "grr"), people=1000)
        >>> plan.loss.record <= 1.0, Plan.from_json(plan.to_json()) == plan
        (True, True)
        """
        asked = tuple(Attribute(name, as_domain(values, name)) for name, values in attributes.items())
        content = Content(asked, share, people, title, missing, rounds)
        return Plan(content, Stated.of(content.loss()), tuple(considered))

    @property
    def share(self) -> Share | Encoder:
        """How a record becomes a report; the mechanism itself where there is one attribute."""
        return self.content.share

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names."""
        return tuple(attribute.name for attribute in self.content.attributes)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The values' names, by attribute."""
        return {attribute.name: self.content.labels(attribute) for attribute in self.content.attributes}

    @property
    def words(self) -> int:
        """How many 64-bit words one record takes: the share's, then one per attribute if missing answers are random."""
        return self.share.words + (len(self.names) if self.content.missing == "random" else 0)

    @cached_property
    def loss(self) -> Loss:
        """The exact losses, recomputed from the integers and rounded up."""
        return self.content.loss()

    @cached_property
    def id(self) -> str:
        """The SHA-256 of the canonical bytes without the id, in hexadecimal."""
        return hashlib.sha256(canonical(self._body())).hexdigest()

    def verify(self) -> Loss:
        """Recompute the losses from the integers alone; refuse a plan that leaks more than it states."""
        self.stated.refuse_less(self.loss)
        return self.loss

    def to_json(self) -> str:
        """The canonical document: sorted keys, no spaces, integers only."""
        return canonical(self._body() | {"id": self.id}).decode()

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """Read and verify a document; whatever is wrong with it is refused with the reason."""
        data = parsed(text)
        if data.get("version") != VERSION or type(data["version"]) is not int:
            raise InvalidPlan(f"this is a plan of version {data.get('version')!r}, and only version {VERSION} is known here")
        said = data.pop("id", None)
        found = hashlib.sha256(canonical(data)).hexdigest()
        if said != found:
            raise InvalidPlan(f"the plan was changed after it was made: it says its id is {said!r}, but it is {found!r}")
        stated = Stated.from_dict(data.pop("losses", None))
        try:
            plan = Plan(Content.from_dict(data), stated)
        except InvalidPlan:
            raise
        except DeniableError as problem:
            raise InvalidPlan(f"the plan does not fit together: {problem}") from None
        plan.verify()
        raw = text.encode() if isinstance(text, str) else text
        if raw.strip() != plan.to_json().encode():
            raise InvalidPlan("the plan is not in its canonical form (sorted keys, no spaces); was it reformatted?")
        return plan

    @staticmethod
    def read(path: str | Path) -> Plan:
        """Read and verify a file."""
        return Plan.from_json(Path(path).read_bytes())

    def write(self, path: str | Path) -> Path:
        """Write the canonical document to a file."""
        with table.replacing(Path(path)) as temporary:
            temporary.write_bytes(self.to_json().encode() + b"\n")
        return Path(path)

    def explain(self) -> str:
        """In plain words: protocols, expected errors, an attacker's best guess, sizes, losses and what they assume."""
        return explain.explained(self.content, self.loss, self.id, self.considered)

    def cite(self) -> str:
        """BibTeX of what the plan uses."""
        return references.bibliography(self.content.share)

    def encode(self, answers: object) -> Integers:
        """Answers as integers, a row per attribute; no answer is a value, or -1 where it is to be random."""
        attributes = self.content.attributes
        columns = table.columns_of(answers, self.names)
        codes = [one.domain.codes(column, one.name) for one, column in zip(attributes, columns, strict=True)]
        for attribute, found in zip(attributes, codes, strict=True):
            if self.content.missing == "refuse":
                refuse_missing(found, attribute.name)
            elif self.content.missing == "value":
                found[found == NO_ANSWER] = attribute.domain.k
        return np.stack(codes)

    def privatize(self, answers: object, words: Words | None = None) -> Reports:
        """One report per row of a dataframe (pandas, polars, pyarrow), a dictionary of columns, or a list of dictionaries."""
        if words is None and self.content.rounds is not None:
            raise InvalidParameter(
                "this plan asks again and again, so that every person's first answer must be kept; "
                "simulate that with dn.remembering(seed), or let each device answer"
            )
        return self.privatize_codes(self.encode(answers), words)

    def privatize_codes(self, codes: Integers, words: Words | None = None) -> Reports:
        """The same for answers that `encode` has made integers."""
        n = codes.shape[1]
        rows = (system() if words is None else words).rows(n, self.words)
        if self.content.missing == "random":
            codes = codes.copy()
            for j, attribute in enumerate(self.content.attributes):
                absent = np.flatnonzero(codes[j] == NO_ANSWER)
                if absent.size:
                    column = self.share.words + j
                    drawn = rows.pick(absent).columns(column, column + 1).recall().array()[:, 0]
                    codes[j, absent] = below(drawn, attribute.domain.k).astype(np.int64)
        enough = rows.columns(0, self.share.words)
        if isinstance(self.share, Share):
            return Reports(self.id, self.share.encode(np.ascontiguousarray(codes), enough))
        return Reports(self.id, Records(n, (self.share.encode(codes[0], enough),)))

    def tally(self, reports: Reports) -> Tallies:
        """Count each attribute's reports, which must have been made for this plan."""
        _same_plan(reports.plan_id, self.id)
        records = reports.records
        counted = self.share.tally(records) if isinstance(self.share, Share) else (self.share.tally(records.columns[0]),)
        return Tallies(self.id, records.n, dict(zip(self.names, counted, strict=True)))

    def estimate(self, tallies: Tallies) -> Result:
        """Unbiased frequencies with error bars and labels, by attribute."""
        _same_plan(tallies.plan_id, self.id)
        if set(tallies.tallies) != set(self.names):
            raise InvalidReport(
                f"there are tallies of {', '.join(tallies.tallies)}; the attributes are {', '.join(self.names)}"
            )
        found = {}
        for j, (name, part) in enumerate(zip(self.names, self.content.parts, strict=True)):
            tally = part.checked_tally(tallies[name])
            law = self.share.marginal(j) if isinstance(self.share, Share) else part.law
            try:
                found[name] = Estimate(tally.n, tally.counts, law, self.labels[name], asked=tally.asked)
            except InvalidParameter as problem:
                raise InvalidParameter(f"{name!r}: {problem}") from None
        return Result(self.id, tallies.n, found)

    def write_reports(self, path: str | Path, blocks: Iterator[Reports]) -> int:
        """Write blocks of reports to a Parquet file that names this plan; how many records there were."""

        def checked() -> Iterator[Records]:
            for reports in blocks:
                _same_plan(reports.plan_id, self.id)
                yield reports.records

        return table.write_reports(Path(path), self.id, self.names, self.content.parts, checked())

    def read_reports(self, path: str | Path, show: table.Show | None = None) -> Iterator[Reports]:
        """Blocks of reports from a Parquet file, which must have been made for this plan."""
        drawn = self.share.drawn if isinstance(self.share, Sample) else None
        for records in table.read_reports(Path(path), self.id, self.names, self.content.parts, drawn, show):
            yield Reports(self.id, records)

    def _body(self) -> dict[str, Any]:
        return self.content.to_dict() | {"losses": self.stated.to_dict()}


def _same_plan(given: str, expected: str) -> None:
    if given != expected:
        raise InvalidReport(f"reports were made for plan {given[:8]}…, this plan is {expected[:8]}…")
