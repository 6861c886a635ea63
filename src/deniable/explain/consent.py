"""Writes a consent from a plan: what is sent, and what it gives away, in the languages of the pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameter
from deniable.messages import LANGUAGES, read_messages
from deniable.plan.texts import Texts

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

_HEADER = 29  # bytes of a report before its body (spec/wire.md, 1)
_SIGNS = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ","), "es": (".", ","), "pt": (".", ",")}
"""Between thousands, and before decimals."""
_ENOUGH = 1_000_000  # times likelier: beyond that no number helps


def generate_consent(document: PlanDocument, language: str = "en") -> str:
    """A consent to this plan, for people to tick."""
    base = language.split("-")[0]
    if base not in LANGUAGES:
        raise InvalidParameter(
            f"a consent is generated in {', '.join(LANGUAGES)}; write the one in {language!r} yourself"
        )
    words = read_messages(base, "consent")
    loss, known = document.verify(), document.known
    parts = document.mechanism.mechanisms
    is_sampled = any(document.mechanism.chance(j) < 1 for j in range(len(parts)))
    most_bytes = _HEADER + document.mechanism.lengths[-1] + (known is not None)
    lines = [words["start"], words["some" if is_sampled else "all"].format(bytes=most_bytes)]
    if known is not None:
        lines.append(words["known"].format(names=", ".join(known.names)))
    other, times = words["other" if known is None else "member"], _times(loss.record, language)
    if any(part.metric for part in parts):
        lines.append(words["metric" if _is_useful(loss.record) else "plain"].format(times=times, other=other))
    elif loss.repeated is None:
        lines.append(words["loss"].format(times=times, other=other))
    if loss.repeated is not None:
        lines.append(_consent_to_rounds(document, words, other, language))
    if document.linked:
        lines.append(words["linked"])
    lines.append(words[document.protection.level].format(n=document.protection.percent))
    return "\n".join([*lines, words["end"]])


def _consent_to_rounds(document: PlanDocument, words: Mapping[str, str], other: str, language: str) -> str:
    """What all rounds give away together, counting answers that change; and if none changes."""
    repeated, rounds = document.loss.repeated, document.rounds
    assert repeated is not None
    if not _is_useful(repeated.same_value):
        return words["endless"].format(rounds=rounds)
    unchanged = _times(repeated.same_value, language)
    if not _is_useful(document.loss.counted):
        return words["unbounded"].format(rounds=rounds, unchanged=unchanged, other=other)
    times = _times(document.loss.counted, language)
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
