"""Reproduces the figures and numbers of publications with Deniable: `deniable reproduce`."""

__version__ = "0.1.0"
