"""Collect sensitive answers so that no single one can be held against anyone, and still know the totals, with
error bars.

A mechanism turns a value and some random words into a report; a report supports a set of values; the law of
that set is known exactly. Everything else is computed from the law.

What most programs need is here. Everything else is in its room, such as `dn.metric.geometric`.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from deniable import (
        attack,
        audit,
        law,
        learn,
        likelihood,
        mechanisms,
        metric,
        randomness,
        records,
        rounds,
        summaries,
    )
    from deniable.choose import Objective
    from deniable.client import Client, Ledger
    from deniable.domain import Categories, Code, Range, Several, Text
    from deniable.domain.grid import Grid
    from deniable.domain.number import Number
    from deniable.errors import (
        DeniableError,
        DeniableWarning,
        InvalidParameter,
        InvalidReport,
        InvalidValue,
    )
    from deniable.estimate import Estimate
    from deniable.likelihood import mle
    from deniable.mechanisms import PROTOCOLS, Tally, adaptive, grr, hr, olh, oue, rr, ss, sue
    from deniable.plan import InvalidPlan
    from deniable.plan.texts import Texts
    from deniable.randomness.simulated import remembering, seeded
    from deniable.records import rsfd, smp, spl
    from deniable.series import Series
    from deniable.study import Plan, Result
    from deniable.study.collected import Results
    from deniable.study.study import Study

__version__ = "0.1.0"

__all__ = [
    "PROTOCOLS",
    "Categories",
    "Client",
    "Code",
    "DeniableError",
    "DeniableWarning",
    "Estimate",
    "Grid",
    "InvalidParameter",
    "InvalidPlan",
    "InvalidReport",
    "InvalidValue",
    "Ledger",
    "Number",
    "Objective",
    "Plan",
    "Range",
    "Result",
    "Results",
    "Series",
    "Several",
    "Study",
    "Tally",
    "Text",
    "Texts",
    "adaptive",
    "attack",
    "audit",
    "grr",
    "hr",
    "law",
    "learn",
    "likelihood",
    "mechanisms",
    "metric",
    "mle",
    "olh",
    "oue",
    "randomness",
    "records",
    "remembering",
    "rounds",
    "rr",
    "rsfd",
    "seeded",
    "smp",
    "spl",
    "ss",
    "sue",
    "summaries",
]

_ROOM_OF = {
    name: room
    for room, names in {
        "choose": ("Objective",),
        "client": ("Client", "Ledger"),
        "domain": ("Categories", "Code", "Range", "Several", "Text"),
        "domain.grid": ("Grid",),
        "domain.number": ("Number",),
        "errors": ("DeniableError", "DeniableWarning", "InvalidParameter", "InvalidReport", "InvalidValue"),
        "estimate": ("Estimate",),
        "likelihood": ("mle",),
        "mechanisms": ("PROTOCOLS", "Tally", "adaptive", "grr", "hr", "olh", "oue", "rr", "ss", "sue"),
        "plan": ("InvalidPlan",),
        "plan.texts": ("Texts",),
        "randomness.simulated": ("remembering", "seeded"),
        "records": ("rsfd", "smp", "spl"),
        "series": ("Series",),
        "study": ("Plan", "Result"),
        "study.collected": ("Results",),
        "study.study": ("Study",),
    }.items()
    for name in names
}
"""The room that each name at the top comes from. A room is loaded when a name of it is first used, so that a
device starts fast. A name of `__all__` without a room is a room itself.
"""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(
            f"module 'deniable' has no attribute {name!r}; dir(deniable) lists names and rooms"
        )
    if name not in _ROOM_OF:
        return _importlib.import_module(f"deniable.{name}")
    member: object = getattr(_importlib.import_module(f"deniable.{_ROOM_OF[name]}"), name)
    globals()[name] = member  # so that it is looked for once
    return member


def __dir__() -> list[str]:
    return sorted(__all__)
