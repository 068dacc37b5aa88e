"""Bundle adjustment: the residuals of all observations and the blocks of their Jacobian (the objective of ADBench).

An observation has a camera (rotation vector, centre, focal length, principal point, two radial distortions), a point
and a weight; its residual is the weighted distance, in two directions, between where the point lands in the image and
where it was seen. A block is 2 x 15. All observations are computed at once, their cameras and points looked up before.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Program, everywhere

GOAL = 0.3
CAMERAS = (20, 200, 2000)
OBSERVATIONS_PER_CAMERA = 100


def rotate(m: Any, axis: tuple[Any, Any, Any], point: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Rotation about `axis`, by an angle that is its length (Rodrigues' formula)."""
    (u, v, w), (x, y, z) = axis, point
    angle = m.sqrt(u * u + v * v + w * w)
    u, v, w = u / angle, v / angle, w / angle
    sine, cosine = m.sin(angle), m.cos(angle)
    along = (u * x + v * y + w * z) * (1 - cosine)
    return (
        x * cosine + (v * z - w * y) * sine + u * along,
        y * cosine + (w * x - u * z) * sine + v * along,
        z * cosine + (u * y - v * x) * sine + w * along,
    )


def residuals(m: Any, cameras: Any, points: Any, weights: Any, seen: Any) -> tuple[Any, Any]:
    """How far to the right and how far down the points land from where they were seen."""
    moved = tuple(points[:, i] - cameras[:, 3 + i] for i in range(3))
    right, down, away = rotate(m, (cameras[:, 0], cameras[:, 1], cameras[:, 2]), moved)
    right, down = right / away, down / away
    squared = right * right + down * down
    scale = (1 + cameras[:, 9] * squared + cameras[:, 10] * squared * squared) * cameras[:, 6]
    return (
        weights * (right * scale + cameras[:, 7] - seen[:, 0]),
        weights * (down * scale + cameras[:, 8] - seen[:, 1]),
    )


def operands(observations: int) -> Callable[[np.random.Generator], Arrays]:
    """Cameras some way off a cloud of points, one row for every observation."""

    def make(rng: np.random.Generator) -> Arrays:
        turned, centre = 0.2 * rng.standard_normal((observations, 3)), 0.2 * rng.standard_normal((observations, 3))
        focal_length, lens = rng.uniform(0.9, 1.1, (observations, 1)), 0.1 * rng.standard_normal((observations, 4))
        cameras = np.concatenate([turned, centre - [0, 0, 6], focal_length, lens], axis=1)
        points, weights = rng.standard_normal((observations, 3)), rng.uniform(0.5, 1.5, observations)
        return [cameras, points, weights, 0.1 * rng.standard_normal((observations, 2))]

    return make


def programs() -> list[Program]:
    """The sizes."""
    return [
        Program(
            f"bundle adjustment, {cameras} cameras' worth", everywhere(residuals),
            operands(OBSERVATIONS_PER_CAMERA * cameras), (0, 1, 2), GOAL, small=cameras == 20, asked="blocks", rows=2,
        )
        for cameras in CAMERAS
    ]  # fmt: skip
