"""Answers everything but reports."""

from __future__ import annotations

import asyncio
import hmac
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast, final, get_args

import msgspec
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from deniable.collect import discovery, messages, metrics, results
from deniable.collect.files import File, accepts_gzip, read_files
from deniable.collect.health import Key, Looks, MinuteCounts
from deniable.collect.intake import BINARY, Served, read_invitation, read_kind
from deniable.collect.limits import Held, Room
from deniable.collect.messages import Refusal
from deniable.collect.openapi import CSV, PARQUET, Operation
from deniable.discovery import Query
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.frames.files import csv_bytes
from deniable.reports import Tallies
from deniable.results.discoveries import find_question
from deniable.results.range_queries import RangeQuery
from deniable.rounds.differences import People
from deniable.store.access import MAIN, Access, Actor, hash_token
from deniable.store.store import Store
from deniable.tickets import SigningKey

Handler = Callable[[Request], Awaitable[Response]]
Result = TypeVar("Result")
Sent = TypeVar("Sent", bound=messages.Message)

_ACTIONS = 200  # of the log, which a page shows
_SMALL = 4096  # bytes of a message that is not a report
_WORDS = 1 << 20  # bytes of a public list
_LAST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_REMEMBERED = 1000  # signatures, of a few hundred bytes each: an exchange is repeated soon, if at all
_UNSTORED = {"cache-control": "no-store"}  # of what no browser keeps
_FOREVER = "public, max-age=31536000, immutable"


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
        self._token = hash_token(token)
        self._minimum = minimum
        self._url = url
        self._metrics = runtime.counts
        self._queue = runtime.queue
        self._check_readiness = runtime.check_readiness
        self._files = read_files()
        self._exporting, self._pairing = asyncio.Lock(), asyncio.Lock()
        self._finding = asyncio.Lock()
        self._signatures = Signatures()
        self._looks = Looks(store, served, minimum, runtime.minutes)

    async def stop(self) -> None:
        """End what still reads the store."""
        await self._looks.stop()

    def for_operation(self, operation: Operation) -> Handler:
        """The method of an operation, behind a token where not everybody may do it."""
        handler: Handler = getattr(self, operation.name)

        async def guarded(request: Request) -> Response:
            access = await self._find_access(request.headers.get("authorization", ""))
            if access.role not in operation.roles:
                whose = f"The token of {access.name} ({access.role})"
                raise Refusal("role", f"{whose} does not allow this; ask an operator.")
            request.state.access = access
            return await handler(request)

        return guarded if operation.roles else handler

    async def _find_access(self, header: str) -> Access:
        """Whose token a request has; a revoked one is refused at once, since the store is asked each time."""
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Refusal("token")
        hashed = hash_token(token.strip())
        if hmac.compare_digest(hashed, self._token):
            return Access(MAIN, "operator", 0.0)
        access = await self._read(self._store.access.find, hashed)
        if access is None:
            raise Refusal("token")
        return access

    async def list_plans(self, _: Request) -> Response:
        offers, now, summaries = await self._read(self._store.offers), time.time(), []
        for plan_id, served in self._served.items():
            offer, document = offers[plan_id], served.plan.document
            opened = [times.number for times in offer.rounds if times.is_open(now)]
            newest = max(opened, default=None)
            summary = messages.Summary(
                plan_id, document.title, served.titles, offer.invited, newest, opened, document.rounds
            )
            summaries.append(summary)
        return _respond(messages.Plans(summaries, self._url))

    async def show_plan(self, request: Request) -> Response:
        served = self._plan(request)
        return _respond_cached(
            request, File(served.document, "application/json"), f'"{served.plan.id}"', _FOREVER
        )

    async def show_codebook(self, request: Request) -> Response:
        plan = self._plan(request).plan
        if _read_choice(request, "format", ("json", "csv")) == "json":
            return _respond(plan.codebook().about())
        return _respond_file(csv_bytes(plan.codebook().rows), CSV, f"codebook-{plan.id[:12]}.csv")

    async def list_rounds(self, request: Request) -> Response:
        return await self._rounds(self._plan(request))

    async def set_round(self, request: Request) -> Response:
        served, number = self._plan(request), _read_whole(request.path_params["number"], "round")
        if not 1 <= number <= served.wire.rounds:
            raise Refusal("round", f"The plan has rounds 1 to {served.wire.rounds}, got {number}.")
        form = '{"opens": …, "closes": …} with times or null'
        times = _decode(await _read_body(request, _SMALL), messages.Times, form)
        opens, closes = _seconds(times.opens), _seconds(times.closes)
        if opens is None:
            opens = await self._opening(served, number, closes, time.time())
        await self._read(self._store.set_round, served.plan.id, number, opens, closes, _actor(request))
        return await self._rounds(served)

    async def sign_blinded(self, request: Request) -> Response:
        served = self._plan(request)
        if served.signer is None:
            raise Refusal("parameter", "Reports of this plan carry the invitation itself: it has no tickets.")
        if read_kind(request.headers.get("content-type", "").encode("latin-1")) != BINARY:
            raise Refusal("type", "Send the blinded message as application/octet-stream.")
        blinded = await _read_body(request, _SMALL)
        try:
            served.signer.public.check_blinded(blinded)  # before the invitation is used for it
        except InvalidParameter as problem:
            raise Refusal("form", f"{str(problem).capitalize()}.") from None
        invitation = read_invitation(request.headers.get("authorization", "").encode("latin-1"))
        if invitation is None or not await self._read(
            self._store.exchange, served.plan.id, invitation, sha256(blinded).digest()
        ):
            raise Refusal("invitation", _NOT_EXCHANGED)
        signature = await self._signatures.sign(served.signer, blinded)
        # closed, so that the report comes by another connection
        headers = _UNSTORED | {"connection": "close"}
        return Response(signature, headers=headers, media_type="application/octet-stream")

    async def show_estimates(self, request: Request) -> Response:
        served, number, level = self._plan(request), _read_round(request), _read_level(request)
        form = _read_choice(request, "format", ("json", "csv", "parquet"))
        smooth = _read_choice(request, "smooth", ("false", "true")) == "true"
        if "project" in request.query_params:
            raise Refusal("parameter", "project is retired; the shares that are shown are possible ones.")
        number, tallies = await self._tallies(served, number)
        weights = _read_weights(request)
        estimate = partial(
            results.estimated, served.plan, tallies, number, level, smooth=smooth, weights=weights
        )
        estimates = await asyncio.to_thread(estimate)
        if form == "json":
            return _respond(estimates)
        content = results.as_csv(estimates) if form == "csv" else results.as_parquet(estimates)
        kind = CSV if form == "csv" else PARQUET
        return _respond_file(content, kind, f"estimates-{served.plan.id[:12]}.{form}")

    async def show_range(self, request: Request) -> Response:
        served, number, level = self._plan(request), _read_round(request), _read_level(request)
        name, low, high = (request.query_params.get(name) for name in ("name", "low", "high"))
        query = RangeQuery(low, high, name)
        number, tallies = await self._tallies(served, number)
        weights = _read_weights(request)
        return _respond(
            await self._read(results.between, served.plan, tallies, number, query, level, weights)
        )

    async def show_cross(self, request: Request) -> Response:
        served, number, level = self._plan(request), _read_round(request), _read_level(request)
        of, by = (request.query_params.get(name, "") for name in ("of", "by"))
        number, tallies = await self._tallies(served, number)
        return _respond(
            await self._read(
                results.crossed, served.plan, tallies, number, (of, by), level, _read_weights(request)
            )
        )

    async def show_change(self, request: Request) -> Response:
        served, comparison = await self._compare(request)
        return _respond(await self._read(results.changed, served.plan, comparison))

    async def show_cross_change(self, request: Request) -> Response:
        served, comparison = await self._compare(request)
        pair = request.query_params.get("of", ""), request.query_params.get("by", "")
        return _respond(await self._read(results.changed_table, served.plan, comparison, pair))

    async def _compare(self, request: Request) -> tuple[Served, results.Comparison]:
        """The plan of a request about a change, and the tallies of both rounds."""
        served, number, level = self._plan(request), _read_round(request) or 1, _read_level(request)
        asked = _read_choice(request, "people", ("", *get_args(People)))
        people = cast("People", asked) if asked else None
        since = _read_whole(request.query_params.get("since", ""), "since")
        if not since < number:
            raise Refusal("parameter", f"since names a round before {number}, got {since}.")
        earlier, later = [(await self._tallies(served, wave))[1] for wave in (since, number)]
        comparison = results.Comparison(since, earlier, number, later, level, people, _read_weights(request))
        if served.plan.document.linked and comparison.may_pair:
            async with self._pairing:  # one at a time: it holds the reports of two rounds
                pairs = await self._read(results.pair_rounds, self._store, served.plan, comparison)
            if pairs is not None:
                results.enough_people(pairs, self._minimum)
            comparison = replace(comparison, pairs=pairs)
        return served, comparison

    async def show_participation(self, request: Request) -> Response:
        plan = self._plan(request).plan
        rows = await self._read(results.list_participation, self._store, plan) if plan.document.linked else []
        return _respond(messages.Participations(plan.id, rows))

    async def show_history(self, request: Request) -> Response:
        served, number, level = self._plan(request), _read_round(request) or 1, _read_level(request)
        smooth = _read_choice(request, "smooth", ("false", "true")) == "true"
        weights = _read_weights(request)
        snapshots = await self._read(self._store.history, served.plan.id, number)

        def list_estimates() -> Iterator[messages.Estimates]:
            for tallies in snapshots:
                if tallies.n >= self._minimum:
                    try:
                        yield results.estimated(served.plan, tallies, number, level, False, smooth, weights)
                    except Refusal:  # too few reports yet for one of the attributes
                        continue

        return _respond(
            messages.History(served.plan.id, number, level, await asyncio.to_thread(list, list_estimates()))
        )

    async def show_tallies(self, request: Request) -> Response:
        number, tallies = await self._tallies(self._plan(request), _read_round(request))
        return _respond(tallies.to_dict() | {"round": number})

    async def show_report_health(self, request: Request) -> Response:
        served = self._plan(request)
        number, tallies = await self._tallies(served, _read_round(request))
        number = number or 1
        look = await self._looks.look(Key(served.plan.id, number), tallies.n)
        return _respond({"plan": served.plan.id, "round": number} | look.health.about())

    async def export_reports(self, request: Request) -> Response:
        served, number = self._plan(request), _read_round(request) or 1
        _read_choice(request, "format", ("parquet",))
        results.require_pyarrow()
        results.enough(await self._read(self._store.tallies, served.plan.id, number), self._minimum)
        action = "exported reports", served.plan.id, f"round {number}"
        await self._read(self._store.access.log, _actor(request), *action)
        folder = tempfile.TemporaryDirectory(prefix="deniable-export-")
        path = Path(folder.name) / "reports.parquet"
        blocks = self._store.reports(served.plan.id, number)
        try:
            async with self._exporting:  # one at a time: an export holds as much disk as the reports
                await self._read(served.plan.write_reports, path, blocks)
        except BaseException:
            folder.cleanup()
            raise
        name = f"reports-{served.plan.id[:12]}-{number}.parquet"
        end = BackgroundTask(folder.cleanup)
        return FileResponse(path, media_type=PARQUET, filename=name, headers=_UNSTORED, background=end)

    async def show_limits(self, request: Request) -> Response:
        served = self._plan(request)
        number, tallies = await self._tallies(served, _read_round(request))
        limits = await asyncio.to_thread(discovery.list_limits, served.plan, tallies)
        return _respond(messages.TextLimits(served.plan.id, number, limits))

    async def discover_values(self, request: Request) -> Response:
        served, number = self._plan(request), _read_round(request) or 1
        raw = await _read_body(request, _WORDS)
        sought = _decode(raw or b"{}", messages.Sought, '{"words": [...]}, or {}')
        results.enough(await self._read(self._store.tallies, served.plan.id, number), self._minimum)
        name = request.query_params.get("name")
        question = (await self._read(find_question, served.plan.document, name)).name
        query = Query(question, sought.words, sought.alpha, sought.least)
        find = partial(discovery.find_values, self._store, served.plan, number, query, _actor(request))
        async with self._finding:  # one at a time: it takes all cores
            discovered = await self._read(find)
        about = {"plan": served.plan.id, "round": number, "question": question}
        return _respond(about | discovered.to_dict())

    async def show_access(self, request: Request) -> Response:
        access: Access = request.state.access
        return _respond(messages.Access(access.name, access.role))

    async def list_actions(self, _: Request) -> Response:
        actions = await self._read(self._store.access.actions, _ACTIONS)
        listed = [
            messages.Action(**asdict(action) | {"time": datetime.fromtimestamp(action.time, UTC)})
            for action in actions
        ]
        return _respond(messages.Actions(listed))

    async def show_health(self, _: Request) -> Response:
        return _respond(messages.Status("ok"))

    async def show_ready(self, _: Request) -> Response:
        await self._read(self._check_readiness)
        return _respond(messages.Status("ok"))

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

        counts = await self._read(reports)
        unused, exchanged = await self._read(invitations), await self._read(tickets)
        text = self._metrics.text(self._queue(), counts, unused, exchanged, self._looks.last)
        self._looks.catch_up(counts)
        return Response(text, headers=_UNSTORED, media_type=metrics.CONTENT_TYPE)

    async def show_openapi(self, _: Request) -> Response:
        described = self._files.get("openapi.json")
        if described is None:
            raise Refusal("path")
        return Response(described.content, media_type=described.kind, headers={"cache-control": "no-cache"})

    async def show_survey(self, request: Request) -> Response:
        return self._file(request, "survey.html")

    async def show_dashboard(self, request: Request) -> Response:
        return self._file(request, "dashboard.html")

    async def show_asset(self, request: Request) -> Response:
        return self._file(request, request.path_params["name"])

    def _file(self, request: Request, name: str) -> Response:
        file = self._files.get(name)
        if file is None:
            raise Refusal("path")
        # files of the pages hold no secret, so their length tells nothing; nothing else is compressed
        vary = {"vary": "accept-encoding"}
        if not accepts_gzip(request.headers.get("accept-encoding", "")):
            return _respond_cached(request, file, file.etag, "no-cache", vary)
        file = file.compressed
        return _respond_cached(request, file, file.etag, "no-cache", vary | {"content-encoding": "gzip"})

    def _plan(self, request: Request) -> Served:
        served = self._served.get(request.path_params["id"])
        if served is None:
            raise Refusal("plan")
        return served

    async def _opening(self, served: Served, number: int, closes: float | None, now: float) -> float | None:
        """When a round that is open did open; for "now" no time is stored, since a clock may be wrong."""
        if closes is not None and closes <= now:
            return None
        rounds = (await self._read(self._store.offers))[served.plan.id].rounds
        return next((times.opens for times in rounds if times.number == number and times.is_open(now)), None)

    async def _rounds(self, served: Served) -> Response:
        rounds = (await self._read(self._store.offers))[served.plan.id].rounds
        now = time.time()
        described = [
            messages.Round(times.number, _moment(times.opens), _moment(times.closes), times.is_open(now))
            for times in rounds
        ]
        return _respond(messages.Rounds(served.plan.id, described))

    async def _tallies(self, served: Served, number: int | None) -> tuple[int | None, Tallies]:
        """The tallies of a round, or of the only one that has reports, and which that is."""
        number, tallies = await self._read(self._store.tallied, served.plan.id, number)
        return number, results.enough(tallies, self._minimum)

    async def _read(self, verb: Callable[..., Result], *arguments: Any) -> Result:
        """Ask the store or estimate, in a thread; what is refused there is a parameter of the request."""
        try:
            return await asyncio.to_thread(verb, *arguments)
        except (InvalidParameter, InvalidValue) as problem:
            raise Refusal("parameter", str(problem)) from None


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


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


