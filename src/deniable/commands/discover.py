"""`deniable discover`: finds texts and codes that many people have, and that nobody listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console, options, reading, sources, writing
from deniable.commands.shared.options import COUNT, FILE, REAL, ROUND, argument, as_request, option, taken
from deniable.commands.shared.stores import find_actor, open_store_of
from deniable.domain.refusals import problem_of, refused_rows
from deniable.errors import InvalidValue

if TYPE_CHECKING:
    from deniable.discovery import Discovery, Query
    from deniable.explain.text_questions import UnlistedQuestion
    from deniable.frames import Show
    from deniable.study import Plan


@final
@dataclass(frozen=True)
class DiscoverRequest:
    """A plan, its reports, and which values to show."""

    plan: Path = argument("plan", type=FILE)
    reports: Path | None = argument("reports", type=FILE, required=False)
    source: sources.Source | None = taken(options.source)
    table: str | None = taken(sources.table)
    number: int | None = option(
        "--round", "number", type=ROUND, help="The round of a collector or a store.  [default: 1]"
    )
    token_file: Path | None = taken(options.token_file)
    name: str | None = option(
        "--name", metavar="QUESTION", help="Which question of text or codes, where there are several."
    )
    words: Path | None = option(
        "--words",
        type=FILE,
        help="A public list, a value a line; not made from these reports. It finds rarer ones.",
    )
    alpha: float = option(
        "--alpha", type=REAL, default="0.05", help="The chance that any value is shown which nobody has."
    )
    least: int = option(
        "--least",
        type=COUNT,
        default="50",
        help="Show only values that at least this many people have, by their plain shares.",
    )
    out: Sequence[Path] = taken(writing.out)
    plot_files: Sequence[Path] = taken(writing.plot("the shares of all values that were found"))
    as_json: bool = taken(console.as_json)
    force: bool = taken(console.force)


@click.command("discover")
@as_request(DiscoverRequest)
def discover_file(request: DiscoverRequest) -> None:
    """Find texts and codes that nobody listed.

    They come from the reports themselves: of a file, of a table with --from, or of a collector or its store,
    whose log then says so. Values of fewer than --least people, by their plain shares, are not shown: they
    are somebody's words.
    """
    from deniable.discovery import Query
    from deniable.results.discoveries import find_question

    source = sources.find_source(request.reports, request.source)
    writing.check(request.out, request.plot_files, request.force)
    read = reading.read_plan(request.plan)
    question = find_question(read.document, request.name, shell=True)
    listed = None if request.words is None else _read_words(request.words, question)
    token = None if source is None else reading.find_token(source, request.token_file)
    with console.progress("finding") as show:
        if source is None or sources.is_table(source, request.table):
            where = request.reports if source is None else source
            discovery = read.discover(
                where,
                request.table,
                name=request.name,
                words=listed,
                alpha=request.alpha,
                least=request.least,
                show=show,
            )
        else:
            query = Query(request.name, listed, request.alpha, request.least)
            discovery = _ask_collector(read, str(source), request.number, query, token, show)
    about = {"plan": read.id} | discovery.to_dict()
    writing.write_tables(request.out, about["found"], about)
    writing.save_plots(request.plot_files if len(discovery) else (), discovery.plot)
    if request.as_json:
        console.print_json(about)
    else:
        click.echo(str(discovery))


def _ask_collector(
    plan: Plan, source: str, number: int | None, query: Query, token: str | None, show: Show
) -> Discovery:
    """What a collector finds at its address, or this process in its store."""
    if token is not None:
        from deniable.collect.reading import fetch_discovery

        return fetch_discovery(plan, source, number, query, token)
    from deniable.collect.discovery import find_values

    with open_store_of(source, plan, None, create=False) as store:
        return find_values(store, plan, number or 1, query, find_actor(), show)


def _read_words(path: Path, question: UnlistedQuestion) -> list[str]:
    """A public list, a value in each line that is not empty; a bad line is named by its number."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InvalidValue(f"{path.name} is not text in UTF-8, with a value in each line") from None
    listed = {number: line.strip() for number, line in enumerate(lines, 1) if line.strip()}
    if not listed:
        raise InvalidValue(f"{path.name} is empty: a public list has at least one word, a value in each line")
    numbers, words = list(listed), list(listed.values())
    bad = next(refused_rows(question.domain, words, missing=True), None)
    if bad is not None:
        problem = problem_of(question.domain, words[bad], question.name)
        raise InvalidValue(f"{path.name}, line {numbers[bad]}: {problem}")
    return words
