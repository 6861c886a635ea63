"""What `deniable reproduce --help` shows, and that verbs are found by their entry points."""

from __future__ import annotations

import re
from importlib.metadata import entry_points

import click
import pytest
from tests.commands.test_help import STILTED, TECHNICAL, walk
from tests.running import Run

from deniable.cli import VERBS
from deniable.commands.shared.elsewhere import GROUP
from deniable_papers.people.command import write_people
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.simulate.command import run_sweep

EVERY = {
    **dict(walk(reproduce_paper, "deniable reproduce")),
    "deniable simulate": run_sweep,
    "deniable simulate-people": write_people,
}


def test_the_entry_point_is_the_verb() -> None:
    sentences = {name: sentence for verbs in VERBS.values() for name, sentence in verbs.items()}
    for name, verb in (
        ("reproduce", reproduce_paper),
        ("simulate", run_sweep),
        ("simulate-people", write_people),
    ):
        [point] = entry_points(group=GROUP, name=name)
        assert point.load() is verb
        assert verb.get_short_help_str(1000) == sentences[name], name


def test_commands_are_listed_and_phrases_are_plain(run: Run) -> None:
    shown = re.findall(
        r"^  ([\w-]+)  ", run("reproduce", "--help").out.partition("Commands:")[2], re.MULTILINE
    )
    assert shown == list(reproduce_paper.commands)
    assert len(shown) == 18
    for path, command in EVERY.items():
        assert 0 < len(command.get_short_help_str(1000)) <= 45, path
        assert not STILTED.search(" ".join((command.help or "").split())), path
        for option in command.get_params(click.Context(command)):
            if isinstance(option, click.Option) and option.name != "help":
                assert re.fullmatch(r"[A-Z].*(\.|…|\])", option.help or ""), f"{path} {option.opts[0]}"
                assert not STILTED.search(option.help or ""), f"{path} {option.opts[0]}"
                metavar = "" if option.is_flag else option.make_metavar(click.Context(command))
                assert not TECHNICAL.search(metavar), f"{path} {option.opts[0]}"


@pytest.mark.parametrize("name", ["rsfd", "fairness"])
def test_numbers_out_of_range_are_refused(run: Run, name: str) -> None:
    outcome = run("reproduce", name, "--runs", "0")
    assert outcome.code == 2
    assert "it must be at least 1, got 0" in outcome.err
