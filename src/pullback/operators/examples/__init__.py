"""Examples of array functions, one module for each namespace, loaded when a function of it is made."""
