"""Tests of the backends that make functions of graphs."""
