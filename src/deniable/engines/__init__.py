"""Counts reports where they are: in files, in databases and on clusters."""

from deniable.engines.form import Counted, TableForm

__all__ = ["Counted", "TableForm"]
