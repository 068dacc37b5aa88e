"""Forward mode: levels, tangents and duals."""
