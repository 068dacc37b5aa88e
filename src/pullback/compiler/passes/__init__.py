"""Passes of the compiler, functions `Graph -> Graph`."""
