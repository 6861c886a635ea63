"""From answers to values: conditions, questions with several options, tables, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping

from deniable_device.document import Json
from deniable_device.domains import SPACES, Coarse, is_missing, label_of
from deniable_device.errors import InvalidAnswer
from deniable_device.plan import Attribute, Plan
from deniable_device.words import Device, below

YES, NO = 0, 1


class Answers:
    """The answers of one person to a plan.

    `drawn` are the attributes that the report holds, where only these are asked; None is all."""

    def __init__(self, plan: Plan, answers: Mapping[str, Json], drawn: list[int] | None = None) -> None:
        self.plan, self.answers = plan, dict(answers)
        numbers = range(len(plan.attributes)) if drawn is None else drawn
        self.reported = [plan.attributes[number] for number in numbers]
        for name in self.answers:
            if name not in plan.question_names:
                raise InvalidAnswer(f"there is no question {name!r}")
        self.chosen: dict[str, bool | None] = {}
        """Whether each option of a question is chosen, by the name of its attribute; None is no answer."""
        for question, options in plan.several.items():
            self.chosen.update(self.options(question, options))

    def options(self, question: str, options: list[Attribute]) -> dict[str, bool | None]:
        """Which options of a question are chosen: a list of them is given, or yes and no to each."""
        names = [option.name for option in options]
        answer = self.answers.get(question)
        if question in self.answers and set(names) & set(self.answers):
            raise InvalidAnswer(f"{question!r} is answered in two ways")
        chosen: dict[str, bool | None]
        if is_missing(answer):
            asked = dict(each for option in options for each in option.questions)
            given = {name: self.answers.get(name) for name in asked}
            chosen = {
                name: None if is_missing(given[name]) else question.code(given[name]) == YES
                for name, question in asked.items()
            }
        else:
            listed = self.listed(question, answer)
            if not set(listed) <= set(names):
                raise InvalidAnswer(f"{question!r} takes a list of its options")
            chosen = {name: name in listed for name in names}
        counted = list(chosen.values()).count(True)
        exactly, at_most = options[0].exactly, options[0].at_most
        is_answered = None not in chosen.values()
        if exactly is not None and counted != exactly and is_answered:
            raise InvalidAnswer(f"{question!r} takes exactly {exactly} options")
        if at_most is not None and counted > at_most and is_answered:
            raise InvalidAnswer(f"{question!r} takes at most {at_most} options")
        return chosen

    def listed(self, question: str, answer: Json) -> list[str]:
        """The names of the options that an answer lists."""
        if isinstance(answer, str):
            if answer.strip(SPACES) == "none of these":
                return []
            answer = [option.strip(SPACES) for option in answer.split(";")]
        if not isinstance(answer, (list, tuple, set, frozenset)):
            raise InvalidAnswer(f"{question!r} takes a list of options")
        return [f"{question}: {label_of(option)}" for option in answer]

    def is_given(self, attribute: Attribute) -> bool:
        """Whether an attribute has an answer."""
        if attribute.several is not None:
            return self.chosen[attribute.name] is not None
        return not any(domain.is_missing(self.answers.get(name)) for name, domain in attribute.questions)

    def code(self, attribute: Attribute) -> int | None:
        """The value of the answer itself, without what the plan makes of a missing one."""
        if not self.is_given(attribute):
            if attribute.answers is not None:
                return YES if self.is_given(self.plan.by_name[attribute.answers]) else NO
            return None
        if attribute.several is not None:
            return YES if self.chosen[attribute.name] else NO
        codes = [each.code(self.answers[name]) for name, each in attribute.questions]
        return attribute.domain.join(codes)

    def applies(self, attribute: Attribute) -> bool:
        """Whether the condition of an attribute holds, and that of the attribute it is about."""
        if attribute.only_if is None:
            return True
        other = self.plan.by_name[attribute.only_if["name"]]
        code = self.code(other) if self.applies(other) else None
        return code is not None and other.domain.labels[code] in attribute.only_if["values"]

    def value(self, attribute: Attribute) -> int | None:
        """The value of an attribute, or None where a random one stands for it."""
        if not self.applies(attribute):
            if self.is_given(attribute) and not self.is_said_not_to_apply(attribute):
                raise InvalidAnswer(f"{attribute.name!r} has an answer, though it does not apply")
            return attribute.domain.k if attribute.may_not_apply else None
        value = self.code(attribute)
        if value is not None:
            return value
        if attribute.missing == "refuse":
            raise InvalidAnswer(f"{attribute.name!r} has no answer, and this plan takes only whole records")
        return attribute.k - 1 if attribute.missing == "value" else None

    def is_said_not_to_apply(self, attribute: Attribute) -> bool:
        """Whether the answer to an attribute is that it does not apply."""
        return self.answers.get(attribute.name) == "not applicable" and attribute.several is None

    def values(self, device: Device) -> list[int]:
        """The value of each attribute, 0 for one that is not reported; the device draws what is random."""
        values = [0] * len(self.plan.attributes)
        reported = set(map(id, self.reported))
        for number, attribute in enumerate(self.plan.attributes):
            if id(attribute) in reported:
                value = self.value(attribute)
                column = self.plan.record.words + number
                values[number] = self.random(attribute, device, column) if value is None else value
        return values

    def random(self, attribute: Attribute, device: Device, column: int) -> int:
        """The random value in place of an answer; one of a level is drawn for its question."""
        word = device.kept(0)(column)
        if isinstance(attribute.domain, Coarse):
            return below(word, attribute.questions[0][1].k) // attribute.domain.divisor
        return below(word, attribute.domain.k)

    def group(self) -> int:
        """The number of the known group."""
        number = 0
        for factor in self.plan.known:
            answer = self.answers.get(factor.name)
            if factor.domain.is_missing(answer):
                raise InvalidAnswer(f"{factor.name!r} has no answer, and everybody is in a known group")
            number = number * factor.domain.k + factor.domain.code(answer)
        return number
