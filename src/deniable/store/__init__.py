"""Keeps reports, tallies, rounds, invitations and who may read them in a database: SQLite or PostgreSQL."""
