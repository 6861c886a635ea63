"""Answers everything but reports and what readers ask for."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import cast, final, get_args

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from deniable.collect import discovery, messages, metrics, results
from deniable.collect.health import Key, Looks, MinuteCounts
from deniable.collect.intake import BINARY, Served, read_invitation, read_kind
from deniable.collect.messages import Refusal
from deniable.collect.openapi import PARQUET, Operation
from deniable.collect.requests import (
    UNSTORED,
    decode,
    read_choice,
    read_level,
    read_round,
    read_weights,
    read_whole,
    receive_body,
    respond,
)
from deniable.collect.viewing import Handler, Views
from deniable.discovery import Query
from deniable.errors import InvalidParameter
from deniable.results.discoveries import find_question
from deniable.rounds.differences import People
from deniable.store.access import Actor
from deniable.store.store import Store
from deniable.tickets import SigningKey

_ACTIONS = 200  # of the log, which a page shows
_SMALL = 4096  # bytes of a message that is not a report
_WORDS = 1 << 20  # bytes of a public list
_LAST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_REMEMBERED = 1000  # signatures, of a few hundred bytes each: an exchange is repeated soon, if at all


@final
@dataclass(frozen=True)
class Runtime:
    """What a running collector tells its handlers."""

    counts: metrics.Metrics
    queue: Callable[[], int]
    """How many reports wait to be written."""
    check_readiness: Callable[[], None]
    minutes: MinuteCounts


@final
class Handlers:
    """One method for each operation, by its name."""

    def __init__(
        self,
        store: Store,
        served: Mapping[str, Served],
        token: str,
        minimum: int,
        url: str | None,
        runtime: Runtime,
    ) -> None:
        self._store = store
        self._served = served
        self._minimum = minimum
        self._metrics = runtime.counts
        self._queue = runtime.queue
        self._check_readiness = runtime.check_readiness
        self.views = Views(store, served, token, minimum, url)
        self._exporting, self._pairing = asyncio.Lock(), asyncio.Lock()
        self._finding = asyncio.Lock()
        self._signatures = Signatures()
        self._looks = Looks(store, served, minimum, runtime.minutes)

    def for_operation(self, operation: Operation) -> Handler:
        """The method of an operation, behind a token where not everybody may do it."""
        owner = self if hasattr(self, operation.name) else self.views
        return self.views.guard(operation, getattr(owner, operation.name))

    async def stop(self) -> None:
        """End what still reads the store."""
        await self._looks.stop()

    async def set_round(self, request: Request) -> Response:
        served, number = self.views.find_plan(request), read_whole(request.path_params["number"], "round")
        if not 1 <= number <= served.wire.rounds:
            raise Refusal("round", f"The plan has rounds 1 to {served.wire.rounds}, got {number}.")
        form = '{"opens": …, "closes": …} with times or null'
        times = decode(await receive_body(request, _SMALL), messages.Times, form)
        opens, closes = _seconds(times.opens), _seconds(times.closes)
        if opens is None:
            opens = await self._opening(served, number, closes, time.time())
        await self.views.read(self._store.set_round, served.plan.id, number, opens, closes, _actor(request))
        return await self.views.describe_rounds(served)

    async def sign_blinded(self, request: Request) -> Response:
        served = self.views.find_plan(request)
        if served.signer is None:
            raise Refusal("parameter", "Reports of this plan carry the invitation itself: it has no tickets.")
        if read_kind(request.headers.get("content-type", "").encode("latin-1")) != BINARY:
            raise Refusal("type", "Send the blinded message as application/octet-stream.")
        blinded = await receive_body(request, _SMALL)
        try:
            served.signer.public.check_blinded(blinded)  # before the invitation is used for it
        except InvalidParameter as problem:
            raise Refusal("form", f"{str(problem).capitalize()}.") from None
        invitation = read_invitation(request.headers.get("authorization", "").encode("latin-1"))
        if invitation is None or not await self.views.read(
            self._store.exchange, served.plan.id, invitation, sha256(blinded).digest()
        ):
            raise Refusal("invitation", _NOT_EXCHANGED)
        signature = await self._signatures.sign(served.signer, blinded)
        # closed, so that the report comes by another connection
        headers = UNSTORED | {"connection": "close"}
        return Response(signature, headers=headers, media_type="application/octet-stream")

    async def show_change(self, request: Request) -> Response:
        served, comparison = await self._compare(request)
        return respond(await self.views.read(results.changed, served.plan, comparison))

    async def show_cross_change(self, request: Request) -> Response:
        served, comparison = await self._compare(request)
        pair = request.query_params.get("of", ""), request.query_params.get("by", "")
        return respond(await self.views.read(results.changed_table, served.plan, comparison, pair))

    async def _compare(self, request: Request) -> tuple[Served, results.Comparison]:
        """The plan of a request about a change, and the tallies of both rounds."""
        served, number, level = self.views.find_plan(request), read_round(request) or 1, read_level(request)
        asked = read_choice(request, "people", ("", *get_args(People)))
        people = cast("People", asked) if asked else None
        since = read_whole(request.query_params.get("since", ""), "since")
        if not since < number:
            raise Refusal("parameter", f"since names a round before {number}, got {since}.")
        earlier, later = [(await self.views.tally(served, wave))[1] for wave in (since, number)]
        comparison = results.Comparison(since, earlier, number, later, level, people, read_weights(request))
        if served.plan.document.linked and comparison.may_pair:
            async with self._pairing:  # one at a time: it holds the reports of two rounds
                pairs = await self.views.read(results.pair_rounds, self._store, served.plan, comparison)
            if pairs is not None:
                results.enough_people(pairs, self._minimum)
            comparison = replace(comparison, pairs=pairs)
        return served, comparison

    async def show_participation(self, request: Request) -> Response:
        plan = self.views.find_plan(request).plan
        rows = (
            await self.views.read(results.list_participation, self._store, plan)
            if plan.document.linked
            else []
        )
        return respond(messages.Participations(plan.id, rows))

    async def show_report_health(self, request: Request) -> Response:
        served = self.views.find_plan(request)
        number, tallies = await self.views.tally(served, read_round(request))
        number = number or 1
        look = await self._looks.look(Key(served.plan.id, number), tallies.n)
        return respond({"plan": served.plan.id, "round": number} | look.health.about())

    async def export_reports(self, request: Request) -> Response:
        served, number = self.views.find_plan(request), read_round(request) or 1
        read_choice(request, "format", ("parquet",))
        results.require_pyarrow()
        results.enough(await self.views.read(self._store.tallies, served.plan.id, number), self._minimum)
        action = "exported reports", served.plan.id, f"round {number}"
        await self.views.read(self._store.access.log, _actor(request), *action)
        folder = tempfile.TemporaryDirectory(prefix="deniable-export-")
        path = Path(folder.name) / "reports.parquet"
        blocks = self._store.reports(served.plan.id, number)
        try:
            async with self._exporting:  # one at a time: an export holds as much disk as the reports
                await self.views.read(served.plan.write_reports, path, blocks)
        except BaseException:
            folder.cleanup()
            raise
        name = f"reports-{served.plan.id[:12]}-{number}.parquet"
        end = BackgroundTask(folder.cleanup)
        return FileResponse(path, media_type=PARQUET, filename=name, headers=UNSTORED, background=end)

    async def show_limits(self, request: Request) -> Response:
        served = self.views.find_plan(request)
        number, tallies = await self.views.tally(served, read_round(request))
        limits = await asyncio.to_thread(discovery.list_limits, served.plan, tallies)
        return respond(messages.TextLimits(served.plan.id, number, limits))

    async def discover_values(self, request: Request) -> Response:
        served, number = self.views.find_plan(request), read_round(request) or 1
        raw = await receive_body(request, _WORDS)
        sought = decode(raw or b"{}", messages.Sought, '{"words": [...]}, or {}')
        results.enough(await self.views.read(self._store.tallies, served.plan.id, number), self._minimum)
        name = request.query_params.get("name")
        question = (await self.views.read(find_question, served.plan.document, name)).name
        query = Query(question, sought.words, sought.alpha, sought.least)
        find = partial(discovery.find_values, self._store, served.plan, number, query, _actor(request))
        async with self._finding:  # one at a time: it takes all cores
            discovered = await self.views.read(find)
        about = {"plan": served.plan.id, "round": number, "question": question}
        return respond(about | discovered.to_dict())

    async def list_actions(self, _: Request) -> Response:
        actions = await self.views.read(self._store.access.actions, _ACTIONS)
        listed = [
            messages.Action(**asdict(action) | {"time": datetime.fromtimestamp(action.time, UTC)})
            for action in actions
        ]
        return respond(messages.Actions(listed))

    async def show_ready(self, _: Request) -> Response:
        await self.views.read(self._check_readiness)
        return respond(messages.Status("ok"))

    async def show_metrics(self, _: Request) -> Response:
        def reports() -> list[tuple[str, int, int]]:
            return [
                (plan_id, stored.number, stored.counted)
                for plan_id in self._served
                for stored in self._store.rounds(plan_id)
            ]

        def invitations() -> dict[str, int]:
            return {
                plan_id: self._store.invitations_left(plan_id)
                for plan_id, offer in self._store.offers().items()
                if offer.invited and plan_id in self._served
            }

        def tickets() -> dict[str, tuple[int, int]]:
            return {
                plan_id: (self._store.exchanged(plan_id), self._store.tickets_used(plan_id))
                for plan_id, served in self._served.items()
                if served.signer is not None
            }

        counts = await self.views.read(reports)
        unused, exchanged = await self.views.read(invitations), await self.views.read(tickets)
        text = self._metrics.text(self._queue(), counts, unused, exchanged, self._looks.last)
        self._looks.catch_up(counts)
        return Response(text, headers=UNSTORED, media_type=metrics.CONTENT_TYPE)

    async def show_survey(self, request: Request) -> Response:
        return self.views.respond_page(request, "survey.html")

    async def _opening(self, served: Served, number: int, closes: float | None, now: float) -> float | None:
        """When a round that is open did open; for "now" no time is stored, since a clock may be wrong."""
        if closes is not None and closes <= now:
            return None
        rounds = (await self.views.read(self._store.offers))[served.plan.id].rounds
        return next((times.opens for times in rounds if times.number == number and times.is_open(now)), None)


_NOT_EXCHANGED = (
    "An invitation is exchanged for one ticket, and this one is missing, unknown, withdrawn or was exchanged "
    "by another device."
)


def _actor(request: Request) -> Actor:
    return Actor(request.state.access.name, "web")


def _seconds(moment: datetime | None) -> float | None:
    if moment is None:
        return None
    seconds = moment.timestamp()
    if not 0 <= seconds < _LAST:
        raise Refusal("parameter", "A round opens and closes between the years 1970 and 9999.")
    return seconds


@final
class Signatures:
    """A signature takes milliseconds, in which nothing else moves: repeated exchanges must not ask for many.

    A message has one signature, so that the one that is remembered is the one that would be made.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._sign = lru_cache(_REMEMBERED)(SigningKey.sign)

    async def sign(self, key: SigningKey, blinded: bytes) -> bytes:
        async with self._turn:
            return await asyncio.to_thread(self._sign, key, blinded)
