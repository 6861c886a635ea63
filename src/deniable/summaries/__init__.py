"""Sums up estimates: means, quantiles, groups and distances."""
