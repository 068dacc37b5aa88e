"""Passes on any graph: simplification, and what is known of loops."""
