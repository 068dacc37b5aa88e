"""Bundle adjustment with a sparse Jacobian
===========================================

Bundle adjustment by Gauss-Newton: cameras and points from pictures, with a sparse Jacobian.

A residual depends on one camera and one point, so of the 1.6 million entries of the Jacobian all but 2 percent are
zero. `pb.func.sparse_jacobian` finds out which, and computes all of them from as many directional derivatives as
one residual has parameters.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import eye_array
from scipy.sparse.linalg import spsolve

import pullback as pb

CAMERAS, POINTS, OBSERVATIONS = 8, 150, 1600
random = np.random.default_rng(0)
camera_of = random.integers(0, CAMERAS, OBSERVATIONS)
point_of = random.integers(0, POINTS, OBSERVATIONS)


def rotated(vectors, points):
    """Points turned around axes, by angles that are the axes' lengths."""
    angle = pb.sqrt((vectors * vectors).sum(axis=1, keepdims=True) + 1e-24)
    axis = vectors / angle
    along = (axis * points).sum(axis=1, keepdims=True)
    return points * pb.cos(angle) + pb.cross(axis, points) * pb.sin(angle) + axis * along * (1 - pb.cos(angle))


def pictures(cameras, points):
    """Where every camera sees the points that it observes. A camera is a rotation, a place and a focal length."""
    camera, point = cameras[camera_of], points[point_of]
    seen = rotated(camera[:, :3], point) + camera[:, 3:6]
    return camera[:, 6:] * seen[:, :2] / seen[:, 2:]


true_cameras = np.column_stack([0.2 * random.standard_normal((CAMERAS, 6)), np.full(CAMERAS, 2.0)])
true_points = random.uniform(-1, 1, (POINTS, 3)) + [0.0, 0.0, 5.0]
measured = pictures(pb.tensor(true_cameras), pb.tensor(true_points))


def residuals(parameters):
    """Differences between what is seen and what was measured, for all parameters in one vector."""
    cameras = parameters[: 7 * CAMERAS].reshape((CAMERAS, 7))
    points = parameters[7 * CAMERAS :].reshape((POINTS, 3))
    return (pictures(cameras, points) - measured).reshape(-1)


jacobian = pb.func.sparse_jacobian(residuals)
truth = np.concatenate([true_cameras.ravel(), true_points.ravel()])
parameters = truth + 0.03 * random.standard_normal(truth.size)

errors = []
for step in range(5):
    residual = residuals(pb.tensor(parameters)).numpy()
    matrix = jacobian(pb.tensor(parameters))
    errors.append(float(np.sqrt(np.mean(residual**2))))
    print(f"step {step}: root mean square {errors[-1]:.2e}, {matrix.nnz} of {np.prod(matrix.shape)} entries")
    # A little damping: the scene as a whole may be moved and scaled without changing a picture.
    normal = matrix.T @ matrix + 1e-6 * eye_array(truth.size)
    parameters = parameters - spsolve(normal.tocsc(), matrix.T @ residual)

assert errors[-1] < 1e-6 * errors[0]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.spy(matrix, markersize=0.5, aspect="auto")
left.set_title("where the Jacobian is not zero")
right.semilogy(errors, "o-")
right.set_xlabel("step")
right.set_title("root mean square of the residuals")
plt.show()
