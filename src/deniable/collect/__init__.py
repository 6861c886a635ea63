"""Collects reports: counts them, and serves the pages that ask for them."""
