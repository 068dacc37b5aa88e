"""Conformance cases 1 to 29: names, schemas, and binding a call."""

import warnings
from collections.abc import Sequence
from typing import List, Optional, Tuple  # noqa: UP035 -- the old spellings are cases

import numpy as np
import pytest

import pullback as pb
from pullback.library import BindError, SchemaError, custom_op, infer_schema
from pullback.library._schema.text import parse_schema
from tests.conformance.custom_ops import T3, name, op


def plain(x: pb.Tensor) -> pb.Tensor:
    return x.clone()


def schema_of(fn, mutates_args=()):
    return infer_schema(fn, mutates_args=mutates_args)


@pytest.mark.parametrize("case, given", [(1, "foo"), (2, "a::b::c")])
def test_001_002_a_name_has_one_pair_of_colons(case, given):
    with pytest.raises(ValueError, match="namespace::operator"):
        custom_op(given, plain, mutates_args=())


@pytest.mark.parametrize("given", ["a.b::c", "1a::b", "a::class", "a b::c", "a::", "::b", "a::b.c.d"])
def test_003_parts_of_a_name_are_identifiers(given):
    with pytest.raises(SchemaError):
        custom_op(given, plain, mutates_args=())


@pytest.mark.parametrize("namespace", ["prim", "prims", "aten", "at", "torch", "pytorch", "pb", "pullback"])
def test_004_some_namespaces_are_reserved(namespace):
    with pytest.raises(ValueError, match="is a reserved namespace"):
        custom_op(f"{namespace}::f", plain, mutates_args=())


def test_005_default_is_no_name_of_an_overload():
    with pytest.raises(SchemaError):
        custom_op("a::b.default", plain, mutates_args=())


def test_006_mutates_args_is_required():
    with pytest.raises(TypeError):
        custom_op("a::f", plain)


def test_007_a_schema_is_inferred():
    def f(x: pb.Tensor, n: int = 3, *, s: str = "q") -> pb.Tensor: ...

    assert schema_of(f) == '(Tensor x, SymInt n=3, *, str s="q") -> Tensor'


def test_008_optional_and_list_tensors():
    def f(x: Optional[pb.Tensor], y: Sequence[pb.Tensor], z: list[pb.Tensor | None]) -> pb.Tensor: ...  # noqa: UP045

    assert schema_of(f) == "(Tensor? x, Tensor[] y, Tensor?[] z) -> Tensor"


def test_009_optional_lists():
    def f(x: Optional[List[int]]) -> pb.Tensor: ...  # noqa: UP006, UP045

    def g(x: list[Optional[int]]) -> pb.Tensor: ...  # noqa: UP045

    assert schema_of(f) == "(SymInt[]? x) -> Tensor"
    with pytest.raises(ValueError, match="unsupported type"):
        schema_of(g)


def test_010_a_tuple_is_hinted_to_be_a_list():
    def f(x: Tuple[int, int]) -> pb.Tensor: ...  # noqa: UP006

    def g(x: tuple[int, float]) -> pb.Tensor: ...

    with pytest.raises(ValueError, match=r"list\[int\]"):
        schema_of(f)
    with pytest.raises(ValueError, match="unsupported type") as caught:
        schema_of(g)
    assert "in its place" not in str(caught.value)


def test_011_annotations_are_required():
    def f(x) -> pb.Tensor: ...

    def g(x: pb.Tensor): ...

    with pytest.raises(ValueError, match="must have a type annotation"):
        schema_of(f)
    with pytest.raises(ValueError, match="No return type annotation"):
        schema_of(g)


def test_012_kinds_of_parameters():
    def f(*args: pb.Tensor) -> pb.Tensor: ...

    def g(**kw: pb.Tensor) -> pb.Tensor: ...

    def h(x: pb.Tensor, /) -> pb.Tensor: ...

    for fn in (f, g, h):
        with pytest.raises(ValueError, match="positional-or-"):
            schema_of(fn)


def test_013_a_tuple_of_one():
    def f(x: pb.Tensor) -> Tuple[pb.Tensor]:  # noqa: UP006
        return (x.clone(),)

    made = op(f)
    assert str(made.schema) == "(Tensor x) -> ((Tensor))"
    result = made(T3())
    assert type(result) is tuple and len(result) == 1


@pytest.mark.parametrize("returned", [pb.Tensor | None, str, tuple[pb.Tensor, ...], complex, tuple, tuple[()],
                                      Sequence[pb.Tensor], list[int]])  # fmt: skip
def test_014_types_that_are_not_returned(returned):
    def f(x: pb.Tensor): ...

    f.__annotations__["return"] = returned
    with pytest.raises(ValueError, match="unsupported type"):
        schema_of(f)


def test_015_016_defaults_are_checked():
    def f(x: pb.Tensor, n: list[int] = [1, 2]) -> pb.Tensor: ...  # noqa: B006

    assert schema_of(f) == "(Tensor x, SymInt[] n=[1, 2]) -> Tensor"

    def g(x: pb.Tensor, y: pb.Tensor = pb.zeros(1)) -> pb.Tensor: ...  # noqa: B008

    with pytest.raises(ValueError, match="unsupported default value type"):
        schema_of(g)

    def h(x: pb.Tensor, n: int = 3.5) -> pb.Tensor: ...

    def k(x: pb.Tensor = None) -> pb.Tensor: ...

    for fn in (h, k):
        with pytest.raises(ValueError):
            schema_of(fn)


