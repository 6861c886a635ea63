"""Learns a naive Bayes classifier from reports: each person reports one column, at the whole epsilon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from deniable.arrays import Array, Floats, list_blocks
from deniable.domain import NO_ANSWER
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.estimate.consistency import simplex
from deniable.exact import number
from deniable.learn.margins import Margin, add_tallies, read_margins
from deniable.learn.memory import Count, leave_behind
from deniable.learn.questions import Label, Questions, encode_column, encode_people, read_rows
from deniable.randomness import Words
from deniable.records import Records
from deniable.reports import Reports, Tallies, records_of
from deniable.results.windows import Windows
from deniable.study import Plan

_REMEDY = "make reports once, make_plan(people).privatize(table), and give fit_tally the tallies of each fold"
LARGEST = 10.0
"""A larger temper or damp is a slip."""
_REPEATED = 0.12  # of a column's evidence is what another column says already, in tables of people
_LEAST_TEMPER = 0.5
_AT_ONCE = 1 << 22  # reports times values whose likelihoods are computed at once
_FLOOR = 0.05  # of the prior: no value is so rare in a class that one answer decides alone
_SPREAD = 0.1  # of a prior that is estimated goes to all values alike
_LEAST = 1e-9  # a share that a public prior has as 0


@final
class PrivateNaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A naive Bayes classifier that is learned from reports alone, and predicts the rows of a table.

    `domains` has the values of each column by name, those of the label `target` among them. They are public
    and never read from the data; neither is `prior`, the public shares of some columns' values. Each person
    reports one column that is drawn at random, at the whole `epsilon`. A "protected" label is reported
    together with the column, as one value; a "public" one goes beside the report as it is.

    `fit` simulates the people from a table that somebody holds. Where nobody should hold one, a collector
    asks `make_plan(people)` and `fit_tally` learns from its tallies. All that the model knows are these
    tallies: `plan_` and `tallies_` give it again, and tallies of more people are added to them.

    Columns that say the same thing twice make naive Bayes too sure, and one report of each person cannot tell
    how much. So the evidence of the columns, not the shares of the classes, counts by `temper`: unless given,
    the less the more columns there are, down to a half; 1 is for columns that are independent within a class.
    Rare values are mostly noise: `damp` is the part of a standard error that is added to shares before they
    are compared. Any damp from 1/4 to 2 gains on Adult, ACS and LSAC up to epsilon 4 and costs at most 0.3
    points of accuracy at 8; a damp of 0 and a temper of 1 are the classifier as it is specified.

    >>> import numpy as np
    >>> from deniable.randomness.simulated import seeded
    >>> draw = np.random.default_rng(1)
    >>> smokes = draw.random(20_000) < 0.5
    >>> age = np.where(draw.random(20_000) < 0.8, np.where(smokes, "young", "old"), "young")
    >>> domains = {"age": ["young", "old"], "sex": ["f", "m"], "smokes": [False, True]}
    >>> people = {"age": age, "sex": draw.choice(["f", "m"], 20_000)}
    >>> model = PrivateNaiveBayes(2.0, domains, "smokes", words=seeded(1))
    >>> model.fit(people, smokes).predict({"age": ["old", "young"], "sex": ["f", "f"]}).tolist()
    [False, True]
    >>> model.loss_ <= 2.0, model.unprotected_
    (True, ())
    """

    classes_: Array
    """The classes, sorted, as `domains` has them; of `dn.Categories`, as the labels of `fit` are."""
    plan_: Plan
    """What people are asked, and how they answer."""
    tallies_: Tallies | Windows
    """What their reports add up to: all that the model is made of."""
    loss_: float
    """The exact loss of one report, rounded up, of as many as a person makes (`reports_made_`); of a public
    label it says nothing."""
    unprotected_: tuple[str, ...]
    """What the collector learns as it is: a public label."""
    class_shares_: Floats
    """The share of each class."""
    tables_: dict[str, Floats]
    """For each column, the shares of its values in each class, a row for each class."""
    temper_: float
    """How much the evidence of the columns counts."""
    n_features_in_: int
    """The number of columns."""
    _clone = 0
    """Which of the clones of one model this is."""

    def __init__(
        self,
        epsilon: float,
        domains: Any,
        target: str,
        *,
        label: Label = "protected",
        prior: Any = None,
        protocol: str | Sequence[str] = "adaptive",
        temper: float | None = None,
        damp: float = 0.5,
        words: Words | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.domains = domains
        self.target = target
        self.label = label
        self.prior = prior
        self.protocol = protocol
        self.temper = temper
        self.damp = damp
        self.words = words

    def make_plan(self, people: int) -> Plan:
        """What to ask this many people: a plan that a collector serves."""
        return Questions.of(self.domains, self.target).plan(self.epsilon, self.label, self.protocol, people)

    def fit(self, X: object, y: object) -> Self:  # noqa: N803  # as in scikit-learn
        """Simulate the people of a table, and learn from their reports. Each call makes new reports: people
        who are in two calls lose `loss_` twice, and a warning says so where they can be recognized.
        """
        self._count.repeats.warn_moved(stacklevel=2)
        columns = read_rows(self, X, Questions.of(self.domains, self.target), reset=True)
        plan = self.make_plan(max(1, len(columns[next(iter(columns))])))
        return self._learn(plan, [self._simulate(plan, X, columns, y)], y)

    def partial_fit(self, X: object, y: object, classes: object = None) -> Self:  # noqa: N803
        """Add the reports of more people, who answer the same plan; classes are those of the domain."""
        if classes is not None:
            known = Questions.of(self.domains, self.target).name_classes(classes).sorted_classes
            if not np.array_equal(np.sort(np.asarray(classes)), known):
                raise InvalidParameter(
                    f"the classes are those of {self.target!r}, {known.tolist()}, got {classes!r}"
                )
        if not hasattr(self, "plan_"):
            return self.fit(X, y)
        self._refuse_other_plan()
        columns = read_rows(self, X, Questions.of(self.domains, self.target), reset=False)
        return self._learn(self.plan_, [self.tallies_, self._simulate(self.plan_, X, columns, y)], y)

    def _refuse_other_plan(self) -> None:
        """Refuse to make reports that do not keep what the options promise now."""
        plan = self.make_plan(self.plan_.document.people)
        if plan.id != self.plan_.id:
            raise InvalidParameter(
                "epsilon, label, protocol or domains are not those of plan_, which others answered; make a "
                "new model, or tally reports of plan_ and give fit_tally all tallies"
            )

    def fit_tally(self, plan: Plan, *tallies: Tallies | Windows) -> Self:
        """Learn from tallies of a plan: those of a collector, a warehouse, or both, which are added up.

        A plan with the label as known group, or with the label in each of its tables, needs nothing else. Of
        a plan that asks for the columns alone, tallies are by the column that holds the label:
        `plan.tally(table, by="label")`.
        """
        return self._learn(plan, tallies)

    def _learn(self, plan: Plan, tallies: Sequence[Tallies | Windows], labels: object = None) -> Self:
        questions = Questions.of(self.domains, self.target).name_classes(labels)
        prior = questions.read_prior(self.prior)
        label = questions.find_label(plan)
        damp = 0.0 if self.damp == 0 else number("damp", self.damp, 0.0, LARGEST, "0 or a number up to 10")
        counted = add_tallies(tallies)
        margins = read_margins(plan, counted, label, questions)
        order = questions.order
        self.classes_ = questions.sorted_classes
        self.plan_ = plan
        self.tallies_ = counted
        self.loss_ = plan.loss.record
        self.unprotected_ = () if label == "protected" else (self.target,)
        self.class_shares_ = margins.classes[order]
        self.tables_ = {
            name: shrink_margin(margins.columns[name], margins.classes, prior.get(name), damp)[order]
            for name in questions.names
        }
        self.temper_ = _choose_temper(self.temper, len(self.tables_))
        self.n_features_in_ = len(self.tables_)
        return self

    @property
    def reports_made_(self) -> int:
        """How many reports this model and its clones have made, those of a cross-validation in this process
        among them: a person loses `loss_` with each. `fit_tally` makes none.
        """
        return self._count.reports

    @property
    def _count(self) -> Count:
        if "_made" not in vars(self):
            self._made = Count()
        return self._made

    def predict(self, X: object) -> Array:  # noqa: N803
        """The likeliest class of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._score(X).argmax(axis=1)])

    def predict_proba(self, X: object) -> Floats:  # noqa: N803
        """How likely each class is, a column for each of `classes_`, in their order.

        A missing answer says nothing, and neither does a column that is missing from a table with names.
        """
        check_is_fitted(self)
        return _normalize_scores(self._score(X))

    def predict_reports(self, plan: Plan, reports: Reports | Iterable[Reports]) -> Array:
        """The likeliest class of people of whom only a report is known, made for a plan of these columns."""
        return np.asarray(self.classes_[self.predict_proba_reports(plan, reports).argmax(axis=1)])

    def predict_proba_reports(self, plan: Plan, reports: Reports | Iterable[Reports]) -> Floats:
        """How likely each class is given a report: its likelihood is summed over the values behind it.

        Reports say little about one person, and that is their purpose: expect hardly more than a guess.
        """
        check_is_fitted(self)
        questions = Questions.of(self.domains, self.target)
        if questions.find_label(plan) == "protected":
            raise InvalidReport(f"reports of this plan hold {self.target!r} itself, which is to be predicted")
        if any(plan.mechanism.fake(j) is not None for j in range(plan.mechanism.d)):
            raise InvalidReport("reports with fakes are not predicted: the real column is hidden in them")
        known = self.class_shares_, self.tables_, self.temper_
        blocks = [_score_records(plan, records, *known) for records in records_of(reports, plan.id)]
        return _normalize_scores(np.concatenate(blocks))

    def __sklearn_clone__(self) -> PrivateNaiveBayes:
        """An unfitted copy that draws from the same words, since a copy of them would repeat their noise."""
        clone: PrivateNaiveBayes = super().__sklearn_clone__()
        clone.words = self.words
        clone._made = self._count
        clone._clone = self._count.repeats.number_clone()
        return clone

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "words": leave_behind(self.words)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.words is None
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _simulate(self, plan: Plan, table: object, columns: dict[str, Any], y: object) -> Tallies:
        if y is None:
            raise InvalidValue(
                f"{type(self).__name__} requires y to be passed, but the target y is None: it is the label, "
                f"{self.target!r}"
            )
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        check_consistent_length(labels, *columns.values())
        codes = encode_people(plan, Questions.of(self.domains, self.target), columns, labels)
        self._count.repeats.warn_repeated(table, self._clone, plan.loss.record, _REMEDY, stacklevel=3)
        tallies = plan.tally(plan.privatize_codes(codes, self.words))
        self._count.reports += tallies.n
        self._count.repeats.notice(table, self._clone)
        return tallies

    def _score(self, X: object) -> Floats:  # noqa: N803
        """The logarithm of each class's chance with these answers, up to what all classes share."""
        questions = Questions.of(self.domains, self.target)
        columns = read_rows(self, X, questions, reset=False, may_lack=True)
        score: Floats = np.log(self.class_shares_)[None, :]
        domains = dict(questions.columns)
        for name, column in columns.items():
            codes = encode_column(column, domains[name], name)
            evidence = self.temper_ * np.log(self.tables_[name])
            answered = codes != NO_ANSWER
            score = score + np.where(answered[:, None], evidence.T[codes], 0.0)
        return score


def _choose_temper(temper: float | None, columns: int) -> float:
    """As given, or by how much columns repeat each other in tables of people: as a design effect counts it.

    >>> [round(_choose_temper(None, columns), 2) for columns in (1, 2, 6, 10, 30)]
    [1.0, 0.89, 0.62, 0.5, 0.5]
    """
    if temper is not None:
        return number("temper", temper, 0.0, LARGEST)
    return max(_LEAST_TEMPER, 1 / (1 + _REPEATED * (columns - 1)))


def _score_records(
    plan: Plan, records: Records, classes: Floats, tables: Mapping[str, Floats], temper: float
) -> Floats:
    """The logarithm of each class's chance, up to what a row shares, of people of whom reports are known.

    The likelihood of a report is summed over the values that may be behind it.
    """
    score = np.tile(np.log(classes), (records.n, 1))
    for j, (name, part) in enumerate(zip(plan.names, plan.document.parts, strict=True)):
        column = records.columns[j]
        who = np.arange(records.n) if records.reporters is None else records.reporters[j]
        for block in list_blocks(len(who), _AT_ONCE // part.k):
            likely = part.likelihoods(column[block]) @ tables[name].T
            score[who[block]] += temper * np.log(likely)
    return score


def _normalize_scores(score: Floats) -> Floats:
    """Chances from their logarithms, up to what a row shares."""
    return _scale(np.exp(score - score.max(axis=1, keepdims=True)))


def shrink_margin(margin: Margin, classes: Floats, prior: Floats | None, damp: float = 0.0) -> Floats:
    """The shares of values in each class, shrunk toward those of everybody as far as noise explains the
    difference: a row for each class, all positive and each with the sum 1.

    This is James and Stein's idea: of a difference with length |d| whose noise has the sum of variances s,
    the part 1 - s/|d|^2 is kept, and nothing where that is negative. A column that says nothing about the
    label, or nothing that can be seen through the noise, then has the same shares in all classes, and moves
    no prediction. A column is kept for its frequent values, whose noise is small beside their shares. The
    noise of rare values is as large, and would decide predictions by itself. So a part of the standard error
    is added to both shares before they are compared.

    With two classes this is prior + (1 - pi) w d and prior - pi w d, where d is the difference of the two and
    pi the share of the first; with more, each class is compared with all of them together. `damp` is the part
    of the standard error that is added to shares before they are compared with everybody's.

    >>> found = Margin(np.array([[0.9, 0.1], [0.5, 0.5]]), np.full((2, 2), 0.01), np.ones(2))
    >>> for damp in (0.0, 0.5):
    ...     print(shrink_margin(found, np.array([0.5, 0.5]), np.array([0.7, 0.3]), damp).round(3).tolist())
    [[0.875, 0.125], [0.525, 0.475]]
    [[0.858, 0.142], [0.539, 0.461]]
    """
    weights = classes * margin.reported
    if not weights.any():
        return np.tile(_find_base(prior, margin.shares[0]), (classes.size, 1))
    weights = weights / weights.sum()
    pooled = weights @ margin.shares
    base = np.maximum(_find_base(prior, pooled), _LEAST)
    moved = (margin.shares - pooled) * margin.reported[:, None]
    # the variance of each class's difference from everybody, and the part of the difference that is not noise
    noise = (weights**2) @ margin.variances + (1 - 2 * weights[:, None]) * margin.variances
    length = (moved**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.where(length > 0, np.maximum(0.0, 1 - noise.sum(axis=1) / length), 0.0)
    shrunk = _scale(np.maximum(base + kept[:, None] * moved, _FLOOR * base))
    added = damp * np.sqrt(noise.mean(axis=1, keepdims=True))
    return _scale(base * (shrunk + added) / (base + added))


def _find_base(prior: Floats | None, pooled: Floats) -> Floats:
    """The public shares, or else those that all reports say, with a little of every value."""
    if prior is not None:
        return prior
    return np.asarray((1 - _SPREAD) * simplex(pooled) + _SPREAD / pooled.size)


def _scale(shares: Floats) -> Floats:
    """Rows that add up to 1."""
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
