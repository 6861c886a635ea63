"""Draws the figures of the studies."""
