"""Holds what a plan says (attributes, mechanism, policies) and what that gives away, and writes both.

Losses are stated in billionths of a nat, rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any, Literal, final, get_args

from deniable.domain import NO_ANSWER, Categories, Domain, Product, Range, checked_text
from deniable.domain.grid import Grid
from deniable.domain.number import Number
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
    list_several,
)
from deniable.plan.known import Known, check_known
from deniable.plan.losses import Loss
from deniable.plan.maps import Map, check_maps
from deniable.plan.notation import (
    LARGEST_INTEGER,
    InvalidPlan,
    Json,
    checked_boolean,
    checked_fields,
    checked_integer,
    checked_kind,
    checked_list,
    checked_string,
    checked_threshold,
    mechanism_from_dict,
    mechanism_to_dict,
)
from deniable.plan.texts import Texts
from deniable.plan.units import check_fit, refuse_together, rest_loss, unit_loss
from deniable.records import (
    RECORD_MECHANISMS,
    Blank,
    Fake,
    Guessed,
    Imitated,
    Prior,
    RecordMechanism,
    as_record_mechanism,
)
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
        """Whether every attribute could have "no answer" as a value: metric ones and numbers cannot."""
        return not any(part.metric or part.numeric for part in self.parts)

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
        """The values' names, no answer among them where it is a value."""
        return attribute.domain.labels + self.extras(attribute)

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
            optional["known"] = _factors_to_dict(self.known.factors)
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
            known=Known(tuple(_read_factors(data["known"], "known"))) if "known" in data else None,
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


@final
class _Sizes:
    """The numbers of values of a plan's attributes, each taken by a mechanism, in order."""

    def __init__(self, ks: Sequence[int]) -> None:
        self._ks = ks
        self.used = 0

    def take(self) -> int:
        """The next one."""
        if self.used == len(self._ks):
            raise InvalidPlan(f"there are {len(self._ks)} attributes, but mechanisms for more", "parts")
        self.used += 1
        return self._ks[self.used - 1]


_FAKES: dict[str, tuple[Callable[..., Fake], tuple[str, ...], bool]] = {
    "guessed": (Guessed, ("direct", "memoized"), True),
    "imitated": (Imitated, ("direct", "unary", "memoized"), True),
    "blank": (Blank, ("unary", "memoized"), False),
}
"""What a fake is called in a plan, which mechanisms it imitates, and whether it has a prior."""
_NESTED = tuple(kind for kind, one in RECORD_MECHANISMS.items() if one.nests)


@singledispatch
def _part_to_dict(part: object) -> Json:
    raise InvalidParameter(f"a plan cannot hold {type(part).__name__}")


@_part_to_dict.register
def _(part: ExactMechanism) -> Json:
    return mechanism_to_dict(part)


@_part_to_dict.register
def _(part: Fake) -> Json:
    kind, has_prior = next((kind, prior) for kind, (cls, _, prior) in _FAKES.items() if type(part) is cls)
    data: Json = {"kind": kind, "part": mechanism_to_dict(part.part)}
    if not has_prior:
        return data
    uniform = part.belief == Prior.uniform(part.belief.k)
    return data | {"prior": "uniform" if uniform else [str(weight) for weight in part.belief.weights]}


@_part_to_dict.register
def record_to_dict(part: RecordMechanism) -> Json:
    """A record mechanism as its kind, its parts and its numbers."""
    parts = [_part_to_dict(one) for one in getattr(part, part.part_field)]
    numbers = {name: getattr(part, name) for name in part.numbers}
    lists = {name: list(given) for name in part.lists if (given := getattr(part, name)) is not None}
    return {"kind": part.kind, part.part_field: parts} | numbers | lists


def record_from_dict(data: object, ks: Sequence[int]) -> RecordMechanism:
    """Back from `record_to_dict`, for attributes of these sizes."""
    found = _read_record(data, sizes := _Sizes(ks), tuple(RECORD_MECHANISMS))
    if sizes.used < len(ks):
        raise InvalidPlan(f"there are {len(ks)} attributes, but mechanisms for {sizes.used}", "parts")
    return found


def _read_record(data: object, sizes: _Sizes, kinds: Sequence[str]) -> RecordMechanism:
    kind = checked_kind(data, "a record mechanism", kinds)
    made_by = RECORD_MECHANISMS[kind]
    given = [name for name in made_by.lists if isinstance(data, dict) and name in data]
    wanted = ("kind", made_by.part_field, *made_by.numbers, *given)
    fields = checked_fields(data, f"a {kind} record mechanism", wanted)
    numbers: Json = {name: checked_integer(fields[name], name) for name in made_by.numbers}
    for name in given:
        numbers[name] = tuple(checked_integer(one, name) for one in checked_list(fields[name], name))
    read = _MEMBERS[made_by.part_field]
    members = [
        read(one, sizes, made_by) for one in checked_list(fields[made_by.part_field], made_by.part_field)
    ]
    return made_by.build(members, **numbers)


