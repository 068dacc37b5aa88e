"""Examples of SciPy's documentation, of the functions that people know best; `documented.py` runs those of all."""

import pytest

from tests.scipy import documented

NAMES = (
    "fft.fftfreq", "integrate.cumulative_simpson", "integrate.fixed_quad", "integrate.quad", "integrate.quad_vec",
    "integrate.simpson", "interpolate.BSpline", "interpolate.CubicSpline", "interpolate.UnivariateSpline",
    "interpolate.interp1d", "interpolate.splantider", "linalg.cho_solve", "linalg.expm",
    "linalg.fractional_matrix_power", "linalg.lu_factor", "linalg.solve", "linalg.solve_banded",
    "linalg.solve_continuous_are", "ndimage.gaussian_filter1d", "ndimage.map_coordinates", "optimize.brentq",
    "optimize.fixed_point", "optimize.fsolve", "optimize.linprog", "optimize.minimize", "optimize.minimize_scalar",
    "optimize.root_scalar", "optimize.rosen_hess_prod", "signal.buttord", "signal.deconvolve", "signal.hilbert",
    "signal.lfilter_zi", "signal.savgol_filter", "signal.tf2zpk", "sparse.dia_array", "sparse.diags_array",
    "sparse.linalg.cg", "sparse.linalg.spsolve", "spatial.distance.cdist", "spatial.transform.Rotation.from_rotvec",
    "special.betainc", "special.expit", "special.gamma", "special.jv", "special.logsumexp", "special.xlogy",
    "stats.gmean", "stats.norm", "stats.zscore",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_its_examples_differentiate_or_say_why_not(name):
    found = [(moving, *said) for label, _, text in documented.programs(name) if label == name
             for moving, *said in documented.verdicts(text, most=2)]  # fmt: skip
    assert not [each for each in found if each[1] in documented.BAD]


def program(text, moving):
    lines = "\n".join(f">>> {line}" for line in text)
    return {name: word for name, word, _ in documented.verdicts(lines)}[moving]


def test_it_sees_what_is_right_lost_and_refused():
    """The examination itself."""
    square = ["import numpy as np", "x = np.array([1.0, 2.0])", "y = x ** 2"]
    assert program(square, "x") == "right"
    assert program([*square, "z = np.floor(y + 0.5)"], "x") == "right"
    assert program(["import numpy as np", "x = np.array([1.0, 2.0])", "y = np.sign(x)"], "x") == "nothing"
    lost = ["import numpy as np", "from scipy import stats", "x = np.array([3.0, 1.0, 2.0])", "m = stats.mode(x).mode"]
    assert program(lost, "x") == "lost"
    refused = ["import numpy as np", "from scipy import stats", "x = np.array([0.3, 1.0, 2.0])",
               "s = stats.ks_1samp(x, stats.norm.cdf).statistic"]  # fmt: skip
    assert program(refused, "x") == "refused"
