"""Bounds what large crowds hide of each mechanism."""

from __future__ import annotations

from collections.abc import Iterator

from deniable.crowd import Bound, shuffled
from deniable.mechanisms import Mechanism, grr, olh, oue
from deniable_papers.studies.stated import StatedPoint, compare

DELTA = 1e-6
GROUPED = 0.004
"""A third of how far two bounds of one sum may be apart, as a part of it, since cases are grouped."""

_COLUMNS = ("any mechanism", "grr 2", "grr 10", "grr 100", "oue", "olh")
CASES = {
    (10_000, 1.0): (".04321", ".03566", ".02328", ".00719", ".02984", ".02944"),
    (10_000, 2.0): (".11440", ".08702", ".07996", ".02923", ".07919", ".08007"),
    (10_000, 4.0): (".41081", ".31464", ".38287", ".23416", ".27976", ".27916"),
    (1_000_000, 1.0): (".003514", ".002849", ".001855", ".000544", ".002392", ".002359"),
    (1_000_000, 2.0): (".009517", ".007000", ".006599", ".002346", ".006516", ".006588"),
    (1_000_000, 4.0): (".034280", ".024014", ".031904", ".019799", ".023590", ".023543"),
}
"""What is stated, by people and local loss, for each column."""
_OTHERS: tuple[tuple[str, Bound], ...] = (("published closed form", "closed"), ("stronger clones", "clones"))


def compare_bounds(n: int, epsilon: float) -> Iterator[StatedPoint]:
    """The epsilon of a shuffled collection at delta = 1e-6, for each mechanism, by the least bound.

    What is stated for two values is the crowd whose people all agree; ours is the worst of all crowds.
    """
    texts = CASES[n, epsilon]
    for name, bound in _OTHERS:
        found = shuffled(epsilon, n, DELTA, bound)
        stated = texts[0] if bound == "clones" else None
        yield _make_row(_COLUMNS[0], name, epsilon, n, found.epsilon, stated)
    for case, text in zip(_COLUMNS[1:], texts[1:], strict=True):
        found = shuffled(_make(case, epsilon), n, DELTA)
        name = "enumeration" if "enumeration" in found.bound else "privacy blanket"
        yield _make_row(case, name, epsilon, n, found.epsilon, text)


def _make(case: str, epsilon: float) -> Mechanism:
    """The mechanism of a column; how many values bits and hashes have makes no difference."""
    name, _, k = case.partition(" ")
    if name == "grr":
        return grr(int(k), epsilon)
    return oue(10, epsilon) if name == "oue" else olh(10, epsilon)


def _make_row(
    case: str, method: str, epsilon: float, n: int, value: float, stated: str | None
) -> StatedPoint:
    fields = compare(value, stated, 0.0, 0.0 if stated is None else GROUPED * float(stated))
    return StatedPoint(figure="bounds", case=case, method=method, epsilon=epsilon, people=n, **fields)
