"""Chooses protocols and a record mechanism: by exact error, an attacker's best guess and bytes of a report.

Every figure is a function of the laws, so a choice can be explained before anybody has answered; and
backwards, how many people or what epsilon an error takes. The rules of the papers (ADP, RS+FD[ADP],
L-GRR or L-OSUE) are choices among two at f = 0.
"""

from deniable.choose.candidate import Considered, DeviceLimit, Size
from deniable.choose.mixed import Budget, consider_mixed, explain_division
from deniable.choose.objective import Objective, Reading, list_readings
from deniable.choose.precision import HALF_WIDTH, Precision, Use, list_precisions
from deniable.choose.ranking import consider, consider_repeated
from deniable.choose.risks import exposure, find_moved, warn_distant, warn_influence, warn_uninvited
from deniable.choose.sizing import advise_epsilon, epsilon_needed, people_needed, plainer, warning
from deniable.choose.task import RECORD_NAMES, Limited, Question
from deniable.choose.views import Alone, Views, Wanted, choose_views

__all__ = [
    "HALF_WIDTH",
    "RECORD_NAMES",
    "Alone",
    "Budget",
    "Considered",
    "DeviceLimit",
    "Limited",
    "Objective",
    "Precision",
    "Question",
    "Reading",
    "Size",
    "Use",
    "Views",
    "Wanted",
    "advise_epsilon",
    "choose_views",
    "consider",
    "consider_mixed",
    "consider_repeated",
    "epsilon_needed",
    "explain_division",
    "exposure",
    "find_moved",
    "list_precisions",
    "list_readings",
    "people_needed",
    "plainer",
    "warn_distant",
    "warn_influence",
    "warn_uninvited",
    "warning",
]


def __dir__() -> list[str]:
    return sorted(__all__)
