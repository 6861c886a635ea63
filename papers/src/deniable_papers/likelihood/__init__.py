"""Most likely shares of linked rounds and of groups of people, and the searches of publications."""

from deniable_papers.likelihood.groups import mle_groups
from deniable_papers.likelihood.linked import build_linked_problem, mle_rounds, mle_rounds_of_plan
from deniable_papers.likelihood.searches import mle_ems, mle_iteration

__all__ = [
    "build_linked_problem",
    "mle_ems",
    "mle_groups",
    "mle_iteration",
    "mle_rounds",
    "mle_rounds_of_plan",
]
