"""Attacks a plan before others do: values, the sampled attribute, and people.

Every attack is a function of the law's likelihood, so that there is nothing to train: exact sums where there
are any, the published matchers for reproduction.
"""

from __future__ import annotations

from deniable.attack.chances import profile, profile_of_surveys, success
from deniable.attack.examination import examine
from deniable.attack.inference import AttributeInference, attribute_inference
from deniable.attack.likelihoods import Chance
from deniable.attack.membership import MembershipAttack, membership, membership_bound
from deniable.attack.page import Examination, ReidentificationRate
from deniable.attack.pie import pie_alpha, pie_epsilon
from deniable.attack.reidentification import reidentify
from deniable.attack.repeats import chance_after, success_after
from deniable.attack.results import AttributeSuccess, ProfileSuccess, Reidentification, Success
from deniable.attack.sampling import AttributeAttack, real_attributes, sampled_attribute, sampled_success
from deniable.attack.values import ValueAttack, guess, guess_from_collections

__all__ = [
    "AttributeAttack",
    "AttributeInference",
    "AttributeSuccess",
    "Chance",
    "Examination",
    "MembershipAttack",
    "ProfileSuccess",
    "Reidentification",
    "ReidentificationRate",
    "Success",
    "ValueAttack",
    "attribute_inference",
    "chance_after",
    "examine",
    "guess",
    "guess_from_collections",
    "membership",
    "membership_bound",
    "pie_alpha",
    "pie_epsilon",
    "profile",
    "profile_of_surveys",
    "real_attributes",
    "reidentify",
    "sampled_attribute",
    "sampled_success",
    "success",
    "success_after",
]


def __dir__() -> list[str]:
    return sorted(__all__)
