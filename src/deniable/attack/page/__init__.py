"""Writes the page that says what an attacker learns from the reports of a plan."""

from __future__ import annotations

from deniable.attack.page.examined import Examination, RealAttribute, ReidentificationRate

__all__ = ["Examination", "RealAttribute", "ReidentificationRate"]
