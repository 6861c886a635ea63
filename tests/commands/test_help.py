"""What `--help` shows: verbs by what they are for, plain phrases, and names for what options take."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint

import click
import pytest

from deniable.cli import ELSEWHERE, VERBS, Shell, commands
from deniable.commands.shared import elsewhere
from deniable.commands.shared.options import InOrder, Number
from tests.running import Run

TECHNICAL = re.compile(r"\b(TEXT|INTEGER|FLOAT|RANGE|PATH|FILENAME|BOOLEAN)\b")
STILTED = re.compile(
    r"\bOf (a|an|the|ranges|long|large)\b|\btold\b|\bis none of\b|\bthat is there\b|\bfor ever\b"
    r"|\banew\b|\bso many\b|\binvented\b|\bby who\b"
)


def walk(command: click.Command = commands, path: str = "deniable") -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, by how they are called."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.commands:
            if command is not commands or name not in ELSEWHERE:
                below = command.get_command(click.Context(command), name)
                assert below is not None
                yield from walk(below, f"{path} {name}")


EVERY = dict(walk())
OPTIONS = [
    (path, option)
    for path, command in EVERY.items()
    for option in command.params
    if isinstance(option, click.Option)
]


def test_verbs_are_listed_by_what_they_are_for(run: Run) -> None:
    listing = run("--help").out.partition("-h, --help")[2]
    shown = {
        heading: re.findall(r"^  ([\w-]+)  ", part, re.MULTILINE) for heading, part in _sections(listing)
    }
    assert shown == {heading: list(verbs) for heading, verbs in VERBS.items()}
    assert [heading.split()[0] for heading in VERBS] == ["Design", "Collect", "Read", "Check", "Do"]


def _sections(listing: str) -> list[tuple[str, str]]:
    parts = re.split(r"^(\S.*):$", listing, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def test_the_sentence_of_a_verb_is_that_of_its_own_help() -> None:
    context = click.Context(commands)
    sentences = {name: sentence for verbs in VERBS.values() for name, sentence in verbs.items()}
    for name in sentences.keys() - set(ELSEWHERE):  # the others are those of papers, whose tests look at them
        verb = commands.get_command(context, name)
        assert verb is not None
        assert verb.get_short_help_str(1000) == sentences[name], name


def test_requests_have_a_field_for_every_option() -> None:
    requests = {}
    for path, command in EVERY.items():
        assert command.callback is not None
        for name, member in vars(sys.modules[command.callback.__module__]).items():
            if name.endswith("Request"):
                requests[name] = path
                fields = [field.name for field in dataclasses.fields(member)]
                assert fields == list(dict.fromkeys(option.name for option in command.params)), path
    assert len(requests) >= 10


def test_help_loads_nothing_that_a_verb_needs() -> None:
    program = "import sys; from deniable.cli import commands; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert not [name for name in loaded.split() if name.startswith("deniable.commands")]


def test_every_exit_code_is_in_the_help(run: Run) -> None:
    shown = " ".join(run("--help").out.partition("Exit codes:")[2].split())
    assert re.findall(r"\d(?= (?:done|a file|the command|an audit))", shown) == list("01234")


def test_no_description_of_a_verb_is_cut() -> None:
    for path, command in EVERY.items():
        short = command.get_short_help_str(1000)
        assert path == "deniable" or 0 < len(short) <= 45, path
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=path, terminal_width=80)
            listing = command.get_help(context).partition("Commands:")[2]
            assert "..." not in listing
            assert "\n   " + " " * 8 not in listing, "a description takes two lines"


def test_every_option_has_a_plain_phrase() -> None:
    assert len(OPTIONS) > 100
    for path, option in OPTIONS:
        text = option.help or ""
        where = f"{path} {option.opts[0]}: {text}"
        assert re.fullmatch(r"[A-Z].*(\.|…|\])", text), where
        assert not STILTED.search(text), where
        for sentence in re.split(r"[.;:] ", text.partition("  [default")[0]):
            assert len(sentence.split()) <= 25, where


def test_no_description_is_stilted() -> None:
    for path, command in EVERY.items():
        assert not STILTED.search(" ".join((command.help or "").split())), path


def test_options_say_what_they_take() -> None:
    for path, command in EVERY.items():
        context = click.Context(command, info_name=path)
        for param in command.get_params(context):
            if isinstance(param, click.Option) and param.is_flag:
                continue
            metavar = param.make_metavar(context)
            assert not TECHNICAL.search(metavar), f"{path} {param.opts[0]} {metavar}"
            if isinstance(param.type, Number):
                assert metavar == "NUMBER"
    numbers = {(path, option.opts[0]) for path, option in OPTIONS if isinstance(option.type, Number)}
    assert {
        ("deniable plan", "--people"),
        ("deniable serve", "--port"),
        ("deniable audit", "--timeout"),
    } <= numbers


def test_groups_keep_the_order_of_their_definition() -> None:
    for path, command in EVERY.items():
        if isinstance(command, click.Group):
            assert isinstance(command, InOrder | Shell), path


@pytest.mark.parametrize(
    "arguments",
    [["reproduce"], ["reproduce", "--help"], ["reproduce", "rsfd", "--quick"], ["simulate", "--k", "4"]],
)
def test_a_verb_of_another_package_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(elsewhere, "entry_points", lambda **_: ())
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"error: deniable {arguments[0]} needs the package deniable-papers; in a clone of the project: "
        "pip install ./papers\n"
    )
    # whoever completes a line reads no refusal
    line = click.Context(commands, resilient_parsing=True)
    assert Shell("deniable", commands.commands).get_command(line, arguments[0]) is None


def test_a_verb_whose_package_lacks_a_dependency_says_which(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("simulate", "no_such_dependency:command", elsewhere.GROUP)
    monkeypatch.setattr(elsewhere, "entry_points", lambda **_: (point,))
    outcome = run("simulate")
    assert (outcome.code, outcome.out) == (2, "")
    assert "deniable simulate needs no_such_dependency, a dependency of deniable-papers" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "plan.json", "--port", "70000"], "it must be a whole number from 0 to 65535, got 70000"),
        (["attack", "plan.json", "--seed", "-1"], "it must be at least 0, got -1"),
        (["serve", "plan.json", "--minimum", "few"], "'few' is not a whole number up to 10^18"),
    ],
)
def test_numbers_out_of_range_are_refused(run: Run, arguments: list[str], message: str) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete ")]
)
def test_shells_can_complete_commands(shell: str, mark: str) -> None:
    program = [sys.executable, "-c", "from deniable.cli import main; main()"]
    asked = {"_DENIABLE_COMPLETE": f"{shell}_source"}
    script = subprocess.run(program, env=os.environ | asked, capture_output=True, text=True, check=False)
    if shell == "bash" and "Shell completion is not supported for Bash" in script.stderr:
        pytest.skip("this bash is too old to complete")
    assert mark in script.stdout
    assert "deniable" in script.stdout
    typed = {"_DENIABLE_COMPLETE": f"{shell}_complete", "COMP_WORDS": "deniable pl", "COMP_CWORD": "1"}
    if shell == "fish":
        typed["COMP_CWORD"] = "pl"
    found = subprocess.run(program, env=os.environ | typed, capture_output=True, text=True, check=True)
    assert "plan" in found.stdout
    assert "verify" not in found.stdout


def test_the_check_of_phrases_would_find_stilted_ones() -> None:
    for text in (
        "Of a long range it shows groups.",
        "Who is told apart.",
        "Overwrite the file that is there.",
    ):
        assert STILTED.search(text)


def test_a_number_that_click_would_read_would_be_found() -> None:
    for type_ in (click.INT, click.FLOAT, click.STRING, click.IntRange(0), click.Path()):
        option = click.Option(["--n"], type=type_)
        assert TECHNICAL.search(option.make_metavar(click.Context(click.Command("x"))))
