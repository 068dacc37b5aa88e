"""Register two images
=====================

Find the rotation and the shift that carry one image onto another.

`gaussian_filter` smooths, `affine_transform` samples with cubic splines, and `minimize` moves: gradients by the matrix
and the offset of the transform. From coarse to fine, so that it does not stop at the nearest stripe.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import ndimage, optimize

SIZE = 48
ROWS, COLUMNS = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
IMAGE = np.exp(-((ROWS - 6) ** 2) / 60 - (COLUMNS + 4) ** 2 / 25)
IMAGE += 0.7 * np.exp(-((ROWS + 8) ** 2 + (COLUMNS - 9) ** 2) / 18)
TRUE = np.array([0.25, 2.5, -1.7])  # angle, shift


def moved(image, parameters):
    """An image turned about its middle and shifted."""
    c, s = pb.cos(parameters[0]), pb.sin(parameters[0])
    matrix = pb.stack([pb.stack([c, -s]), pb.stack([s, c])])
    middle = np.full(2, (SIZE - 1) / 2)
    offset = middle - matrix @ (middle + parameters[1:])
    return ndimage.affine_transform(image, matrix, offset, mode="nearest")


def main():
    """Register, from coarse to fine."""
    noise = 0.02 * np.random.default_rng(0).standard_normal(IMAGE.shape)
    target = moved(IMAGE, pb.asarray(TRUE)).numpy() + noise
    found = np.zeros(3)
    for width in (4.0, 1.5, 0.5):
        soft, goal = ndimage.gaussian_filter(IMAGE, width).numpy(), ndimage.gaussian_filter(target, width).numpy()
        result = optimize.minimize(lambda p, a=soft, b=goal: ((moved(a, p) - b) ** 2).sum(), found, method="BFGS")
        found = result.x.detach().numpy()
        print(f"width {width}: angle {found[0]:.4f}, shift {found[1]:.3f} {found[2]:.3f}   ({result.nfev} evaluations)")
    assert np.abs(found - TRUE).max() < 0.05

    parts = {"image": IMAGE, "target": target, "difference": moved(IMAGE, pb.asarray(found)).numpy() - target}
    for place, (name, part) in enumerate(parts.items()):
        plt.subplot(1, 3, place + 1)
        plt.imshow(part, vmin=-0.1, vmax=1.0)
        plt.title(name)
        plt.axis("off")
    plt.show()


if __name__ == "__main__":
    main()
