"""Says what a plan takes for granted of its questions: a line each."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from deniable.domain import Categories, Product
from deniable.exact import round_up
from deniable.explain.level_precision import explain_levels
from deniable.formatting import format_allowed, format_up
from deniable.plan.attribute import NOT_APPLICABLE, Attribute, find_allowed, list_several
from deniable.plan.document import PlanDocument
from deniable.plan.metric_losses import loss_to_random
from deniable.randomness import FULL
from deniable.records import NearSets

_ALIKE = {
    **dict(zip("авеѕіјкмнорстухһԁԛԝ", "abesijkmhopctyxhdqw", strict=True)),  # Cyrillic
    **dict(zip("αβεζικμνορτυχγ", "abezikmvoptuxy", strict=True)),  # Greek
    **dict(zip("ıɑɡ01|‐‑‒–—−’‘`", "iagoll------'''", strict=True)),  # noqa: RUF001 - others
}
"""Letters in lower case and the Latin one that each looks like: the usual ones of Unicode's list, UTS 39."""
_MOST = 3  # pairs that are named


def explain_questions(document: PlanDocument) -> list[str]:
    """What questions that are several attributes, or apply only to some, mean and cost: a line each."""
    lines = []
    for name, options in list_several(document.attributes).items():
        listed = ", ".join(attribute.option for attribute in options)
        lines.append(_explain_options(document, name, options, listed))
    lines += _explain_tables(document)
    lines += explain_levels(document)
    for attribute, part in document.pairs:
        if attribute.answers is not None:
            lines.append(
                f"{attribute.answers!r} may be left unanswered. Whether it is answered is an attribute of "
                f"its own, {attribute.name!r}, whose report loses at most {format_up(part.loss())}. A random "
                "value takes the place of a missing answer; the mean of those who answered allows for it, "
                "and its margin is 1 / p times as wide if a share p answers. "
                + _explain_no_answer(document, attribute)
            )
    for name, condition, filled in dict.fromkeys(
        (
            attribute.several or attribute.answers or attribute.name,
            attribute.only_if,
            not document.extras(attribute),
        )
        for attribute in document.attributes
        if attribute.only_if is not None and attribute.only_if.name != f"{attribute.name}: answered"
    ):
        assert condition is not None
        value = "a random value" if filled else f"{NOT_APPLICABLE!r}, one more value,"
        lines.append(
            f"{name!r} is asked only if {condition.describe()}. For all others {value} is filled in, so that "
            f"no report lacks it. Its report still says something of {condition.name!r}, and the other way "
            "round, within the loss of the plan."
        )
    return lines


def _explain_options(document: PlanDocument, name: str, options: Sequence[Attribute], listed: str) -> str:
    """What a question with options asks, and what a report says of it."""
    allowed = find_allowed(options)
    many = "all that apply" if allowed is None else format_allowed(allowed)
    first = document.attributes.index(options[0])
    for member, start, _ in document.mechanism.members:
        if start == first and isinstance(member, NearSets):
            number = "one" if member.size == 1 else f"{member.size}"
            spare = ""
            if member.spare:
                spare = " Options that nobody sees stand for choices that are left free, and are not named."
            return (
                f"{name!r} asks for {many} of {listed}. A report names {number} of them, drawn at random: "
                f"with probability {member.keep / FULL:.3f} from all sets with {member.least} or more chosen "
                f"options, else from all others.{spare}"
            )
    return (
        f"{name!r} asks for {many} of {listed}: {len(options)} attributes with yes and no, each of which "
        "takes its part of the budget, or of the sampling."
    )


def _explain_tables(document: PlanDocument) -> list[str]:
    """That a report of a table holds several answers as one value."""
    tables = [attribute for attribute in document.attributes if isinstance(attribute.domain, Product)]
    names = ", ".join(repr(attribute.name) for attribute in tables)
    if not names:
        return []
    return [
        f"{names}: answers to these questions are asked for together, and a report holds them as one value. "
        "So it tells about each of them: how often one answer of a table is guessed stands above."
    ]


def _explain_no_answer(document: PlanDocument, answered: Attribute) -> str:
    """What a report loses between no answer and any answer, for which there are two attributes."""
    names, name = document.names, str(answered.answers)
    alone, is_exact = loss_to_random(document.parts[names.index(name)])
    figures = [Fraction(0)] * len(names)
    figures[names.index(answered.name)] = Fraction(document.parts[names.index(answered.name)].loss())
    figures[names.index(name)] = Fraction(alone)
    together = round_up(sum(document.mechanism.select_largest(figures), Fraction(0)))
    how = "compared with the mixture of all values, exact" if is_exact else "a bound: its worst case"
    text = (
        f"Between no answer and any answer, the report of {name!r} itself loses at most {format_up(alone)} "
        f"({how}), and a whole report at most {format_up(together)}."
    )
    figures[names.index(name)] = worst = Fraction(document.parts[names.index(name)].loss())
    added = round_up(sum(document.mechanism.select_largest(figures), Fraction(0)))
    least = max(float(worst), together)
    if not is_exact or least >= added:
        return text
    return (
        f"{text} So no two people lose more than {format_up(least)} by both attributes. The loss per record, "
        f"above, is a bound: it adds up the worst case of each, {format_up(added)}."
    )


def warn_alike(document: PlanDocument) -> str | None:
    """Warn of values of one attribute, or names of attributes, that look the same; None if there are none."""
    pairs = [*_find_pairs("the questions", (attribute.name for attribute in document.attributes))]
    for attribute in document.attributes:
        if isinstance(attribute.domain, Categories):
            pairs += _find_pairs(repr(attribute.name), attribute.domain.labels)
    if not pairs:
        return None
    more = f" (and {len(pairs) - _MOST} more)" if len(pairs) > _MOST else ""
    return (
        f"People cannot tell some answers apart, but they count as two: {'; '.join(pairs[:_MOST])}{more}. "
        "Keep one of them, or write them so that they look different."
    )


def fold_looks(text: str) -> str:
    """Fold a text to what it looks like: without forms, case and spaces, in Latin letters.

    >>> fold_looks("y\\u0435s") == fold_looks("\\uff39es ") == "yes"
    True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    letters = (letter for letter in folded if not letter.isspace() and unicodedata.category(letter) != "Cf")
    return "".join(_ALIKE.get(letter, letter) for letter in letters)


def _find_pairs(where: str, labels: Iterable[str]) -> Iterator[str]:
    """Each text that looks like an earlier one, and how they differ."""
    first: dict[str, str] = {}
    for label in labels:
        other = first.setdefault(fold_looks(label), label)
        if other != label:
            yield f"{other!r} and {label!r} of {where} {_tell_difference(other, label)}"


def _tell_difference(first: str, other: str) -> str:
    def squeeze(text: str) -> str:
        return "".join(text.casefold().split())

    if squeeze(first) == squeeze(other):
        return "differ in capital letters or spaces alone"
    foreign = [letter for letter in other if letter not in first] or [
        letter for letter in first if letter not in other
    ]
    if not foreign:
        return "look the same"
    return f"differ in {unicodedata.name(foreign[0], 'a sign without a name')}"
