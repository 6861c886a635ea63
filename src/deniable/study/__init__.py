"""Takes a study from a file or a dictionary to a chosen plan; holds the doors `Study` and `Plan`."""

from deniable.study.plan import Plan

__all__ = ["Plan"]
