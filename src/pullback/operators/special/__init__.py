"""Special functions, as SciPy names them."""
