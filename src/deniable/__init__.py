"""Collect sensitive answers so that no single one can be held against anyone, and still know the totals, with
error bars.

A mechanism turns a value and some random words into a report; a report supports a set of values; the law of
that set is known exactly. Everything else is computed from the law.
"""

import importlib as _importlib
import typing as _typing

from deniable.client import AboveCap, Client, CopiedLedger, Ledger, NotSent, composed_loss
from deniable.crowd import Shuffled, shuffled
from deniable.domain import Categories, Code, Range, Several, Text
from deniable.errors import (
    DeniableError,
    DeniableWarning,
    FileMissing,
    InvalidParameter,
    InvalidReport,
    InvalidValue,
    NotExact,
    WordsExhausted,
)
from deniable.estimate import Estimate, Interval
from deniable.law import Law, Marginal, Matrix, Moments
from deniable.mechanisms import (
    PROTOCOLS,
    ChannelMechanism,
    Direct,
    Hadamard,
    Hashed,
    Linear,
    Mechanism,
    PackedSubset,
    Pooled,
    SetMechanism,
    Subset,
    Summed,
    Tally,
    Unary,
    adaptive,
    alh,
    ass,
    athe,
    aue,
    blh,
    grr,
    hr,
    lh,
    linear,
    olh,
    oue,
    plh,
    rr,
    she,
    ss,
    sue,
    the,
    ue,
)
from deniable.plan import InvalidPlan
from deniable.randomness import Words, below, chance, device, keyed, system
from deniable.randomness.simulated import fixed, remembering, seeded
from deniable.records import (
    Blank,
    Fake,
    Faked,
    Guessed,
    Imitated,
    Prior,
    RecordMechanism,
    Records,
    Sample,
    Single,
    Split,
    rsfd,
    rsrfd,
    smp,
    spl,
)
from deniable.rounds import (
    BitFlip,
    HashedMemoized,
    Losses,
    Memoized,
    MemoizedMean,
    allomfree,
    dbitflip,
    l_duchi,
    l_grr,
    l_osue,
    l_oue,
    l_rsfd,
    l_soue,
    l_sue,
    loloha,
)
from deniable.study import Plan

if _typing.TYPE_CHECKING:
    from deniable import attack as attack
    from deniable import audit as audit
    from deniable import data as data
    from deniable import learn as learn
    from deniable.choose import Objective
    from deniable.cross import CrossTable
    from deniable.discovery import Discovery
    from deniable.domain.grid import Grid
    from deniable.domain.number import Number
    from deniable.likelihood import Likelihood, mle, mle_groups, mle_record, mle_rounds
    from deniable.metric import (
        Averaged,
        Channel,
        ContinuousWave,
        Duchi,
        Geometric,
        Hybrid,
        Mean,
        MeanEstimate,
        MetricMechanism,
        Piecewise,
        PlanarGeometric,
        PlanarLaplace,
        ProductGeometric,
        SmoothWave,
        SquareWave,
        Tabled,
        duchi,
        exponential,
        geometric,
        great_circle,
        hybrid,
        optimal_remap,
        per_meter,
        piecewise,
        planar_geometric,
        planar_laplace,
        remap_to,
        square_wave,
        tight_constraints,
    )
    from deniable.plan.maps import Map
    from deniable.plan.texts import Texts
    from deniable.results.kept_tallies import KeptTallies
    from deniable.study.study import Study
    from deniable.summaries import (
        Summary,
        circle_wasserstein,
        circular_mean_of,
        cost_wasserstein,
        grid_wasserstein,
        line_wasserstein,
        mean_of,
        quantile_of,
        sliced_wasserstein,
        smoothed_kl,
        sum_of,
        total_variation,
    )

