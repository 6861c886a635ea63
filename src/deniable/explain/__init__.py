"""Says what a plan promises, in words and numbers, before anybody answers."""
