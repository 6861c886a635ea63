"""`deniable serve`: collects reports over HTTP, with a survey and a dashboard."""

from __future__ import annotations

import ipaddress
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console, reading, sources
from deniable.commands.shared.options import (
    COUNT,
    FILE,
    PORT,
    REAL,
    ROUND,
    WHOLE,
    argument,
    as_request,
    option,
    taken,
)
from deniable.commands.shared.stores import find_actor, register_plan, store_option, suggest_extra
from deniable.errors import DeniableError, InvalidParameter
from deniable.formatting import format_time

if TYPE_CHECKING:
    from deniable.collect.intake import Served
    from deniable.store.store import Store
    from deniable.study import Plan


@final
@dataclass(frozen=True)
class ServeRequest:
    """The plans to serve, where, and what to take."""

    plans: Sequence[Path] = argument("plans", type=FILE, nargs=-1)
    source: str | None = option(
        "--from",
        "source",
        metavar="ADDRESS",
        help="Show results by day from a table of reports, without survey and store: a folder, "
        "'reports/*.parquet', tallies.json, or with --table a database. Without PLANS, those in the folder.",
    )
    table: str | None = taken(sources.table)
    by: str = option("--by", metavar="NAME", default="day", help="The column or folder of days, with --from.")
    host: str = option("--host", metavar="ADDRESS", default="127.0.0.1", help="Listen on this address.")
    port: int = option("--port", type=PORT, default="8000", help="Listen on this port; 0 is any free one.")
    url: str | None = option(
        "--url",
        metavar="ADDRESS",
        help="The one address of the survey, such as https://example.org; it refuses to be answered at "
        "another.",
    )
    store: str = taken(store_option)
    minimum: int = option(
        "--minimum", type=COUNT, default="100", help="Show no estimates from fewer reports."
    )
    invited: bool = option(
        "--invited", is_flag=True, help="Take only reports with an invitation; see deniable tokens."
    )
    keys: Sequence[Path] = option(
        "--ticket-key",
        "keys",
        type=FILE,
        multiple=True,
        help="The key file of a plan that was made with --ticket-key; may be repeated.",
    )
    number: int | None = option(
        "--round", "number", type=ROUND, help="Open this round now, unless it is defined already."
    )
    origins: Sequence[str] = option(
        "--allow-origin",
        "origins",
        metavar="ADDRESS",
        multiple=True,
        help="Take reports from the pages of this site, such as https://example.org; may be repeated.",
    )
    token_file: Path = option(
        "--token-file",
        type=FILE,
        default=Path("operator.token"),
        help="The file of the operator's token, made if missing; DENIABLE_TOKEN goes first.",
    )
    rate: float = option(
        "--rate",
        type=REAL,
        default="50",
        help="Requests per second that one sender may make, with bursts of ten times as many; 0 sets no "
        "limit.",
    )
    proxy: str | None = option(
        "--proxy",
        metavar="ADDRESS",
        help="The address of your reverse proxy, which names the sender (X-Forwarded-For).",
    )
    certificate: Path | None = option(
        "--certificate",
        type=FILE,
        help="Serve HTTPS with this certificate (PEM, the whole chain); it is read again when it changes.",
    )
    private: Path | None = option(
        "--key", "private", type=FILE, help="The key of --certificate (PEM, without a password)."
    )
    sweep: float = option(
        "--sweep",
        type=REAL,
        default="60",
        help="Seconds after which the store forgets in which order reports came.",
    )
    workers: int = option("--workers", type=WHOLE, default="1", hidden=True, help="Not supported.")


