"""A plan, verified: what is asked, how a record becomes a report, and what that gives away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from deniable_device import document
from deniable_device.chain import MOST_BEFORE, Chain, check_chain
from deniable_device.document import LARGEST, Json, fields, typed, within
from deniable_device.domains import (
    Asked,
    Coarse,
    Domain,
    Factor,
    Grid,
    Number,
    Product,
    Range,
    read_domain,
    visible,
)
from deniable_device.errors import Refused
from deniable_device.losses import Truth, check_stated, mechanisms_by_attribute
from deniable_device.mechanisms import Geometric, Linear, Mechanism, Planar
from deniable_device.records import Faked, Near, NearSets, Sample, Split, read_record
from deniable_device.texts import Texts, check_maps

POLICIES = ("refuse", "value", "random")
YES_NO = ("yes", "no")
MOST_WORDS = 1 << 22


REQUIRED: dict[str, type] = {
    "version": int,
    "id": str,
    "title": str,
    "people": int,
    "missing": object,
    "rounds": object,
    "attributes": list,
    "mechanism": object,
    "losses": dict,
}
OPTIONAL: dict[str, type] = {
    "ticket_key": str,
    "texts": dict,
    "ask": object,
    "maps": dict,
    "known": list,
    "linked": object,
    "turns": int,
    "continues": list,
}


class Attribute:
    """One value of a report: the answer to a question, or to several of them together."""

    def __init__(self, tree: Json, policy: str) -> None:
        optional = {"missing": object, "only_if": dict, "several": str, "answers": str}
        numbers = dict.fromkeys(("answered", "exactly", "at_most"), int)
        tree = fields(tree, {"name": object, "domain": object}, {**optional, **numbers})
        self.tree = tree
        self.name = visible(tree["name"], "a name")
        self.domain = read_domain(tree["domain"])
        self.missing = policy
        if "missing" in tree:
            self.missing = policy_of(typed(tree["missing"], str, "a policy"))
            if self.missing == policy:
                raise Refused("canonical", "a policy that is the plan's is not written")
        self.only_if, self.several, self.answers = (
            tree.get("only_if"),
            tree.get("several"),
            tree.get("answers"),
        )
        self.exactly, self.at_most = tree.get("exactly"), tree.get("at_most")
        self.answered = tree.get("answered")
        self.may_not_apply = False
        """Whether `not applicable` is a value of it."""

    @property
    def questions(self) -> list[tuple[str, Asked]]:
        """The questions that it holds the answers to."""
        if isinstance(self.domain, Asked):
            return [(self.name, self.domain)]
        return [(factor.name, factor.domain) for factor in self.domain.factors]

    @property
    def k(self) -> int:
        """How many values it has, with those for no answer."""
        return self.domain.k + self.may_not_apply + (self.missing == "value")

    @property
    def has_random(self) -> bool:
        """Whether some answer may be drawn at random."""
        return self.missing == "random" or (self.only_if is not None and not self.may_not_apply)


def policy_of(policy: Json) -> str:
    """What a missing answer means."""
    if policy not in POLICIES:
        raise Refused("missing", f"a missing answer is one of {POLICIES}, got {policy!r}")
    return str(policy)


def read_before(tree: Json) -> list[Plan]:
    """The plans that a plan continues, each verified as it was."""
    states: list[Json] = tree.get("continues", [])
    if "continues" in tree and not 1 <= len(states) <= MOST_BEFORE:
        raise Refused("continues", f"a plan continues 1 to {MOST_BEFORE} others")
    plans: list[Plan] = []
    for number, state in enumerate(states):
        typed(state, dict, "a plan before")
        if "id" in state or "continues" in state:
            raise Refused("fields", "a plan before has no id, and no plans before it")
        whole = {**state, "continues": states[:number]} if number else dict(state)
        plans.append(Plan(document.seal(whole), list(plans)))
    return plans


class Plan:
    """A plan that was read and verified; whatever breaks a rule is refused for its reason."""

    def __init__(self, text: str | bytes, before: Sequence[Plan] | None = None) -> None:
        tree = document.read(text)
        tree = fields(tree, REQUIRED, OPTIONAL)
        self.tree = tree
        self.before = read_before(tree) if before is None else before
        """The plans that it continues, which it has as they were."""
        self.id: str = tree["id"]
        self.title: str = tree["title"]
        if self.title:
            visible(self.title, "the title")
        within(tree["people"], 1, LARGEST, "people", "people")
        self.missing = policy_of(tree["missing"])
        self.rounds: int | None = tree["rounds"]
        if self.rounds is not None:
            typed(self.rounds, int, "rounds")
        self.linked = "linked" in tree
        if self.linked:
            self.check_linked(tree["linked"])
        self.ticket_key: str | None = tree.get("ticket_key")
        if self.ticket_key is not None and not re.fullmatch(
            "[89a-f]([0-9a-f]{2}){255,511}[13579bdf]", self.ticket_key
        ):
            raise Refused("ticket-key", "a ticket key has 2,048 to 4,096 bits, the first and the last set")
        if len(tree["attributes"]) > 4096:
            raise Refused("attributes", "a plan has at most 4,096 attributes")
        self.attributes = [Attribute(attribute, self.missing) for attribute in tree["attributes"]]
        self.by_name = {attribute.name: attribute for attribute in self.attributes}
        if len(self.by_name) < len(self.attributes):
            raise Refused("names", "two attributes have one name")
        self.record = read_record(tree["mechanism"])
        if self.record.width != len(self.attributes):
            raise Refused("parts", "there are not as many mechanisms as attributes")
        self.mechanisms = mechanisms_by_attribute(self.record)
        self.known = [Factor(factor, ("categories", "range")) for factor in tree.get("known", [])]
        self.check_conditions()
        self.check_questions()
        self.check_answered()
        self.check_fit()
        self.check_tables()
        if "known" in tree:
            self.check_known()
        self.sampled = "ask" in tree
        if self.sampled:
            self.check_ask(tree["ask"])
        self.check_size()
        self.turns: int | None = tree.get("turns")
        if self.turns is not None:
            within(self.turns, 1, (self.rounds or 1) - 1, "turns", "turns")
        if "texts" in tree:
            Texts(tree["texts"], self)
        if "maps" in tree:
            check_maps(tree["maps"], self)
        self.check_rounds()
        plans = [*self.before, self]
        if self.before:
            check_chain(plans)
        chain = Chain(plans)
        self.strands = chain.strands()
        """The plans whose words the device keeps: for the record, and for each attribute."""
        self.truth = Truth(
            self.record,
            self.turns or self.rounds,
            [attribute.domain for attribute in self.attributes],
            [attribute.name for attribute in self.attributes],
            chain.figures() if self.before else None,
            chain.bias(),
        )
        check_stated(self.truth, tree["losses"])
        self.losses: dict[str, Json] = tree["losses"]

    @property
    def question_names(self) -> set[str]:
        """The names that answers may have."""
        return self.factor_names | set(self.several) | {factor.name for factor in self.known}

    @property
    def factor_names(self) -> set[str]:
        """The names of the questions of all attributes."""
        return {name for each in self.attributes for name, _ in each.questions}

    @property
    def groups(self) -> int:
        """How many known groups there are."""
        return prod(factor.domain.k for factor in self.known)

    @property
    def group_name(self) -> str:
        """What the known group is called in a report."""
        return " x ".join(factor.name for factor in self.known)

    @property
    def several(self) -> dict[str, list[Attribute]]:
        """The options of each question to which all answers that apply are given."""
        questions: dict[str, list[Attribute]] = {}
        for attribute in self.attributes:
            if attribute.several is not None:
                questions.setdefault(attribute.several, []).append(attribute)
        return questions

    def check_conditions(self) -> None:
        """Refuses conditions that never hold, always do, or depend on themselves."""
        for attribute in self.attributes:
            if attribute.only_if is None:
                continue
            condition = fields(attribute.only_if, {"name": str, "values": list})
            for value in condition["values"]:
                typed(value, str, "a value of a condition")
            other = self.by_name.get(condition["name"])
            values = set(condition["values"])
            if other is None or other.domain.kind != "categories" or not values < set(other.domain.labels):
                raise Refused("only-if", "a condition names some labels of another attribute")
            if not values or len(values) < len(condition["values"]):
                raise Refused("only-if", "a condition has some values, each once")
        for attribute in self.attributes:
            name, seen = attribute.name, {attribute.name}
            while self.by_name[name].only_if is not None:
                name = self.by_name[name].only_if["name"]
                if name in seen:
                    raise Refused("only-if", f"{name!r} depends on itself")
                seen.add(name)

    def check_questions(self) -> None:
        """Refuses options that are not of one question, and answers to nothing."""
        for name, options in self.several.items():
            alike = {
                write_shared(option.missing, option.only_if, option.answered, option.exactly, option.at_most)
                for option in options
            }
            if len(options) < 2 or len(alike) > 1 or name in self.by_name:
                raise Refused("questions", f"the options of {name!r} are two or more, and alike")
            for option in options:
                if option.name[: len(name) + 2] != f"{name}: " or option.domain.labels != YES_NO:
                    raise Refused("questions", f"{option.name!r} is no option of {name!r}")
                for limit in (option.exactly, option.at_most):
                    within(1 if limit is None else limit, 1, len(options) - 1, "questions", "a limit")
                if option.exactly is not None and option.at_most is not None:
                    raise Refused("questions", "a question has at most one limit")
        for attribute in self.attributes:
            limited = attribute.exactly is not None or attribute.at_most is not None
            if limited and attribute.several is None:
                raise Refused("questions", "a limit is for a question with several options")
            if attribute.answers is not None:
                self.check_answers(attribute)

    def check_answers(self, attribute: Attribute) -> None:
        """Refuses an attribute that does not say whether another one, which it opens, is answered."""
        other = self.by_name.get(attribute.answers or "")
        condition = {"name": attribute.name, "values": ["yes"]}
        if other is None or other.only_if != condition or attribute.domain.labels != YES_NO:
            raise Refused("questions", f"{attribute.name!r} does not say whether another one is answered")
        if other.several is not None or attribute.several is not None:
            raise Refused("questions", "options have no attribute that says whether they are answered")

    def check_answered(self) -> None:
        """Refuses an expected share of answers where everybody answers."""
        for attribute in self.attributes:
            if attribute.answered is None:
                continue
            within(attribute.answered, 1, 999, "answered", "answered")
            some = attribute.missing == "value" or (
                attribute.only_if is not None and attribute.missing == "refuse"
            )
            if not some or attribute.answers is not None:
                raise Refused("answered", f"everybody answers {attribute.name!r}")

    def check_fit(self) -> None:
        """Refuses a mechanism that is not for the values of its attribute."""
        for attribute, mechanism in zip(self.attributes, self.mechanisms):
            shaped = mechanism is not None and (mechanism.metric or mechanism.mean)
            attribute.may_not_apply = attribute.only_if is not None and not shaped
            linear = isinstance(mechanism, Linear)
            labels = attribute.domain.labels
            if attribute.missing == "value" and ("no answer" in labels or shaped or linear):
                raise Refused("no-answer", f"'no answer' cannot be a value of {attribute.name!r}")
            if attribute.may_not_apply and ("not applicable" in labels or linear):
                raise Refused("no-answer", f"'not applicable' cannot be a value of {attribute.name!r}")
            if not fits(attribute, mechanism):
                raise Refused("fit", f"the mechanism of {attribute.name!r} is not for its values")
        for record in [self.record, *getattr(self.record, "parts", [])]:
            if isinstance(record, NearSets):
                self.check_near(record)

    def check_near(self, record: NearSets) -> None:
        """Refuses near sets that are not for all options of one question."""
        options = self.attributes[record.first : record.first + record.width]
        first = options[0]
        whole = self.several.get(first.several or "", [])
        limit = first.exactly if record.spare == 0 else first.at_most
        spare = record.spare in (0, record.chosen)
        if options != whole or limit != record.chosen or not spare or first.missing != "refuse":
            raise Refused("near", "near sets are for all options of one question with their limit")

    def check_tables(self) -> None:
        """Refuses tables and levels that are not of the same questions."""
        shared: dict[str, tuple[Json, str]] = {}
        for attribute in self.attributes:
            domain = attribute.domain
            if isinstance(domain, (Product, Coarse)):
                if attribute.name != table_name(domain):
                    raise Refused("tables", f"{attribute.name!r} has another name than its questions")
                if attribute.only_if or attribute.several or attribute.answers:
                    raise Refused("tables", "a table has no conditions and no options")
                for factor in domain.factors:
                    if factor.name in self.several:
                        raise Refused("tables", f"{factor.name!r} has several options")
        for attribute in self.attributes:
            trees = {attribute.name: attribute.tree["domain"]}
            if isinstance(attribute.domain, (Product, Coarse)):
                trees = {factor.name: factor.tree for factor in attribute.domain.factors}
            for name, tree in trees.items():
                question = tree, attribute.missing
                if shared.setdefault(name, question) != question:
                    raise Refused("tables", f"{name!r} is asked in two ways")
        self.check_levels()

    def check_levels(self) -> None:
        """Refuses levels of a question that nothing could be read from."""
        levels: dict[str, list[Attribute]] = {}
        for attribute in self.attributes:
            if isinstance(attribute.domain, Coarse):
                levels.setdefault(attribute.domain.factors[0].name, []).append(attribute)
        parts = self.record.parts if isinstance(self.record, Split) else [self.record]
        for name, views in levels.items():
            divisors = sorted(divisor_of(view) for view in views)
            base = self.by_name.get(name)
            if base is not None:
                divisors = [1, *divisors]
                if base.only_if or base.several or base.answers:
                    raise Refused("tables", f"{name!r} has levels, and so no conditions")
            domain = views[0].questions[0][1]
            numbers = {number for number, each in enumerate(self.attributes) if name == each.questions[0][0]}
            joins = all(view.missing != "value" for view in views) and any(
                isinstance(part, Sample)
                and part.reported == 1
                and numbers <= set(range(part.first, part.first + part.width))
                for part in parts
            )
            if domain.bits is None:
                quotients = [upper // lower for lower, upper in zip(divisors, divisors[1:])]
                whole = all(upper % lower == 0 for lower, upper in zip(divisors, divisors[1:]))
                joins = joins and base is not None and whole
                joins = joins and len(set(quotients)) == 1 and quotients[0] <= 1 << 16
            else:
                sizes = [*(divisor.bit_length() - 1 for divisor in divisors), domain.bits]
                joins = joins and max(later - each for each, later in zip(sizes, sizes[1:])) <= 30
                joins = joins and (base is not None or divisors[0] == 1)
            if not joins:
                raise Refused("tables", f"the levels of {name!r} cannot be read together")

    def check_known(self) -> None:
        """Refuses known questions that are asked secretly, too."""
        names = [factor.name for factor in self.known]
        taken = {*self.by_name, *self.several, *self.factor_names}
        twice = len(set(names)) < len(names)
        if not names or twice or taken & {*names, self.group_name} or self.groups > 256:
            raise Refused("known", "known questions are asked once, and have at most 256 groups")

    def check_ask(self, ask: Json) -> None:
        """Refuses to draw questions where every report holds them all."""
        if ask == "all":
            raise Refused("canonical", "'all' is not written")
        parts = self.record.parts if isinstance(self.record, Split) else [self.record]
        drawn = any(isinstance(part, Sample) and part.reported < part.width for part in parts)
        linked = any(each.only_if or each.several or each.answers for each in self.attributes)
        if ask != "sampled" or not drawn or linked or any(isinstance(part, Faked) for part in parts):
            raise Refused("ask", "questions are not drawn in such a plan")

    def check_linked(self, linked: Json) -> None:
        """Refuses linked reports of a plan that asks once."""
        if linked is False:
            raise Refused("canonical", "a `linked` that is false is not written")
        if linked is not True or self.rounds is None:
            raise Refused("linked", "only reports of several rounds are linked, which `linked` says by true")

    def check_size(self) -> None:
        """Refuses a plan that takes too much work: words, outputs or cells."""
        if any(attribute.domain.k > 1 << 20 for attribute in self.attributes if is_listed(attribute.domain)):
            raise Refused("values", "an attribute has more than 2^20 values")
        if self.words > MOST_WORDS:
            raise Refused("words", "a record takes more than 2^22 words")
        for mechanism in self.mechanisms:
            if mechanism is not None and mechanism.mean and getattr(mechanism, "outputs", 2) > 4096:
                raise Refused("outputs", "a mechanism for a mean has more than 4,096 outputs")
        if sum(mechanism.k for mechanism in self.mechanisms if isinstance(mechanism, Planar)) > 1 << 14:
            raise Refused("cells", "grids with distances have more than 2^14 cells together")

    @property
    def words(self) -> int:
        """How many columns a record has."""
        return self.record.words + len(self.attributes) * self.has_random

    @property
    def has_random(self) -> bool:
        """Whether some answer may be drawn at random; then each attribute has a column for that."""
        return any(attribute.has_random for attribute in self.attributes)

    def check_rounds(self) -> None:
        """Refuses rounds in which nothing is kept, and fresh noise whose losses do not simply add up."""
        repeated = [mechanism is not None and mechanism.repeated for mechanism in self.mechanisms]
        if any(repeated) != (self.rounds is not None):
            raise Refused("rounds", "rounds are for answers that are kept")
        if self.rounds is None:
            return
        within(self.rounds, 1, 1000, "rounds", "rounds")
        for part in self.record.parts if isinstance(self.record, Split) else [self.record]:
            fresh = [mechanism for mechanism in part.mechanisms if not mechanism.repeated]
            is_apart = isinstance(part, Near) or (fresh and isinstance(part, Faked))
            if is_apart or any(mechanism.metric or isinstance(mechanism, Linear) for mechanism in fresh):
                raise Refused("rounds", "metric values, text, near reports and fakes are not fresh in rounds")
            if isinstance(part, Faked) and len({each.kind == "bit-flip" for each in part.mechanisms}) > 1:
                raise Refused("rounds", "fakes of kept histograms go with no others")


def write_shared(*values: Json) -> str:
    """What the options of a question have in common, as a text that can be compared."""
    return document.write(list(values))


def table_name(domain: Product | Coarse) -> str:
    """What a table or a level is called."""
    names = " x ".join(factor.name for factor in domain.factors)
    if isinstance(domain, Product):
        return names
    return f"{names} by {domain.divisor}" if domain.bits is None else f"{names} to {domain.bits} bits"


def divisor_of(attribute: Attribute) -> int:
    """How many values of the question are one of its level."""
    return attribute.domain.divisor if isinstance(attribute.domain, Coarse) else 1


def is_listed(domain: Domain) -> bool:
    """Whether the values of a domain can be listed."""
    return domain.bits is None and not isinstance(domain, Number)


def fits(attribute: Attribute, mechanism: Mechanism | None) -> bool:
    """Whether a mechanism is for the values of an attribute; None is one for yes and no."""
    domain = attribute.domain
    if mechanism is None:
        return attribute.k == 2
    if isinstance(mechanism, Geometric):
        return isinstance(domain, Range) and domain.k == mechanism.k
    if isinstance(mechanism, Planar):
        shape = mechanism.rows, mechanism.columns
        return isinstance(domain, Grid) and shape == (domain.rows, domain.columns)
    if isinstance(domain, Number) or mechanism.mean:
        return isinstance(domain, Number) and mechanism.mean
    if isinstance(mechanism, Linear) or domain.bits is not None:
        return isinstance(mechanism, Linear) and mechanism.bits == domain.bits
    return mechanism.k == attribute.k
