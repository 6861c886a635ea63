"""Writes one page for the person responsible: what an attacker learns from a plan's reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from deniable.attack.results import (
    AttributeSuccess,
    ProfileSuccess,
    RealAttribute,
    ReidentificationRate,
    Success,
    among_best,
    name_left_out,
)
from deniable.attack.values import MOST_COLLECTIONS
from deniable.formatting import (
    Printed,
    fill_paragraph,
    format_count,
    format_percent,
    format_percent_range,
    format_points,
    format_table,
    round_digits,
    shorten_names,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
ASKED = {
    "new": "a new attribute",
    "any": "any attribute",
    "kept": "the same attribute",
    "all": "all attributes",
    "mixed": "some always, some at random",
}
"""Which attributes collections ask for."""
_EVENLY = (
    "These figures are for people whose answers are spread evenly over all values: where some answers are "
    "more frequent, fewer guesses or more of them may be right."
)
"""Whom the guesses of an attacker who knows nothing else are about."""


@final
@dataclass(frozen=True)
class Examination(Printed):
    """What an attacker learns from the reports of a plan."""

    plan: str
    title: str
    collections: int
    seed: int
    """All that is simulated is drawn from it, in one run."""
    rounds: int | None
    """How often the plan asks, of plans that ask again; None for those that ask once."""
    continues: int
    """How many plans it continues, whose reports are not looked at."""
    ignorant: Success
    """An attacker who thinks that all answers are equally likely."""
    people: int | None = None
    users: int | None = None
    informed: Success | None = None
    """An attacker who knows how frequent the answers are."""
    real_attributes: tuple[RealAttribute, ...] = ()
    """For each part with fakes: how often an attacker who knows the shares finds the real attribute."""
    found: tuple[ReidentificationRate, ...] = ()
    dropped: int = 0
    """People who were left out, since an answer is missing."""
    filled: int = 0
    """Missing answers that were drawn at random, as the plan says."""
    numbers: tuple[str, ...] = ()
    """Attributes that are numbers: it is guessed in which half of the range they are."""
    distanced: tuple[str, ...] = ()
    """Attributes with metric values: guesses that are near are no hits."""
    lacking: tuple[str, ...] = ()
    """Attributes that the table of people does not have."""
    left_out: tuple[str, ...] = ()
    """Questions of text and codes, which are not attacked."""
    leveled: tuple[str, ...] = ()
    """Questions whose levels are guessed one by one."""

    @property
    def noise_kept(self) -> bool:
        """Whether clients keep a first answer, as those of plans that ask again do."""
        return self.rounds is not None

    def text(self) -> str:
        """The page."""
        sections = [self._answers(), self._write_informed(), self._records(), self._people()]
        numbered = [f"{number}. {section}" for number, section in enumerate(filter(None, sections), 1)]
        return "\n\n".join([self._opening(), *numbered, self._verdict()])

    def __str__(self) -> str:
        return self.text()

    def plot(self) -> Figure:
        """A figure of matplotlib: how often each answer is guessed, and how often a person is found."""
        from deniable.attack.plot import Guesses, plot_examination

        title = self.title or f"Plan {self.plan[:12]}"
        how = f"{format_count(self.collections, 'collection')}, one run, seed {self.seed}"
        if self.people is not None:
            how = f"{format_count(self.people, 'person')}, {self.users:,} looked for, {how}"
        else:
            how = f"by the plan alone, {how}"
        informed = None if self.informed is None else self.informed.attributes
        guesses = Guesses(self.ignorant.attributes, informed, self.lacking, self.collections, self.noise_kept)
        return plot_examination(f"{title}: what an attacker learns\n{how}", guesses, self.found)

    def _opening(self) -> str:
        title = f" · {self.title}" if self.title else ""
        about = (
            "The attacker knows the plan, sees reports of a person, and guesses as well as anyone can. Blind "
            "is how often a guess is right without any report: only what is above it was learned from "
            "reports."
        )
        return "\n".join(
            [
                f"What an attacker learns from plan {self.plan[:12]}{title}",
                fill_paragraph(about),
                fill_paragraph(self._describe_rounds()),
                *map(fill_paragraph, self._describe_continued()),
                *map(fill_paragraph, name_left_out(self.left_out)),
            ]
        )

    def _describe_continued(self) -> list[str]:
        """Whose reports are left out of all figures."""
        if not self.continues:
            return []
        others = format_count(self.continues, "other plan")
        return [
            f"It continues {others}, whose reports are not looked at here: deniable verify says what all of "
            "them lose together."
        ]

    def _describe_rounds(self) -> str:
        """How often the plan asks, and what then several collections are."""
        if self.collections == 1:
            return "One collection is looked at: each person answers once."
        if self.rounds is None:
            return (
                f"This plan asks each person once. What {self.collections} collections tell is what "
                f"{self.collections} plans like it would, one after the other: clients answer another plan "
                "with fresh noise, which averages away."
            )
        more = ""
        if self.collections > self.rounds:
            more = f", more than it asks: from {self.rounds} no attacker learns more than from these"
        return (
            f"This plan asks {format_count(self.rounds, 'time')}. Its clients make a first answer, keep "
            f"it, and send it with fresh noise in each collection. The figures are for {self.collections} "
            f"collections{more}."
        )

    def _headers(self) -> list[str]:
        kept, fresh = (
            ("{} collections", "all drawn again")
            if self.noise_kept
            else ("{} x same noise", "{} x fresh noise")
        )
        times = self.collections
        return [
            "blind",
            "one report",
            "known to hold it",
            f"all {times} hold it",
            kept.format(times),
            fresh.format(times),
        ]

    def _figures(self, attribute: AttributeSuccess) -> list[str]:
        """Lists the blind guess and what each figure adds, marked by how it is known."""
        fields = {"known": "reported_memoized" if self.noise_kept else "reported_averaged"}
        figures = [fields.get(name, name) for name in _FIGURES]
        cells = [
            _mark_figure(
                format_percent(getattr(attribute, name)), name in attribute.stderr, name in attribute.bounds
            )
            for name in figures
        ]
        if self.collections == 1:
            cells[2:] = [""] * 3
        if not self._may_lack:
            cells[1:3] = [""] * 2
        return [format_percent(attribute.blind), *cells]

    @property
    def _may_lack(self) -> bool:
        """Whether a report need not hold an answer."""
        return any(
            abs(attribute.report - attribute.reported) > 1e-12 for attribute in self.ignorant.attributes
        )

    def _answers(self) -> str:
        rows = [
            [
                attribute.name,
                "halves" if attribute.name in self.numbers else f"{attribute.k:,}",
                *self._figures(attribute),
            ]
            for attribute in self.ignorant.attributes
        ]
        fakes = any("memoized" in attribute.bounds for attribute in self.ignorant.attributes)
        meant = []
        if self._may_lack:
            meant.append("one report: from a whole report, in which the answer may not be")
            meant.append("known to hold it: if the attacker knows that it is")
        if self.collections > 1:
            whose = ", for an attacker who knows which attribute of each is real" if fakes else ""
            *_, known, kept, fresh = self._headers()
            if self._may_lack:
                meant.append(
                    f"{known}: if it is in each of {self.collections} reports, and the attacker knows that"
                )
                whose = f", of everyone, who may never have been asked for it{whose}"
            if self.noise_kept:
                meant.append(f"{kept}: from all of them{whose}, as clients of this plan answer")
                meant.append(f"{fresh}: if clients forgot their first answers, which then average away")
            else:
                meant.append(
                    f"{kept}: from {self.collections} collections{whose}, if what is asked again were sent "
                    "as before"
                )
                is_known = any(attribute.averaged is not None for attribute in self.ignorant.attributes)
                meant.append(f"{fresh}: from as many, as clients do answer" if is_known else _UNKNOWN)
        if self.numbers:
            meant.append("halves: in which half of its range a number is")
        lines = [fill_paragraph(" · ".join(meant))] if meant else []
        heading = "Guess one answer, knowing nothing else: how often it is right"
        table = format_table(["answer", "values", *self._headers()], rows, _LEFT, "  ")
        about = fill_paragraph(" ".join([_EVENLY, *_exact_hits(self.distanced)]))
        known = _how_known(self.ignorant.attributes, self.seed)
        return "\n".join([heading, *table, *lines, known, about, *self._write_related()])

    def _write_related(self) -> list[str]:
        """The guesses of questions that depend on each other, as the plan's explanation has them."""
        guesses = [
            f"{attribute.name!r} {format_percent(attribute.together)} "
            f"(blind {format_percent(attribute.together_blind)})"
            for attribute in self.ignorant.attributes
            if attribute.together is not None and attribute.together_blind is not None
        ]
        alone = [fill_paragraph(self.ignorant.describe_alone())] if self.ignorant.alone else []
        if not guesses:
            return alone
        more = [f"{len(guesses) - _MOST_RELATED} more"] if len(guesses) > _MOST_RELATED else []
        listed = ", ".join(guesses[:_MOST_RELATED] + more)
        return [
            fill_paragraph(
                "From one report, with all questions that depend on each other, by an attacker who thinks "
                f"all values equally likely where a question applies: {listed}."
            ),
            *alone,
        ]

    def _write_informed(self) -> str:
        if self.informed is None:
            return ""
        rows = [
            [
                attribute.name,
                *self._figures(attribute),
                "" if attribute.name in self.lacking else format_points(attribute.report - attribute.blind),
            ]
            for attribute in self.informed.attributes
        ]
        heading = "The same, knowing how frequent the answers are among these people"
        known = [name for name in self.numbers if name not in self.lacking]
        lines = (
            [f"How many people are in each half of the range is known of {shorten_names(known)}."]
            if known
            else []
        )
        if self.informed.alone:
            lines.append(fill_paragraph(self.informed.describe_alone()))
        if self.lacking:
            lines.append(f"Not in the table, and guessed as before: {', '.join(self.lacking)}.")
        table = format_table(["answer", *self._headers(), "learned from one"], rows, _LEFT, "  ")
        return "\n".join(
            [heading, *table, _how_known(self.informed.attributes, self.seed), *lines, *self._fakes()]
        )

    def _fakes(self) -> list[str]:
        lines = []
        for real in self.real_attributes:
            chance = real.chance
            error = ""
            if not chance.exact:
                error = f" (standard error {format_points(chance.stderr, 2)}, seed {self.seed})"
            all_attributes = len(real.names) == len(self.ignorant.attributes)
            among = "" if all_attributes else f", among {shorten_names(real.names)},"
            lines.append(
                f"Which attribute of a report is real{among} is found for "
                f"{format_percent(chance.value)}{error}, blindly for {format_percent(real.blind)}."
            )
        return lines

    def _records(self) -> str:
        if len(self.ignorant.attributes) == 1:
            return ""
        headers = [
            "collections ask for",
            "client",
            "attacker",
            "all reported",
            "whole record",
            "right on average",
        ]
        attackers = {"knows nothing else": self.ignorant}
        if self.informed is not None:
            attackers["knows shares"] = self.informed
        rows = [
            [
                *(ASKED[profile.asked], self._client(profile), who),
                *(
                    _mark_figure(
                        format_percent(getattr(profile, name)), name in profile.stderr, profile.bound
                    )
                    for name in _WHOLE
                ),
                _mark_figure(f"{profile.right:.2f}", "right" in profile.stderr, profile.bound),
            ]
            for who, success in attackers.items()
            for profile in success.profiles
            if self.collections > 1 or (profile.memoized and profile.asked != "new")
        ]
        heading = f"Guess all answers of a person after {format_count(self.collections, 'collection')}"
        meant = (
            "all reported: all answers that were reported are guessed · whole record: all answers are, those "
            "that were not reported blindly · right on average: how many of the answers that were reported "
            "are guessed"
        )
        blind = " · ".join(
            f"{format_percent(success.blind_record)} for an attacker who {who}"
            for who, success in attackers.items()
        )
        known = _how_known(
            [profile for success in attackers.values() for profile in success.profiles], self.seed
        )
        table = format_table(headers, rows, _LEFT, "  ")
        lines = [heading, *table, f"blind: the whole record {blind}", fill_paragraph(meant), known]
        return "\n".join([*lines, *map(fill_paragraph, _name_leveled(self.leveled))])

    def _client(self, profile: ProfileSuccess) -> str:
        if self.collections == 1:
            return ""
        if self.noise_kept:
            return "keeps first answers" if profile.memoized else "forgets them"
        return "same noise again" if profile.memoized else "fresh noise"

    def _people(self) -> str:
        if not self.found:
            return ""
        tops = dict.fromkeys(rate.top for rate in self.found)
        names = [among_best(top) for top in tops]
        headers = [
            "background has",
            "collections",
            *(cell for name in names for cell in (name, "95 % interval", "blind")),
        ]
        rows = []
        for background in dict.fromkeys(rate.background for rate in self.found):
            for times in dict.fromkeys(rate.collections for rate in self.found):
                rates = [
                    rate for rate in self.found if (rate.background, rate.collections) == (background, times)
                ]
                cells = [
                    cell
                    for rate in rates
                    for cell in (
                        format_percent(rate.success),
                        format_percent_range(rate.low, rate.high),
                        format_percent(rate.blind),
                    )
                ]
                rows.append([background, str(times), *cells])
        heading = (
            f"Find a person among {self.people:,} records, by all that the reports say ({self.users:,} "
            "looked for)"
        )
        noise = (
            "their clients keep first answers, as the plan says"
            if self.noise_kept
            else "their noise is drawn again each time"
        )
        about = (
            f"{' · '.join(names)}: how often the person's own record is there, ties being drawn · one "
            f"simulated run, seed {self.seed}; its 95 % interval is that of a count of {self.users:,} · "
            f"{noise}"
        )
        which = {
            rate.background: rate.attributes
            for rate in self.found
            if len(rate.attributes) < len(self.ignorant.attributes)
        }
        about += "".join(
            f" · {background}: {', '.join(attributes)}" for background, attributes in which.items()
        )
        return "\n".join(
            [heading, *format_table(headers, rows, _LEFT, "  "), fill_paragraph(about), *self._left_out()]
        )

    def _left_out(self) -> list[str]:
        lines = []
        if self.lacking:
            names = ", ".join(self.lacking)
            lines.append(
                f"The table does not have {names}: no part of the background, and drawn evenly in the "
                "simulation."
            )
        if self.dropped:
            lines.append(
                f"{format_count(self.dropped, 'row')} left out: an answer is missing, which the plan refuses."
            )
        if self.filled:
            lines.append(
                f"{format_count(self.filled, 'missing answer')} drawn at random, as clients do, once for "
                "each."
            )
        return lines

    def _verdict(self) -> str:
        informed = self.informed
        if informed is not None:  # what is not in the table does not tell anything by it
            known = tuple(
                attribute for attribute in informed.attributes if attribute.name not in self.lacking
            )
            informed = replace(informed, attributes=known)
        lines = most_exposed(self.ignorant, informed, self.collections, self.noise_kept)
        if self.found:
            most = max(self.found, key=lambda rate: rate.success / rate.blind if rate.blind else 0.0)
            complete = len(most.attributes) == len(self.ignorant.attributes)
            background = most.background if complete else most.named
            lines.append(
                f"With a background of {background} and {format_count(most.collections, 'collection')} "
                f"{_best_match(most.top)} for {format_percent(most.success)} of people, "
                f"{times_as_often(most.success, most.blind)}."
            )
        return fill_paragraph("In short: " + " ".join(lines))


