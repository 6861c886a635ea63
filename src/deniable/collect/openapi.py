"""Lists what can be asked of the collector: one table for the routes and their OpenAPI description.

`spec/make_api.py` writes that description to spec/api.json, and `make pages` puts it beside the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from deniable.collect import messages
from deniable.collect.limits import Limits
from deniable.store.access import ROLES, Role

PARQUET = "application/vnd.apache.parquet"
CSV = "text/csv; charset=utf-8"

HEX = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
ROUND = {"type": "integer", "minimum": 1, "maximum": 1000}
_BYTES: dict[str, Any] = {}  # in OpenAPI 3.1 bytes are a body without a schema
_REPORT = {
    "type": "object",
    "description": "A report as spec/wire.md has it, in its one canonical text (sorted keys, no spaces).",
    "required": ["id", "plan", "report", "round", "version"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "plan": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "report": {"type": "object"},
        "round": ROUND,
        "version": {"const": 1},
    },
}
_PLAN = {"type": "object", "description": "A plan in its canonical form; spec/plan.schema.json describes it."}
_MOST = Limits()
_OPERATORS: tuple[Role, ...] = ("operator",)
_READERS: tuple[Role, ...] = ("operator", "reader")


@final
@dataclass(frozen=True)
class Operation:
    """An operation of the collector."""

    name: str
    route: str
    """Its method and path."""
    summary: str
    answers: type[messages.Message] | Mapping[int, Mapping[str, Any]]
    """A message, or by status: the types of content, and the message or schema of each."""
    refuses: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    """Who may do it; without a role, everybody."""
    takes: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    invitation: bool = False
    takes_any_query: bool = False
    """Whether parameters that are not in `query` are let through, as of links to pages, to which others add
    theirs; elsewhere they are refused.
    """
    limits: str = ""
    """The limit, in words."""

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]


def as_json(message: Any) -> dict[str, Any]:
    """The content of a body in JSON."""
    return {"application/json": message}


_LEVEL = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95}
_SMOOTH: dict[str, Any] = {"enum": ["false", "true"], "default": "false"}
TEXT = {"type": "string"}
_WEIGHTS: dict[str, Any] = {
    "type": "string",
    "description": "The sizes of known groups in the population, as JSON: results are then of it. "
    '{"region": {"north": 0.4, "south": 0.6}}',
}
_JOINED: dict[str, Any] = {
    "enum": ["false", "true"],
    "default": "false",
    "description": "Whether to join the round with one of each plan before it that is collected here and was "
    "open at the same time: by numbers of people, who may be the same. Joined shares are not smoothed, and "
    "weights are refused. The last day of tables of reports is always joined, unless there are weights; "
    "rounds of tables never are.",
}
_FIRST_ROUND = {**ROUND, "default": 1}
_CHANGE: Mapping[str, Mapping[str, Any]] = {
    "round": _FIRST_ROUND,
    "since": ROUND,
    "people": {
        "enum": ["population", "same", "others", "linked"],
        "description": "Whose change is meant: of those who answered both rounds, where reports are linked "
        "and none is scrubbed, else of the population.",
    },
    "level": _LEVEL,
    "weights": _WEIGHTS,
}
_REPORTED = (
    *("malformed", "version", "form", "size", "round", "plan", "closed", "invitation", "ticket"),
    *("large", "type", "store"),
)
_READ = ("plan", "parameter", "few", "store")
_HTML = {200: {"text/html; charset=utf-8": TEXT}}
_ESTIMATES = {**as_json(messages.Estimates), CSV: TEXT, PARQUET: _BYTES}

OPERATIONS = (
    Operation("list_plans", "GET /plans", "The plans that are collected here", messages.Plans, ("store",)),
    Operation(
        "show_plan",
        "GET /plans/{id}",
        "A plan: what a device needs",
        {200: as_json(_PLAN), 304: {}},
        ("plan",),
    ),
    Operation(
        "show_codebook",
        "GET /plans/{id}/codebook",
        "What the values of a plan mean: texts of questions, codes and labels",
        {200: {**as_json({"type": "object"}), CSV: TEXT}},
        ("plan", "parameter"),
        query={"format": {"enum": ["json", "csv"], "default": "json"}},
    ),
    Operation(
        "add_report",
        "POST /reports",
        "Send a report; it is on disk when the answer comes, and counted once however often it is sent",
        {201: as_json(messages.Receipt), 200: as_json(messages.Receipt)},
        _REPORTED,
        takes={"application/octet-stream": _BYTES, "application/json": _REPORT},
        invitation=True,
        takes_any_query=True,
        limits=f"One report, of at most {_MOST.report_bytes:,} bytes in either form.",
    ),
    Operation(
        "add_batch",
        "POST /reports/batch",
        "Send several reports; each one is counted or refused by itself",
        messages.Receipts,
        ("malformed", "large", "type", "store"),
        takes={"application/octet-stream": _BYTES, "application/json": {"type": "array", "items": _REPORT}},
        invitation=True,
        takes_any_query=True,
        limits=f"At most {_MOST.batch_reports:,} reports, and {_MOST.batch_bytes:,} bytes.",
    ),
    Operation(
        "sign_blinded",
        "POST /plans/{id}/signatures",
        "Exchange an invitation for the blind signature of a ticket; the same message gets the same again",
        {200: {"application/octet-stream": _BYTES}},
        ("plan", "parameter", "form", "invitation", "large", "type", "store"),
        takes={"application/octet-stream": _BYTES},
        invitation=True,
        limits="A blinded message, as long as the modulus of the plan's ticket key.",
    ),
    Operation("list_rounds", "GET /plans/{id}/rounds", "A plan's rounds", messages.Rounds, ("plan", "store")),
    Operation(
        "set_round",
        "PUT /plans/{id}/rounds/{number}",
        "Say when a round opens and closes",
        messages.Rounds,
        ("plan", "round", "parameter", "large", "store"),
        _OPERATORS,
        takes=as_json(messages.Times),
    ),
    Operation(
        "show_estimates",
        "GET /plans/{id}/estimates",
        "Every attribute's shares, with error bars; of one round, or of the only one that has reports",
        {200: _ESTIMATES},
        _READ,
        _READERS,
        query={
            "round": ROUND,
            "level": _LEVEL,
            "smooth": _SMOOTH,
            "weights": _WEIGHTS,
            "joined": _JOINED,
            "format": {"enum": ["json", "csv", "parquet"], "default": "json"},
        },
    ),
    Operation(
        "show_range",
        "GET /plans/{id}/range",
        "The share of the people from one number to under another; without an end, up to that of all values",
        messages.Between,
        _READ,
        _READERS,
        query={
            "name": TEXT,
            "low": TEXT,
            "high": TEXT,
            "round": ROUND,
            "level": _LEVEL,
            "weights": _WEIGHTS,
            "joined": _JOINED,
        },
    ),
    Operation(
        "show_cross",
        "GET /plans/{id}/cross",
        "How the answers to one question depend on another that was asked together with it",
        messages.Cross,
        _READ,
        _READERS,
        query={"of": TEXT, "by": TEXT, "round": ROUND, "level": _LEVEL, "weights": _WEIGHTS},
    ),
    Operation(
        "show_change",
        "GET /plans/{id}/change",
        "How every share and mean changed since an earlier round, with intervals that hold for these people",
        messages.Changed,
        _READ,
        _READERS,
        query=_CHANGE,
    ),
    Operation(
        "show_participation",
        "GET /plans/{id}/participation",
        "How many people answered each round and the one before it, where reports are linked",
        messages.Participations,
        ("plan", "store"),
        _READERS,
    ),
    Operation(
        "show_cross_change",
        "GET /plans/{id}/cross/change",
        "How such a table changed since an earlier round, with intervals that hold for these people",
        messages.CrossChange,
        _READ,
        _READERS,
        query={"of": TEXT, "by": TEXT, **_CHANGE},
    ),
    Operation(
        "show_history",
        "GET /plans/{id}/history",
        "How the estimates of a round narrow with more reports",
        messages.History,
        ("plan", "parameter", "store"),
        _READERS,
        query={"round": _FIRST_ROUND, "level": _LEVEL, "smooth": _SMOOTH, "weights": _WEIGHTS},
    ),
    Operation(
        "show_days",
        "GET /plans/{id}/days",
        "Every share and mean by day, and the days on which one moved; of tables of reports alone",
        messages.Days,
        ("plan", "path", "few"),
        _READERS,
    ),
    Operation(
        "show_tallies",
        "GET /plans/{id}/tallies",
        "The counts from which everything is estimated",
        messages.Counted,
        _READ,
        _OPERATORS,
        query={"round": ROUND},
    ),
    Operation(
        "show_report_health",
        "GET /plans/{id}/health",
        "Whether reports look as honest ones do, at the last look: there is one for every 5 % more",
        messages.ReportHealth,
        _READ,
        _READERS,
        query={"round": ROUND},
    ),
    Operation(
        "export_reports",
        "GET /plans/{id}/reports",
        "The reports of a round (1 unless said) as the Parquet file that deniable estimate reads",
        {200: {PARQUET: _BYTES}},
        _READ,
        _OPERATORS,
        query={"round": _FIRST_ROUND, "format": {"enum": ["parquet"], "default": "parquet"}},
    ),
    Operation(
        "show_limits",
        "GET /plans/{id}/discover",
        "How common a text or code must be to be found among the reports of a round",
        messages.TextLimits,
        _READ,
        _READERS,
        query={"round": ROUND},
    ),
    Operation(
        "discover_values",
        "POST /plans/{id}/discover",
        "The texts or codes of a question that many people have, from the reports of a round; it is logged",
        messages.Discovered,
        (*_READ, "large"),
        _OPERATORS,
        takes=as_json(messages.Sought),
        query={"round": _FIRST_ROUND, "name": TEXT},
        limits="A public list of at most 1,048,576 bytes, or none.",
    ),
    Operation(
        "show_access", "GET /access", "Whose token this is, and what it allows", messages.Access, (), ROLES
    ),
    Operation(
        "list_actions",
        "GET /actions",
        "What operators did, the newest first",
        messages.Actions,
        ("store",),
        _OPERATORS,
    ),
    Operation("show_health", "GET /health", "The collector runs", messages.Status),
    Operation(
        "show_ready",
        "GET /ready",
        "It runs and can write to its store, or could read its tables of reports at the last look",
        messages.Status,
        ("store",),
    ),
    Operation(
        "show_metrics",
        "GET /metrics",
        "Counters, in the text format of Prometheus",
        {200: {"text/plain; version=0.0.4; charset=utf-8": TEXT}},
        ("store",),
        ("operator", "metrics"),
    ),
    Operation(
        "show_openapi", "GET /openapi.json", "This description", {200: as_json({"type": "object"})}, ("path",)
    ),
    Operation("show_survey", "GET /", "The survey, in a browser", _HTML, ("path",), takes_any_query=True),
    Operation(
        "show_dashboard",
        "GET /dashboard",
        "The dashboard, in a browser",
        _HTML,
        ("path",),
        takes_any_query=True,
    ),
    Operation(
        "show_asset",
        "GET /assets/{name}",
        "A file of the pages",
        {200: {"*/*": _BYTES}, 304: {}},
        ("path",),
        takes_any_query=True,
    ),
)
