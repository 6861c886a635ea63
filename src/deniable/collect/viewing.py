"""Answers what readers ask for, from the tallies that a shelf has."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar, final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from deniable.collect import messages, results
from deniable.collect.files import File, accepts_gzip, read_files
from deniable.collect.intake import Served
from deniable.collect.joining import Joiner, Shown
from deniable.collect.messages import Refusal
from deniable.collect.openapi import CSV, PARQUET, Operation
from deniable.collect.requests import (
    check_query,
    read_choice,
    read_level,
    read_round,
    read_weights,
    respond,
    respond_cached,
    respond_file,
)
from deniable.errors import InvalidParameter, InvalidValue
from deniable.frames.files import csv_bytes
from deniable.reports import Tallies
from deniable.results.range_queries import RangeQuery
from deniable.store.access import MAIN, Access, Role, hash_token
from deniable.store.schedule import Offer

Handler = Callable[[Request], Awaitable[Response]]
Result = TypeVar("Result")
Message = TypeVar("Message", messages.Estimates, messages.Between)

_FOREVER = "public, max-age=31536000, immutable"


class Finder(Protocol):
    """Who has a token."""

    def find(self, hashed: bytes) -> Access | None:
        """Who has the token of this hash."""


class Shelf(Protocol):
    """What has tallies of plans: a collector's store, or a warehouse."""

    @property
    def access(self) -> Finder:
        """Who has a token of their own."""

    def offers(self) -> dict[str, Offer]:
        """What all plans offer now, by their ids."""

    def tallied(self, plan_id: str, number: int | None = None) -> tuple[int | None, Tallies]:
        """The number of a round and its tallies."""

    def history(self, plan_id: str, number: int) -> list[Tallies]:
        """The tallies of growing numbers of reports."""


