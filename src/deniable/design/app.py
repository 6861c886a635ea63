"""Serves the design page on loopback: to whoever has the link, and to no other page of the browser.

The link has a random token in its path. A request must also name this machine as its host, which a page whose
name was pointed at this machine does not, and come from this page, if it comes from any.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, final

import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from deniable.collect.files import read_files
from deniable.collect.serving import configure, end_quietly
from deniable.design.draft import Draft
from deniable.design.forecast import forecast
from deniable.design.workshop import Changed, Incomplete, Stale, Workshop
from deniable.domain import Range
from deniable.errors import DeniableError, InvalidParameter
from deniable.study.study import Study

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_MOST_BYTES = 4 << 20
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'none'; frame-ancestors {frames}; base-uri 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_READING = ("GET", "HEAD")
_HERE = ("same-origin", "none")
"""What a browser says of a request that this page makes, or a person who follows the link."""
_STATUS: Mapping[type[DeniableError], tuple[int, str]] = {
    Stale: (409, "stale"),
    Changed: (409, "changed"),
    Incomplete: (422, "incomplete"),
    InvalidParameter: (422, "parameter"),
}
_PREVIEW = "<html data-preview "
"""How a survey begins that stores and sends nothing."""

_log = logging.getLogger("deniable.design")


@final
class Refused(Exception):
    """The answer to a request that is not answered."""

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.reason = status, reason


@final
class Designer:
    """An ASGI application for one file."""

    def __init__(self, workshop: Workshop, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self._workshop = workshop
        self._hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")}
        self._files = read_files()
        survey = "/survey/{plan}"
        self._router = Router(
            [
                Route("/", self._show_page),
                Route("/assets/{name}", self._show_asset),
                Route("/study", self._read_study),
                Route("/study", self._write_study, methods=["PUT"]),
                Route("/forecast", self._forecast, methods=["POST"]),
                Route("/advice", self._advise, methods=["POST"]),
                Route("/advice/apply", self._apply, methods=["POST"]),
                Route("/preview", self._preview, methods=["POST"]),
                Route("/download", self._download, methods=["POST"]),
                Route(f"{survey}/", self._show_survey),
                Route(f"{survey}/assets/{{name}}", self._show_asset),
                Route(f"{survey}/plans", self._list_plans),
                Route(f"{survey}/plans/{{id}}", self._show_plan),
                Route(f"{survey}/plans/{{id}}/rounds", self._list_rounds),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            self._check(Request(scope))
            rest = scope["path"].split("/", 2)[2]
            inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "app": self}
            await self._router(inner, receive, send)
        except Exception as problem:
            answer = _refuse(problem)
            await answer(scope, receive, send)

    def _check(self, request: Request) -> None:
        """Refuse requests without the link's token, by another name of this machine, or from other pages."""
        headers = request.headers
        host = headers.get("host", "")
        parts = request.url.path.split("/", 2)
        if host not in self._hosts:
            raise Refused(421, "host", "this page is only for a browser on this machine")
        if len(parts) < 3 or not hmac.compare_digest(parts[1].encode(), self.token.encode()):
            raise Refused(404, "token", "follow the link that deniable design prints; this one is not it")
        origin = headers.get("origin", None if request.method in _READING else "")
        if origin is not None and origin != f"http://{host}":
            raise Refused(403, "origin", "another page may not read or change the study")
        if headers.get("sec-fetch-site", "none") not in _HERE:
            raise Refused(403, "origin", "another page may not read or change the study")

    async def _show_page(self, _: Request) -> Response:
        return _page(self._files["design.html"].content, "'none'")

    async def _show_survey(self, request: Request) -> Response:
        """The survey as people will see it, but for a mark that keeps it from storing and sending."""
        self._workshop.plan(request.path_params["plan"])
        page = self._files["survey.html"].content.decode()
        return _page(page.replace("<html ", _PREVIEW, 1).encode(), "'self'")

    async def _show_asset(self, request: Request) -> Response:
        file = self._files.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        return Response(file.content, media_type=file.kind, headers=_HEADERS)

    async def _read_study(self, _: Request) -> Response:
        return _json(await run_in_threadpool(self._workshop.read))

    async def _write_study(self, request: Request) -> Response:
        body = await _body(request)
        written = await run_in_threadpool(
            self._workshop.write,
            Draft.from_json(body),
            body.get("version"),
            body.get("people"),
            body.get("force") is True,
        )
        return _json(written)

    async def _forecast(self, request: Request) -> Response:
        body = await _body(request)
        draft, people = Draft.from_json(body), body.get("people")
        return _json(await run_in_threadpool(self._workshop.forecast, draft, people, *_read_turn(body)))

    async def _advise(self, request: Request) -> Response:
        body = await _body(request)
        return _json(await run_in_threadpool(self._workshop.advise, *_read_asked(body), *_read_turn(body)))

    async def _apply(self, request: Request) -> Response:
        body = await _body(request)
        return _json(await run_in_threadpool(self._workshop.apply, *_read_asked(body), body.get("numbers")))

    async def _preview(self, request: Request) -> Response:
        body = await _body(request)
        preview = await run_in_threadpool(
            self._workshop.preview, str(body.get("plan")), body.get("truth"), body.get("seed")
        )
        return _json(preview)

    async def _download(self, request: Request) -> Response:
        body = await _body(request)
        packed = await run_in_threadpool(
            self._workshop.download,
            Draft.from_json(body),
            body.get("people"),
            body.get("url"),
            body.get("letters"),
        )
        return Response(packed, media_type="application/zip", headers=_HEADERS)

    async def _list_plans(self, request: Request) -> Response:
        summaries = [
            {
                "id": plan.id,
                "title": plan.document.title,
                "invited": False,
                "round": 1,
                "rounds": plan.document.rounds,
            }
            for plan in self._workshop.plans(request.path_params["plan"])
        ]
        return _json({"plans": summaries})

    async def _show_plan(self, request: Request) -> Response:
        plan = self._workshop.plan(request.path_params["id"])
        return Response(plan.to_json(), media_type="application/json", headers=_HEADERS)

    async def _list_rounds(self, request: Request) -> Response:
        self._workshop.plan(request.path_params["id"])
        return _json({"rounds": [{"number": 1, "opens": None, "closes": None, "open": True}]})


