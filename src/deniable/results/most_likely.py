"""Finds the most likely shares of every attribute from the reports, from whole ones where they hold fakes.

Fakes hide which attribute of a report is real, so the likelihood of its attributes is one, and they are found
together. Reports without fakes say which attributes they hold, and each of these is found alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from deniable.domain import Range
from deniable.engines.form import refuse_other_plan
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import Printed, format_count
from deniable.frames import frame_of
from deniable.records import Faked, Records
from deniable.reports.reports import Tallies, records_of_round
from deniable.results.estimates import bins_of

if TYPE_CHECKING:
    from deniable.likelihood import Likelihood
    from deniable.plan.document import PlanDocument


@final
@dataclass(frozen=True, eq=False)
class RecordLikelihood(Mapping[str, "Likelihood"], Printed):
    """The most likely shares of every attribute, by its name, from the reports themselves."""

    n: int
    likelihoods: Mapping[str, Likelihood] = field(repr=False)
    refused: Mapping[str, str]
    """Why an attribute has none, by its name."""

    def __getitem__(self, name: str) -> Likelihood:
        if name in self.refused:
            raise InvalidParameter(f"{name!r}: {self.refused[name]}")
        return self.likelihoods[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.likelihoods)

    def __len__(self) -> int:
        return len(self.likelihoods)

    def frame(self, level: float = 0.95, backend: str | None = None) -> Any:
        """A dataframe of the library you already have: the shares of all attributes, with intervals."""
        names = ("attribute", "value", "share", "stderr", "low", "high")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for name, likelihood in self.likelihoods.items():
            ends, labels = likelihood.interval(level), likelihood.labels or range(likelihood.k)
            numbers = likelihood.frequencies, likelihood.standard_errors(), ends.low, ends.high
            cells = [name] * likelihood.k, list(labels), *(column.tolist() for column in numbers)
            for column, values in zip(names, cells, strict=True):
                columns[column] += values
        return frame_of(columns, backend)

    def __str__(self) -> str:
        title = f"Most likely shares behind {format_count(self.n, 'report')}"
        parts = [f"{name}: {likelihood}" for name, likelihood in self.likelihoods.items()]
        return "\n\n".join([title, *parts, *(f"{name}: {why}" for name, why in self.refused.items())])


def maximize_likelihood(document: PlanDocument, data: object, name: str, **options: Any) -> Likelihood:
    """The most likely shares of one attribute, from tallies or reports."""
    if name not in document.names:
        raise InvalidParameter(not_among(name, "an attribute", document.names))
    obstacle = _find_obstacle(document, document.names.index(name))
    if obstacle is not None:
        raise InvalidParameter(f"{name!r}: {obstacle}")
    if not isinstance(data, Tallies):
        return maximize_record_likelihood(document, data, **options)[name]
    from deniable.likelihood import mle

    refuse_other_plan(data.plan_id, document.id)
    source = document.mechanism.source(document.names.index(name))
    return _label(document, name, mle(source, data[name], **options))


def maximize_record_likelihood(document: PlanDocument, reports: object, **options: Any) -> RecordLikelihood:
    """The most likely shares of every attribute, from reports; from whole ones where these hold fakes."""
    from deniable.likelihood import mle, mle_record

    if isinstance(reports, Tallies):
        raise InvalidParameter(
            "tallies have a likelihood attribute by attribute: plan.mle(tallies, name); for all of them at "
            "once give the reports, plan.mle(reports)"
        )
    blocks = list(records_of_round(reports, document))
    if not sum(block.n for block in blocks):
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    records = Records.stack(blocks)
    likelihoods: dict[str, Likelihood] = {}
    refused: dict[str, str] = {}
    for member, first, _ in document.mechanism.members:
        places = range(first, first + member.d)
        if isinstance(member, Faked):
            together = mle_record(member, records.select(places.start, places.stop), **options)
            likelihoods |= {
                document.names[j]: _label(document, document.names[j], likelihood)
                for j, likelihood in zip(places, together, strict=True)
            }
            continue
        for j in places:
            attribute, column = document.attributes[j], records.columns[j]
            obstacle = _find_obstacle(document, j)
            if obstacle is not None:
                refused[attribute.columns[0]] = obstacle
                continue
            ordered = isinstance(attribute.domain, Range) or None
            try:
                likelihood = mle(member.mechanisms[j - first], column, ordered=ordered, **options)
            except InvalidParameter as problem:
                refused[attribute.name] = str(problem)
                continue
            likelihoods[attribute.name] = _label(document, attribute.name, likelihood)
    return RecordLikelihood(records.n, likelihoods, refused)


def _find_obstacle(document: PlanDocument, place: int) -> str | None:
    """Why an attribute by itself has no most likely shares, and what there is instead; or None."""
    attribute = document.attributes[place]
    question = attribute.columns[0]
    if not attribute.domain.listed:
        call = f"plan.discover(reports, name={question!r})"
        return f"nobody listed its values; {call} finds those that many people have"
    if question not in document.levels:
        return None
    return (
        "it is reported in levels, each by some people alone; all of them are combined by least squares: "
        f"result.range({question!r}, low, high), result.cdf({question!r})"
    )


def has_fakes(document: PlanDocument) -> bool:
    """Whether whole reports say more than those of each attribute."""
    return any(isinstance(member, Faked) for member, _, _ in document.mechanism.members)


def _label(document: PlanDocument, name: str, likelihood: Likelihood) -> Likelihood:
    domain = document.attributes[document.names.index(name)].domain
    return replace(likelihood, labels=document.labels[name], bins=bins_of(domain, likelihood.k))
