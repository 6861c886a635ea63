"""Says whether the reports of a plan look as honest ones do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from textwrap import indent
from typing import Any, final

from deniable.arrays import Array
from deniable.choose.candidate import influence_of, one_in
from deniable.formatting import (
    Printed,
    fill_paragraph,
    format_count,
    format_digits,
    format_percent,
    format_table,
    shorten_names,
)
from deniable.law import Moments
from deniable.mechanisms import Linear, Tally
from deniable.plan.document import PlanDocument
from deniable.reports.reports import Reports, Tallies
from deniable.results.estimates import Estimates
from deniable.summaries.health import (
    LEVEL,
    Check,
    HashBits,
    Watch,
    check_buckets,
    check_burst,
    check_levels,
    check_minutes,
    check_shares,
    watches,
)

LOOKED = 100_000
"""Reports of an attribute that are looked at: more notice little more, and take long."""

LOOKS = 64
"""Separate looks that share the level, so that a study can be watched all the while. From 100 reports to a
million a collector takes 189 looks, and neighboring ones see nearly the same reports: a normal check has a
p-value below 1e-5 in some of them 54 times as often as in one. A file of reports is judged alike: it may be
one of many, and the same reports get the same verdict.
"""
_BURSTS = (
    "reports in one minute",
    "answers of one minute",
)  # checks of how reports came, not of what they say
_SHOWN = 8  # checks in the table of a text
_WIDTH = 106
_RARE = 0.001  # smaller shares are shown as below this
_KIND = "kind of fake reports"
_USUAL = 0.05  # fake reports that are supposed after an alarm whose check says nothing about their share
_FEWEST = 100  # reports to a question: with fewer, the tails of the checks are not near enough to the truth
_TOO_FEW = "too few reports to judge"
_TELLING = 0.5  # a check that takes a larger share of fakes says nothing about a study that anybody would run

MEANINGS: Mapping[str, str] = {
    "sum of shares": "Shares of honest reports add up to 100 %. Fake reports that support too few or too "
    "many values move the sum.",
    "sums of groups": "No people have shares of more than 100 % together. Fake reports that push several "
    "values give such sums.",
    "possible shares": "No people have a share far below 0 % or above 100 %. Fake reports that push one "
    "value, or push against it, give such a share.",
    "sizes of reports": "How many values honest reports support is known. Fake reports without the noise "
    "of the mechanism support fewer, and fake reports that push many values support more.",
    "hash functions": "Honest devices draw their hash functions evenly. Fake reports use those that suit "
    "them.",
    "unused rows": "Half of all honest reports meet a row that no value has. Fake reports that repeat one "
    "report all meet it, or none does.",
    "hash bits": "Half of all honest reports set each bit of their hash. Fake reports use hashes that suit "
    "them, and a client with a fault sets a bit always.",
    "buckets": "Whatever people answer, all buckets but the first hold equally many honest reports. Fake "
    "reports, and clients with a fault, prefer some.",
    "levels of a question": "Which level of a question a device reports is drawn with known chances, without "
    "looking at the answer. Fake reports choose the level that counts most.",
    "pairs of values": "How often honest reports support two values together is known. Fake reports that "
    "push several values at once support them together too often.",
    "reports in one minute": "People come a few at a time, or in waves that fall over minutes. Fake "
    "reports that a program sends come at once. So do a class that answers together, the batches of an app, "
    "and devices that had to wait for this collector.",
    "answers of one minute": "The people of one minute answer much as others do, unless they were asked "
    "together. Fake reports that come at once all push the same values.",
}
"""What an alarm of each check means."""


def advise(alarms: Sequence[Check]) -> str:
    """What to do about alarms: what to look for, and which share of fake reports to reckon with.

    A check that raises an alarm has met about as many fake reports as it notices, or more. How many more
    nobody knows, so that the share to try first is twice as large.
    """
    noticed = [check.noticed for check in alarms if check.noticed < 1]
    share = min(round_share_up(2 * max(noticed)), 0.5) if noticed else _USUAL
    why = (
        "That is twice what the checks surely notice, and there may be more"
        if noticed
        else "There may be more"
    )
    return (
        "No report was removed, and the estimates include them all. Find out where these reports come from: "
        "a client that does not follow the plan looks like fake reports, too. With "
        f"--fakes {share:g}, deniable estimate shows which shares are possible if {format_percent(share)} of "
        f"the reports were made up. {why}: try larger shares, too, and believe none that leaves a share "
        "impossible. Invitations bound the number of fake reports."
    )


def round_share_up(share: float) -> float:
    """A share with two digits, rounded up.

    >>> round_share_up(0.01234), round_share_up(0.5), round_share_up(0.999)
    (0.013, 0.5, 1.0)
    """
    scale = 10.0 ** (1 - math.floor(math.log10(share)))
    return math.ceil(share * scale - 1e-9) / scale


@final
@dataclass(frozen=True)
class Arrivals:
    """How reports came, without anything about a single one."""

    minutes: Sequence[int]
    """How many came in each complete minute, the oldest first."""
    busiest: Tallies | None = None
    """What those of one busy minute say together."""


@final
@dataclass(frozen=True)
class Health(Printed):
    """What all checks of a study say; any alarm at all is raised by one honest study in 1 / `level`."""

    checks: tuple[Check, ...]
    n: int = field(kw_only=True)
    """How many reports there were."""
    level: float = LEVEL
    looks: int = LOOKS
    """How many separate looks at the study the level is shared by."""
    unjudged: tuple[str, ...] = ()
    """The questions with too few reports to be checked."""
    unseen: str = field(default="", kw_only=True)
    """What no check notices, and what it gains."""

    @staticmethod
    def read(about: Mapping[str, Any]) -> Health:
        """What `about` says, as a collector answers it."""
        names = [part.name for part in fields(Check)]
        checks = tuple(Check(**{name: part[name] for name in names}) for part in about["checks"])
        unjudged, unseen = tuple(about["too_few"]), about.get("unseen", "")  # older collectors say nothing
        return Health(checks, about["level"], about["looks"], unjudged, n=about["n"], unseen=unseen)

    @property
    def alarms(self) -> tuple[Check, ...]:
        """The checks that honest reports would hardly ever fail."""
        tail = tail_of(self.level, self.looks, len(self.checks))
        return tuple(check for check in self.checks if check.p_value < tail)

    def with_arrivals(self, arrivals: Arrivals, tallies: Tallies, estimates: Estimates) -> Health:
        """Health with checks of bursts, too; the tallies and the result are of all reports."""
        busiest = arrivals.busiest
        has_others = busiest is not None and busiest.n < tallies.n
        compared = estimates.shares | estimates.levels if has_others else {}
        tail = tail_of(self.level, self.looks, len(self.checks) + 1 + len(compared))
        checks = [check_minutes(arrivals.minutes, tallies.n, tail)]
        for name, estimate in compared.items():
            assert busiest is not None
            others = tallies[name] - busiest[name]
            checks.append(check_burst(name, busiest[name], others, estimate, tail))
        return replace(self, checks=(*self.checks, *(check for check in checks if check is not None)))

    def about(self) -> dict[str, Any]:
        alarms = set(self.alarms)
        checks = []
        for check in self.checks:
            basis = "of the reports to this question" if check.attribute else "of all reports"
            more = {"alarm": check in alarms, "means": MEANINGS[check.name], "noticed_of": basis}
            checks.append(asdict(check) | more)
        about: dict[str, Any] = {"n": self.n, "level": self.level, "looks": self.looks}
        about |= {"alarms": len(alarms), "verdict": self.verdict, "summary": self.summary}
        about |= {"too_few": list(self.unjudged), "unseen": self.unseen}
        return about | {"checks": checks, "advice": advise(self.alarms) if alarms else ""}

    @property
    def verdict(self) -> str:
        """The result in a few words; without an alarm, whether there are enough reports to say so.

        Times are known to collectors only, so it takes a check of what the reports say, which notices fakes
        that are at most half of them.
        """
        if self.alarms:
            return format_count(len(self.alarms), "alarm")
        if any(check.noticed <= _TELLING for check in self.checks if check.name not in _BURSTS):
            return "no alarm"
        return _TOO_FEW if self.checks or self.unjudged else "nothing about the reports is known beforehand"

    @property
    def summary(self) -> str:
        """The verdict with what it is from, in the words of the shell and the dashboard."""
        if not self.checks:
            return self.verdict
        size = f"{format_count(len(self.checks), 'check')} at {format_count(self.n, 'report')}"
        return f"{self.verdict} in {size}; honest people raise one in {round(1 / self.level):,} studies"

    def __str__(self) -> str:
        if not self.checks:
            return f"Health of the reports: {self.verdict}"
        lines = [f"Health of the reports: {self.summary}"]
        if self.unjudged:
            lines.append(f"  {_TOO_FEW}: {shorten_names(self.unjudged)}")
        for name in dict.fromkeys(check.name for check in self.alarms):
            for check in self.alarms:
                if check.name == name:
                    about = ", ".join(filter(None, (check.attribute, name)))
                    lines.append(f"  ALARM {about}: {check.saw} (p = {check.p_value:.1g})")
            lines.append(indent(fill_paragraph(MEANINGS[name], _WIDTH), "    "))
        if self.alarms:
            lines.append(indent(fill_paragraph(advise(self.alarms), _WIDTH), "  "))
        lines += self._list_noticed()
        if self.unseen:
            lines.append(indent(fill_paragraph(self.unseen, _WIDTH), "  "))
        return "\n".join(lines)

    def _list_noticed(self) -> list[str]:
        """From what share on checks notice which fakes; without an alarm, the best one of each attribute."""
        listed = list(self.checks)
        if self.alarms:
            concerned = {check.attribute for check in self.alarms}
            listed.sort(key=lambda check: check.attribute not in concerned)
        else:
            best: dict[str, Check] = {}
            for check in self.checks:
                best[check.attribute] = min(
                    best.get(check.attribute, check), check, key=lambda other: other.noticed
                )
            listed = list(best.values())
        listed = listed[:_SHOWN]
        rows = [
            [check.attribute or "all", check.name, _format_noticed(check.noticed), check.fakes]
            for check in listed
        ]
        lines = format_table(["attribute", "check", "needed", _KIND], rows, ["check", _KIND])
        more = len(self.checks) - len(listed)
        if more:
            lines.append(f"... and {format_count(more, 'more check')}; --json has all")
        lines += [
            "needed: if so many of the reports to this question are fake ones of this kind, the check raises",
            "an alarm nine times in ten. Other kinds may need a larger share, or never raise one.",
        ]
        return [f"  {line}" for line in lines]


def _format_noticed(share: float) -> str:
    if share >= 1:
        return "never"
    return format_percent(share) if share >= _RARE else f"below {format_percent(_RARE)}"


def tail_of(level: float, looks: int, checks: int) -> float:
    """The p-value below which one of so many checks raises an alarm.

    >>> tail_of(0.06, looks=3, checks=2)
    0.01
    """
    return level / (looks * max(1, checks))


@final
class HealthWatch:
    """Looks at blocks of a plan's reports as they are counted."""

    def __init__(self, document: PlanDocument) -> None:
        self._names, self._parts = document.names, document.parts
        # of an attribute among fakes, only the shares are looked at
        self._watches: list[list[Watch]] = [
            watches(part) if document.mechanism.fake(j) is None else []
            for j, part in enumerate(document.parts)
        ]
        self._seen: list[Tally | None] = [None] * len(document.names)
        self._hashes = {
            j: HashBits(part) for j, part in enumerate(document.parts) if isinstance(part, Linear)
        }
        self._levels = _list_levels(document)
        self._unseen = explain_picked(document)

    def look(self, blocks: Iterable[Reports]) -> Iterator[Reports]:
        """Pass blocks on, and look at each of them."""
        for reports in blocks:
            for j, column in enumerate(reports.records.columns):
                seen = self._seen[j]
                self._look_at(j, column[: LOOKED - (0 if seen is None else seen.n)])
                if j in self._hashes:
                    self._hashes[j].look(column[: LOOKED - self._hashes[j].n])
            yield reports

    def _look_at(self, attribute: int, reports: Array) -> None:
        if len(reports) and self._watches[attribute]:
            more, before = self._parts[attribute].tally(reports), self._seen[attribute]
            self._seen[attribute] = more if before is None else before + more
            for watch in self._watches[attribute]:
                watch.look(reports)

    def health(self, estimates: Estimates, level: float = LEVEL, looks: int = LOOKS) -> Health:
        """What was seen, against what the law allows; without reports, what the estimated shares say alone.

        The level is shared with the checks of bursts, which a collector adds.
        """
        others = 1 + len(self._names)
        looked = [
            [] if seen is None else watching for watching, seen in zip(self._watches, self._seen, strict=True)
        ]
        tail = tail_of(
            level, looks, others + len(self._levels) + sum(2 + len(watching) for watching in looked)
        )
        checks: list[Check] = []
        unjudged: list[str] = []
        by_name = {**estimates.shares, **estimates.levels}
        for name, watching, seen in zip(self._names, looked, self._seen, strict=True):
            if name in by_name:
                estimate = by_name[name]
                if estimate.n < _FEWEST and not isinstance(estimate.law, Moments):
                    unjudged.append(name)
                    continue
                checks += check_shares(name, estimate, tail)
                # shares of exactly the reports that were seen: others would add an error of their own
                looked_at = estimate
                if seen is not None:
                    looked_at = replace(estimate, n=seen.n, support_counts=seen.counts, asked=seen.asked)
                checks += [watch.check(name, looked_at, tail) for watch in watching]
        if estimates.tallies is not None:
            checks += self._check_hashes(estimates.tallies, tail, unjudged)
            checks += self._check_levels(estimates.tallies, tail)
        return Health(tuple(checks), level, looks, tuple(unjudged), n=estimates.n, unseen=self._unseen)

    def _check_hashes(self, tallies: Tallies, tail: float, unjudged: list[str]) -> Iterator[Check]:
        """Whether hashes and buckets of text and codes are drawn as honest devices draw them."""
        for j, bits in self._hashes.items():
            name = self._names[j]
            if tallies[name].n < _FEWEST:
                unjudged.append(name)
                continue
            yield check_buckets(name, bits.mechanism, tallies[name].counts, tail)
            if bits.n >= _FEWEST:
                yield bits.check(name, tail)

    def _check_levels(self, tallies: Tallies, tail: float) -> Iterator[Check]:
        for question, chances in self._levels.items():
            counts = [tallies[name].n for name in chances]
            if sum(counts) >= _FEWEST:
                yield check_levels(question, counts, list(chances.values()), tail)


