"""A C function as an operator
==============================

A C function as an operator: compiled here, called through ctypes, differentiated like any other.

`softplus` has a value and a derivative in C. The derivative is an operator of its own, so that second derivatives
work as soon as it has a formula too.
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

SOURCE = """
#include <math.h>
void softplus(const double *x, double *out, long n) {
    for (long i = 0; i < n; i++) out[i] = fmax(x[i], 0.0) + log1p(exp(-fabs(x[i])));
}
void logistic(const double *x, double *out, long n) {
    for (long i = 0; i < n; i++) out[i] = 1.0 / (1.0 + exp(-x[i]));
}
"""


def compiled(compiler, folder):
    """The library, loaded."""
    source, target = Path(folder, "softplus.c"), Path(folder, "softplus.so")
    source.write_text(SOURCE, encoding="utf-8")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(target), str(source), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def pointer(array):
    """The address of an array's first element."""
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def elementwise(function):
    """A C function of arrays as a function of arrays in any layout."""
    function.argtypes = [ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.c_long]
    function.restype = None

    def run(x: np.ndarray) -> np.ndarray:
        if x.dtype != np.float64:
            raise TypeError("float64 only")
        given = np.ascontiguousarray(x)
        out = np.empty(x.shape)
        function(pointer(given), pointer(out), given.size)
        return out

    return run


def main():
    """Build, wrap, check."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        print("This example compiles a C function, and there is no C compiler here.")
        return
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(compiler, folder)
    custom_op = pb.library.custom_op
    softplus = custom_op("examples::softplus", elementwise(library.softplus), mutates_args=(), tags="pointwise")
    logistic = custom_op("examples::logistic", elementwise(library.logistic), mutates_args=(), tags="pointwise")
    softplus.defpartials(lambda ans, x: logistic(x))
    logistic.defpartials(lambda ans, x: ans * (1 - ans))

    x = pb.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    print("opcheck:", pb.library.opcheck(softplus, (x,), test_utils="ALL"))
    softplus(x).sum().backward()
    print("gradient:", x.grad)
    print("of a strided array:", softplus(pb.arange(6.0)[::2]))

    grid = pb.linspace(-4.0, 4.0, 200)
    plt.plot(grid.numpy(), softplus(grid).numpy(), label="softplus, in C")
    plt.plot(grid.numpy(), pb.vmap(pb.func.grad(softplus))(grid).numpy(), label="its derivative")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
