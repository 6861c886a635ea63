"""Holds the document of a plan: what is asked, how a record becomes a report, and what that gives away.

It is in integers only, with an id that covers every one of them. Losses are stated in billionths of a nat,
rounded up. Whoever reads a document recomputes them from its thresholds, and refuses one that leaks more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, final, get_args

from deniable.domain import NO_ANSWER, Domain, checked_text
from deniable.domain.grid import Grid
from deniable.domain.parsed import as_domain
from deniable.engines import TableForm
from deniable.errors import InvalidParameter, not_among
from deniable.exact import log_up, whole_number
from deniable.formatting import format_allowed
from deniable.frames import file_kind, files
from deniable.mechanisms import Mechanism
from deniable.mechanisms.losses import MOST_REPORTS
from deniable.plan.attribute import (
    NO_ANSWER_LABEL,
    NOT_APPLICABLE,
    POLICIES,
    Attribute,
    LabeledMechanism,
    Missing,
    check_questions,
    find_allowed,
    list_changed,
    list_domains,
    list_levels,
    list_several,
)
from deniable.plan.chain import MOST_CONTINUED, bound_chain, count_bias, list_breaks, list_strands
from deniable.plan.domain_json import domain_from_dict, domain_to_dict, factors_from_dict, factors_to_dict
from deniable.plan.known_groups import Known, check_known
from deniable.plan.losses import Loss, Protection, Stated
from deniable.plan.maps import Map, check_maps
from deniable.plan.mechanism_json import record_from_dict, record_to_dict
from deniable.plan.metric_losses import check_fit, refuse_together, rest_loss, unit_loss
from deniable.plan.strict_json import (
    LARGEST_INTEGER,
    MOST_BYTES,
    InvalidPlan,
    Json,
    canonical,
    checked_fields,
    checked_integer,
    checked_list,
    checked_string,
    parsed,
    refuse_long,
)
from deniable.plan.texts import Texts
from deniable.randomness.words import Strand
from deniable.records import NearSets, RecordMechanism, Sample
from deniable.records.single import Single, as_record_mechanism
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
class PlanDocument:
    """All that a plan says: questions, mechanism, policies, texts, and the losses that it states."""

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
    linked: bool = False
    """Whether a report's id is its person's pseudonym, the same in every round of this plan and no other."""
    turns: int | None = None
    """In how many of the rounds a device answers, which it draws once and keeps; None for all of them."""
    continues: tuple[PlanDocument, ...] = ()
    """The plans before, whose kept answers it carries on: the first of them, and all that followed."""
    claimed: Stated | None = None
    """Losses that a document states above the true ones; None where it states just these."""

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
        own_policies = (  # but those that are the plan's
            replace(attribute, missing=None) if attribute.missing == self.missing else attribute
            for attribute in self.attributes
        )
        object.__setattr__(self, "attributes", tuple(own_policies))
        object.__setattr__(self, "mechanism", as_record_mechanism(self.mechanism).drop_claim())
        self._check_sizes()
        self._check_rounds()
        extras = {member.name: self.extras(member) for member in self.attributes}
        check_questions(self.attributes, extras, self.missing)
        self._check_levels()
        self._check_near()
        if self.known is not None:
            check_known(self.known, self.attributes)
        self._check_texts()
        refuse_asking(self.ask, self.mechanism)
        if self.ask != "all" and not all(member.is_plain for member in self.attributes):
            raise InvalidParameter(
                "ask = 'sampled': questions that depend on each other (only_if, several, missing values of "
                "numbers) must all be asked; ask all, or leave these out",
                "ask",
            )
        check_maps(dict(self.maps), {member.name: member.domain for member in self.attributes})
        policies = [self.missing_of(member) for member in self.attributes]
        refuse_together(names, self.mechanism, policies)
        self._check_continued()

    def _check_sizes(self) -> None:
        if len(self.parts) != len(self.attributes):
            raise InvalidParameter(
                f"there are {len(self.attributes)} attributes, but mechanisms for {len(self.parts)}", "parts"
            )
        for attribute, part in self.pairs:
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
        if any(part.repeated for part in self.parts):
            self._refuse_fresh()
            what = "rounds, the number of collections,"
            rounds = whole_number(what, self.rounds, 1, MOST_ROUNDS, reason="rounds")
            object.__setattr__(self, "rounds", rounds)
        elif self.rounds is not None:
            text = "rounds are for studies that ask again; these mechanisms answer once"
            raise InvalidParameter(text, "rounds")
        if not isinstance(self.linked, bool) or (self.linked and self.rounds is None):
            raise InvalidParameter(
                f"linked is true where the reports of several rounds name one pseudonym, got {self.linked!r}"
                + ("" if self.rounds else ", and this plan asks once"),
                "linked",
            )
        check_turns(self.turns, self.rounds)

    def _refuse_fresh(self) -> None:
        """Refuse answers with fresh noise in every round whose losses do not simply add up."""
        for member, first, _ in self.mechanism.members:
            for attribute, part in self.pairs[first : first + member.d]:
                if part.repeated:
                    continue
                if part.metric or not part.listed or not isinstance(member, Single | Sample):
                    raise InvalidParameter(
                        f"{attribute.name!r} cannot have fresh noise in every round beside answers that are "
                        "kept: metric values, text, codes, near reports and answers among fakes are asked "
                        "once; ask them in a plan of their own",
                        "rounds",
                    )

    def _check_continued(self) -> None:
        """Refuse plans before of which nothing is carried on, or that do not follow each other."""
        plans = (*self.continues, self)
        if len(plans) == 1:
            return
        if any(plan.rounds is None for plan in plans):
            raise InvalidParameter(
                "devices keep nothing of a plan that asks once, so that no plan continues it, and losses add "
                "up; only a plan with rounds continues another one with rounds",
                "continues",
            )
        if len(self.continues) > MOST_CONTINUED:
            raise InvalidParameter(
                f"a plan continues at most {MOST_CONTINUED} others, got {len(self.continues)}; make one that "
                "begins anew",
                "continues",
            )
        if sum(plan.rounds or 0 for plan in plans) > MOST_REPORTS:
            raise InvalidParameter(
                f"plans that continue each other have at most {MOST_REPORTS:,} rounds together; make one "
                "that begins anew",
                "continues",
            )
        for i, plan in enumerate(plans[1:], 1):
            breaks = list_breaks(plans[i - 1], plan)
            if plan.continues != plans[:i] or all(breaks):
                raise InvalidParameter(
                    f"this plan carries on nothing of the plan before it ({breaks[0]}), so it is a plan of "
                    "its own, and the losses of both add up",
                    "continues",
                )

    def _check_levels(self) -> None:
        if self.levels:
            from deniable.plan.levels import check_combined  # a device without levels starts without trees

            check_combined(self.levels)
        for member, first, _ in self.mechanism.members:
            attributes = self.attributes[first : first + member.d]
            is_several = isinstance(member, Sample) and member.reported > 1
            if is_several and any(attribute.domain.is_level for attribute in attributes):
                raise InvalidParameter(
                    f"a report holds one level of a question, and not {member.reported} of its attributes",
                    "tables",
                )

    def _check_near(self) -> None:
        """Refuse near sets of anything but all options of a question, with its limit and without answers that
        are drawn at random.
        """
        questions = {options: find_allowed(options) for options in list_several(self.attributes).values()}
        for member, first, _ in self.mechanism.members:
            attributes = self.attributes[first : first + member.d]
            if isinstance(member, NearSets) and (
                questions.get(attributes) != member.allowed or self.missing_of(attributes[0]) != "refuse"
            ):
                raise InvalidParameter(
                    f"near sets are for all options of one question, of which people choose "
                    f"{format_allowed(member.allowed)}, and whose answers are not missing; got "
                    f"{attributes[0].name!r} first",
                    "near",
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
    def parts(self) -> tuple[Mechanism, ...]:
        return self.mechanism.mechanisms

    @property
    def has_no_answer(self) -> bool:
        """Whether every attribute could have "no answer" as a value: metric ones, numbers and text cannot."""
        return not any(part.metric or part.numeric or not part.listed for part in self.parts)

    @cached_property
    def pairs(self) -> tuple[tuple[Attribute, Mechanism], ...]:
        return tuple(zip(self.attributes, self.parts, strict=True))

    @cached_property
    def question_texts(self) -> dict[str, str]:
        """What people are asked in the plan's language, by question and by attribute, where it is a text."""
        if self.texts is None:
            return {}
        language = self.texts.language
        texts = {
            name: text if isinstance(text, str) else text[language]
            for name, text in self.texts.questions.items()
        }
        for attribute in self.attributes:
            questions = [texts[name] for name in attribute.questions if name in texts]
            if questions and not attribute.domain.is_level:
                texts[attribute.name] = " / ".join(questions)
        return texts

    @cached_property
    def by_name(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    @property
    def known_names(self) -> tuple[str, ...]:
        return () if self.known is None else self.known.names

    @cached_property
    def _part_by_name(self) -> dict[str, Mechanism]:
        return {attribute.name: part for attribute, part in self.pairs}

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

    def labels_of(self, attribute: Attribute) -> tuple[str, ...]:
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
            self.missing_of(attribute) == "random"
            or (attribute.only_if is not None and not self.extras(attribute))
            for attribute in self.attributes
        )

    @property
    def words(self) -> int:
        """How many words a record takes: the mechanism's, and one per attribute where answers are drawn."""
        return self.mechanism.words + (len(self.attributes) if self.draws else 0)

    @property
    def most_reports(self) -> int:
        """How many reports a device makes at most: one in each of its rounds."""
        return self.turns or self.rounds or 1

    @property
    def presence(self) -> Fraction:
        """The share of all people who report in a round."""
        return find_presence(self.rounds, self.turns)

    @cached_property
    def loss(self) -> Loss:
        """The exact losses, recomputed from the integers and rounded up."""
        record, attribute = self.mechanism.loss("record"), self.mechanism.loss("attribute")
        units = tuple(
            unit for member, part in self.pairs if (unit := unit_loss(part, member.name)) is not None
        )
        rest = rest_loss(self.mechanism) if units else None
        joined = [names for names in self.changed.values() if len(names) > 1]
        answer = None
        if len(joined) > _MOST_JOINED:
            answer = record
        elif joined:
            answer = max(attribute, *map(self.loss_among, joined))
        again = None if self.rounds is None else self.mechanism.losses(self.most_reports, self.most_reports)
        chain = bound_chain((*self.continues, self)) if self.continues else None
        bias = count_bias((*self.continues, self))
        return Loss(record, attribute, again, rest, units, answer, chain, bias)

    @cached_property
    def strands(self) -> tuple[Strand, ...]:
        """The plans whose words are kept: for the record, and for each attribute."""
        return list_strands((*self.continues, self))

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
        return log_up(self.mechanism.ratio_among([attribute.name in names for attribute in self.attributes]))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        return {attribute.name: self.labels_of(attribute) for attribute in self.attributes}

    def attribute(self, name: str) -> LabeledMechanism:
        if name not in self.names:
            raise InvalidParameter(not_among(name, "an attribute", self.names))
        j = self.names.index(name)
        domain = self.attributes[j].domain
        return LabeledMechanism(name, domain, self.mechanism.mechanisms[j], self.labels[name])

    @property
    def locations(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes if isinstance(attribute.domain, Grid))

    @cached_property
    def signing_key(self) -> PublicKey | None:
        return None if self.ticket_key is None else PublicKey.from_text(self.ticket_key)

    @cached_property
    def stated(self) -> Stated:
        return Stated.of(self.loss) if self.claimed is None else self.claimed

    @cached_property
    def protection(self) -> Protection:
        return Protection.of(self.loss)

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(canonical(self.to_dict())).hexdigest()

    @cached_property
    def table_form(self) -> TableForm:
        known = self.known
        group = None if known is None else (known.name, known.size)
        return TableForm(self.id, self.names, self.mechanism, group, self.rounds or 1, self.linked)

    @cached_property
    def plans_in_table(self) -> tuple[PlanDocument, ...]:
        """The plans whose reports a table can hold together: this plan, then those that it continues, the
        newest first. A plan with a column that means something else in a newer one is left out.
        """
        plans: list[PlanDocument] = []
        for plan in (self, *reversed(self.continues)):
            if all(plan.table_form.fits_beside(other.table_form) for other in plans):
                plans.append(plan)
        return tuple(plans)

    def verify(self) -> Loss:
        self.stated.refuse_less(self.loss)
        return self.loss

    def with_known(self, known: Mapping[str, object]) -> PlanDocument:
        factors = tuple((name, as_domain(values, name).plain) for name, values in known.items())
        before = () if self.known is None else self.known.names
        texts = self.texts and self.texts.without(set(before) - set(known))
        return replace(self, known=Known(factors) if factors else None, texts=texts)

    def to_dict(self) -> Json:
        """The document without its id."""
        if not self.continues:
            return self._state()
        return self._state() | {"continues": [plan._state() for plan in self.continues]}

    def _state(self) -> Json:
        """The document without its id and the plans before."""
        return self._describe() | {"losses": self.stated.to_dict()}

    def _describe(self) -> Json:
        """The document without losses and id."""
        optional: Json = {} if self.ticket_key is None else {"ticket_key": self.ticket_key}
        if self.texts is not None:
            optional["texts"] = self.texts.to_dict()
        if self.ask != "all":
            optional["ask"] = self.ask
        if self.maps:
            optional["maps"] = {name: drawing.to_dict() for name, drawing in self.maps}
        if self.known is not None:
            optional["known"] = factors_to_dict(self.known.factors)
        if self.linked:
            optional["linked"] = True
        if self.turns is not None:
            optional["turns"] = self.turns
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

    def to_json(self) -> str:
        return canonical(self.to_dict() | {"id": self.id}).decode()

    @staticmethod
    def from_json(text: str | bytes) -> PlanDocument:
        raw = _encode_text(text)
        document = PlanDocument.from_dict(_read_body(raw))
        if raw.strip() != document.to_json().encode():
            raise InvalidPlan(
                "the plan is not in its canonical form (sorted keys, no spaces); was it reformatted?",
                "canonical",
            )
        return document

    @staticmethod
    def read(path: str | Path) -> PlanDocument:
        file = files.require_file(Path(path), "plan.write, or `deniable plan`, writes one")
        refuse_long(file.stat().st_size)  # before it takes memory
        with file.open("rb") as opened:
            raw = opened.read(MOST_BYTES + 1)  # a device or a pipe has no size
        refuse_long(len(raw))
        try:
            return PlanDocument.from_json(raw)
        except InvalidPlan:
            _refuse_other_file(file)
            raise

    def write(self, path: str | Path, overwrite: bool = False) -> Path:
        files.refuse_existing(Path(path), overwrite)
        with files.replacing(Path(path)) as temporary:
            temporary.write_bytes(self.to_json().encode() + b"\n")
        return Path(path)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> PlanDocument:
        """Reads what `to_dict` wrote, and refuses what leaks more than it states."""
        described = dict(data)
        if "continues" not in described:
            return PlanDocument._from_state(described, ())
        before = checked_list(described.pop("continues"), "continues")
        if not 1 <= len(before) <= MOST_CONTINUED:
            text = f"a plan continues 1 to {MOST_CONTINUED} others, got {len(before)}"
            raise InvalidPlan(text, "continues")
        plans: tuple[PlanDocument, ...] = ()
        for plan in before:
            fields = tuple(plan) if isinstance(plan, dict) else ()
            _refuse_version(checked_fields(plan, "a plan before", fields))
            plans += (PlanDocument._from_state(plan, plans),)
        return PlanDocument._from_state(described, plans)

    @staticmethod
    def _from_state(data: Mapping[str, Any], continues: tuple[PlanDocument, ...]) -> PlanDocument:
        """Reads a document from all but its id and the plans before, which are there already."""
        described = dict(data)
        if "losses" not in described:
            raise InvalidPlan("the plan has no field 'losses'", "fields")
        claimed = Stated.from_dict(described.pop("losses"))
        try:
            document = PlanDocument._from_description(described, continues)
        except InvalidPlan:
            raise
        except InvalidParameter as problem:
            raise InvalidPlan(f"the plan does not fit together: {problem}", problem.reason) from None
        claimed.refuse_less(document.loss)
        return document if claimed == document.stated else replace(document, claimed=claimed)

    @staticmethod
    def _from_description(data: Mapping[str, Any], continues: tuple[PlanDocument, ...]) -> PlanDocument:
        """Reads a document without losses and id. What is not just as it would be written is refused."""
        optional = ("ask", "known", "linked", "maps", "texts", "ticket_key", "turns")
        names = ["attributes", "mechanism", "missing", "people", "rounds", "title", "version"]
        names += [name for name in optional if name in data]
        checked_fields(data, "the plan", names)
        attributes = []
        listed = checked_list(data["attributes"], "attributes")
        _refuse_many_attributes(len(listed))  # before each of them is read
        for item in listed:
            fields = Attribute.read_fields(item)
            attributes.append(Attribute(**fields | {"domain": domain_from_dict(fields["domain"])}))
        document = PlanDocument(
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
            linked=data.get("linked", False),
            turns=checked_integer(data["turns"], "turns") if "turns" in data else None,
            continues=continues,
        )
        if document._describe() != data:
            raise InvalidPlan(
                "the plan is not in its canonical form: it says the same thing otherwise than it is written",
                "canonical",
            )
        return document


