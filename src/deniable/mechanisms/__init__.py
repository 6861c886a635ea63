"""Turns one answer into a report: the contract, the shapes, and the protocols that choose their numbers."""
