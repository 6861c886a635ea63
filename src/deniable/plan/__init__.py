"""Holds the document of a plan, in integers: what is asked, how a record becomes a report, and what that
gives away.
"""

from deniable.plan.attribute import Attribute, list_questions
from deniable.plan.document import PlanDocument
from deniable.plan.losses import NANO, Loss, Stated
from deniable.plan.metric_losses import metric_mechanism, rest_loss, unit_loss
from deniable.plan.strict_json import InvalidPlan, canonical

__all__ = [
    "NANO",
    "Attribute",
    "InvalidPlan",
    "Loss",
    "PlanDocument",
    "Stated",
    "canonical",
    "list_questions",
    "metric_mechanism",
    "rest_loss",
    "unit_loss",
]