def _maps_from_dict(data: object, attributes: Sequence[Attribute]) -> tuple[tuple[str, Map], ...]:
    domains = {attribute.name: attribute.domain for attribute in attributes}
    maps = checked_fields(data, "maps", tuple(data) if isinstance(data, dict) else ())
    return tuple((name, Map.from_dict(item, domains.get(name), name)) for name, item in sorted(maps.items()))


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


def check_turns(turns: object, rounds: int | None) -> None:
    """Refuse turns that are not some of the rounds."""
    if turns is not None and (type(turns) is not int or not 1 <= turns < (rounds or 1)):
        allowed = (
            "for studies that ask again"
            if rounds is None
            else f"a whole number from 1 on, below {rounds} rounds"
        )
        raise InvalidParameter(
            f"turns, the number of rounds in which a device answers, are {allowed}, got {turns!r}; leave "
            "turns out where devices answer in all rounds",
            "turns",
        )


def find_presence(rounds: int | None, turns: int | None) -> Fraction:
    """The share of all people who report in a round."""
    return Fraction(turns or rounds or 1, rounds or 1)


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


def _read_body(raw: bytes) -> Json:
    """The fields of a document of this version, without its id, which must be right."""
    data = parsed(raw)
    _refuse_version(data)
    claimed = data.pop("id", None)
    computed = hashlib.sha256(canonical(data)).hexdigest()
    if claimed != computed:
        raise InvalidPlan(
            f"the plan was changed after it was made: it says its id is {claimed!r}, but it is {computed!r}",
            "id",
        )
    return data


def _refuse_version(data: Mapping[str, Any]) -> None:
    if data.get("version") != VERSION or type(data["version"]) is not int:
        raise InvalidPlan(_explain_version(data.get("version")), "version")


def _refuse_other_file(file: Path) -> None:
    """Refuse the file of a study, or of tallies, where that of a plan is meant."""
    kind, name = file_kind(file), file.name
    if kind == "a study":
        raise InvalidPlan(
            f"{name} is a study, not a plan; make one: Study.read({name!r}).plan(people=...)"
        ) from None
    if kind in (files.TALLIES, "another JSON file"):
        raise InvalidPlan(f"{name} is {kind}, not a plan; name the plan, which deniable plan makes") from None


def _encode_text(text: str | bytes) -> bytes:
    """The bytes of a document."""
    try:
        return text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError:
        raise InvalidPlan("this is not a plan: it has half of a pair of surrogates", "json") from None


def _explain_version(version: object) -> str:
    what = f"this plan has version {version!r}, and this program reads version {VERSION}"
    if type(version) is int and version > VERSION:
        return f"{what}: a newer program wrote it, so upgrade this one"
    return f"{what}: make it again with `deniable plan`"
