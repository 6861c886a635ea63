"""Attack it before others do: values, the sampled attribute, and people, by the best that a law allows.

Every attack is a function of the law's likelihood, so that there is nothing to train: exact sums where there
are any, the published classifiers and matchers beside them for reproduction.
"""

from __future__ import annotations

from deniable.attack.chances import success
from deniable.attack.examination import examine
from deniable.attack.guessing import Guesses, averaged, guess
from deniable.attack.likelihoods import Chance
from deniable.attack.matching import reidentify
from deniable.attack.page import Examined, Found
from deniable.attack.pie import pie_alpha, pie_epsilon
from deniable.attack.profiles import chance_after, profile, profile_of_surveys, success_after
from deniable.attack.results import AttributeSuccess, ProfileSuccess, Reidentified, Success
from deniable.attack.sampled import Sampled, drawn_attributes, sampled_attribute, sampled_success
from deniable.attack.trained import KNOWLEDGE, Trained, trained_attribute

__all__ = [
    "KNOWLEDGE",
    "AttributeSuccess",
    "Chance",
    "Examined",
    "Found",
    "Guesses",
    "ProfileSuccess",
    "Reidentified",
    "Sampled",
    "Success",
    "Trained",
    "averaged",
    "chance_after",
    "drawn_attributes",
    "examine",
    "guess",
    "pie_alpha",
    "pie_epsilon",
    "profile",
    "profile_of_surveys",
    "reidentify",
    "sampled_attribute",
    "sampled_success",
    "success",
    "success_after",
    "trained_attribute",
]
