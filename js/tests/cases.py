"""Cases for the TypeScript client from the Python library: plans of every kind, and reports of given words.

python cases.py SEED COUNT writes a line of JSON each.
"""

from __future__ import annotations

import json
import math
import random
import sys

import deniable as dn
from deniable.plan import Plan
from deniable.wire import Report, Wire
from deniable.words import Device

EXACT = [name for name, row in dn.PROTOCOLS.items() if row.exact]
FAKED = ["grr", "oue-z", "oue-r", "sue-z", "sue-r", "adaptive"]
NAMES = ["color", "age", "1", "10", "2", "ünïcode", "🙂", "\ufb01n", 'quo"te', "back\\slash", "__proto__", "toString"]


def epsilon(dice: random.Random) -> float:
    return dice.choice([0.01, 0.5, 1.0, math.log(3), 3.0, 8.0, dice.uniform(0.05, 6)])


def repeated(dice: random.Random, k: int) -> object:
    first = dice.uniform(0.2, 2)
    forever = first * dice.uniform(1.2, 3)
    kind = dice.choice(["l_grr", "l_sue", "l_osue", "l_oue", "l_soue", "loloha", "dbitflip"])
    if kind == "dbitflip":
        return dn.dbitflip(k, forever, dice.randint(1, k))
    return getattr(dn, kind)(k, first, forever)


def domain(dice: random.Random, name: str) -> object:
    if dice.random() < 0.6:
        k = dice.choice([2, 3, 5, 8, 9, 17, 64, 65, 130, 300])
        return dn.Categories([f"{name} {i}" for i in range(k)])
    digits = dice.choice([0, 0, 1, 2, 5])
    scale = 10**digits
    step, low, bins = dice.randint(1, 50), dice.randint(-300, 300), dice.choice([2, 3, 10, 100, 257])
    ends = dice.random() < 0.5, dice.random() < 0.5
    return dn.Range(low / scale, (low + bins * step) / scale, step / scale, *ends)


def answer(dice: random.Random, one: object) -> object:
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


def share(dice: random.Random, ks: list[int]) -> object:
    if len(ks) == 1:
        return dn.PROTOCOLS[dice.choice(EXACT)].make(ks[0], epsilon(dice)) if dice.random() < 0.6 else repeated(dice, ks[0])
    kind = dice.choice(["spl", "smp", "several", "rsfd", "rsfd", "rsrfd", "rsrfd", "again", "split again", "allomfree"])
    if kind == "spl":
        return dn.spl(ks, epsilon(dice), dice.choice(EXACT))
    if kind == "smp":
        return dn.smp(ks, epsilon(dice), dice.choice(EXACT))
    if kind == "several":
        return dn.smp(ks, epsilon(dice), dice.choice(EXACT), attributes=dice.randint(1, len(ks)))
    if kind == "rsfd":
        return dn.rsfd(ks, epsilon(dice), dice.choice(FAKED), dice.choice(["record", "attribute", "published"]))
    if kind == "rsrfd":
        protocol = dice.choice(["grr", "oue-r", "sue-r"])
        how = {"fakes": dice.choice(["perturbed", "published"])} if protocol == "grr" else {}
        return dn.rsrfd(ks, epsilon(dice), [prior(dice, k) for k in ks], protocol, dice.choice(["record", "published"]), **how)
    if kind == "allomfree":
        return dn.allomfree(ks, 1.0, 2.0)
    parts = tuple(repeated(dice, k) for k in ks)
    return dn.Sample(parts, dice.randint(1, len(ks))) if kind == "again" else dn.Split(parts)


def case(dice: random.Random) -> dict[str, object]:
    names = dice.sample(NAMES, dice.choice([1, 2, 3, 5, 10]))
    domains = {name: domain(dice, name) for name in names}
    missing = dice.choice(["refuse", "value", "random"])
    ks = [one.k + (missing == "value") for one in domains.values()]
    made = share(dice, ks)
    asked_again = any("losses" in dir(part) for part in (made.parts if hasattr(made, "parts") else (made,)))
    rounds = dice.choice([1, 7, 60, 1000]) if asked_again else None
    plan = Plan.of(domains, made, dice.randint(1, 10**6), dice.choice(["", "A study", "Étude 🙂"]), missing, rounds)
    secret, number, name = dice.randbytes(32), dice.randint(1, rounds or 1), dice.randbytes(16)
    answers = {one: answer(dice, values) for one, values in domains.items()}
    if missing != "refuse" and dice.random() < 0.5:
        answers[dice.choice(names)] = dice.choice([None, ""])
    words = [dice.getrandbits(64) for _ in range(plan.words)]
    reports = plan.privatize_codes(plan.encode([answers]), Device(secret, [plan.id], dn.fixed(words)))
    wire = Wire(plan)
    report = Report(wire.prefix, number, name, wire.bodies(reports)[0])
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
        "losses": [loss.record, loss.attribute, *(loss.repeated or ())],
        "labels": [[*labels[:2], *labels[-2:]] for labels in plan.labels.values()],
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
