"""Loop nests and the scalar code inside of them."""
