"""Holds what a plan says (attributes, mechanism, policies) and what that gives away, and writes both.

Losses are stated in billionths of a nat, rounded up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, final, get_args

from deniable.domain import NO_ANSWER, Domain, checked_text
from deniable.errors import InvalidParameter, not_among
from deniable.exact import log_up, whole_number
from deniable.mechanisms import ExactMechanism
from deniable.plan.attribute import (
    NO_ANSWER_LABEL,
    NOT_APPLICABLE,
    POLICIES,
    Attribute,
    Missing,
    check_questions,
    list_changed,
    list_domains,
    list_levels,
    list_several,
)
from deniable.plan.domain_json import domain_from_dict, domain_to_dict, factors_from_dict, factors_to_dict
from deniable.plan.known_groups import Known, check_known
from deniable.plan.losses import Loss
from deniable.plan.maps import Map, check_maps
from deniable.plan.mechanism_json import record_from_dict, record_to_dict
from deniable.plan.metric_losses import check_fit, refuse_together, rest_loss, unit_loss
from deniable.plan.strict_json import (
    LARGEST_INTEGER,
    InvalidPlan,
    Json,
    checked_fields,
    checked_integer,
    checked_list,
    checked_string,
)
from deniable.plan.texts import Texts
from deniable.records import RecordMechanism, Sample, as_record_mechanism
from deniable.tickets import PublicKey

VERSION = 2
MOST_ROUNDS = 1000
_MOST_JOINED = 256  # questions of several attributes, whose losses are computed one by one
MOST_ATTRIBUTES = 1 << 12
MOST_WORDS = 1 << 22
"""Of a report: a device must not stall on a plan that somebody made for that."""

Ask = Literal["all", "sampled"]


@final
@dataclass(frozen=True)
class Content:
    """All that a plan says but for its losses and its id, which follow from it."""

    attributes: tuple[Attribute, ...]
    mechanism: RecordMechanism
    """How a record becomes a report."""
    people: int
    title: str = ""
    missing: Missing = "refuse"
    rounds: int | None = None
    """How many collections the losses are stated for, where the study asks again."""
    ticket_key: str | None = None
    """Where invitations are exchanged for tickets: the modulus of the key that signs these."""
    texts: Texts | None = None
    """What the survey says in the operator's own words."""
    ask: Ask = "all"
    """Which questions a device asks: all, or only those that it has drawn for the report."""
    maps: tuple[tuple[str, Map], ...] = ()
    """What the survey draws under the cells of grids, by attribute."""
    known: Known | None = None
    """What the collector knows anyway: each report names it as it is, outside of all losses."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", checked_people(self.people))
        if self.title:
            checked_text(self.title, "a title")
        if self.missing not in POLICIES:
            text = not_among(str(self.missing), "a policy for missing answers", POLICIES)
            raise InvalidParameter(text, "missing")
        if self.ticket_key is not None:
            PublicKey.from_text(self.ticket_key)
        names = [attribute.name for attribute in self.attributes]
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise InvalidParameter(f"the attribute {twice!r} occurs twice", "names")
        _refuse_many_attributes(len(names))
        object.__setattr__(self, "attributes", tuple(map(self._drop_usual, self.attributes)))
        object.__setattr__(self, "mechanism", as_record_mechanism(self.mechanism).drop_claim())
        self._check_sizes()
        self._check_rounds()
        extras = {one.name: self.extras(one) for one in self.attributes}
        check_questions(self.attributes, extras, self.missing)
        self._check_levels()
        if self.known is not None:
            check_known(self.known, self.attributes)
        self._check_texts()
        refuse_asking(self.ask, self.mechanism)
        if self.ask != "all" and not all(one.is_plain for one in self.attributes):
            raise InvalidParameter(
                "ask = 'sampled': questions that depend on each other (only_if, several, missing values of "
                "numbers) must all be asked; ask all, or leave these out",
                "ask",
            )
        check_maps(dict(self.maps), {one.name: one.domain for one in self.attributes})
        policies = [self.missing_of(one) for one in self.attributes]
        refuse_together(names, self.mechanism, policies)

    def _drop_usual(self, attribute: Attribute) -> Attribute:
        """Without a policy of its own that is the plan's."""
        return replace(attribute, missing=None) if attribute.missing == self.missing else attribute

    def _check_sizes(self) -> None:
        if len(self.parts) != len(self.attributes):
            raise InvalidParameter(
                f"there are {len(self.attributes)} attributes, but mechanisms for {len(self.parts)}", "parts"
            )
        for attribute, part in zip(self.attributes, self.parts, strict=True):
            check_fit(part, attribute.domain, attribute.name)
            self._refuse_extras(attribute)
            if part.k != self.size(attribute) and not (part.metric or part.numeric):
                raise InvalidParameter(
                    f"{attribute.name!r} has {self.size(attribute)} values, its mechanism {part.k}", "fit"
                )
        if self.words > MOST_WORDS:
            raise InvalidParameter(
                f"a report takes at most {MOST_WORDS:,} random words, this one {self.words:,}; ask for fewer "
                "values, or choose mechanisms other than unary ones",
                "words",
            )

    def _refuse_extras(self, attribute: Attribute) -> None:
        """Refuse values beside those of text and codes, whose codes use all their bits."""
        if not attribute.domain.listed and (attribute.only_if or self.missing_of(attribute) == "value"):
            raise InvalidParameter(
                f"{attribute.name!r} is text or a code that nobody listed, so 'no answer' and 'not "
                "applicable' cannot be among its values; refuse missing answers or make them random, and "
                "ask a yes/no question beside it",
                "no-answer",
            )

    def _check_rounds(self) -> None:
        repeated = [part.repeated for part in self.parts]
        if any(repeated) != all(repeated):
            raise InvalidParameter("either all attributes are asked again and again, or none is", "rounds")
        if any(repeated):
            what = "rounds, the number of collections,"
            rounds = whole_number(what, self.rounds, 1, MOST_ROUNDS, reason="rounds")
            object.__setattr__(self, "rounds", rounds)
        elif self.rounds is not None:
            text = "rounds are for studies that ask again; these mechanisms answer once"
            raise InvalidParameter(text, "rounds")

    def _check_levels(self) -> None:
        if self.levels:
            from deniable.plan.levels import check_combined  # a device without levels starts without trees

            check_combined(self.levels)
        for member, first, _ in self.mechanism.members:
            own = self.attributes[first : first + member.d]
            if isinstance(member, Sample) and member.reported > 1 and any(one.domain.is_level for one in own):
                raise InvalidParameter(
                    f"a report holds one level of a question, and not {member.reported} of its attributes",
                    "tables",
                )

    def _check_texts(self) -> None:
        if not self.texts:
            object.__setattr__(self, "texts", None)
            return
        if self.texts.consent is True:
            raise InvalidParameter("a consent is generated by Study.plan; a plan has its text", "texts")
        several = {name: len(options) for name, options in list_several(self.attributes).items()}
        self.texts.check(self.domains, self.title, several)

    @property
    def domains(self) -> dict[str, Domain]:
        """The values of every question that has one answer, known ones first."""
        return dict(() if self.known is None else self.known.factors) | list_domains(self.attributes)

    @property
    def parts(self) -> tuple[ExactMechanism, ...]:
        """One mechanism per attribute."""
        return self.mechanism.mechanisms

    @property
    def has_no_answer(self) -> bool:
        """Whether every attribute could have "no answer" as a value: metric ones, numbers and text cannot."""
        return not any(part.metric or part.numeric or not part.listed for part in self.parts)

    @cached_property
    def _part_by_name(self) -> dict[str, ExactMechanism]:
        return {one.name: part for one, part in zip(self.attributes, self.parts, strict=True)}

    def missing_of(self, attribute: Attribute) -> Missing:
        """What a missing answer to it means."""
        return attribute.missing or self.missing

    def extras(self, attribute: Attribute) -> tuple[str, ...]:
        """The values beside those of its domain: not applicable, and no answer."""
        part = self._part_by_name[attribute.name]
        skipped = (NOT_APPLICABLE,) if attribute.only_if and not (part.metric or part.numeric) else ()
        return skipped + ((NO_ANSWER_LABEL,) if self.missing_of(attribute) == "value" else ())

    def size(self, attribute: Attribute) -> int:
        """How many values the mechanism of an attribute has: no answer may be one of them."""
        return attribute.domain.k + len(self.extras(attribute))

    def labels(self, attribute: Attribute) -> tuple[str, ...]:
        """The values' names, no answer among them where it is a value; none where values are not listed."""
        return attribute.domain.shown_labels + self.extras(attribute)

    def extra_code(self, attribute: Attribute, label: str) -> int:
        """The code of a value that is not one of the domain; -1 where there is none, and it is drawn."""
        extras = self.extras(attribute)
        return attribute.domain.k + extras.index(label) if label in extras else NO_ANSWER

    @cached_property
    def draws(self) -> bool:
        """Whether some answer may be drawn at random: a missing one, or one that does not apply."""
        return any(
            self.missing_of(one) == "random" or (one.only_if is not None and not self.extras(one))
            for one in self.attributes
        )

    @property
    def words(self) -> int:
        """How many words a record takes: the mechanism's, and one per attribute where answers are drawn."""
        return self.mechanism.words + (len(self.attributes) if self.draws else 0)

    def loss(self) -> Loss:
        """Recomputed from the integers alone."""
        record, attribute = self.mechanism.loss("record"), self.mechanism.loss("attribute")
        pairs = zip(self.attributes, self.parts, strict=True)
        units = tuple(found for one, part in pairs if (found := unit_loss(part, one.name)) is not None)
        rest = rest_loss(self.mechanism) if units else None
        joined = [names for names in self.changed.values() if len(names) > 1]
        answer = None
        if len(joined) > _MOST_JOINED:
            answer = record
        elif joined:
            answer = max(attribute, *map(self.loss_among, joined))
        again = None if self.rounds is None else self.mechanism.losses(self.rounds, self.rounds)
        return Loss(record, attribute, again, rest, units, answer)

    @cached_property
    def levels(self) -> dict[str, tuple[Attribute, ...]]:
        """The attributes that are levels of a question, the coarsest first, of every question with some."""
        return list_levels(self.attributes)

    @cached_property
    def changed(self) -> dict[str, tuple[str, ...]]:
        """The attributes that an answer to each question can change."""
        return list_changed(self.attributes)

    def loss_among(self, names: Collection[str]) -> float:
        """What a report loses between people who differ in these attributes only, at most, rounded up."""
        return log_up(self.mechanism.ratio_among([one.name in names for one in self.attributes]))

    def to_dict(self) -> Json:
        """The document, without losses and id."""
        optional: Json = {} if self.ticket_key is None else {"ticket_key": self.ticket_key}
        if self.texts is not None:
            optional["texts"] = self.texts.to_dict()
        if self.ask != "all":
            optional["ask"] = self.ask
        if self.maps:
            optional["maps"] = {name: one.to_dict() for name, one in self.maps}
        if self.known is not None:
            optional["known"] = factors_to_dict(self.known.factors)
        return {
            "attributes": [
                attribute.to_dict(domain_to_dict(attribute.domain)) for attribute in self.attributes
            ],
            "missing": self.missing,
            "people": self.people,
            "rounds": self.rounds,
            "mechanism": record_to_dict(self.mechanism),
            "title": self.title,
            "version": VERSION,
        } | optional

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Content:
        """Back from `to_dict`; whatever is not just as it would have been written is refused."""
        optional = [name for name in ("ask", "known", "maps", "texts", "ticket_key") if name in data]
        wanted = ["attributes", "mechanism", "missing", "people", "rounds", "title", "version", *optional]
        checked_fields(data, "the plan", wanted)
        attributes = []
        asked = checked_list(data["attributes"], "attributes")
        _refuse_many_attributes(len(asked))  # before each of them is read
        for given in asked:
            one = Attribute.read_fields(given)
            attributes.append(Attribute(**one | {"domain": domain_from_dict(one["domain"])}))
        content = Content(
            attributes=tuple(attributes),
            mechanism=record_from_dict(data["mechanism"], [attribute.domain.k for attribute in attributes]),
            people=checked_integer(data["people"], "people"),
            title=checked_string(data["title"], "title"),
            missing=data["missing"],
            rounds=None if data["rounds"] is None else checked_integer(data["rounds"], "rounds"),
            ticket_key=checked_string(data["ticket_key"], "ticket_key") if "ticket_key" in data else None,
            texts=Texts.from_dict(data["texts"]) if "texts" in data else None,
            ask=data.get("ask", "all"),
            maps=_maps_from_dict(data["maps"], attributes) if "maps" in data else (),
            known=Known(tuple(factors_from_dict(data["known"], "known"))) if "known" in data else None,
        )
        if content.to_dict() != data:
            raise InvalidPlan(
                "the plan is not in its canonical form: it says the same thing otherwise than it is written",
                "canonical",
            )
        return content


