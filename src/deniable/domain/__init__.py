"""Describes what can be answered, and reads what people answer."""
