"""Draws random words: from the operating system, from a device's key, or from a seed in simulations."""
