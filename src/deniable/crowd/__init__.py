"""Bounds what a crowd hides: the guarantee of a whole collection once names and order are stripped."""

from deniable.crowd.bounds import Bound, Shuffled, references, shuffled

__all__ = ["Bound", "Shuffled", "references", "shuffled"]
