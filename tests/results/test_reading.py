"""Results as people state them: the texts of questions, one figure of all that apply, points of a scale."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.results.findings import Findings
from deniable.show.plot import plot_findings
from deniable.show.text import write_text
from deniable.show.window_findings import WindowFindings
from deniable.study import Result
from deniable.summaries import Summary
from tests.results.test_findings import words_of

TEXTS: dict[str, Any] = {
    "mood": "How are you today?",
    "media": {"en": "Which of these do you use?", "de": "Was nutzen Sie?"},
    "sex": "Are you a woman or a man?",
}
ASKED: dict[str, Any] = {
    "mood": dn.Range.scale(1, 5),
    "media": dn.Several(["tv", "web"]),
    "sex": ["f", "m"],
    "tired": ["yes", "no"],
    "rent": dn.Number(0, 5000),
}


@cache
def result(n: int = 2000) -> Result:
    """People who are asked five questions, three of which have a text."""
    survey = dn.Texts(questions=TEXTS, ends={"mood": ["very bad", "very good"]}, language="en")
    study = dn.Study(ASKED, epsilon=8.0, together=[("sex", "tired")], title="Work", survey=survey)
    plan, draw = study.plan(people=n), np.random.default_rng(1)
    answers = {
        "mood": draw.choice([2, 3, 4, 5], n, p=[0.1, 0.2, 0.3, 0.4]),
        "media": [["tv", "web"] if draw.random() < 0.3 else ["web"] for _ in range(n)],
        "sex": draw.choice(["f", "m"], n),
        "tired": draw.choice(["yes", "no"], n),
        "rent": draw.uniform(700, 900, n),
    }
    return plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(1))))


def test_a_file_has_the_text_of_each_question() -> None:
    rows = result().find().rows.table()
    texts = {row["attribute"]: row["question"] for row in rows}
    assert texts == {
        "mood": "How are you today?",
        "media: tv": "Which of these do you use?",
        "media: web": "Which of these do you use?",
        "sex x tired": "Are you a woman or a man?",
        "rent": "",
    }
    assert {row["question"] for row in result().change(result()).rows()} == set(texts.values())
    assert result().find().about()["questions"].items() >= texts.items() - {("rent", "")}


def test_a_plan_without_texts_has_no_such_column() -> None:
    plan = dn.Study({"tired": ["yes", "no"]}, epsilon=1.0).plan(people=100)
    estimated = plan.estimate(plan.tally(plan.privatize({"tired": ["yes"] * 100}, dn.seeded(1))))
    assert "question" not in estimated.find().rows.table()[0]
    assert estimated.find().about()["questions"] == {}


def test_headings_of_the_shell_have_the_text_below_the_name() -> None:
    lines = write_text(result().find()).splitlines()
    for name, text in (("mood (", "How are you today?"), ("media, all that", "Which of these do you use?")):
        [at] = [i for i, line in enumerate(lines) if line.startswith(name)]
        assert lines[at + 1] == text
    change = str(result().change(result())).splitlines()
    assert change[change.index("mood") + 1] == "How are you today?"
    at = change.index("media")
    assert change[at + 1] == "Which of these do you use?"
    assert [line.split()[0] for line in change[at + 2 : at + 5]] == ["value", "tv", "web"]
    crossed = str(result().cross("tired", by="sex")).splitlines()
    assert crossed[1] == "sex: Are you a woman or a man?"
    assert result().cross("tired", by="sex").about()["questions"] == {"sex": "Are you a woman or a man?"}


@pytest.mark.parametrize("unbiased", [False, True])
def test_all_that_apply_is_one_figure(unbiased: bool) -> None:
    findings = result().find()
    assert findings.questions == ("sex x tired", "mood", "media", "rent")
    figure = plot_findings(findings, unbiased=unbiased)
    titles = [axes.get_title(loc="left").split(":")[0] for axes in figure.axes]
    assert titles == ["sex x tired", "mood", "media", "rent"]
    [media] = plot_findings(findings, unbiased=unbiased, only="media").axes
    assert [label.get_text() for label in media.get_yticklabels()] == ["tv", "web"]
    shares = findings.unbiased if unbiased else {name: (of.share,) for name, of in findings.shares.items()}
    expected = [100 * shares[f"media: {option}"][0][0] for option in ("tv", "web")]
    bars: list[Any] = list(media.patches)
    assert [bar.get_width() for bar in bars] == pytest.approx(expected)
    assert "Which of these do you use?" in words_of(figure)
    [axes] = result().change(result()).plot("media").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["tv", "web"]
    words = words_of(result().change(result()).plot())
    assert "media: tv" in words
    assert "media: tv: no" not in words


def test_the_line_of_a_number_begins_at_its_lowest_one() -> None:
    [axes] = plot_findings(result().find(), only="rent").axes
    assert axes.get_xlim() == (0.0, 5000.0)


@pytest.mark.parametrize(
    ("value", "low", "high", "labels"),
    [
        (3.9, 3.5, 4.5, ("4", "4", "4")),
        (3.2, 2.5, 3.6, ("3", "3", "4")),
        (1.2, 0.5, 2.5, ("1 (very bad)", "1 (very bad)", "2")),
        (5.5, 4.4, 5.5, ("5 (very good)", "4", "5 (very good)")),
    ],
)
def test_a_quantile_of_a_scale_is_a_label(
    value: float, low: float, high: float, labels: tuple[str, str, str]
) -> None:
    """An end on an edge, between two points, is of the point inside the interval."""
    assert result().find().label_quantile("mood", Summary(value, 0.1, low, high)) == labels


def test_a_median_is_stated_by_its_label() -> None:
    findings = result().find()
    [row] = findings.rows.quantiles
    assert row["label"] == "4"
    line = f"median {row['label']}, from {row['low_label']} to {row['high_label']}"
    assert line in write_text(findings)
    assert "median 4\n" in words_of(plot_findings(findings)) + "\n"
    assert Findings.label_quantile(findings, "rent", Summary(1.0, 0.1, 0.0, 2.0)) is None


def test_windows_have_one_table_for_all_that_apply() -> None:
    numbers = result().numbers
    windows = WindowFindings.of(("day",), {"Mon": numbers, "Tue": numbers}, Findings.read)
    block = windows.text().split("\n\n")[3].splitlines()
    assert block[:2] == ["media, all that apply: who chose each", "Which of these do you use?"]
    assert block[2].split() == ["day", "reports", "tv", "web"]
    share = result().find().shares["media: tv"].share[0]
    assert f"{100 * share:.1f} %" in block[3]
    panels = {axes.get_title(loc="left"): axes for axes in windows.plot().axes}
    assert len(panels) == len(windows.plot().axes), "one panel for media"
    assert panels["media"].get_ylim()[0] == 0.0, "as on the dashboard"
