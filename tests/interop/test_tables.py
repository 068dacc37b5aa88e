"""Tables and arrays of other libraries are constants and arguments everywhere (I1, I3), and mistakes are named (#36).

None of these libraries is needed to develop Pullback; what is not installed is skipped.
"""

import numpy as np
import pytest

import pullback as pb

SQUARES = pb.grad(lambda x: (x * x).sum())


@pytest.fixture
def x():
    return pb.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_series_and_frames_are_arguments_and_constants(x):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    series, frame = pd.Series([1.0, 2.0, 3.0]), pd.DataFrame(np.eye(3) * 2)
    assert SQUARES(series).tolist() == [2.0, 4.0, 6.0]
    assert SQUARES(frame).shape == (3, 3)
    assert pb.vmap(lambda a: a * 2)(series).tolist() == [2.0, 4.0, 6.0]
    (x * series + x @ frame + pb.sin(series)).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0, 5.0]


def test_a_series_on_the_left_is_as_good_as_one_on_the_right(x):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    series, frame = pd.Series([1.0, 2.0, 3.0]), pd.DataFrame(np.eye(3))
    for result in (series * x, 1 / series - x, frame * x, series**x, series > x):
        assert type(result) is pb.Tensor
    (series * x).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
    series *= 2
    assert type(series) is pd.Series


def test_a_product_that_pandas_does_not_pass_on_says_what_to_write(x):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    for wrong in (lambda: pd.Series([1.0, 2.0, 3.0]) @ x, lambda: pd.DataFrame(np.eye(3)) @ x):
        with pytest.raises(pb.AutogradError, match="pandas asked for it") as caught:
            wrong()
        assert "x @ frame" in caught.value.fix and caught.value.site.startswith(__file__)


def test_missing_values_are_nan_with_a_warning_and_refused_among_integers():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.warns(UserWarning, match="became nan"):
        assert np.isnan(pb.tensor(pd.Series([1.0, None], dtype="Float64")).tolist()[1])
    with pytest.raises(ValueError, match="missing values") as caught:
        pb.tensor(pd.Series([1, None], dtype="Int64"))
    assert "fillna" in caught.value.fix


def test_5_a_column_without_numbers_is_named():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(ValueError, match="column 'name' is of dtype"):
        SQUARES(pd.Series(["a", "b"], name="name"))
    with pytest.raises(ValueError, match="column 'b' is of dtype"):
        SQUARES(pd.DataFrame({"a": [1.0], "b": ["x"]}))


def test_polars(x):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    series = pl.Series([1.0, 2.0, 3.0])
    assert SQUARES(series).tolist() == [2.0, 4.0, 6.0]
    assert (x * series).requires_grad


def test_xarray_wraps_tensors_and_keeps_gradients(x):
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    assert SQUARES(xr.DataArray([1.0, 2.0])).tolist() == [2.0, 4.0]
    wrapped = (xr.DataArray(x, dims="t") * xr.DataArray([1.0, 2.0, 3.0], dims="t")).sum()
    wrapped.data.backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_awkward_arrays_that_are_regular():
    ak = pytest.importorskip("awkward", reason="awkward is not installed")
    assert SQUARES(ak.Array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    with pytest.raises(ValueError, match="is not regular") as caught:
        pb.tensor(ak.Array([[1.0, 2.0], [3.0]]))
    assert "ak.to_regular" in caught.value.fix and "ak.fill_none" in caught.value.fix


def test_memoryviews():
    assert SQUARES(memoryview(np.array([1.0, 2.0]))).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("checker", ["beartype", "typeguard"])
def test_jaxtyping_checks_shapes_plain_and_in_transforms(checker):
    jaxtyping = pytest.importorskip("jaxtyping", reason="jaxtyping is not installed")
    checks = pytest.importorskip(checker, reason=f"{checker} is not installed")

    @jaxtyping.jaxtyped(typechecker=checks.beartype if checker == "beartype" else checks.typechecked)
    def loss(x: jaxtyping.Float[pb.Tensor, "n"], y: jaxtyping.Float[pb.Tensor, "n"]):  # noqa: F821
        return (x * y).sum()

    x, y = pb.ones(3), pb.ones(3)
    assert loss(x, y).item() == 3.0
    assert pb.grad(loss)(x, y).tolist() == [1.0] * 3
    assert pb.vmap(loss)(pb.ones((2, 3)), pb.ones((2, 3))).tolist() == [3.0, 3.0]
    assert pb.compile(loss, backend="numpy")(x, y).item() == 3.0
    if checker == "beartype":  # typeguard in its present version leaves shapes to jaxtyping's own hook
        with pytest.raises(jaxtyping.TypeCheckError):
            loss(x, pb.ones(4))
