"""Holds the terms of a plan: what is asked, how a record becomes a report, and what that gives away.

They are one document in integers, with an id that covers every one of them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from deniable.domain.grid import Grid
from deniable.domain.parsed import as_domain
from deniable.engines import TableForm
from deniable.errors import InvalidParameter, not_among
from deniable.frames import files
from deniable.plan.document import Ask, Content
from deniable.plan.known_groups import Known
from deniable.plan.labels import LabeledMechanism
from deniable.plan.losses import Loss, Stated
from deniable.plan.maps import Map
from deniable.plan.protection import Protection
from deniable.plan.reading import encode_text, read_document, refuse_reformatted, refuse_study
from deniable.plan.strict_json import MOST_BYTES, InvalidPlan, canonical, refuse_long
from deniable.plan.texts import Texts
from deniable.records import RecordMechanism
from deniable.tickets import PublicKey


@dataclass(frozen=True)
class Terms(ABC):
    """What people are told before they answer; `Plan` adds what is done with their answers."""

    content: Content
    stated: Stated

    def with_ticket_key(self, key: PublicKey) -> Self:
        """The same plan for invitations that are exchanged for tickets, which this key signs.

        Its id differs: whoever has the plan has the key, so that nobody can be given another one.
        """
        return replace(self, content=replace(self.content, ticket_key=key.to_text()))

    def with_texts(self, texts: Texts | None) -> Self:
        """The same plan for a survey with these texts. Its id differs: it covers what people read."""
        return replace(self, content=replace(self.content, texts=texts))

    def with_maps(self, maps: Mapping[str, Map]) -> Self:
        """The same plan for a survey that draws these maps under the cells of grids, by attribute."""
        return replace(self, content=replace(self.content, maps=tuple(sorted(maps.items()))))

    def with_ask(self, ask: Ask) -> Self:
        """The same plan where a device asks all questions, or only those that it has drawn ("sampled")."""
        return replace(self, content=replace(self.content, ask=ask))

    def with_known(self, known: Mapping[str, object]) -> Self:
        """The same plan with groups that the collector knows anyway, which each report names as they are.

        They are questions by name, as in `Plan.of`; without any, no group is known. All losses are of the
        other answers. What the survey says about groups that are known no more is left out.

        >>> from deniable.mechanisms import grr
        >>> from deniable.study import Plan
        >>> plan = Plan.of({"smokes": ["yes", "no"]}, grr(2, 1.0), people=1000)
        >>> plan = plan.with_known({"arm": ["A", "B"]})
        >>> reports = plan.privatize({"arm": ["A", "B"], "smokes": ["yes", "no"]})
        >>> [group["smokes"].n for group in plan.tally(reports).groups]
        [1, 1]
        """
        factors = tuple((name, as_domain(one, name).plain) for name, one in known.items())
        before = () if self.content.known is None else self.content.known.names
        texts = self.content.texts and self.content.texts.without(set(before) - set(known))
        kept = Known(factors) if factors else None
        return replace(self, content=replace(self.content, known=kept, texts=texts))

    @property
    def mechanism(self) -> RecordMechanism:
        """How a record becomes a report."""
        return self.content.mechanism

    @cached_property
    def ticket_key(self) -> PublicKey | None:
        """The key that signs tickets, where invitations are exchanged for them."""
        text = self.content.ticket_key
        return None if text is None else PublicKey.from_text(text)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names."""
        return tuple(attribute.name for attribute in self.content.attributes)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The values' names, by attribute."""
        return {attribute.name: self.content.labels(attribute) for attribute in self.content.attributes}

    def attribute(self, name: str) -> LabeledMechanism:
        """The mechanism of one attribute, which takes answers by their labels.

        >>> from deniable.mechanisms import rr
        >>> from deniable.study import Plan
        >>> plan = Plan.of({"smokes": ["yes", "no"]}, rr(1.0), people=1000)
        >>> smokes = plan.attribute("smokes")
        >>> smokes.estimate(smokes.tally(smokes.privatize(["yes", "no", "no"]))).labels
        ('yes', 'no')
        """
        if name not in self.names:
            raise InvalidParameter(not_among(name, "an attribute", self.names))
        j = self.names.index(name)
        domain = self.content.attributes[j].domain
        return LabeledMechanism(name, domain, self.mechanism.mechanisms[j], self.labels[name])

    @property
    def locations(self) -> tuple[str, ...]:
        """The attributes that are locations."""
        return tuple(one.name for one in self.content.attributes if isinstance(one.domain, Grid))

    @property
    def words(self) -> int:
        """How many 64-bit words a record takes; one more per attribute if answers may be random."""
        return self.content.words

    @cached_property
    def loss(self) -> Loss:
        """The exact losses, recomputed from the integers and rounded up."""
        return self.content.loss()

    @cached_property
    def protection(self) -> Protection:
        """How well a person's answers are protected, over all rounds."""
        return Protection.of(self.loss)

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

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read and verify a document; whatever is wrong with it is refused with the reason."""
        raw = encode_text(text)
        terms = cls(*read_document(raw))
        terms.verify()
        refuse_reformatted(raw, terms.to_json())
        return terms

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read and verify a file."""
        file = files.require_file(Path(path), "plan.write, or `deniable plan`, writes one")
        refuse_long(file.stat().st_size)  # before it takes memory
        with file.open("rb") as opened:
            raw = opened.read(MOST_BYTES + 1)  # a device or a pipe has no size
        refuse_long(len(raw))
        try:
            return cls.from_json(raw)
        except InvalidPlan:
            refuse_study(file)
            raise

    def write(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the canonical document to a file; an existing file is refused unless `overwrite`."""
        files.refuse_existing(Path(path), overwrite)
        with files.replacing(Path(path)) as temporary:
            temporary.write_bytes(self.to_json().encode() + b"\n")
        return Path(path)

    @cached_property
    def table_form(self) -> TableForm:
        """Its reports as a table, which any engine can count (spec/wire.md)."""
        known = self.content.known
        group = None if known is None else (known.name, known.size)
        return TableForm(self.id, self.names, self.mechanism, group, self.content.rounds or 1)

    @abstractmethod
    def describe(self) -> str:
        """What it is, in a line; then how a record is reported, and a line for each attribute."""

    def __str__(self) -> str:
        return self.describe()

    def _body(self) -> dict[str, Any]:
        return self.content.to_dict() | {"losses": self.stated.to_dict()}
