"""What a function finds around it: captured tensors, globals, attributes, and the guards on them."""
