"""Writes a consent from a plan: what is sent, and what it gives away, in the languages of the pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameter
from deniable.messages import LANGUAGES, read_messages
from deniable.plan.losses import NANO, Protection
from deniable.plan.texts import Texts

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

_HEADER = 29  # bytes of a report before its body (spec/wire.md, 2)
_SIGNS = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ","), "es": (".", ","), "pt": (".", ",")}
"""Between thousands, and before decimals."""
_ENOUGH = 1_000_000  # times likelier: beyond that no number helps


def generate_consent(document: PlanDocument, language: str = "en") -> str:
    """A consent to this plan, for people to tick."""
    words = _read_words(language)
    lines = [words["start"], *_consent_to_reports(document, words, language)]
    protection = document.protection
    lines.append(words[protection.level].format(n=protection.percent))
    return "\n".join([*lines, words["end"]])


def generate_joint_consent(documents: Sequence[PlanDocument], language: str = "en") -> str:
    """One consent to the plans of a study of which some questions are asked once and others again."""
    words = _read_words(language)
    lines = [words["start"]]
    for document in documents:
        lines += ["", words["once" if document.rounds is None else "repeated"]]
        lines += _consent_to_reports(document, words, language)
    lines.append("")  # which begins a paragraph
    protection = Protection.together(documents)
    if protection.loss is not None and _is_useful(protection.loss / NANO):
        other = _name_other(documents[0], words)
        lines.append(words["together"].format(times=_times(protection.loss / NANO, language), other=other))
    lines.append(words[protection.level].format(n=protection.percent))
    return "\n".join([*lines, words["end"]])


def _read_words(language: str) -> Mapping[str, str]:
    base = language.split("-")[0]
    if base not in LANGUAGES:
        raise InvalidParameter(
            f"a consent is generated in {', '.join(LANGUAGES)}; write the one in {language!r} yourself"
        )
    return read_messages(base, "consent")


def _name_other(document: PlanDocument, words: Mapping[str, str]) -> str:
    return words["other" if document.known is None else "member"]


def _consent_to_reports(document: PlanDocument, words: Mapping[str, str], language: str) -> list[str]:
    """What is sent, and what that gives away."""
    loss, known = document.verify(), document.known
    parts = document.mechanism.mechanisms
    is_sampled = any(document.mechanism.chance(j) < 1 for j in range(len(parts)))
    most_bytes = _HEADER + document.mechanism.lengths[-1] + (known is not None)
    lines = [words["some" if is_sampled else "all"].format(bytes=most_bytes)]
    if known is not None:
        lines.append(words["known"].format(names=", ".join(known.names)))
    other, times = _name_other(document, words), _times(loss.record, language)
    if any(part.metric for part in parts):
        lines.append(words["metric" if _is_useful(loss.record) else "plain"].format(times=times, other=other))
    elif loss.repeated is None:
        lines.append(words["loss"].format(times=times, other=other))
    if loss.repeated is not None:
        if document.turns is not None:
            lines.append(words["turns"].format(turns=document.turns, rounds=document.rounds))
        kept, fresh = (
            [name for name, part in zip(document.names, parts, strict=True) if part.repeated is is_kept]
            for is_kept in (True, False)
        )
        if fresh:
            lines.append(words["fresh"].format(kept=", ".join(kept), fresh=", ".join(fresh)))
        if document.continues:
            lines.append(words["continued"])
        lines.append(_consent_to_rounds(document, words, other, language))
    if document.linked:
        lines.append(words["linked"])
    return lines


def _consent_to_rounds(document: PlanDocument, words: Mapping[str, str], other: str, language: str) -> str:
    """What all rounds give away together, counting answers that change; and if none changes. Rounds of the
    plans that are continued are among them.
    """
    loss, rounds = document.loss.chained, sum(plan.most_reports for plan in (*document.continues, document))
    assert loss.repeated is not None
    if not _is_useful(loss.repeated.same_value):
        return words["endless"].format(rounds=rounds)
    unchanged = _times(loss.repeated.same_value, language)
    if not _is_useful(loss.counted):
        return words["unbounded"].format(rounds=rounds, unchanged=unchanged, other=other)
    times = _times(loss.counted, language)
    return words["again"].format(rounds=rounds, times=times, unchanged=unchanged, other=other)


def _is_useful(loss: float) -> bool:
    """Whether a person is told how many times likelier a report is."""
    return math.exp(min(loss, 100)) < _ENOUGH


def complete_texts(texts: Texts, document: PlanDocument) -> Texts:
    """The texts with a consent that is generated, where that was asked for."""
    if texts.consent is not True:
        return texts
    return replace(texts, consent={code: generate_consent(document, code) for code in texts.languages})


def _times(loss: float, language: str) -> str:
    """How many times likelier, rounded up to three digits and written as the language does."""
    times = math.exp(loss)
    digits = max(0, 2 - math.floor(math.log10(times)))
    unit = 10.0 ** (2 - math.floor(math.log10(times)))
    up = math.ceil(times * unit - 1e-9) / unit
    text = f"{up:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    thousands, decimal = _SIGNS[language.split("-")[0]]
    return text.translate({ord(","): thousands, ord("."): decimal})