def test_017_strings_and_infinities_survive_the_text():
    def f(x: pb.Tensor, s: str = 'a"b', f: float = float("inf"), g: float = float("nan")) -> pb.Tensor: ...

    text = schema_of(f)
    again = parse_schema(text)
    assert str(again) == text
    assert [argument.default for argument in again.arguments[1:3]] == ['a"b', float("inf")]


def test_018_mutates_args_names_tensors():
    def f(x: pb.Tensor, n: int) -> None: ...

    for given, message in [("x", "string"), (("zz",), "were not found"), (("n",), "can be mutated")]:
        with pytest.raises(ValueError, match=message):
            schema_of(f, given)


def test_019_unknown_writes_every_tensor():
    def f(x: pb.Tensor, n: int, y: list[pb.Tensor]) -> None: ...

    assert schema_of(f, "unknown") == "(Tensor(a0!) x, SymInt n, Tensor(a2!)[] y) -> ()"


def test_020_a_definition_that_fails_registers_nothing():
    def f(x): ...

    with pytest.raises(ValueError, match="the op mutates"):
        custom_op("case20::f", f, mutates_args=(), schema="(Tensor(a!) x) -> ()")
    with pytest.raises(AttributeError):
        _ = pb.ops.case20.f


def test_021_an_unknown_type_is_pointed_at():
    with pytest.raises(SchemaError, match="float") as caught:
        parse_schema("(Tensor x, double d) -> Tensor")
    *_, text, caret = str(caught.value).splitlines()
    assert text[caret.index("^") :].startswith("double")


@pytest.mark.parametrize(
    "text",
    ["(Tensor x, Tensor x) -> Tensor", "(Tensor x)", "(Tensor x,) -> Tensor", "(any x) -> Tensor", "(...) -> Tensor",
     "(int n=1, int m) -> Tensor", "(Dict(str, int) x) -> Tensor", "(int n=2.5) -> Tensor", "(int64_t n) -> Tensor"],
)  # fmt: skip
def test_022_malformed_schemas(text):
    with pytest.raises(SchemaError):
        parse_schema(text)


def test_023_a_keyword_only_tensor():
    def f(*, x: pb.Tensor) -> pb.Tensor: ...

    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        schema_of(f)


@pytest.fixture
def scaled():
    def f(x: np.ndarray, n: int = 2) -> np.ndarray:
        return x * n

    return op(f)


def test_024_defaults_come_from_the_schema(scaled):
    seen = []

    def other(x, n=100):
        seen.append(n)
        return x * n

    scaled.register_kernel("cpu", other)
    scaled(T3())
    scaled(T3(), 2)
    scaled(T3(), True)
    scaled(T3(), np.int64(3))
    assert seen == [2, 2, 1, 3] and [type(n) for n in seen] == [int] * 4
    with pytest.raises(BindError):
        scaled(T3(), 2.0)


def test_025_a_float_tensor_is_no_int(scaled):
    with pytest.raises(BindError):
        scaled(T3(), pb.tensor(3.5))
    assert scaled(T3(), pb.tensor(3)).tolist() == [3.0] * 3


def test_026_arrays_are_tensors_and_none_is_not(scaled):
    with pytest.raises(BindError):
        scaled(None)
    assert isinstance(scaled(np.ones(3)), pb.Tensor)


def test_027_kernels_see_lists():
    seen = []

    def f(x: np.ndarray, n: list[int]) -> np.ndarray:
        seen.append(n)
        return x.copy()

    made = op(f)
    made(T3(), (1, 2))
    made(T3(), range(2))
    made(T3(), np.array([3]))
    assert seen == [[1, 2], [0, 1], [3]] and all(type(n) is list for n in seen)
    with pytest.raises(BindError):
        made(T3(), (n for n in (1, 2)))


def test_028_lists_of_tensors():
    def f(xs: list[pb.Tensor]) -> pb.Tensor:
        return xs[0] + 1

    made = op(f)
    for given in ([None], T3()):
        with pytest.raises(BindError):
            made(given)


def test_029_arguments_that_do_not_fit(scaled):
    for args, kwargs in [((T3(),), {"m": 1}), ((), {}), ((T3(), 2), {"n": 2}), ((T3(), 1, 1), {})]:
        with pytest.raises(BindError, match=r"schema .*\(Tensor x, SymInt n=2\) -> Tensor"):
            scaled(*args, **kwargs)


def test_a_fixed_length_takes_a_single_number():
    def f(x, k=(1, 1)):
        return x * k[0] * k[1]

    made = op(f, schema="(Tensor x, int[2] k=1) -> Tensor")
    assert made(T3()).tolist() == [1.0] * 3 and made(T3(), 3).tolist() == [9.0] * 3
    with pytest.raises(BindError, match="expected 2 values"):
        made(T3(), [1, 2, 3])


def test_a_float_argument_refuses_a_tensor_that_requires_grad():
    def f(x: np.ndarray, a: float) -> np.ndarray:
        return x * a

    made = op(f)
    assert made(T3(), pb.tensor(2.0)).tolist() == [2.0] * 3
    with pytest.raises(BindError, match="declare it Tensor"):
        made(T3(), pb.tensor(2.0, requires_grad=True))


def test_defining_a_name_again_warns_unless_it_is_the_same_function():
    again = name()

    def f(x: pb.Tensor) -> pb.Tensor: ...

    def g(x: pb.Tensor) -> pb.Tensor: ...

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        custom_op(again, f, mutates_args=())
        custom_op(again, f, mutates_args=())
    with pytest.warns(UserWarning, match="defined again"):
        custom_op(again, g, mutates_args=())
