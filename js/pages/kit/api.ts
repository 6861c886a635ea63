/** Lists what a collector answers, as spec/api.json describes it. Made by build.mjs: do not edit it. */

/** Whose token this is, and what it allows. */
export interface Access {
  /** As it was given access; `main` has the collector's own token. */
  readonly name: string;
  readonly role: "metrics" | "operator" | "reader";
}

/** What somebody did who operates the collector. */
export interface Action {
  readonly time: string;
  /** The name of an access, or in a shell that of the machine's user. */
  readonly who: string;
  readonly through: "shell" | "web";
  readonly what: string;
  readonly plan: string | null;
  readonly detail: string;
}

/** The log of what operators did, the newest first. */
export interface Actions {
  readonly actions: readonly Action[];
}

/** The share of the people from one number to under another. */
export interface Between {
  readonly plan: string;
  /** The round; null of a day on which reports of several came. */
  readonly round: number | null;
  readonly attribute: string;
  /** In words: 20000 to under 40000. */
  readonly range: string;
  readonly level: number;
  /** A possible share, inside its interval. */
  readonly share: number;
  readonly low: number;
  readonly high: number;
  /** The unbiased share, which may be below 0. */
  readonly unbiased: number;
  readonly stderr: number;
  /** Whether it is too noisy to read. */
  readonly noisy: boolean;
  /** The unbiased share, if what is shown is more than two standard errors from it. */
  readonly moved_from: number | null;
  /** The last day in tables of reports, where no round was asked for; null of the results of a round. */
  readonly day?: string | null;
  /** Why results are old; null where tables of reports can be read, and of a collector. */
  readonly outdated?: Outdated | null;
}

/** Why results are old: tables of reports cannot be read, so that they are of the last count. */
export interface Outdated {
  /** When the tables were last counted. */
  readonly counted: string;
  /** Why they could not be read since, in words. */
  readonly why: string;
}

/** A day from which on a plan asks a question anew, or has another answer to it. */
export interface Break {
  readonly day: string;
  /** The attribute; of an answer that was added, also the value, after a colon. */
  readonly name: string;
  readonly why: string;
}

/** A day that is left out of what others are compared with. */
export interface Burst {
  readonly day: string;
  /** How many times the usual reports it has. */
  readonly times: number;
}

/** How much larger a share of a row's people is than in the earlier round, and that of all people. */
export interface CellChange {
  readonly row: string;
  readonly column: string;
  /** The earlier share; null where nobody is seen in the row. */
  readonly earlier: number | null;
  /** The later share; null where nobody is seen in the row. */
  readonly later: number | null;
  /** Later less earlier; null where one of them is not known. */
  readonly difference: number | null;
  /** To first order; null where nothing is known. */
  readonly stderr: number | null;
  readonly low: number;
  readonly high: number;
  /** Whether something is known of both shares. */
  readonly known: boolean;
  readonly cell_difference: number;
  readonly cell_stderr: number;
  readonly cell_low: number;
  readonly cell_high: number;
}

/** The change of every share and mean since an earlier round. */
export interface Changed {
  readonly plan: string;
  readonly round: number;
  readonly since: number;
  readonly level: number;
  /** Whose change it is: of the population that people are drawn from, of the very people who reported, of the population if other people answered each time, or of those who answered both rounds, where reports are linked. */
  readonly people: "linked" | "others" | "population" | "same";
  /** Whose change it is, in words. */
  readonly validity: string;
  /** What is not known where the rounds are of different people; else empty. */
  readonly caveat: string;
  readonly rows: readonly Difference[];
  /** People who answered both rounds, where that is known. */
  readonly both?: number | null;
  /** People who answered the earlier round only. */
  readonly dropped?: number | null;
  /** People who answered the later round only. */
  readonly joined?: number | null;
}

/** How much larger a share or a mean is in the later round. */
export interface Difference {
  readonly attribute: string;
  readonly value: string;
  /** What it is of: a value, a group of neighboring values, or a number. */
  readonly kind: "group" | "mean" | "value";
  readonly earlier: number;
  readonly later: number;
  /** Of unbiased numbers, cut with its ends to what is possible. */
  readonly difference: number;
  readonly low: number;
  readonly high: number;
  readonly stderr: number;
  readonly unbiased_earlier: number;
  readonly unbiased_later: number;
  /** Whether it is too noisy to read. */
  readonly noisy: boolean;
}

