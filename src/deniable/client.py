"""All that a device needs: it verifies the plan, turns answers into one report, and sends it until it has arrived.

The only randomness here is the operating system's; there is no way to pass another in.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping
from typing import Literal, final

from deniable.document import NANO
from deniable.errors import DeniableError, InvalidParameter
from deniable.ledger import Ledger, for_ever
from deniable.notation import InvalidPlan
from deniable.plan import Plan
from deniable.wire import Report, Wire
from deniable.words import device

__all__ = ["Client", "NotSent"]

Receipt = Literal["counted", "counted before"]

_RETRIED = {408, 425, 429, 500, 502, 503, 504}
_PATIENCE = 60.0  # seconds: no pause between two attempts is longer


class NotSent(DeniableError):
    """A report that the collector refused, or that did not arrive; it can be sent again as it is."""


@final
class Client:
    """One person's device and one plan, verified before anything is answered.

    >>> from deniable import Study
    >>> plan = Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=1000)
    >>> report = Client(plan, secret=bytes(32), cap=1.0).report({"color": "red"})
    >>> len(report.to_bytes())
    30
    """

    def __init__(
        self, plan: Plan | str | bytes, secret: bytes | None = None, cap: float | None = None, ledger: Ledger | None = None
    ) -> None:
        self.plan = plan if isinstance(plan, Plan) else Plan.from_json(plan)
        self.plan.verify()
        self._refuse_above(cap, ledger)
        if secret is not None and ledger is not None:
            raise InvalidParameter("a ledger has a secret of its own; give one of both")
        if secret is None and ledger is None and self.plan.content.rounds is not None:
            raise InvalidParameter("this plan asks again and again: a device must keep a secret (32 random bytes), or a ledger")
        self._ledger = ledger
        self._words = device(secret or (ledger.secret if ledger else secrets.token_bytes(32)), self.plan.id)
        self._wire = Wire(self.plan)

    def report(self, answers: Mapping[str, object], round: int = 1) -> Report:  # noqa: A002 - the word for it everywhere
        """One report of one person's answers. With a ledger, a round that was answered gives the same report again."""
        if not isinstance(answers, Mapping):
            raise InvalidParameter(f"answers are a dictionary, a value for each name, got {type(answers).__name__}")
        if not 1 <= round <= self._wire.rounds:
            raise InvalidParameter(f"round must be from 1 to {self._wire.rounds}, got {round}; the plan's losses are for these")
        before = self._ledger.find(self.plan, round) if self._ledger else None
        if before is not None:
            return Report.from_bytes(before.report)
        made = self.plan.privatize([dict(answers)], self._words)
        report = Report(self._wire.prefix, round, secrets.token_bytes(16), self._wire.bodies(made)[0])
        if self._ledger is not None:
            self._ledger.add(self.plan, round, report.to_bytes())
        return report

    def readable(self, report: Report) -> str:
        """The report as JSON, for a person who wants to see what leaves."""
        return self._wire.to_json(report).decode()

    def send(
        self, url: str, report: Report, invitation: str | None = None, attempts: int = 8, timeout: float = 10.0
    ) -> Receipt:
        """Send a report until it has arrived; however often that is, it is counted once."""
        import urllib.error
        import urllib.request

        headers = {"Content-Type": "application/octet-stream"}
        if invitation is not None:
            headers["Authorization"] = f"Invitation {invitation}"
        if not url.startswith(("http://", "https://")):
            raise InvalidParameter(f"a collector's address begins with http:// or https://, got {url!r}")
        request = urllib.request.Request(f"{url.rstrip('/')}/reports", report.to_bytes(), headers, method="POST")
        problem = "it was not tried"
        for attempt in range(attempts):
            pause = min(_PATIENCE, 0.1 * 2**attempt)
            try:
                with urllib.request.urlopen(request, timeout=timeout) as answer:
                    return "counted" if answer.status == 201 else "counted before"
            except urllib.error.HTTPError as refusal:
                with refusal:
                    problem = f"{refusal.code} {refusal.read(1000).decode(errors='replace')}"
                if refusal.code not in _RETRIED:
                    raise NotSent(f"the collector refused the report: {problem}") from None
                pause = _pause(refusal.headers.get("Retry-After"), pause)
            except (OSError, urllib.error.URLError) as failure:
                problem = str(failure)
            if attempt + 1 < attempts:
                time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
        raise NotSent(f"the report did not arrive in {attempts} attempts ({problem}); send the same report again later")

    def _refuse_above(self, cap: float | None, ledger: Ledger | None) -> None:
        """Refuse what would be more, with all that this device has answered, than the person is willing to give away."""
        if cap is None:
            return
        if not 0 < cap < math.inf:
            raise InvalidParameter(f"cap, the most that a person is willing to give away, is a positive number, got {cap}")
        alone, _ = for_ever(self.plan.stated)
        total = alone if ledger is None else ledger.lifetime(also=self.plan).unchanged
        if total is None or alone is None:
            raise InvalidPlan(f"there is no bound on what the plan's reports give away, and this device's cap is {cap:g}")
        if total > cap * NANO:
            before = f", with all answers before {total / NANO:.6g}" if total > alone else ""
            raise InvalidPlan(f"the plan gives away up to {alone / NANO:.6g}{before}, and this device's cap is {cap:g}")


def _pause(wished: str | None, usual: float) -> float:
    """What the collector asks for, within reason."""
    return min(_PATIENCE, max(usual, float(wished))) if wished is not None and wished.isdecimal() else usual
