"""Functions that ask for values: traces that have the real arguments, and the paths that calls take through them."""
