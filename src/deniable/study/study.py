"""Describes a study: what is asked, of how many people, at what loss. It compiles to a plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Never, final

from deniable.choose import (
    Considered,
    Objective,
    advise_epsilon,
    consider,
    consider_repeated,
    epsilon_needed,
    people_needed,
)
from deniable.domain import checked_text
from deniable.domain.parsed import as_question
from deniable.errors import InvalidParameter, not_among
from deniable.explain.consent import complete_texts
from deniable.explain.turnout import read_answered
from deniable.formatting import format_count, format_html_table
from deniable.frames import require_file
from deniable.plan.attribute import Attribute, Missing
from deniable.plan.document import Ask, checked_people
from deniable.plan.known_groups import read_known
from deniable.plan.maps import Map
from deniable.plan.texts import Texts
from deniable.records.base import Per
from deniable.study.attributes import Inquiry
from deniable.study.checks import check_choices, check_survey, refuse_known, refuse_overspent
from deniable.study.choices import checked_error, exclude_unasked
from deniable.study.importance import (
    read_importance,
)
from deniable.study.infer import infer_domains
from deniable.study.level_choice import consider_levels
from deniable.study.plan import Plan
from deniable.study.questionnaire import (
    divide_pages,
    read_conditions,
    read_policies,
    usual_policy,
)
from deniable.study.together import read_together
from deniable.study.toml import list_options, read_toml

_ANYTHING = Objective()


@final
@dataclass(frozen=True)
class Study:
    """Attributes by name, each a list of values, a `Range`, a `Grid`, a `Number`, `Several` options, a `Text`
    or a `Code`, and the loss that a report may have.

    >>> from deniable.domain import Range
    >>> study = Study({"color": ["red", "green", "blue"], "age": Range(0, 100, step=10)}, epsilon=1.0)
    >>> plan = study.plan(people=10_000)
    >>> plan.loss.record <= 1.0
    True

    Everything else is chosen by the least error, or named: `mechanism` ("split", "sample", "faked"),
    `protocol` (for all, or by attribute), `objective` (caps on an attacker's guess and on bytes). For asking
    again and again give `epsilon_first`, for one report, and `epsilon_forever`, for any number of reports of
    one value, instead of epsilon.

    An attribute with metric privacy (a `Range` that says so, a `Grid`) has an epsilon of its own, per unit of
    distance. The study's epsilon is shared by the others, and left out where there are none. The worst case
    of all is still counted: `plan.loss.record` is what a report can lose about the whole record, whatever the
    distances.
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
    """How a record is reported: "split", "sample" or "faked"."""
    protocol: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None
    """Its name, or several to choose among; or that by attribute."""
    objective: Objective = _ANYTHING
    epsilon_first: float | None = None
    epsilon_forever: float | None = None
    rounds: int | None = None
    """For how many collections the losses of asking again are stated: 10 unless given."""
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
    known: Sequence[str] = ()
    """Questions whose answers the collector knows anyway, such as the arm of an experiment. They are sent as
    they are, outside of all losses, and tables by them need far fewer people.
    """
    target: str | None = None
    """The question that people will be simulated for (`result.simulate_people`): its tables with each other
    question are asked, in place of `together`.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, Mapping) or not self.attributes:
            raise InvalidParameter(
                "a study asks for at least one attribute, by name: {'color': ['red', 'green']}"
            )
        named = {
            checked_text(name, "an attribute's name"): as_question(one, name)
            for name, one in self.attributes.items()
        }
        object.__setattr__(self, "attributes", MappingProxyType(named))
        policies = read_policies(self.missing, list(named))
        if isinstance(self.missing, Mapping):
            object.__setattr__(self, "missing", MappingProxyType(policies))
        only_if = read_conditions(self.only_if, list(named))
        object.__setattr__(self, "only_if", MappingProxyType(only_if))
        object.__setattr__(self, "known", read_known(self.known, named))
        object.__setattr__(self, "together", read_together(self.together, list(named)))
        refuse_known(self)
        object.__setattr__(self, "importance", MappingProxyType(read_importance(self.importance)))
        if not isinstance(self.objective, Objective):
            raise InvalidParameter(
                f"objective is an Objective, with caps on success and bytes, got {self.objective!r}"
            )
        len(self.inquiry.attributes)  # made now, so that what is wrong with a question is said now
        answered = read_answered(self.answered, list(named), list(self.inquiry.attributes.values()))
        object.__setattr__(self, "answered", MappingProxyType(answered))
        object.__setattr__(self, "maps", MappingProxyType(dict(self.maps)))
        check_choices(self)
        check_survey(self)

    def __str__(self) -> str:
        return "\n".join([self._heading, *(f"  {name}: {text}" for name, text in self._describe())])

    def _repr_html_(self) -> str:
        rows = [[name, text] for name, text in self._describe()]
        return format_html_table(["attribute", "values"], rows, self._heading, left=["attribute", "values"])

    def _describe(self) -> list[tuple[str, str]]:
        """What each question asks for, in words."""
        more = dict.fromkeys(self.known, ", known and sent as it is")
        more |= {name: ", in levels" for name, one in self.inquiry.leveled.items() if one.divisors}
        return [(name, f"{one}{more.get(name, '')}") for name, one in self.attributes.items()]

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
        values = (getattr(self, one.name) for one in fields(self) if one.name != "only_if")
        return hash(tuple(frozenset(one.items()) if isinstance(one, Mapping) else one for one in values))

    def __reduce__(self) -> tuple[type[Study], tuple[object, ...]]:
        """So that a study can be copied and pickled, which the read-only view of a dictionary cannot."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values["only_if"] = {name: dict(one) for name, one in self.only_if.items()}
        return Study, tuple(dict(one) if isinstance(one, Mapping) else one for one in values.values())

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
            return Study.from_dict(data, file.parent)
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

    @staticmethod
    def infer(
        table: object,
        epsilon: float | None = None,
        metric: Mapping[str, float] | None = None,
        means: Iterable[str] = (),
        **options: Any,
    ) -> Study:
        """A study with the columns of a table, and the values found in them. The values of private data are
        private too.

        `metric` has epsilons of their own for metric columns: per unit for numbers, which become a
        `Range`, per meter for locations (pairs, or two columns `home.latitude` and `home.longitude`), which
        become cells of a `Grid`. `means` names the numbers of which only the mean is wanted. Texts that
        pandas has as a category, or polars as an Enum, keep all their categories, in their order.
        """
        found = infer_domains(table, metric or {}, list(means))
        return Study(found, epsilon, **options)

    def plan(self, people: int, **unknown: Never) -> Plan:
        """The plan that errs least with this many people, and what else was considered, within the budget.

        `mechanism`, `protocol` and all other choices are the study's: `dataclasses.replace` makes another.
        """
        for name in unknown:
            if name in (known := [one.name for one in fields(self)]):
                raise InvalidParameter(
                    f"{name} is a choice of the study, Study(..., {name}=...), and not of its plan"
                )
            raise InvalidParameter(not_among(name, "a choice of a study", known))
        people = checked_people(people)
        rows = exclude_unasked(self._consider(people), self.ask)
        best = rows[0]
        if best.mechanism is None or best.why_not is not None:
            advice = self._advise(rows)
            raise InvalidParameter(
                f"nothing fits this study; the nearest, {best.name}: {best.why_not}{advice}"
            )
        names = list(self.inquiry.attributes)
        order = range(len(names)) if best.order is None else best.order
        asked = {names[j]: self.inquiry.compile(self.inquiry.attributes[names[j]]) for j in order}
        usual = usual_policy(self.inquiry.attributes)
        plan = Plan.of(asked, best.mechanism, people, self.title, usual, self.rounds, rows)
        refuse_overspent(self, plan)
        plan = plan.with_ask(self.ask).with_maps(self.maps)
        if self.known:
            plan = plan.with_known({name: self.attributes[name] for name in self.known})
        texts = self._order_pages(list(asked))
        return plan if texts is None else plan.with_texts(complete_texts(texts, plan.document))

    def _order_pages(self, names: list[str]) -> Texts | None:
        """The texts, with the order of the questions where a plan has another, in which one depends on one
        that comes later.
        """
        if (self.together or self.target) and (self.survey is None or not self.survey.pages):
            return (self.survey or Texts()).with_pages(divide_pages(list(self.attributes)))
        plain = all(
            one == Attribute(one.name, one.domain, one.missing) for one in self.inquiry.attributes.values()
        )
        if plain or names == list(self.inquiry.attributes) or (self.survey is not None and self.survey.pages):
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
        attribute.

        >>> study = Study({"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, epsilon=1.0)
        >>> study.people_needed(0.01)
        31290
        """
        if self.repeated or self.inquiry.leveled:
            rows = self._consider(1)
            return max(1, math.ceil(max(rows[0].errors) / checked_error(error) ** 2))
        ks, protocols, mechanism = self.inquiry.build_task()
        return people_needed(
            ks,
            checked_error(error),
            self.inquiry.budget,
            self.objective,
            mechanism,
            protocols,
            self.per,
        )

    def epsilon_needed(self, people: int, error: float) -> float:
        """The smallest epsilon, in thousandths, at which this many people err by at most `error`."""
        if self.repeated:
            raise InvalidParameter(
                "a study that asks again has two epsilons; try some, and look at plan(people).explain()"
            )
        if self.inquiry.leveled:
            raise InvalidParameter(
                f"{next(iter(self.inquiry.leveled))!r} is reported in levels: try some epsilons, and look at "
                "plan(people).explain()"
            )
        ks, protocols, mechanism = self.inquiry.build_task()
        if not self.inquiry.sharing:
            raise InvalidParameter(
                "all attributes have metric privacy and epsilons of their own; try some, and look at "
                "explain()"
            )
        people = checked_people(people)
        return epsilon_needed(
            ks,
            checked_error(error),
            people,
            self.objective,
            mechanism,
            protocols,
            self.per,
        )

    def _consider(self, people: int) -> list[Considered]:
        if self.inquiry.leveled:
            return [consider_levels(self, people)]
        ks, protocols, mechanism = self.inquiry.build_task()
        if self.repeated:
            first, forever = self.epsilon_first or 1.0, self.epsilon_forever or 2.0  # or nobody shares any
            return consider_repeated(ks, first, forever, people, self.objective, protocols, mechanism)
        return consider(
            ks,
            self.inquiry.budget,
            people,
            self.objective,
            mechanism,
            protocols,
            self.per,
        )
