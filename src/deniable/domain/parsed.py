"""Makes a domain of what is asked under a name: a domain, a list of values, or a section of a TOML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from deniable.domain.categories import Categories, Several
from deniable.domain.domain import Domain
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.domain.range import Range, date_ends
from deniable.domain.text import Code, Text
from deniable.errors import InvalidParameter, find_nearest, suggest_name
from deniable.metric import per_meter

_KINDS: dict[str, tuple[str, ...]] = {
    "values": ("values",),
    "range": ("low", "high", "step", "open_low", "open_high", "privacy", "epsilon", "queries"),
    "mean": ("mean", "low", "high", "open_low", "open_high"),
    "grid": ("south", "west", "north", "east", "rows", "columns", "privacy", "epsilon", "level", "radius"),
    "scale": ("scale", "privacy", "epsilon", "queries"),
    "dates": ("dates", "by", "privacy", "epsilon", "queries"),
    "yes_no": ("yes_no",),
    "several": ("several", "exactly", "at_most"),
    "text": ("alphabet", "longest", "cut", "levels"),
    "code": ("bits", "levels"),
}
"""The keys of a section, by what it is about."""
_CALLED = {
    "values": "a list of values",
    "range": "a range",
    "mean": "a number whose mean is wanted",
    "grid": "locations on a grid",
    "scale": "a scale of whole numbers",
    "dates": "a range of dates",
    "yes_no": "a yes/no question",
    "several": "a question with several answers",
    "text": "text that nobody listed",
    "code": "a code that nobody listed",
}
_NEEDED = {"range": ("low", "high", "step"), "mean": ("low", "high"), "grid": _KINDS["grid"][:6]} | {
    kind: (kind,) for kind in ("scale", "dates", "yes_no", "several")
}
_NEEDED |= {"text": ("alphabet",), "code": ("bits",)}
_ALLOWED = (
    "an attribute has values, or low, high and step, or scale, dates, yes_no, several, alphabet or bits"
)


def as_domain(values: object, name: str = "this attribute") -> Domain:
    """What `as_question` makes of these values, where each person has one answer.

    >>> as_domain({"low": 0, "high": 10_000, "mean": True}) == Number(0, 10_000)
    True
    """
    question = as_question(values, name)
    if isinstance(question, Several):
        raise InvalidParameter(f"{name!r} has several answers; only a study asks such a question")
    return question


def as_question(values: object, name: str = "this attribute") -> Domain | Several:
    """A domain or options as they are, the categories of a list of labels or of a dtype, or what a mapping
    says as a TOML file does.

    >>> as_question({"low": 0, "high": 100, "step": 10}) == Range(0, 100, step=10)
    True
    """
    if isinstance(values, Domain | Several):
        return values
    if isinstance(values, Mapping):
        return _read_section(values, f"attributes.{name}")
    declared = getattr(values, "categories", None)  # of pandas' categorical dtypes and columns, polars' enums
    if declared is not None and not callable(declared):
        values = list(declared)
    if isinstance(values, set | frozenset):
        raise InvalidParameter(f"{name!r}: a set has no order, and a plan's values have one; give a list")
    if isinstance(values, tuple) and len(values) == 2 and all(_is_number(value) for value in values):
        low, high = values
        raise InvalidParameter(
            f"{name!r}: ({low}, {high}) may be two values or a range; write [{low}, {high}] or Range({low}, "
            f"{high}, step=...)"
        )
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidParameter(f"{name!r} needs a list of values or a Range, got {values!r}")
    try:
        return Categories(values)
    except InvalidParameter as problem:
        raise InvalidParameter(f"{name!r}: {problem}") from None


def _read_section(table: Mapping[Any, Any], where: str) -> Domain | Several:
    """The values, range, numbers, grid or options that a section of a TOML file describes."""
    kind = _kind(table)
    _refuse_unknown(table, where, kind)
    if kind == "values":
        if not isinstance(table["values"], list):
            raise InvalidParameter(f"{where}.values must be a list, got {table['values']!r}")
        return as_question(table["values"], where)
    for key in _NEEDED[kind]:
        if key not in table:
            raise InvalidParameter(f"{where} has no {key!r}; {_needs(kind)}")
    try:
        return _build_question(kind, dict(table))
    except InvalidParameter as problem:
        raise InvalidParameter(f"{where}: {problem}") from None


def _refuse_unknown(table: Mapping[Any, Any], where: str, kind: str) -> None:
    """Refuse keys that this kind of attribute does not have."""
    known = _KINDS[kind]
    for key in table:
        if key not in known:
            all_ = dict.fromkeys(name for names in _KINDS.values() for name in names)
            if key in all_:
                raise InvalidParameter(f"{where}.{key}: {_for_others(str(key), kind)}")
            hint = suggest_name(find_nearest(str(key), known) or find_nearest(str(key), all_))
            name = key if str(key).isprintable() else repr(key)
            allowed = (
                _ALLOWED if kind in ("values", "range") else f"{_CALLED[kind]} may have {', '.join(known)}"
            )
            raise InvalidParameter(f"{where}.{name}: {allowed}, and no {str(key)!r}{hint}")


def _for_others(key: str, kind: str) -> str:
    """Why a key that others have is not for this kind of attribute, and what to do."""
    if key in ("epsilon", "privacy"):
        whose = "a list of values has" if kind == "values" else "a number whose mean is wanted has"
        return (
            f"{whose} no {key} of its own: only metric ranges and grids have one; leave it out, and the "
            "study's epsilon counts for all, or give each its own: dn.Plan.of(attributes, "
            "dn.smp(sizes, epsilons), people)"
        )
    others = " or ".join(_CALLED[other] for other, keys in _KINDS.items() if key in keys)
    return f"{key!r} is for {others}, and this is {_CALLED[kind]}, which has {', '.join(_KINDS[kind])}"


def _kind(table: Mapping[Any, Any]) -> str:
    for kind in ("several", "values", "scale", "dates", "yes_no"):
        if kind in table:
            return kind
    if any(key in table for key in ("south", "west", "north", "east", "rows", "columns")):
        return "grid"
    if "alphabet" in table or "longest" in table:
        return "text"
    if "bits" in table:
        return "code"
    return "mean" if "mean" in table else "range"


def _needs(kind: str) -> str:
    if kind == "grid":
        return (
            "a grid has south, west, north, east, rows and columns, and level and radius, or epsilon per "
            "meter"
        )
    if kind == "mean":
        return "a mean has low and high"
    if kind == "text":
        return 'text has an alphabet, such as "a-z0-9.-", and longest, the number of letters that are kept'
    return f"{_ALLOWED}; a number whose mean is wanted has low, high and mean = true"


def _build_question(kind: str, table: dict[str, Any]) -> Domain | Several:
    if kind == "range":
        return Range(**table)
    if kind == "scale":
        return _build_scale(table.pop("scale"), table)
    if kind == "dates":
        dates, by = table.pop("dates"), table.pop("by", "month")
        first, last = date_ends(dates, by)
        return Range(first, last + 1, 1, unit=by, **table)
    if kind == "yes_no":
        if table["yes_no"] is not True:
            raise InvalidParameter("yes_no is true where a question is answered with yes or no")
        return Categories(["yes", "no"])
    if kind == "several":
        if not isinstance(table["several"], list | tuple):
            raise InvalidParameter(f"several is a list of options, got {table['several']!r}")
        return Several(table.pop("several"), **table)
    if kind == "text":
        return Text(**table)
    if kind == "code":
        return Code(**table)
    if kind == "mean":
        if table.pop("mean") is not True:
            raise InvalidParameter("mean is true where the mean of a number is wanted, or left out")
        return Number(**table)
    level, radius = table.pop("level", None), table.pop("radius", None)
    if (level is None) != (radius is None) or (level is not None and "epsilon" in table):
        raise InvalidParameter("a grid has level and radius, in meters, or epsilon, per meter")
    return (
        Grid(**table) if level is None or radius is None else Grid(**table, epsilon=per_meter(level, radius))
    )


def _build_scale(ends: object, table: dict[str, Any]) -> Domain:
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise InvalidParameter(f"a scale is its lowest and highest number, such as [1, 7], got {ends!r}")
    return Range.scale(*ends, **table)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
