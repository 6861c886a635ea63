"""The endpoint that the collector is measured beside: the same framework and server, and a body that is only
parsed.
"""

from __future__ import annotations

import sys

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deniable.wire import Report


async def parse(request: Request) -> Response:
    body = await request.body()
    if request.headers["content-type"] == "application/json":
        msgspec.json.decode(body)
    else:
        Report.from_bytes(body)
    return Response(b'{"outcome":"counted"}', 201, media_type="application/json")


if __name__ == "__main__":
    app = Starlette(routes=[Route("/reports", parse, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
