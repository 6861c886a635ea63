"""Makes the vectors of the wire, spec/vectors: `python -m spec.make` writes them anew."""