async def _read_body(request: Request, most: int) -> bytes:
    with Held(Room(most)) as reserved:
        return await reserved.body(request.receive, most)


def _decode(raw: bytes, kind: type[Sent], form: str) -> Sent:
    """A message; what is none is refused, with the form that it has."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise Refusal("parameter", f"Send {form}: {problem}") from None


def _read_whole(text: str, name: str) -> int:
    """A whole number of at most nine digits."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Refusal("parameter", f"{name} must be a whole number.")
    return int(text)


def _read_round(request: Request) -> int | None:
    """The number of the round, where one is asked for."""
    text = request.query_params.get("round")
    return None if text is None else _read_whole(text, "round")


def _read_level(request: Request) -> float:
    """The level of intervals, 0.95 unless another is asked for."""
    try:
        level = float(request.query_params.get("level", "0.95"))
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise Refusal("parameter", "level must be a number between 0 and 1, such as 0.95.")
    return level


def _read_weights(request: Request) -> str:
    """The sizes of known groups in the population, as JSON; empty where the people who reported are meant."""
    return request.query_params.get("weights", "")


def _read_choice(request: Request, name: str, allowed: Sequence[str]) -> str:
    """One of the words that are allowed, the first of them unless another is asked for."""
    choice = request.query_params.get(name, allowed[0])
    if choice not in allowed:
        raise Refusal("parameter", not_among(choice, f"a {name}", allowed))
    return choice


def _respond(message: object) -> Response:
    """A message, which no browser keeps."""
    return Response(msgspec.json.encode(message), media_type="application/json", headers=_UNSTORED)


def _respond_file(content: bytes, kind: str, name: str) -> Response:
    """A file to keep, under this name."""
    headers = _UNSTORED | {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


def _respond_cached(
    request: Request, file: File, etag: str, how: str, more: Mapping[str, str] | None = None
) -> Response:
    """A file that browsers keep; nothing but its tag where a browser has it already."""
    headers = {"etag": etag, "cache-control": how, **(more or {})}
    if etag in request.headers.get("if-none-match", ""):
        headers.pop("content-encoding", None)
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)


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
