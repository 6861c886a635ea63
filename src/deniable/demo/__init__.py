"""Shows the whole system on simulated people."""
