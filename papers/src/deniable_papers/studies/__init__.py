"""Reproduces the papers, each by a small script over the public rooms: rows out, nothing printed or drawn."""
