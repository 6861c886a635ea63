"""Runs the applications of the thesis on public data, with the true guarantee and the baselines beside them."""
