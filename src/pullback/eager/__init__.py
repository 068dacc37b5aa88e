"""From declarations to functions: recording on the tape, writing in place, and fast paths by arity. Internal."""
