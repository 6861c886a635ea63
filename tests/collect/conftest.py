"""Fixtures of journeys through the pages: two collectors for all of them, and a visit to the open one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from spec.make.keys import signing_key
from tests.collector import Running, collecting
from tests.running import run_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from deniable.study import Plan
    from tests.collect.journeys import Visit

JOURNEYS = ["cross", "first_load", "keyboard", "known", "pages", "plans", "same_numbers", "survey"]


def _list_plans(kind: str) -> list[Plan]:
    """The plans that modules of journeys have for a collector, each once."""
    modules = [import_module(f"tests.collect.test_{name}") for name in JOURNEYS]
    plans = {plan.id: plan for module in modules for plan in getattr(module, kind, ())}
    return [*plans.values()]


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A collector that takes reports of everybody, with 400 of FILLED."""
    from tests.collect.journeys import post
    from tests.collect.test_pages import FILLED

    with collecting(tmp_path_factory.mktemp("open"), _list_plans("PLANS"), "--minimum", "50") as running:
        post(running, FILLED, 400)
        yield running


@pytest.fixture(scope="session")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A collector that takes reports only with invitations or tickets."""
    folder, plans, options = tmp_path_factory.mktemp("closed"), _list_plans("CLOSED"), ["--invited"]
    for plan in plans:
        if plan.ticket_key is not None:
            [key] = [each for each in map(signing_key, range(2)) if each.public == plan.ticket_key]
            key.write(folder / f"{plan.id}.key", plan.id)
            options += ["--ticket-key", f"{plan.id}.key"]
    with collecting(folder, plans, *options) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, collector: Running) -> Iterator[Visit]:
    from tests.collect.journeys import visiting

    with visiting(browser, collector) as visit:
        yield visit


@pytest.fixture
def tokens() -> Callable[..., list[str]]:
    """Rows of `deniable tokens` for plans of a collector, in its folder."""

    def make_tokens(running: Running, plans: Sequence[Plan], *options: str) -> list[str]:
        texts = {file.name: file.read_text() for file in running.folder.glob("plan-*.json")}
        files = [name for plan in plans for name, text in texts.items() if plan.id in text]
        made = run_in(running.folder, "tokens", *files, *options)
        assert made.code == 0, made.err
        return made.out.split()[1:]

    return make_tokens
