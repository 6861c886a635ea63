"""Makes the test vectors of the wire: words in, bytes out, for every mechanism; and what must be refused.

`python -m spec.make` writes spec/vectors/*.json anew; tests assert that they are what this file makes.
Both the Python and the TypeScript client must reproduce them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import deniable as dn
from deniable.domain import Domain
from deniable.mechanisms import Mechanism
from deniable.metric.means import MEANS, averaged
from deniable.plan import canonical, metric_mechanism
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from deniable.randomness.words import Device
from deniable.records import Blank, Faked, Guessed, Imitated, Prior, RecordMechanism, Sample, Split
from deniable.rounds.named import PUBLISHED_AGAIN
from deniable.study import Plan
from deniable.tickets import derive_invitation, tag_plans
from deniable.tickets.codes import write_code
from deniable.wire import Report, Wire
from spec.make import chains, groups, levels, near, products, questionnaires, unlisted
from spec.make.subsets import listed

FOLDER = Path(__file__).parents[1] / "vectors"

COLORS = ["red", "green", "blue", "white", "black"]
QUESTIONS: dict[str, Any] = {
    "color": COLORS,
    "age": dn.Range(0, 70, step=10, open_high=True),
    "smokes": ["yes", "no"],
}
KS = [5, 7, 2]
ANSWERS: list[dict[str, Any]] = [
    {"color": "red", "age": 0, "smokes": "no"},
    {"color": "black", "age": 69.99, "smokes": "yes"},
    {"color": "blue", "age": "104", "smokes": "yes"},
    {"color": "white", "age": 10, "smokes": "no"},
]
PRIORS = [[0.4, 0.3, 0.2, 0.05, 0.05], [0.1, 0.1, 0.2, 0.2, 0.2, 0.1, 0.1], [0.7, 0.3]]


def of(
    mechanism: RecordMechanism | Mechanism, attributes: Mapping[str, Any] | None = None, **more: Any
) -> Plan:
    if attributes is None:
        attributes = (
            QUESTIONS
            if isinstance(mechanism, RecordMechanism)
            else {"city": [f"city {number}" for number in range(mechanism.k)]}
        )
    return Plan.of(attributes, mechanism, people=1000, title="Ein Kreuz für Größe ✓", **more)


EACH_SHAPE = (
    "grr",
    "sue",
    "oue",
    "the",
    "blh",
    "olh",
    "plh",
    "ss",
    "hr",
    "aue",
    "ass",
    "alh",
    "athe",
    "adaptive",
)
"""Every shape with several choices of numbers. A new protocol of a known shape needs no vectors of its own.
"""


def single() -> dict[str, Plan]:
    found = {
        f"{name} {k}": of(m) for name in EACH_SHAPE for k in (2, 5, 70) if (m := made(name, k)) is not None
    }
    return found | {
        "direct, two bytes": of(dn.grr(300, 3.0)),
        "hadamard, two bytes": of(dn.hr(300, 1.0)),
        "pooled, two bytes": of(dn.mechanisms.plh(300, 1.0)),
        "pooled, many buckets": of(dn.mechanisms.plh(70, 5.0)),
        "hashed, many buckets": of(dn.olh(400, 6.0)),
        "subset, listed": of(listed(dn.ss(20, 1.0))),
        "subset, two bytes": of(dn.ss(300, 3.0)),
        "subset, bits of whole bytes": of(dn.ss(16, 0.5)),
        "subset, bits of 300 values": of(dn.ss(300, 1.0)),
        "low budget": of(dn.grr(5, 0.001)),
        "high budget": of(dn.oue(5, 20.0)),
    }


def made(name: str, k: int) -> Mechanism | None:
    """A protocol's mechanism, if there is one of this size."""
    try:
        mechanism = dn.PROTOCOLS[name].make(k, 1.0)
    except dn.InvalidParameter:
        return None
    return mechanism if isinstance(mechanism, Mechanism) else None


def split() -> dict[str, Plan]:
    names = ("grr", "sue", "oue", "olh", "plh", "ss", "hr", "adaptive")
    return {f"split {name}": of(dn.spl(KS, 2.0, name)) for name in names} | {
        "no answer is a value": of(dn.spl([6, 8, 3], 2.0, "grr"), missing="value"),
        "no answer is random": of(dn.spl(KS, 2.0, "oue"), missing="random"),
        "names in order of code points": of(
            dn.spl([2, 2, 2, 2], 2.0, "grr"), {name: ["a", "b"] for name in ("é", "z", "😀", "\uff5e")}
        ),
    }


def sample() -> dict[str, Plan]:
    found = {
        f"sample {name}": of(dn.smp(KS, 1.0, name)) for name in ("grr", "oue", "olh", "plh", "ss", "adaptive")
    }
    parts = dn.smp(KS, 1.0, "grr").mechanisms
    return found | {
        "two of three": of(Sample(parts, 2)),
        "three of three": of(Sample(parts, 3)),
        "by weights": of(dn.smp(KS, 1.0, "oue", weights=[3, 1, 2])),
        "by the largest weights": of(
            dn.smp([2] * 300, 1.0, "grr", weights=[1] * 299 + [(1 << 16) - 299]),
            {f"question {number}": ["yes", "no"] for number in range(300)},
        ),
        "one of three hundred": of(
            dn.smp([2] * 300, 1.0, "grr"), {f"question {number}": ["yes", "no"] for number in range(300)}
        ),
    }


def faked() -> dict[str, Plan]:
    names = ("grr", "sue-z", "sue-r", "oue-z", "oue-r", "adaptive")
    found = {f"faked {name}": of(dn.rsfd(KS, 1.0, name)) for name in names}
    found |= {
        f"faked from priors {name}": of(dn.records.rsrfd(KS, 1.0, PRIORS, name))
        for name in ("grr", "sue-r", "oue-r")
    }
    return found | {
        "faked, per attribute": of(dn.rsfd(KS, 1.0, "oue-z", calibration="attribute")),
        "faked, as published": of(dn.records.rsrfd(KS, 1.0, PRIORS, "grr", fakes="published")),
    }


def any_faked() -> dict[str, Plan]:
    """Fakes of every set shape, and of several together."""
    make = dn.records.rsrfd
    found = {f"faked {name}": of(dn.rsfd(KS, 1.0, name)) for name in ("ss", "olh", "plh", "hr", "ass")}
    found |= {
        f"faked from priors {name}": of(make(KS, 1.0, PRIORS, name)) for name in ("ss", "olh", "plh", "hr")
    }
    fakes = (Blank(dn.hr(5, 1.0)), Blank(listed(dn.ss(7, 0.7))), Guessed(dn.grr(2, 1.5), Prior.uniform(2)))
    found["faked, unlike kinds"] = of(Faked(fakes))
    alike = [Imitated(part, Prior.uniform(part.k)) for part in (dn.hr(5, 1.0), dn.ss(7, 1.0), dn.olh(2, 1.0))]
    found["faked, unlike kinds of uniform values"] = of(Faked(tuple(alike)))
    skewed = Prior.of(range(1, 301), 300)
    large = (Imitated(dn.ss(300, 3.0), skewed), Imitated(dn.hr(300, 1.0), skewed), Blank(dn.olh(400, 20.0)))
    cities = {f"city {j}": [f"town {v}" for v in range(fake.part.k)] for j, fake in enumerate(large)}
    found["faked, two bytes"] = of(Faked(large), cities)
    return found


def any_kept() -> dict[str, Plan]:
    """Fakes that are kept, of reports with a function, and of reports that are kept whole."""
    make = dn.rounds.l_rsfd
    found = {"fakes that are kept, loloha": of(make(KS, 1.0, 2.0, "loloha"), rounds=5)}
    for bits in (1, 3):
        plan = of(make(KS, 1.0, 1.0, "dbitflip", bits=bits), rounds=5)
        found[f"fakes that are kept, dbitflip {bits}"] = plan
    found["fakes that are kept, l_plh"] = of(make(KS, 1.0, 2.0, "l_plh"), rounds=5)
    mixed = (Blank(dn.rounds.loloha(5, 1.0, 2.0, g=3)), Blank(dn.rounds.l_osue(7, 1.0, 2.0)))
    guessed = Guessed(dn.rounds.l_grr(2, 0.5, 3.0), Prior.uniform(2))
    found["fakes that are kept, unlike kinds"] = of(Faked((*mixed, guessed)), rounds=3)
    found["fakes that are kept, dbitflip once"] = of(make(KS, 1.0, 1.0, "dbitflip", bits=2), rounds=1)
    return found


