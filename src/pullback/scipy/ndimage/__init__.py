"""`scipy.ndimage` with derivatives: by images, weights, widths and coordinates."""

from pullback.scipy import _surface
from pullback.scipy.ndimage import _filters, _interpolation, _measurements, _windows  # noqa: F401

_surface.constant(*(
    f"ndimage.{name}"
    for name in (
        "binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes", "binary_hit_or_miss",
        "binary_opening", "binary_propagation", "distance_transform_bf", "distance_transform_cdt",
        "distance_transform_edt", "find_objects", "generate_binary_structure", "histogram", "iterate_structure",
        "label", "maximum_position", "minimum_position", "value_indices", "watershed_ift",
    )
))  # fmt: skip

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("ndimage")
