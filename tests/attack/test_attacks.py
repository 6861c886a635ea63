"""Attacks against their definitions: every closed form beside full enumeration, published numbers and
simulated people.

Enumerations are exact up to the rounding of floats. Simulations have the false-alarm rate of
`statistics.ALPHA` for each comparison, with PEOPLE people, and are shown to fail where the attacker's law is
a little wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import attack
from deniable.attack import loops
from deniable.attack.inputs import compact
from deniable.attack.likelihoods import Clue, likelihoods, make_pool
from deniable.attack.reidentification import Evidence, match
from deniable.attack.results import Chance
from deniable.attack.sampling import estimate_marginals, expected_largest
from deniable.attack.values import guess_values
from deniable.estimate import bounded
from deniable.explain.references import name_protocol
from deniable.mechanisms import PROTOCOLS, Mechanism, Unary, calibrate
from deniable.records import Blank, Faked, Imitated, Prior
from tests import enumeration, statistics
from tests.attack.averaging import guess_from_collections
from tests.cases import by_night

PEOPLE = 100_000
"""Simulated people: a success of one half is known to 0.0016, and an attack that is 1 % off lies beyond 6
standard errors.
"""
KS = (3, 2, 4)
SKEWED = [[0.6, 0.3, 0.1], [0.8, 0.2], [0.55, 0.25, 0.15, 0.05]]
PRIORS = [[0.2, 0.5, 0.3], [0.6, 0.4], [0.1, 0.2, 0.3, 0.4]]
FAKED: dict[str, dn.records.Faked] = {
    "rsfd grr": dn.rsfd(KS, 1.0, "grr", "published"),
    "rsfd sue-z": dn.rsfd(KS, 1.0, "sue-z", "published"),
    "rsfd oue-r": dn.rsfd(KS, 1.0, "oue-r", "published"),
    "rsfd mixed": dn.records.Faked(
        (dn.rsfd(KS, 1.0, "grr").fakes[0], dn.rsfd(KS, 1.0, "oue-z").fakes[1], dn.rsfd(KS, 1.0).fakes[2])
    ),
    "rsrfd grr": dn.records.rsrfd(KS, 1.0, PRIORS, "grr", "published"),
    "rsrfd grr as published": dn.records.rsrfd(KS, 1.0, PRIORS, "grr", "published", fakes="published"),
    "rsrfd sue-r": dn.records.rsrfd(KS, 1.0, PRIORS, "sue-r", "published"),
    "rsfd sets": Faked((Blank(dn.ss(3, 2.0)), Blank(dn.hr(2, 2.0)), Blank(calibrate.pooled(4, 2.0, 2)))),
    "rsrfd sets": Faked(
        (
            Imitated(dn.hr(3, 2.0), Prior.of(PRIORS[0], 3)),
            Blank(dn.oue(2, 2.0)),
            Imitated(calibrate.subset(4, 2.0, 2), Prior.of(PRIORS[2], 4)),
        )
    ),
}


def people_of(marginals: Sequence[Sequence[float]], n: int, seed: int) -> np.ndarray:
    draws = np.random.default_rng(seed)
    return np.column_stack([draws.choice(len(shares), n, p=shares) for shares in marginals])


# One attribute.


REPEATED: dict[str, tuple[Mechanism, int]] = {
    "grr": (dn.grr(3, 1.0), 4),
    "oue": (dn.oue(3, 1.0), 3),
    "sue": (dn.sue(2, 0.7), 4),
    "l_grr": (dn.rounds.l_grr(3, 1.0, 2.0), 3),
    "l_osue": (dn.rounds.l_osue(3, 1.0, 2.0), 2),
}


@pytest.mark.parametrize("name", REPEATED)
def test_several_reports_by_enumeration(name: str) -> None:
    part, most = REPEATED[name]
    for reports in range(1, most + 1):
        if isinstance(part, dn.rounds.Memoized):
            laws = [enumeration.repeated_law(part, v, reports) for v in range(part.k)]
        else:
            laws = [enumeration.product([enumeration.part_law(part, v)] * reports) for v in range(part.k)]
        exact = sum((max(law[y] for law in laws) for y in laws[0]), Fraction(0)) / part.k
        assert attack.success_after(
            part, reports, memoized=isinstance(part, dn.rounds.Memoized)
        ) == pytest.approx(float(exact), abs=1e-9)


PRIOR = [v / 55 for v in range(10, 0, -1)]
KNOWN: dict[str, tuple[Mechanism, set[str]]] = {
    "grr": (dn.grr(10, 1.0), {"averaged"}),
    "ss": (dn.ss(10, 1.0), {"averaged"}),
    "olh": (dn.olh(10, 2.0), {"report", "reported", "memoized", "averaged"}),
    "l_sue": (dn.rounds.l_sue(10, 2.0, 4.0), {"memoized", "averaged"}),
    "loloha": (dn.rounds.loloha(10, 1.0, 2.0), {"report", "reported", "memoized", "averaged"}),
    "dbitflip": (dn.rounds.dbitflip(10, 1.0, 3), {"report", "reported", "memoized", "averaged"}),
    "geometric": (dn.metric.geometric(9, 0.5), {"averaged"}),
}


@by_night("name", KNOWN, "ss", "l_sue", "dbitflip", "geometric")
def test_a_prior_and_several_collections_are_as_good_as_they_say(name: str) -> None:
    """Every figure beside the guesses themselves, of 20,000 people of the prior; what is
    simulated says so.
    """
    part, simulated = KNOWN[name]
    n = 20_000
    values = np.random.default_rng(1).choice(10, n, p=PRIOR)
    told = attack.success(part, PRIOR, collections=4).attributes[0]
    assert set(told.stderr) == simulated | {
        f"reported_{figure}" for figure in simulated & {"memoized", "averaged"}
    }
    assert (told.reported_memoized, told.reported_averaged) == (
        told.memoized,
        told.averaged,
    )  # all reports hold it
    assert not told.bounds
    kept = [part.privatize(values, dn.remembering(3, dn.seeded(10 + t))) for t in range(4)]
    anew = [part.privatize(values, dn.remembering(30 + t, dn.seeded(20 + t))) for t in range(4)]
    once = kept if isinstance(part, dn.rounds.Memoized | dn.rounds.HashedMemoized) else kept[:1]
    for figure, reports, memoized in (
        ("reported", kept[:1], True),
        ("memoized", once, True),
        ("averaged", anew, False),
    ):
        right = guess_from_collections(part, reports, PRIOR, memoized).right(values[None])["attribute 0"]
        error = math.hypot(math.sqrt(right * (1 - right) / n), told.stderr.get(figure, 0.0))
        statistics.deviation(right, getattr(told, figure), error, f"{figure} of {name} with a prior")
    if name == "l_sue":  # one report is not worth as much as four
        with pytest.raises(AssertionError, match="standard errors off"):
            statistics.deviation(told.memoized, told.reported, 0.01, "several reports taken for one")


@pytest.mark.parametrize("name", ["grr", "olh", "l_sue", "geometric"])
def test_a_uniform_prior_is_as_good_as_none(name: str) -> None:
    part, _ = KNOWN[name]
    assert attack.success(part, [0.1] * 10, collections=3) == attack.success(part, collections=3)
    assert attack.success_after(part, 0) == pytest.approx(0.1)


def test_what_is_exact_says_so_and_what_is_not() -> None:
    fresh = {"averaged", "reported_averaged"}
    found = {
        name: attack.success(part, collections=2).attributes[0].stderr for name, (part, _) in KNOWN.items()
    }
    assert {name for name, stderr in found.items() if not stderr} == {"grr", "l_sue"}
    assert {name for name, stderr in found.items() if set(stderr) == fresh} == {"ss", "olh", "geometric"}
    of_two, of_more = (
        attack.success(dn.rounds.loloha(10, 1.0, 2.0, g=g), collections=2).attributes[0].stderr
        for g in (2, 3)
    )
    assert set(of_two) == fresh
    assert set(of_more) == fresh | {"memoized", "reported_memoized"}
    profiles = attack.success(dn.spl((10, 10), 2.0, "ss"), collections=2).profiles
    assert [one.simulated for one in profiles] == [False, True]
    assert set(profiles[1].stderr) == {"all_reported", "whole_record", "right"}
    fakes = attack.success(FAKED["rsfd grr"], collections=2).attributes[0]
    assert fakes.bounds == ("memoized",)
    assert set(fakes.stderr) == {"averaged"}


def test_blind_guesses_are_the_least_there_is() -> None:
    """Next to no budget and a strong prior: simulated figures are not above what is possible, nor below a
    blind guess.
    """
    prior = [[0.97, 0.02, 0.01], [0.9, 0.1]]
    for one in attack.success(dn.rsfd((3, 2), 0.01, "grr", "published"), prior, collections=2).attributes:
        assert one.report == one.blind
        assert one.stderr["report"] == 0.0
    told = attack.success(dn.olh(10, 0.1), [0.55, *[0.05] * 9], collections=1).attributes[0]
    assert told.reported == told.blind


# Distances and numbers.


# Profiles.


def test_profiles_by_listing_all_draws() -> None:
    right = [(0.3, 0.5, 0.6, 0.65), (0.1, 0.2, 0.25, 0.3), (0.5, 0.9, 0.95, 0.99)]
    draws = list(itertools.product(range(3), repeat=3))
    wanted = math.fsum(math.prod(right[j][draw.count(j)] for j in range(3)) for draw in draws) / len(draws)
    assert attack.profile(right, 3, replacement=True) == pytest.approx(wanted)
    for times in (1, 2, 3):
        ways = list(itertools.combinations(range(3), times))
        wanted = math.fsum(math.prod(right[j][j in way] for j in range(3)) for way in ways) / len(ways)
        assert attack.profile(right, times, replacement=False) == pytest.approx(wanted)


@pytest.mark.parametrize("epsilon", [1.0, 5.0, 10.0])
def test_profiles_of_the_published_setting(epsilon: float) -> None:
    """Three surveys of three attributes: the product of the guesses, and 3! / 3^3 of it with replacement."""
    found = attack.success(dn.smp([74, 7, 16], epsilon, "grr"), collections=3)
    e = math.exp(epsilon)
    product = math.prod(e / (e + k - 1) for k in (74, 7, 16))
    by_draw = {(one.asked, one.memoized): one for one in found.profiles}
    assert by_draw["new", True].published == pytest.approx(product, rel=1e-8)
    assert by_draw["any", True].published == pytest.approx(product * 6 / 27, rel=1e-8)
    assert by_draw["any", False].right > by_draw["any", True].right
    expected = math.fsum(one.reported for one in found.attributes) * (1 - (2 / 3) ** 3)
    assert by_draw["any", True].right == pytest.approx(expected)


def test_profiles_of_every_record_mechanism() -> None:
    split = attack.success(dn.spl(KS, 2.0, "grr"), collections=2)
    assert [one.asked for one in split.profiles] == ["all", "all"]
    assert split.profiles[0].all_reported == pytest.approx(
        math.prod(one.reported for one in split.attributes)
    )
    two = attack.success(dn.smp(KS, 2.0, "grr", attributes=2), collections=1).profiles[0]
    pairs = [
        a.reported * b.reported
        for a, b in itertools.combinations(attack.success(dn.smp(KS, 2.0, "grr", 2)).attributes, 2)
    ]
    assert two.simulated
    statistics.deviation(
        two.all_reported, sum(pairs) / 3, float(np.std(pairs)) / math.sqrt(20_000), "two attributes"
    )
    kept = dn.records.Sample(tuple(dn.rounds.l_grr(k, 1.0, 2.0) for k in KS))
    again = attack.success(kept, collections=4).profiles
    assert [(one.asked, one.memoized) for one in again] == [("kept", True), ("kept", False)]
    assert all(one.bound for one in attack.success(FAKED["rsfd grr"], collections=2).profiles)


# Whole reports.


def outcomes_of(
    mechanism: dn.records.RecordMechanism,
) -> tuple[list[tuple[int, ...]], dict[tuple[int, ...], enumeration.Law]]:
    records = enumeration.records_of(mechanism)
    return records, {record: enumeration.law_of(mechanism, record) for record in records}


def sent(part: Mechanism, outcomes: Sequence[object]) -> np.ndarray:
    """Outcomes of an enumeration as reports: values, or bits."""
    if isinstance(part, Unary):
        return np.packbits(np.array(outcomes, dtype=np.uint8), axis=1, bitorder="little")
    return np.array(outcomes, dtype=np.uint8)


@pytest.mark.parametrize(
    ("name", "marginals"),
    [
        ("rsfd grr", None),
        ("rsfd mixed", SKEWED),
        ("rsfd sue-z", SKEWED),
        ("rsrfd grr", SKEWED),
        ("rsrfd grr as published", SKEWED),
        ("rsrfd sue-r", None),
    ],
)
def test_guesses_among_fakes_by_enumeration(name: str, marginals: list[list[float]] | None) -> None:
    """The mean over all reports of the best posterior is the best success that there is."""
    mechanism = FAKED[name]
    records, laws = outcomes_of(mechanism)
    believed = [[1 / k] * k for k in KS] if marginals is None else marginals
    weight = {record: math.prod(believed[j][v] for j, v in enumerate(record)) for record in records}
    best, total = np.zeros(3), np.zeros(3)
    outcomes = list(laws[records[0]])
    columns = tuple(sent(part, [y[j] for y in outcomes]) for j, part in enumerate(mechanism.mechanisms))
    found = attack.guess(mechanism, dn.records.Records(len(outcomes), columns), marginals)
    for i, y in enumerate(outcomes):
        joint = {record: weight[record] * float(laws[record][y]) for record in records}
        seen = math.fsum(joint.values())
        for j, k in enumerate(KS):
            by_value = [
                math.fsum(chance for record, chance in joint.items() if record[j] == v) for v in range(k)
            ]
            best[j] += max(by_value)
            total[j] += seen * found.posterior[j, i]
            assert by_value[found.values[j, i]] == pytest.approx(max(by_value))
    assert total == pytest.approx(best, abs=1e-9)
    told = attack.success(mechanism, marginals, collections=1).attributes
    for j, one in enumerate(told):
        if "report" in one.stderr:
            assert one.stderr["report"] < 0.002
            error = max(one.stderr["report"], 1e-9)  # none where nothing beats a blind guess
            statistics.deviation(one.report, best[j], error, "simulated success among fakes")
        else:
            assert one.report == pytest.approx(best[j], abs=1e-9)


@pytest.mark.parametrize("protocol", ["grr", "sue-z"])
@pytest.mark.parametrize("marginals", [None, SKEWED[:2]], ids=["uniform", "skewed"])
def test_collections_among_fakes_by_enumeration(protocol: str, marginals: list[list[float]] | None) -> None:
    """Three reports of one person, each with an attribute of its own: every record against every triple of
    reports.
    """
    mechanism = dn.rsfd((3, 2), 1.5, protocol, "published")
    records, laws = outcomes_of(mechanism)
    believed = [[1 / 3] * 3, [0.5] * 2] if marginals is None else marginals
    weight = {record: believed[0][record[0]] * believed[1][record[1]] for record in records}
    outcomes = list(laws[records[0]])
    triples = list(itertools.product(outcomes, repeat=3))
    triples = [triples[i] for i in np.random.default_rng(1).choice(len(triples), 300)]
    collections = []
    for round_ in range(3):
        columns = tuple(
            sent(part, [triple[round_][j] for triple in triples])
            for j, part in enumerate(mechanism.mechanisms)
        )
        collections.append(dn.records.Records(len(triples), columns))
    found = guess_from_collections(mechanism, collections, marginals)
    for i, triple in enumerate(triples):
        joint = {
            record: weight[record] * math.prod(float(laws[record][y]) for y in triple) for record in records
        }
        for j, k in enumerate((3, 2)):
            by_value = [
                math.fsum(chance for record, chance in joint.items() if record[j] == v) for v in range(k)
            ]
            assert found.posterior[j, i] == pytest.approx(max(by_value) / sum(by_value), abs=1e-9)
            assert by_value[found.values[j, i]] == pytest.approx(max(by_value))
    told = attack.success(mechanism, marginals, collections=3).attributes
    assert all(one.report - 0.02 <= (one.averaged or 0.0) <= 1 for one in told)


# The sampled attribute.


@pytest.mark.parametrize("name", FAKED)
def test_sampled_attribute_by_enumeration(name: str) -> None:
    mechanism, d = FAKED[name], 3
    best = 0.0
    real = [
        enumeration.mixture((Fraction(f), enumeration.part_law(part, v)) for v, f in enumerate(shares))
        for part, shares in zip(mechanism.mechanisms, SKEWED, strict=True)
    ]
    fake = [enumeration.fake_law(one) for one in mechanism.fakes]
    laws = [enumeration.product([*fake[:t], real[t], *fake[t + 1 :]]) for t in range(d)]
    best = float(sum(max(law[y] for law in laws) for y in laws[0])) / d
    found = attack.sampled_success(mechanism, SKEWED)
    assert found.exact
    assert found.value == pytest.approx(best, abs=1e-9)
    assert found.value >= 1 / d - 1e-12


@pytest.mark.parametrize("name", FAKED)
def test_sampled_attribute_is_found_as_often_as_it_says(name: str) -> None:
    mechanism, table = FAKED[name], people_of(SKEWED, PEOPLE, 7)
    records, truth = mechanism.privatize(table, dn.seeded(8)), attack.real_attributes(mechanism, PEOPLE, 8)
    found, wanted = (
        attack.sampled_attribute(mechanism, records, SKEWED),
        attack.sampled_success(mechanism, SKEWED).value,
    )
    error = math.sqrt(wanted * (1 - wanted) / PEOPLE)
    statistics.deviation(found.right(truth), wanted, error, f"sampled attribute of {name}")
    statistics.deviation(found.expected, wanted, error, f"posterior of the sampled attribute of {name}")
    by_itself = attack.sampled_attribute(mechanism, records)  # from these reports alone
    statistics.deviation(
        by_itself.right(truth), wanted, error + 0.003, f"sampled attribute of {name}, marginals estimated"
    )


SIMULATED: dict[str, tuple[Faked, list[list[float]]]] = {
    "hashes": (dn.rsfd(KS, 2.0, "olh", "published"), SKEWED),
    "bits": (dn.rsfd([13, 3], 1.0, "sue-z", "published"), [[v / 91 for v in range(13, 0, -1)], SKEWED[0]]),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_success_is_as_often_as_it_says(name: str) -> None:
    """What cannot be listed is simulated, with its error."""
    mechanism, shares = SIMULATED[name]
    told, table = attack.sampled_success(mechanism, shares), people_of(shares, PEOPLE, 7)
    assert not told.exact
    found = attack.sampled_attribute(mechanism, mechanism.privatize(table, dn.seeded(8)), shares)
    right = found.right(attack.real_attributes(mechanism, PEOPLE, 8))
    error = math.hypot(told.stderr, math.sqrt(right * (1 - right) / PEOPLE))
    statistics.deviation(right, told.value, error, f"sampled attribute among {name}")
    with pytest.raises(AssertionError, match="standard errors off"):
        statistics.deviation(right - 0.03, told.value, error, "an attack that is three points off")


AGAIN: dict[str, Callable[[], Faked]] = {
    "l_grr": lambda: dn.rounds.l_rsfd([3] * 3, 1.0, 2.0, "l_grr"),
    "loloha": lambda: Faked((Blank(dn.rounds.loloha(4, 1.0, 2.0, g=2)),) * 3),
    "l_osue-z": lambda: dn.rounds.l_rsfd([3] * 3, 1.0, 2.0, "l_osue-z"),
    "dbitflip": lambda: dn.rounds.l_rsfd([4] * 3, 2.0, 2.0, "dbitflip", bits=2),
}


@pytest.mark.parametrize(
    ("name", "shares", "kept", "fresh"),
    [
        ("l_grr", [1 / 3] * 3, (0.333, 0.333, 0.333, 0.333), (0.333, 0.439, 0.617, 0.805)),
        ("l_grr", [0.6, 0.3, 0.1], (0.395, 0.413, 0.438, 0.447), (0.395, 0.476, 0.646, 0.820)),
        ("loloha", [0.25] * 4, (0.397, 0.404, 0.428, 0.435), (0.397, 0.474, 0.636, 0.800)),
        ("l_osue-z", [1 / 3] * 3, (0.416, 0.457, 0.497, 0.510), (0.416, 0.522, 0.686, 0.806)),
        ("dbitflip", [0.25] * 4, (0.433, 0.433, 0.433, 0.433), (0.433, 0.813, 0.984, 0.999)),
    ],
)
def test_sampled_attribute_after_several_reports(
    name: str, shares: list[float], kept: Sequence[float], fresh: Sequence[float]
) -> None:
    mechanism = AGAIN[name]()
    for i, reports in enumerate((1, 2, 5, 10)):
        for fakes, printed in (("kept", kept), ("fresh", fresh)):
            found = attack.sampled_success_after(mechanism, [shares] * 3, reports, fakes)  # type: ignore[arg-type]
            assert found.value == pytest.approx(printed[i], abs=6e-4)
    if name != "loloha":
        once = attack.sampled_success_after(mechanism, [shares] * 3, 1)
        assert once.value == pytest.approx(attack.sampled_success(mechanism, [shares] * 3).value, abs=1e-12)


def test_a_changed_answer_shows_which_attribute_is_real() -> None:
    mechanism, shares = dn.rounds.l_rsfd([3] * 3, 1.0, 2.0, "l_grr"), [[1 / 3] * 3] * 3
    for reports, printed in ((2, 0.453), (4, 0.573), (10, 0.776), (20, 0.866)):
        found = attack.sampled_success_after(mechanism, shares, reports, changed=True)
        assert found.value == pytest.approx(printed, abs=6e-4)


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (lambda: dn.rsfd([3] * 3, 1.0), {}, "this plan asks once; sampled_success tells"),
        (AGAIN["l_grr"], {"fakes": "frsh"}, "'kept' or 'fresh', got 'frsh'"),
        (AGAIN["l_grr"], {"reports": 3, "changed": True}, "an even number, got 3"),
        (AGAIN["l_grr"], {"reports": 2000}, "can come in too many ways to list; take fewer"),
        (lambda: dn.rounds.l_rsfd([3, 30], 1.0, 2.0, "l_osue-z"), {}, "too many reports to list"),
        (lambda: dn.rounds.l_rsfd([3, 30], 1.0, 2.0, "loloha"), {}, "too many reports to list"),
        (AGAIN["dbitflip"], {"reports": 2, "changed": True}, "show a change: no fake hides it"),
    ],
)
def test_sampled_attributes_after_reports_that_are_refused(make: Any, options: Any, said: str) -> None:
    mechanism = make()
    shares = [[1 / part.k] * part.k for part in mechanism.parts]
    with pytest.raises(dn.InvalidParameter, match=said):
        attack.sampled_success_after(mechanism, shares, **{"reports": 2, **options})


@pytest.mark.parametrize("protocol", ["ss", "olh", "plh", "hr"])
def test_fakes_hide_nothing_from_the_guess_of_a_value(protocol: str) -> None:
    """success / d + (1 - 1 / d) / k for any fakes, all values being equally likely: by whole reports of
    PEOPLE people, of whom two points more would be noticed.
    """
    mechanism = dn.rsfd(KS, 2.0, protocol)
    table = people_of([[1 / k] * k for k in KS], PEOPLE, 21)
    found = attack.guess(mechanism, mechanism.privatize(table, dn.seeded(22)))
    right = found.right(table.T)
    for j, (part, k) in enumerate(zip(mechanism.parts, KS, strict=True)):
        wanted = part.success() / 3 + (1 - 1 / 3) / k
        error = math.sqrt(wanted * (1 - wanted) / PEOPLE)
        statistics.deviation(right[f"attribute {j}"], wanted, error, f"{protocol}, {k} values")
        with pytest.raises(AssertionError, match="standard errors off"):
            statistics.deviation(right[f"attribute {j}"] + 0.02, wanted, error, "a guess two points off")


def test_what_is_expected_says_so() -> None:
    mechanism = dn.rsfd(KS, 2.0, "grr", "published")
    records = mechanism.privatize(people_of(SKEWED, 500, 1), dn.seeded(1))
    found, known = (
        attack.sampled_attribute(mechanism, records),
        attack.sampled_attribute(mechanism, records, SKEWED),
    )
    assert f"expects {100 * found.expected:.1f} % right, standard error" in repr(found)
    assert known.expected == known.posterior.mean()
    assert found.expected == attack.sampled_attribute(mechanism, records).expected != found.posterior.mean()
    judged = found.judged(attack.real_attributes(mechanism, 500, 1), backend="polars")
    assert judged["expected"][0] == found.expected
    one = attack.sampled_attribute(mechanism, mechanism.privatize(people_of(SKEWED, 1, 1), dn.seeded(1)))
    assert one.guesses.n == 1
    assert one.expected == pytest.approx(1 / 3)  # one report says nothing about itself
    assert (
        "on 1 report: too few to tell how often it is right (20 do, or give marginals), blind 33.3 %"
        in repr(one)
    )


def as_told(found: attack.AttributeAttack) -> Chance:
    return found.expectation


def held(
    mechanism: dn.records.Faked,
    marginals: list[list[float]],
    n: int,
    known: bool,
    told_by: Callable[[attack.AttributeAttack], Chance] = as_told,
) -> int:
    """In how many small populations the truth is within two standard errors of what is expected of n reports.

    The truth is exact where marginals are known; otherwise it is how often the attack is right over all of
    them.
    """
    told, right = [], []
    for seed in range(statistics.FEW_REPEATS):
        records = mechanism.privatize(people_of(marginals, n, seed), dn.seeded(seed))
        found = attack.sampled_attribute(mechanism, records, marginals if known else None)
        told.append(told_by(found))
        right.append(found.right(attack.real_attributes(mechanism, n, seed)))
    truth = attack.sampled_success(mechanism, marginals).value if known else float(np.mean(right))
    return sum(abs(one.value - truth) <= 2 * one.stderr for one in told)


MANY_VALUES = [[0.9, *[0.1 / 99] * 99], [2 / 3, 1 / 3]]


@pytest.mark.long
@pytest.mark.parametrize(("n", "known"), [(2, False), (3, True), (20, False)])
def test_what_is_expected_of_few_reports_holds(n: int, known: bool) -> None:
    for name, mechanism, marginals in (
        ("three attributes", dn.rsfd(KS, 2.0, "grr", "published"), SKEWED),
        ("many values", dn.rsfd([100, 2], 2.0, "grr", "published"), MANY_VALUES),
    ):
        seen = f"{n} reports of {name}"
        statistics.at_least(
            held(mechanism, marginals, n, known), statistics.FEW_REPEATS, statistics.FEW_HELD, seen
        )


def test_the_stated_error_covers_values_that_are_rare_and_tell_much() -> None:
    """None of them is among these reports, whose mean is below the true one: an error by that mean would be
    too small.
    """
    mechanism, n = dn.records.rsrfd([3] * 10, 8.0, [[1e-6, 0.5, 0.5 - 1e-6]] * 10, "grr"), 20
    marginals = [[0.003, 0.4985, 0.4985]] * 10
    means, stated = np.empty(100), np.empty(100)
    for seed in range(100):
        found = attack.sampled_attribute(
            mechanism, mechanism.privatize(people_of(marginals, n, seed), dn.seeded(seed)), marginals
        )
        means[seed], stated[seed] = found.expected, found.expectation.stderr
    assert stated.min() > means.std(ddof=1) > 0.004
    by_mean = np.sqrt(np.maximum((1 - means) * (means - 0.1), 0.0) / n)
    assert np.median(by_mean) < means.std(ddof=1)


def test_the_means_that_a_bound_keeps() -> None:
    low, high = bounded(0.0, 20, 0.025)
    assert (low, high) == pytest.approx((0.0, 1 - 0.025 ** (1 / 20)))
    assert bounded(1.0, 20, 0.025) == pytest.approx((1 - high, 1.0))
    low, high = bounded(0.3, 1000, 0.025)
    reach = math.sqrt(
        math.log(1 / 0.025) / 2000
    )  # Hoeffding's bound in its better known form is never nearer
    assert 0.3 - reach < low < 0.3 < high < 0.3 + reach


def test_the_scatter_of_posteriors_does_not_hold() -> None:
    """As it was where marginals are known: values that are rare and tell much are not among 20 reports."""

    def scattered(found: attack.AttributeAttack) -> Chance:
        return Chance(
            found.expected, float(found.posterior.std(ddof=1)) / math.sqrt(found.guesses.n), exact=False
        )

    mechanism = dn.rsfd([100, 2], 2.0, "grr", "published")
    kept = held(mechanism, MANY_VALUES, 20, known=True, told_by=scattered)
    with pytest.raises(AssertionError, match="were promised"):
        statistics.at_least(kept, statistics.FEW_REPEATS, statistics.FEW_HELD, "the scatter of posteriors")


def test_the_sampled_attribute_is_the_one_reported() -> None:
    mechanism, table = dn.rsfd([50, 50], 20.0, "grr"), np.array([[7, 7]] * 1000)
    records, drawn = mechanism.privatize(table, dn.seeded(3)), attack.real_attributes(mechanism, 1000, 3)
    chosen = np.where(drawn == 0, records.columns[0], records.columns[1])
    assert (chosen == 7).all()
    assert 400 < drawn.sum() < 600


def test_largest_of_independent_variables() -> None:
    atoms = [(np.array([1.0, 3.0]), np.array([0.5, 0.5])), (np.array([2.0]), np.array([1.0]))]
    assert expected_largest(atoms) == pytest.approx(2.5)


def test_exact_priors_hide_the_attribute_only_behind_perturbed_fakes() -> None:
    marginals = [*SKEWED[:2], [0.4, 0.3, 0.2, 0.1]]
    for protocol, fakes, hidden in (
        ("grr", "perturbed", True),
        ("sue-r", "perturbed", True),
        ("grr", "published", False),
    ):
        mechanism = dn.records.rsrfd(KS, 1.0, marginals, protocol, "published", fakes=fakes)  # type: ignore[arg-type]
        assert (attack.sampled_success(mechanism, marginals).value < 1 / 3 + 1e-6) == hidden


# People.


def evidence(parts: Sequence[Mechanism], table: np.ndarray, guess: bool) -> list[Evidence]:
    draws, found = np.random.default_rng(1), []
    for j, part in enumerate(parts):
        who = np.flatnonzero(draws.random(len(table)) < 0.7)
        reports = part.privatize(table[who, j], dn.seeded(j))
        guessed = guess_values(part, reports, draws) if guess else None
        found.append(Evidence(j, Clue(j, part, who, reports), guessed))
    return found


@pytest.mark.parametrize("guess", [False, True])
def test_matching_by_definition(guess: bool) -> None:
    """Every target against every record, by plain sums."""
    table = people_of([[0.5, 0.3, 0.2], [0.1] * 10, [0.25] * 4], 400, 2)
    parts: list[Mechanism] = [dn.grr(3, 2.0), dn.sue(10, 2.0), dn.olh(4, 1.0)]
    held = evidence(parts, table, guess)
    whom = np.arange(3, 400, 7)
    found = match(held, compact(table.T), np.arange(400), whom)
    for i, person in enumerate(whom):
        scores = np.zeros(400)
        for one in held:
            row = np.flatnonzero(one.clue.who == person)
            if row.size and one.guessed is not None:
                scores += table[:, one.column] == one.guessed[row[0]]
            elif row.size:
                scores += np.log(likelihoods(one.clue.part, one.clue.reports[row])[0])[table[:, one.column]]
        assert found.above[i] == (scores > scores[person] + 1e-4).sum()
        assert found.tied[i] == (np.abs(scores - scores[person]) <= 1e-4).sum()


def test_much_evidence_does_not_overflow() -> None:
    """1,000 reports with 40 nats each are more than 32 bits hold in parts of a nat."""
    part, values = dn.grr(3, 40.0), np.arange(3)
    reports = part.privatize(values, dn.seeded(1))
    held = [Evidence(0, Clue(0, part, np.arange(3), reports)) for _ in range(1000)]
    found = match(held, compact(values[None]), np.arange(3), np.arange(3))
    assert (found.above.tolist(), found.tied.tolist()) == ([0, 0, 0], [1, 1, 1])


def test_chances_need_no_draw() -> None:
    found = attack.Reidentification(np.array([0, 5, 9, 20]), np.array([1, 10, 4, 1]), 100, 10)
    assert found.chance().tolist() == [1.0, 0.5, 0.25, 0.0]
    assert found.success(1) == 0.25
    assert found.blind(1) == 0.01
    with pytest.raises(dn.InvalidParameter, match="top must be an integer of at least 1, got -5"):
        found.blind(-5)


def planned(names: Sequence[str], ks: Sequence[int], mechanism: dn.records.RecordMechanism) -> dn.Plan:
    return dn.Plan.of(
        {name: [str(v) for v in range(k)] for name, k in zip(names, ks, strict=True)}, mechanism, 1000
    )


def test_surveys_against_a_background() -> None:
    ks, n = (20, 15, 12), 1500
    table = people_of([[1 / k] * k for k in ks], n, 4)
    answers = {name: [str(v) for v in table[:, j]] for j, name in enumerate("abc")}
    plans = [planned("abc", ks, dn.smp(ks, 4.0, "sue")), planned("ab", ks[:2], dn.smp(ks[:2], 4.0, "sue"))]
    plans.append(planned("bc", ks[1:], dn.smp(ks[1:], 4.0, "sue")))
    reports = [
        plan.privatize({name: answers[name] for name in plan.names}, dn.seeded(i))
        for i, plan in enumerate(plans)
    ]
    full = attack.reidentify(plans, reports, answers)
    part = attack.reidentify(plans, reports, {"b": answers["b"], "unrelated": ["x"] * n})
    guessed = attack.reidentify(plans, reports, answers, matching="guess")
    assert full.success() > 2 * guessed.success() > 10 * full.blind()
    assert full.success() > part.success() > part.blind()
    order = np.random.default_rng(3).permutation(n)
    moved = {name: [column[i] for i in order] for name, column in answers.items()}
    again = attack.reidentify(plans, reports, moved, truth=np.argsort(order))
    assert again.success() == full.success()
    some = attack.reidentify(plans, reports, answers, targets=[5, 17])
    assert some.above.tolist() == full.above[[5, 17]].tolist()


@pytest.mark.long
def test_surveys_that_number_an_attribute_differently() -> None:
    """Labels in another order and steps of another size tell as much as they would alone, in either order of
    the surveys.
    """
    n, draws = 400, np.random.default_rng(6)
    answers = {
        "age": draws.integers(0, 100, n).tolist(),
        "color": draws.choice(list("abc"), n, p=[0.02, 0.18, 0.8]).tolist(),
    }
    asked: list[dict[str, Any]] = [
        {"age": dn.Range(0, 100, step=10), "color": list("abc")},
        {"age": dn.Range(0, 100, step=1), "color": list("cab")},
        {"age": dn.Number(0, 100), "color": list("bcad")},
    ]
    plans = [dn.Study(one, epsilon=30.0, mechanism="split").plan(n) for one in asked]  # as good as no noise
    reports = [plan.privatize(answers, dn.seeded(i)) for i, plan in enumerate(plans)]
    alone = [
        attack.reidentify([plan], [one], answers, top=1) for plan, one in zip(plans, reports, strict=True)
    ]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        for some in (order[:2], order):
            both = attack.reidentify([plans[i] for i in some], [reports[i] for i in some], answers, top=1)
            assert both.attributes == ("age", "color")
            assert both.success() >= max(alone[i].success() for i in some) - 1e-12
    mechanisms = dn.rsfd([10, 3], 8.0), dn.rsfd([100, 3], 8.0)
    faked = [dn.Plan.of(one, mechanism, n) for one, mechanism in zip(asked[:2], mechanisms, strict=True)]
    sent = [plan.privatize(answers, dn.seeded(i)) for i, plan in enumerate(faked)]
    single = max(
        attack.reidentify([plan], [one], answers).success() for plan, one in zip(faked, sent, strict=True)
    )
    assert all(attack.reidentify(faked[::step], sent[::step], answers).success() > single for step in (1, -1))


@pytest.mark.parametrize("make", [dn.rounds.l_sue, dn.rounds.l_grr, dn.rounds.loloha])
def test_rounds_on_a_kept_answer_are_matched_by_what_they_tell_together(
    make: Callable[..., Mechanism],
) -> None:
    """Five rounds: the rank of every record by the joint likelihood, which is no sum over rounds."""
    ks, n = (6, 5), 120
    table = people_of([[1 / k] * k for k in ks], n, 8)
    answers = {name: [str(v) for v in table[:, j]] for j, name in enumerate("ab")}
    parts = tuple(make(k, 1.5, 3.0) for k in ks)
    names = {name: [str(v) for v in range(k)] for name, k in zip("ab", ks, strict=True)}
    plan = dn.Plan.of(names, dn.records.Split(parts), n, rounds=5)
    reports = [plan.privatize(answers, dn.remembering(2, round=t)) for t in range(1, 6)]
    columns = [one.records.columns for one in reports]
    scores = np.zeros((n, n))
    for j, part in enumerate(parts):
        together = make_pool(part, n, memoized=True)
        for column in columns:
            together.add(np.arange(n), column[j])
        scores += np.log(together.table())[:, table[:, j]]
    found = attack.reidentify([plan] * 5, reports, answers)
    own = np.diag(scores)[:, None]
    more, less = (
        (scores > own + slack).sum(axis=1) for slack in (1e-5, -1e-5)
    )  # sums that are equal may be rounded apart
    assert ((more <= found.above) & (found.above + found.tied <= less)).all()
    assert (found.above + found.tied > 1).sum() > n / 2  # and there is something to rank


def test_products_of_many_surveys_are_not_lost_in_overflow() -> None:
    """200 surveys of which the own record is likelier 1000 times each, and another one 100 times: more than
    floats hold.
    """
    columns, about = np.array([[0, 1, 0]], dtype=np.uint8), np.zeros((200, 1), dtype=np.int64)
    for scale in (1.0, 1e-5):  # and less than they hold
        tables = np.broadcast_to(np.array([1000.0, 100.0]) * scale, (1, 200, 1, 2)).copy()
        above, tied = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64)
        loops.rank_products(columns, about, tables, np.zeros((1, 200)), np.array([0]), above, tied)
        assert (above[0], tied[0]) == (0, 2)
        loops.rank_products(columns, about, tables, np.zeros((1, 200)), np.array([1]), above, tied)
        assert (above[0], tied[0]) == (2, 1)


def test_people_among_fakes() -> None:
    """The likelihood of a record is a sum for each survey; it beats one guessed attribute, as published."""
    ks, n = (10, 8, 6), 600
    table = people_of([[1 / k] * k for k in ks], n, 5)
    answers = {name: [str(v) for v in table[:, j]] for j, name in enumerate("abc")}
    plans = [planned("abc", ks, dn.rsfd(ks, 3.0, "grr", "published")) for _ in range(3)]
    reports = [plan.privatize(answers, dn.seeded(i)) for i, plan in enumerate(plans)]
    for columns in ("abc", "ac"):
        background = {name: answers[name] for name in columns}
        found = attack.reidentify(plans, reports, background, targets=[0, 7, 599])
        for i, person in enumerate((0, 7, 599)):
            scores = np.ones(n)
            for plan, one in zip(plans, reports, strict=True):
                assert isinstance(plan.mechanism, dn.records.Faked)
                total = np.zeros(n)
                marginals = estimate_marginals(plan.mechanism, one.records)
                for j, fake in enumerate(plan.mechanism.fakes):
                    y, law = int(one.records.columns[j][person]), fake.part.law
                    ratio = np.where(np.arange(ks[j]) == y, law.p, law.q) * ks[j]
                    total += ratio[table[:, j]] if "abc"[j] in columns else ratio @ marginals[j]
                scores *= total
            assert found.above[i] == (scores > scores[person] * (1 + 1e-9)).sum()
            assert found.tied[i] == np.isclose(scores, scores[person], rtol=1e-9).sum()
    everyone = attack.reidentify(plans, reports, answers)
    assert (
        everyone.success()
        > attack.reidentify(plans, reports, answers, matching="guess").success()
        > everyone.blind()
    )


@pytest.mark.parametrize("kind", ["sample", "split"])
def test_reports_of_a_file_are_attacked_as_those_in_memory(kind: str, tmp_path: Path) -> None:
    """Blocks of reports are one collection."""
    ks = (3, 4)
    mechanism = dn.smp(ks, 2.0, "grr") if kind == "sample" else dn.spl(ks, 2.0, "oue")
    plan = planned("ab", ks, mechanism)
    table = people_of([[1 / k] * k for k in ks], 60, 1)
    blocks = [
        plan.privatize({name: [str(v) for v in table[some, j]] for j, name in enumerate("ab")}, dn.seeded(i))
        for i, some in enumerate((slice(0, 25), slice(25, 60)))
    ]
    plan.write_reports(tmp_path / "reports.parquet", blocks)
    whole = attack.guess(plan, plan.read_reports(tmp_path / "reports.parquet"), {"a": [0.5, 0.3, 0.2]})
    parts = [attack.guess(plan, block, {"a": [0.5, 0.3, 0.2]}) for block in blocks]
    assert whole.posterior == pytest.approx(np.concatenate([one.posterior for one in parts], axis=1))
    assert attack.guess(plan, blocks, {"a": [0.5, 0.3, 0.2]}).posterior == pytest.approx(whole.posterior)
    with pytest.raises(dn.InvalidReport, match="no reports to attack"):
        attack.guess(plan, [])


def test_too_many_values_with_distances_are_refused_in_the_words_of_an_attack() -> None:
    many = dn.metric.geometric(4999, 0.01)
    assert attack.success(many, collections=1).attributes[0].report > 1 / 5000
    for tried in (
        lambda: attack.success(many, collections=2),
        lambda: attack.guess(many, many.privatize([7], dn.seeded(1))),
    ):
        with pytest.raises(
            dn.InvalidParameter, match=r"5,000 metric values are too many .* \(collections=1\)"
        ):
            tried()


def test_what_cannot_be_matched_is_refused() -> None:
    plan = planned("ab", (3, 4), dn.smp((3, 4), 1.0, "grr"))
    reports = plan.privatize({"a": ["0", "1"], "b": ["2", "3"]}, dn.seeded(1))
    with pytest.raises(dn.InvalidParameter, match="one plan and one collection of reports per survey"):
        attack.reidentify([plan], [], {"a": ["0"]})
    with pytest.raises(dn.InvalidParameter, match="none of the attributes asked for: a, b"):
        attack.reidentify([plan], [reports], {"c": ["0"]})
    with pytest.raises(dn.InvalidParameter, match="the background has no rows; give a table"):
        attack.reidentify([plan], [reports], {"a": []})
    with pytest.raises(dn.InvalidParameter, match="matching is on 'support' or on 'guess'"):
        attack.reidentify([plan], [reports], {"a": ["0", "1"]}, matching="best")  # type: ignore[arg-type]
    for targets in ([2], [-1], [0.5], [True], [], "ab", [[0]]):
        with pytest.raises(dn.InvalidParameter, match="targets are numbers of people, 0 to 1, at least one"):
            attack.reidentify([plan], [reports], {"a": ["0", "1"]}, targets=targets)
    for truth in ([0], [0, -1], [0, 2], [0.0, 1.0], [True, False]):
        with pytest.raises(dn.InvalidParameter, match="truth is the row of each of 2 people among 2 records"):
            attack.reidentify([plan], [reports], {"a": ["0", "1"]}, truth=truth)
    with pytest.raises(
        dn.InvalidParameter, match="plans are a list with one for each survey, got Plan; put it in a list"
    ):
        attack.reidentify(plan, [reports], {"a": ["0", "1"]})  # type: ignore[arg-type]
    with pytest.raises(
        dn.InvalidParameter, match=r"a prior is the shares of the values.*got 'uniform'; leave it out"
    ):
        attack.success(plan, prior="uniform")
    with pytest.raises(
        dn.InvalidParameter, match=r"a prior of .a. is 3 shares of its values that add up to 1, got .uniform."
    ):
        attack.success(plan, prior={"a": "uniform"})


# The caps of a study.


def test_no_guess_above_a_fifth(tmp_path: Path) -> None:
    """The objective of a study holds for the best attack there is, from all that a person ever reports."""
    towns = ", ".join(f'"{letter}"' for letter in "abcdefghijkl")
    file = tmp_path / "study.toml"
    asked = f"[attributes]\ntown = [{towns}]\njob = [{towns}]\n[objective]\nsuccess_cap = 0.2\n"
    file.write_text("epsilon = 4.0\n" + asked, encoding="utf-8")
    found = attack.success(dn.Study.read(file).plan(10_000))
    assert all(one.reported <= 0.2 for one in found.attributes)
    assert found.worst.reported > 0.15  # the cap is used, not just kept
    file.write_text(asked + "[repeat]\nepsilon_first = 0.5\nepsilon_forever = 0.9\n", encoding="utf-8")
    plan = dn.Study.read(file).plan(10_000)
    assert all(attack.success_after(part, 100) <= 0.2 for part in plan.document.parts)
    loose = dn.Study(
        {name: list("abcdefghijkl") for name in ("town", "job")}, epsilon_first=1.0, epsilon_forever=2.0
    )
    assert max(attack.success_after(part, 100) for part in loose.plan(10_000).document.parts) > 0.2
    with pytest.raises(
        dn.InvalidParameter, match=r"right with probability 0\.73.* or more \(grr\), the cap is 0\.6"
    ):
        dn.Study(
            {"smokes": ["yes", "no"]}, 1.0, protocol="grr", objective=dn.Objective(success_cap=0.6)
        ).plan(1000)


def test_a_refused_cap_names_the_protocol_that_is_nearest() -> None:
    def study(**how: Any) -> dn.Study:
        return dn.Study({"town": list("abcdefghij")}, epsilon=4.0, **how)

    for cap, named in ((0.15, ["grr", "blh"]), (0.3, ["grr", "oue"]), (0.05, None)):
        with pytest.raises(dn.InvalidParameter) as refused:
            study(protocol=named, objective=dn.Objective(success_cap=cap)).plan(10_000)
        name = str(refused.value).split("the nearest, ")[1].split(":")[0]
        assert name == ("blh" if named is None else named[1])
        if named is not None:
            guess = PROTOCOLS[name].make(10, 4.0).success()
            assert f"right with probability {guess:.4g} or more ({name}), the cap is {cap:g}" in str(
                refused.value
            )
    with pytest.raises(dn.InvalidParameter, match="above 0 and at most 1, got 20"):
        dn.Objective(success_cap=20)


@pytest.mark.parametrize("name", ["ss", "olh", "blh"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, math.log(3), 2.0, 4.0, 6.0])
def test_classical_protocols_keep_their_names(name: str, epsilon: float) -> None:
    for k in (2, 5, 10, 64, 1000):
        part = PROTOCOLS[name].make(k, epsilon)
        assert isinstance(part, Mechanism)
        assert name_protocol(part) in ({"blh", name} if getattr(part, "g", 0) == 2 else {name})
    assert name_protocol(dn.ss(100, 1.0, size=40)) == "a subset of 40 of 100"
    assert name_protocol(dn.mechanisms.lh(100, 1.0, g=9)) == "one of 9 buckets of 100 values"
