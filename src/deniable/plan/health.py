"""Says whether the reports of a plan look as honest ones do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, final

from deniable.arrays import Array
from deniable.formatting import format_count, format_percent
from deniable.plan.plan import Plan
from deniable.plan.reports import Reports
from deniable.plan.result import Result
from deniable.summaries.health import LEVEL, Check, Watch, check_shares, watches

_LOOKED = 100_000  # reports of an attribute that are looked at: more notice little more, and take long


@final
@dataclass(frozen=True)
class Health:
    """What all checks of a study say; any alarm at all is raised by one honest study in 1 / `level`."""

    checks: tuple[Check, ...]
    level: float = LEVEL

    @property
    def alarms(self) -> tuple[Check, ...]:
        """The checks that honest reports would hardly ever fail."""
        return tuple(one for one in self.checks if one.p_value * len(self.checks) < self.level)

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        alarms = set(self.alarms)
        checks = [asdict(one) | {"alarm": one in alarms} for one in self.checks]
        return {"level": self.level, "alarms": len(alarms), "checks": checks}

    def __str__(self) -> str:
        often = f"honest people raise one in {round(1 / self.level):,} studies"
        if not self.checks:
            return "Health of the reports: nothing about them is known beforehand"
        least: dict[str, float] = {}
        for one in self.checks:
            least[one.attribute] = min(one.noticed, least.get(one.attribute, 1.0))
        noticed = ", ".join(f"{format_percent(share, 1)} in {name!r}" for name, share in least.items())
        alarms = format_count(len(self.alarms), "alarm") if self.alarms else "no alarm"
        lines = [f"Health of the reports: {alarms} in {format_count(len(self.checks), 'check')} ({often})"]
        lines += [
            f"  ALARM {one.attribute}, {one.name}: {one.saw} (p = {one.p_value:.1g})" for one in self.alarms
        ]
        return "\n".join([*lines, f"  fakes of the plainest kinds are noticed from: {noticed}"])


@final
class HealthWatch:
    """Looks at blocks of a plan's reports as they are counted."""

    def __init__(self, plan: Plan) -> None:
        self._names = plan.names
        # of an attribute among fakes, only the shares are looked at
        self._watches: list[list[Watch]] = [
            watches(part) if plan.mechanism.fake(j) is None else []
            for j, part in enumerate(plan.content.parts)
        ]
        self._looked = [0] * len(plan.names)

    def look(self, blocks: Iterable[Reports]) -> Iterator[Reports]:
        """The same blocks, seen."""
        for reports in blocks:
            for j, column in enumerate(reports.records.columns):
                self._look_at(j, column[: max(0, _LOOKED - self._looked[j])])
            yield reports

    def _look_at(self, attribute: int, reports: Array) -> None:
        if len(reports):
            self._looked[attribute] += len(reports)
            for watch in self._watches[attribute]:
                watch.look(reports)

    def health(self, result: Result, level: float = LEVEL) -> Health:
        """What was seen, against what the estimated shares allow; without reports, what these say alone."""
        looked = [some if n else [] for some, n in zip(self._watches, self._looked, strict=True)]
        count = sum(2 + len(some) for some in looked)
        checks: list[Check] = []
        for name, some in zip(self._names, looked, strict=True):
            if name in result.estimates:
                estimate = result.estimates[name]
                checks += check_shares(name, estimate, level / count)
                checks += [watch.check(name, estimate, level / count) for watch in some]
        return Health(tuple(checks), level)