def _read_part(data: object, sizes: _Sizes, inside: type[RecordMechanism]) -> object:
    kind = data.get("kind") if isinstance(data, dict) else None
    if inside.takes_records and isinstance(kind, str) and kind in RECORD_MECHANISMS:
        return _read_record(data, sizes, _NESTED)
    sizes.take()
    return mechanism_from_dict(data)


def _read_fake(data: object, sizes: _Sizes, _inside: type[RecordMechanism]) -> Fake:
    kind = checked_kind(data, "a fake", tuple(_FAKES))
    made_by, kinds, has_prior = _FAKES[kind]
    fields = checked_fields(data, f"a {kind} fake", ("kind", "part", *(("prior",) if has_prior else ())))
    part, k = mechanism_from_dict(fields["part"], kinds), sizes.take()
    if not has_prior:
        return made_by(part)
    if part.k > k + 2:  # before a prior of that size is made
        raise InvalidPlan(f"an attribute has {k} values, its mechanism {part.k}", "fit")
    if fields["prior"] == "uniform":
        return made_by(part, Prior.uniform(part.k))
    weights = checked_list(fields["prior"], "prior")
    prior = Prior(tuple(checked_threshold(weight, "a prior's weight") for weight in weights))
    if prior.k != part.k:
        raise InvalidPlan(f"a prior has {prior.k} weights, its mechanism {part.k} values", "prior")
    return made_by(part, prior)


_MEMBERS: dict[str, Callable[[object, _Sizes, type[RecordMechanism]], Any]] = {
    "parts": _read_part,
    "fakes": _read_fake,
}
"""How the parts of a record mechanism are read, by what they are called."""


def domain_to_dict(domain: Domain) -> Json:
    """A domain as its labels or its integers."""
    if isinstance(domain, Categories):
        return {"kind": "categories", "labels": list(domain.labels)}
    if isinstance(domain, Range):
        numbers = {
            "low": domain.scaled_low,
            "step": domain.scaled_step,
            "bins": domain.bins,
            "digits": domain.digits,
        }
        unit = {"unit": domain.unit} if domain.unit else {}
        ends = {"open_low": domain.open_low, "open_high": domain.open_high}
        return {"kind": "range", **numbers, **ends, **unit}
    if isinstance(domain, Number):
        numbers = {"low": domain.scaled_low, "high": domain.scaled_high, "digits": domain.digits}
        return {"kind": "number", **numbers, "open_low": domain.open_low, "open_high": domain.open_high}
    if isinstance(domain, Grid):
        return {"kind": "grid", **domain.corners, "rows": domain.rows, "columns": domain.columns}
    if isinstance(domain, Product):
        return {"kind": "product", "factors": _factors_to_dict(domain.factors)}
    raise InvalidParameter(f"a plan cannot hold the domain {type(domain).__name__}")


def _factors_to_dict(factors: Sequence[tuple[str, Domain]]) -> list[Json]:
    return [{"name": name, "domain": domain_to_dict(one)} for name, one in factors]


def domain_from_dict(data: object) -> Domain:
    """Back from `domain_to_dict`."""
    kind = checked_kind(data, "a domain", ("categories", "range", "number", "grid", "product"))
    if kind == "product":
        fields = checked_fields(data, "a product", ("kind", "factors"))
        return Product(_read_factors(fields["factors"], "factors"))
    if kind == "categories":
        data = checked_fields(data, "categories", ("kind", "labels"))
        return Categories(
            [checked_string(label, "a label") for label in checked_list(data["labels"], "labels")]
        )
    if kind == "grid":
        numbers, _ = _numbers(data, "a grid", ("south", "west", "north", "east", "rows", "columns"))
        return Grid.from_integers(*numbers)
    if kind == "number":
        numbers, ends = _numbers(data, "a number", ("low", "high", "digits"), ("open_low", "open_high"))
        low, high, digits = numbers
        return Number.from_integers(low, high, digits, *ends)
    unit: Any = ""
    if isinstance(data, dict) and "unit" in data:
        unit = checked_string(data["unit"], "unit")
        data = {name: value for name, value in data.items() if name != "unit"}
    numbers, ends = _numbers(data, "a range", ("low", "step", "bins", "digits"), ("open_low", "open_high"))
    low, step, bins, digits = numbers
    open_low, open_high = ends
    return Range.from_integers(low, step, bins, digits, open_low, open_high, unit)


def _read_factors(data: object, what: str) -> list[tuple[str, Domain]]:
    found = []
    for one in checked_list(data, what):
        factor = checked_fields(one, "a factor", ("name", "domain"))
        name = checked_text(checked_string(factor["name"], "name"), "a question's name")
        checked_kind(factor["domain"], "a factor's domain", ("categories", "range"))
        found.append((name, domain_from_dict(factor["domain"])))
    return found


def _numbers(
    data: object, what: str, names: Sequence[str], ends: Sequence[str] = ()
) -> tuple[list[int], list[bool]]:
    """Integers, and whether ends are open."""
    fields = checked_fields(data, what, ("kind", *names, *ends))
    integers = [checked_integer(fields[name], name) for name in names]
    return integers, [checked_boolean(fields[end], end) for end in ends]
