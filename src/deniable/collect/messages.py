"""Defines the collector's messages, says what their fields mean, and why a request is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from deniable.errors import DeniableError

REASONS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "This cannot be read."),
    "request": (400, "This is no request of HTTP/1.1, or one that can be read in two ways."),
    "version": (400, "The report was made by another version."),
    "form": (
        400,
        "The report is not in its canonical form; it was changed, or not made by a client of this plan.",
    ),
    "size": (400, "The report is too long or too short for its plan."),
    "round": (400, "The plan has no such round."),
    "parameter": (400, "A parameter is wrong, or not known here."),
    "token": (401, "This takes a token, and a valid one; send it as: Authorization: Bearer …"),
    "invitation": (
        403,
        "This plan takes one report for each invitation, and this one is missing, unknown or used.",
    ),
    "ticket": (
        403,
        "This plan takes one report for each ticket, and this one is missing, not valid or used; an "
        "invitation is exchanged for one.",
    ),
    "role": (403, "This token does not allow this; ask an operator."),
    "plan": (404, "No such plan is collected here."),
    "path": (404, "There is nothing here."),
    "method": (405, "This cannot be done here."),
    "slow": (408, "The request took too long to arrive."),
    "closed": (409, "The round is not open."),
    "few": (409, "There are too few reports so far."),
    "large": (413, "The message is longer than anything that is taken here."),
    "type": (415, "Send application/octet-stream or application/json."),
    "head": (431, "The head of the request is longer than anything that is taken here."),
    "rate": (429, "There are too many requests from here; wait a little."),
    "busy": (503, "There is more to do than can be done now; send it again in a moment."),
    "store": (503, "The store cannot be reached now; send it again in a moment."),
    "fault": (503, "This went wrong on our side; nothing was counted."),
}
"""Every reason of refusal: its status, and what it means."""

LONGEST = 300  # characters of a sentence, which may name what was sent


def explain(text: str) -> msgspec.Meta:
    """What a field means, for the description of the API."""
    return msgspec.Meta(description=text)


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message to or from the collector."""


class Problem(Message, frozen=True):
    """Why something was refused."""

    reason: str
    detail: str