def repeated() -> dict[str, Plan]:
    makers = (dn.rounds.l_grr, dn.rounds.l_sue, dn.rounds.l_oue, dn.rounds.l_osue, dn.rounds.l_soue)
    found = {f"{make.__name__} {k}": of(make(k, 1.0, 2.0), rounds=5) for make in makers for k in (5, 70)}
    found |= {f"loloha {g}": of(dn.rounds.loloha(50, 1.0, 2.0, g=g), rounds=5) for g in (2, 3, 300)}
    found |= {f"l_plh {g}": of(dn.rounds.l_plh(50, 1.0, 2.0, g=g), rounds=5) for g in (2, 7, 53)}
    found |= {f"dbitflip {bits}": of(dn.rounds.dbitflip(20, 2.0, bits=bits), rounds=5) for bits in (1, 4, 20)}
    found["dbitflip, two bytes"] = of(dn.rounds.dbitflip(300, 2.0, bits=9), rounds=3)
    found["l_duchi"] = of(dn.rounds.l_duchi(0.5, 1.0), {"income": INCOME}, rounds=5)
    found["allomfree"] = of(Sample(tuple(dn.rounds.l_grr(k, 1.0, 2.0) for k in KS)), rounds=5)
    parts = tuple(dn.rounds.l_grr(k, 0.5, 1.0) for k in KS)
    found |= {
        f"fakes that are kept, {name}": of(dn.rounds.l_rsfd(KS, 1.0, 2.0, name), rounds=5)
        for name in PUBLISHED_AGAIN
    }
    found |= {
        f"fakes that are kept, from priors {name}": of(dn.rounds.l_rsfd(KS, 1.0, 2.0, name, PRIORS), rounds=5)
        for name in ("l_grr", "l_osue-r")
    }
    return found | {
        "fakes that are kept, once": of(dn.rounds.l_rsfd(KS, 1.0, 2.0), rounds=1),
        "fakes that are kept, a thousand times": of(dn.rounds.l_rsfd(KS, 1.0, 4.0), rounds=1000),
        "fakes that are kept, no answer is random": of(
            dn.rounds.l_rsfd(KS, 1.0, 2.0), rounds=5, missing="random"
        ),
        "repeated, two of three": of(Sample(parts, 2), rounds=5),
        "repeated, by weights": of(Sample(parts, weights=(5, 2, 1)), rounds=5),
        "repeated, no answer is random": of(Sample(parts), rounds=5, missing="random"),
        "repeated, all": of(dn.records.Split(parts), rounds=5),
    }


AGES = dn.Range(0, 8, step=1, open_high=True, privacy="metric", epsilon=0.5)
TOWN = dn.Grid(47.6, 6.8, 47.61, 6.82, rows=3, columns=4, epsilon=0.002)
INCOME = dn.Number(0, 10_000, open_high=True)
METRIC_QUESTIONS: dict[str, Any] = {"color": COLORS, "age": AGES, "home": TOWN, "income": INCOME}
METRIC_ANSWERS: list[dict[str, Any]] = [
    {"color": "red", "age": 0, "home": [47.6, 6.8], "income": 0},
    {"color": "black", "age": 104, "home": [47.61, 6.82], "income": 123_456.7},
    {"color": "blue", "age": 3.5, "home": "47.6051, 6.8117", "income": "1234.5"},
    {"color": "white", "age": 7, "home": [47.6033, 6.8149], "income": 9999.99},
]


def metric_parts() -> tuple[Mechanism, ...]:
    age, home = (metric_mechanism(domain) for domain in (AGES, TOWN))
    assert age is not None
    assert home is not None
    return dn.grr(5, 1.0), age, home, averaged("hybrid", 1.0)


def metric() -> dict[str, Plan]:
    """Plans with distances and with numbers."""
    parts = metric_parts()
    ocean = dn.Grid(-17.3, 179.5, -16.3, -179.5, rows=5, columns=5, epsilon=1e-5)
    across, far = metric_mechanism(ocean), dn.metric.geometric(299, 1.0)
    assert across is not None
    found = {
        "geometric": of(parts[1], {"age": AGES}),
        "geometric, far tail": of(far, {"age": dn.Range(0, 150, step=0.5, open_high=True)}),
        "planar-geometric": of(parts[2], {"home": TOWN}),
        "planar-geometric, across the 180th meridian": of(across, {"home": ocean}),
        "a grid of values": of(dn.grr(12, 1.0), {"home": TOWN}),
        "mixed, split": of(dn.records.Split(parts), METRIC_QUESTIONS),
        "mixed, sample": of(Sample(parts), METRIC_QUESTIONS),
        "mixed, two of four": of(Sample(parts, 2), METRIC_QUESTIONS),
        "mixed, no answer is random": of(dn.records.Split(parts), METRIC_QUESTIONS, missing="random"),
    }
    kept = kept_metric_parts()
    found |= {
        "geometric, kept": of(kept[0], {"age": AGES}, rounds=2),
        "planar-geometric, kept": of(kept[1], {"home": TOWN}, rounds=2),
        "kept, sample": of(
            Sample((dn.rounds.l_grr(5, 0.5, 1.0), *kept, dn.rounds.l_duchi(0.5, 1.0))),
            METRIC_QUESTIONS,
            rounds=2,
        ),
    }
    means = {name: of(averaged(name, 1.0), {"income": INCOME}) for name in MEANS}
    means["duchi, below zero"] = of(
        averaged("duchi", 0.3), {"income": dn.Number(-0.25, 0.5, open_low=True, open_high=True)}
    )
    return found | means


def kept_metric_parts() -> tuple[Mechanism, ...]:
    made = map(metric_mechanism, (AGES, TOWN))
    return tuple(replace(part, kept=True) for part in made if part is not None)


def nested() -> dict[str, Plan]:
    """Plans whose splits have samples and fakes as parts."""
    color, age, smokes = (dn.grr(k, 1.0) for k in KS)
    years, home, income = metric_parts()[1:]
    everybody = {name: METRIC_QUESTIONS[name] for name in ("age", "home", "color", "income")}
    five = {f"question {j}": [f"{v}" for v in range(k)] for j, k in enumerate((2, 3, 9, 20, 300))}
    parts = dn.grr(2, 1.0), dn.oue(3, 1.0), dn.olh(9, 1.0), dn.ss(20, 1.0), dn.grr(300, 2.0)
    many = {f"question {j}": ["yes", "no"] for j in range(302)}
    kept = tuple(dn.rounds.l_grr(k, 0.5, 1.0) for k in KS)
    found = {
        "a sample last": of(dn.records.Split((color, Sample((age, smokes))))),
        "a sample first": of(dn.records.Split((Sample((color, age)), smokes))),
        "both of two": of(dn.records.Split((color, Sample((age, smokes), 2)))),
        "one of two, by weights": of(dn.records.Split((color, Sample((age, smokes), weights=(1, 4))))),
        "fakes last": of(dn.records.Split((color, dn.rsfd(KS[1:], 1.0, "oue-z")))),
        "fakes first, from priors": of(
            dn.records.Split((dn.records.rsrfd(KS[:2], 1.0, PRIORS[:2], "grr"), smokes))
        ),
        "two samples": of(dn.records.Split((Sample(parts[:2]), Sample(parts[2:], 2))), five),
        "a sample and fakes": of(dn.records.Split((dn.rsfd([2, 3], 1.0), Sample(parts[2:]))), five),
        "one of three hundred and two": of(
            dn.records.Split((*(dn.grr(2, 1.0),) * 2, dn.smp([2] * 300, 1.0))), many
        ),
        "age and place from everybody": of(
            dn.records.Split((years, home, Sample((color, income)))), everybody
        ),
        "a place among what is sampled": of(
            dn.records.Split((Sample((years, home)), color, income)), everybody
        ),
    }
    return found | {
        "nested, no answer is a value": of(
            dn.records.Split((dn.grr(6, 1.0), Sample((dn.grr(8, 1.0), dn.grr(3, 1.0))))), missing="value"
        ),
        "nested, no answer is random": of(dn.records.Split((color, Sample((age, smokes)))), missing="random"),
        "nested, repeated": of(dn.records.Split((kept[0], Sample(kept[1:]))), rounds=5),
        "nested, fakes that are kept": of(
            dn.records.Split((kept[0], dn.rounds.l_rsfd(KS[1:], 0.5, 1.0))), rounds=5
        ),
        "kept and fresh": of(dn.records.Split((kept[0], dn.oue(7, 0.25), dn.grr(2, 0.125))), rounds=5),
        "kept and one of two fresh": of(
            dn.records.Split((kept[0], Sample((dn.olh(7, 0.25), dn.grr(2, 0.125))))),
            rounds=4,
            missing="random",
        ),
        "one that is kept or fresh": of(
            Sample((kept[0], dn.ss(7, 0.125), kept[2]), weights=(3, 1, 1)), rounds=5
        ),
        "fresh beside fakes that are kept": of(
            dn.records.Split((dn.grr(5, 0.125), dn.rounds.l_rsfd(KS[1:], 0.5, 1.0))), rounds=20
        ),
        "fresh beside distances and a mean that are kept": of(
            dn.records.Split((*kept_metric_parts(), color, dn.rounds.l_duchi(0.5, 1.0))),
            everybody,
            rounds=3,
        ),
    }


