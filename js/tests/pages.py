"""Writes the plans that tests open pages of, and what a collector answers about some, as one JSON object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

import deniable as dn
from deniable.collect import results
from deniable.design.forecast import forecast
from deniable.plan import metric_mechanism

COLORS = ["red", "orange", "yellow", "green", "blue", "violet", "black", "white"]
ISLAND = Path(__file__).parents[2] / "docs" / "examples" / "island.toml"
SPLIT: dict[str, Any] = {"mechanism": "split"}
ROUNDS: dict[str, Any] = {"epsilon_first": 0.5, "epsilon_forever": 1.0}
TOWN = dn.Grid(47.60, 6.80, 47.70, 6.95, 8, 10, epsilon=dn.metric.per_meter(level=1.0, radius=1000))
YEARS = dn.Range(0, 100, step=10, privacy="metric", epsilon=0.5, open_high=True)
METRIC = [part for part in map(metric_mechanism, (YEARS, TOWN)) if part is not None]
YES_NO = ["yes", "no"]
CONSENT = dn.Texts(consent={"en": "Asked weekly.", "de": "Jede Woche."})
STUDIES = {
    "habits": dn.Study({"Do you smoke?": YES_NO, "Sport": ["never", "often"]}, 1.5, title="Habits", **SPLIT),
    "mood": dn.Study({"mood": ["well", "so-so", "badly"]}, rounds=3, title="Mood", survey=CONSENT, **ROUNDS),
    "tea": dn.Study({"Tea": YES_NO}, 0.5, title="Tea", survey=dn.Texts(title={"en": "Tea", "de": "Tee"})),
    "crashes": dn.Study({"Crashed": YES_NO}, rounds=3, turns=1, title="Crashes", **ROUNDS),
    "twice": dn.Study({"Hours": dn.Range(0, 24, step=4)}, rounds=2, title="Sleep", **ROUNDS),
    "town": dn.Study(
        {
            "Do you smoke?": YES_NO,
            "Age": dn.Range(0, 100, step=1, privacy="metric", epsilon=0.1, open_high=True),
            "Home": TOWN,
            "Income": dn.Number(0, 10_000, open_high=True),
        },
        2.0,
        missing="random",
        **SPLIT,
    ),
    "numbered": dn.Study({"Tea": COLORS, "Income": dn.Number(0, 10_000)}, 1.0, **SPLIT),
    "ordered": dn.Study(
        {f"Scale {n}": dn.Range(0, 10, step=1, privacy="metric", epsilon=n / 10) for n in range(1, 6)},
        **SPLIT,
    ),
    "devices": dn.Study({"device": dn.Code(bits=48)}, 2.0),
    "income": dn.Study({"income": dn.Range(0, 1024, step=1, queries="ranges")}, 1.0),
    "island": dn.Study.read(ISLAND),
    "media": dn.Study(
        {"works": {"yes_no": True}},
        1.0,
        survey=dn.Texts(
            title={"en": "Media", "de": "Medien"},
            questions={"works": {"en": "Do you work?", "fr": "Travaillez-vous ?"}},
        ),
    ),
    "feelings": dn.Study(
        {
            "transport": ["on foot", "by car", "other"],
            **{name: dn.Range.scale(1, 5) for name in ("tired", "sad", "calm")},
            "hot": dn.Range.scale(1, 5),
            "media": dn.Several(["tv", "radio", "else"]),
        },
        2.0,
        title="Feelings",
        survey=dn.Texts(
            introduction="Two minutes.",
            ends={name: ["never", "often"] for name in ("tired", "sad", "calm")} | {"hot": ["cold", "hot"]},
            pages=[["transport"], ["tired", "sad", "calm", "hot"], ["media"]],
            other=["transport", "media"],
        ),
    ),
    "long": dn.Study({f"Question {i}": ["a", "b"] for i in range(8)}, 1.0, mechanism="sample", title="Long"),
    "drinks": dn.Study({"Coffee": ["none", "one", "two", "<b>many"], "Tea": YES_NO}, 2.0, title="Drinks"),
    "lunch": dn.Study(
        {"dishes": dn.Several(COLORS, at_most=3), "drinks": dn.Several(COLORS[:4], exactly=2)},
        4.0,
        title="Lunch",
        mechanism="near",
    ),
    "bins": dn.Study(
        {
            "Age": dn.Range(0, 100, step=5, privacy="metric", epsilon=0.5),
            "Hours": dn.Range(0, 24, step=4),
            "Income": dn.Number(0, 10_000),
        },
        4.0,
        **SPLIT,
    ),
    "hours": dn.Study({"hours": dn.Range(0, 60, step=5)}, 2.0, protocol="grr"),
    "ages": dn.Study({"age": dn.Range(0, 100, step=10)}, rounds=2, **ROUNDS),
    "coast": dn.Study(
        {"beach": dn.Grid(54, 10, 54.4, 10.8, 4, 4, epsilon=dn.metric.per_meter(level=1.0, radius=8000))}
    ),
}
PLANS = {name: study.plan(people=1000) for name, study in STUDIES.items()}
PLANS["smokes once"], PLANS["mood again"] = dn.Study(
    {"smokes": YES_NO, "mood": ["good", "bad"]}, 1.0, title="Both", repeat={"mood": 3}, **ROUNDS
).plans(people=1000)
PLANS["mood changed"] = dn.Study(
    {"mood": ["well", "so-so", "badly", "other"]}, rounds=3, title="Mood", survey=CONSENT, **ROUNDS
).plan(people=1000, continues=PLANS["mood"])
PLANS["nested"] = dn.Plan.of(
    {"Age": YEARS, "Home": TOWN} | {f"Question {n}?": YES_NO for n in range(3)},
    dn.records.Split((*METRIC, dn.smp([2, 2, 2], 1.0, "grr"))),
    people=1000,
)
PLANS["mixture"] = dn.Plan.of(
    {f"Question {n}?": YES_NO for n in range(6)},
    dn.records.Split(
        (dn.grr(2, 1.0), dn.rsfd([2, 2], 1.0, "grr"), dn.smp([2, 2, 2], 1.0, "grr", attributes=2))
    ),
    people=1000,
)
ANSWERS: dict[str, dict[str, Any]] = {
    "drinks": {"Coffee": "one", "Tea": "no"},
    "bins": {"Age": 42, "Hours": 7, "Income": 5000.0},
    "town": {"Do you smoke?": "yes", "Age": 30, "Home": (47.64, 6.86), "Income": 2000.0},
    "hours": {"hours": 10},
    "income": {"income": 300},
    "island": {"beach": (54.12, 10.55)},
    "coast": {"beach": (54.15, 10.35)},
}
PEOPLE = 300


def estimate(name: str) -> dict[str, Any]:
    """What a collector answers of reports of some people who all say the same, by what is asked for."""
    plan = PLANS[name]
    tallies = plan.tally(plan.privatize([ANSWERS[name]] * PEOPLE, dn.seeded(1)))

    def answer(level: float, **more: Any) -> Any:
        return msgspec.to_builtins(results.estimated(plan, tallies, 1, level, **more))

    smooth = name in ("island", "hours")
    return {"0.95": answer(0.95), "0.99": answer(0.99)} | (
        {"smooth": answer(0.95, smooth=True)} if smooth else {}
    )


def change() -> dict[str, Any]:
    """Estimates of two rounds, in the second of which nobody is as old as in the first, and their change."""
    plan = PLANS["ages"]
    first, second = (
        plan.tally(plan.privatize([{"age": age}] * 60, dn.remembering(1, dn.seeded(age)))) for age in (40, 90)
    )
    rounds = [results.estimated(plan, tallies, i, 0.95) for i, tallies in enumerate((first, second), 1)]
    comparison = results.Comparison(1, first, 2, second, 0.95, "population")
    return {"rounds": msgspec.to_builtins(rounds), "change": results.changed(plan, comparison)}


print(
    json.dumps(
        {
            "plans": {name: plan.to_json() for name, plan in PLANS.items()},
            "estimates": {name: estimate(name) for name in ANSWERS} | {"ages": change()},
            "forecast": forecast(PLANS["habits"]),
        }
    )
)