@final
class Views:
    """One method for each operation that only reads, by its name."""

    def __init__(
        self,
        shelf: Shelf,
        served: Mapping[str, Served],
        token: str,
        minimum: int,
        url: str | None = None,
        role: Role = "operator",
        days: Callable[[str], messages.Days] | None = None,
        show: Callable[[str, int | None], Shown] | None = None,
    ) -> None:
        """`show` gives what is shown of tables of reports: a round, or the last day where none is asked for.
        Without it, there is a collector, whose rounds are joined where that is asked for.
        """
        self._shelf = shelf
        self._served = served
        self._token = hash_token(token)
        self._role = role
        self._minimum = minimum
        self._url = url
        self._days = days
        self._show = show
        self._joiner = Joiner(shelf, served, minimum)
        self._files = read_files()

    def guard(self, operation: Operation, handler: Handler) -> Handler:
        """A handler behind a token where not everybody may do what it does, and of known parameters alone."""

        async def authorized(request: Request) -> Response:
            access = await self._find_access(request.headers.get("authorization", ""))
            if access.role not in operation.roles:
                whose = f"The token of {access.name} ({access.role})"
                raise Refusal("role", f"{whose} does not allow this; ask an operator.")
            request.state.access = access
            return await checked(request)

        async def checked(request: Request) -> Response:
            if not operation.takes_any_query:
                check_query(request, operation.path, operation.query)
            return await handler(request)

        return authorized if operation.roles else checked

    async def _find_access(self, header: str) -> Access:
        """Whose token a request has; a revoked one is refused at once, since the store is asked each time."""
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Refusal("token")
        hashed = hash_token(token.strip())
        if hmac.compare_digest(hashed, self._token):
            return Access(MAIN, self._role, 0.0)
        access = await self.read(self._shelf.access.find, hashed)
        if access is None:
            raise Refusal("token")
        return access

    async def list_plans(self, _: Request) -> Response:
        offers, now, summaries = await self.read(self._shelf.offers), time.time(), []
        for plan_id, served in self._served.items():
            if plan_id not in offers:  # it is shown with a plan that continues it
                continue
            offer, document = offers[plan_id], served.plan.document
            before = [plan.id for plan in document.continues if plan.id in self._served and plan.id in offers]
            opened = [times.number for times in offer.rounds if times.is_open(now)]
            newest = max(opened, default=None)
            summary = messages.Summary(
                plan_id, document.title, served.titles, offer.invited, newest, opened, document.rounds, before
            )
            summaries.append(summary)
        return respond(messages.Plans(summaries, self._url, self._days is not None))

    async def show_plan(self, request: Request) -> Response:
        served = self.find_plan(request)
        return respond_cached(
            request, File(served.document, "application/json"), f'"{served.plan.id}"', _FOREVER
        )

    async def show_codebook(self, request: Request) -> Response:
        plan = self.find_plan(request).plan
        if read_choice(request, "format", ("json", "csv")) == "json":
            return respond(plan.codebook().about())
        return respond_file(csv_bytes(plan.codebook().rows), CSV, f"codebook-{plan.id[:12]}.csv")

    async def list_rounds(self, request: Request) -> Response:
        return await self.describe_rounds(self.find_plan(request))

    async def show_estimates(self, request: Request) -> Response:
        served, level = self.find_plan(request), read_level(request)
        form = read_choice(request, "format", ("json", "csv", "parquet"))
        smooth = read_choice(request, "smooth", ("false", "true")) == "true"
        shown = await self._find_joined(request, served)
        weights = read_weights(request)
        estimate = partial(
            results.estimated,
            served.plan,
            shown.tallies,
            shown.number,
            level,
            smooth=smooth,
            weights=weights,
            before=shown.before,
        )
        estimates = _name_day(await asyncio.to_thread(estimate), shown)
        if form == "json":
            return respond(estimates)
        content = results.as_csv(estimates) if form == "csv" else results.as_parquet(estimates)
        kind = CSV if form == "csv" else PARQUET
        return respond_file(content, kind, f"estimates-{served.plan.id[:12]}.{form}")

    async def show_range(self, request: Request) -> Response:
        served, level = self.find_plan(request), read_level(request)
        name, low, high = (request.query_params.get(name) for name in ("name", "low", "high"))
        query = RangeQuery(low, high, name)
        shown = await self._find_joined(request, served)
        facts = served.plan, shown.tallies, shown.number, query, level, read_weights(request), shown.before
        return respond(_name_day(await self.read(results.between, *facts), shown))

    async def show_cross(self, request: Request) -> Response:
        served, level = self.find_plan(request), read_level(request)
        of, by = (request.query_params.get(name, "") for name in ("of", "by"))
        shown = await self._find_alone(request, served)
        facts = served.plan, shown.tallies, shown.number, (of, by), level, read_weights(request)
        return respond(await self.read(results.crossed, *facts) | _describe_tables(shown))

    async def show_history(self, request: Request) -> Response:
        served, number, level = self.find_plan(request), read_round(request) or 1, read_level(request)
        smooth = read_choice(request, "smooth", ("false", "true")) == "true"
        weights = read_weights(request)
        snapshots = await self.read(self._shelf.history, served.plan.id, number)

        def list_estimates() -> Iterator[messages.Estimates]:
            for tallies in snapshots:
                if tallies.n >= self._minimum:
                    try:
                        yield results.estimated(served.plan, tallies, number, level, False, smooth, weights)
                    except Refusal:  # too few reports yet for one of the attributes
                        continue

        return respond(
            messages.History(served.plan.id, number, level, await asyncio.to_thread(list, list_estimates()))
        )

    async def show_days(self, request: Request) -> Response:
        plan = self.find_plan(request).plan
        if self._days is None:
            raise Refusal("path")
        return respond(await self.read(self._days, plan.id))

    async def show_health(self, _: Request) -> Response:
        return respond(messages.Status("ok"))

    async def show_tallies(self, request: Request) -> Response:
        shown = await self._find_alone(request, self.find_plan(request))
        return respond(shown.tallies.to_dict() | {"round": shown.number} | _describe_tables(shown))

    async def show_access(self, request: Request) -> Response:
        access: Access = request.state.access
        return respond(messages.Access(access.name, access.role))

    async def show_openapi(self, _: Request) -> Response:
        described = self._files.get("openapi.json")
        if described is None:
            raise Refusal("path")
        return Response(described.content, media_type=described.kind, headers={"cache-control": "no-cache"})

    async def show_dashboard(self, request: Request) -> Response:
        return self.respond_page(request, "dashboard.html")

    async def show_asset(self, request: Request) -> Response:
        return self.respond_page(request, request.path_params["name"])

    def respond_page(self, request: Request, name: str) -> Response:
        file = self._files.get(name)
        if file is None:
            raise Refusal("path")
        # files of the pages hold no secret, so their length tells nothing; nothing else is compressed
        vary = {"vary": "accept-encoding"}
        if not accepts_gzip(request.headers.get("accept-encoding", "")):
            return respond_cached(request, file, file.etag, "no-cache", vary)
        file = file.compressed
        return respond_cached(request, file, file.etag, "no-cache", vary | {"content-encoding": "gzip"})

    def find_plan(self, request: Request) -> Served:
        served = self._served.get(request.path_params["id"])
        if served is None:
            raise Refusal("plan")
        return served

    async def describe_rounds(self, served: Served) -> Response:
        offer = (await self.read(self._shelf.offers)).get(served.plan.id)
        rounds = [] if offer is None else offer.rounds
        now = time.time()
        described = [
            messages.Round(times.number, _moment(times.opens), _moment(times.closes), times.is_open(now))
            for times in rounds
        ]
        return respond(messages.Rounds(served.plan.id, described))

    async def tally(self, served: Served, number: int | None) -> tuple[int | None, Tallies]:
        """The tallies of a round, or of the only one that has reports, and which that is."""
        number, tallies = await self.read(self._shelf.tallied, served.plan.id, number)
        return number, results.enough(tallies, self._minimum)

    async def _find(self, request: Request, served: Served) -> Shown:
        """What is asked for: a round, or the last day in tables of reports where no round is named.

        A plan that asks once has one round, which people may answer every day.
        """
        number, rounds = read_round(request), served.plan.document.rounds or 1
        if self._show is not None:
            return await self.read(self._show, served.plan.id, None if number == rounds == 1 else number)
        return Shown(*await self.read(self._shelf.tallied, served.plan.id, number))

    async def _find_alone(self, request: Request, served: Served) -> Shown:
        """A round, or the round of a day that most reports are of."""
        shown = await self._find(request, served)
        results.enough(shown.tallies, self._minimum)
        return replace(shown, number=shown.tallies.round or shown.number)

    async def _find_joined(self, request: Request, served: Served) -> Shown:
        """A round, with what is joined with it if that is asked for; or a day, with all that is joined."""
        is_joined = read_choice(request, "joined", ("false", "true")) == "true"
        document = served.plan.document
        if is_joined and read_weights(request):
            raise Refusal(
                "parameter", "Weights are of one plan, and joined results of several: leave out one."
            )
        shown = await self._find(request, served)
        results.refuse_few(shown.n, self._minimum)
        if not is_joined or (shown.day is not None and document.continues):
            return shown
        if self._show is not None and document.continues:
            raise Refusal(
                "parameter",
                "A table of reports does not say when rounds were open, so that none are joined: leave out "
                "the round, and results are those of the last day, of all plans; or leave out joined.",
            )
        find = self._joiner.find_before
        return replace(shown, before=await self.read(find, document, shown.number or 1, time.time()))

    async def read(self, verb: Callable[..., Result], *arguments: Any) -> Result:
        """Ask the store or estimate, in a thread; what is refused there is a parameter of the request."""
        try:
            return await asyncio.to_thread(verb, *arguments)
        except (InvalidParameter, InvalidValue) as problem:
            raise Refusal("parameter", str(problem)) from None


def _describe_tables(shown: Shown) -> dict[str, Any]:
    """The day that the results of a table are of, unless it is a round, and why they are old."""
    day = {} if shown.day is None else {"day": str(shown.day)}
    return day if shown.outdated is None else {**day, "outdated": shown.outdated}


def _name_day(message: Message, shown: Shown) -> Message:
    """A message with the day that it is of, and why it is old."""
    return msgspec.structs.replace(message, **_describe_tables(shown))


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
