"""Reproductions of the papers, each a small script over the public rooms: rows out, nothing
printed or drawn.
"""
