"""What happens when a compiled function is called: arguments, the node, results."""
