"""Writes spec/api.json, the OpenAPI description of the collector: python spec/make_api.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from deniable.collect import messages
from deniable.collect.messages import REASONS
from deniable.collect.openapi import HEX, OPERATIONS, ROUND, TEXT, Operation, as_json
from deniable.store.access import ROLES

FILE = Path(__file__).with_name("api.json")
_VERSION = "1"
"""The version of the API, which changes less often than that of the package."""
_EVERYWHERE = ("rate", "busy", "fault")
_SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of an operator, a reader (results alone) or of metrics (/metrics alone)",
    },
    "invitation": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Invitation <token>`, for a plan that takes invited reports only; `Ticket <ticket>`, "
        "for reports of a plan that has a ticket key",
    },
}


def write_text() -> str:
    """The text of the file."""
    return json.dumps(describe(), indent=1, ensure_ascii=False) + "\n"


def describe() -> dict[str, Any]:
    """The OpenAPI 3.1 description of the table of operations."""
    subclasses = sorted(messages.Message.__subclasses__(), key=lambda message: message.__name__)
    _, schemas = msgspec.json.schema_components(subclasses, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe_operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Deniable collector",
            "version": _VERSION,
            "description": "Collects reports that were randomized on people's devices, and says what they "
            "add up to.",
        },
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": _SECURITY},
    }


def _describe_operation(operation: Operation) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    answers = operation.answers
    for status, content in ({200: as_json(answers)} if isinstance(answers, type) else answers).items():
        responses[str(status)] = {"description": "Done" if status != 304 else "As before"} | (
            {"content": _content(content)} if content else {}
        )
    reasons = dict.fromkeys((*operation.refuses, *_EVERYWHERE, *_needed(operation)))
    for status in sorted({REASONS[reason][0] for reason in reasons}):
        why = " ".join(
            f"`{reason}`: {REASONS[reason][1]}" for reason in reasons if REASONS[reason][0] == status
        )
        responses[str(status)] = {"description": why, "content": _content(as_json(messages.Problem))}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": responses,
        "parameters": _parameters(operation),
    }
    if operation.takes:
        described["requestBody"] = {"required": True, "content": _content(operation.takes)}
        if operation.limits:
            described["requestBody"]["description"] = operation.limits
    if operation.roles:
        described["security"] = [{"token": [role]} for role in operation.roles]
    elif operation.invitation:
        described["security"] = [{}, {"invitation": []}]
    return described


def _needed(operation: Operation) -> tuple[str, ...]:
    """Why a query or a token may be refused; a token's owner is looked up in the store."""
    query = () if operation.takes_any_query else ("parameter",)
    if not operation.roles:
        return query
    return (*query, "token", *(("role",) if operation.roles != ROLES else ()), "store")


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    in_path = {"id": HEX, "number": ROUND, "name": {**TEXT, "pattern": "^[A-Za-z0-9._-]+$"}}
    return [
        *(
            {"name": name, "in": "path", "required": True, "schema": schema}
            for name, schema in in_path.items()
            if f"{{{name}}}" in operation.path
        ),
        *({"name": name, "in": "query", "schema": schema} for name, schema in operation.query.items()),
    ]


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        kind: {
            "schema": {"$ref": f"#/components/schemas/{what.__name__}"} if isinstance(what, type) else what
        }
        if what
        else {}
        for kind, what in content.items()
    }


if __name__ == "__main__":
    FILE.write_text(write_text(), encoding="utf-8")
