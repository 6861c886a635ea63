"""Asks again and again without giving the answer away: what is kept, and what is fresh."""
