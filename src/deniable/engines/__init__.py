"""Counts reports where they are: in files, in databases and on clusters."""
