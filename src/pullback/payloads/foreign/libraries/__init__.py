"""The libraries of arrays that Pullback knows: what each does otherwise than the array API standard says."""
