"""Describes a study: what is asked, of how many people, at what loss. It compiles to a plan.

A study is checked when it is made. `Inquiry` divides its questions into attributes, which the choice of
mechanisms takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Never, final, get_args

from deniable.choose import (
    Budget,
    Considered,
    DeviceLimit,
    Limited,
    Objective,
    Question,
    Wanted,
    advise_epsilon,
    consider,
    consider_mixed,
    consider_repeated,
    list_readings,
    people_needed,
)
from deniable.choose.mixed import BOTH
from deniable.choose.ranking import round_chances
from deniable.domain import Product, Unlisted, checked_text
from deniable.domain.categories import Several
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.domain.parsed import as_question
from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.explain.consent import complete_texts, generate_joint_consent
from deniable.explain.device_limit import DEFAULT_CAP
from deniable.explain.level_precision import anticipate_levels
from deniable.explain.references import name_protocol
from deniable.explain.turnout import count_answered, infer_answered, read_answered
from deniable.formatting import Printed, format_count
from deniable.frames import read_toml, require_file
from deniable.mechanisms import Mechanism
from deniable.plan.attribute import Attribute, Missing, list_changed
from deniable.plan.document import (
    MOST_ROUNDS,
    Ask,
    check_turns,
    checked_people,
    find_presence,
    refuse_asking,
)
from deniable.plan.known_groups import read_known
from deniable.plan.levels import Leveled, divide_levels, find_leveled
from deniable.plan.maps import Map, check_maps
from deniable.plan.metric_losses import metric_mechanism, rest_loss
from deniable.plan.texts import Texts
from deniable.records import RecordMechanism, Sample, Single, Split, equal_part
from deniable.records.base import Per
from deniable.records.fakes import NOT_METRIC
from deniable.records.sample import MOST_WEIGHT
from deniable.study.continued import follow_document, follow_study
from deniable.study.division import divide_study, is_repeated_as_a_whole, read_repeat, read_rounds
from deniable.study.importance import (
    check_weighed,
    read_importance,
    weigh_attribute,
    weigh_pairs,
    weigh_readings,
)
from deniable.study.plan import Plan
from deniable.study.questionnaire import (
    divide_pages,
    is_filled,
    list_attributes,
    list_extras,
    read_conditions,
    read_policies,
    usual_policy,
)
from deniable.study.together import join_attributes, read_target, read_together
from deniable.study.toml import list_options

if TYPE_CHECKING:
    from deniable.advise import Advice
    from deniable.frames import Show

_ANYTHING = Objective()
_MOST_EPSILON = 44.0  # of one answer: a little more, and no threshold out of 2^64 differs from certainty
_MECHANISMS = {"split": "SPL", "sample": "SMP", "faked": "RS+FD", "near": "NEAR"}
"""What record mechanisms are called in studies, and where they are chosen."""
_CALLED = {"spl": "split", "smp": "sample", "rsfd": "faked", "rs+fd": "faked"}
"""What a study calls record mechanisms that publications call otherwise."""
_ROUNDS = 10


@final
@dataclass(frozen=True)
class Study(Printed):
    """Attributes by name, each a list of values, a `Range`, a `Grid`, a `Number`, `Several` options, a `Text`
    or a `Code`, and the loss that a report may have.

    >>> from deniable.domain import Range
    >>> study = Study({"color": ["red", "green", "blue"], "age": Range(0, 100, step=10)}, epsilon=1.0)
    >>> plan = study.plan(people=10_000)
    >>> plan.loss.record <= 1.0
    True

    Everything else is chosen by the least error, or named: `mechanism` ("split", "sample", "faked", "near"),
    `protocol` (for all, or by attribute), `objective` (caps on an attacker's guess and on bytes). For asking
    again and again give `epsilon_first`, for one report, and `epsilon_forever`, for any number of reports of
    one value, instead of epsilon.

    An attribute with metric privacy (a `Range` that says so, a `Grid`) has an epsilon of its own, per unit of
    distance. The study's epsilon is shared by the others, and left out where there are none. The worst case
    of all is still counted: `plan.loss.record` is what a report can lose about the whole record, whatever the
    distances.

    Of the other options, `per` says whether epsilon is of a record or of an attribute. `missing`, `only_if`
    and `answered` are about people who give no answer, `together`, `known`, `target` and `importance` about
    what is read, `ask`, `survey` and `maps` about what people see, `rounds` about how often they answer,
    `turns` about in how many of these rounds each of them does, `linked` about whether their reports of all
    rounds are known to be theirs, and `repeat` about questions that are asked again beside others that are
    asked once.
    """

    attributes: Mapping[str, Any]
    """A domain each; a list of values is made one, and so is {"low": 0, "high": 100, "step": 10}, as a TOML
    file has it.
    """
    epsilon: float | None = None
    missing: Missing | Mapping[str, Missing | bool] = "refuse"
    """What a missing answer means: "refuse", "value" (one more value, "no answer"), or "random" (a uniform
    random value); or that by attribute. True is "value".
    """
    title: str = ""
    per: Per = "record"
    """Whether epsilon bounds what a report says about the whole record, or about one attribute of it."""
    mechanism: str | None = None
    """How a record is reported: "split", "sample", "faked" or "near"."""
    protocol: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None
    """Its name, or several to choose among; or that by attribute."""
    objective: Objective = _ANYTHING
    epsilon_first: float | None = None
    epsilon_forever: float | None = None
    rounds: int | None = None
    """For how many collections the losses of asking again are stated: 10 unless given."""
    turns: int | None = None
    """In how many of the rounds each device answers, which it draws once: 4 of 52. Losses are of so many
    reports, and each round has that part of the people. All of the rounds unless given.
    """
    survey: Texts | None = None
    """What the survey says in your own words; the plan's id covers it."""
    importance: Mapping[str, float] = field(default_factory=dict)
    """How much the errors of some attributes weigh: 3 is as much as three ordinary ones, each with 1. That of
    a table has its questions, {"age x smoker": 3}; one without weighs as its more important question.
    """
    ask: Ask = "all"
    """Which questions a device asks: all, or only those that it has drawn for its report ("sampled")."""
    maps: Mapping[str, Map] = field(default_factory=dict)
    """What the survey draws under the cells of grids, by attribute: `Map.read(file, grid)`."""
    only_if: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """To whom an attribute applies, by its name: {"hours": {"works": "yes"}}. For all others "not applicable"
    is filled in, which is one of its values.
    """
    answered: Mapping[str, float] = field(default_factory=dict)
    """The share of people who are expected to answer, of questions that not everybody does: 0.4. Margins,
    people needed and the choice of mechanisms count it in, and the plan holds it in thousandths.
    """

    together: Sequence[Sequence[str]] = ()
    """Questions whose answers are wanted in one table: [("age", "smoker")]. A report holds both, as one
    value.
    """
    whole: bool = False
    """Whether each table of `together` is reported as it is, as a logistic regression needs. Otherwise those
    tables are asked by which its pairs err least.
    """
    known: Sequence[str] = ()
    """Questions whose answers the collector knows anyway, such as the arm of an experiment. They are sent as
    they are, outside of all losses, and tables by them need far fewer people.
    """
    linked: bool = False
    """Whether a person's reports of all rounds carry one pseudonym, which no other plan has: then rounds are
    compared person by person. It is for a study that asks again.
    """
    target: str | None = None
    """The question that the others are to explain: its tables with each other question are asked, in place
    of `together`. `deniable_papers.people` simulates people from them.
    """
    repeat: Mapping[str, int] = field(default_factory=dict)
    """In how many rounds questions are asked, where others are asked once: {"mood": 4}. Those take
    epsilon_first and epsilon_forever, the others epsilon, with `per` and `mechanism`. `plans` makes a plan of
    each kind.
    """

    changes: Sequence[str] = ()
    """Questions whose answers change from round to round: ["crashed"]. Nothing of them is kept, and each
    round has fresh noise. Then epsilon_forever is of all reports of a person whose other answers stay.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, Mapping) or not self.attributes:
            raise InvalidParameter(
                "a study asks for at least one attribute, by name: {'color': ['red', 'green']}"
            )
        questions = {
            checked_text(name, "an attribute's name"): as_question(values, name)
            for name, values in self.attributes.items()
        }
        object.__setattr__(self, "attributes", MappingProxyType(questions))
        policies = read_policies(self.missing, list(questions))
        if isinstance(self.missing, Mapping):
            object.__setattr__(self, "missing", MappingProxyType(policies))
        only_if = read_conditions(self.only_if, list(questions))
        object.__setattr__(self, "only_if", MappingProxyType(only_if))
        object.__setattr__(self, "known", read_known(self.known, questions))
        object.__setattr__(self, "together", read_together(self.together, list(questions)))
        if not isinstance(self.whole, bool) or (self.whole and not self.together):
            raise InvalidParameter(
                f"whole is true where the tables of together are reported as they are, got {self.whole!r}"
                + ("" if self.together else ", and no table is asked for in together")
            )
        _refuse_known(self)
        object.__setattr__(self, "importance", MappingProxyType(read_importance(self.importance)))
        if not isinstance(self.objective, Objective):
            raise InvalidParameter(
                f"objective is an Objective, with caps on success and bytes, got {self.objective!r}"
            )
        object.__setattr__(
            self, "repeat", MappingProxyType(read_repeat(self.repeat, list(questions), self.known))
        )
        object.__setattr__(self, "changes", read_changes(self))
        if is_repeated_as_a_whole(self):
            object.__setattr__(self, "rounds", read_rounds(self))
            object.__setattr__(self, "repeat", MappingProxyType({}))
        if self.repeat:
            # divided now, so that what is wrong with a part is said now
            object.__setattr__(self, "title", self.divide()[0].title)
            return
        len(self.inquiry.attributes)  # made now, so that what is wrong with a question is said now
        answered = read_answered(self.answered, list(questions), list(self.inquiry.attributes.values()))
        object.__setattr__(self, "answered", MappingProxyType(answered))
        object.__setattr__(self, "maps", MappingProxyType(dict(self.maps)))
        _check_choices(self)
        _check_survey(self)

    def __str__(self) -> str:
        return "\n".join([self._heading, *(f"  {name}: {text}" for name, text in self._describe())])

    def _describe(self) -> list[tuple[str, str]]:
        """What each question asks for, in words."""
        if self.repeat:
            described = dict(row for part in self.divide() for row in part._describe())
            often = {name: f", in {rounds} rounds" for name, rounds in self.repeat.items()}
            return [(name, described[name] + often.get(name, "")) for name in self.attributes]
        more = dict.fromkeys(self.known, ", known and sent as it is")
        more |= dict.fromkeys(self.changes, ", with fresh noise in every round")
        more |= {name: ", in levels" for name, question in self.inquiry.leveled.items() if question.divisors}
        return [(name, f"{question}{more.get(name, '')}") for name, question in self.attributes.items()]

    @property
    def _heading(self) -> str:
        title = f" · {self.title}" if self.title else ""
        facts = [format_count(len(self.attributes), "attribute")]
        if self.epsilon is not None:
            facts.append(f"epsilon {self.epsilon:g} per {self.per}")
        if self.repeated:
            budgets = f"epsilon {self.epsilon_first:g} for a report, {self.epsilon_forever:g} for any number"
            facts.append(budgets)
        return f"Study{title}: {', '.join(facts)}"

    @cached_property
    def inquiry(self) -> Inquiry:
        """What the questions become: attributes, and what the choice of mechanisms takes of each."""
        return Inquiry(self)

    def __hash__(self) -> int:
        values = (getattr(self, value.name) for value in fields(self) if value.name != "only_if")
        return hash(
            tuple(frozenset(value.items()) if isinstance(value, Mapping) else value for value in values)
        )

    def __reduce__(self) -> tuple[type[Study], tuple[object, ...]]:
        """So that a study can be copied and pickled, which the read-only view of a dictionary cannot."""
        values = {value.name: getattr(self, value.name) for value in fields(self)}
        values["only_if"] = {name: dict(value) for name, value in self.only_if.items()}
        return Study, tuple(dict(value) if isinstance(value, Mapping) else value for value in values.values())

    @property
    def repeated(self) -> bool:
        """Whether people are asked again and again."""
        if self.epsilon_first is not None or self.epsilon_forever is not None:
            return True
        return self.rounds is not None and not self.inquiry.sharing

    @staticmethod
    def read(path: str | Path) -> Study:
        """A study from a TOML file (`deniable init` writes an example)."""
        file = require_file(Path(path), "`deniable init` writes an example")
        data = read_toml(file)
        try:
            return Study(**list_options(data, file.parent))
        except RecursionError:
            raise InvalidParameter(f"{file.name}: its lists or sections are nested too deeply") from None
        except ValueError as problem:  # ours, and Python's about integers with too many digits to write
            raise InvalidParameter(f"{file.name}: {problem}") from None

    @staticmethod
    def from_dict(data: Mapping[str, Any], folder: str | Path = ".") -> Study:
        """A study from what a TOML file holds; an attribute may also be a `Range` or `Categories`.

        Files that it names, such as maps, are in the folder.
        """
        return Study(**list_options(data, Path(folder)))

    def plan(self, people: int, *, continues: Plan | None = None, **unknown: Never) -> Plan:
        """The plan that errs least with this many people, and what else was considered, within the budget.

        It may continue an earlier plan of the same questions, which devices have answered: with the same
        protocols, unless the study names others, so that what devices keep is carried on.

        `mechanism`, `protocol` and all other choices are the study's: `dataclasses.replace` makes another.
        """
        for name in unknown:
            if name in (known := [option.name for option in fields(self)]):
                raise InvalidParameter(
                    f"{name} is a choice of the study, Study(..., {name}=...), and not of its plan"
                )
            raise InvalidParameter(not_among(name, "a choice of a study", known))
        people = checked_people(people)
        self._refuse_divided("plans(people) makes both plans, and divide() gives the study of each")
        if continues is not None:
            if not isinstance(continues, Plan):
                raise InvalidParameter(
                    f"continues is a plan, such as Plan.read('old.json'), got {type(continues).__name__}"
                )
            followed: Plan = follow_study(self, continues.document).plan(people)
            document = follow_document(followed.document, continues.document)
            if self.survey is not None and self.survey.consent is True and document.texts is not None:
                asked = replace(document.texts, consent=True)  # to what all plans give away
                document = replace(document, texts=complete_texts(asked, document))
            return replace(followed, document=document)
        rows = _exclude_unasked(self._consider(people), self.ask)
        best = rows[0]
        if best.mechanism is None or best.why_not is not None:
            advice = self._advise(rows)
            raise InvalidParameter(
                f"nothing fits this study; the nearest, {best.name}: {best.why_not}{advice}"
            )
        names = list(self.inquiry.attributes)
        order = range(len(names)) if best.order is None else best.order
        compiled = {names[j]: self.inquiry.compile(self.inquiry.attributes[names[j]]) for j in order}
        usual = usual_policy(self.inquiry.attributes)
        plan = Plan.of(compiled, best.mechanism, people, self.title, usual, self.rounds, rows)
        _refuse_overspent(self, plan)
        plan = plan.with_ask(self.ask).with_maps(self.maps).with_linked(self.linked).with_turns(self.turns)
        if self.known:
            plan = plan.with_known({name: self.attributes[name] for name in self.known})
        texts = self._order_pages(list(compiled))
        return plan if texts is None else plan.with_texts(complete_texts(texts, plan.document))

    def plans(self, people: int, *, continues: Plan | None = None) -> tuple[Plan, ...]:
        """The plan of what is asked once and that of what is asked again, of which either may be missing. The
        last of them may continue an earlier plan.

        Where the survey's consent is generated, both have the same one, to all reports of a person.

        >>> asked = {"smokes": ["yes", "no"], "mood": ["good", "bad"]}
        >>> budgets = {"epsilon": 1.0, "epsilon_first": 0.5, "epsilon_forever": 1.0}
        >>> once, weekly = Study(asked, **budgets, repeat={"mood": 4}).plans(people=2_000)
        >>> once.names, weekly.names, weekly.document.rounds
        (('smokes',), ('mood',), 4)
        """
        *others, last = self.divide()
        plans = (*(part.plan(people) for part in others), last.plan(people, continues=continues))
        if self.survey is None or self.survey.consent is not True or len(plans) == 1:
            return plans
        documents = [plan.document for plan in plans]
        languages = self.survey.languages
        consent = {language: generate_joint_consent(documents, language) for language in languages}
        return tuple(
            plan.with_texts(replace(plan.document.texts or Texts(), consent=consent)) for plan in plans
        )

    def divide(self) -> tuple[Study, ...]:
        """The study of what is asked once and that of what is asked again, or the study itself if there is
        no `repeat`. Known questions are in both.
        """
        return self._parts

    @cached_property
    def _parts(self) -> tuple[Study, ...]:
        return divide_study(self)

    def _refuse_divided(self, remedy: str) -> None:
        """Refuse what is done for one plan where there are two."""
        if self.repeat:
            raise InvalidParameter(
                "this study has questions that are asked once and questions that are asked again, which are "
                f"two plans: {remedy}"
            )

    def _order_pages(self, names: list[str]) -> Texts | None:
        """The texts, with the order of the questions where a plan has another, in which one depends on one
        that comes later.
        """
        plain = all(
            attribute == Attribute(attribute.name, attribute.domain, attribute.missing)
            for attribute in self.inquiry.attributes.values()
        )
        is_in_order = plain or names == list(self.inquiry.attributes)
        has_pages = self.survey is not None and self.survey.pages
        if has_pages or (is_in_order and not (self.together or self.target)):
            return self.survey
        return (self.survey or Texts()).with_pages(divide_pages(list(self.attributes)))

    def _advise(self, rows: Sequence[Considered]) -> str:
        """Which epsilon would keep a cap on influence, if it is that cap that nothing keeps."""
        cap = self.objective.influence_cap
        if cap is None or self.repeated or not self.inquiry.sharing:
            return ""
        if any(row.influence and max(row.influence) <= cap for row in rows):
            return ""
        ks, protocols, mechanism = self.inquiry.build_task()
        return f"; {advise_epsilon(ks, cap, mechanism, protocols, self.per)}"

    def people_needed(self, error: float) -> int:
        """How many people it takes for standard errors of at most `error` (0.01 is a point) in every
        attribute. A margin of `deniable people --error` is 1.96 standard errors, in points.

        >>> study = Study({"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, epsilon=1.0)
        >>> study.people_needed(0.01)
        31290
        """
        if self.repeat:
            return max(part.people_needed(error) for part in self.divide())
        if self.repeated or self.inquiry.leveled:
            rows = self._consider(1)
            return max(1, math.ceil(max(rows[0].errors) / _checked_error(error) ** 2))
        ks, protocols, mechanism = self.inquiry.build_task()
        budget = self.inquiry.budget
        return people_needed(
            ks, _checked_error(error), budget, self.objective, mechanism, protocols, self.per
        )

    def advise(
        self,
        people: int,
        want: str | Mapping[str, str | float] = "useful",
        may_know: Sequence[str] = (),
        show: Show | None = None,
    ) -> Advice[Study]:
        """What works with so many people and what does not, and the gentlest changes that make all of it
        useful, each of which is planned.

        `want` is "useful", "clear" or "rough"; or that, or a margin in points, by question or table:
        {"harassed by sex": 10}. Questions of `may_know` are those that the collector may know anyway.

        >>> study = Study({"drugs": ["yes", "no"], "town": list("abcdefgh")}, epsilon=1.0)
        >>> advice = study.advise(people=2_000)
        >>> advice[0].describe(), advice[0].people_needed
        ("join the 8 values of 'town' to 4", 1596)
        """
        from deniable.advise import advise_study

        self._refuse_divided("divide() gives the study of each, which has advice of its own")
        return advise_study(self, people, want, may_know, show)

    def _consider(self, people: int) -> list[Considered]:
        if self.inquiry.leveled:
            return [_consider_levels(self, people)]
        ks, protocols, mechanism = self.inquiry.build_task()
        if self.repeated:
            first, forever = self.epsilon_first or 1.0, self.epsilon_forever or 2.0  # or nobody shares any
            # turns are for devices that report by themselves, so that nobody raises their limit
            limit = None if self.turns is None else DeviceLimit(DEFAULT_CAP, self.turns)
            if self.changes:
                both = Budget(first, forever, self.turns or self.rounds or 1)
                kind = BOTH if mechanism == "SPL" else mechanism
                changing = self.inquiry.changing
                rows = consider_mixed(ks, changing, both, people, self.objective, protocols, kind, limit)
            else:
                rows = consider_repeated(
                    ks, first, forever, people, self.objective, protocols, mechanism, limit
                )
            return [row.with_presence(find_presence(self.rounds, self.turns)) for row in rows]
        budget = self.inquiry.budget
        return consider(ks, budget, people, self.objective, mechanism, protocols, self.per)


Protocols = str | Sequence[str] | dict[int, str | Sequence[str]] | None
"""The protocols that are allowed: for all attributes, by the position of an attribute, or any."""


class Task(NamedTuple):
    """What the choice of mechanisms takes of a study."""

    questions: dict[str, Question]
    protocols: Protocols
    mechanism: str | None


@final
@dataclass(frozen=True, eq=False)
class Inquiry:
    """The attributes of a study, of which one question may have many, and what is known of each."""

    study: Study

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """The attributes, which questions with several options or in levels have many of."""
        return divide_levels(self.whole, self.leveled)

    @cached_property
    def leveled(self) -> Mapping[str, Leveled]:
        """How the questions are reported that have levels, by name."""
        leveled = {}
        for name, domain in self.study.attributes.items():
            levels = find_leveled(domain, name, _find_obstacle(self.study, name))
            if levels is not None:
                leveled[name] = levels
        return leveled

    @cached_property
    def whole(self) -> Mapping[str, Attribute]:
        """The attributes before they are divided into levels."""
        study = self.study
        policies = read_policies(study.missing, list(study.attributes))
        secret = {name: domain for name, domain in study.attributes.items() if name not in study.known}
        attributes = list_attributes(secret, policies, study.only_if)
        if not self.together:
            return attributes
        epsilon = study.epsilon_first if study.epsilon is None else study.epsilon
        kind = "SMP" if study.mechanism is None else _MECHANISMS.get(str(study.mechanism), "SMP")
        if kind == "SPL" and study.per == "attribute":
            kind = "SMP"  # each table has the whole epsilon
        # a study without an epsilon, or with a wrong objective, is refused later
        budget = positive_epsilon(1.0 if epsilon is None else epsilon)
        views = Wanted((), (), budget, objective=study.objective, kind=kind)
        return join_attributes(attributes, self.together, views, study.importance, study.whole)

    @cached_property
    def together(self) -> Sequence[Sequence[str]]:
        """The questions that are wanted together, those of a target included."""
        study = self.study
        return read_target(study.target, study.together, study.known, list(study.attributes))

    @cached_property
    def metric_mechanisms(self) -> Mapping[str, Mechanism]:
        """The mechanisms of metric attributes, by name."""
        mechanisms: dict[str, Mechanism] = {}
        for name, attribute in self.attributes.items():
            try:
                mechanism = metric_mechanism(attribute.domain, name)
            except InvalidParameter as problem:
                where = "" if repr(name) in str(problem) else f"{name!r}: "
                raise InvalidParameter(f"{where}{problem}") from None
            if mechanism is not None:
                mechanisms[name] = replace(mechanism, kept=True) if self.study.repeated else mechanism
        return mechanisms

    @cached_property
    def changing(self) -> tuple[str, ...]:
        """The attributes whose answers change from round to round."""
        changing = []
        for name, attribute in self.attributes.items():
            questions = {attribute.several} if attribute.several else set(attribute.columns)
            among = questions & set(self.study.changes)
            if among != questions and among:
                other = min(questions - among)
                raise InvalidParameter(
                    f"{min(among)!r} changes and {other!r} stays, so that no table holds both; let both "
                    "change, or leave the table out"
                )
            if among and name in self.metric_mechanisms:
                raise InvalidParameter(
                    f"{name!r} is metric, and fresh reports tell what is near it; leave its changes out, or "
                    "ask it without privacy = 'metric'"
                )
            changing += [name] if among else []
        if self.study.changes and len(changing) == len(self.attributes):
            raise InvalidParameter(
                "every question changes, so that devices keep nothing: leave changes out of one that stays, "
                "or ask once, with epsilon, by a plan for each round"
            )
        return tuple(changing)

    @property
    def sharing(self) -> bool:
        """Whether any attribute has a part of epsilon."""
        return any(attribute.domain.privacy != "metric" for attribute in self.attributes.values())

    def compile(self, attribute: Attribute) -> Attribute:
        """An attribute as a plan has it: without its privacy, which the mechanism has."""
        return replace(
            attribute, domain=attribute.domain.plain, answered=count_answered(self.turnout(attribute))
        )

    def turnout(self, attribute: Attribute) -> float:
        """The share of people who are expected to answer it."""
        names = attribute.columns if attribute.several is None else (attribute.several,)
        return min(self.expected.get(name, 1.0) for name in names)

    @cached_property
    def expected(self) -> dict[str, float]:
        """The share of people who are expected to answer, for attributes that not everybody answers."""
        return infer_answered(self.study.answered, list(self.attributes.values()))

    @property
    def budget(self) -> float:
        """The epsilon that is shared; where nobody shares it, any."""
        return 1.0 if self.study.epsilon is None else float(self.study.epsilon)

    def build_task(self) -> Task:
        """Questions, protocols and record mechanism, as the choice takes them."""
        study = self.study
        ks = {name: self.question(attribute) for name, attribute in self.attributes.items()}
        protocols: Protocols
        if isinstance(study.protocol, Mapping):
            keys = [
                next((key for key in (attribute.name, attribute.several) if key in study.protocol), None)
                for attribute in self.attributes.values()
            ]
            protocols = {j: study.protocol[name] for j, name in enumerate(keys) if name is not None}
        else:
            protocols = study.protocol
        return Task(ks, protocols, None if study.mechanism is None else _MECHANISMS[study.mechanism])

    def question(self, attribute: Attribute) -> Question:
        """An attribute as the choice takes it."""
        domain = attribute.domain
        k = domain.k + len(list_extras(attribute))  # a number's is not used
        limited = self._limit(attribute)
        share = None if limited is None else limited.share
        readings = list_readings(domain, k, self.turnout(attribute), share)
        importance = weigh_attribute(attribute, self.study.importance)
        if isinstance(domain, Product):
            weights = weigh_pairs(self.together, self.study.importance)
            readings, importance = weigh_readings(domain, readings, weights)
        metric = self.metric_mechanisms.get(attribute.name)
        return Question(k, readings, importance, metric, isinstance(domain, Number), limited)

    def _limit(self, attribute: Attribute) -> Limited | None:
        """The question of an option of which people choose some, if everybody answers it."""
        question = self.study.attributes.get(attribute.several or "")
        if not isinstance(question, Several) or question.allowed is None:
            return None
        if list_extras(attribute) or attribute.missing == "random":
            return None
        return Limited(str(attribute.several), len(question.options), question.allowed)


def _find_obstacle(study: Study, name: str) -> str:
    """What a study has that does not go with levels of a question, and what to do; empty where nothing."""
    objective = study.objective
    protocols = study.protocol if isinstance(study.protocol, Mapping) else {}
    is_unlisted = isinstance(study.attributes[name], Unlisted)
    if name in study.known:
        if is_unlisted:
            return "known, whose values are a list; leave it out of known"
        return "known: it is sent as it is; leave queries out"
    if any(name in table for table in study.inquiry.together):
        return "together: a table has cells of a shorter range; give it a larger step, without queries"
    attribute = study.inquiry.whole.get(name)
    if attribute is None:  # of several options
        return ""
    if attribute.only_if is not None or attribute.missing == "value":
        return (
            "only_if, or with missing = 'value': everybody must have one of its values; ask a yes/no "
            "question beside it"
        )
    if study.epsilon_first is not None or study.epsilon_forever is not None:
        if is_unlisted:
            return "asking again: devices do not keep its hashes and buckets; ask once, with epsilon"
        return "asking again, since levels are drawn once and not kept; ask once, with epsilon"
    if study.mechanism == "faked":
        return "mechanism 'faked', whose fakes hide what is reported; use 'sample' or 'split'"
    if name in protocols or isinstance(study.protocol, str | tuple | list):
        if is_unlisted:
            return "a protocol of its own: a linear hash is the only one for it; leave the protocol out"
        return "a protocol of its own: each level has the one that errs least; leave the protocol out"
    if (objective.success_cap, objective.bytes_cap, objective.influence_cap) != (None, None, None):
        if is_unlisted:
            return "caps of an objective: it has no choice of protocols; leave the caps out"
        return "caps of an objective: levels have no choice of protocols; leave the caps out"
    return ""


def _consider_levels(study: Study, people: int) -> Considered:
    """The one way to ask that a study has with levels: one of all levels and other questions is reported.

    With mechanism "split", every question is, each with its part of epsilon.
    """
    attributes, leveled = list(study.inquiry.attributes.values()), study.inquiry.leveled
    is_split = study.mechanism == "split" and len(study.inquiry.whole) > 1
    sharing = sum(attribute.domain.privacy != "metric" for attribute in study.inquiry.whole.values())
    divided = is_split and study.per == "record"
    budget = equal_part(study.inquiry.budget, sharing) if divided else study.inquiry.budget
    mechanisms_of_levels = {name: iter(attribute.build(budget)) for name, attribute in leveled.items()}
    parts: list[Mechanism] = []
    for attribute in attributes:
        [question] = attribute.questions if len(attribute.questions) == 1 else [attribute.name]
        parts.append(
            next(mechanisms_of_levels[question])
            if question in mechanisms_of_levels
            else _choose_part(study, attribute, budget, people)
        )
    mechanism: RecordMechanism
    if is_split:
        mechanism = _split_levels(attributes, parts, leveled)
    elif len(parts) == 1:  # values that nobody listed, without levels
        mechanism = Single(parts[0])
    else:
        mechanism = Sample(tuple(parts), weights=_weigh_levels(attributes, leveled, study.importance))
    protocols = list(map(name_protocol, parts))
    names = tuple(attribute.name for attribute in attributes)
    row = Considered.of(mechanism, mechanism.acronym, protocols, people, study.objective, names=names)
    return replace(anticipate_levels(attributes, row), score=1.0, per=study.per)


def _choose_part(study: Study, attribute: Attribute, epsilon: float, people: int) -> Mechanism:
    """The mechanism of a question without levels: what it would have by itself at this epsilon."""
    protocols = study.protocol if isinstance(study.protocol, Mapping) else {}
    protocol = next(
        (protocols[key] for key in (attribute.name, attribute.several) if key and key in protocols), None
    )
    questions = {attribute.name: study.inquiry.question(attribute)}
    best = consider(questions, epsilon, people, study.objective, None, protocol, study.per)[0]
    if best.mechanism is None or best.why_not is not None:
        raise InvalidParameter(f"nothing fits {attribute.name!r}: {best.why_not}")
    return best.parts[0]


def _split_levels(
    attributes: Sequence[Attribute], parts: Sequence[Mechanism], leveled: Mapping[str, Leveled]
) -> Split:
    """Every question by itself; of one with levels, one level."""
    blocks: dict[str, list[Mechanism]] = {}
    for attribute, part in zip(attributes, parts, strict=True):
        question = attribute.columns[0] if attribute.columns[0] in leveled else attribute.name
        blocks.setdefault(question, []).append(part)
    return Split(
        tuple(
            Sample(tuple(members), weights=leveled[name].weights) if len(members) > 1 else members[0]
            for name, members in blocks.items()
        )
    )


def _weigh_levels(
    attributes: Sequence[Attribute], leveled: Mapping[str, Leveled], importance: Mapping[str, float]
) -> tuple[int, ...]:
    """How often each attribute is drawn: by the importance of its question, which its levels divide."""
    chances = [Fraction(str(weigh_attribute(attribute, importance))) for attribute in attributes]
    for name, levels in leveled.items():
        positions = [j for j, attribute in enumerate(attributes) if attribute.questions == (name,)]
        for j, weight in zip(positions, levels.weights, strict=True):
            chances[j] *= Fraction(weight, sum(levels.weights))
    scale = math.lcm(*(chance.denominator for chance in chances))
    weights = [int(chance * scale) for chance in chances]
    least = math.gcd(*weights)
    if sum(weights) // least <= MOST_WEIGHT:
        return tuple(weight // least for weight in weights)
    return round_chances([float(chance / sum(chances)) for chance in chances], MOST_WEIGHT)


def _exclude_unasked(rows: Sequence[Considered], ask: Ask) -> list[Considered]:
    """Lists the choices, best first, and excludes those that need all answers where only some are asked."""
    if ask == "all":
        return list(rows)
    allowed, excluded = [], []
    for row in rows:
        if row.mechanism is None or row.why_not is not None:
            excluded.append(row)
            continue
        try:
            refuse_asking(ask, row.mechanism)
            allowed.append(row)
        except InvalidParameter as problem:
            excluded.append(replace(row, why_not=str(problem)))
    return [*allowed, *excluded]


def _checked_error(error: float) -> float:
    """A standard error of a share."""
    if not isinstance(error, int | float) or isinstance(error, bool) or not 1e-9 <= error < 1:
        raise InvalidParameter(
            f"error is a standard error of a share, such as 0.01 for a point, got {error!r}"
        )
    return float(error)


def _checked_protocol(protocol: object, what: str) -> str | tuple[str, ...]:
    """A protocol's name, or several."""
    if isinstance(protocol, str):
        return protocol
    if (
        not isinstance(protocol, list | tuple)
        or not protocol
        or not all(isinstance(name, str) for name in protocol)
    ):
        raise InvalidParameter(
            f"{what} must be a protocol's name, or a list of names to choose among, got {protocol!r}"
        )
    return tuple(protocol)


def _refuse_known(study: Study) -> None:
    """Refuse known questions where they are treated as secret ones."""
    together = {name for table in study.together for name in table}
    protocols = study.protocol if isinstance(study.protocol, Mapping) else {}
    conditions = {*study.only_if, *(next(iter(condition)) for condition in study.only_if.values())}
    for name in study.known:
        if name in together:
            raise InvalidParameter(
                f"{name!r} is known, so that every table by it is there anyway; leave it out of together"
            )
        if name in conditions:
            raise InvalidParameter(f"{name!r} is known: no question depends on it, and it on none")
        if name in study.answered or name in study.importance or name in protocols:
            raise InvalidParameter(
                f"{name!r} is known and sent as it is; leave out its protocol, importance and answered"
            )


def _check_choices(study: Study) -> None:
    """Refuse choices that are none, or that do not go together; write protocols as they are read."""
    if study.per not in ("record", "attribute"):
        raise InvalidParameter(f"per is 'record' or 'attribute', got {study.per!r}")
    if study.per == "attribute":
        _refuse_joined(study)
    if study.title != "":
        checked_text(study.title, "a title")
    if study.mechanism is not None and str(study.mechanism) not in _MECHANISMS:
        called = _CALLED.get(str(study.mechanism).lower())
        if called is not None:
            raise InvalidParameter(f"a study calls the record mechanism {study.mechanism!r} {called!r}")
        raise InvalidParameter(not_among(str(study.mechanism), "a record mechanism", _MECHANISMS))
    if isinstance(study.protocol, Mapping):
        for name in study.protocol:
            if name not in study.attributes and name not in study.inquiry.attributes:
                raise InvalidParameter(not_among(str(name), "an attribute with a protocol", study.attributes))
        protocols = {
            name: _checked_protocol(listed, f"the protocol of {name!r}")
            for name, listed in study.protocol.items()
        }
        object.__setattr__(study, "protocol", MappingProxyType(protocols))
    elif study.protocol is not None:
        object.__setattr__(study, "protocol", _checked_protocol(study.protocol, "protocol"))
    _check_distances(study)
    _check_budget(study)


def _refuse_joined(study: Study) -> None:
    """Refuse a budget per attribute where one answer is several: it would lose more than that."""
    for name, changed in list_changed(list(study.inquiry.attributes.values())).items():
        if len(changed) > 1 and name not in study.inquiry.leveled:  # of whose levels a report holds one
            raise InvalidParameter(
                "per = 'attribute' bounds what a report says about one attribute, but one answer to "
                f"{name!r} can change {len(changed)} ({', '.join(changed)}), and would lose more; use "
                "per = 'record'"
            )


def _check_survey(study: Study) -> None:
    """Refuse texts, maps and pages that do not fit the questions."""
    if study.ask not in get_args(Ask):
        raise InvalidParameter(f"ask is 'all' or 'sampled', got {study.ask!r}")
    check_maps(study.maps, study.attributes)
    if study.survey is None:
        return
    if not isinstance(study.survey, Texts):
        raise InvalidParameter(f"survey is Texts(introduction=..., ...), got {study.survey!r}")
    if not study.title and isinstance(study.survey.title, Mapping) and study.survey.title:
        object.__setattr__(study, "title", study.survey.title[study.survey.language])
    questions = study.attributes.items()
    several = {name: len(question.options) for name, question in questions if isinstance(question, Several)}
    domains = {name: question for name, question in questions if not isinstance(question, Several)}
    study.survey.check(domains, study.title, several)
    _check_pages(study)


def _check_pages(study: Study) -> None:
    """Refuse a question that stands before the one that decides whether it applies."""
    pages = study.survey.pages if study.survey is not None else ()
    order = [name for page in pages for name in page]
    for name, condition in study.only_if.items() if order else ():
        parent = next(iter(condition))
        if order.index(parent) > order.index(name):
            raise InvalidParameter(f"{name!r} depends on {parent!r}, which must be asked before it")


def _check_distances(study: Study) -> None:
    """Refuse what metric attributes and numbers cannot be combined with, and missing epsilons."""
    for name, attribute in study.inquiry.attributes.items():
        domain, is_number = attribute.domain, isinstance(attribute.domain, Number)
        if not is_filled(domain):
            continue
        what = f"{name!r} is a number, whose mean is wanted" if is_number else f"{name!r} is metric"
        if study.mechanism == "faked":
            remedy = ", so its reports have no fake data; use mechanism 'split' or 'sample'"
            raise InvalidParameter(what + (remedy if is_number else f": {NOT_METRIC}"))
        if isinstance(study.protocol, Mapping) and name in study.protocol and not is_number:
            raise InvalidParameter(
                f"{what}, so its mechanism follows from its distances; name no protocol for it"
            )
    check_weighed(study.importance, study.inquiry.attributes, list(study.attributes), study.inquiry.together)
    len(study.inquiry.metric_mechanisms)  # made now, so that what is wrong with a distance is said now


def _check_budget(study: Study) -> None:
    """Refuse epsilons that are missing, too many or out of order; a study that asks again has rounds."""
    if not study.repeated:
        if not study.inquiry.sharing and study.epsilon is not None:
            raise InvalidParameter(
                "all attributes are metric and have epsilons of their own; leave the study's epsilon out"
            )
        if study.inquiry.sharing and study.epsilon is None:
            raise InvalidParameter(
                "a study needs an epsilon, or epsilon_first and epsilon_forever to ask again"
            )
        if study.epsilon is not None:
            _refuse_boundless(positive_epsilon(study.epsilon), "epsilon", len(study.inquiry.attributes))
        if study.linked is not False:
            raise InvalidParameter(
                "linked is for asking again, where it links the reports of a person in several rounds, got "
                f"{study.linked!r}: give epsilon_first and epsilon_forever, or leave it out"
            )
        for name in ("rounds", "turns"):
            if getattr(study, name) is not None:
                raise InvalidParameter(
                    f"{name} are for asking again: give epsilon_first and epsilon_forever, or no {name}"
                )
        return
    if study.inquiry.sharing:
        _check_two_epsilons(study)
    elif (study.epsilon, study.epsilon_first, study.epsilon_forever) != (None, None, None):
        raise InvalidParameter(
            "all attributes are metric and have epsilons of their own; leave the study's epsilons out"
        )
    if not isinstance(study.linked, bool):
        raise InvalidParameter(f"linked is true or false, got {study.linked!r}")
    rounds = _ROUNDS if study.rounds is None else study.rounds
    rounds = whole_number("rounds, the number of collections,", rounds, 1, MOST_ROUNDS)
    object.__setattr__(study, "rounds", rounds)
    check_turns(study.turns, rounds)
    if study.inquiry.changing:
        if study.mechanism in (None, "sample", "split") and study.per == "record":
            return
        raise InvalidParameter(
            "answers that change share the budget of a record with those that stay, and have no fakes: "
            "mechanism 'split' or 'sample', with per = 'record'"
        )
    if study.mechanism not in (None, "sample", "faked") or study.per != "record":
        raise InvalidParameter(
            "a study that asks again has one real attribute per person, with its budget per record: "
            "mechanism 'sample' or 'faked'"
        )


def read_changes(study: Study) -> tuple[str, ...]:
    """The questions whose answers change, which are asked again."""
    changes = study.changes
    if isinstance(changes, str) or not isinstance(changes, Sequence):
        raise InvalidParameter(f'changes is a list of questions, such as ["crashed"], got {changes!r}')
    for name in changes:
        if name not in study.attributes:
            raise InvalidParameter(not_among(str(name), "a question of this study", list(study.attributes)))
        if name in study.known or (study.repeat and name not in study.repeat):
            why = "known, and sent as it is" if name in study.known else "asked once"
            raise InvalidParameter(
                f"{name!r} is {why}, so that no noise of it is kept; leave its changes out"
            )
    if changes and study.epsilon_first is None and study.epsilon_forever is None:
        raise InvalidParameter(
            "changes are for asking again: give epsilon_first, for one report, and epsilon_forever, for all "
            "reports of a person whose other answers stay"
        )
    return tuple(dict.fromkeys(changes))


def _refuse_boundless(epsilon: float, name: str, attributes: int) -> None:
    """Refuse an epsilon that no mechanism has, however it is divided: reports would be the answers."""
    if epsilon > _MOST_EPSILON * attributes:
        raise InvalidParameter(
            f"{name} = {epsilon:g} hides nothing: whoever sees a report knows the answers. Choose one that "
            "protects, such as 0.5 to 4: at 1 a guess between two answers is right for 73.1 % of people, "
            "at 4 for 98.2 %"
        )


def _check_two_epsilons(study: Study) -> None:
    """Refuse two epsilons of which one is missing, or the first is not the smaller one."""
    if study.epsilon is not None:
        raise InvalidParameter(
            "give epsilon, or epsilon_first and epsilon_forever to ask again, not both; or say by repeat "
            "which questions are asked again, such as repeat = 4 for four rounds"
        )
    if study.epsilon_first is None or study.epsilon_forever is None:
        raise InvalidParameter(
            "epsilon_first, for one report, and epsilon_forever, for all of them, go together"
        )
    first = positive_epsilon(study.epsilon_first, "epsilon_first")
    forever = positive_epsilon(study.epsilon_forever, "epsilon_forever")
    _refuse_boundless(forever, "epsilon_forever", len(study.inquiry.attributes))
    # equal ones are for dbitflip, all of which is kept
    if first > forever or (first == forever and study.protocol is None):
        raise InvalidParameter(
            "epsilon_first, for one report, must be below epsilon_forever, for all of them, got "
            f"{first:g} and {forever:g}"
        )


def _refuse_overspent(study: Study, plan: Plan) -> None:
    """What the choice promises is checked against what the thresholds lose."""
    loss = plan.verify()
    spent = rest_loss(plan.mechanism, study.per)
    budget = study.epsilon if study.epsilon is not None else study.epsilon_first
    kept = [part for part in plan.document.parts if part.repeated and not part.metric]
    forever = max((part.losses(1, 1).one_value_forever for part in kept), default=0.0)
    if study.changes:
        reports = study.turns or study.rounds or 1
        figures = [0.0 if part.metric else part.losses(reports, 1).same_value for part in plan.document.parts]
        forever = math.fsum(plan.mechanism.select_largest(figures))
    if spent > (budget or 0.0) or forever > (study.epsilon_forever or math.inf):
        raise InvalidParameter(f"this plan would lose {max(spent, forever):.9g}, more than the study allows")
    for unit in loss.units:
        domain: Any = study.inquiry.attributes[unit.name].domain
        allowed = Fraction(domain.epsilon or 0) * (
            1000 if isinstance(domain, Grid) else Fraction(str(domain.step))
        )
        if Fraction(unit.loss) > allowed:
            raise InvalidParameter(
                f"{unit.name!r} would lose {unit.loss:.9g} per {unit.unit}, more than the study allows"
            )
