"""Simulates people who do not exist, their reports and their estimates."""
