"""Plans a study: what is asked, how it is reported, what a report gives away, and what comes out."""

from deniable.plan.attribute import Attribute, list_questions
from deniable.plan.change import MEAN, Change
from deniable.plan.losses import NANO, Loss, Stated
from deniable.plan.notation import InvalidPlan, canonical
from deniable.plan.plan import Plan, Tallies
from deniable.plan.questions import encode_alone, settle_record
from deniable.plan.reports import Reports, records_of
from deniable.plan.result import Result
from deniable.plan.units import metric_mechanism, rest_loss, unit_loss

__all__ = [
    "MEAN",
    "NANO",
    "Attribute",
    "Change",
    "InvalidPlan",
    "Loss",
    "Plan",
    "Reports",
    "Result",
    "Stated",
    "Tallies",
    "canonical",
    "encode_alone",
    "list_questions",
    "metric_mechanism",
    "records_of",
    "rest_loss",
    "settle_record",
    "unit_loss",
]
