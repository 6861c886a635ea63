"""Figures of papers: a look per method that never changes, and files by dataset."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.running import Run

from deniable.mechanisms import PROTOCOLS
from deniable_papers.looks import METHODS, looks
from deniable_papers.studies import allomfree, geometric, risks, rsfd, tradeoffs
from deniable_papers.trained import KNOWLEDGE

STUDIES: dict[str, list[str]] = {
    "protocols": list(PROTOCOLS),
    "rsfd": [name for name in rsfd.METHODS if not name.endswith("at record")],
    "allomfree": list(allomfree.METHODS),
    "tradeoffs": list(tradeoffs.METHODS),
    "channels": list(geometric.CHANNELS),
    "attacks": [*KNOWLEDGE, *risks.ATTACKS],
}


@pytest.mark.parametrize("study", STUDIES)
def test_every_method_has_a_look_that_never_changes(study: str) -> None:
    names = STUDIES[study]
    assert all(name.lower() in METHODS for name in names)
    together = looks(names)
    for name in names:
        alone = looks([name])[name]
        assert looks(["a name of its own", name, *reversed(names)])[name] == together[name] == alone
    pairs = {(look["color"], look["marker"]) for look in together.values()}
    assert len(pairs) == len(dict.fromkeys(names))


def test_no_two_methods_look_the_same() -> None:
    assert len(set(METHODS.values())) == len(METHODS)


def test_a_report_by_a_protocol_looks_as_the_protocol_does() -> None:
    both = looks(["SMP[GRR]", "RS+FD[GRR]"])
    assert both["SMP[GRR]"] == looks(["grr"])["grr"]
    assert both["RS+FD[GRR]"] != both["SMP[GRR]"]


def test_every_dataset_has_figures_of_its_own(run: Run) -> None:
    people = ("--n", "2", "--prior", "uniform,zipf", "--people", "500", "--runs", "2")
    asked = ("reproduce", "geometric", *people, "--epsilons", "1,2", "--channel", "grr,geometric")
    made = run(*asked, "--figures", "out")
    assert made.code == 0, made.err
    assert sorted(path.name for path in Path("out").glob("*.pdf")) == ["uniform.pdf", "zipf.pdf"]