def nested_cases() -> Iterator[dict[str, Any]]:
    """Reports of nested splits; and reports and plans of them that must be refused."""
    yield from cases("nested")
    plans = nested()
    plan = plans["a sample last"]
    yield from hostile_reports({"a sample last": plan})
    words = [int(word) for word in dn.seeded(3).take(plan.words)]
    report = report_from(plan, ANSWERS[0], bytes(32), words, 1, bytes(range(16)))
    data = json.loads(Wire(plan.document).to_json(report))
    for name, said in (
        ("all attributes", {"color": 0, "age": 0, "smokes": 0}),
        ("two of one part", {"age": 0, "smokes": 0}),
        ("one part only", {"color": 0}),
    ):
        text = json_with(data, report=said)
        known = {"name": f"a sample last, JSON with {name}", "plan": plan.to_json()}
        yield known | {"refused": "size", "json": text}
    two = plans["two samples"]
    words = [int(word) for word in dn.seeded(4).take(two.words)]
    report = report_from(two, answers_of(two)[0], bytes(32), words, 1, bytes(range(16)))
    header, body = report.to_bytes()[:29], report.body
    second = 1 + two.document.parts[body[0]].report_bytes
    before, names, after = body[:second], body[second : second + 2], body[second + 2 :]
    for name, wrong in (
        ("the first sample beyond the last", bytes([2]) + body[1:]),
        ("the second sample in another order", before + names[::-1] + after),
        ("the second sample twice", before + names[:1] * 2 + after),
        ("the parts in another order", names + after + before),
    ):
        raw = (header + wrong).hex()
        yield {"name": f"two samples, {name}", "plan": two.to_json(), "refused": "form", "bytes": raw}
    some = (
        "a sample last",
        "fakes last",
        "age and place from everybody",
        "nested, repeated",
        "kept and fresh",
    )
    yield from hostile_plans({name: plans[name] for name in some})
    yield from hostile_nests(plans)


def hostile_nests(plans: Mapping[str, Plan]) -> Iterator[dict[str, Any]]:
    """Plans that say in another way what a split says, or nest deeper."""
    data = json.loads(plans["a sample last"].to_json())
    color, sample = data["mechanism"]["parts"]
    age, smokes = sample["parts"]
    kinds = {
        "a split in a split": {"kind": "split", "parts": [color, {"kind": "split", "parts": [age, smokes]}]},
        "a single in a split": {"kind": "split", "parts": [{"kind": "single", "parts": [color]}, sample]},
        "a sample of a sample": {"kind": "sample", "parts": [color, sample], "reported": 1},
        "a split in a sample": {
            "kind": "sample",
            "parts": [color, {"kind": "split", "parts": [age, smokes]}],
            "reported": 2,
        },
        "a part that is a list": {"kind": "split", "parts": [color, [age, smokes]]},
        **{
            f"a part whose kind is {name}": {"kind": "split", "parts": [color, {**sample, "kind": kind}]}
            for name, kind in {"a list": [], "an object": {}, "a number": 7, "nothing": None}.items()
        },
    }
    parts = {
        "a sample of one": {
            "kind": "split",
            "parts": [color, age, {"kind": "sample", "parts": [smokes], "reported": 1}],
        },
        "a split of one": {
            "kind": "split",
            "parts": [{"kind": "sample", "parts": [color, age, smokes], "reported": 1}],
        },
        "an attribute too few": {"kind": "split", "parts": [color, age]},
        "an attribute too many": {"kind": "split", "parts": [color, smokes, sample]},
    }
    reported = {
        "none reported": {"kind": "split", "parts": [color, {**sample, "reported": 0}]},
        "more reported than there are": {"kind": "split", "parts": [color, {**sample, "reported": 3}]},
    }
    for reason, cases in (("kind", kinds), ("parts", parts), ("reported", reported)):
        for name, mechanism in cases.items():
            yield refused_plan(name, {**data, "mechanism": mechanism}, reason)
    leaking = {**data["mechanism"], "parts": [color, {**sample, "reported": 2}]}
    yield refused_plan("one more attribute reported", {**data, "mechanism": leaking}, "leaks")


NUMBERS = [
    "4.7",
    "+4.7",
    "-0",
    "5.",
    ".5",
    "47e-1",
    "0.47E+1",
    "004",
    "4.70000000000000000000000000000000000001",
    "1e-400",
]
NO_NUMBERS = [
    *(
        "nan",
        "NaN",
        "sNaN",
        "-nan",
        "snan123",
        "inf",
        "-Infinity",
        "1e400",
        "x",
        "--1",
        "+",
        ".",
        "e1",
        "1e",
        "1 2",
        "1,2",
    ),
    *(
        "0x1",
        "1_0",
        "0b1",
        "1n",
        "4,7",
        "\u0664",
        "\uff14",
        "\u0967",
        "4\u00b2",
        "\u22124",
        "4%",
        "'4'",
        "true",
        "None",
        "4\0",
    ),
]
BLANK = [
    chr(code)
    for code in (9, 10, 11, 12, 13, 32, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F)
]
BLANK += ["\u3000", "\ufeff"]
NOT_BLANK = [
    chr(code)
    for code in (0, 1, 8, 0x1C, 0x1D, 0x1E, 0x1F, 0x7F, 0x85, 0xAD, 0x180E, 0x200B, 0x200C, 0x2060, 0xFFFE)
]
NUMBER_TEXTS = [
    *NUMBERS,
    *NO_NUMBERS,
    *(text for blank in (*BLANK, *NOT_BLANK) for text in (f"{blank}4.7", f"4.7{blank}", blank)),
    " \t4.7\u00a0\n",
]
"""Texts that some language takes for a number: what is one, and what may be around it, is the same for all
clients.
"""


