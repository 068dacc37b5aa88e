"""`scipy.linalg` with derivatives, and SciPy's meanings where they differ from NumPy's."""

from pullback.scipy import _replay, _surface, _twins

_twins.declare_existing("linalg")

from pullback.scipy.linalg import _factors as _factors  # noqa: E402 -- after the twins, whose meaning these change
from pullback.scipy.linalg import _functions as _functions  # noqa: E402
from pullback.scipy.linalg import _solve as _solve  # noqa: E402

_replay.declare_replayed(
    "linalg",
    "block_diag companion convolution_matrix coshm cosm diagsvd fiedler "
    "fiedler_companion khatri_rao leslie matmul_toeplitz orth orthogonal_procrustes sinhm sinm "
    "solve_circulant subspace_angles tanhm tanm",
    by="its arrays",
)
_surface.constant(*(f"linalg.{_name}" for _name in (
    "bandwidth", "dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "ishermitian", "issymmetric",
    "pascal",
)))  # fmt: skip
_surface.refuse("its blocks are found by a search; use schur for distinct eigenvalues", *(
    f"linalg.{_name}" for _name in ("cdf2rdf", "ordqz", "qz", "rsf2csf")
))  # fmt: skip
_surface.refuse("it is a norm over all directions; use expm_frechet", "linalg.expm_cond")
_surface.refuse("its blocks are chosen by LAPACK", "linalg.cossin")
_surface.refuse("update the matrix and call qr", *(f"linalg.qr_{_name}" for _name in ("delete", "insert", "update")))

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("linalg")
