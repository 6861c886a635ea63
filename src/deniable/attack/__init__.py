"""Attacks a plan before others do: values, the sampled attribute, and people.

Every attack is a function of the law's likelihood, so that there is nothing to train: exact sums where there
are any, the published matchers for reproduction.
"""

from __future__ import annotations

from deniable.attack.chances import profile, success, success_after
from deniable.attack.examination import examine
from deniable.attack.page import Examination
from deniable.attack.reidentification import reidentify
from deniable.attack.results import (
    AttributeSuccess,
    Chance,
    ProfileSuccess,
    Reidentification,
    ReidentificationRate,
    Success,
)
from deniable.attack.sampling import AttributeAttack, real_attributes, sampled_attribute, sampled_success
from deniable.attack.sampling_again import sampled_success_after
from deniable.attack.values import ValueAttack, guess

__all__ = [
    "AttributeAttack",
    "AttributeSuccess",
    "Chance",
    "Examination",
    "ProfileSuccess",
    "Reidentification",
    "ReidentificationRate",
    "Success",
    "ValueAttack",
    "examine",
    "guess",
    "profile",
    "real_attributes",
    "reidentify",
    "sampled_attribute",
    "sampled_success",
    "sampled_success_after",
    "success",
    "success_after",
]


def __dir__() -> list[str]:
    return sorted(__all__)
