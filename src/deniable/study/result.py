"""The doors to what the reports of a plan say: all that is read of estimates, each by a call of one room."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

from deniable.domain import Domain
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate, MeanEstimate
from deniable.exact import whole_number
from deniable.formatting import Printed
from deniable.frames import Backend, frame_of_rows
from deniable.reports.reports import Tallies
from deniable.results.estimates import Estimates, Unreported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.cross import CrossTable
    from deniable.cross.source import Agreed
    from deniable.plan.document import PlanDocument
    from deniable.ranges import CumulativeShares, RangeEstimate
    from deniable.results.change import Change
    from deniable.results.findings import Findings
    from deniable.results.regression import Regression
    from deniable.results.weights import Sizes
    from deniable.rounds.differences import People
    from deniable.show.window_findings import WindowFindings
    from deniable.summaries import Summary


@final
@dataclass(frozen=True, repr=False)
class Result(Printed, Mapping[str, Any]):
    """Estimates by attribute, with the values' names: an `Estimate` of shares, or a `MeanEstimate`."""

    numbers: Estimates
    """The estimates as plain data, which every room below reads."""

    @property
    def plan_id(self) -> str:
        """The id of the plan that the reports were made for."""
        return self.numbers.plan_id

    @property
    def n(self) -> int:
        """How many records were reported."""
        return self.numbers.n

    @property
    def title(self) -> str:
        """The title of the plan."""
        return self.numbers.title

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """The attributes of which the shares of all values are estimated."""
        return self.numbers.shares

    @property
    def means(self) -> Mapping[str, MeanEstimate]:
        """The attributes of which the mean is estimated, in their own unit."""
        return self.numbers.means

    @property
    def ranges(self) -> Mapping[str, RangeEstimate]:
        """The questions that are reported in levels, each by least squares from all of them."""
        return self.numbers.ranges

    @property
    def levels(self) -> dict[str, Estimate]:
        """The estimates of all levels of questions that have some, by attribute: each by its own reports."""
        return self.numbers.levels

    @property
    def unreported(self) -> Mapping[str, Unreported]:
        """The attributes that nobody has reported yet, or of which it is not known who answered."""
        return self.numbers.unreported

    @property
    def domains(self) -> Mapping[str, Domain]:
        """What the attributes' values are."""
        return self.numbers.domains

    @property
    def document(self) -> PlanDocument | None:
        """What the reports were made for."""
        return self.numbers.document

    @property
    def tallies(self) -> Tallies | None:
        """What the estimates were made from."""
        return self.numbers.tallies

    def __getitem__(self, name: str) -> Any:
        return self.numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def weighted(self, sizes: Sizes) -> Result:
        """The result of a population in which known groups have other sizes than among the reports.

        `sizes` has the groups' shares or numbers of people, by known question and answer; several answers may
        be joined by " + ". With several questions, each has its sizes (raking). All that is read of the new
        result is weighted, but for questions that nobody of a group has reported: these have no estimate.

        >>> import deniable as dn
        >>> study = dn.Study({"region": ["north", "south"], "smokes": ["yes", "no"]}, 1.0, known=["region"])
        >>> plan = study.plan(people=2000)
        >>> people = {"region": ["north"] * 1600 + ["south"] * 400, "smokes": ["yes", "no"] * 1000}
        >>> result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))
        >>> weighted = result.weighted({"region": {"north": 0.4, "south": 0.6}})
        >>> f"{weighted['smokes'].stderr[0] / result['smokes'].stderr[0]:.1f} times as large"
        '1.4 times as large'
        """
        from deniable.results.unbiased import weigh_estimates

        return Result(weigh_estimates(self.numbers, sizes))

    def mean(self, name: str, level: float = 0.95, ends: tuple[float, float] | None = None) -> Summary:
        """The mean of a number, or of a range by the middles of its bins, with its standard error and
        interval. It is of those who answered.

        Where an end of the range is open, `ends` are the numbers that people in its first and last bin are
        taken to have.
        """
        from deniable.results.respondents import find_mean

        return find_mean(self.numbers, name, level, ends)

    def quantile(self, name: str, share: float = 0.5, level: float = 0.95) -> Summary:
        """The number below which this share of the people is who answered, with its interval:
        `dn.summaries.quantile_of` by the bins of a range.

        In a bin people are taken to be spread evenly. A bin without an end is infinitely far out. On a scale
        of whole numbers it is between the first and the last of them.
        """
        from deniable.results.respondents import find_quantile

        return find_quantile(self.numbers, name, share, level)

    def range(self, name: str, low: object = None, high: object = None, level: float = 0.95) -> Summary:
        """The share of the people who answered from `low` to under `high`, with its interval.

        Both are edges of the bins of a range, in its own unit; None is an end of it.

        >>> import deniable as dn
        >>> plan = dn.Study({"age": dn.Range(0, 100, step=10)}, epsilon=4.0).plan(people=100)
        >>> reports = plan.privatize({"age": [25] * 40 + [55] * 60}, dn.seeded(1))
        >>> young = plan.estimate(plan.tally(reports)).range("age", 20, 40)
        >>> young.low < 0.4 < young.high
        True
        """
        from deniable.results.range_queries import estimate_range

        return estimate_range(self.numbers, name, low, high, level)

    def cdf(self, name: str, level: float = 0.95) -> CumulativeShares:
        """The share of people below each edge of a range, as a curve that never falls, with intervals."""
        from deniable.results.range_queries import cumulate

        return cumulate(self.numbers, name, level)

    def among(self, name: str, level: float = 0.95) -> dict[str, Summary]:
        """The share of each value among those to whom the question applies, and who answered it.

        Its interval is Fieller's, which holds where it is uncertain how many these are: then it may be wide.
        """
        from deniable.results.respondents import shares_among

        return shares_among(self.numbers, name, level)

    def has_mean(self, name: str) -> bool:
        """Whether an attribute has a `mean`, as a number and a closed range have."""
        from deniable.results.respondents import has_mean

        return has_mean(self.numbers, name)

    def has_quantiles(self, name: str) -> bool:
        """Whether an attribute has a median that people read, as a range has, but not one of months."""
        from deniable.results.respondents import has_quantiles

        return has_quantiles(self.numbers, name)

    def find(self, level: float = 0.95) -> Findings:
        """What is read of every attribute: possible shares, groups, means, medians, and noise."""
        from deniable.results.findings import Findings

        return Findings.read(self.numbers, level)

    def frame(self, level: float = 0.95, backend: Backend | None = None, bins: bool = False) -> Any:
        """What is read of every attribute, as a dataframe of the library you already have: pandas, polars or
        pyarrow.

        `kind` is what a row is about: a value, a group of neighboring ones, a mean or a quantile; or a share
        `among` those who answered, where "not applicable" or "no answer" is one of the values. For long
        ranges and large grids there are groups; `bins` adds every value, as in the files of `deniable
        estimate`. `share` is a possible share, `low` and `high` are the ends of its interval at `level`, and
        `count` is how many of the `n` people who reported the attribute have the value; a weighted result has
        none, and says in `effective` how many people of a simple sample its reports are about as good as.
        `unbiased` is the unbiased estimate, with `stderr` and its own interval. All rows are of one plan,
        `plan_id`, which is no column.
        """
        rows = self.find(level).rows.table(bins)
        return frame_of_rows(
            [{name: cell for name, cell in row.items() if name != "plan"} for row in rows], backend
        )

    def change(self, earlier: Result, level: float = 0.95, people: People | None = None) -> Change:
        """The change since an earlier round: of every share and mean, with its interval.

        It is that of the population that people are drawn from, whether or not they answered twice. With
        "same", it is the change of the very people who reported, which is better known: from those of the
        earlier round to those of the later one, however many they are. Two rounds on values allow that
        (`l_grr`, `loloha`, ...), and plans that ask once and whose every report has a real answer to every
        question. With "others", other people answered each time, as in a plan that asks once.
        """
        from deniable.results.change import compare_estimates

        return compare_estimates(earlier.numbers, self.numbers, level, people)

    def cross(self, of: str, by: str, level: float = 0.95) -> CrossTable:
        """The table of two questions that were asked `together`: what share of each row's people, `by`, gave
        each answer to the other, `of`.

        Long ranges are rows of groups. Tables that share a question are made to agree on it.
        """
        from deniable.results.crossing import cross_estimates

        return cross_estimates(self.numbers, of, by, level, lambda: self.agreed)

    def regress(
        self,
        of: str,
        by: Sequence[str],
        answer: str | None = None,
        kind: Literal["logistic", "linear"] = "logistic",
        level: float = 0.95,
    ) -> Regression:
        """The regression of a question on others: "logistic", of the log-odds of an answer, from a table of
        all of them, or "linear", of its share or of a mean, from tables of each pair.

        It is refused where the tables are too noisy for it.
        """
        from deniable.results.regression import regress

        return regress(self.numbers, of, by, answer, kind, level)

    @cached_property
    def agreed(self) -> Sequence[Agreed]:
        """What the reports of each table, and those about one question, say after these were made to agree:
        what all tables of `cross` are read from. Where they are of the same people, each stays as it is.
        """
        from deniable.results.crossing import list_agreed

        return list_agreed(self.numbers)

    def plot(self, level: float = 0.95, unbiased: bool = False) -> Figure:
        """A figure of matplotlib: every attribute's shares with their intervals; `savefig` keeps it.

        `result[name].plot()` draws one attribute, with `unbiased` shares.
        """
        from deniable.show.plot import plot_findings

        name: object = level  # a common mistake
        if isinstance(name, str):
            if name not in self:
                raise InvalidParameter(not_among(name, "an attribute", self))
            raise InvalidParameter(
                f"plot takes a confidence level and draws all attributes; result[{name!r}].plot() draws one"
            )
        return plot_findings(self.find(level), unbiased=unbiased)

    def text(self, level: float = 0.95, most: int | None = None, unbiased: bool = False) -> str:
        """A plain table per attribute, as in the shell: groups of neighboring values where there are many.

        At most `most` rows of each attribute are shown. With `unbiased`, it shows unbiased shares, which may
        be impossible ones.
        """
        from deniable.show.text import write_text

        rows = None if most is None else whole_number("most, the rows of each attribute,", most, 1)
        return write_text(self.find(level), most=rows, shell=False, unbiased=unbiased)

    def __str__(self) -> str:
        return self.text(most=20)

    def __repr__(self) -> str:
        return repr(self.numbers)


