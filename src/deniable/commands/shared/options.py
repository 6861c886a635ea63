"""Reads what options hold: files, and numbers as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, fields
from datetime import tzinfo
from decimal import Decimal, InvalidOperation
from functools import partial, reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from deniable.errors import InvalidParameter
from deniable.formatting import ungroup

if TYPE_CHECKING:
    Type = click.ParamType[Any]
else:  # older versions of click cannot say what a type makes
    Type = click.ParamType

_PLAN_AND_ROUND = re.compile(r"(.+?)(?::([1-9][0-9]{0,4}))?")


def taken(*declarations: Callable[[Any], Any]) -> Any:
    """A field of a request that an argument or an option fills; several options may fill one field."""
    return field(metadata={"declarations": declarations})


def argument(name: str, **attributes: Any) -> Any:
    """A field of a request that this argument fills."""
    return taken(click.argument(name, **attributes))


def option(*names: str, **attributes: Any) -> Any:
    """A field of a request that this option fills."""
    return taken(click.option(*names, **attributes))


def as_request(kind: type[Any]) -> Callable[[Callable[[Any], None]], Callable[..., None]]:
    """Hands all arguments and options of a verb on as one dataclass, whose fields declare them in order."""

    def decorate(verb: Callable[[Any], None]) -> Callable[..., None]:
        @wraps(verb)
        def call(**values: Any) -> None:
            verb(kind(**values))

        declarations = [declare for member in fields(kind) for declare in member.metadata["declarations"]]
        return reduce(lambda decorated, declare: declare(decorated), reversed(declarations), call)

    return decorate


@final
class InOrder(click.Group):
    """A group that lists its verbs in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@final
class File(click.Path):
    """The path of a file; that it exists, or does not, is checked by the verb that uses it."""

    name = "file"

    def __init__(self) -> None:
        super().__init__(path_type=Path)
        self.name = "file"


@final
class Number(Type):
    """A number, as a function reads it."""

    name = "number"

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._read(value) if isinstance(value, str) else value


@final
class Zone(Type):
    """A time zone by its name."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tzinfo:
        try:
            return ZoneInfo(str(value).strip())
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise click.BadParameter(
                f"{value!r} is not a time zone that this machine knows, such as Europe/Berlin; if it knows "
                "none, install the package tzdata"
            ) from None


FILE = File()


def whole(text: str, least: int | None = None, most: int = 10**18) -> int:
    """A whole number as people write them: 10000, 10_000, 10,000, 1e4."""
    try:
        number = Decimal(ungroup(text))
    except InvalidOperation:
        number = Decimal("NaN")
    is_whole = number.is_finite() and number.adjusted() <= 18 and number == number.to_integral_value()
    if not is_whole or number > most:
        power = len(str(most)) - 1
        if power < 4 or most != 10**power:  # how large numbers are written is no help then
            raise click.BadParameter(
                f"it must be a whole number from {0 if least is None else least} to {most}, got {text}"
            )
        raise click.BadParameter(
            f"{text!r} is not a whole number up to 10^{power}, such as 10000, 10_000 or 1e4"
        )
    if least is not None and number < least:
        raise click.BadParameter(f"it must be at least {least}, got {text}")
    return int(number)


def whole_from(least: int, most: int = 10**18) -> Number:
    """A whole number from one to another."""
    return Number(partial(whole, least=least, most=most))


people_expected = click.option(
    "--people",
    type=whole_from(1, 10**15),
    required=True,
    help="The number of people you expect to answer, such as 50000, 50,000 or 5e4.",
)


def _choose_continued(_context: object, _parameter: object, files: Sequence[Path]) -> Path | None:
    """The file of --continues; refuses several, since the newest plan has all that are before it."""
    if len(files) > 1:
        raise InvalidParameter(
            f"--continues takes one plan, got {', '.join(map(str, files))}; name the newest, which has those "
            "that it continues"
        )
    return files[0] if files else None


plan_continued = click.option(
    "--continues",
    type=FILE,
    multiple=True,
    callback=_choose_continued,
    help="The plan of the same questions that devices have answered so far.",
)


def round_number(text: str) -> int:
    """The number of a round."""
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdecimal() and len(stripped) < 10 and int(stripped) > 0):
        raise click.BadParameter(f"{text!r} is not the number of a round, such as 1 or 2")
    return int(stripped)


@final
class PlanAndRound(NamedTuple):
    """The file of a plan, and a round of it, where one is named."""

    file: Path
    round: int | None


def plan_and_round(text: str) -> PlanAndRound:
    """A plan's file, with the number of a round after a colon or without one: old.json:2, old.json."""
    matched = _PLAN_AND_ROUND.fullmatch(text)
    if matched is None:
        raise click.BadParameter(f"{text!r} is not a plan, such as old.json, or old.json:2 for its round 2")
    return PlanAndRound(Path(matched[1]), int(matched[2]) if matched[2] else None)


