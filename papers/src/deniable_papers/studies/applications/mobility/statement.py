"""States what each way to report a week protects, as published and as true, with numbers of its people."""

from __future__ import annotations

from deniable_papers.studies.applications.guarantee import Guarantee
from deniable_papers.studies.applications.mobility.losses import count_distinct
from deniable_papers.studies.applications.mobility.week import DURATION, Week

_PRESENCE = "on which days a person is there: there is a report of each of them, and of no other"
_HIDDEN = "only a report of the whole day set hides the days: `deniable reproduce synthetic-mobility`"


def state_week(week: Week) -> list[tuple[str, Guarantee]]:
    """A heading and a guarantee for each way to report."""
    days = week.visits_of
    fresh = f"epsilon for each visit: {days.mean():.2f} epsilon on average, up to {days.max()} epsilon"
    return [
        (
            "sample, fresh noise: what the published code does",
            Guarantee("epsilon for all reports of a person", fresh, "person", (_PRESENCE, _HIDDEN)),
        ),
        (
            "sample, noise kept by value: what was claimed",
            Guarantee(
                "epsilon for all reports of a person",
                _describe_kept(week),
                "person",
                (_PRESENCE, "whether a duration changed: then, and only then, a person's reports differ"),
            ),
        ),
        (
            "sample, a seventh of epsilon for each visit",
            Guarantee("nothing", "epsilon for all seven days", "person", (_PRESENCE,)),
        ),
        (
            "sample, two rounds (L-GRR) or two buckets (LOLOHA) for the duration: recommended",
            Guarantee(
                "nothing",
                "epsilon if no duration changes; for any change of durations the loss in the table, which is "
                "far smaller with two buckets",
                "person",
                (_PRESENCE,),
            ),
        ),
        ("split", Guarantee("epsilon for all reports of a person", fresh, "person", (_PRESENCE,))),
    ]


def _describe_kept(week: Week) -> str:
    values = week.values[:, DURATION]
    distinct = count_distinct(week.person, values, week.ks[DURATION], week.people)
    several = 100 * float((distinct > 1).mean())
    return (
        "epsilon for the five attributes that do not change. For the duration, epsilon for each different "
        f"one ({distinct.mean():.1f} on average, up to {distinct.max()}; {several:.0f} % of people have "
        "several), between weeks that change at the same times. Otherwise no bound: a duration that never "
        "changes gives no two reports"
    )
