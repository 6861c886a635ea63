"""Draws bars, lines and maps: what all plots share. Rooms that have something to draw say what it is."""
