"""Verifies the plan on a device, turns answers into one report, and sends it until it has arrived.

A report comes from the device's secret, so the same answers give the same bytes for ever. A secret that is
not given is the operating system's; there is no way to pass other randomness in.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, final

from deniable.arrays import Integers
from deniable.client.ledger import Ledger
from deniable.domain import is_missing
from deniable.errors import DeniableError, InvalidParameter, InvalidValue, not_among
from deniable.formatting import format_count
from deniable.plan import InvalidPlan, Plan
from deniable.tables import DEGREES
from deniable.wire import Report, Wire
from deniable.words import device, report_id

__all__ = ["Client", "NotSent"]

Receipt = Literal["counted", "counted before"]

_RETRIED = {408, 425, 429, 500, 502, 503, 504}
_LONGEST = 10_000  # bytes of an answer
_PATIENCE = 60.0  # seconds: no pause between two attempts is longer


class NotSent(DeniableError):
    """A report that the collector refused, or that did not arrive; it can be sent again as it is."""

    def __init__(self, message: str, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        """The collector's answer as a number of HTTP; 0 where there was none."""
        self.reason = reason
        """The collector's word for why, such as "invitation" or "closed"; empty where it gave none."""


@final
class Client:
    """One person's device and one plan, verified before anything is answered.

    It keeps a secret, or a ledger, which has one: the same answers give the same report for ever. `fresh` is
    for a person who answers once in a lifetime: another object then makes another report, and together they
    give away more. Without a cap, a plan may give away 4 nats at most; a cap that is given holds for all
    studies of the ledger together.

    >>> from deniable import Study
    >>> plan = Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=1000)
    >>> report = Client(plan, secret=bytes(32), cap=1.0).report({"color": "red"})
    >>> len(report.to_bytes())
    30
    >>> Client(plan, secret=bytes(32)).report({"color": "red"}) == report
    True
    """

    def __init__(
        self,
        plan: Plan | Path | str | bytes,
        secret: bytes | None = None,
        cap: float | None = None,
        ledger: Ledger | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        self.plan = _read(plan)
        self.plan.verify()
        _check_memory(secret, ledger, fresh, self.plan.content.rounds is not None)
        if cap is not None and not 0 < cap < math.inf:
            raise InvalidParameter(
                f"cap, the most that a person is willing to give away, is a positive number, got {cap}"
            )
        if secret is not None:
            device(secret)  # refuses one that is too short
        self._ledger = Ledger(secret=secret) if ledger is None else ledger
        self._ledger.refuse_above(cap, self.plan)
        self._cap = cap
        self._wire = Wire(self.plan)

    def __repr__(self) -> str:
        questions = format_count(len(self.plan.names), "question")
        return f"<Client of plan {self.plan.id[:12]}: {questions}>"

    def report(
        self,
        answers: Mapping[str, object],
        round: int = 1,  # noqa: A002 - the word for it everywhere
        *,
        change: bool = False,
    ) -> Report:
        """One report of one person's answers; a round that was answered gives the same report again.

        A question that is left out, or answered with None, has no answer; the plan decides whether that can
        be reported. To change an answer on purpose, say `change`: that is a second report, which the
        collector counts as another person's, and the ledger adds its loss.
        """
        if not isinstance(answers, Mapping):
            raise InvalidParameter(
                f"answers are a dictionary, a value for each name, got {type(answers).__name__}"
            )
        if type(round) is not int or not 1 <= round <= self._wire.rounds:
            allowed = f"a whole number from 1 to {self._wire.rounds}"
            raise InvalidParameter(f"round must be {allowed}, got {round!r}; the plan's losses are for these")
        answers = self._join_degrees(answers)
        for name in answers:
            if name not in self.plan.names:
                raise InvalidParameter(not_among(str(name), "asked in this plan", self.plan.names))
        # what cannot be reported is refused, whether or not there is a report
        codes = self._encode_answers(answers)

        def draw(secret: bytes) -> bytes:
            made = self.plan.privatize_codes(codes, device(secret, self.plan.id, round=round))
            [body] = self._wire.bodies(made)
            name = report_id(secret, self.plan.id, round, body)
            return Report(self._wire.prefix, round, name, body).to_bytes()

        answer = self._ledger.change if change else self._ledger.once
        return Report.from_bytes(answer(self.plan, round, draw, self._cap))

    def _join_degrees(self, answers: Mapping[str, object]) -> dict[str, object]:
        """Join a location that is given in two parts, `home.latitude` and `home.longitude`."""
        given = dict(answers)
        for name in self.plan.locations:
            parts = [f"{name}.{degrees}" for degrees in DEGREES]
            if name not in given and any(part in given for part in parts):
                pair = [given.pop(part, None) for part in parts]
                given[name] = None if any(is_missing(one) for one in pair) else pair
        return given

    def _encode_answers(self, answers: Mapping[str, object]) -> Integers:
        given = dict.fromkeys(self.plan.names) | dict(answers)
        absent = [name for name, answer in given.items() if is_missing(answer)]
        if absent and self.plan.content.missing == "refuse":
            raise InvalidValue(
                f"{absent[0]!r} has no answer, and this plan takes only records in which everything is "
                "answered"
            )
        try:
            return self.plan.encode([given])
        except InvalidValue as problem:  # a person who answers cannot change the study
            raise InvalidValue(problem.message) from None

    def readable(self, report: Report) -> str:
        """The report as JSON, for a person who wants to see what leaves."""
        return self._wire.to_json(report).decode()

    def send(
        self,
        url: str,
        report: Report,
        invitation: str | None = None,
        attempts: int = 8,
        timeout: float = 10.0,
    ) -> Receipt:
        """Send a report until it has arrived; it is counted once, however often it is sent."""
        if not isinstance(report, Report):
            raise InvalidParameter(
                f"what is sent is a report, client.report(answers), got {type(report).__name__}"
            )
        if not _is_address(url):
            raise InvalidParameter(
                f"a collector's address is like http://localhost:8000 or https://example.org, got {url!r}"
            )
        if invitation is not None and not (
            invitation.isascii() and invitation.isprintable() and invitation.strip()
        ):
            raise InvalidParameter(f"an invitation is a code of letters and digits, got {invitation!r}")
        headers = {"Content-Type": "application/octet-stream"}
        if invitation is not None:
            headers["Authorization"] = f"Invitation {invitation}"
        problem, status, said = "it was not tried", 0, _Reply()
        for attempt in range(attempts):
            pause = min(_PATIENCE, 0.1 * 2**attempt)
            try:
                status, answer, wished = _post(
                    f"{url.rstrip('/')}/reports", report.to_bytes(), headers, timeout
                )
            except OSError as failure:
                problem, status, said = str(failure) or type(failure).__name__, 0, _Reply()
            else:
                said = _read_reply(answer)
                if status in (200, 201) and said.outcome is not None:
                    return said.outcome
                problem = (
                    said.detail.rstrip(".") or f"{status} {answer[:1000].decode(errors='replace')}".rstrip()
                )
                if 400 <= status < 500 and status not in _RETRIED:
                    raise NotSent(f"the collector refused the report: {problem}", status, said.reason)
                pause = _pause(wished, pause)
            if attempt + 1 < attempts:
                time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
        text = (
            f"the report did not arrive in {attempts} attempts ({problem}); send the same report again later"
        )
        raise NotSent(text, status, said.reason)


def _read(plan: Plan | Path | str | bytes) -> Plan:
    """A plan as it is, its text, or its file by a Path."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, Path):
        return Plan.read(plan)
    if isinstance(plan, str) and plan.strip() and not plan.lstrip().startswith(("{", "[")):
        shown = plan if len(plan) <= 60 else f"{plan[:60]}…"
        raise InvalidPlan(
            f"a client takes a plan or its text, got {shown!r}; if that is a file, read it: "
            f"dn.Plan.read({shown!r})"
        )
    return Plan.from_json(plan)


def _check_memory(secret: bytes | None, ledger: Ledger | None, fresh: bool, repeated: bool) -> None:
    """Check that a client keeps one secret, by itself or in a ledger, or that it says that it keeps none."""
    if secret is not None and ledger is not None:
        raise InvalidParameter("a ledger has a secret of its own; give one of both")
    if fresh and (secret is not None or ledger is not None):
        raise InvalidParameter("fresh noise is for a client without a secret and without a ledger")
    if secret is None and ledger is None and repeated:
        raise InvalidParameter(
            "this plan asks again and again: a device must keep a secret (32 random bytes), or a ledger"
        )
    if secret is None and ledger is None and not fresh:
        raise InvalidParameter(
            "a device keeps a secret (32 random bytes), or a ledger, so that the same answers give the same "
            "report again; a person who answers once in a lifetime can do without: fresh=True"
        )


def _is_address(url: object) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(str(url))
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _post(url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> tuple[int, bytes, str | None]:
    """Status, answer and wished pause; no redirect is followed, since an invitation is for the collector."""
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request("POST", parts.path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read(_LONGEST), answer.headers.get("Retry-After")
    except http.client.HTTPException as problem:
        raise OSError(f"the answer cannot be read ({type(problem).__name__})") from None
    finally:
        connection.close()


class _Reply(NamedTuple):
    """A collector's reply: that it has the report, or a word and a sentence for why not."""

    outcome: Receipt | None = None
    reason: str = ""
    detail: str = ""


def _read_reply(answer: bytes) -> _Reply:
    """Read a reply; anything else, such as a portal's or a proxy's page, is no receipt."""
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        return _Reply()
    if not isinstance(said, dict):
        return _Reply()
    outcome = said.get("outcome")
    reason, detail = (
        text if isinstance(text, str) else "" for text in (said.get("reason"), said.get("detail"))
    )
    return _Reply(outcome if outcome in ("counted", "counted before") else None, reason[:100], detail[:1000])


def _pause(wished: str | None, usual: float) -> float:
    """The pause that the collector asks for, within reason."""
    return min(_PATIENCE, max(usual, float(wished))) if wished is not None and wished.isdecimal() else usual
