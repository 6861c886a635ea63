"""Reads tallies from a collector by its address, or from its store."""

from __future__ import annotations

import json
import shutil
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar, final

from deniable.engines.sources import NAME_TABLE
from deniable.errors import DeniableError, InvalidParameter
from deniable.formatting import format_members
from deniable.plan.document import PlanDocument
from deniable.reports import Reports, Tallies

if TYPE_CHECKING:
    from deniable.store.store import Store

Answer = TypeVar("Answer")

_LONGEST = 1 << 28  # bytes of tallies
_SECONDS = 60.0
_WORK = 1800.0  # to search many millions of reports
CHOOSE = "choose one with --round (number=1 in Python)"
"""How a round is chosen, unless a caller says how."""
_ASK = "; ask for one of them"  # as a collector says it


@final
class TooFew(DeniableError):
    """A collector shows no results of so few reports."""


class Collected(NamedTuple):
    """Tallies, and their round; None where no round was named and none has reports."""

    round: int | None
    tallies: Tallies


@final
@dataclass(frozen=True)
class Collector:
    """A collector by its address, or that of its dashboard, and the token of its operator or of a reader."""

    source: str
    token: str | None = field(default=None, repr=False)
    choose: str = CHOOSE
    """What to do where several rounds have reports, in words."""

    @cached_property
    def address(self) -> str:
        """The address that all paths begin with."""
        parts = urllib.parse.urlsplit(self.source)
        path = parts.path.rstrip("/").removesuffix("/dashboard")
        return urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))

    def ask(
        self,
        path: str,
        read: Callable[[Any], Answer],
        expected: str,
        parameters: Mapping[str, str] = MappingProxyType({}),
        body: bytes | None = None,
    ) -> Answer:
        """Read the JSON at a path; with a body, once the collector has worked on it."""
        with self.fetch(path, parameters, body) as answer:
            raw = answer.read(_LONGEST)
        try:
            return read(json.loads(raw))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise DeniableError(
                f"what is at {self.address} is not a collector: it answered something else than {expected}"
            ) from None

    @contextmanager
    def fetch(
        self, path: str, parameters: Mapping[str, str] = MappingProxyType({}), body: bytes | None = None
    ) -> Iterator[BinaryIO]:
        """What a path answers, to be read; a refusal has the collector's reason."""
        suffix = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        request = urllib.request.Request(f"{self.address}{path}{suffix}", body)
        if self.token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS if body is None else _WORK) as answer:
                yield answer
        except urllib.error.HTTPError as refusal:
            with refusal:
                reason, why = _read_refusal(refusal.read(10_000), str(refusal))
            if refusal.code == 401:
                why = (
                    "this is not its operator's token, or not any more. The one that holds is in "
                    "operator.token in the folder where it was started, or in its DENIABLE_TOKEN; give it "
                    "with --token-file, in DENIABLE_TOKEN, or as the token of dn.Results"
                )
            elif refusal.code == 400 and "round" not in parameters:
                why = f"{why.rstrip('.').removesuffix(_ASK)}; {self.choose}"
            kind = TooFew if reason == "few" else DeniableError
            raise kind(f"the collector at {self.address} refused: {why}") from None
        except OSError as problem:  # also no answer in time, or no such address
            raise self._unreachable(problem) from None

    def ask_of(
        self,
        document: PlanDocument,
        what: str,
        number: int | None,
        read: Callable[[Any], Answer],
        expected: str,
        parameters: Mapping[str, str] = MappingProxyType({}),
        body: bytes | None = None,
    ) -> Answer:
        """Read what a collector says of a round of a plan."""
        in_round = {} if number is None else {"round": str(number)}
        return self.ask(f"/plans/{document.id}/{what}", read, expected, in_round | dict(parameters), body)

    def tally(self, document: PlanDocument, number: int | None = None) -> Collected:
        """The tallies of a round, or of the only one with reports."""

        def read(said: dict[str, Any]) -> tuple[Tallies, object]:
            for name in ("day", "outdated"):  # of tables of reports
                said.pop(name, None)
            return Tallies.from_dict(said), said.get("round")

        tallies, answered = self.ask_of(document, "tallies", number, read, "tallies")
        if tallies.plan_id != document.id:
            raise DeniableError(f"the collector at {self.address} answered with the tallies of another plan")
        return Collected(answered if type(answered) is int else number, tallies)

    def refuse_silence(self) -> None:
        """Refuse an address at which nobody answers."""
        try:
            urllib.request.urlopen(f"{self.address}/health", timeout=_SECONDS).close()
        except urllib.error.HTTPError as refusal:
            refusal.close()
        except OSError as problem:
            raise self._unreachable(problem) from None

    def _unreachable(self, problem: OSError) -> DeniableError:
        return DeniableError(
            f"the collector at {self.address} cannot be reached: {getattr(problem, 'reason', problem)}; is "
            "it running, and is this its address?"
        )


