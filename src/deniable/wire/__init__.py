"""Writes reports as bytes and as JSON, in one canonical form each, and reads them back."""
