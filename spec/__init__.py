"""The specification of the wire: its text, its vectors, what makes them, and a reading of the text."""
