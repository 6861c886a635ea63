"""The results of a collector, as its dashboard shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from deniable.errors import InvalidParameter
from deniable.formatting import Printed
from deniable.plan import canonical
from deniable.store.reading import Collector, is_collector
from deniable.study.plan import Plan
from deniable.study.result import Result


@final
@dataclass(frozen=True)
class Results(Printed):
    """What a collector at an address has, for its operator or a reader, whose token it takes.

    `read` gives the result that the dashboard shows at that moment. Each call asks the collector anew:

        results = dn.Results("https://survey.example.org", token="...")
        results.read()["smokes"].interval()
    """

    address: str
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not is_collector(self.address):
            raise InvalidParameter(
                f"a collector has an address such as https://survey.example.org, got {self.address!r}"
            )

    def __str__(self) -> str:
        return f"Results at {self._collector.address}"

    def list_plans(self) -> dict[str, str]:
        """The titles of the plans that are collected, by their ids."""
        return self._collector.ask(
            "/plans", lambda said: {plan["id"]: plan["title"] for plan in said["plans"]}, "a list of plans"
        )

    def plan(self, plan_id: str | None = None) -> Plan:
        """The plan with this id, or one that begins so; verified. Without an id, the only one there is."""
        titles = self.list_plans()
        known = [name for name in titles if plan_id is None or name.startswith(plan_id)]
        if len(known) != 1:
            listed = ", ".join(f"{name[:12]} ({title})" for name, title in titles.items()) or "none"
            raise InvalidParameter(
                f"name a plan of {self._collector.address} by its id, got {plan_id!r}; it has {listed}"
            )
        document = self._collector.ask(f"/plans/{known[0]}", lambda said: said, "a plan")
        plan = Plan.from_json(canonical(document))
        if plan.id != known[0]:
            raise InvalidParameter(
                f"{self._collector.address} answered with plan {plan.id[:12]}, not {known[0][:12]}"
            )
        return plan

    def read(self, plan: Plan | str | None = None, number: int | None = None) -> Result:
        """The result of a plan, or of the only one, in a round, or in the only one with reports."""
        chosen = plan if isinstance(plan, Plan) else self.plan(plan)
        return chosen.estimate(self._collector.tally(chosen.document, number).tallies)

    @property
    def _collector(self) -> Collector:
        return Collector(self.address, self.token)
