"""Writes cases for the TypeScript client: plans of every kind, and reports of given words.

python cases.py SEED COUNT writes a line of JSON each.
"""

from __future__ import annotations

import json
import math
import random
import sys
from typing import Any

import deniable as dn
from deniable.metric.means import MEANS, Averaged, averaged
from deniable.plan import metric_mechanism
from deniable.randomness.simulated import fixed
from deniable.randomness.words import Device
from deniable.study import Plan
from deniable.wire import Report, Wire

EXACT = list(dn.PROTOCOLS)
FAKED = ["grr", "oue-z", "oue-r", "sue-z", "sue-r", "adaptive"]
LEVELED = 0.2
"""How many cases have text or levels."""
NAMES = [
    "color",
    "age",
    "1",
    "10",
    "2",
    "ünïcode",
    "🙂",
    "\ufb01n",
    'quo"te',
    "back\\slash",
    "__proto__",
    "toString",
]


def epsilon(dice: random.Random) -> float:
    return dice.choice([0.01, 0.5, 1.0, math.log(3), 3.0, 8.0, dice.uniform(0.05, 6)])


def repeated(dice: random.Random, k: int) -> object:
    first = dice.uniform(0.2, 2)
    forever = first * dice.uniform(1.2, 3)
    kind = dice.choice(["l_grr", "l_sue", "l_osue", "l_oue", "l_soue", "loloha", "l_plh", "dbitflip"])
    if kind == "dbitflip":
        return dn.rounds.dbitflip(k, forever, dice.randint(1, k))
    return getattr(dn.rounds, kind)(k, first, forever)


def domain(dice: random.Random, name: str) -> object:
    if dice.random() < 0.6:
        k = dice.choice([2, 3, 5, 8, 9, 17, 64, 65, 130, 300])
        return dn.Categories([f"{name} {i}" for i in range(k)])
    digits = dice.choice([0, 0, 1, 2, 5])
    scale = 10**digits
    step, low, bins = dice.randint(1, 50), dice.randint(-300, 300), dice.choice([2, 3, 10, 100, 257])
    ends = dice.random() < 0.5, dice.random() < 0.5
    return dn.Range(low / scale, (low + bins * step) / scale, step / scale, *ends)


def location(dice: random.Random, one: dn.Grid) -> object:
    """A location anywhere in the grid, or on an edge of a cell."""
    part = [
        dice.choice([0.0, 1.0, dice.random(), dice.randint(0, many) / many])
        for many in (one.rows, one.columns)
    ]
    latitude = min(one.north, one.south + part[0] * (one.north - one.south))
    wide = (one.east - one.west) % 360
    longitude = one.west + part[1] * wide
    if not 0 <= (longitude - one.west) % 360 <= wide:
        longitude = one.west
    longitude = dice.choice([longitude, (longitude + 180) % 360 - 180])
    if not 0 <= (longitude - one.west) % 360 <= wide:
        longitude = one.west
    return dice.choice(
        [[latitude, longitude], f"{latitude!r}, {longitude!r}", f" {latitude!r},{longitude!r} "]
    )


def answer(dice: random.Random, one: object) -> object:
    if isinstance(one, dn.Text):
        size = dice.randint(1, one.longest + (3 if one.cut else 0))
        return "".join(dice.choice(one.letters) for _ in range(size)).strip() or one.letters[0]
    if isinstance(one, dn.Code):
        number = dice.choice([0, one.k - 1, dice.randrange(one.k)])
        return dice.choice([hex(number), str(number), number if number < 1 << 53 else hex(number)])
    if isinstance(one, dn.Grid):
        return location(dice, one)
    if isinstance(one, dn.Number):
        number = dice.choice([one.low, one.high, one.low + dice.random() * (one.high - one.low)])
        if one.open_low and dice.random() < 0.2:
            number = one.low - 10.0 ** dice.randint(-3, 9)
        number = min(number, one.high)
        return dice.choice([number, repr(number), f" {number!r} "])
    if not isinstance(one, dn.Range):
        return dice.choice(one.labels)
    whole = one.scaled_low + dice.randint(0, one.bins * one.scaled_step - 1)
    if dice.random() < 0.3:
        whole = one.scaled_low + one.scaled_step * dice.randint(0, one.bins - 1)  # at an edge
    if one.open_high and dice.random() < 0.1:
        whole = 10**9
    number = whole / 10**one.digits
    return dice.choice([number, repr(number), f" {number:.{one.digits}f} "])


def prior(dice: random.Random, k: int) -> list[float]:
    return [dice.uniform(0.05, 1) for _ in range(k)]