def _read_turn(body: Mapping[str, Any]) -> tuple[str, int]:
    """The page that sent a message, and the number of the message: what an older one asks is not computed."""
    turn = body.get("turn", 0)
    return str(body.get("page", "")), turn if isinstance(turn, int) else 0


def _read_asked(body: Mapping[str, Any]) -> tuple[Draft, object, object, object]:
    """For what advice is asked: a draft, for so many people, how well it must be known, what may be known."""
    want, may_know = body.get("want", "useful"), body.get("may_know", [])
    return Draft.from_json(body), body.get("people"), want, may_know


def _page(content: bytes, frames: str) -> Response:
    policy = {"content-security-policy": _POLICY.format(frames=frames)}
    return Response(content, media_type="text/html; charset=utf-8", headers=_HEADERS | policy)


def _json(data: object, status: int = 200) -> Response:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return Response(text, status, media_type="application/json", headers=_HEADERS)


async def _body(request: Request) -> dict[str, Any]:
    """What a page sends: an object, of a size that a study may have."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused(415, "type", "send application/json")
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > _MOST_BYTES:
            raise Refused(413, "size", f"a study has at most {_MOST_BYTES >> 20} MB")
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise Refused(400, "json", "send an object in JSON")
    return data


def _refuse(problem: Exception) -> Response:
    if isinstance(problem, Refused):
        return _json({"reason": problem.reason, "detail": str(problem)}, problem.status)
    if isinstance(problem, HTTPException):
        return _json({"reason": "path", "detail": "there is nothing at this address"}, problem.status_code)
    if isinstance(problem, DeniableError):
        status, reason = _STATUS.get(type(problem), (422, "parameter"))
        return _json({"reason": reason, "detail": str(problem)}, status)
    if isinstance(problem, OSError):
        detail = f"cannot use {problem.filename}: {problem.strerror}"
        return _json({"reason": "file", "detail": detail}, 500)
    _log.error("a request failed", exc_info=problem)
    return _json({"reason": "fault", "detail": "something went wrong; the shell says more"}, 500)


def make_designer(file: Path, people: int | None, taken: socket.socket) -> Designer:
    """The application for a file, on a port that is taken already."""
    return Designer(Workshop(file, people), int(taken.getsockname()[1]))


def make_server(designer: Designer) -> uvicorn.Server:
    """A server for the application, which logs nothing."""
    return uvicorn.Server(configure(designer, lifespan="off", timeout_graceful_shutdown=1))


def run(designer: Designer, taken: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""
    server = make_server(designer)
    end_quietly(server)
    threading.Thread(target=_warm_up, daemon=True).start()
    server.run(sockets=[taken])


def _warm_up() -> None:
    """Load what the first forecast needs, while the page is opened."""
    forecast(Study({"color": ["red", "green"], "age": Range(0, 100, step=10)}, epsilon=1.0).plan(100))
