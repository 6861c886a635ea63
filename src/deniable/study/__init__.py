"""Takes a study from a file to a chosen plan; holds the doors `Study`, `Plan` and `Result`."""

from deniable.study.plan import Plan
from deniable.study.result import Result, WindowResults

__all__ = ["Plan", "Result", "WindowResults"]