def nested(dice: random.Random, ks: list[int]) -> object:
    """A split of mechanisms, samples and fakes, in any order."""
    parts: list[object] = []
    rest = list(ks)
    while rest:
        many = dice.choice([1, 1, 2, 3])
        some, rest = rest[:many], rest[many:]
        if len(some) == 1:
            parts.append(dn.PROTOCOLS[dice.choice(EXACT)].make(some[0], epsilon(dice)))
        elif dice.random() < 0.5:
            parts.append(
                dn.smp(some, epsilon(dice), dice.choice(EXACT), attributes=dice.randint(1, len(some)))
            )
        else:
            parts.append(dn.rsfd(some, epsilon(dice), dice.choice(FAKED)))
    return dn.records.Split(tuple(parts))


def record_mechanism(dice: random.Random, ks: list[int]) -> object:
    if len(ks) == 1:
        return (
            dn.PROTOCOLS[dice.choice(EXACT)].make(ks[0], epsilon(dice))
            if dice.random() < 0.6
            else repeated(dice, ks[0])
        )
    kind = dice.choice(
        [
            "spl",
            "smp",
            "several",
            "rsfd",
            "rsfd",
            "rsrfd",
            "rsrfd",
            "again",
            "split again",
            "kept",
            "nested",
            "nested",
            "nested again",
        ]
    )
    if kind == "spl":
        return dn.spl(ks, epsilon(dice), dice.choice(EXACT))
    if kind == "smp":
        weights = [dice.randint(1, 9) for _ in ks] if dice.random() < 0.5 else None
        return dn.smp(ks, epsilon(dice), dice.choice(EXACT), weights=weights)
    if kind == "several":
        return dn.smp(ks, epsilon(dice), dice.choice(EXACT), attributes=dice.randint(1, len(ks)))
    if kind == "rsfd":
        return dn.rsfd(
            ks, epsilon(dice), dice.choice(FAKED), dice.choice(["record", "attribute", "published"])
        )
    if kind == "rsrfd":
        protocol = dice.choice(["grr", "oue-r", "sue-r"])
        how = {"fakes": dice.choice(["perturbed", "published"])} if protocol == "grr" else {}
        return dn.records.rsrfd(
            ks,
            epsilon(dice),
            [prior(dice, k) for k in ks],
            protocol,
            dice.choice(["record", "published"]),
            **how,
        )
    if kind == "kept":
        return dn.records.Sample(tuple(dn.rounds.l_osue(k, 1.0, 2.0) for k in ks))
    parts = tuple(repeated(dice, k) for k in ks)
    if kind == "nested":
        return nested(dice, ks)
    if kind == "nested again":
        return (
            dn.records.Split((parts[0], dn.records.Sample(parts[1:], 1)))
            if len(ks) > 2
            else dn.records.Split(parts)
        )
    return dn.records.Sample(parts, dice.randint(1, len(ks))) if kind == "again" else dn.records.Split(parts)


def distant(dice: random.Random, name: str) -> tuple[object, object]:
    """An attribute with distances, a number or a set of values, and its mechanism."""
    kind = dice.choice(["range", "range", "grid", "grid", "equal", "number", "number", "categories"])
    if kind == "range":
        digits, bins = dice.choice([0, 0, 1, 3]), dice.choice([2, 3, 10, 100, 257])
        low, step = dice.randint(-300, 300), dice.randint(1, 5)
        ends = [one / 10**digits for one in (low, low + bins * step, step)]
        own = dn.Range(
            *ends, dice.random() < 0.5, dice.random() < 0.5, privacy="metric", epsilon=dice.uniform(0.01, 2)
        )
        return own, metric_mechanism(own, name)
    if kind == "number":
        digits = dice.choice([0, 0, 1, 4])
        low = dice.randint(-3000, 3000)
        ends = [one / 10**digits for one in (low, low + dice.randint(1, 10**6))]
        number = dn.Number(*ends, dice.random() < 0.5, dice.random() < 0.5)
        return number, averaged(dice.choice(MEANS), dice.choice([0.1, 1.0, dice.uniform(0.3, 5)]))
    if kind == "categories":
        return dn.Categories([f"{name} {i}" for i in range(5)]), dn.grr(5, epsilon(dice))
    south, west = dice.randint(-800, 790) / 10, dice.randint(-1800, 1799) / 10
    high, wide = dice.choice([0.1, 1.0, 5.0]), dice.choice([0.1, 1.0, 5.0, 30.0])
    east = round((west + wide + 180) % 360 - 180, 3)
    sides = dice.choice([2, 3, 5, 12]), dice.choice([2, 3, 7, 20])
    own = dn.Grid(south, west, round(south + high, 3), east, *sides, epsilon=dice.choice([1e-3, 1e-4, 1e-5]))
    if kind == "equal":
        return own, dn.grr(own.k, epsilon(dice))
    return own, metric_mechanism(own, name)


def distant_mechanism(dice: random.Random, parts: tuple[object, ...]) -> object:
    if len(parts) == 1:
        return parts[0]
    if len(parts) > 2 and dice.random() < 0.4:
        return dn.records.Split((parts[0], dn.records.Sample(parts[1:], dice.randint(1, len(parts) - 1))))
    return (
        dn.records.Split(parts)
        if dice.random() < 0.5
        else dn.records.Sample(parts, dice.randint(1, len(parts)))
    )


