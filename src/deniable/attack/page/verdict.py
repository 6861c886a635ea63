"""Says in short which answer is the most exposed, to whom, and how far several reports of it lead."""

from __future__ import annotations

from deniable.attack.results import AttributeSuccess, Success
from deniable.formatting import format_percent, format_points


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


def best_match(top: int) -> str:
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
