"""Says what would make a study useful: sets of at most three changes, each planned, the gentlest first.

The studies themselves stand above this room, whose functions take anything that is asked as one is.
"""

from deniable.advise.advice import Advice, Forecast, Proposal, advise_study
from deniable.advise.changes import Change

__all__ = ["Advice", "Change", "Forecast", "Proposal", "advise_study"]
