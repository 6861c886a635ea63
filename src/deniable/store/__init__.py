"""Keeps reports, tallies, rounds, invitations and who may read them in a database: SQLite or PostgreSQL."""

STORES = ("sqlite:", "postgresql://", "postgres://")
"""How the addresses of stores begin. A table in a database of PostgreSQL is named, and a store is not."""
