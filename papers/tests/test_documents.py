"""Every `deniable reproduce ...` that a document shows can be given, and files that papers name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.project.test_documents import is_of_papers, lines, mentions, parse, refuse_unknown_options

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    str(file.relative_to(ROOT))
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("papers/**/*.md")]
)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_of_the_documents_can_be_given(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for line in filter(is_of_papers, lines(text)):
        parse(line)
    for line in filter(is_of_papers, mentions(text)):
        refuse_unknown_options(line)


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if name.startswith("papers")])
def test_links_lead_to_files(document: str) -> None:
    path = ROOT / document
    targets = re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", path.read_text(encoding="utf-8"))
    assert [name for name in targets if not (path.parent / name).exists()] == []