_UNKNOWN = f"what clients tell with fresh noise is known for up to {MOST_COLLECTIONS} collections among fakes"
_WHOLE = ("all_reported", "whole_record")
_MOST_RELATED = 6  # guesses of questions that depend on each other
_LEFT = ("client", "attacker")  # columns of text
_FIGURES = ("report", "reported", "known", "memoized", "averaged")


def _how_known(rows: Sequence[AttributeSuccess] | Sequence[ProfileSuccess], seed: int) -> str:
    errors = [
        error for row in rows for name, error in row.stderr.items() if name not in ("right", "published")
    ]
    answers = [row.stderr["right"] for row in rows if "right" in row.stderr]
    bound = any(row.bounds if isinstance(row, AttributeSuccess) else row.bound for row in rows)
    return fill_paragraph(legend(errors, bound, seed, answers))


def most_exposed(
    ignorant: Success, informed: Success | None, collections: int, noise_kept: bool
) -> list[str]:
    """Finds what one report adds, for attackers who know the frequencies, where they are given, and who do
    not.

    What several reports tell is said of those who send them. A figure of everyone counts people who were
    never asked for the answer, and would read as if more reports said less.
    """
    worst = ignorant.worst
    knowing = "" if informed is None else " and knows nothing else"
    alone = (
        f"an attacker who sees a report that holds it{knowing} is right for "
        f"{format_percent(worst.reported)} of people, blindly for {format_percent(worst.blind)}"
        f"{_add_collections(worst, collections, noise_kept)}."
    )
    if informed is None:
        return [f"The most exposed answer is {worst.name!r}: {alone}"]
    exposed = max(informed.attributes, key=lambda attribute: attribute.report - attribute.blind)
    learned = (
        "with one report an attacker who knows how frequent the answers are is right for "
        f"{format_percent(exposed.report)} of "
        f"people{_compare_with_blind(exposed)}{_add_collections(exposed, collections, noise_kept)}."
    )
    if format_points(exposed.report - exposed.blind) == format_points(0.0):
        several = max(
            informed.attributes, key=lambda attribute: _together(attribute, noise_kept) - attribute.blind
        )
        return [
            f"The most exposed answer is {worst.name!r}: {alone} To an attacker who knows how frequent the "
            "answers are one report tells nothing of use: the most frequent answer remains the best "
            f"guess{_by_name(several, ignorant, collections, noise_kept)}."
        ]
    if exposed.name == worst.name:
        return [f"The most exposed answer is {worst.name!r}: {alone} By this data, {learned}"]
    return [
        f"The most exposed answer is {exposed.name!r}: {learned} "
        f"Without this data it is {worst.name!r}: {alone}"
    ]


