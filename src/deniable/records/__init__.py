"""Turns one record of many answers into one report."""