def _maps_from_dict(data: object, attributes: Sequence[Attribute]) -> tuple[tuple[str, Map], ...]:
    domains = {one.name: one.domain for one in attributes}
    given = checked_fields(data, "maps", tuple(data) if isinstance(data, dict) else ())
    return tuple((name, Map.from_dict(one, domains.get(name), name)) for name, one in sorted(given.items()))


def refuse_asking(ask: str, mechanism: RecordMechanism) -> None:
    """Refuse to ask only what was drawn if a report does not name that, or if it holds everything."""
    if ask not in get_args(Ask):
        raise InvalidParameter(f"ask is 'all' or 'sampled', got {ask!r}", "ask")
    if ask == "all":
        return
    members = [member for member, _, _ in mechanism.members]
    if any(member.fake(0) is not None for member in members):
        raise InvalidParameter(
            "ask = 'sampled': fake data hide which answer is real, and the screen would show it; use "
            "mechanism 'sample', or ask all",
            "ask",
        )
    if all(member.reported == member.d for member in members):
        raise InvalidParameter(
            "ask = 'sampled': every report holds all attributes, so that all must be asked; use mechanism "
            "'sample', or ask all",
            "ask",
        )


def _refuse_many_attributes(number: int) -> None:
    if number > MOST_ATTRIBUTES:
        raise InvalidParameter(
            f"a plan has at most {MOST_ATTRIBUTES:,} attributes, got {number:,}", "attributes"
        )


def checked_people(people: object) -> int:
    """How many people are asked: a whole number, which may be written as 1e5."""
    return whole_number(
        "people",
        int(people) if isinstance(people, float) and people.is_integer() else people,
        1,
        LARGEST_INTEGER,
        reason="people",
    )
