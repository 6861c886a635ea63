"""Estimates shares from counts, with error bars, and makes distributions of them on request."""