DATES = [
    *("2024", "2024-06", "2024-06-30", "2024-06-31", "2024-06-32", "2024-06-00", "2024-00", "2024-13"),
    *("2024-6", "24-06", "02024", "+2024", "2024.0", "2.024e3", "2024/06", "202406", "2024-06-30T12:00"),
    *("\u0662\u0660\u0662\u0664", "\uff12\uff10\uff12\uff14-06", "1899-12", "2030-01", "0000", "x", " "),
    *(f"{blank}2024-06{blank}" for blank in ("\t", "\u00a0", "\u2003", "\ufeff", "\x1c", "\x85", "\u200b")),
    *(2024, 2024.0, 2024.5, 24293, -2024, True, None, "", [2024]),
]
WHOLE: list[Any] = [
    *NUMBERS,
    *(4, 4.0, 4.5, "4.0", "4.5", "4e0", " 4 ", 0, 10, 11, -1, 1e16, True, None, "", []),
]
TENTHS: list[Any] = [
    *(math.nextafter(i / 10, side) for i in range(-3, 9) for side in (-1, 1)),
    *(i / 10 for i in range(-3, 9)),
    *("0.3", "0.30000000000000004", "3e-1", 1e300, -1e300, "1e400", True, None, "", []),
]
LABELS = ["red", "caf\u00e9", "5", "0", "-5", "True", "False", "2.5", "0.0001", "1e-05", "1.5e-07"]
LABELS += ["10000000000000000", "9007199254740991", "nan", "none"]
LABELED = [*LABELS, "cafe\u0301", "Red", " red", "5.0", 5, 5.0, 0, -0.0, -5, -5.0, True, False, 2.5, 0.0001]
LABELED += [0.00001, 1.5e-7, 1e16, 2**53 - 1, 6, 0.1, None, "", [], ["red"], {}]


def single_answers() -> dict[str, tuple[Domain, list[Any]]]:
    """Answers to questions that are asked alone: numbers in bins, whole numbers, dates and labels."""
    return {
        "a tenth": (dn.Range(-0.3, 0.8, step=0.1), TENTHS),
        "an open tenth": (dn.Range(-0.3, 0.8, step=0.1, open_low=True, open_high=True), TENTHS),
        "floor": (dn.Range(0, 11, unit="whole"), WHOLE),
        "year": (dn.Range(1900, 2030, unit="year"), DATES),
        "month": (dn.Range(1900 * 12, 2030 * 12, unit="month"), DATES),
        "label": (dn.Categories(LABELS), LABELED),
    }


def answers() -> Iterator[dict[str, Any]]:
    """Answers to single attributes, each with its code: -1 for a missing one, null for one that
    is refused.
    """
    for name, (domain, given) in single_answers().items():
        plan = of(dn.grr(domain.k, 1.0), {name: domain}).to_json()
        yield {"name": name, "plan": plan, "answers": [[answer, code_of(domain, answer)] for answer in given]}
    for name, domain in (("age", AGES.plain), ("income", INCOME), ("home", TOWN.plain)):
        part = dict(zip(METRIC_QUESTIONS, metric_parts(), strict=True))[name]
        plan = of(part, {name: domain}).to_json()
        numbers: list[Any] = [*NUMBER_TEXTS, 4.7, 4, True, False, None, "", [], [4], {}]
        if isinstance(domain, dn.Grid):
            north, east = (
                [text.replace("4.7", degrees) for text in NUMBER_TEXTS] for degrees in ("47.605", "6.81")
            )
            numbers = [*(f"{text}, 6.81" for text in north), *(f"47.605,{text}" for text in east)]
            numbers += [[text, "6.81"] for text in north]
            odd: list[Any] = [6.81, "6.81", None, "", True, [6.81], {}]
            numbers += [[47.605, one] for one in odd]
            numbers += [
                "",
                None,
                " ",
                ",",
                "47.605",
                "47.605, 6.81, 0",
                "47.605; 6.81",
                [],
                [47.605],
                [47.605, 6.81, 0],
            ]
            numbers += [[None, "x"], 47.605, True, {}, {"latitude": 47.605, "longitude": 6.81}]
        yield {
            "name": name,
            "plan": plan,
            "answers": [[answer, code_of(domain, answer)] for answer in numbers],
        }


def text_answers() -> Iterator[dict[str, Any]]:
    """The same for text and codes, whose values are too large for numbers of JSON: decimal digits."""
    for name, domain, given in unlisted.answers():
        codes = [code_of(domain, answer) for answer in given]
        yield {
            "name": name,
            "plan": of(dn.mechanisms.linear(domain.bits, 1.0), {name: domain}).to_json(),
            "answers": [
                [answer, code if code is None else str(code)]
                for answer, code in zip(given, codes, strict=True)
            ],
        }


def code_of(domain: Domain, answer: Any) -> int | None:
    try:
        return int(domain.codes([answer])[0])
    except dn.InvalidValue:
        return None


PLANS: dict[str, Callable[[], dict[str, Plan]]] = {
    "single": single,
    "split": split,
    "sample": sample,
    "faked": lambda: faked() | any_faked(),
    "repeated": lambda: repeated() | any_kept(),
    "metric/reports": metric,
    "nested": nested,
    "questions": questionnaires.plans,
    "tables": products.plans,
    "levels": levels.plans,
    "known": groups.plans,
    "text": unlisted.plans,
    "near": near.plans,
}


def answers_of(plan: Plan) -> list[dict[str, Any]]:
    """A few people, some of whom give no answer where that is allowed."""
    if plan.document.known is not None and "city" not in plan.names:
        return groups.answers_of(plan)
    if not all(part.listed for part in plan.document.parts):
        return unlisted.answers_of(plan)
    if any(" x " in name for name in plan.names):
        return products.answers_of(plan)
    if any(" by " in name for name in plan.names):
        return levels.answers_of(plan)
    if any(member.kind.startswith("near") for member, _, _ in plan.mechanism.members) or any(
        one.several == "dishes" for one in plan.document.attributes
    ):
        return near.answers_of(plan)
    if "works" in plan.names:
        return questionnaires.ANSWERS["distant" if "pay" in plan.names else "work"]
    if set(plan.names) == set(QUESTIONS):
        some = (
            ANSWERS[:3]
            if plan.document.missing == "refuse"
            else [{**ANSWERS[0], "age": None}, {**ANSWERS[1], "smokes": None}]
        )
        return [dict(answer) for answer in some]
    if set(plan.names) <= set(METRIC_QUESTIONS) and plan.names != ("color",):
        return [dict(answer) for answer in metric_answers(plan)]
    count = 1 if len(plan.names) > 3 else 3
    known = {} if plan.document.known is None else {"arm": "B"}
    return [
        known | {name: labels[(7 * i + 1) % len(labels)] for name, labels in plan.labels.items()}
        for i in range(count)
    ]


def metric_answers(plan: Plan) -> Iterator[dict[str, Any]]:
    """Those who are asked, moved into the box where that is another one."""
    for answer in METRIC_ANSWERS:
        one = {name: answer[name] for name in plan.names}
        box = next((one.domain for one in plan.document.attributes if one.name == "home"), None)
        if isinstance(box, dn.Grid) and box != TOWN.plain:
            one["home"] = [-16.5, 179.75 if answer["income"] else -179.6]
        yield one | (
            {"home": None, "income": None}
            if plan.document.missing == "random" and answer["age"] == 104
            else {}
        )


def report_from(
    plan: Plan, answers: Mapping[str, Any], secret: bytes, words: list[int], number: int, name: bytes
) -> Report:
    """The report of a device that was given these fresh words."""
    made = plan.privatize([dict(answers)], Device(secret, [plan.id], fixed(words)))
    wire = Wire(plan.document)
    return wire.check(Report(wire.prefix, number, name, wire.bodies(made)[0]))


def cases(kind: str) -> Iterator[dict[str, Any]]:
    for name, plan in PLANS[kind]().items():
        for i, answers in enumerate(answers_of(plan)):
            seed = hashlib.sha256(f"{kind} {name} {i}".encode()).digest()
            words = [int(word) for word in dn.seeded(int.from_bytes(seed[:4], "little")).take(plan.words)]
            number = 1 + i % (plan.document.rounds or 1)
            report = report_from(plan, answers, seed, words, number, seed[:16])
            yield {
                "name": f"{name}, {i}",
                "plan": plan.to_json(),
                "secret": seed.hex(),
                "round": number,
                "id": seed[:16].hex(),
                "answers": answers,
                "words": [hex(word) for word in words],
                "bytes": report.to_bytes().hex(),
                "json": Wire(plan.document).to_json(report).decode(),
            }