@click.command("serve")
@as_request(ServeRequest)
def run_collector(request: ServeRequest) -> None:
    """Collect reports, with survey and dashboard.

    The survey is at / and the dashboard at /dashboard. Every plan is verified first; one that leaks more than
    it states is refused. SIGTERM or Ctrl+C ends the collector: it writes what has arrived, and loses nothing
    that it acknowledged.
    """
    if request.source is None and not request.plans:
        raise click.UsageError("Missing argument 'PLANS...'", click.get_current_context())
    if request.workers != 1:
        raise InvalidParameter(
            "a collector is one process with one writer; for more, start several on one PostgreSQL, behind a "
            "reverse proxy"
        )
    if not 0 <= request.rate < 1e9:
        raise InvalidParameter(f"--rate is the number of requests a second, 0 or more, got {request.rate:g}")
    if not 0.1 <= request.sweep <= 3600:
        raise InvalidParameter(f"--sweep is a number of seconds from 0.1 to 3600, got {request.sweep:g}")
    url = None if request.url is None else _checked_url(request.url)
    if (request.certificate is None) is not (request.private is None):
        raise InvalidParameter(
            "HTTPS takes a certificate and its key; name both, with --certificate and --key, or none"
        )
    if request.source is not None:
        _serve_warehouse(request, request.source)
        return
    for origin in request.origins:
        if not origin.startswith(("http://", "https://")) or origin.count("/") != 2:
            raise InvalidParameter(f"an origin is like https://example.org, without a path; got {origin!r}")
    read: dict[str, Plan] = {}
    for file in request.plans:
        plan = reading.read_plan(file)
        if plan.id in read:
            raise InvalidParameter(f"plan {plan.id[:12]}, in {file}, is named twice; name every plan once")
        read[plan.id] = plan
    from deniable.commands.shared.ticket_keys import read_signers

    _warn_of_readers(request.keys)
    signers = read_signers(read.values(), request.keys)
    with suggest_extra():
        from deniable.collect import serving
        from deniable.collect.app import Collector, Settings
        from deniable.collect.certificates import Certificate
        from deniable.collect.intake import Intake, Served
        from deniable.collect.limits import Limits
        from deniable.store.store import open_store

        pair = None
        if request.certificate and request.private:
            pair = Certificate(request.certificate, request.private)
    limits = Limits(rate=request.rate, burst=max(1.0, 10 * request.rate))
    # what can be wrong is looked at before a store or a token is made, so that a failure leaves neither
    most_rounds = max(wire.rounds for wire in Intake(map(Served, read.values()), limits).wires)
    if request.number is not None and request.number > most_rounds:
        raise InvalidParameter(f"--round: no plan here has a round {request.number}")
    serving.find_operator_token(request.token_file)
    with serving.listen(request.host, request.port) as taken:
        with suggest_extra():
            opened = open_store(request.store)
        if problems := opened.find_damage():  # before anything is added to it
            more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
            raise DeniableError(f"{opened.name} is damaged: {problems[0]}{more}; restore a backup")
        if request.private is not None:
            _warn_of_readers([request.private])
        if request.store.startswith("sqlite:///"):
            path = Path(request.store.removeprefix("sqlite:///"))
            _warn_of_readers([path, *(Path(f"{path}-{end}") for end in ("wal", "shm"))])
        before = {known.document.id: known.invited for known in opened.plans()}
        served = [
            Served(
                plan,
                request.invited or plan.ticket_key is not None or before.get(plan.id, False),
                signers.get(plan.id),
            )
            for plan in read.values()
        ]
        for survey in served:
            register_plan(opened, survey.plan, survey.invited)
            _open_first(opened, survey, request.number)
        token, origin = serving.operator_token(request.token_file)
        address = serving.address_of(taken, "https" if pair else "http")
        outside = serving.outside_address(taken)
        if url is None and outside is None and request.proxy is None:
            url = address
        settings = Settings(token, request.minimum, frozenset(request.origins), limits, request.sweep, url)
        collector = Collector(opened, open_store(request.store), served, settings)
        _warn_of_closed_rounds(opened, served, time.time())
        _warn_of_fakes(served)
        _warn_of_limits(read.values())
        for exposure in opened.exposures():
            console.warn(exposure.text)
        opened.tidy()
        _print_addresses(url or address, served, token, origin)
        if url is None:
            console.warn(
                "the survey can be answered under every name of this machine, and a browser that comes by "
                "another name knows nothing of its reports: it sends a second one, and counts its losses "
                "anew. Name the one address with --url"
            )
        if outside is not None and request.proxy is None and pair is None:
            console.warn(
                f"from other machines this is {outside}/, where no survey can be answered: browsers give a "
                "page the cryptography that it takes only over https, or on the machine itself. Name a "
                "certificate with --certificate and --key, or put a reverse proxy before it and name that "
                "with --proxy (docs/collecting.md)"
            )
        serving.run(collector, taken, request.proxy, pair)
    console.note("stopped; everything that was acknowledged is on disk")


_OF_INTAKE = ("invited", "keys", "number", "origins", "proxy", "url")


def _serve_warehouse(request: ServeRequest, source: str) -> None:
    """Show results of a table of reports by day, on the dashboard alone."""
    from deniable.engines.databases import hide_password

    context = click.get_current_context()
    by_hand = click.core.ParameterSource.COMMANDLINE
    for name in (*_OF_INTAKE, "store", "sweep"):
        if context.get_parameter_source(name) == by_hand:
            raise InvalidParameter(
                "--from shows results of a table, and takes no reports: leave out what is about taking "
                f"reports, such as {next(p.opts[-1] for p in context.command.params if p.name == name)}"
            )
    if not sources.is_table(source, request.table):
        raise InvalidParameter(
            "--from names a table of reports; a collector or its store has a dashboard of its own"
        )
    files = list(request.plans)
    if not files and Path(source).is_dir():
        files = sorted(Path(source).glob("*.json"))
    if not files:
        raise InvalidParameter(
            f"name the plan of these reports: deniable serve plan.json --from {hide_password(source)}"
        )
    plans = {plan.id: plan for plan in map(reading.read_plan, files)}
    for plan in list(plans.values()):
        for before in plan.document.continues:
            plans.setdefault(before.id, replace(plan, document=before))
    with suggest_extra():
        from deniable.collect import serving
        from deniable.collect.app import Settings
        from deniable.collect.certificates import Certificate
        from deniable.collect.intake import Served
        from deniable.collect.limits import Limits
        from deniable.collect.warehouse import Dashboard, Warehouse

        pair = None
        if request.certificate and request.private:
            pair = Certificate(request.certificate, request.private)
    limits = Limits(rate=request.rate, burst=max(1.0, 10 * request.rate))
    served = [Served(plan) for plan in plans.values()]
    serving.find_operator_token(request.token_file)
    with serving.listen(request.host, request.port) as taken:
        with console.progress("counting") as show:
            warehouse = Warehouse(plans.values(), source, request.table, request.by, request.minimum, show)
        token, origin = serving.operator_token(request.token_file)
        address = serving.address_of(taken, "https" if pair else "http")
        _print_addresses(address, served, token, origin, survey=False)
        outside = serving.outside_address(taken)
        if outside is not None and pair is None:
            console.warn(
                f"from other machines this is {outside}/dashboard, and the token and all results go there "
                "without encryption. Name a certificate with --certificate and --key"
            )
        settings = Settings(token, request.minimum, limits=limits)
        serving.run(Dashboard(warehouse, served, settings), taken, None, pair)
    console.note("stopped")


