"""Finds values that nobody listed, from reports of hashed prefixes, at a stated chance of error.

Levels find prefixes: each counts all longer ones of those that survive so far. A group of people that no
level has seen extends the last of them, and decides which codes are real, so that chance is only counted
there.
"""

from deniable.discovery.codes import EVERY, EXTENDED, HELD_OUT, WHOLE, Codes, Passage, cut_levels
from deniable.discovery.decide import (
    Decision,
    decide,
    decide_extensions,
    decide_listed,
    discover,
    find_threshold,
    state_shown,
)
from deniable.discovery.decode import count_codes, find_survivors
from deniable.discovery.limits import detection_limit, divide_people, listed_limit
from deniable.discovery.result import Discovery, Query

__all__ = [
    "EVERY",
    "EXTENDED",
    "HELD_OUT",
    "WHOLE",
    "Codes",
    "Decision",
    "Discovery",
    "Passage",
    "Query",
    "count_codes",
    "cut_levels",
    "decide",
    "decide_extensions",
    "decide_listed",
    "detection_limit",
    "discover",
    "divide_people",
    "find_survivors",
    "find_threshold",
    "listed_limit",
    "state_shown",
]
