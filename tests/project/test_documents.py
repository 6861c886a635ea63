"""Every command that the documents show can be given, and what they tell an operator to run does run."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import click
import httpx
import pytest
from rich.console import Console

import deniable as dn
from deniable.cli import ELSEWHERE, commands
from deniable.commands.shared import console
from deniable.store.store import Arrival, open_store
from deniable.study import Plan
from deniable.wire import Wire
from tests.certificates import Authority
from tests.collector import run_program
from tests.forking import Forked
from tests.running import Run

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    str(file.relative_to(ROOT))
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("spec/*.md")]
)
OPERATORS = ("docs/collecting.md", "docs/tickets.md", "docs/operating.md", "docs/dashboard.md")


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(text: str) -> list[str]:
    """What is to be typed into a shell."""
    return re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def lines(text: str) -> list[str]:
    """Whole commands: those of blocks for the shell, and those after a prompt."""
    typed = [line for block in blocks(text) for line in block.splitlines() if line.startswith("deniable ")]
    return (
        typed
        + re.findall(r"^\$ (deniable .*)$", text, re.MULTILINE)
        + re.findall(r"^ExecStart=\S*/(deniable .*)$", text, re.M)
    )


def mentions(text: str) -> list[str]:
    """Commands within sentences, which may leave out what they are given."""
    return [" ".join(found.split()) for found in re.findall(r"`(deniable [a-z][^`]*)`", text)]


def command_of(words: Sequence[str]) -> tuple[click.Command, click.Context, list[str]]:
    """The command that these words call, and its own arguments."""
    command: click.Command = commands
    context, rest = click.Context(commands, info_name="deniable"), list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        _, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command, context = found, click.Context(found, context, info_name=found.name)
    return command, context, rest


def is_of_papers(line: str) -> bool:
    """Whether a command is of the package deniable-papers, whose tests read it."""
    return line.split()[1] in ELSEWHERE


def parse(line: str) -> None:
    """Read a whole command as the command line does, and stop before anything is done."""
    command, context, rest = command_of(shlex.split(line, comments=True)[1:])
    command.parse_args(context, rest)


def refuse_unknown_options(line: str) -> None:
    """Of a command within a sentence, its name and its options."""
    command, context, rest = command_of(shlex.split(line)[1:])
    known = {
        name for option in command.get_params(context) for name in (*option.opts, *option.secondary_opts)
    }
    for word in rest:
        if word.startswith("-"):
            assert word.partition("=")[0] in known, f"{word} is no option of: {line}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_of_the_documents_can_be_given(document: str) -> None:
    text = text_of(document)
    for line in lines(text):
        if not is_of_papers(line):
            parse(line)
    for line in mentions(text):
        if not is_of_papers(line):
            refuse_unknown_options(line)


def test_there_are_commands_to_check() -> None:
    found = [line for document in DOCUMENTS for line in lines(text_of(document))]
    assert {line.split()[1] for line in found} >= {
        "init",
        "plan",
        "serve",
        "tokens",
        "rounds",
        "estimate",
        "verify",
    }
    assert len([line for document in DOCUMENTS for line in mentions(text_of(document))]) > 10


@pytest.mark.parametrize(
    "wrong", ["serv plan.json", "watch", "serve plan.json --prot 8000", "store chek", "tokens"]
)
def test_a_wrong_command_would_be_found(wrong: str) -> None:
    with pytest.raises(click.UsageError):
        parse(lines(f"```sh\ndeniable {wrong}  # comment\n```\n")[0])
    if "--" in wrong:
        with pytest.raises(AssertionError, match="no option"):
            refuse_unknown_options(mentions(f"Use `deniable {wrong}`.")[0])


# What is named is there.


def missing_tests(text: str, defined: str) -> list[str]:
    """The tests that a text names and that nobody has written."""
    return sorted(
        name for name in set(re.findall(r"`(test_\w+)`", text)) if not re.search(rf"def {name}\(", defined)
    )


def missing_files(text: str) -> list[str]:
    """The files of the project that a text names and that are not there."""
    named = set(re.findall(r"`((?:bench|docs|js|papers|spec|src|tests)/[\w./-]+\.\w+)`", text))
    return sorted(name for name in named if not (ROOT / name).exists())


def test_the_table_of_rooms_is_the_contract() -> None:
    """The decisions list the rooms as the contract of imports does, top to bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [rooms] = [one["layers"] for one in contracts if one["containers"] == ["deniable"]]
    decision = text_of("docs/decisions.md").partition("| room |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", decision, re.MULTILINE) == rooms