def near_cases() -> Iterator[dict[str, Any]]:
    """Reports near the truth, those of special words, and reports that name too many options or too few."""
    yield from cases("near")
    plan, answer, words_of_each = near.special()
    for i, words in enumerate(words_of_each):
        report = report_from(plan, answer, bytes(32), words, 1, bytes(range(16)))
        yield {
            "name": f"three of ten, special words, {i}",
            "plan": plan.to_json(),
            "secret": bytes(32).hex(),
            "round": 1,
            "id": bytes(range(16)).hex(),
            "answers": answer,
            "words": [hex(word) for word in words],
            "bytes": report.to_bytes().hex(),
            "json": Wire(plan.document).to_json(report).decode(),
        }
    for name, plan, marked in near.marks():
        right = report_from(plan, near.answers_of(plan)[0], bytes(32), [0, 0], 1, bytes(range(16)))
        said = {option: int(j not in marked) for j, option in enumerate(plan.names)}
        raw = right.to_bytes()[:29] + bytes(said[option] for option in plan.names)
        known = {"name": name, "plan": plan.to_json(), "refused": "form"}
        yield known | {"bytes": raw.hex()}
        yield known | {"json": json_with(json.loads(Wire(plan.document).to_json(right)), report=said)}
    for name in ("three of ten", "five answers", "two of five, beside a question"):
        data = json.loads(near.plans()[name].to_json())
        for figure in ("record", "attribute"):
            less = {**data["losses"], figure: data["losses"][figure] - 2}
            yield refused_plan(f"{name}, states less per {figure}", {**data, "losses": less}, "leaks")


def near_device_cases() -> Iterator[dict[str, Any]]:
    """Reports of near plans from a device's secret, and of answers that change."""
    for name, plan in near.plans().items():
        secret = hashlib.sha256(f"near, {name}".encode()).digest()
        for i, given in enumerate(near.answers_of(plan)):
            report = dn.Client(plan, secret=secret, plan_cap=ANY_CAP).report(given, 1)
            yield {
                "name": f"near, {name}, {i}",
                "plan": plan.to_json(),
                "secret": secret.hex(),
                "round": 1,
                "answers": given,
                "report": report.to_bytes().hex(),
            }


def device_plans() -> dict[str, Plan]:
    """A plan of every kind that takes words."""
    some = {name: nested()[name] for name in ("a sample and fakes", "nested, no answer is random")}
    some |= {"by weights": sample()["by weights"], "kept, by weights": repeated()["repeated, by weights"]}
    some |= {f"questions, {name}": plan for name, plan in questionnaires.plans().items()}
    some |= {f"tables, {name}": plan for name, plan in products.plans().items()}
    some |= {f"levels, {name}": plan for name, plan in levels.plans().items()}
    some |= {f"known, {name}": plan for name, plan in groups.plans().items()}
    some |= {f"text, {name}": plan for name, plan in unlisted.plans().items()}
    some |= {name: repeated()[name] for name in ("loloha 3", "l_plh 7", "repeated, all")}
    some |= {name: faked()[name] for name in ("faked oue-r", "faked from priors grr", "faked, as published")}
    names = ("l_grr", "l_sue-z", "from priors l_grr", "from priors l_osue-r")
    some |= {name: repeated()[name] for name in (f"fakes that are kept, {one}" for one in names)}
    some |= {name: nested()[name] for name in list(nested())[-6:]}
    names = ("faked ss", "faked olh", "faked from priors hr", "faked, unlike kinds of uniform values")
    some |= {name: any_faked()[name] for name in names} | any_kept()
    some |= {"linked": repeated()["loloha 3"].with_linked()} | chains.last_plans()
    return one_of_each() | metric_of_each() | some


def device_cases() -> Iterator[dict[str, Any]]:
    """Reports from a device's secret: two rounds where there are several, and an answer that changes."""
    for name, plan in device_plans().items():
        secret = hashlib.sha256(name.encode()).digest()
        first, *others = answers_of(plan)
        attribute = plan.names[-1]
        changed = first | {attribute: others[0][attribute]} if others and attribute in first else first
        if "works" in plan.names:  # what applies to a person goes together
            changed = others[0]
        for i, (given, number) in enumerate(((first, 1), (changed, 1), (first, plan.document.rounds or 1))):
            if i and (given, number) == (first, 1):
                continue
            report = dn.Client(plan, secret=secret, plan_cap=ANY_CAP).report(given, number)
            yield {
                "name": f"{name}, {i}",
                "plan": plan.to_json(),
                "secret": secret.hex(),
                "round": number,
                "answers": given,
                "report": report.to_bytes().hex(),
            }
    yield from carried_cases()
    yield from asked_cases()
    yield from near_device_cases()
    yield from questionnaires.spelled()


def carried_cases() -> Iterator[dict[str, Any]]:
    """Many devices of plans that raise covered answers or bits, or remove some, of which few are unlike."""
    plans = chains.last_plans()
    covered = (*range(24), 57, 72, 112, 561)  # the last ones tell what is left of a law
    for chain, name, numbers in (
        ("covered", "covered answers", covered),
        ("other", "other values", range(48)),
        ("bits", "bits, less and more", range(6)),
        ("symmetric bits", "symmetric bits, more and less", range(6)),
    ):
        plan = plans[f"a chain, {name}"]
        labels = plan.document.attributes[0].domain.shown_labels[:2]
        for number in numbers:
            secret = hashlib.sha256(f"{chain} {number}".encode()).digest()
            given = {"city": labels[number % 2]}
            yield {
                "name": f"{name}, {number}",
                "plan": plan.to_json(),
                "secret": secret.hex(),
                "round": 1,
                "answers": given,
                "report": dn.Client(plan, secret=secret, plan_cap=ANY_CAP).report(given, 1).to_bytes().hex(),
            }


def asked_cases() -> Iterator[dict[str, Any]]:
    """Devices that ask only what they have drawn."""
    inside = Split((dn.grr(5, 0.5), dn.smp([7, 2], 1.0, "grr")))
    plans = {
        "one": of(dn.smp(KS, 1.0, "grr")),
        "two": of(Sample(dn.smp(KS, 1.0, "grr").mechanisms, 2)),
        "weights": of(dn.smp(KS, 1.0, "grr", weights=[1, 2, 4])),
        "in a split": of(inside, missing="random"),
        "tables": products.SMOKING.plan(people=1000),
        "levels": levels.BESIDE.plan(people=1000),
    }
    given_by = {"tables": products.ANSWERS[0], "levels": levels.ANSWERS[0]}
    for name, plan in plans.items():
        plan = plan.with_ask("sampled")
        given = given_by.get(name, ANSWERS[0])
        for number in range(3):
            secret = hashlib.sha256(f"{name} {number}".encode()).digest()
            client = dn.Client(plan, secret=secret, plan_cap=ANY_CAP)
            answers = {one: given[one] for one in client.questions}
            yield {
                "name": f"only drawn questions, {name}, {number}",
                "plan": plan.to_json(),
                "secret": secret.hex(),
                "round": 1,
                "questions": list(client.questions),
                "answers": answers,
                "report": client.report(answers).to_bytes().hex(),
            }


ANY_CAP = math.inf
"""A cap that allows plans without a bound, too."""


def one_of_each_shape() -> dict[str, Plan]:
    """A plan of one question for each form of its reports."""
    return {
        "direct": of(dn.grr(5, 1.0)),
        "unary": of(dn.oue(5, 1.0)),
        "subset": of(listed(dn.ss(20, 1.0))),
        "packed-subset": of(dn.ss(20, 1.0)),
        "hashed": of(dn.olh(5, 1.0)),
        "pooled": of(dn.mechanisms.plh(5, 1.0)),
        "hadamard": of(dn.hr(5, 1.0)),
        "linear": unlisted.plans()["text"],
    }


def one_of_each() -> dict[str, Plan]:
    return {
        **one_of_each_shape(),
        "bit-flip": of(dn.rounds.dbitflip(20, 2.0, bits=4), rounds=2),
        "split": of(dn.spl(KS, 2.0, "grr")),
        "sample": of(Sample(dn.smp(KS, 1.0, "grr").mechanisms, 2)),
        "faked": of(dn.rsfd(KS, 1.0, "oue-z")),
        "memoized": of(dn.rounds.l_osue(5, 1.0, 2.0), rounds=2),
        "memoized-mean": of(dn.rounds.l_duchi(0.5, 1.0), {"income": INCOME}, rounds=2),
    }


