"""Computes what a report says: the law of its support, its moments, or its matrix."""