@final
@dataclass(frozen=True)
class WindowResults(Mapping[Hashable, Result], Printed):
    """The result of each window that has reports."""

    by: tuple[str, ...]
    results: Mapping[Hashable, Result]

    def __getitem__(self, window: Hashable) -> Result:
        return self.results[window]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def weighted(self, sizes: Sizes) -> WindowResults:
        """The results of a population in which known groups have these sizes in every window."""
        return WindowResults(self.by, {window: part.weighted(sizes) for window, part in self.items()})

    def frame(self, level: float = 0.95, *, backend: str | None = None, **options: Any) -> Any:
        """One table of all windows: their columns first, then those of `result.frame`."""
        rows = []
        for window, result in self.items():
            values = window if len(self.by) > 1 and isinstance(window, tuple) else (window,)
            columns = dict(zip(self.by, values, strict=True))
            table = result.frame(level, backend="pyarrow", **options)
            rows += [columns | row for row in table.to_pylist()]
        return frame_of_rows(rows, backend)

    def find(self, level: float = 0.95) -> WindowFindings:
        """The estimates of all windows as people read them."""
        from deniable.results.findings import Findings
        from deniable.show.window_findings import WindowFindings

        windows = {window: result.numbers for window, result in self.items()}
        return WindowFindings.of(self.by, windows, lambda estimates: Findings.read(estimates, level))

    def text(self, level: float = 0.95) -> str:
        """A table for each attribute, with a row for each window."""
        return self.find(level).text()

    def __str__(self) -> str:
        return self.text() if self else f"no reports in any window of {' and '.join(self.by)}"

    def plot(self, level: float = 0.95) -> Figure:
        """Lines over windows, with a band for each interval."""
        return self.find(level).plot()