def metric_of_each() -> dict[str, Plan]:
    names = (
        *("geometric", "planar-geometric", "duchi", "piecewise", "hybrid", "mixed, split", "mixed, sample"),
        *("geometric, kept", "kept, sample"),
    )
    return {name: plan for name, plan in metric().items() if name in names}


def hostile_reports(plans: Mapping[str, Plan]) -> Iterator[dict[str, Any]]:
    """Reports that no client makes: each breaks one rule."""

    def case(name: str, plan: Plan, refused: str, **form: Any) -> dict[str, Any]:
        return {"name": name, "plan": plan.to_json(), "refused": refused, **form}

    for kind, plan in plans.items():
        words = [int(word) for word in dn.seeded(3).take(plan.words)]
        report = report_from(plan, answers_of(plan)[0], bytes(32), words, 1, bytes(range(16)))
        good, text = report.to_bytes(), Wire(plan.document).to_json(report).decode()
        header, body = good[:29], good[29:]
        prefix = bytes([good[1] ^ 1]) + good[2:9]
        yield case(f"{kind}, nothing", plan, "malformed", bytes="")
        yield case(f"{kind}, half a header", plan, "malformed", bytes=good[:20].hex())
        yield case(f"{kind}, without a body", plan, "size", bytes=header.hex())
        yield case(f"{kind}, truncated", plan, "size", bytes=good[:-1].hex())
        yield case(f"{kind}, with a byte more", plan, "size", bytes=(good + b"\0").hex())
        yield case(f"{kind}, oversized", plan, "size", bytes=(good + bytes(5000)).hex())
        yield case(f"{kind}, another version", plan, "version", bytes=(b"\x02" + good[1:]).hex())
        yield case(f"{kind}, another plan", plan, "plan", bytes=(good[:1] + prefix + good[9:]).hex())
        yield case(f"{kind}, round 0", plan, "round", bytes=(good[:9] + bytes(4) + good[13:]).hex())
        yield case(
            f"{kind}, a round too late", plan, "round", bytes=(good[:9] + b"\x03\0\0\0" + good[13:]).hex()
        )
        for change, wrong in hostile_bodies(kind, body):
            yield case(f"{kind}, {change}", plan, "form", bytes=(header + wrong).hex())
        data = json.loads(text)
        yield case(f"{kind}, JSON with a space", plan, "form", json=text.replace(",", ", ", 1))
        yield case(f"{kind}, JSON with a line feed", plan, "form", json=text + "\n")
        unsorted = json.dumps(dict(reversed(data.items())), separators=(",", ":"), ensure_ascii=False)
        yield case(f"{kind}, JSON in another order", plan, "form", json=unsorted)
        yield case(f"{kind}, JSON cut off", plan, "malformed", json=text[:-1])
        yield case(f"{kind}, JSON that is a list", plan, "malformed", json=f"[{text}]")
        yield case(
            f"{kind}, JSON with a field twice",
            plan,
            "form",
            json=text.replace('"round":1', '"round":1,"round":1'),
        )
        yield case(f"{kind}, JSON with a point", plan, "form", json=text.replace('"round":1', '"round":1.0'))
        yield case(
            f"{kind}, JSON with a fraction", plan, "malformed", json=text.replace('"round":1', '"round":1.5')
        )
        yield case(
            f"{kind}, JSON with true for a number",
            plan,
            "malformed",
            json=text.replace('"round":1', '"round":true'),
        )
        yield case(
            f"{kind}, JSON of another version",
            plan,
            "version",
            json=text.replace('"version":1', '"version":2'),
        )
        yield case(
            f"{kind}, JSON with an id in capitals", plan, "malformed", json=json_with(data, id="0A" * 16)
        )
        yield case(f"{kind}, JSON with a short id", plan, "malformed", json=json_with(data, id="0a" * 15))
        yield case(f"{kind}, JSON for another plan", plan, "plan", json=json_with(data, plan=prefix.hex()))
        for number in (0, 2**53, 10**30):
            yield case(f"{kind}, JSON for round {number}", plan, "round", json=json_with(data, round=number))
        yield case(f"{kind}, JSON with a list for 1", plan, "version", json=json_with(data, version=[1]))
        for digits in ("", "0", "0A" * 8) if '"bits":' in text else ():
            other = re.sub('"bits":"[^"]*"', f'"bits":"{digits}"', text)
            yield case(f"{kind}, JSON with bits of {digits!r}", plan, "malformed", json=other)
        yield case(f"{kind}, JSON without a report", plan, "malformed", json=json_with(data, report=None))
        yield case(f"{kind}, JSON with an empty report", plan, "size", json=json_with(data, report={}))
        yield case(f"{kind}, JSON with an unknown field", plan, "malformed", json=json_with(data, more=1))
        unknown = json_with(data, report={**data["report"], "shoe size": 1})
        yield case(f"{kind}, JSON with an unknown attribute", plan, "form", json=unknown)
        for wrong_part in (None, "0", -1, 1 << 40, [1, 0], [0, 0], [99], {"a": 0}, [True]):
            first = {**data["report"], next(iter(data["report"])): wrong_part}
            changed = json_with(data, report=first)
            reason = refusal_of(plan, changed)
            if reason is not None:  # a part that happens to be right for this kind is not hostile
                yield case(f"{kind}, JSON that says {json.dumps(wrong_part)}", plan, reason, json=changed)


def refusal_of(plan: Plan, text: str) -> str | None:
    from deniable.wire import Refused

    try:
        Wire(plan.document).from_json(text.encode())
    except Refused as refusal:
        return refusal.reason
    return None


def json_with(data: Mapping[str, Any], **changed: Any) -> str:
    return canonical({**data, **changed}).decode()


def hostile_bodies(kind: str, body: bytes) -> Iterator[tuple[str, bytes]]:
    """Bodies of the right length that are not canonical."""
    last = len(body) - 1
    if kind in ("geometric", "planar-geometric", "duchi", "memoized-mean"):
        last_of = {"geometric": 8, "planar-geometric": 12, "duchi": 2, "memoized-mean": 2}
        yield "an output beyond the last", bytes([last_of[kind]])
    elif kind in ("piecewise", "hybrid"):
        yield "an output beyond the last", bytes([255, 255])
    elif kind == "mixed, split":
        yield "an age beyond the last", body[:1] + bytes([8]) + body[2:]
        yield "a place beyond the last", body[:2] + bytes([12]) + body[3:]
        yield "a number beyond the last", body[:3] + bytes([255, 255])
    elif kind in ("direct", "split"):
        yield "a value beyond the last", bytes([5]) + body[1:]
    elif kind in ("unary", "memoized"):
        yield "a bit beyond the last", bytes([body[0] | 0x20])
        yield "all bits", bytes([0xFF])
    elif kind == "subset":
        yield "members in another order", body[::-1]
        yield "a member twice", body[:1] + body[:1] + body[2:]
        yield "a member beyond the last", body[:last] + bytes([20])
    elif kind == "packed-subset":
        yield "no member", bytes(3)
        members = int.from_bytes(body, "little")
        yield "a member too few", (members & (members - 1)).to_bytes(3, "little")
        yield "a member too many", (members | (members + 1)).to_bytes(3, "little")
        yield "all members", bytes([0xFF, 0xFF, 0x0F])
        yield "a bit beyond the last for a member", bytes([0x0F, 0, 0x10])
        yield "a bit beyond the last", body[:2] + bytes([body[2] | 0x80])
    elif kind == "hashed":
        yield "a = 0", bytes(4) + body[4:]
        yield "a too large", (2**31 - 1).to_bytes(4, "little") + body[4:]
        yield "b too large", body[:4] + (2**31 - 1).to_bytes(4, "little") + body[8:]
        yield "a bucket beyond the last", body[:8] + bytes([255])
    elif kind == "known":
        yield "a group beyond the last", bytes([2]) + body[1:]
        yield "a value beyond the last", body[:1] + bytes([5])
    elif kind == "pooled":
        yield "a bucket of a function beyond the last", bytes([12])
    elif kind == "hadamard":
        yield "a column beyond the last", bytes([8])
    elif kind == "linear":
        yield "no hash", bytes(8) + body[8:]
        yield "a hash of too low a rank", b"\1" + bytes(7) + body[8:]
        yield "a hash of the last bits only", b"\4" + bytes(7) + body[8:]
        yield "a hash with a row that has no leading bit", bytes(5) + b"\x20" + bytes(2) + body[8:]
        yield "a bit beyond the last", body[:7] + bytes([body[7] | 0x40]) + body[8:]
        yield "a bucket beyond the last", body[:8] + bytes([8])
    elif kind == "bit-flip":
        yield "values in another order", body[:4][::-1] + body[4:]
        yield "a value twice", body[:1] + body[:1] + body[2:]
        yield "a value beyond the last", body[:3] + bytes([20]) + body[4:]
        yield "a bit beyond the last", body[:4] + bytes([body[4] | 0x10])
    elif kind == "a sample last":
        yield "a value beyond the last", bytes([5]) + body[1:]
        yield "an attribute beyond the last", body[:1] + bytes([2]) + body[2:]
        yield "a sampled value beyond the last", body[:2] + bytes([7])
    elif kind == "sample":
        yield "attributes in another order", body[:2][::-1] + body[2:]
        yield "an attribute twice", body[:1] + body[:1] + body[2:]
        yield "an attribute beyond the last", body[:1] + bytes([3]) + body[2:]
        yield "a value beyond the last", body[:2] + bytes([7, 7])
    else:
        yield "a bit beyond the last", bytes([body[0] | 0x20]) + body[1:]


