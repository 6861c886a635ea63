"""The door to a plan: everything that is done with its document, each by a call of one room.

A plan is the compiled study, in integers only. A client in any language needs no mathematics. It states what
a report gives away; whoever holds it can recompute that from its thresholds and refuse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final, overload

from deniable.arrays import Integers
from deniable.domain.answer import to_list
from deniable.domain.parsed import as_domain
from deniable.engines import TableForm, is_source, is_spark_frame, parquet
from deniable.errors import InvalidParameter
from deniable.explain import references
from deniable.explain.summary import describe_plan, summarize_plan
from deniable.formatting import Printed
from deniable.frames import Backend, files
from deniable.frames import answers as table
from deniable.mechanisms import Mechanism
from deniable.plan.attribute import Attribute, LabeledMechanism, Missing
from deniable.plan.document import Ask, PlanDocument
from deniable.plan.losses import Loss, Protection, Stated
from deniable.plan.maps import Map
from deniable.plan.strict_json import InvalidPlan
from deniable.plan.texts import Texts
from deniable.randomness import Words
from deniable.records import RecordMechanism
from deniable.records.single import as_record_mechanism
from deniable.reports.privatize import encode_answers, make_reports, privatize_answers
from deniable.reports.reports import Reports, Tallies, blocks_of, records_of_round, tally_reports
from deniable.store import STORES
from deniable.study.result import Result, WindowResults
from deniable.tickets import PublicKey
from deniable.wire.messages import BLOCK, block_messages
from deniable.wire.received import WINDOW, Keep, Received
from deniable.wire.sent import gather_sent, peek_sent

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from deniable.choose import Considered, Precision
    from deniable.cross import CrossTable, LikelyTable
    from deniable.crowd import Shuffled
    from deniable.discovery import Discovery
    from deniable.explain.change_precision import PeopleForChange
    from deniable.explain.codebook import Codebook
    from deniable.likelihood import Likelihood
    from deniable.results.change import Change
    from deniable.results.change_series import ChangeSeries
    from deniable.results.joined import Joining
    from deniable.results.most_likely import RecordLikelihood
    from deniable.results.windows import Windows
    from deniable.rounds.differences import People

__all__ = ["Backend", "InvalidPlan", "Loss", "Plan", "Reports", "Result", "Tallies"]


@final
@dataclass(frozen=True)
class Plan(Printed):
    """What is asked, how a record becomes a report, and what that gives away.

    Plans are made by `Study.plan`, read from a file, or put together from mechanisms of your own by
    `Plan.of`.
    """

    document: PlanDocument
    considered: tuple[Considered, ...] = field(default=(), repr=False, compare=False)
    """What the study chose from, best first; a plan that is read from a file does not know."""

    @staticmethod
    def of(
        attributes: Mapping[str, object],
        mechanism: RecordMechanism | Mechanism,
        people: int,
        title: str = "",
        missing: Missing = "refuse",
        rounds: int | None = None,
        considered: Sequence[Considered] = (),
        texts: Texts | None = None,
    ) -> Plan:
        """A plan for these attributes by this record mechanism (or, for one attribute, this mechanism), which
        states its true losses.

        >>> from deniable.records import smp
        >>> asked = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}
        >>> plan = Plan.of(asked, smp([3, 2], 1.0, "grr"), people=1000)
        >>> plan.loss.record <= 1.0, Plan.from_json(plan.to_json()) == plan
        (True, True)
        """
        attributes_of_plan = tuple(
            values if isinstance(values, Attribute) else Attribute(name, as_domain(values, name).plain)
            for name, values in attributes.items()
        )
        document = PlanDocument(
            attributes_of_plan, as_record_mechanism(mechanism), people, title, missing, rounds, None, texts
        )
        return Plan(document, tuple(considered))

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """Read and verify a document; whatever is wrong with it is refused with the reason."""
        return Plan(PlanDocument.from_json(text))

    @staticmethod
    def read(path: str | Path) -> Plan:
        """Read and verify a file."""
        return Plan(PlanDocument.read(path))

    def to_json(self) -> str:
        """The canonical document: sorted keys, no spaces, integers only."""
        return self.document.to_json()

    def write(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the canonical document to a file; an existing file is refused unless `overwrite`."""
        return self.document.write(path, overwrite)

    @property
    def id(self) -> str:
        """The SHA-256 of the canonical bytes without the id, in hexadecimal."""
        return self.document.id

    @property
    def mechanism(self) -> RecordMechanism:
        """How a record becomes a report."""
        return self.document.mechanism

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names."""
        return self.document.names

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The values' names, by attribute."""
        return self.document.labels

    @property
    def locations(self) -> tuple[str, ...]:
        """The attributes that are locations."""
        return self.document.locations

    @property
    def words(self) -> int:
        """How many 64-bit words a record takes; one more per attribute if answers may be random."""
        return self.document.words

    @property
    def loss(self) -> Loss:
        """The exact losses, recomputed from the integers and rounded up."""
        return self.document.loss

    @property
    def stated(self) -> Stated:
        """The losses that the document states: never below the true ones."""
        return self.document.stated

    @property
    def protection(self) -> Protection:
        """How well a person's answers are protected, over all rounds."""
        return self.document.protection

    @property
    def ticket_key(self) -> PublicKey | None:
        """The key that signs tickets, where invitations are exchanged for them."""
        return self.document.signing_key

    @property
    def table_form(self) -> TableForm:
        """Its reports as a table, which any engine can count (spec/collector.md)."""
        return self.document.table_form

    def verify(self) -> Loss:
        """Recompute the losses from the integers alone; refuse a plan that leaks more than it states."""
        return self.document.verify()

    def attribute(self, name: str) -> LabeledMechanism:
        """The mechanism of one attribute, which takes answers by their labels.

        >>> from deniable.mechanisms import rr
        >>> plan = Plan.of({"smokes": ["yes", "no"]}, rr(1.0), people=1000)
        >>> smokes = plan.attribute("smokes")
        >>> smokes.estimate(smokes.tally(smokes.privatize(["yes", "no", "no"]))).labels
        ('yes', 'no')
        """
        return self.document.attribute(name)

    def with_ticket_key(self, key: PublicKey) -> Plan:
        """The plan for invitations that are exchanged for tickets, which this key signs.

        Its id differs: whoever has the plan has the key, so that nobody can be given another one.
        """
        return replace(self, document=replace(self.document, ticket_key=key.to_text()))

    def with_texts(self, texts: Texts | None) -> Plan:
        """The plan for a survey with these texts. Its id differs: it covers what people read."""
        return replace(self, document=replace(self.document, texts=texts))

    def with_maps(self, maps: Mapping[str, Map]) -> Plan:
        """The plan for a survey that draws these maps under the cells of grids, by attribute."""
        return replace(self, document=replace(self.document, maps=tuple(sorted(maps.items()))))

    def with_ask(self, ask: Ask) -> Plan:
        """The plan where a device asks all questions, or only those that it has drawn ("sampled")."""
        return replace(self, document=replace(self.document, ask=ask))

    def with_linked(self, linked: bool = True) -> Plan:
        """The plan whose reports carry a pseudonym: the same in every round of this plan, and of no other.

        It loses nothing beyond the stated losses of rounds, and shows which rounds a person answered.
        """
        return replace(self, document=replace(self.document, linked=linked))

    def with_turns(self, turns: int | None) -> Plan:
        """The plan in which a device answers in so many of the rounds, which it draws once and keeps.

        Losses are of so many reports.

        >>> from deniable.rounds import l_grr
        >>> plan = Plan.of({"smokes": ["yes", "no"]}, l_grr(2, 1.0, 2.0), people=1000, rounds=52)
        >>> plan.loss.counted > 40, plan.with_turns(4).loss.counted < 5
        (True, True)
        """
        return replace(self, document=replace(self.document, turns=turns))

    def with_known(self, known: Mapping[str, object]) -> Plan:
        """The plan with groups that the collector knows anyway, which each report names as they are.

        They are questions by name, as in `Plan.of`; without any, no group is known. All losses are of the
        other answers. What the survey says about groups that are known no more is left out.

        >>> from deniable.mechanisms import grr
        >>> plan = Plan.of({"smokes": ["yes", "no"]}, grr(2, 1.0), people=1000)
        >>> plan = plan.with_known({"arm": ["A", "B"]})
        >>> reports = plan.privatize({"arm": ["A", "B"], "smokes": ["yes", "no"]})
        >>> [group["smokes"].n for group in plan.tally(reports).groups]
        [1, 1]
        """
        return replace(self, document=self.document.with_known(known))

    def explain(self) -> str:
        """In plain words: protocols, expected errors, an attacker's best guess, sizes, and losses."""
        from deniable.explain import explain  # and so the planner, which a device does not need

        return explain.explain_plan(self.document, self.considered)

    def precisions(self) -> list[Precision]:
        """How well everything will be known that is read of the answers, question by question.

        >>> from deniable.mechanisms import grr
        >>> [one] = Plan.of({"smokes": ["yes", "no"]}, grr(2, 1.0), people=1000).precisions()
        >>> one.attribute, one.describe(), one.format_margin()
        ('smokes', 'shares of 2 values', '6.7 points')
        """
        from deniable.choose import list_precisions
        from deniable.explain.explain import reconsider

        return list(list_precisions(reconsider(self.document, self.considered)))

    def people_for_change(self, of: str, change: float) -> list[PeopleForChange]:
        """How many people it takes to find a change of a question from one round to another, in four studies
        of five: of its shares, and of its mean, in parts of its range.

        >>> from deniable.rounds import l_grr
        >>> plan = Plan.of({"smokes": ["yes", "no"]}, l_grr(2, 1.8, 2.0), people=1000, rounds=4)
        >>> [shares] = plan.people_for_change("smokes", 0.05)
        >>> shares.population, shares.others, shares.same
        (4630, 3060, 1490)
        """
        from deniable.explain.change_precision import count_people_for_change

        return count_people_for_change(self.document, of, change)

    def shuffled(self, delta: float = 1e-6, people: int | None = None) -> Shuffled:
        """What a whole collection guarantees once a shuffler strips names and order, by the best bound known.

        >>> from deniable.mechanisms import grr
        >>> plan = Plan.of({"color": ["red", "green", "blue"]}, grr(3, 1.0), people=10_000)
        >>> print(plan.shuffled())
        Shuffled: epsilon 0.03... with delta 1e-06 (privacy blanket of Balle and others 2019, ...)
        """
        from deniable.explain.guarantees import shuffle_plan

        return shuffle_plan(self.document, delta, people)

    def codebook(self) -> Codebook:
        """What is in files of this plan: questions with their texts, values with their codes and labels."""
        from deniable.explain.codebook import Codebook

        return Codebook(self.document)

    def cite(self) -> str:
        """BibTeX of what the plan uses."""
        from deniable.plan.levels import list_references

        return references.bibliography(self.document.mechanism, list_references(self.document.attributes))

    def encode(self, answers: object, asked: Collection[str] | None = None) -> Integers:
        """Answers as integers, a row per attribute, and the known group last, where there is one. No answer
        is a value, or -1 where it is to be random.

        A question with several options takes lists of them, or texts such as `tv;web`, in one column. If only
        some attributes are asked, all others are 0: for reports that do not hold them.
        """
        return encode_answers(self.document, answers, asked)

    @overload
    def privatize(  # type: ignore[overload-overlap]  # a dataframe is an object, too
        self, answers: DataFrame, *, into: str | None = None, beside: Sequence[str] = ()
    ) -> DataFrame: ...

    @overload
    def privatize(self, answers: object, words: Words | None = None, people: object = None) -> Reports: ...

    def privatize(
        self,
        answers: object,
        words: Words | None = None,
        people: object = None,
        *,
        into: str | None = None,
        beside: Sequence[str] = (),
    ) -> Reports | DataFrame:
        """One report per row of a dataframe (pandas, polars, pyarrow), a dictionary of columns, or a list of
        dictionaries.

        A plan that asks again needs words that remember: a device's, or those of simulated people,
        `dn.remembering(seed)`. There `people`, a name or number for each row, says whose first answers are
        kept; without it row i is person i.

        Of a dataframe of Spark, tasks make the reports, with the random words of their operating systems. It
        gives another dataframe, a table of reports, which is kept in the folder `into`, or by the executors.
        Columns that are to stand `beside` the reports, such as the day, are copied as they are.
        """
        if is_spark_frame(answers):
            from deniable.reports.spark import privatize_frame

            reports: DataFrame = privatize_frame(self.document, answers, words, people, into, beside)
            return reports
        if into is not None or beside:
            raise InvalidParameter(
                "into and beside are for dataframes of Spark; plan.write_reports writes other reports, and "
                "takes columns beside them"
            )
        return privatize_answers(self.document, answers, words, people)

    def privatize_codes(
        self, codes: Integers, words: Words | None = None, people: Sequence[str] | None = None
    ) -> Reports:
        """Makes reports of answers that `encode` has made integers."""
        return make_reports(self.document, codes, words, people)

    @overload
    def tally(
        self,
        reports: object,
        table: str | None = None,
        *,
        number: int | None = None,
        show: table.Show | None = None,
    ) -> Tallies: ...

    @overload
    def tally(
        self,
        reports: object,
        table: str | None = None,
        *,
        by: str | Sequence[str],
        number: int | None = None,
        show: table.Show | None = None,
    ) -> Windows: ...

    def tally(
        self,
        reports: object,
        table: str | None = None,
        *,
        by: str | Sequence[str] | None = None,
        number: int | None = None,
        show: table.Show | None = None,
    ) -> Tallies | Windows:
        """Count each attribute's reports, wherever they are.

        Reports are what `privatize` gave, or blocks of them. They may also be a table (spec/collector.md):
        Parquet files by a name or a pattern, a `table` of a PostgreSQL database by its address, a relation
        of DuckDB, or a dataframe of Spark, Polars, pandas or pyarrow. Engines count their tables
        themselves. `by` names columns of a table, whose values are windows that are counted by themselves;
        `number` is the one round that counts. A collector's store has counted its reports:
        sqlite:///reports.db, or postgresql:// without a `table`. Reports that clients send are counted one
        by one, or several in a list.

        >>> import deniable as dn
        >>> plan = dn.Study({"smokes": ["yes", "no"]}, epsilon=1.0).plan(people=100)
        >>> answers = [{"smokes": "yes"}, {"smokes": "no"}]
        >>> plan.tally([dn.Client(plan, fresh=True).report(answer) for answer in answers]).n
        2
        """
        if isinstance(reports, str) and table is None and reports.startswith(STORES):
            from deniable.store.reading import tally_store  # and sockets, which a device does not need

            return tally_store(self.document, reports, number, by)
        if is_source(reports):
            from deniable.results.windows import tally_source

            return tally_source(self.document, reports, table, by, number, show)
        if table is not None or by is not None or number is not None:
            raise InvalidParameter("table, by and number are for tables of reports, and these are reports")
        if isinstance(reports, Received):
            continued = {plan.id for plan in self.document.continues}
            tallies = tally_reports(
                self.document, (block for block in reports if block.plan_id not in continued)
            )
            others = reports.n - tallies.n
            return replace(tallies, refused={"plan": others}) if others else tallies
        sent, all_reports = peek_sent(reports)
        return tally_reports(self.document, all_reports if sent is None else gather_sent(self.document, sent))

    def read_wire(
        self, messages: object, keep: Keep | None = None, window: int = WINDOW, at_once: int = BLOCK
    ) -> Received:
        """The reports in messages of your own gateway or queue, in blocks of at most `at_once`.

        Those to plans that this one continues are read, too: each block is of one plan, its `plan_id`.
        A message has one report: its bytes, their hexadecimal digits, or its JSON. Messages are an iterable,
        or a file (its name, or open for reading bytes) with each message in a line, or after its length in 4
        bytes, as in a batch. One that a collector would refuse is counted by its reason, and given to `keep`
        with it. A report that comes again is left out if its id is among the last `window` ones.

        >>> import deniable as dn
        >>> plan = dn.Study({"smokes": ["yes", "no"]}, epsilon=1.0).plan(people=100)
        >>> message = dn.Client(plan, fresh=True).report({"smokes": "no"}).to_bytes()
        >>> received = plan.read_wire([message, message.hex(), b"lost"])
        >>> plan.tally(received).n, received.refused
        (1, {'malformed': 1, 'repeated': 1})
        """
        return Received(self.document.plans_in_table, block_messages(messages, at_once), keep, window)

    def decode(self, frame: DataFrame, column: str = "value", beside: Sequence[str] = ()) -> DataFrame:
        """A dataframe of Spark, also a stream, with a row in the table form for each message of a column.

        Its column `plan` tells reports to this plan from those to the plans that it continues. A message is
        bytes or text, as in `read_wire`. Columns `beside` it, such as the day, stay as they are. A message
        that is refused is a row without numbers, whose column `refused` says why: `plan.tally` counts it as
        refused. Workers need the package `deniable`.
        """
        from deniable.wire.columns import decode_frame

        rows: DataFrame = decode_frame(self.document, frame, column, beside)
        return rows

    def add_decoder(self, connection: DuckDBPyConnection, name: str = "decode_report") -> None:
        """Add a function to a connection of DuckDB, which makes of the bytes of a report its row in the table
        form, or one whose `refused` says why it is none.

        >>> import deniable as dn, duckdb
        >>> plan = dn.Study({"smokes": ["yes", "no"]}, epsilon=1.0).plan(people=100)
        >>> message = dn.Client(plan, fresh=True).report({"smokes": "no"}).to_bytes()
        >>> with duckdb.connect() as lake:
        ...     plan.add_decoder(lake)
        ...     rows = lake.sql("SELECT unnest(decode_report($sent))", params={"sent": message})
        ...     plan.tally(rows).n
        1
        """
        from deniable.wire.columns import add_function

        add_function(self.document, connection, name)

    def tally_stream(
        self,
        frame: DataFrame,
        into: str | Path,
        checkpoint: str | Path,
        *,
        within: tuple[str, str] | None,
        by: str | Sequence[str] | None = None,
        number: int | None = None,
        **trigger: Any,
    ) -> StreamingQuery:
        """Start to count a stream of Spark, which `decode` made, into a file of tallies; Spark's query.

        Each batch is counted once, also where the program is killed and is started again with the same
        `checkpoint`. The file is one of `deniable tally --keep`: `deniable estimate --from` reads it. It has
        the tallies of the plans that this one continues, too. To go on with the stream of one of these plans,
        stop it, and name its file and its checkpoint.

        A report that comes again is left out if it comes `within` some time, by a column beside it:
        ("timestamp", "2 hours"). Spark keeps ids so long, and drops what comes later than that. With None,
        ids are compared in each batch alone. Other options say when batches begin, as Spark's `trigger` does.
        """
        from deniable.results.streams import StreamCount, tally_stream

        keys = () if by is None else ((by,) if isinstance(by, str) else tuple(by))
        count = StreamCount(self.document, Path(into), keys, number)
        return tally_stream(count, frame, str(checkpoint), within, trigger)

    @overload
    def estimate(self, tallies: Tallies, smooth: bool = False) -> Result: ...

    @overload
    def estimate(self, tallies: Windows, smooth: bool = False) -> WindowResults: ...

    def estimate(self, tallies: Tallies | Windows, smooth: bool = False) -> Result | WindowResults:
        """Estimates every attribute's shares, with error bars and labels; names those without reports. Of
        windows, those of each that has reports.

        With `smooth`, the shares of ranges and grids are shown smoothed. Their intervals stay those of the
        unbiased shares.
        """
        if not isinstance(tallies, Tallies):
            from deniable.results.windows import estimate_windows

            windows = estimate_windows(self.document, tallies, smooth)
            return WindowResults(tallies.by, {key: Result(numbers) for key, numbers in windows.items()})
        from deniable.results.unbiased import estimate_tallies  # which a device does not need

        return Result(estimate_tallies(self.document, tallies, smooth))

    def join(self, results: Sequence[Result], people: Joining = "same") -> Result:
        """The result of all people who reported to this plan and to those that it continues, by results of
        two of them or more: those of each plan count by its number of people.

        Errors are those of people who may be the same in several plans, as over days; or of `others`, where
        each device reported to one of the plans, as on one day. Of a question that began anew, or lost
        answers, there are only the shares since then. Rounds of a plan are joined where each device answers
        in one of them (turns=1): people are then others in each.

        >>> import deniable as dn
        >>> budgets = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 4}
        >>> old = dn.Study({"crash": ["no", "app"]}, **budgets).plan(people=1000)
        >>> study = dn.Study({"crash": ["no", "app", "driver"]}, **budgets)
        >>> new = study.plan(people=1000, continues=old)
        >>> first = old.privatize({"crash": ["no", "app"] * 800}, dn.remembering(1))
        >>> second = new.privatize({"crash": ["no", "driver"] * 400}, dn.remembering(2))
        >>> results = [old.estimate(old.tally(first)), new.estimate(new.tally(second))]
        >>> joined = new.join(results)
        >>> joined["crash"].labels, joined.n
        (('no', 'app', 'driver'), 2400)
        """
        from deniable.results.joined import join_plans

        if self.id not in {result.plan_id for result in results}:
            raise InvalidParameter(
                "the results of this plan are missing; join those of the last plan with it"
            )
        return Result(join_plans([result.numbers for result in results], people))

    def follow(
        self,
        rounds: Mapping[int, Result] | Mapping[int, Reports],
        level: float = 0.95,
        people: People | None = None,
    ) -> ChangeSeries:
        """The change from the first of some rounds, by their numbers, to each later one.

        `people` says whose change, as in `Result.change`; every interval is valid by itself. Of reports in
        place of results, it is that of those who answered both rounds, as `compare_rounds` has it.
        """
        if people == "linked" or not all(isinstance(result, Result) for result in rounds.values()):
            from deniable.results.linked import follow_pairs

            return follow_pairs(self.document, rounds, level)
        from deniable.results.change_series import follow

        results = {n: result.numbers for n, result in rounds.items() if isinstance(result, Result)}
        return follow(results, level, people)

    def discover(
        self,
        reports: object,
        table: str | None = None,
        *,
        name: str | None = None,
        words: object = None,
        alpha: float = 0.05,
        least: int = 50,
        show: table.Show | None = None,
    ) -> Discovery:
        """The texts or codes that many people have, with shares and intervals, wherever reports are.

        A value that nobody has is among them with probability `alpha` at most. Values of fewer than `least`
        people, by their plain shares, are not shown: they are somebody's words. Given that a value is shown,
        its share is smaller, and may be of fewer people. `words` is a public list that was not made from
        these reports; of it, rarer values are found. `name` says which question is meant, where there are
        several.

        >>> import deniable as dn
        >>> study = dn.Study({"word": dn.Text("a-z", longest=3)}, epsilon=4.0)
        >>> plan = study.plan(people=3000)
        >>> reports = plan.privatize({"word": ["cat"] * 2000 + ["dog"] * 1000}, dn.seeded(1))
        >>> plan.discover(reports).names
        ('cat', 'dog')
        """
        from deniable.discovery import Query
        from deniable.results.discoveries import discover_values

        listed = None if words is None else to_list(words, "words")
        return discover_values(self.document, reports, Query(name, listed, alpha, least), table, show)

    @overload
    def mle(self, data: Tallies | Reports | Iterable[Reports], name: str, **options: Any) -> Likelihood: ...

    @overload
    def mle(
        self, data: Reports | Iterable[Reports], name: None = None, **options: Any
    ) -> RecordLikelihood: ...

    def mle(
        self, data: Tallies | Reports | Iterable[Reports], name: str | None = None, **options: Any
    ) -> Likelihood | RecordLikelihood:
        """The most likely shares of one attribute's values, or of all attributes', with a certificate.

        From tallies, each attribute is found alone: `dn.mle` for a tally of this plan. From reports with
        fakes all attributes are found together, by the likelihood of whole reports:
        `dn.likelihood.mle_record`. For a metric attribute what is most likely is often the better
        histogram, since its unbiased shares scatter widely.
        """
        from deniable.results.most_likely import maximize_likelihood, maximize_record_likelihood

        if name is None:
            return maximize_record_likelihood(self.document, data, **options)
        return maximize_likelihood(self.document, data, name, **options)

    def cross(
        self, reports: Reports | Iterable[Reports], of: str, by: str, level: float = 0.95
    ) -> CrossTable:
        """The table of two questions: what share of each row's people, `by`, gave each answer to `of`.

        Where a report holds both as one value, this is `plan.estimate(plan.tally(reports)).cross(of, by)`.
        Reports that hold both apart (mechanism "split") are read in pairs; these tell far less.
        """
        from deniable.explain.question_pairs import list_tables
        from deniable.results.crossing import cross_reports

        if any({of, by} == set(pair) for pair in list_tables(self.document)):
            return self.estimate(self.tally(reports)).cross(of, by, level)
        records = records_of_round(reports, self.document)
        return cross_reports(self.document, records, of, by, level)

    def mle_cross(
        self, data: Tallies | Reports | Iterable[Reports], of: str, by: str, **options: Any
    ) -> LikelyTable:
        """The most likely table of two questions, from all reports that hold one of them, or both.

        It is for display, with a certificate: where cells are rare, the unbiased ones may be negative. Sums,
        error bars and tests are of the unbiased table, `cross`. Where reports are sets of values, it takes
        the reports themselves.
        """
        from deniable.results.likely_tables import find_likely_table

        return find_likely_table(self.document, data, of, by, **options)

    def compare_rounds(
        self, earlier: Reports | Iterable[Reports], later: Reports | Iterable[Reports], level: float = 0.95
    ) -> Change:
        """The change of those who answered both rounds, person by person: by their pseudonyms in a linked
        plan, else row i of both is person i. Its `cross` has the change of a table.

        >>> import deniable as dn
        >>> study = dn.Study({"smokes": ["yes", "no"]}, epsilon_first=1.0, epsilon_forever=2.0, linked=True)
        >>> plan, answers = study.plan(people=1000), {"smokes": ["yes", "no"] * 500}
        >>> first = plan.privatize(answers, dn.remembering(1, round=1), people=range(1000))
        >>> second = plan.privatize(answers, dn.remembering(1, round=2), people=range(200, 1200))
        >>> change = plan.compare_rounds(first, second)
        >>> change.participation
        Participation(both=800, dropped=200, joined=200)
        """
        from deniable.results.linked import compare_pairs, pair_reports

        return compare_pairs(pair_reports(self.document, earlier, later), level)

    def write_reports(
        self,
        path: str | Path,
        reports: Reports | Iterable[Reports],
        overwrite: bool = False,
        beside: object = None,
    ) -> int:
        """Write reports, or blocks of them, to a Parquet file that names this plan; how many there were.

        Columns that stand `beside` them, such as the day, are a table with a row for each report. They are
        written as they are, and no loss counts them: `plan.tally(path, by="day")` counts by them. Reports of
        a plan with rounds must know their round, which is written in a column. So is the plan of each report
        that `read_wire` gave, if this plan continues others. All that it gives can go into one file, and each
        block into a file of its own.
        """
        from deniable.reports.extra_columns import align_blocks

        is_block = isinstance(reports, Reports) and reports.ids is not None
        if is_block and Path(path).exists() and not overwrite:
            raise InvalidParameter(
                f"{path} exists already; give each block a file of its own, or write all of them into one: "
                "plan.write_reports(path, plan.read_wire(messages))"
            )
        files.refuse_existing(Path(path), overwrite)
        is_received = is_block or isinstance(reports, Received)
        plans = self.document.plans_in_table if is_received else (self.document,)
        blocks = align_blocks(blocks_of(reports, *(plan.id for plan in plans)), beside)
        return parquet.write_reports(Path(path), [plan.table_form for plan in plans], blocks)

    def read_reports(self, path: str | Path, show: table.Show | None = None) -> Iterator[Reports]:
        """Blocks of reports from a Parquet file, which must have been made for this plan.

        A file that is not is refused at once, and a report that is damaged when its block is read.
        """
        blocks = parquet.read_reports(Path(path), self.table_form, show)
        return (Reports(self.id, block.records, block.round, block.ids) for block in blocks)

    def describe(self) -> str:
        """What it is, in a line; then how a record is reported, and a line for each attribute."""
        return describe_plan(self.document)

    def plot(self) -> Figure:
        """A figure of matplotlib: how well everything will be known that is read of the answers."""
        from deniable.explain.choice_reasons import plot_precisions

        return plot_precisions(self.precisions(), self.document.title)

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return summarize_plan(self.document)