def _warn_of_closed_rounds(store: Store, served: Sequence[Served], now: float) -> None:
    """Warns of plans whose reports are refused now, since no round of theirs is open."""
    offers = store.offers()
    for survey in served:
        rounds = offers[survey.plan.id].rounds
        if any(times.is_open(now) for times in rounds):
            continue
        later = [
            (times.opens, times.number) for times in rounds if times.opens is not None and times.opens > now
        ]
        if later:
            opens, number = min(later)
            console.warn(
                f"round {number} of plan {survey.plan.id[:12]} is not open yet: its reports are refused "
                f"until {format_time(opens)}, and this machine's clock says {format_time(now)}; deniable "
                "rounds opens it now"
            )
        else:
            console.warn(
                f"no round of plan {survey.plan.id[:12]} is open: its reports are refused; deniable rounds "
                "opens one"
            )


def _warn_of_fakes(served: Sequence[Served]) -> None:
    """Warns of plans that anybody may answer, and of which a few fake reports would move the shares."""
    from deniable.choose import warn_uninvited
    from deniable.explain.explain import reconsider

    for survey in served:
        text = None if survey.invited else warn_uninvited(reconsider(survey.plan.document, ()))
        if text is not None:
            console.warn(f"plan {survey.plan.id[:12]}: {text}")


def _warn_of_limits(plans: Iterable[Plan]) -> None:
    """Warns of plans that devices refuse, unless their people have raised the limit."""
    from deniable.explain.device_limit import warn_limit

    for plan in plans:
        text = warn_limit(plan.document)
        if text is not None:
            console.warn(f"plan {plan.id[:12]}: {text[0].lower()}{text[1:]}")


def _warn_of_readers(files: Sequence[Path]) -> None:
    """Warns of files of the store, or of keys, that others on this machine can read, such as copies."""
    if os.name != "posix":
        return
    shared = [str(file) for file in files if file.exists() and file.stat().st_mode & 0o077]
    if shared:
        console.warn(
            f"others on this machine may read {', '.join(shared)}; forbid it with: chmod 600 "
            f"{' '.join(shared)}"
        )


def _checked_url(url: str) -> str:
    """The address of a survey, without a slash at its end."""
    from urllib.parse import urlsplit

    checked = url.rstrip("/")
    try:
        parts = urlsplit(checked)
        scheme, host = parts.scheme, parts.hostname or ""
        is_address = scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        scheme = host = ""
        is_address = False
    if not is_address or re.search(r'[?#@\s\\<>"^`{|}]', checked):
        raise InvalidParameter(f"--url is the survey's address, such as https://example.org, got {url!r}")
    if scheme == "http" and not _is_here(host):
        raise InvalidParameter(
            f"--url begins with https://, got {url!r}: browsers give a page over plain http no cryptography, "
            "so nobody could answer; only this machine itself can do without"
        )
    return checked


def _is_here(host: str) -> bool:
    """Whether a browser takes a host for the machine that it runs on."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _open_first(store: Store, survey: Served, number: int | None) -> None:
    """A plan without rounds is open from now on; a round that is defined stays as it is."""
    defined = {times.number for times in store.offers()[survey.plan.id].rounds}
    if number is not None and number > survey.wire.rounds:  # it is another plan's
        number = None
    if number not in defined and (number is not None or not defined):
        store.set_round(survey.plan.id, number or 1, by=find_actor())


def _print_addresses(
    address: str, served: Sequence[Served], token: str, origin: str, survey: bool = True
) -> None:
    names = reading.name_plans([offered.plan for offered in served])
    for offered, name in zip(served, names, strict=True):
        how = " (by invitation)" if offered.invited else ""
        how = how if offered.plan.ticket_key is None else " (by invitation, with tickets)"
        click.echo(f"plan       {offered.plan.id[:12]}  {name}{how}")
    if survey:
        click.echo(f"survey     {address}/")
    if origin == "new":  # the only time that the token is shown
        click.echo(f"dashboard  {address}/dashboard#token={token}")
    else:
        click.echo(f"dashboard  {address}/dashboard (the token is in {origin})")