def hostile_mechanisms() -> dict[str, Plan]:
    return {
        **one_of_each_shape(),
        "split": of(dn.spl(KS, 2.0, "grr")),
        "sample": of(dn.smp(KS, 1.0, "oue")),
        "faked": of(dn.rsfd(KS, 1.0, "oue-z")),
        "faked, from priors": of(dn.records.rsrfd(KS, 1.0, PRIORS, "grr")),
        "fakes that are kept": of(dn.rounds.l_rsfd(KS, 1.0, 2.0), rounds=2),
        "memoized": of(dn.rounds.l_osue(5, 1.0, 2.0), rounds=2),
        "hashed-memoized": of(dn.rounds.loloha(50, 1.0, 2.0, g=3), rounds=2),
        "pooled-memoized": of(dn.rounds.l_plh(50, 1.0, 2.0, g=3), rounds=2),
        "bit-flip": of(dn.rounds.dbitflip(20, 2.0, bits=4), rounds=2),
    }


def hostile_plans(plans: Mapping[str, Plan] | None = None) -> Iterator[dict[str, Any]]:
    """Plans that a device must not answer. All but the first two have the right id."""
    for kind, plan in (hostile_mechanisms() if plans is None else plans).items():
        text = plan.to_json()
        data = json.loads(text)
        yield {"name": f"{kind}, wrong id", "plan": text.replace(plan.id, "0" * 64), "refused": "id"}
        yield {
            "name": f"{kind}, without an id",
            "plan": canonical({k: v for k, v in data.items() if k != "id"}).decode(),
            "refused": "id",
        }
        yield {"name": f"{kind}, with a space", "plan": text.replace(",", ", ", 1), "refused": "canonical"}
        for name in ("record", "attribute"):
            less = {**data["losses"], name: data["losses"][name] - 2}
            yield {
                "name": f"{kind}, states less per {name}",
                "plan": sealed({**data, "losses": less}),
                "refused": "leaks",
            }
        for figure, nanos in (data["losses"]["repeated"] or {}).items():
            if nanos is not None:
                less = {**data["losses"], "repeated": {**data["losses"]["repeated"], figure: nanos - 2}}
                yield {
                    "name": f"{kind}, states less: {figure}",
                    "plan": sealed({**data, "losses": less}),
                    "refused": "leaks",
                }
        yield {"name": f"{kind}, leaks more", "plan": sealed(sharper(data)), "refused": "leaks"}
        yield {
            "name": f"{kind}, another version",
            "plan": sealed({**data, "version": 1}),
            "refused": "version",
        }
        yield {"name": f"{kind}, an unknown field", "plan": sealed({**data, "more": 1}), "refused": "fields"}
        yield {"name": f"{kind}, a float", "plan": sealed({**data, "people": 1000.5}), "refused": "integer"}
        yield {
            "name": f"{kind}, an unknown mechanism",
            "plan": sealed({**data, "mechanism": {**data["mechanism"], "kind": "none"}}),
            "refused": "kind",
        }
        nine = {"kind": "categories", "labels": list("abcdefghi")}
        fewer = {
            **data,
            "attributes": [
                *data["attributes"][:-1],
                {"name": data["attributes"][-1]["name"], "domain": nine},
            ],
        }
        yield {"name": f"{kind}, sizes that do not fit", "plan": sealed(fewer), "refused": "fit"}
    if plans is None:
        data = json.loads(of(dn.grr(5, 1.0)).to_json())
        data["mechanism"]["parts"][0] = {"kind": "square-wave", "k": 5, "window": 3, "keep": str(1 << 63)}
        yield refused_plan("square-wave, which is retired", data, "kind")


def hostile_metric_plans() -> Iterator[dict[str, Any]]:
    """Plans with distances that a device must not answer: the usual faults, and those that only they can
    have.
    """
    plans = metric_of_each()
    yield from hostile_plans(plans)
    for kind, plan in plans.items():
        data = json.loads(plan.to_json())
        metric = data["losses"].get("metric")
        if metric is None:
            more = {**data["losses"], "metric": {"rest": data["losses"]["record"], "units": []}}
            yield refused_plan(
                f"{kind}, states distances that it has not", {**data, "losses": more}, "losses"
            )
            continue
        without = {name: value for name, value in data["losses"].items() if name != "metric"}
        yield refused_plan(f"{kind}, states no loss per unit", {**data, "losses": without}, "losses")
        if metric["rest"]:
            yield refused_plan(
                f"{kind}, states less of the rest", with_metric(data, rest=metric["rest"] - 2), "leaks"
            )
        for j, unit in enumerate(metric["units"]):
            for change, reason in (
                ({"loss": unit["loss"] - 2}, "leaks"),
                ({"unit": "mile"}, "losses"),
                ({"name": "shoe size"}, "losses"),
            ):
                units = [{**one, **change} if i == j else one for i, one in enumerate(metric["units"])]
                yield refused_plan(
                    f"{kind}, states {json.dumps(change)}", with_metric(data, units=units), reason
                )
    yield from hostile_tables(plans)


