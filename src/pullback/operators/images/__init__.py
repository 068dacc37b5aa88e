"""Images: correlation with extended borders, splines, and windows; `pullback.scipy.ndimage` is made of them."""