def mechanisms(made: dn.records.RecordMechanism | dn.mechanisms.Mechanism) -> tuple[Any, ...]:
    """One mechanism for each attribute."""
    return made.mechanisms if isinstance(made, dn.records.RecordMechanism) else (made,)


def leveled(dice: random.Random, name: str) -> object:
    """Text or a code that nobody listed, a range in levels, or a set of values."""
    kind = dice.choice(["text", "text", "code", "range", "categories"])
    if kind == "text":
        letters = dice.choice(["a-z", "a-z0-9.-", "ab", "a-zäöüß "])
        size = dice.choice([2, 3, 7, 10])
        return dn.Text(letters, max(4, size) if letters == "ab" else size, cut=dice.random() < 0.5)
    if kind == "code":
        return dn.Code(dice.choice([8, 17, 48, 62]), levels=dice.random() < 0.7)
    if kind == "range":
        low, step = dice.randint(-300, 300), dice.randint(1, 9)
        bins = dice.choice([5, 16, 17, 257, 1000])
        ends = dice.random() < 0.5, dice.random() < 0.5
        return dn.Range(low, low + bins * step, step, *ends, queries="ranges")
    return dn.Categories([f"{name} {i}" for i in range(5)])


def leveled_plan(dice: random.Random, names: list[str]) -> tuple[dict[str, Any], Plan]:
    domains = {name: leveled(dice, name) for name in names}
    how = dice.choice([{}, {}, {"mechanism": "split"}])
    study = dn.Study(domains, epsilon=epsilon(dice), missing=dice.choice(["refuse", "random"]), **how)
    return domains, study.plan(people=1000)


def case(dice: random.Random) -> dict[str, object]:
    names = dice.sample(NAMES, dice.choice([1, 2, 3, 5, 10]))
    if dice.random() < LEVELED:
        names = names[:3]
        return write_case(dice, names, *leveled_plan(dice, names))
    if dice.random() < 0.3:
        names = names[:4]
        made_of = [distant(dice, name) for name in names]
        domains = {name: own for name, (own, _) in zip(names, made_of, strict=True)}
        missing = dice.choice(["refuse", "random"])
        made = distant_mechanism(dice, tuple(part for _, part in made_of))
    else:
        domains = {name: domain(dice, name) for name in names}
        missing = dice.choice(["refuse", "value", "random"])
        made = record_mechanism(dice, [one.k + (missing == "value") for one in domains.values()])
    asked_again = any(part.repeated for part in mechanisms(made))
    rounds = dice.choice([1, 7, 60, 1000]) if asked_again else None
    plan = Plan.of(
        domains, made, dice.randint(1, 10**6), dice.choice(["", "A study", "Étude 🙂"]), missing, rounds
    )
    return write_case(dice, names, domains, plan)


def write_case(
    dice: random.Random, names: list[str], domains: dict[str, Any], plan: Plan
) -> dict[str, object]:
    made, missing, rounds = plan.mechanism, plan.document.missing, plan.document.rounds
    secret, number, name = dice.randbytes(32), dice.randint(1, rounds or 1), dice.randbytes(16)
    answers = {one: answer(dice, values) for one, values in domains.items()}
    if missing != "refuse" and dice.random() < 0.5:
        answers[dice.choice(names)] = dice.choice([None, ""])
    words = [dice.getrandbits(64) for _ in range(plan.words)]
    reports = plan.privatize_codes(plan.encode([answers]), Device(secret, [plan.id], fixed(words)))
    wire = Wire(plan.document)
    report = Report(wire.prefix, number, name, wire.bodies(reports)[0])
    device = dn.Client(plan, secret=secret, plan_cap=1e12).report(answers, number)
    loss = plan.stated
    return {
        "name": type(made).__name__,
        "plan": plan.to_json(),
        "secret": secret.hex(),
        "round": number,
        "id": name.hex(),
        "answers": answers,
        "words": [hex(word) for word in words],
        "bytes": report.to_bytes().hex(),
        "json": wire.to_json(report).decode(),
        "device": device.to_bytes().hex(),
        "losses": [loss.record, loss.attribute, *(loss.repeated or ())],
        "metric": None
        if loss.metric is None
        else [loss.metric.rest, *(one.loss for one in loss.metric.units)],
        "halves": {
            one: part.success()
            for one, part in zip(plan.names, mechanisms(made), strict=True)
            if isinstance(part, Averaged)
        },
        "labels": [
            [*labels[:2], *labels[-2:]] for labels in map(plan.document.labels_of, plan.document.attributes)
        ],
    }


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    dice, written = random.Random(seed), 0
    while written < count:
        try:
            found = case(dice)
        except (dn.DeniableError, ValueError):
            continue  # a choice of numbers that no protocol has
        print(json.dumps(found))
        written += 1


if __name__ == "__main__":
    main()
