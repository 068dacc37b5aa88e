"""Making, joining, moving, indexing, writing and ordering arrays."""
