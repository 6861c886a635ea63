"""Runs the design page until Ctrl+C."""

from __future__ import annotations

import signal
import socket
import threading
from pathlib import Path

import uvicorn

from deniable.collect.serving import listen
from deniable.design.app import Designer
from deniable.design.forecast import forecast
from deniable.design.workshop import Workshop
from deniable.domain import Range
from deniable.study.study import Study

__all__ = ["listen", "make_designer", "make_server", "run"]


def make_designer(file: Path, people: int | None, taken: socket.socket) -> Designer:
    """The application for a file, on a port that is taken already."""
    return Designer(Workshop(file, people), int(taken.getsockname()[1]))


def make_server(designer: Designer) -> uvicorn.Server:
    """A server for the application, which logs nothing."""
    config = uvicorn.Config(
        designer,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def run(designer: Designer, taken: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        # the server raises its signal again when it is done; that is the end, not a failure
        signal.signal(number, _end)
    threading.Thread(target=_warm_up, daemon=True).start()
    make_server(designer).run(sockets=[taken])


def _warm_up() -> None:
    """Load what the first forecast needs, while the page is opened."""
    forecast(Study({"color": ["red", "green"], "age": Range(0, 100, step=10)}, epsilon=1.0).plan(100))


def _end(*_: object) -> None:
    pass
