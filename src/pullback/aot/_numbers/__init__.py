"""Numbers among the arguments of a compiled function: stand-ins in the trace, and a program of what is done to them."""
