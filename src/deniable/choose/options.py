"""Makes what one attribute can have, once each: a mechanism by its name, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import final

from deniable.choose.candidate import most_revealed
from deniable.errors import InvalidParameter
from deniable.mechanisms import PROTOCOLS, ExactMechanism, alh, ass, aue
from deniable.metric import PlanarGeometric
from deniable.metric.means import MEANS, averaged
from deniable.records import Fake, Prior
from deniable.records.named import FAKES, REALISTIC_FAKES
from deniable.rounds import Repeated, dbitflip, l_duchi, l_grr, l_osue, l_oue, l_soue, l_sue, loloha
from deniable.rounds.named import fake_again

PLAIN = tuple(row.name for row in PROTOCOLS.values() if row.exact and row.name != "adaptive")
CLASSICAL = tuple(name for name in PLAIN if PROTOCOLS[name].classical)
AT_ONCE = ("grr", "plh", "hr")
"""Protocols whose reports take one step to count and a few bytes to keep, however many values there are."""
CAPPED: dict[str, Callable[..., ExactMechanism]] = {"aue": aue, "ass": ass, "alh": alh}
TWO_ROUNDS: dict[str, Callable[[int, float, float], Repeated]] = {
    "l_grr": l_grr,
    "l_sue": l_sue,
    "l_osue": l_osue,
    "l_oue": l_oue,
    "l_soue": l_soue,
    "loloha": loloha,
}
TWO_ROUNDS_OF_MEANS = ("l_duchi",)
"""Protocols that report the mean of a number again and again, with two rounds of noise."""
KEPT_BITS = "dbitflip"
"""The protocol without fresh noise. A change of the value shows in it, so it is chosen only by name."""


@final
@dataclass(frozen=True)
class Option:
    """A protocol for one attribute; `unit` is its variance for one person, all readings in one number."""

    name: str
    mechanism: ExactMechanism | Fake
    unit: float
    prior: Prior | None = None
    """How frequent the values are, where that is public: an attacker knows it, too."""
    importance: float = 1.0
    """How much the attribute weighs."""
    influence: float = 1.0
    """How many people a report that was made up can count for; as computed where there is a cap on it."""

    @property
    def part(self) -> ExactMechanism:
        """The mechanism itself."""
        return self.mechanism.part if isinstance(self.mechanism, Fake) else self.mechanism

    @property
    def size(self) -> int:
        """Bytes of its report."""
        return self.part.report_bytes

    @property
    def success(self) -> float:
        """How often the best guess of an answer is right; where people are asked again, from all reports."""
        return most_revealed(self.part, self.prior)

    @property
    def blind(self) -> float:
        """How often a guess is right without any report."""
        return self.part.blind if self.prior is None else float(self.prior.shares.max())

    @property
    def order(self) -> tuple[float, int]:
        """By error; ties, up to rounding, go to the smaller report."""
        return rounded(self.unit), self.size


def given_name(part: ExactMechanism) -> str:
    """The protocol of an attribute whose mechanism is given."""
    return "planar_geometric" if isinstance(part, PlanarGeometric) else type(part).__name__.lower()


def rounded(error: float) -> float:
    """Ten digits: what differs less is a tie."""
    return float(f"{error:.9e}")


def mechanisms(
    name: str, k: int, budget: float, forever: float | None, cap: float | None, f: float | None
) -> Iterator[ExactMechanism | str]:
    """The mechanisms of a name, or why there is none; a few kept bits can be any number of them."""
    if name != KEPT_BITS:
        yield mechanism(name, k, budget, forever, cap, f)
        return
    for bits in sorted({*(1 << power for power in range(k.bit_length()) if 1 << power < k), k}):
        yield kept_bits(k, budget, bits)


@lru_cache(maxsize=1 << 13)
def mechanism(
    name: str, k: int, budget: float, forever: float | None, cap: float | None, f: float | None
) -> ExactMechanism | str:
    """A mechanism, or why there is none."""
    try:
        if forever is not None and name in TWO_ROUNDS_OF_MEANS:
            return l_duchi(budget, forever)
        if forever is not None:
            return TWO_ROUNDS[name](k, budget, forever)
        if cap is not None and name in CAPPED:
            return CAPPED[name](k, budget, cap=cap, f=f)
        if cap is not None or f is not None:
            return mechanism(name, k, budget, None, None, None)
        return averaged(name, budget) if name in MEANS else PROTOCOLS[name].make_exact(k, budget)
    except InvalidParameter as problem:
        return str(problem)


@lru_cache(maxsize=1 << 13)
def kept_bits(k: int, budget: float, bits: int) -> ExactMechanism | str:
    """So many kept bits, within what one report may lose, since any number of them loses no more."""
    try:
        return dbitflip(k, budget, bits)
    except InvalidParameter as problem:
        return str(problem)


@lru_cache(maxsize=1 << 13)
def fake(name: str, k: int, budget: float, prior: Prior | None, forever: float | None = None) -> Fake | str:
    """A fake around its mechanism, or why there is none."""
    try:
        if forever is not None:
            return fake_again(name, k, budget, forever, prior)
        make, around = FAKES[name] if prior is None else REALISTIC_FAKES[name]
        return around(make(k, budget), Prior.uniform(k) if prior is None else prior)
    except InvalidParameter as problem:
        return str(problem)
