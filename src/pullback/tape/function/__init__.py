"""`autograd.Function`: from the user's class to a node."""