def earlier_round(text: str) -> int:
    """The number of the round since which a change is wanted; another collector or store has none here."""
    if "://" in text:
        raise click.BadParameter(
            f"--change-from takes a round of the same collector, such as 1, got {text!r}. To compare two "
            "studies, write both to files: deniable export plan.json -o first.parquet; then give "
            "the later file in place of --from, and --change-from first.parquet"
        )
    return round_number(text)


def real(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number, such as 0.5 or 2") from None


def positive(text: str) -> float:
    """A finite number above 0."""
    number = real(text)
    if not 0 < number < math.inf:
        raise click.BadParameter(f"it must be a positive number, such as 0.5 or 2, got {text}")
    return number


def several(
    read: Callable[[str], Any],
) -> Callable[[click.Context, click.Parameter, Iterable[str]], list[Any]]:
    """Reads an option that may be given several times, and may hold several things between commas."""
    return lambda _context, _parameter, texts: [read(part) for text in texts for part in text.split(",")]


WHOLE = Number(whole)
COUNT = whole_from(1)
SEED = whole_from(0)
PORT = whole_from(0, 65535)
ROUND = Number(round_number)
PLAN_AND_ROUND = Number(plan_and_round)
REAL = Number(real)
POSITIVE = Number(positive)

separator = click.option(
    "--separator",
    metavar="CHARACTER",
    help="The character between the cells of a CSV file.  [default: a comma; in .tsv, a tab]",
)


def source_option(text: str) -> Callable[[Any], Any]:
    """An option that takes the address of reports; several of them are files, which are counted together."""
    return click.option(
        "--from",
        "source",
        metavar="ADDRESS",
        multiple=True,
        callback=lambda _context, _parameter, addresses: (
            addresses[0] if len(addresses) == 1 else addresses or None
        ),
        help=f"{text}  [default: DENIABLE_FROM]",
    )


source = source_option(
    "A collector (http://…), its store (sqlite:///…, postgresql://…), or a table of reports: a folder, "
    "'reports/*.parquet', or a database with --table; instead of REPORTS. Files may be repeated."
)
source_round = click.option("--round", "number", type=ROUND, help="The round, with --from.")
change_from = click.option(
    "--change-from",
    "since",
    metavar="ROUND",
    help="Show the change since this round, with --from; else since this file of reports. With --from, also "
    "since a plan that this one continues: old.json, or old.json:2 for its round 2.",
)
token_file = click.option(
    "--token-file",
    type=FILE,
    help="The file of the operator's token, with --from http://….  [default: DENIABLE_TOKEN, or "
    "operator.token in this folder]",
)
weights = click.option(
    "--weights",
    type=FILE,
    help="A file of the sizes that known groups have in the population, CSV with the columns question, "
    "answer and size, or JSON: results are then those of the population.",
)
level = click.option("--level", type=REAL, default="0.95", help="The confidence of the intervals.")


def name_option(name: str, text: str, **more: Any) -> Callable[[Any], Any]:
    """An option that takes names, in one go with commas or one at a time."""
    return click.option(name, callback=several(str.strip), multiple=True, metavar="NAME", help=text, **more)


def numbers_option(name: str, read: Callable[[str], Any], text: str, **more: Any) -> Callable[[Any], Any]:
    """An option that takes numbers, in one go with commas or one at a time."""
    return click.option(name, callback=several(read), multiple=True, metavar="NUMBER", help=text, **more)


def zone_option(text: str) -> Callable[[Any], Any]:
    """An option that takes a time zone."""
    return click.option(
        "--time-zone", "zone", type=Zone(), help=f"{text}, such as Europe/Berlin.  [default: this machine's]"
    )
