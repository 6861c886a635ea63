"""Refuses studies whose choices do not fit together, and plans that lose more than their study allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from deniable.domain import checked_text
from deniable.domain.categories import Several
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.plan.attribute import list_changed
from deniable.plan.document import MOST_ROUNDS, Ask
from deniable.plan.maps import check_maps
from deniable.plan.metric_losses import rest_loss
from deniable.plan.texts import Texts
from deniable.study.choices import checked_protocol
from deniable.study.importance import check_weighed
from deniable.study.questionnaire import is_filled

if TYPE_CHECKING:
    from deniable.study.plan import Plan
    from deniable.study.study import Study

_MOST_EPSILON = 44.0  # of one answer: a little more, and no threshold out of 2^64 differs from certainty

MECHANISMS = {"split": "SPL", "sample": "SMP", "faked": "RS+FD"}
"""What record mechanisms are called in studies, and where they are chosen."""
_ROUNDS = 10


def refuse_known(study: Study) -> None:
    """Refuse known questions where they are treated as secret ones."""
    together = {name for some in study.together for name in some}
    protocols = study.protocol if isinstance(study.protocol, Mapping) else {}
    conditions = {**study.only_if, **{next(iter(one)): one for one in study.only_if.values()}}
    for name in study.known:
        if name in together:
            raise InvalidParameter(
                f"{name!r} is known, so that every table by it is there anyway; leave it out of together"
            )
        if name in conditions:
            raise InvalidParameter(f"{name!r} is known: no question depends on it, and it on none")
        if name in study.answered or name in study.importance or name in protocols:
            raise InvalidParameter(
                f"{name!r} is known and sent as it is; leave out its protocol, importance and answered"
            )


def check_choices(study: Study) -> None:
    """Refuse choices that are none, or that do not go together; write protocols as they are read."""
    if study.per not in ("record", "attribute"):
        raise InvalidParameter(f"per is 'record' or 'attribute', got {study.per!r}")
    if study.per == "attribute":
        _refuse_joined(study)
    if study.title != "":
        checked_text(study.title, "a title")
    if study.mechanism is not None and str(study.mechanism) not in MECHANISMS:
        raise InvalidParameter(not_among(str(study.mechanism), "a record mechanism", MECHANISMS))
    if isinstance(study.protocol, Mapping):
        for name in study.protocol:
            if name not in study.attributes and name not in study.inquiry.attributes:
                raise InvalidParameter(not_among(str(name), "an attribute with a protocol", study.attributes))
        each = {
            name: checked_protocol(one, f"the protocol of {name!r}") for name, one in study.protocol.items()
        }
        object.__setattr__(study, "protocol", MappingProxyType(each))
    elif study.protocol is not None:
        object.__setattr__(study, "protocol", checked_protocol(study.protocol, "protocol"))
    _check_distances(study)
    _check_budget(study)


def _refuse_joined(study: Study) -> None:
    """Refuse a budget per attribute where one answer is several: it would lose more than that."""
    for name, changed in list_changed(list(study.inquiry.attributes.values())).items():
        if len(changed) > 1 and name not in study.inquiry.leveled:  # of whose levels a report holds one
            raise InvalidParameter(
                "per = 'attribute' bounds what a report says about one attribute, but one answer to "
                f"{name!r} can change {len(changed)} ({', '.join(changed)}), and would lose more; use "
                "per = 'record'"
            )


def check_survey(study: Study) -> None:
    """Refuse texts, maps and pages that do not fit the questions."""
    if study.ask not in get_args(Ask):
        raise InvalidParameter(f"ask is 'all' or 'sampled', got {study.ask!r}")
    check_maps(study.maps, study.attributes)
    if study.survey is None:
        return
    if not isinstance(study.survey, Texts):
        raise InvalidParameter(f"survey is Texts(introduction=..., ...), got {study.survey!r}")
    if not study.title and isinstance(study.survey.title, Mapping) and study.survey.title:
        object.__setattr__(study, "title", study.survey.title[study.survey.language])
    questions = study.attributes.items()
    several = {name: len(one.options) for name, one in questions if isinstance(one, Several)}
    domains = {name: one for name, one in questions if not isinstance(one, Several)}
    study.survey.check(domains, study.title, several)
    _check_pages(study)


def _check_pages(study: Study) -> None:
    """Refuse a question that stands before the one that decides whether it applies."""
    pages = study.survey.pages if study.survey is not None else ()
    order = [name for page in pages for name in page]
    for name, given in study.only_if.items() if order else ():
        parent = next(iter(given))
        if order.index(parent) > order.index(name):
            raise InvalidParameter(f"{name!r} depends on {parent!r}, which must be asked before it")


def _check_distances(study: Study) -> None:
    """Refuse what metric attributes and numbers cannot be combined with, and missing epsilons."""
    for name, asked in study.inquiry.attributes.items():
        domain, is_number = asked.domain, isinstance(asked.domain, Number)
        if not is_filled(domain):
            continue
        what = f"{name!r} is a number, whose mean is wanted" if is_number else f"{name!r} is metric"
        if study.mechanism == "faked":
            raise InvalidParameter(
                f"{what}, so its reports have no fake data; use mechanism 'split' or 'sample'"
            )
        if isinstance(study.protocol, Mapping) and name in study.protocol and not is_number:
            raise InvalidParameter(
                f"{what}, so its mechanism follows from its distances; name no protocol for it"
            )
    check_weighed(study.importance, study.inquiry.attributes, list(study.attributes), study.inquiry.together)
    len(study.inquiry.metric_mechanisms)  # made now, so that what is wrong with a distance is said now


def _check_budget(study: Study) -> None:
    """Refuse epsilons that are missing, too many or out of order; a study that asks again has rounds."""
    if not study.repeated:
        if not study.inquiry.sharing and study.epsilon is not None:
            raise InvalidParameter(
                "all attributes are metric and have epsilons of their own; leave the study's epsilon out"
            )
        if study.inquiry.sharing and study.epsilon is None:
            raise InvalidParameter(
                "a study needs an epsilon, or epsilon_first and epsilon_forever to ask again"
            )
        if study.epsilon is not None:
            _refuse_boundless(positive_epsilon(study.epsilon), "epsilon", len(study.inquiry.attributes))
        if study.rounds is not None:
            raise InvalidParameter(
                "rounds are for asking again: give epsilon_first and epsilon_forever, or no rounds"
            )
        return
    if study.inquiry.sharing:
        _check_two_epsilons(study)
    elif (study.epsilon, study.epsilon_first, study.epsilon_forever) != (None, None, None):
        raise InvalidParameter(
            "all attributes are metric and have epsilons of their own; leave the study's epsilons out"
        )
    rounds = _ROUNDS if study.rounds is None else study.rounds
    object.__setattr__(
        study, "rounds", whole_number("rounds, the number of collections,", rounds, 1, MOST_ROUNDS)
    )
    if study.mechanism not in (None, "sample", "faked") or study.per != "record":
        raise InvalidParameter(
            "a study that asks again has one real attribute per person, with its budget per record: "
            "mechanism 'sample' or 'faked'"
        )


def _refuse_boundless(epsilon: float, name: str, attributes: int) -> None:
    """Refuse an epsilon that no mechanism has, however it is divided: reports would be the answers."""
    if epsilon > _MOST_EPSILON * attributes:
        raise InvalidParameter(
            f"{name} = {epsilon:g} hides nothing: whoever sees a report knows the answers. Choose one that "
            "protects, such as 0.5 to 4: at 1 a guess between two answers is right for 73.1 % of people, "
            "at 4 for 98.2 %"
        )


def _check_two_epsilons(study: Study) -> None:
    """Refuse two epsilons of which one is missing, or the first is not the smaller one."""
    if study.epsilon is not None:
        raise InvalidParameter("give epsilon, or epsilon_first and epsilon_forever to ask again, not both")
    if study.epsilon_first is None or study.epsilon_forever is None:
        raise InvalidParameter(
            "epsilon_first, for one report, and epsilon_forever, for all of them, go together"
        )
    first = positive_epsilon(study.epsilon_first, "epsilon_first")
    forever = positive_epsilon(study.epsilon_forever, "epsilon_forever")
    _refuse_boundless(forever, "epsilon_forever", len(study.inquiry.attributes))
    # equal ones are for dbitflip, all of which is kept
    if first > forever or (first == forever and study.protocol is None):
        raise InvalidParameter(
            "epsilon_first, for one report, must be below epsilon_forever, for all of them, got "
            f"{first:g} and {forever:g}"
        )


def refuse_overspent(study: Study, plan: Plan) -> None:
    """What the choice promises is checked against what the thresholds lose."""
    loss = plan.verify()
    spent = rest_loss(plan.mechanism, study.per)
    budget = study.epsilon if study.epsilon is not None else study.epsilon_first
    kept = [part for part in plan.document.parts if part.repeated and not part.metric]
    forever = max((part.losses(1, 1).one_value_forever for part in kept), default=0.0)
    if spent > (budget or 0.0) or forever > (study.epsilon_forever or math.inf):
        raise InvalidParameter(f"this plan would lose {max(spent, forever):.9g}, more than the study allows")
    for one in loss.units:
        domain: Any = study.inquiry.attributes[one.name].domain
        allowed = Fraction(domain.epsilon or 0) * (
            1000 if isinstance(domain, Grid) else Fraction(str(domain.step))
        )
        if Fraction(one.loss) > allowed:
            raise InvalidParameter(
                f"{one.name!r} would lose {one.loss:.9g} per {one.unit}, more than the study allows"
            )