_LATER = (
    "domain.grid",
    "domain.number",
    "metric",
    "results.kept_tallies",
    "plan.maps",
    "study.study",
    "plan.texts",
    "choose",
    "likelihood",
    "cross",
    "discovery",
    "summaries",
)
"""Rooms that are loaded when a name of theirs is first used, so that a device that needs none of them starts
fast.
"""
_ROOMS = ("attack", "audit", "data", "learn")
"""Rooms with names of their own, such as dn.audit.lower_bound, which are loaded when they are first entered.
"""

__version__ = "0.1.0"

__all__ = [
    "PROTOCOLS",
    "AboveCap",
    "Averaged",
    "BitFlip",
    "Blank",
    "Categories",
    "Channel",
    "ChannelMechanism",
    "Client",
    "Code",
    "ContinuousWave",
    "CopiedLedger",
    "CrossTable",
    "DeniableError",
    "DeniableWarning",
    "Direct",
    "Discovery",
    "Duchi",
    "Estimate",
    "Fake",
    "Faked",
    "FileMissing",
    "Geometric",
    "Grid",
    "Guessed",
    "Hadamard",
    "Hashed",
    "HashedMemoized",
    "Hybrid",
    "Imitated",
    "Interval",
    "InvalidParameter",
    "InvalidPlan",
    "InvalidReport",
    "InvalidValue",
    "KeptTallies",
    "Law",
    "Ledger",
    "Likelihood",
    "Linear",
    "Losses",
    "Map",
    "Marginal",
    "Matrix",
    "Mean",
    "MeanEstimate",
    "Mechanism",
    "Memoized",
    "MemoizedMean",
    "MetricMechanism",
    "Moments",
    "NotExact",
    "NotSent",
    "Number",
    "Objective",
    "PackedSubset",
    "Piecewise",
    "Plan",
    "PlanarGeometric",
    "PlanarLaplace",
    "Pooled",
    "Prior",
    "ProductGeometric",
    "Range",
    "RecordMechanism",
    "Records",
    "Sample",
    "SetMechanism",
    "Several",
    "Shuffled",
    "Single",
    "SmoothWave",
    "Split",
    "SquareWave",
    "Study",
    "Subset",
    "Summary",
    "Summed",
    "Tabled",
    "Tally",
    "Text",
    "Texts",
    "Unary",
    "Words",
    "WordsExhausted",
    "adaptive",
    "alh",
    "allomfree",
    "ass",
    "athe",
    "attack",
    "audit",
    "aue",
    "below",
    "blh",
    "chance",
    "circle_wasserstein",
    "circular_mean_of",
    "composed_loss",
    "cost_wasserstein",
    "data",
    "dbitflip",
    "device",
    "duchi",
    "exponential",
    "fixed",
    "geometric",
    "great_circle",
    "grid_wasserstein",
    "grr",
    "hr",
    "hybrid",
    "keyed",
    "l_duchi",
    "l_grr",
    "l_osue",
    "l_oue",
    "l_rsfd",
    "l_soue",
    "l_sue",
    "learn",
    "lh",
    "line_wasserstein",
    "linear",
    "loloha",
    "mean_of",
    "mle",
    "mle_groups",
    "mle_record",
    "mle_rounds",
    "olh",
    "optimal_remap",
    "oue",
    "per_meter",
    "piecewise",
    "planar_geometric",
    "planar_laplace",
    "plh",
    "quantile_of",
    "remap_to",
    "remembering",
    "rr",
    "rsfd",
    "rsrfd",
    "seeded",
    "she",
    "shuffled",
    "sliced_wasserstein",
    "smoothed_kl",
    "smp",
    "spl",
    "square_wave",
    "ss",
    "sue",
    "sum_of",
    "system",
    "the",
    "tight_constraints",
    "total_variation",
    "ue",
]


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return _importlib.import_module(f"deniable.{name}")
    rooms = (_importlib.import_module(f"deniable.{room}") for room in _LATER) if name in __all__ else ()
    for room in rooms:
        if hasattr(room, name):
            globals()[name] = getattr(room, name)  # so that it is looked for once
            return globals()[name]
    raise AttributeError(f"module 'deniable' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
