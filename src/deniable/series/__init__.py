"""Follows the answers to a plan over days, and says when a share or a mean moves."""

from deniable.series.rule import Alarm, Alarms, Rule
from deniable.series.series import Series

__all__ = ["Alarm", "Alarms", "Rule", "Series"]
