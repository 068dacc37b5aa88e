"""`Tensor` and its fields: payload, version counter, view record. No arithmetic, no differentiation. Internal."""
