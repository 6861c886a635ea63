"""Makes the cells of ranges whose shares are smooth, and says what that takes for granted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.domain import Range
from deniable.domain.decimals import plain_number
from deniable.errors import InvalidParameter
from deniable.plan.attribute import Attribute

if TYPE_CHECKING:
    from deniable.study.study import Study

FEWEST_CELLS = 32
"""So few values have shares that are known as well one by one."""
MOST_CELLS = 256
"""More cells than these tell no more of a smooth curve, and take longer to estimate."""


def is_smooth(domain: object) -> bool:
    """Whether a study says that the shares of a question are smooth."""
    return isinstance(domain, Range) and domain.queries == "smooth"


def widen_cells(one: Attribute) -> Attribute:
    """The same question with at most 256 bins, where its shares are smooth: they are equally wide."""
    domain = one.domain
    if not isinstance(domain, Range) or not is_smooth(domain):
        return one
    if domain.k <= MOST_CELLS:
        return one
    cells = next((k for k in range(MOST_CELLS, MOST_CELLS // 4 - 1, -1) if domain.k % k == 0), None)
    if cells is None or domain.unit in ("month", "year"):
        raise InvalidParameter(
            f"{one.name!r}: queries = 'smooth' reports at most {MOST_CELLS} cells of one width, and "
            f"{domain.k:,} values have no such cells; {_suggest(domain)}"
        )
    step = Fraction(str(domain.step)) * (domain.k // cells)
    wide = plain_number(int(step) if step.denominator == 1 else float(step), "step")
    return replace(one, domain=replace(domain, step=wide, unit=""))


def _suggest(domain: Range) -> str:
    """A range with about as many values, for which there are cells."""
    if domain.unit in ("month", "year"):
        return "ask for fewer dates"
    wide = -(-domain.k // MOST_CELLS)
    end = Fraction(str(domain.low)) + Fraction(str(domain.step)) * wide * (-(-domain.k // wide))
    return f"end the range at {float(end):g}, for example"


def refuse_smooth(study: Study, name: str) -> None:
    """Refuse a range with smooth shares in a study that has something that does not go with them."""
    domain = study.attributes[name]
    if not isinstance(domain, Range) or not is_smooth(domain):
        return
    protocols = study.protocol if isinstance(study.protocol, Mapping) else {}
    policy = study.missing.get(name) if isinstance(study.missing, Mapping) else study.missing
    obstacles = {
        "metric privacy: it is for values that are all equally indistinguishable": domain.privacy == "metric",
        "an open end, whose bin holds everybody beyond it; close the range": domain.open_low
        or domain.open_high,
        f"fewer than {FEWEST_CELLS} values; leave queries out": domain.k < FEWEST_CELLS,
        "known: it is sent as it is; leave queries out": name in study.known,
        "together: a table has cells of values that are not smooth; leave queries out": any(
            name in some for some in study.inquiry.together
        ),
        "only_if, or with missing = 'value': everybody must have one of its values; ask a yes/no question "
        "beside it": name in study.only_if or policy in ("value", True),
        "asking again, since its reports are not kept; ask once, with epsilon": study.repeated,
        "mechanism 'faked', whose fakes hide what is reported; use 'sample' or 'split'": study.mechanism
        == "faked",
        "a protocol of its own: a square wave is the only one for it; leave the protocol out": name
        in protocols,
    }
    for obstacle, is_there in obstacles.items():
        if is_there:
            raise InvalidParameter(f"{name!r}: queries = 'smooth' does not go with {obstacle}")
