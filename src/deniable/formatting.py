"""Writes numbers, names and tables as people read them.

A loss is always rounded up: what is written must not be less than what is spent.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from textwrap import fill, shorten
from typing import Any

_NANO = 10**9
_NOTHING = 1e-9  # a difference of shares that only the rounding of floats makes
_STATED = 9  # decimals of the losses that plans state, which are never less than what is spent
_ROUNDING = Fraction(
    1, 10**12
)  # of a loss: far more than the rounding of a float, far less than anybody reads
_FORGIVEN = Decimal("1e-12")  # the same as a part of a number
_WIDTH = 110
_MOST_NAMES = 6  # of a list that is written out; the others are counted
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?")


def ungroup(text: str) -> str:
    """A number without the commas between its thousands; other text stays as it is.

    >>> ungroup(" 20,000 "), ungroup("2,5")
    ('20000', '2,5')
    """
    plain = text.strip()
    return plain.replace(",", "") if _THOUSANDS.fullmatch(plain) else plain


def format_count(n: int, noun: str) -> str:
    """A number of things, in words.

    >>> format_count(1, "report"), format_count(2000, "report"), format_count(2, "person")
    ('1 report', '2,000 reports', '2 people')
    """
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun.removesuffix('person')}people" if noun.endswith("person") else f"{n:,} {noun}s"


def format_members(noun: str, members: Iterable[object]) -> str:
    """Some of a kind by name, in words: all of them, or the first ones and how many more there are.

    >>> format_members("round", [1]), format_members("round", [1, 2, 5])
    ('round 1', 'rounds 1, 2 and 5')
    >>> format_members("round", range(1, 91))
    'rounds 1, 2, 3, 4, 5, 6 and 84 more'
    """
    names = list(map(str, members))
    if len(names) == 1:
        return f"{noun} {names[0]}"
    if len(names) > _MOST_NAMES:
        return f"{noun}s {shorten_names(names)}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


def format_time(seconds: float) -> str:
    """A moment, in seconds since 1970, as a date and a time.

    >>> format_time(1_800_000_000.5)
    '2027-01-15T08:00:00Z'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def shorten_names(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """All names, or the first ones and how many more there are.

    >>> shorten_names(["age", "home"]), shorten_names(list("abcdefgh"), 3)
    ('age, home', 'a, b, c and 5 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


MOST_PEOPLE = 10_000_000
"""That a survey may ask."""


def find_most(expected: int) -> int:
    """The most people that may be had: those of a survey, or ten times those who are expected."""
    return max(MOST_PEOPLE, 10 * expected)


def format_people(people: int, expected: int = 0) -> str:
    """How many people it takes, up to the most that may be had where so many are expected.

    >>> format_people(1200), format_people(2 * MOST_PEOPLE), format_people(2 * MOST_PEOPLE, MOST_PEOPLE)
    ('1,200', 'over 10,000,000', '20,000,000')
    """
    most = find_most(expected)
    return f"{people:,}" if people <= most else f"over {most:,}"


def format_percent(share: float | None, decimals: int | None = None) -> str:
    """A share in percent: three digits, or these decimals; a rare one as 1 in a number; nothing for None.

    >>> format_percent(0.12345), format_percent(0.99999), format_percent(2.5e-8), format_percent(0.0)
    ('12.3 %', '100 %', '1 in 40,000,000', '0 %')
    >>> format_percent(0.5, 1)
    '50.0 %'
    """
    if share is None:
        return ""
    if decimals is not None:
        return f"{100 * share:.{decimals}f} %"
    if share <= 0:
        return "0 %"
    if share < 1e-15:
        return "below 1 in 10^15"
    if share < 1e-5:
        return f"1 in {round_digits(1 / share, 3):,.0f}"
    return f"{100 * share:.3g} %" if share < 0.9995 else "100 %"


def format_percent_down(share: float) -> str:
    """A share in percent, rounded down, and never certainty.

    >>> format_percent_down(0.9967), format_percent_down(1.0)
    ('99.6 %', '99.9 %')
    """
    return f"{min(math.floor(1000 * share) / 10, 99.9):.1f} %"


def format_percent_range(low: float, high: float) -> str:
    """An interval of shares in percent.

    >>> format_percent_range(0.001, 0.0213), format_percent_range(0.0, 3e-6)
    ('0.1 to 2.13 %', '0 to 0.0003 %')
    """
    return f"{100 * low:.3g} to {100 * high:.3g} %"


def format_points(gain: float, digits: int = 3) -> str:
    """A difference of two shares, or the error of one, in percentage points.

    >>> format_points(0.1221), format_points(0.01), format_points(0.000002), format_points(12.5)
    ('12.2 points', '1 point', 'below 0.001 points', '1,250 points')
    >>> format_points(1.11e-16)
    '0 points'
    """
    if gain < _NOTHING:
        return "0 points"
    if gain < 1e-5:
        return "below 0.001 points"
    if gain >= 1:
        return f"{100 * gain:,.0f} points"
    points = f"{100 * gain:.{digits}g}"
    return f"{points} point{'' if points == '1' else 's'}"


def format_loss(loss: float | Fraction, decimals: int = 4) -> str:
    """A loss with these decimals, rounded up; what a float adds to a round number does not count below nine.

    >>> format_loss(0.99999999), format_loss(1.00001), format_loss(math.inf)
    ('1.0000', '1.0001', 'no bound')
    >>> format_loss(0.1), format_loss(3.0000000000000004), format_loss(0.1, 9)
    ('0.1000', '3.0000', '0.100000001')
    """
    if math.isinf(loss):
        return "no bound"
    scale = 10**decimals
    exact = Fraction(loss) if decimals >= _STATED else Fraction(loss) - _ROUNDING
    units = max(0, math.ceil(exact * scale))
    return f"{units // scale}.{units % scale:0{decimals}d}"


def format_nats(loss: float | Fraction) -> str:
    """A loss in nats with nine decimals, rounded up, as a plan states it.

    >>> format_nats(0.6931471805)
    '0.693147181'
    """
    return format_loss(loss, 9)


def format_nanos(nanos: int) -> str:
    """A loss that a plan states in billionths of a nat.

    >>> format_nanos(1_500_000_000)
    '1.500000000'
    """
    return format_nats(Fraction(nanos, _NANO))


def format_up(number: float, digits: int = 4) -> str:
    """A number with this many digits, rounded up; what a float adds to a round number does not count.

    >>> format_up(19.50072), format_up(1689.127), format_up(0.1), format_up(math.inf)
    ('19.51', '1690', '0.1', 'inf')
    """
    if math.isinf(number) or not number:
        return f"{number:g}"
    exact = Decimal(number) * (1 - _FORGIVEN)
    last = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(last, rounding=ROUND_CEILING)):.15g}"


def format_ratio(loss: float) -> str:
    """How many times likelier a loss makes a report at most, rounded up.

    >>> format_ratio(1.0), format_ratio(4.95), format_ratio(100.0)
    ('2.72 times', '142 times', 'e^100 times')
    """
    return f"{format_up(math.exp(loss), 3)} times" if loss < 20 else f"e^{format_up(loss, 3)} times"


def keep_finite(value: Any) -> Any:
    """The value, ready for JSON: nothing in place of a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def round_digits(number: float, digits: int) -> float:
    """A number with this many digits.

    >>> round_digits(351.7, 2)
    350.0
    """
    return float(f"{number:.{digits}g}")


def format_digits(number: float, digits: int) -> str:
    """A number with this many digits, and zeros in place of a power of ten.

    >>> format_digits(251.7, 2), format_digits(0.03416, 2), format_digits(1_234_567.0, 4)
    ('250', '0.034', '1,235,000')
    """
    text = f"{number:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def fill_paragraph(text: str, width: int = _WIDTH) -> str:
    """A paragraph in lines, none of which begins with the sign of a percentage."""
    return fill(text.replace(" %", "\N{NO-BREAK SPACE}%"), width).replace("\N{NO-BREAK SPACE}", " ")


def quote_question(texts: Mapping[str, str], name: str, width: int = _WIDTH) -> list[str]:
    """A line with the text of a question, where it has one.

    >>> quote_question({"mood": "How are you?"}, "mood"), quote_question({}, "mood")
    (['How are you?'], [])
    """
    return [shorten_text(texts[name], width)] if name in texts else []


def shorten_text(text: str, width: int = _WIDTH) -> str:
    """As much of a text as a line has room for.

    >>> shorten_text("How often do you cycle to work?", 20)
    'How often do you…'
    """
    return shorten(text, width, placeholder="…")


def format_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str] = (), indent: str = ""
) -> list[str]:
    """The lines of a text table: the first column and these are aligned left; empty ones are left out.

    >>> print("\\n".join(format_table(["value", "share"], [["yes", "0.5"], ["no", "12"]])))
    value  share
    yes      0.5
    no        12
    """
    columns = [j for j in range(len(headers)) if any(row[j] for row in rows)]
    lefts = {0, *(j for j, header in enumerate(headers) if header in left)}
    widths = {j: max(len(headers[j]), *(len(row[j]) for row in rows)) for j in columns}

    def align(cells: Sequence[str]) -> str:
        aligned = [cells[j].ljust(widths[j]) if j in lefts else cells[j].rjust(widths[j]) for j in columns]
        return indent + "  ".join(aligned).rstrip()

    return [align(headers), *map(align, rows)]


