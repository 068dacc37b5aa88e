"""From a Python function to a joint graph."""
