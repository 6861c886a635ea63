"""Lays results out as text, tables and figures; computes nothing."""