def say_found(share: float, shown: str, which: str = "a value") -> str:
    """From which share of people on values that nobody listed are found; `shown` is the share in words.

    >>> say_found(0.02, "2 %")
    'Values with a share of 2 % are found about half of the time.'
    >>> say_found(32.0, "3200 %")
    'Even a value that everybody has is found at most half of the time.'
    """
    if share >= 1:
        return f"Even {which} that everybody has is found at most half of the time."
    return f"Values with a share of {shown} are found about half of the time."


class Printed:
    """Shows itself in a notebook as it prints, with every label escaped."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def format_allowed(allowed: range) -> str:
    """How many options may be chosen, in words.

    >>> format_allowed(range(3, 4)), format_allowed(range(4)), format_allowed(range(1, 4))
    ('exactly 3', 'at most 3', '1 to 3')
    """
    if len(allowed) == 1:
        return f"exactly {allowed[0]}"
    return f"{allowed[0]} to {allowed[-1]}" if allowed[0] else f"at most {allowed[-1]}"


def label_metric(**labels: object) -> str:
    """Labels in the text format of Prometheus."""
    escaped = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{str(text).translate(escaped)}"' for name, text in labels.items()) + "}"


def describe_metric(name: str, kind: str, text: str) -> tuple[str, str]:
    """The lines before a metric in the text format of Prometheus."""
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"