def is_collector(source: object) -> bool:
    """Whether a source is the address of a collector."""
    return isinstance(source, str) and source.startswith(("http://", "https://"))


def tally_store(document: PlanDocument, source: str, number: int | None, by: object) -> Tallies:
    """The tallies of a collector's store, of a round, or of the only one with reports."""
    if by is not None:
        raise InvalidParameter(
            f"a collector's store has counted its reports together, got by={by!r}; write them to files with "
            "deniable export, and count these"
        )
    try:
        return fetch_tallies(document, source, number).tallies
    except InvalidParameter as problem:
        if problem.reason != "store" or source.startswith("sqlite:"):
            raise
        raise InvalidParameter(f"{problem}; or {NAME_TABLE}") from None


def fetch_tallies(
    document: PlanDocument,
    source: str,
    number: int | None = None,
    token: str | None = None,
    choose: str = CHOOSE,
) -> Collected:
    """The tallies of a round, or of the only one with reports, from http://, sqlite:/// or postgresql://"""
    if is_collector(source):
        return Collector(source, token, choose).tally(document, number)
    from deniable.store.store import open_store

    with closing(open_store(source, create=False)) as store:
        refuse_unknown(store, document)
        if number is None:
            counted = [stored.number for stored in store.rounds(document.id) if stored.counted]
            _refuse_several(document, counted, choose)
        return Collected(*store.tallied(document.id, number))


def list_opened(document: PlanDocument, source: str, token: str | None = None) -> list[int]:
    """The rounds that were opened, from http://, sqlite:/// or postgresql://"""
    if is_collector(source):
        return Collector(source, token).ask_of(
            document, "rounds", None, lambda said: [times["number"] for times in said["rounds"]], "rounds"
        )
    from deniable.store.store import open_store

    with closing(open_store(source, create=False)) as store:
        refuse_unknown(store, document)
        return [times.number for times in store.rounds(document.id)]


def fetch_reports(
    document: PlanDocument, source: str, number: int, token: str | None = None
) -> list[Reports]:
    """The reports of a round that are not scrubbed, from http://, sqlite:/// or postgresql://"""
    if is_collector(source):
        from deniable.engines import parquet

        address = f"/plans/{document.id}/reports"
        with tempfile.TemporaryDirectory(prefix="deniable-") as folder:
            path = Path(folder) / "reports.parquet"
            fetched = Collector(source, token).fetch(address, {"round": str(number)})
            with fetched as answer, path.open("wb") as file:
                shutil.copyfileobj(answer, file)
            blocks = parquet.read_reports(path, document.table_form)
            return [Reports(document.id, block.records, block.round, block.ids) for block in blocks]
    from deniable.store.store import open_store

    with closing(open_store(source, create=False)) as store:
        refuse_unknown(store, document)
        return list(store.reports(document.id, number))


def refuse_unknown(store: Store, document: PlanDocument) -> None:
    """Refuse a plan that a store does not have."""
    plans = [known.document.id for known in store.plans()]
    if document.id not in plans:
        raise unknown(store, document.id, plans)


def unknown(store: Store, plan_id: str, plans: Iterable[str]) -> InvalidParameter:
    """The message for a plan that a store does not have."""
    known = ", ".join(identifier[:12] for identifier in plans)
    has = f"it has {known}" if known else "it is empty"
    return InvalidParameter(
        f"{store.name} has no plan {plan_id[:12]}; {has}: name another plan, or another store"
    )


def _refuse_several(document: PlanDocument, numbers: Sequence[int], choose: str) -> None:
    """Refuse to choose among rounds."""
    if len(numbers) < 2:
        return
    rounds = format_members("round", numbers)
    if document.most_reports == 1:
        raise InvalidParameter(
            f"other people answered in each of {rounds}, and a store is asked for one; {choose}. In Python, "
            "plan.join adds up the results of rounds"
        )
    raise InvalidParameter(f"the same people answered in {rounds}, which are not added up; {choose}")


def _read_refusal(raw: bytes, otherwise: str) -> tuple[str, str]:
    """A collector's reason in a word, and in a sentence."""
    try:
        said = json.loads(raw)
        return str(said.get("reason")), str(said["detail"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return "", otherwise
