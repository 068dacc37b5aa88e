"""The ground floor: shapes and dtypes, axes, promotion, and the modes of the running thread. Internal."""
