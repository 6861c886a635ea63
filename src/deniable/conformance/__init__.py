"""Tests a client in any language against every vector: spec/conformance.md is its protocol of lines."""
