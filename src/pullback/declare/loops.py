"""`Loop`: the ufunc of NumPy whose loop computes an operator, and writes results into memory that it is given.

The functions of `numpy.linalg` and `numpy.fft` are loops over matrices and rows, behind some Python. A compiler calls
such a loop by its address, for results whose memory it has planned. An operator says which one it is:

    @inverse.loop
    def inverse_loop(*, singular):
        return [Loop("linalg.inv", raises=SINGULAR if singular == "raise" else "", in_double=True)]

Everything else follows: which axes are matrices from the ufunc's signature, dtypes from those that it has.
"""

from __future__ import annotations

from typing import NamedTuple

SINGULAR = "Singular matrix"
NOT_POSITIVE = "Matrix is not positive definite"
NO_EIGENVALUES = "Eigenvalues did not converge"
NO_SINGULAR_VALUES = "SVD did not converge"
ZERO_ON_DIAGONAL = "solve_triangular: the matrix has a zero on its diagonal, so it is singular"
SINGULAR_TRIANGLE = {"raise": ZERO_ON_DIAGONAL, "solve": SINGULAR}
"""What is said of a zero on the diagonal: in a triangular system of the user's, and in one that is part of `solve`."""
MESSAGES = (SINGULAR, NOT_POSITIVE, NO_EIGENVALUES, NO_SINGULAR_VALUES, ZERO_ON_DIAGONAL)
"""What a `LinAlgError` says. Native code, which is kept on disk, knows them by their places here."""


class Loop(NamedTuple):
    """A generalized ufunc, and how it is called for an operator.

    Loops of `numpy.linalg` report a matrix that they cannot treat as an invalid floating-point operation, and go on;
    its results are NaN. Results of the operator that the ufunc does not have must be empty.
    """

    ufunc: str  # "linalg.inv", "fft.irfft"
    raises: str = ""  # one of the messages, if an invalid operation is an error
    in_double: bool = False  # single precision is computed in double precision, as NumPy does
    numbers: tuple[float, ...] = ()  # operands after the arrays, the same for all
    axis: int = -1  # of arrays without matrices: along which rows lie
    length: int = 0  # of rows in the result, if it is what another loop goes on with
