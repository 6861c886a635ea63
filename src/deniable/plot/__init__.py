"""Draws estimates and results."""
