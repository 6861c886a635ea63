"""python -m deniable_device plan.json < answers.jsonl, or python -m deniable_device conform.

Each line of the first is {"answers": ..., "secret": ..., "round": ...}, and is answered by the report's bytes
in hexadecimal, or by an empty line in a round that is not the device's turn. That is what `deniable audit
--command` asks. A line without a secret is refused: nothing is kept here."""

from __future__ import annotations

import json
import sys

from deniable_device.client import make_report, turns_of
from deniable_device.conform import serve
from deniable_device.errors import DeviceError, InvalidParameter, Refused
from deniable_device.ledger import USUAL_CAP, allow, check_cap, counted
from deniable_device.plan import Plan

USAGE = (
    "usage: python -m deniable_device PLAN [--cap NATS] < answers.jsonl, or python -m deniable_device conform"
)


LINE = 'a line is {"answers": {...}, "secret": "at least 32 hexadecimal digits", "round": 1}'


def report_of(plan: Plan, line: str, number: int) -> bytes:
    """The report that a line asks for, empty where the device is silent; an error names the line."""
    try:
        request = json.loads(line)
        answers, secret = request["answers"], bytes.fromhex(request["secret"])
        if isinstance(answers, dict):
            round = request.get("round", 1)
            is_silent = plan.turns is not None and round not in turns_of(plan, secret)
            return b"" if is_silent else make_report(plan, answers, secret, round).to_bytes()
        problem = LINE
    except DeviceError as refusal:
        problem = str(refusal)
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = LINE
    raise InvalidParameter(f"line {number}: {problem}")


def main(arguments: list[str]) -> int:
    """Runs the program, and returns its exit code."""
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogatepass")  # type: ignore[union-attr]
    if arguments == ["conform"]:
        serve(sys.stdin, sys.stdout)
        return 0
    if len(arguments) not in (1, 3) or arguments[0] == "--help" or arguments[1:2] not in ([], ["--cap"]):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        with open(arguments[0], "rb") as file:
            plan = Plan(file.read())
        cap = check_cap(float(arguments[2])) if len(arguments) == 3 else USUAL_CAP
        try:
            allow(counted(plan), cap, "this plan")
        except Refused as refusal:
            print(f"{refusal}; --cap allows more", file=sys.stderr)
            return 1
        for number, line in enumerate(sys.stdin, 1):
            print(report_of(plan, line, number).hex())
    except (DeviceError, OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
