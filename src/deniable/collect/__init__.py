"""The collector: what counts reports, and what asks for them."""