class Refusal(DeniableError):
    """An answer that refuses: a word for machines, a sentence for people, and headers."""

    def __init__(self, reason: str, detail: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.reason = reason
        self.status, meaning = REASONS[reason]
        self.detail = (detail or meaning)[:LONGEST]
        self.headers = dict(headers or {})
        if self.status in (429, 503):
            self.headers.setdefault("retry-after", "1")
        if self.status == 401:
            self.headers.setdefault("www-authenticate", "Bearer")
        super().__init__(self.detail)


class Receipt(Message, frozen=True):
    """A report has been counted, now or before; it is on disk."""

    outcome: Literal["counted", "counted before"]


class Receipts(Message, frozen=True):
    """What became of each report of a batch, in order: counted, counted before, or why it was refused."""

    counted: int
    outcomes: list[str]


class Summary(Message, frozen=True):
    """A plan in the list."""

    id: str
    title: str
    titles: Annotated[dict[str, str], explain("The title in the languages of the survey, where it has some.")]
    invited: Annotated[bool, explain("Whether a report needs an invitation.")]
    round: Annotated[int | None, explain("The newest round that is open now; null where none is.")]
    open: Annotated[list[int], explain("All rounds that are open now, in order.")]
    rounds: Annotated[int | None, explain("How often people are asked; null where they are asked once.")]
    continues: Annotated[
        list[str], explain("The plans of this list that it continues, the last one last.")
    ] = []


class Plans(Message, frozen=True):
    """The plans that are collected here."""

    plans: list[Summary]
    url: str | None = None
    """The one address at which the survey is answered; None where no address was named."""
    by_day: bool = False
    """Whether there is no survey, and results are those of the last day in tables of reports."""


Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class Times(Message, frozen=True):
    """When a round is open: from now on without `opens`, unless it is open; forever without `closes`."""

    opens: Moment | None = None
    closes: Moment | None = None


class Round(Message, frozen=True):
    """A round of a plan."""

    number: int
    opens: Moment | None
    closes: Moment | None
    open: bool


class Rounds(Message, frozen=True):
    """The rounds of a plan."""

    plan: str
    rounds: list[Round]


Among = Annotated[
    str | None, explain("Whom it is about, where that is not everybody: those who answered, for example.")
]
ReportsAbout = Annotated[int, explain("How many reports are about this attribute.")]
MovedFrom = Annotated[
    float | None, explain("The unbiased share, if what is shown is more than two standard errors from it.")
]


Effective = Annotated[
    float | None, explain("How many people of a simple sample weighted reports are about as good as.")
]


class Row(Message, frozen=True, omit_defaults=True):
    """The share of one value of an attribute, or of neighboring values; a number has no rows."""

    attribute: str
    value: str | int | float
    share: Annotated[float, explain("A possible share, inside its interval: what to show.")]
    low: float
    high: float
    count: Annotated[
        float | None, explain("How many of those who reported have it; null where they stand for others.")
    ]
    noisy: Annotated[bool, explain("Whether the interval is too wide for the share to be read.")]
    method: Annotated[
        str, explain("How it was found: most likely, smoothed, or projected to possible shares.")
    ]
    unbiased: Annotated[float, explain("The unbiased estimate, which may be below 0 or above 1.")]
    stderr: Annotated[float, explain("The standard error of the unbiased estimate.")]
    unbiased_low: float
    unbiased_high: float
    moved_from: MovedFrom
    n: ReportsAbout
    low_together: Annotated[
        float | None,
        explain("For a location: the low end of its interval, if those of all cells hold at once."),
    ] = None
    among: Among = None
    effective: Effective = None


class Mean(Message, frozen=True, omit_defaults=True):
    """The mean of a number, or of a range without open ends, by the middles of its bins."""

    attribute: str
    mean: Annotated[float, explain("A possible mean: the unbiased one, cut to the range.")]
    low: float
    high: float
    within: Annotated[
        float, explain("How much farther all three may be off: half a bin of a range, 0 for a number.")
    ]
    noisy: Annotated[bool, explain("Whether the interval is wider than half of the range.")]
    unbiased: float
    stderr: float
    unbiased_low: float
    unbiased_high: float
    n: ReportsAbout
    moved_from: Annotated[
        float | None, explain("The unbiased mean, if what is shown is more than two standard errors from it.")
    ]
    among: Among = None
    effective: Effective = None


class Quantile(Message, frozen=True, omit_defaults=True):
    """The median of a range; null is beyond an open end."""

    attribute: str
    share: Annotated[float, explain("The share of people below it.")]
    quantile: float | None
    low: float | None
    high: float | None
    stderr: float | None
    noisy: Annotated[bool, explain("Whether the interval is longer than half of the range, and a bin.")]
    n: ReportsAbout
    among: Among = None
    effective: Effective = None
    label: Annotated[str | None, explain("The point of a scale that it is in.")] = None
    low_label: Annotated[str | None, explain("The point that the lower end is in.")] = None
    high_label: str | None = None


QuestionTexts = Annotated[
    dict[str, str],
    explain("What people were asked, by attribute and by question, where the plan has its text."),
]


class Noise(Message, frozen=True):
    """What is too noisy to read about an attribute, and what would mend it."""

    attribute: str
    what: Annotated[str, explain("value, group, block, mean or median.")]
    noisy: int
    of: int
    n: int
    people: Annotated[int, explain("About how many people it takes to be readable at all.")]
    epsilon_times: Annotated[
        float | None, explain("Or how many times as large an epsilon at most; null where it is no help.")
    ]
    groups: Annotated[int | None, explain("Or how few groups at most; null where that is no help.")]
    text: str


class Fit(Message, frozen=True):
    """How badly the reports about an attribute fit honest people, from their tally alone."""

    attribute: str
    p_value: Annotated[float, explain("How often honest people give reports that look as strange.")]
    badly: Annotated[bool, explain("Whether to say so: a p-value of at most 0.01.")]
    text: str


class Respondents(Message, frozen=True):
    """How many people have an answer to an attribute that everybody reports, where some have none."""

    attribute: str
    reports: Annotated[int, explain("How many reports were counted, by everybody.")]
    among: Annotated[str, explain("Whom the shares and the mean are about.")]
    share: Annotated[float, explain("The share of people who are meant.")]
    low: float
    high: float
    text: str


class Weighed(Message, frozen=True):
    """How good the weighted reports about an attribute are."""

    attribute: str
    n: ReportsAbout
    effective: Annotated[float, explain("How many people of a simple sample they are about as good as.")]
    text: str
    warnings: Annotated[list[str], explain("Weights that cost much, and groups of few.")]


class Weights(Message, frozen=True):
    """The population that results are of, where they are not of the people who reported."""

    population: Annotated[
        dict[str, dict[str, float]], explain("The shares of known groups, by question and answer.")
    ]
    text: str
    attributes: list[Weighed]


class JoinedPlan(Message, frozen=True):
    """A plan that estimates are joined from."""

    plan: str
    n: Annotated[int, explain("How many people reported to it.")]
    round: Annotated[int | None, explain("The round that they reported in.")]


class NotJoined(Message, frozen=True):
    """What of a plan before is not joined."""

    plan: str
    attribute: Annotated[str | None, explain("The attribute; null where it is all of the plan.")]
    why: str


RoundShown = Annotated[int | None, explain("The round; null of a day on which reports of several came.")]
DayShown = Annotated[
    str | None,
    explain(
        "The last day in tables of reports, where no round was asked for; null of the results of a round."
    ),
]


class Outdated(Message, frozen=True):
    """Why results are old: tables of reports cannot be read, so that they are of the last count."""

    counted: Annotated[Moment, explain("When the tables were last counted.")]
    why: Annotated[str, explain("Why they could not be read since, in words.")]


OutdatedShown = Annotated[
    Outdated | None,
    explain("Why results are old; null where tables of reports can be read, and of a collector."),
]


class Estimates(Message, frozen=True):
    """Estimates with error bars."""

    plan: str
    round: RoundShown
    n: int
    level: float
    rows: list[Row]
    means: list[Mean]
    groups: Annotated[
        list[Row], explain("Neighboring values together: bins of a long range, blocks of a large grid.")
    ]
    quantiles: list[Quantile]
    noise: list[Noise]
    smooth: Annotated[bool, explain("Whether shares of ranges and grids are smoothed.")] = False
    refused: Annotated[
        dict[str, str], explain("Why shares of an attribute are not smoothed although that was asked for.")
    ] = {}
    smoothable: Annotated[list[str], explain("The attributes whose shares can be smoothed.")] = []
    respondents: Annotated[
        list[Respondents],
        explain("The attributes that everybody reports, and not everybody has an answer to."),
    ] = []
    among: Annotated[
        list[Row],
        explain(
            'Shares of those who answered, where "not applicable" or "no answer" is a value: of groups, '
            "where there are."
        ),
    ] = []
    fit: Annotated[
        list[Fit],
        explain(
            "How badly the reports about each attribute fit honest people; metric ones have no such test."
        ),
    ] = []
    weights: Annotated[
        Weights | None, explain("How known groups were weighted; null where they were not.")
    ] = None
    questions: QuestionTexts = {}
    plans: Annotated[
        list[JoinedPlan],
        explain(
            "The plans whose people are joined by their numbers, the last one last, and of a day in tables "
            "the rounds of each; empty where nothing is joined."
        ),
    ] = []
    not_joined: Annotated[
        list[NotJoined], explain("What is left out of the plans before that are collected here, and why.")
    ] = []
    day: DayShown = None
    outdated: OutdatedShown = None


class TextLimit(Message, frozen=True):
    """How common a text or code must be to be found among the reports of a question."""

    attribute: str
    reports: Annotated[int, explain("Reports about the question.")]
    limit: Annotated[float, explain("The share that makes a value found about half of the time.")]


class TextLimits(Message, frozen=True):
    """How common a value must be to be found, for every question whose values nobody listed."""

    plan: str
    round: int | None
    questions: list[TextLimit]


class Sought(Message, frozen=True):
    """What is looked for among the texts and codes that nobody listed."""

    words: Annotated[
        list[str] | None,
        explain("A public list that was not made from these reports; it finds rarer values."),
    ] = None
    alpha: Annotated[float, explain("The chance that any value is shown which nobody has.")] = 0.05
    least: Annotated[int, explain("Values that fewer people have, by their plain shares, are not shown.")] = (
        50
    )


class FoundValue(Message, frozen=True):
    """A value that many people have; its interval holds given that it is shown."""

    value: str
    share: float
    low: float
    high: float
    low_at_once: Annotated[float, explain("The low end of intervals that hold for all candidates at once.")]
    high_at_once: float
    people: Annotated[int, explain("How many people have it, by its estimate.")]
    count: Annotated[int, explain("Reports of the final group that support it.")]


class Discovered(Message, frozen=True):
    """The texts or codes of a question that many people have."""

    plan: str
    round: int
    question: str
    people: Annotated[int, explain("Everybody who reported.")]
    reports: Annotated[int, explain("Reports of the group that decides.")]
    candidates: int
    hidden: Annotated[int, explain("Values of fewer than `least` people, which are not shown.")]
    least: int
    alpha: float
    limit: Annotated[float, explain("The share that makes a value found about half of the time.")]
    sentences: list[str]
    found: list[FoundValue]


class Between(Message, frozen=True):
    """The share of the people from one number to under another."""

    plan: str
    round: RoundShown
    attribute: str
    range: Annotated[str, explain("In words: 20000 to under 40000.")]
    level: float
    share: Annotated[float, explain("A possible share, inside its interval.")]
    low: float
    high: float
    unbiased: Annotated[float, explain("The unbiased share, which may be below 0.")]
    stderr: float
    noisy: Annotated[bool, explain("Whether it is too noisy to read.")]
    moved_from: MovedFrom
    day: DayShown = None
    outdated: OutdatedShown = None


class History(Message, frozen=True):
    """Estimates from growing numbers of reports, chosen at random; without grids and medians of levels."""

    plan: str
    round: int
    level: float
    snapshots: list[Estimates]


class DayLine(Message, frozen=True):
    """One number a day: the share of a value, or a mean; null on days without enough reports."""

    attribute: str
    value: str
    kind: Literal["value", "mean"]
    numbers: list[float | None]
    low: list[float | None]
    high: list[float | None]


class Moved(Message, frozen=True):
    """A number that moved, against the same weekdays before."""

    day: str
    attribute: str
    value: str
    text: str


class DayAlarm(Message, frozen=True):
    """A number that moved, and other answers to the question, which went the other way meanwhile."""

    day: str
    attribute: str
    value: str
    text: str
    mirrored: list[Moved]


class Burst(Message, frozen=True):
    """A day that is left out of what others are compared with."""

    day: str
    times: Annotated[float, explain("How many times the usual reports it has.")]


class Break(Message, frozen=True):
    """A day from which on a plan asks a question anew, or has another answer to it."""

    day: str
    name: Annotated[
        str, explain("The attribute; of an answer that was added, also the value, after a colon.")
    ]
    why: str


class Days(Message, frozen=True):
    """The shares and means of all days, unbiased, and the days on which one moved."""

    plan: str
    by: str
    level: float
    rate: Annotated[float, explain("The chance of a false alarm on a day, over all lines, at most.")]
    dates: list[str]
    reports: list[int]
    lines: list[DayLine]
    alarms: list[DayAlarm]
    bursts: list[Burst]
    left_out: Annotated[dict[str, str], explain("The attributes that are not followed, and why.")]
    breaks: Annotated[list[Break], explain("Days before which nothing is compared with days after.")] = []
    plans: Annotated[int, explain("How many plans that continue each other have reports.")] = 1
    outdated: OutdatedShown = None


class Counted(Message, frozen=True):
    """The tallies of a plan, from which everything is estimated."""

    plan: str
    round: Annotated[int | None, explain("If no round was asked for, the only one that has reports.")]
    n: int
    tallies: dict[str, dict[str, Any]]
    groups: Annotated[
        list[dict[str, dict[str, Any]]],
        explain("The same of each known group, in the plan's order; absent where none is known."),
    ] = []
    day: DayShown = None
    outdated: OutdatedShown = None


class HealthCheck(Message, frozen=True):
    """One way in which reports may differ from honest ones."""

    attribute: str
    name: str
    p_value: Annotated[float, explain("How often honest reports look at least as strange, in this check.")]
    saw: Annotated[str, explain("What was seen, in words.")]
    noticed: Annotated[
        float, explain("The share of fake reports from which on they are noticed nine times in ten.")
    ]
    fakes: Annotated[str, explain("The kind of fake reports that this share is about.")]
    alarm: bool
    means: Annotated[str, explain("What an alarm of this check means.")]
    noticed_of: Annotated[str, explain("What `noticed` is a share of, in words.")]


class ReportHealth(Message, frozen=True):
    """Whether the reports of a round look as honest ones do."""

    plan: str
    round: int
    n: Annotated[int, explain("How many reports there were at this look.")]
    level: Annotated[
        float, explain("How often honest people raise any alarm, over all looks at their study.")
    ]
    looks: Annotated[int, explain("How many separate looks share the level.")]
    alarms: int
    verdict: Annotated[str, explain("In words, such as 'no alarm' or 'too few reports to judge'.")]
    summary: Annotated[
        str, explain("The verdict, from how many checks and reports, and how rare false ones are.")
    ]
    too_few: Annotated[list[str], explain("The questions with too few reports to be checked.")]
    checks: list[HealthCheck]
    advice: Annotated[str, explain("What to do; empty where there is no alarm.")]
    unseen: Annotated[str, explain("What no check notices, and how many people such a report counts for.")]


class Access(Message, frozen=True):
    """Whose token this is, and what it allows."""

    name: Annotated[str, explain("As it was given access; `main` has the collector's own token.")]
    role: Literal["operator", "reader", "metrics"]


class Action(Message, frozen=True):
    """What somebody did who operates the collector."""

    time: Moment
    who: Annotated[str, explain("The name of an access, or in a shell that of the machine's user.")]
    through: Literal["shell", "web"]
    what: str
    plan: str | None
    detail: str


class Actions(Message, frozen=True):
    """The log of what operators did, the newest first."""

    actions: list[Action]


class Status(Message, frozen=True):
    """Whether the collector runs."""

    status: Literal["ok"]


class CrossCell(Message, frozen=True):
    """Two answers: their share of all people, and that of the row's people with the column's answer."""

    row: str
    column: str
    cell: Annotated[float, explain("The unbiased share of all people, which may be below 0.")]
    cell_stderr: float
    share: Annotated[float | None, explain("The share of the row's people; null where none is seen there.")]
    shown: Annotated[float, explain("A possible share within the interval, as people read it.")]
    low: float
    high: float
    stderr: Annotated[float | None, explain("To first order; null where nobody is seen in the row.")]
    known: Annotated[bool, explain("Whether the interval leaves anything out.")]


class CrossTest(Message, frozen=True):
    """Whether the two answers depend on each other, or whether any cell changed."""

    statistic: float
    degrees: int
    p: Annotated[
        float | None,
        explain(
            "How often chance alone has such a statistic; null where there is no test, as of few reports."
        ),
    ]
    verdict: Annotated[
        Literal["found", "not found", "cannot tell"],
        explain('At 5 %; "cannot tell" where there is no test, or where all differences are often missed.'),
    ]
    detectable: Annotated[
        float | None,
        explain("The difference or change of a row's share that four of five such studies find."),
    ]
    sentence: Annotated[str, explain("What is found; where nothing is, what such a study often misses.")]


class Cross(Message, frozen=True):
    """A table of two questions that were asked together."""

    plan: str
    round: RoundShown
    of: str
    by: str
    questions: QuestionTexts
    n: int
    level: float
    rows: list[str]
    columns: list[str]
    cells: list[CrossCell]
    method: Annotated[
        Literal["unbiased", "most likely", "projected"], explain("How the shares that are shown were found.")
    ]
    note: Annotated[str, explain("What to know about the shares that are shown; empty where nothing is.")]
    weighted: Annotated[str, explain("The population that it is of; empty where no weights were given.")]
    cautions: Annotated[list[str], explain("How good weighted reports are, and what to beware of.")]
    effective: Annotated[
        list[float], explain("How many people of a simple sample those about each row are about as good as.")
    ]
    test: CrossTest
    day: DayShown = None
    outdated: OutdatedShown = None


class CellChange(Message, frozen=True):
    """How much larger a share of a row's people is than in the earlier round, and that of all people."""

    row: str
    column: str
    earlier: Annotated[float | None, explain("The earlier share; null where nobody is seen in the row.")]
    later: Annotated[float | None, explain("The later share; null where nobody is seen in the row.")]
    difference: Annotated[float | None, explain("Later less earlier; null where one of them is not known.")]
    stderr: Annotated[float | None, explain("To first order; null where nothing is known.")]
    low: float
    high: float
    known: Annotated[bool, explain("Whether something is known of both shares.")]
    cell_difference: float
    cell_stderr: float
    cell_low: float
    cell_high: float


_People = Annotated[
    Literal["population", "same", "others", "linked"],
    explain(
        "Whose change it is: of the population that people are drawn from, of the very people who reported, "
        "of the population if other people answered each time, or of those who answered both rounds, where "
        "reports are linked."
    ),
]
_Validity = Annotated[str, explain("Whose change it is, in words.")]


class Difference(Message, frozen=True):
    """How much larger a share or a mean is in the later round."""

    attribute: str
    value: str
    kind: Annotated[
        Literal["value", "group", "mean"],
        explain("What it is of: a value, a group of neighboring values, or a number."),
    ]
    earlier: float
    later: float
    difference: Annotated[float, explain("Of unbiased numbers, cut with its ends to what is possible.")]
    low: float
    high: float
    stderr: float
    unbiased_earlier: float
    unbiased_later: float
    noisy: Annotated[bool, explain("Whether it is too noisy to read.")]


class Changed(Message, frozen=True):
    """The change of every share and mean since an earlier round."""

    plan: str
    round: int
    since: int
    level: float
    people: _People
    validity: _Validity
    caveat: Annotated[str, explain("What is not known where the rounds are of different people; else empty.")]
    rows: list[Difference]
    both: Annotated[int | None, explain("People who answered both rounds, where that is known.")] = None
    dropped: Annotated[int | None, explain("People who answered the earlier round only.")] = None
    joined: Annotated[int | None, explain("People who answered the later round only.")] = None


class Participation(Message, frozen=True):
    """How many people answered a round and the one before it, in a linked plan."""

    since: int
    round: int
    both: int
    dropped: Annotated[int, explain("People who answered the earlier round only.")]
    joined: Annotated[int, explain("People who answered the later round only.")]


class Participations(Message, frozen=True):
    """Who answered again, round by round; empty unless the plan is linked."""

    plan: str
    rounds: list[Participation]


class CrossChange(Message, frozen=True):
    """The change of a table since an earlier round."""

    plan: str
    round: int | None
    since: int
    of: str
    by: str
    questions: QuestionTexts
    n: Annotated[
        list[int], explain("Reports that hold both answers: in the earlier round, and in the later.")
    ]
    level: float
    people: _People
    validity: _Validity
    weighted: Annotated[str, explain("The population that it is of; empty where no weights were given.")]
    cells: list[CellChange]
    test: CrossTest
