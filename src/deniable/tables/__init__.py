"""Reads answers from tables and files, and writes results to them."""