/** The tallies of a plan, from which everything is estimated. */
export interface Counted {
  readonly plan: string;
  /** If no round was asked for, the only one that has reports. */
  readonly round: number | null;
  readonly n: number;
  readonly tallies: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The same of each known group, in the plan's order; absent where none is known. */
  readonly groups: readonly (Readonly<Record<string, Readonly<Record<string, unknown>>>>)[];
  /** The last day in tables of reports, where no round was asked for; null of the results of a round. */
  readonly day?: string | null;
  /** Why results are old; null where tables of reports can be read, and of a collector. */
  readonly outdated?: Outdated | null;
}

/** A table of two questions that were asked together. */
export interface Cross {
  readonly plan: string;
  /** The round; null of a day on which reports of several came. */
  readonly round: number | null;
  readonly of: string;
  readonly by: string;
  /** What people were asked, by attribute and by question, where the plan has its text. */
  readonly questions: Readonly<Record<string, string>>;
  readonly n: number;
  readonly level: number;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly cells: readonly CrossCell[];
  /** How the shares that are shown were found. */
  readonly method: "most likely" | "projected" | "unbiased";
  /** What to know about the shares that are shown; empty where nothing is. */
  readonly note: string;
  /** The population that it is of; empty where no weights were given. */
  readonly weighted: string;
  /** How good weighted reports are, and what to beware of. */
  readonly cautions: readonly string[];
  /** How many people of a simple sample those about each row are about as good as. */
  readonly effective: readonly number[];
  readonly test: CrossTest;
  /** The last day in tables of reports, where no round was asked for; null of the results of a round. */
  readonly day?: string | null;
  /** Why results are old; null where tables of reports can be read, and of a collector. */
  readonly outdated?: Outdated | null;
}

/** Two answers: their share of all people, and that of the row's people with the column's answer. */
export interface CrossCell {
  readonly row: string;
  readonly column: string;
  /** The unbiased share of all people, which may be below 0. */
  readonly cell: number;
  readonly cell_stderr: number;
  /** The share of the row's people; null where none is seen there. */
  readonly share: number | null;
  /** A possible share within the interval, as people read it. */
  readonly shown: number;
  readonly low: number;
  readonly high: number;
  /** To first order; null where nobody is seen in the row. */
  readonly stderr: number | null;
  /** Whether the interval leaves anything out. */
  readonly known: boolean;
}

/** Whether the two answers depend on each other, or whether any cell changed. */
export interface CrossTest {
  readonly statistic: number;
  readonly degrees: number;
  /** How often chance alone has such a statistic; null where there is no test, as of few reports. */
  readonly p: number | null;
  /** At 5 %; "cannot tell" where there is no test, or where all differences are often missed. */
  readonly verdict: "cannot tell" | "found" | "not found";
  /** The difference or change of a row's share that four of five such studies find. */
  readonly detectable: number | null;
  /** What is found; where nothing is, what such a study often misses. */
  readonly sentence: string;
}

/** The change of a table since an earlier round. */
export interface CrossChange {
  readonly plan: string;
  readonly round: number | null;
  readonly since: number;
  readonly of: string;
  readonly by: string;
  /** What people were asked, by attribute and by question, where the plan has its text. */
  readonly questions: Readonly<Record<string, string>>;
  /** Reports that hold both answers: in the earlier round, and in the later. */
  readonly n: readonly number[];
  readonly level: number;
  /** Whose change it is: of the population that people are drawn from, of the very people who reported, of the population if other people answered each time, or of those who answered both rounds, where reports are linked. */
  readonly people: "linked" | "others" | "population" | "same";
  /** Whose change it is, in words. */
  readonly validity: string;
  /** The population that it is of; empty where no weights were given. */
  readonly weighted: string;
  readonly cells: readonly CellChange[];
  readonly test: CrossTest;
}

/** A number that moved, and other answers to the question, which went the other way meanwhile. */
export interface DayAlarm {
  readonly day: string;
  readonly attribute: string;
  readonly value: string;
  readonly text: string;
  readonly mirrored: readonly Moved[];
}

/** A number that moved, against the same weekdays before. */
export interface Moved {
  readonly day: string;
  readonly attribute: string;
  readonly value: string;
  readonly text: string;
}