def hostile_tables(plans: Mapping[str, Plan]) -> Iterator[dict[str, Any]]:
    """Tables that do not fit together, or do not fit what is asked."""
    line, plane, number = (
        json.loads(plans[kind].to_json()) for kind in ("geometric", "planar-geometric", "piecewise")
    )
    tails, noise = line["mechanism"]["parts"][0]["tails"], plane["mechanism"]["parts"][0]["noise"]
    steps = plane["mechanism"]["parts"][0]["steps"]
    one_more = [str(int(tails[0]) + 1), *tails[1:]]
    flat = [*tails[:-1], tails[-2]]
    long = [str((1 << 63) + 5000), *(str((1 << 63) - 5000 - i) for i in range(4096))]
    tables = {
        "a word too many": one_more,
        "a step of no word": flat,
        "too long": long,
    }
    for name, table in tables.items():
        yield refused_plan(f"tails, {name}", with_part(line, tails=table), "tails")
    yield refused_plan("tails, a zero", with_part(line, tails=[*tails[:-1], "0"]), "threshold")
    less = [[str(int(noise[0][0]) - 1), *noise[0][1:]], *noise[1:]]
    for name, rows in (
        ("a word too few", less),
        ("a short row", [noise[0][:-1], *noise[1:]]),
        ("a row less", noise[:-1]),
    ):
        yield refused_plan(f"noise, {name}", with_part(plane, noise=rows), "noise")
    yield refused_plan(
        "steps longer than the cells are", with_part(plane, steps=[steps[0] + 2, steps[1]]), "steps"
    )
    yield refused_plan("steps of no length", with_part(plane, steps=[0, steps[1]]), "steps")
    yield refused_plan("a step too few", with_part(plane, steps=steps[:1]), "steps")
    eight = {"kind": "categories", "labels": list("abcdefgh")}
    yield refused_plan("distances between values that have none", with_domain(line, eight), "fit")
    yield refused_plan("a mean of values", with_domain(number, eight), "fit")
    box, numbers = plane["attributes"][0]["domain"], number["attributes"][0]["domain"]
    yield refused_plan("noise of another grid", with_domain(plane, {**box, "rows": 4, "columns": 3}), "fit")
    yield refused_plan("a grid beyond the world", with_domain(plane, {**box, "east": 400 * 10**9}), "grid")
    yield refused_plan("no answer has no distance", {**line, "missing": "value"}, "no-answer")
    yield refused_plan(
        "a number that ends before it begins", with_domain(number, {**numbers, "high": -1}), "number"
    )


def refused_plan(name: str, data: Mapping[str, Any], reason: str) -> dict[str, Any]:
    return {"name": name, "plan": sealed(data), "refused": reason}


def with_metric(data: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    return {**data, "losses": {**data["losses"], "metric": {**data["losses"]["metric"], **changed}}}


def with_part(data: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    return {**data, "mechanism": {"kind": "single", "parts": [{**data["mechanism"]["parts"][0], **changed}]}}


def with_domain(data: Mapping[str, Any], domain: Mapping[str, Any]) -> dict[str, Any]:
    return {**data, "attributes": [{"name": data["attributes"][0]["name"], "domain": domain}]}


def sealed(data: Mapping[str, Any]) -> str:
    """A document with the id that belongs to it."""
    body = {name: value for name, value in data.items() if name != "id"}
    return canonical({**body, "id": hashlib.sha256(canonical(body)).hexdigest()}).decode()


def sharper(data: Any) -> Any:
    """The same plan with every truth-telling threshold moved a thousandth of the way to certainty."""
    if isinstance(data, dict):
        if "tails" in data:
            rest = [int(tail) - int(tail) // 1000 for tail in data["tails"][1:]]
            return {**data, "tails": [str(FULL - rest[0]), *map(str, rest)]}
        if "noise" in data:
            return {**data, "noise": sharper_noise([[int(word) for word in row] for row in data["noise"]])}
        return {
            name: str(int(value) + (FULL - int(value)) // 1000) if name in ("keep", "one") else sharper(value)
            for name, value in data.items()
        }
    return [sharper(item) for item in data] if isinstance(data, list) else data


def sharper_noise(noise: list[list[int]]) -> list[list[str]]:
    """A thousandth of the words of every displacement go to none at all."""
    less = [[word - word // 1000 for word in row] for row in noise]
    times = [
        [(1 if i == 0 else 2) * (1 if j == 0 else 2) for j in range(len(row))] for i, row in enumerate(less)
    ]
    others = sum(
        word * often
        for row, many in zip(less, times, strict=True)
        for word, often in zip(row, many, strict=True)
    )
    less[0][0] = FULL - (others - less[0][0])
    return [list(map(str, row)) for row in less]


def by_rules(kind: str) -> Iterator[dict[str, Any]]:
    """Vectors of the rules, of steps and of tables, which are made from the plans here."""
    from spec.make import rows, rules, steps

    return (rules.FILES | steps.FILES | rows.FILES)[kind]()


BY_RULES = (
    "refusals",
    "grids",
    "losses",
    "caps",
    "protections",
    "rounds",
    "batches",
    "ledgers",
    "invitations",
    "rows",
)


def code_cases() -> Iterator[dict[str, Any]]:
    """Codes as people type them: their plans and invitations, or what is wrong with them."""
    plans = ["3f" * 32, "c7" * 32, "00ff" * 16]
    for number, some in enumerate((plans[:1], plans[:2], plans)):
        written = write_code(some, (number + 1) ** 60 % 2**80)
        for form, typed in {
            "as it is printed": written,
            "in small letters, with spaces": f" {written.replace('-', ' ').lower()} ",
            "with letters like digits": written.replace("-", "").replace("1", "l").replace("0", "o"),
            "with other dashes and a full stop": written.replace("-", " \N{EN DASH}\N{NO-BREAK SPACE}", 2)
            .replace("-", "\N{NON-BREAKING HYPHEN}", 1)
            .replace("-", "\N{MINUS SIGN}\t\N{SOFT HYPHEN}")
            + ". ",
        }.items():
            yield {
                "name": f"{len(some)} plans, {form}",
                "typed": typed,
                "tag": tag_plans(some),
                "plans": some,
                "invitations": [derive_invitation(typed, one) for one in some],
            }
    right = write_code(plans[:1], 5)
    wrong = {"length": [right[:-1], right + "0", "", "."], "symbol": [right[:-1] + "U", right[:-1] + "é"]}
    wrong["symbol"].append(right[:-2] + ".1")
    wrong["slip"] = [right[:-1] + ("2" if right[-1] != "2" else "3"), right[1::-1] + right[2:]]
    codes = (write_code(plans[:1], secret) for secret in range(10_000))
    small = next(code for code in codes if code.endswith("-02"))
    wrong["slip"].append(small[:-2] + "ZZ")  # a multiple, too: 1023 is 2 and 1021
    for reason, texts in wrong.items():
        for typed in texts:
            yield {"name": f"{reason}, {typed}", "typed": typed, "refused": reason}


FILES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    **{kind: partial(cases, kind) for kind in PLANS},
    "nested": nested_cases,
    "near": near_cases,
    "hostile-reports": lambda: hostile_reports(
        one_of_each() | {"known": of(dn.grr(5, 1.0)).with_known({"arm": ["A", "B"]})}
    ),
    "hostile-plans": hostile_plans,
    "metric/hostile-reports": lambda: hostile_reports(
        {
            kind: plan for kind, plan in metric_of_each().items() if kind != "mixed, sample"
        }  # its bodies differ in length
    ),
    "metric/hostile-plans": hostile_metric_plans,
    "answers": answers,
    "text-answers": text_answers,
    "devices": device_cases,
    "codes": code_cases,
    **{kind: partial(by_rules, kind) for kind in BY_RULES},
}


def text_of(kind: str) -> str:
    """A file of vectors, a line each."""
    lines = [
        json.dumps(case, ensure_ascii=kind in ("answers", "refusals", "text-answers"), separators=(",", ":"))
        for case in FILES[kind]()
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


Case = dict[str, Any]


def read_file(kind: str) -> list[tuple[str, Case]]:
    """The vectors of a file, each with its name."""
    return [(case["name"], case) for case in json.loads((FOLDER / f"{kind}.json").read_text("utf-8"))]


def positive() -> list[tuple[str, Case]]:
    """Every report that a client of any language makes."""
    return [(name, case) for kind in PLANS for name, case in read_file(kind) if "words" in case]


def hostile(what: str, form: str) -> list[tuple[str, Case]]:
    """Hostile "reports" or "plans" of all files that have this form."""
    files = (f"hostile-{what}", f"metric/hostile-{what}")
    found = [one for file in files for one in read_file(file)]
    for name, case in (*read_file("nested"), *read_file("near")):
        if "refused" in case and ("bytes" in case or "json" in case) == (what == "reports"):
            found.append((name, case))
    return [(name, case) for name, case in found if form in case]


@cache
def read_plan(text: str) -> Plan:
    """A plan that many vectors belong to, read once."""
    return Plan.from_json(text)


def write_files() -> None:
    """Write all files of vectors."""
    (FOLDER / "metric").mkdir(parents=True, exist_ok=True)
    for kind in FILES:
        (FOLDER / f"{kind}.json").write_text(text_of(kind), encoding="utf-8")