def _compare_with_blind(attribute: AttributeSuccess) -> str:
    """Says what one report adds, and where that is too little to see, that it is."""
    more, blind = format_points(attribute.report - attribute.blind), format_percent(attribute.blind)
    return (
        f", hardly more often than blindly ({more})"
        if format_percent(attribute.report) == blind
        else f" instead of {blind}, {more} more"
    )


def _best_match(top: int) -> str:
    """Says who is found among the best matches."""
    if top == 1:
        return "the record that matches best is the right person's"
    return f"the right person is among the {top} that match best"


def _together(attribute: AttributeSuccess, noise_kept: bool) -> float:
    """From reports that all hold the answer, as clients send them."""
    return attribute.reported_memoized if noise_kept else attribute.reported_averaged


def _add_collections(attribute: AttributeSuccess, collections: int, noise_kept: bool) -> str:
    """What several reports add; nothing where they add nothing that can be seen."""
    known = " that are known to hold it" if _may_lack(attribute) else ""
    return (
        f"; from {collections} reports{known}, for {_format_learned(attribute, noise_kept)}"
        if _format_learned(attribute, noise_kept)
        else ""
    )


def _by_name(attribute: AttributeSuccess, ignorant: Success, collections: int, noise_kept: bool) -> str:
    """Says the same of another answer, by name, of which one report reveals nothing."""
    if not _format_learned(attribute, noise_kept):
        return ""
    sampled = any(_may_lack(other) for other in ignorant.attributes if other.name == attribute.name)
    which = (
        f"that are known to hold {attribute.name!r} the guess of it"
        if sampled
        else f"the guess of {attribute.name!r}"
    )
    learned = _format_learned(attribute, noise_kept)
    return f"; from {collections} reports {which} is right for {learned} of people"