/** One number a day: the share of a value, or a mean; null on days without enough reports. */
export interface DayLine {
  readonly attribute: string;
  readonly value: string;
  readonly kind: "mean" | "value";
  readonly numbers: readonly (number | null)[];
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** The shares and means of all days, unbiased, and the days on which one moved. */
export interface Days {
  readonly plan: string;
  readonly by: string;
  readonly level: number;
  /** The chance of a false alarm on a day, over all lines, at most. */
  readonly rate: number;
  readonly dates: readonly string[];
  readonly reports: readonly number[];
  readonly lines: readonly DayLine[];
  readonly alarms: readonly DayAlarm[];
  readonly bursts: readonly Burst[];
  /** The attributes that are not followed, and why. */
  readonly left_out: Readonly<Record<string, string>>;
  /** Days before which nothing is compared with days after. */
  readonly breaks: readonly Break[];
  /** How many plans that continue each other have reports. */
  readonly plans: number;
  /** Why results are old; null where tables of reports can be read, and of a collector. */
  readonly outdated?: Outdated | null;
}

/** The texts or codes of a question that many people have. */
export interface Discovered {
  readonly plan: string;
  readonly round: number;
  readonly question: string;
  /** Everybody who reported. */
  readonly people: number;
  /** Reports of the group that decides. */
  readonly reports: number;
  readonly candidates: number;
  /** Values of fewer than `least` people, which are not shown. */
  readonly hidden: number;
  readonly least: number;
  readonly alpha: number;
  /** The share that makes a value found about half of the time. */
  readonly limit: number;
  readonly sentences: readonly string[];
  readonly found: readonly FoundValue[];
}

/** A value that many people have; its interval holds given that it is shown. */
export interface FoundValue {
  readonly value: string;
  readonly share: number;
  readonly low: number;
  readonly high: number;
  /** The low end of intervals that hold for all candidates at once. */
  readonly low_at_once: number;
  readonly high_at_once: number;
  /** How many people have it, by its estimate. */
  readonly people: number;
  /** Reports of the final group that support it. */
  readonly count: number;
}

/** Estimates with error bars. */
export interface Estimates {
  readonly plan: string;
  /** The round; null of a day on which reports of several came. */
  readonly round: number | null;
  readonly n: number;
  readonly level: number;
  readonly rows: readonly Row[];
  readonly means: readonly Mean[];
  /** Neighboring values together: bins of a long range, blocks of a large grid. */
  readonly groups: readonly Row[];
  readonly quantiles: readonly Quantile[];
  readonly noise: readonly Noise[];
  /** Whether shares of ranges and grids are smoothed. */
  readonly smooth: boolean;
  /** Why shares of an attribute are not smoothed although that was asked for. */
  readonly refused: Readonly<Record<string, string>>;
  /** The attributes whose shares can be smoothed. */
  readonly smoothable: readonly string[];
  /** The attributes that everybody reports, and not everybody has an answer to. */
  readonly respondents: readonly Respondents[];
  /** Shares of those who answered, where "not applicable" or "no answer" is a value: of groups, where there are. */
  readonly among: readonly Row[];
  /** How badly the reports about each attribute fit honest people; metric ones have no such test. */
  readonly fit: readonly Fit[];
  /** How known groups were weighted; null where they were not. */
  readonly weights?: Weights | null;
  /** What people were asked, by attribute and by question, where the plan has its text. */
  readonly questions: Readonly<Record<string, string>>;
  /** The plans whose people are joined by their numbers, the last one last, and of a day in tables the rounds of each; empty where nothing is joined. */
  readonly plans: readonly JoinedPlan[];
  /** What is left out of the plans before that are collected here, and why. */
  readonly not_joined: readonly NotJoined[];
  /** The last day in tables of reports, where no round was asked for; null of the results of a round. */
  readonly day?: string | null;
  /** Why results are old; null where tables of reports can be read, and of a collector. */
  readonly outdated?: Outdated | null;
}

/** The share of one value of an attribute, or of neighboring values; a number has no rows. */
export interface Row {
  readonly attribute: string;
  readonly value: string | number;
  /** A possible share, inside its interval: what to show. */
  readonly share: number;
  readonly low: number;
  readonly high: number;
  /** How many of those who reported have it; null where they stand for others. */
  readonly count: number | null;
  /** Whether the interval is too wide for the share to be read. */
  readonly noisy: boolean;
  /** How it was found: most likely, smoothed, or projected to possible shares. */
  readonly method: string;
  /** The unbiased estimate, which may be below 0 or above 1. */
  readonly unbiased: number;
  /** The standard error of the unbiased estimate. */
  readonly stderr: number;
  readonly unbiased_low: number;
  readonly unbiased_high: number;
  /** The unbiased share, if what is shown is more than two standard errors from it. */
  readonly moved_from: number | null;
  /** How many reports are about this attribute. */
  readonly n: number;
  /** For a location: the low end of its interval, if those of all cells hold at once. */
  readonly low_together?: number | null;
  /** Whom it is about, where that is not everybody: those who answered, for example. */
  readonly among?: string | null;
  /** How many people of a simple sample weighted reports are about as good as. */
  readonly effective?: number | null;
}

/** The mean of a number, or of a range without open ends, by the middles of its bins. */
export interface Mean {
  readonly attribute: string;
  /** A possible mean: the unbiased one, cut to the range. */
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** How much farther all three may be off: half a bin of a range, 0 for a number. */
  readonly within: number;
  /** Whether the interval is wider than half of the range. */
  readonly noisy: boolean;
  readonly unbiased: number;
  readonly stderr: number;
  readonly unbiased_low: number;
  readonly unbiased_high: number;
  /** How many reports are about this attribute. */
  readonly n: number;
  /** The unbiased mean, if what is shown is more than two standard errors from it. */
  readonly moved_from: number | null;
  /** Whom it is about, where that is not everybody: those who answered, for example. */
  readonly among?: string | null;
  /** How many people of a simple sample weighted reports are about as good as. */
  readonly effective?: number | null;
}

/** The median of a range; null is beyond an open end. */
export interface Quantile {
  readonly attribute: string;
  /** The share of people below it. */
  readonly share: number;
  readonly quantile: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly stderr: number | null;
  /** Whether the interval is longer than half of the range, and a bin. */
  readonly noisy: boolean;
  /** How many reports are about this attribute. */
  readonly n: number;
  /** Whom it is about, where that is not everybody: those who answered, for example. */
  readonly among?: string | null;
  /** How many people of a simple sample weighted reports are about as good as. */
  readonly effective?: number | null;
  /** The point of a scale that it is in. */
  readonly label?: string | null;
  /** The point that the lower end is in. */
  readonly low_label?: string | null;
  readonly high_label?: string | null;
}

/** What is too noisy to read about an attribute, and what would mend it. */
export interface Noise {
  readonly attribute: string;
  /** value, group, block, mean or median. */
  readonly what: string;
  readonly noisy: number;
  readonly of: number;
  readonly n: number;
  /** About how many people it takes to be readable at all. */
  readonly people: number;
  /** Or how many times as large an epsilon at most; null where it is no help. */
  readonly epsilon_times: number | null;
  /** Or how few groups at most; null where that is no help. */
  readonly groups: number | null;
  readonly text: string;
}

/** How many people have an answer to an attribute that everybody reports, where some have none. */
export interface Respondents {
  readonly attribute: string;
  /** How many reports were counted, by everybody. */
  readonly reports: number;
  /** Whom the shares and the mean are about. */
  readonly among: string;
  /** The share of people who are meant. */
  readonly share: number;
  readonly low: number;
  readonly high: number;
  readonly text: string;
}

/** How badly the reports about an attribute fit honest people, from their tally alone. */
export interface Fit {
  readonly attribute: string;
  /** How often honest people give reports that look as strange. */
  readonly p_value: number;
  /** Whether to say so: a p-value of at most 0.01. */
  readonly badly: boolean;
  readonly text: string;
}

/** The population that results are of, where they are not of the people who reported. */
export interface Weights {
  /** The shares of known groups, by question and answer. */
  readonly population: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly text: string;
  readonly attributes: readonly Weighed[];
}

/** How good the weighted reports about an attribute are. */
export interface Weighed {
  readonly attribute: string;
  /** How many reports are about this attribute. */
  readonly n: number;
  /** How many people of a simple sample they are about as good as. */
  readonly effective: number;
  readonly text: string;
  /** Weights that cost much, and groups of few. */
  readonly warnings: readonly string[];
}

/** A plan that estimates are joined from. */
export interface JoinedPlan {
  readonly plan: string;
  /** How many people reported to it. */
  readonly n: number;
  /** The round that they reported in. */
  readonly round: number | null;
}

/** What of a plan before is not joined. */
export interface NotJoined {
  readonly plan: string;
  /** The attribute; null where it is all of the plan. */
  readonly attribute: string | null;
  readonly why: string;
}

/** One way in which reports may differ from honest ones. */
export interface HealthCheck {
  readonly attribute: string;
  readonly name: string;
  /** How often honest reports look at least as strange, in this check. */
  readonly p_value: number;
  /** What was seen, in words. */
  readonly saw: string;
  /** The share of fake reports from which on they are noticed nine times in ten. */
  readonly noticed: number;
  /** The kind of fake reports that this share is about. */
  readonly fakes: string;
  readonly alarm: boolean;
  /** What an alarm of this check means. */
  readonly means: string;
  /** What `noticed` is a share of, in words. */
  readonly noticed_of: string;
}

/** Estimates from growing numbers of reports, chosen at random; without grids and medians of levels. */
export interface History {
  readonly plan: string;
  readonly round: number;
  readonly level: number;
  readonly snapshots: readonly Estimates[];
}

/** How many people answered a round and the one before it, in a linked plan. */
export interface Participation {
  readonly since: number;
  readonly round: number;
  readonly both: number;
  /** People who answered the earlier round only. */
  readonly dropped: number;
  /** People who answered the later round only. */
  readonly joined: number;
}

/** Who answered again, round by round; empty unless the plan is linked. */
export interface Participations {
  readonly plan: string;
  readonly rounds: readonly Participation[];
}

/** The plans that are collected here. */
export interface Plans {
  readonly plans: readonly Summary[];
  readonly url?: string | null;
  readonly by_day: boolean;
}

/** A plan in the list. */
export interface Summary {
  readonly id: string;
  readonly title: string;
  /** The title in the languages of the survey, where it has some. */
  readonly titles: Readonly<Record<string, string>>;
  /** Whether a report needs an invitation. */
  readonly invited: boolean;
  /** The newest round that is open now; null where none is. */
  readonly round: number | null;
  /** All rounds that are open now, in order. */
  readonly open: readonly number[];
  /** How often people are asked; null where they are asked once. */
  readonly rounds: number | null;
  /** The plans of this list that it continues, the last one last. */
  readonly continues: readonly string[];
}

/** Why something was refused. */
export interface Problem {
  readonly reason: string;
  readonly detail: string;
}

/** A report has been counted, now or before; it is on disk. */
export interface Receipt {
  readonly outcome: "counted" | "counted before";
}

/** What became of each report of a batch, in order: counted, counted before, or why it was refused. */
export interface Receipts {
  readonly counted: number;
  readonly outcomes: readonly string[];
}

/** Whether the reports of a round look as honest ones do. */
export interface ReportHealth {
  readonly plan: string;
  readonly round: number;
  /** How many reports there were at this look. */
  readonly n: number;
  /** How often honest people raise any alarm, over all looks at their study. */
  readonly level: number;
  /** How many separate looks share the level. */
  readonly looks: number;
  readonly alarms: number;
  /** In words, such as 'no alarm' or 'too few reports to judge'. */
  readonly verdict: string;
  /** The verdict, from how many checks and reports, and how rare false ones are. */
  readonly summary: string;
  /** The questions with too few reports to be checked. */
  readonly too_few: readonly string[];
  readonly checks: readonly HealthCheck[];
  /** What to do; empty where there is no alarm. */
  readonly advice: string;
  /** What no check notices, and how many people such a report counts for. */
  readonly unseen: string;
}

/** A round of a plan. */
export interface Round {
  readonly number: number;
  readonly opens: string | null;
  readonly closes: string | null;
  readonly open: boolean;
}

/** The rounds of a plan. */
export interface Rounds {
  readonly plan: string;
  readonly rounds: readonly Round[];
}

/** What is looked for among the texts and codes that nobody listed. */
export interface Sought {
  /** A public list that was not made from these reports; it finds rarer values. */
  readonly words?: readonly string[] | null;
  /** The chance that any value is shown which nobody has. */
  readonly alpha: number;
  /** Values that fewer people have, by their plain shares, are not shown. */
  readonly least: number;
}

/** Whether the collector runs. */
export interface Status {
  readonly status: "ok";
}

/** How common a text or code must be to be found among the reports of a question. */
export interface TextLimit {
  readonly attribute: string;
  /** Reports about the question. */
  readonly reports: number;
  /** The share that makes a value found about half of the time. */
  readonly limit: number;
}

/** How common a value must be to be found, for every question whose values nobody listed. */
export interface TextLimits {
  readonly plan: string;
  readonly round: number | null;
  readonly questions: readonly TextLimit[];
}

/** When a round is open: from now on without `opens`, unless it is open; forever without `closes`. */
export interface Times {
  readonly opens?: string | null;
  readonly closes?: string | null;
}