@pytest.fixture(scope="module")
def defined() -> str:
    """The text of all tests."""
    return "".join(
        file.read_text(encoding="utf-8")
        for file in [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "papers" / "tests").glob("test_*.py")]
    )


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_tests_and_files_are_there(document: str, defined: str) -> None:
    assert missing_tests(text_of(document), defined) == []
    assert missing_files(text_of(document)) == []


# What is shown is run.


@contextmanager
def served(folder: Path, arguments: Sequence[str]) -> Iterator[str]:
    """`deniable serve`, on any free port; its address."""
    printed = folder / "stdout"
    printed.write_text("")
    process = Forked(run_program, [*arguments, "--port", "0"], folder, dict(os.environ))
    try:
        while not (found := re.search(r"^survey +(\S+)\n", printed.read_text(), re.MULTILINE)):
            assert process.poll() is None, (folder / "stderr").read_text()
            time.sleep(0.01)
        yield found[1].rstrip("/")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def prepare(folder: Path, rounds: bool) -> None:
    """A plan and a store with two hundred reports of it, as an operator has them after the first block."""
    asked = {"How do you get to work?": ["car", "train"], "Late?": ["yes", "no"]}
    budget = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 3} if rounds else {"epsilon": 1.0}
    plan = dn.Study(asked, **budget).plan(people=5000)  # type: ignore[arg-type]
    plan.write(folder / "plan.json")
    answers = {name: labels[:1] * 200 for name, labels in asked.items()}
    reports = plan.privatize(answers, dn.remembering(1) if rounds else dn.seeded(1))
    store = open_store(f"sqlite:///{folder}/reports.db")
    store.register(plan.document)
    store.set_round(plan.id, 1)
    bodies = Wire(plan.document).bodies(reports)
    store.add([Arrival(plan.id, 1, [n.to_bytes(16, "little") for n in range(len(bodies))], bodies)], 0.0)
    store.close()


def follow(block: str, folder: Path) -> list[str]:
    """Run the lines of a block one by one, as they stand; what has been served is served until the end. What
    was run.
    """
    done = []
    address = "http://127.0.0.1:8000"
    with ExitStack() as running:
        if address in block:
            address = running.enter_context(served(folder, ["serve", "plan.json"]))
        for line in block.splitlines():
            words = shlex.split(line.replace("http://127.0.0.1:8000", address), comments=True)
            if line.startswith("(umask 077; "):  # a backup, by a program that need not be there, or by Python
                if shutil.which(words[2]) is not None:
                    subprocess.run(["sh", "-c", line], cwd=folder, check=True)
                    copy = open_store(f"sqlite:///{folder}/copy.db", create=False)
                    assert (copy.check(), [copy.counted(each.document.id) for each in copy.plans()]) == (
                        [],
                        [200],
                    )
                    copy.close()
                    assert (folder / "copy.db").stat().st_mode & 0o077 == 0
                    (folder / "copy.db").unlink()
            elif words[:1] != ["deniable"]:
                assert words[:2] == ["pip", "install"], f"nobody checks this line: {line}"
            elif words[1] == "serve":
                address = running.enter_context(served(folder, words[1:]))
                plan = Plan.read(folder / "plan.json")
                chain = folder / "fullchain.pem"
                browser = httpx.Client(
                    verify=ssl.create_default_context(cafile=chain) if chain.exists() else False
                )
                [listed] = running.enter_context(browser).get(f"{address}/plans").json()["plans"]
                assert (listed["id"], listed["invited"], listed["open"]) == (
                    plan.id,
                    bool({"--invited", "--ticket-key"} & set(words)),
                    [1],
                )
                assert browser.get(address + "/").status_code == 200
            else:
                ended = Forked(run_program, words[1:], folder, dict(os.environ)).wait()
                assert ended == 0, f"{line}\n{(folder / 'stderr').read_text()}"
            done.append(" ".join(words[:2]))
    return done


