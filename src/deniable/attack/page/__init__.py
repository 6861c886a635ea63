"""Writes the page that says what an attacker learns from the reports of a plan."""

from __future__ import annotations

from deniable.attack.page.examined import Examination
from deniable.attack.page.rates import RealAttribute, ReidentificationRate

__all__ = ["Examination", "RealAttribute", "ReidentificationRate"]
