"""Runs the applications of the thesis on public data, the true guarantee and the baselines beside them."""
