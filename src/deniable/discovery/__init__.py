"""Finds values that nobody listed, from reports of hashed prefixes, at a stated chance of error.

Levels find candidates: each counts all longer prefixes of those that survive so far. A group of people that
no level has seen decides which candidates are real, so that chance is only counted there.
"""

from deniable.discovery.cuts import WEIGHTS, cut_levels
from deniable.discovery.decide import Decision, decide, decide_listed, find_threshold, state_shown
from deniable.discovery.decode import Possible, count_codes, find_survivors
from deniable.discovery.limits import detection_limit, listed_limit
from deniable.discovery.query import Query
from deniable.discovery.result import Discovery
from deniable.discovery.search import discover

__all__ = [
    "WEIGHTS",
    "Decision",
    "Discovery",
    "Possible",
    "Query",
    "count_codes",
    "cut_levels",
    "decide",
    "decide_listed",
    "detection_limit",
    "discover",
    "find_survivors",
    "find_threshold",
    "listed_limit",
    "state_shown",
]