def _format_learned(attribute: AttributeSuccess, noise_kept: bool) -> str:
    often = format_percent(_together(attribute, noise_kept))
    return "" if often == format_percent(max(attribute.reported, attribute.blind)) else often


def _may_lack(attribute: AttributeSuccess) -> bool:
    """Whether a report may not hold the answer."""
    return attribute.report < attribute.reported - 1e-12


def times_as_often(success: float, blind: float) -> str:
    """Compares a guess with a blind one.

    >>> times_as_often(0.0175, 0.00005), times_as_often(0.03, 0.02)
    ('350 times as often as blindly', '1.5 times as often as blindly')
    """
    times = round_digits(success / blind, 2)
    return (
        f"{times:,.0f} times as often as blindly" if times >= 10 else f"{times:g} times as often as blindly"
    )


def _mark_figure(cell: str, simulated: bool, bound: bool) -> str:
    """A figure with how it is known."""
    return f"{'<= ' if bound else ''}{'~' if simulated else ''}{cell}" if cell else ""


def legend(errors: Sequence[float], bound: bool, seed: int, answers: Sequence[float] = ()) -> str:
    """What the marks of a table say; `answers` are the errors that are numbers of answers, not shares.

    >>> legend([0.001], False, 1, [0.02])
    '~ is simulated from seed 1, standard error at most 0.1 points, of right on average 0.02 answers ...'
    """
    worst = [f"at most {format_points(max(errors), 2)}"] if errors else []
    worst += (
        [f"of right on average {'' if errors else 'at most '}{max(answers):.2g} answers"] if answers else []
    )
    marks = [f"~ is simulated from seed {seed}, standard error {', '.join(worst)}"] if worst else []
    marks += ["<= is at most"] if bound else []
    return " · ".join([*marks, "the rest is exact"]) if marks else "exact"


def _exact_hits(names: Sequence[str]) -> list[str]:
    """What counts as right for metric attributes; nothing where there are none."""
    if not names:
        return []
    return [
        f"For {shorten_names(names)}, which are metric, only the exact bin or cell is right: guesses "
        "nearby are not counted."
    ]


def _name_leveled(questions: Sequence[str]) -> list[str]:
    """That levels of one question are counted as several answers; nothing where there are none."""
    if not questions:
        return []
    return [
        f"Levels of {shorten_names(questions)} count as answers of their own, as if nothing tied them "
        "together. The finest level has all others, so that whole records are guessed more often than "
        "this, with reports and blindly."
    ]