@pytest.mark.parametrize("block", [block for page in OPERATORS for block in blocks(text_of(page))])
def test_what_an_operator_is_to_type_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DENIABLE_TOKEN", raising=False)
    if "--ticket-key" in block:  # it makes its plan
        (tmp_path / "study.toml").write_text('epsilon = 1.0\n[attributes]\n"Late?" = ["yes", "no"]\n')
    elif "deniable tokens" in block:  # before anybody has answered
        plan = dn.Study({"Late?": ["yes", "no"]}, epsilon=1.0).plan(people=5000)
        plan.write(tmp_path / "plan.json")
        (tmp_path / "people.csv").write_text("name,town\nAda,London\n")
        if "--withdraw" in block:
            store = open_store(f"sqlite:///{tmp_path}/reports.db")
            store.register(plan.document, invited=True)
            store.close()
    elif "deniable init" not in block:
        prepare(tmp_path, rounds="deniable rounds" in block)
    if "--certificate" in block:
        Authority().write(tmp_path / "fullchain.pem", tmp_path / "privkey.pem")
    done = follow(block, tmp_path)
    assert len(done) == len(block.splitlines())


def test_a_block_that_does_not_run_would_be_found(tmp_path: Path) -> None:
    prepare(tmp_path, rounds=False)
    with pytest.raises(AssertionError, match="round 2"):
        follow("deniable rounds plan.json --close 2\n", tmp_path)
    with pytest.raises(AssertionError, match="nobody checks this line"):
        follow("rm -r everything\n", tmp_path)


def test_a_name_without_a_test_or_file_would_be_found(defined: str) -> None:
    assert missing_tests("`test_of_nothing` and `test_tallies`", defined) == ["test_of_nothing"]
    assert missing_files("`src/deniable/share.py` and `docs/index.md`") == ["src/deniable/share.py"]


PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("spec/*.md"), *ROOT.glob("papers/docs/*.md")]
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_MADE = re.compile(r"gallery/[\w-]+\.md")  # pages that `make docs` writes


def prose_of(page: Path) -> str:
    return _CODE.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """What a link may name after its #, by the rule of the site."""
    headings = re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def broken(text: str, page: Path) -> list[str]:
    """Links of a page's text that lead nowhere."""
    wrong = []
    for link in _LINK.findall(text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if re.match(r"\w+:", link) or _MADE.search(path):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(prose_of(page), page) == []


def listed(entries: list[dict[str, object]]) -> Iterator[str]:
    """The pages of the site's navigation."""
    for entry in entries:
        for target in entry.values():
            if isinstance(target, list):
                yield from listed(target)
            else:
                yield str(target)


def test_the_site_lists_every_page_once() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = [page for page in listed(settings["project"]["nav"]) if "/" not in page]
    assert sorted(pages) == sorted(page.name for page in ROOT.glob("docs/*.md"))


def test_a_link_that_leads_nowhere_would_be_found() -> None:
    index = ROOT / "docs" / "index.md"
    assert broken("[a](theory.md#the-parts) [b](theories.md) [c](theory.md#parts)", index) == [
        "theories.md",
        "theory.md#parts",
    ]


_LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def shown_commands(document: str) -> list[tuple[str, str]]:
    """Every command of a document and what it is said to print."""
    blocks = re.findall(
        r"^```\n(\$ deniable .*?)^```$",
        (ROOT / document).read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    parts = [part for block in blocks for part in re.split(r"^\$ deniable ", block, flags=re.MULTILINE)[1:]]
    return [(command, said) for command, _, said in (part.partition("\n") for part in parts)]


SHOWN = {
    "README.md": {"init", "people", "plan"},
    "docs/plans.md": {"init", "plan", "verify", "privatize", "estimate"},
}
"""Documents, and the verbs whose output they show at least."""


@pytest.mark.parametrize("document", SHOWN)
def test_commands_print_what_is_shown(document: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "console", lambda: Console(width=80, highlight=False))
    Path("typo.csv").write_text("transport,satisfied,minutes\ncar,yes,5\ntrian,no,7\n", encoding="utf-8")
    commands = [
        (command, said) for command, said in shown_commands(document) if command.split()[0] not in ELSEWHERE
    ]
    assert {command.split()[0] for command, _ in commands} >= SHOWN[document]
    for command, said in commands:
        with redirect_stdout(StringIO()) as printed, redirect_stderr(printed):
            code = run(*command.split()).code
        is_shown = doctest.OutputChecker().check_output(said, printed.getvalue(), _LOOSELY)
        assert is_shown, f"$ deniable {command}\n{printed.getvalue()}"
        assert (code == 0) == ("error:" not in said)


def test_a_wrong_output_would_be_found(run: Run) -> None:
    ((command, said), *_) = shown_commands("README.md")
    assert not doctest.OutputChecker().check_output(
        said.replace("wrote", "read"), run(*command.split()).out, _LOOSELY
    )