def _list_levels(document: PlanDocument) -> dict[str, dict[str, float]]:
    """How likely a report holds each level of a question, of which it holds one at most; by question."""
    chances = {
        document.names[j]: float(document.mechanism.chance(j))
        for member, first, _ in document.mechanism.members
        if member.reported == 1
        for j in range(first, first + member.d)
    }
    return {
        question: {level.name: chances[level.name] for level in levels}
        for question, levels in document.levels.items()
        if len(levels) > 1 and all(level.name in chances for level in levels)
    }


@final
@dataclass(frozen=True)
class Picked:
    """The attribute in which one picked report gains most, and how many people it counts for."""

    attribute: str
    people: float


def find_picked(document: PlanDocument) -> Picked | None:
    """The most that one picked report counts for, by the law; None where no value is listed."""
    mechanism = document.mechanism
    gains = [
        Picked(attribute.name, influence_of(mechanism.marginal(j), one_in(part, mechanism.chance(j))))
        for j, (attribute, part) in enumerate(document.pairs)
        if part.listed and not part.numeric and not part.metric and not attribute.domain.is_level
    ]
    return max(gains, key=lambda picked: picked.people, default=None)


def explain_picked(document: PlanDocument) -> str:
    """What no check of the reports notices, in plain words; empty where no value is listed."""
    picked = find_picked(document)
    if picked is None:
        return ""
    who = (
        "Anybody can send them; invitations bound them to one for each person and round."
        if document.ticket_key is None
        else "Only invited people can send reports, and each of them one such report a round: that remains."
    )
    return (
        "No check notices picked reports: made by the mechanism, and sent only if they support a value. Each "
        f"counts for up to {format_digits(picked.people, 3)} people in {picked.attribute!r}, the most that "
        f"any report can. --fakes 0.01 shows where shares are if 1 % of the reports was picked. {who}"
    )
