"""NumPy's whole list of functions on tensors: values, containers and gradients are those of NumPy's functions.

`numpy_calls.txt` has the calls. Two more tests see that no function is missing there, and that no argument of NumPy's
reaches another parameter than its own.
"""

import inspect
import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.interop._array_function import (
    ABOUT_ITS_FORM,
    ABOUT_THE_ARRAY,
    MUTATIONS,
    SYNONYMS,
    accepted_by,
    given_arguments,
    place_arguments,
    twin_of,
)
from pullback.interop._numpy_forms import FORMS

GONE = {"np.row_stack([v, w])", "np.cross(v, q[:2])", "np.cross(m[:, :2], w)", "np.cross(v[:2], w[1:])"}
LINES = [
    line.partition("; ")[::2]
    for line in Path(__file__).with_name("numpy_calls.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def values():
    random = np.random.default_rng(3)
    square = random.normal(size=(3, 3))
    return {
        "c": np.array(0.35), "v": np.array([0.3, 1.2, 0.7]), "w": np.array([0.9, 1.6, 2.1]),
        "q": np.array([0.2, 1.3, 0.6, 1.9]), "m": random.uniform(0.2, 1.0, (2, 3)), "a": square,
        "b": random.normal(size=(3, 3)), "t": random.normal(size=(2, 3, 4)),
        "s": square @ square.T + np.diag([1.0, 2.0, 3.0]) + 0.05 * random.normal(size=(3, 3)),
        "n": np.array([[1.0, np.nan, 2.0], [3.0, 0.5, np.nan]]),
        "z": random.normal(size=3) + 1j * random.normal(size=3),
        "h": random.normal(size=(3, 3)) + 1j * random.normal(size=(3, 3)),
    }  # fmt: skip


def fill_one(vector, width, axis, options):
    vector[: width[0]] = 1


CONSTANTS = {"np": np, "fill_one": fill_one, "k": np.array([0, 2, 1]), "mask": np.array([True, False, True])}


def called(call, operands):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call, {**CONSTANTS, **operands})


def parts_of(result):
    return [p for part in result for p in parts_of(part)] if isinstance(result, (list, tuple)) else [result]


def form_of(result):
    if isinstance(result, (list, tuple)):
        return (list if isinstance(result, list) else tuple, [form_of(part) for part in result])
    return None


def plain(x):
    return x.detach().numpy() if isinstance(x, pb.Tensor) else np.asarray(x)


def observed(parts, weights, real, imag, total):
    """A number that depends on all real parts of a result, without those that are NaN."""
    return total(
        np.nansum(weight * (real(part) + (0.7 * imag(part) if plain(part).dtype.kind == "c" else 0)))
        for part, weight in zip(parts, weights, strict=True)
    )


def adapted(call, operands):
    names = {**CONSTANTS, "__name__": "program"}
    exec(f"def program({', '.join(operands)}):\n    return {call}\n", names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pb.func.adapt(names["program"])(*operands.values())


def check(call, ways):
    """A call on tensors, in every way, has the values that it has on arrays, and their gradient."""
    operands = values()
    expected = called(call, operands)
    of_reals = [k for k, part in enumerate(parts_of(expected)) if np.asarray(part).dtype.kind in "fc"]
    random = np.random.default_rng(5)
    weights = [random.normal(size=np.shape(parts_of(expected)[k])) for k in of_reals]
    directions = {
        name: random.normal(size=x.shape) + (1j * random.normal(size=x.shape) if x.dtype.kind == "c" else 0)
        for name, x in operands.items()
    }

    def observe(step):
        moved = called(call, {name: x + step * directions[name] for name, x in operands.items()})
        return observed([parts_of(moved)[k] for k in of_reals], weights, np.real, np.imag, sum)

    step = 1e-6
    numerical = (observe(step) - observe(-step)) / (2 * step)
    for way in ways:
        leaves = {name: pb.tensor(value, requires_grad=True) for name, value in operands.items()}
        found = way(call, {name: leaf * 1 for name, leaf in leaves.items()})
        assert form_of(found) == form_of(expected)
        for part, wanted in zip(parts_of(found), map(np.asarray, parts_of(expected)), strict=True):
            if wanted.dtype.kind not in "OUS":
                assert plain(part).shape == wanted.shape
                # Eigenvalues are always complex (docs/coming-from-numpy.md), and a rank is an int64.
                assert plain(part).dtype == wanted.dtype or plain(part).dtype.kind in "ci"
                np.testing.assert_allclose(plain(part), wanted, rtol=1e-5, atol=1e-8)
        kept = [(parts_of(found)[k], weight) for k, weight in zip(of_reals, weights, strict=True)]
        kept = [(part, weight) for part, weight in kept if isinstance(part, pb.Tensor) and part.requires_grad]
        along = 0.0
        if kept:
            seen = observed(*zip(*kept, strict=True), np.real, np.imag, sum)
            gradients = pb.autograd.grad(seen, list(leaves.values()), allow_unused=True)
            along = sum(
                np.sum(gradient.numpy().conj() * directions[name]).real
                for name, gradient in zip(leaves, gradients, strict=True)
                if gradient is not None
            )
        is_single = "float32" in call
        np.testing.assert_allclose(along, numerical, rtol=0.2 if is_single else 1e-4, atol=0.1 if is_single else 1e-5)


@pytest.mark.parametrize("call", [call for call, why in LINES if not why])
def test_a_call_of_numpy_has_numpys_values_and_their_gradient(call):
    if call in GONE and np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        pytest.skip("NumPy 2.5 has it no more")
    check(call, [called, adapted])


@pytest.mark.parametrize("call", [call for call, why in LINES if "NumPy makes" in why])
def test_what_converts_by_force_is_differentiated_in_adapted_code(call):
    check(call, [adapted])


@pytest.mark.parametrize("call", [call for call, why in LINES if why])
def test_a_call_that_would_lose_a_gradient_is_refused(call):
    operands = values()
    called(call, operands)
    with pytest.raises((TypeError, ValueError, pb.autograd.AutogradError)):
        called(call, {name: pb.tensor(value, requires_grad=True) for name, value in operands.items()})


def test_the_calls_that_are_refused_work_on_constants():
    operands = {name: pb.tensor(value) for name, value in values().items()}
    for call in ("np.r_[v, c, 1.0]", "np.c_[v, w]", "np.sum([v, w], axis=0)", "np.hypot.reduce(v)"):
        np.testing.assert_allclose(plain(called(call, operands)), called(call, values()))


# Nothing is left out --------------------------------------------------------------------------------------------------

NAMESPACES = {
    "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.emath": np.emath,
    "np.lib.stride_tricks": np.lib.stride_tricks,
}  # fmt: skip
DISPATCHED = {
    f"{prefix}.{name}": function
    for prefix, namespace in NAMESPACES.items()
    for name, function in vars(namespace).items()
    if isinstance(function, type(np.sum)) and not name.startswith("_")
}
# Dates, bits and files; nothing of theirs has a derivative.
OF_OTHER_KINDS = {
    "busday_count", "busday_offset", "datetime_as_string", "is_busday", "packbits", "unpackbits", "save", "savetxt",
    "savez", "savez_compressed",
}  # fmt: skip


def test_every_function_of_numpy_is_called_here_or_writes_or_asks_about_the_form():
    text = "\n".join(call for call, _ in LINES)
    others = ABOUT_ITS_FORM | ABOUT_THE_ARRAY | MUTATIONS.keys() | OF_OTHER_KINDS | {"empty_like", "shape", "size"}
    missing = [
        name for name in DISPATCHED
        if f"{name}(" not in text and name.removeprefix("np.") not in others
    ]  # fmt: skip
    assert not missing


def bindings(function):
    """Argument lists of a function: every required one, and then one optional one at a time, or all of them."""
    parameters = inspect.signature(function).parameters.values()
    kinds = inspect.Parameter
    places = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    required = [p for p in places if p.default is p.empty]
    optional = [
        p for p in parameters
        if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY) and p.default is not p.empty and p.name != "out"
    ]  # fmt: skip
    has_star = any(p.kind is kinds.VAR_POSITIONAL for p in parameters)
    star = (object(), object()) if has_star else ()
    base = tuple(object() for _ in required)
    for chosen in itertools.chain([()], ((p,) for p in optional), [tuple(optional)]):
        yield (*base, *star), {p.name: object() for p in chosen}
    if not has_star:
        yield tuple(object() for _ in places if _.name != "out"), {}


@pytest.mark.parametrize("name", [name for name, function in DISPATCHED.items() if twin_of(function)])
def test_every_argument_of_numpys_reaches_its_own_parameter(name):
    function = DISPATCHED[name]
    if function.__name__ in FORMS and name.count(".") == 1:
        return  # called with NumPy's own names
    twin = twin_of(function)
    leading, places, *_ = accepted_by(twin, function.__name__)
    numpy_places = list(inspect.signature(function).parameters)
    for args, kwargs in bindings(function):
        given, rest = given_arguments(function, args, kwargs)
        placed = place_arguments(twin, function, given, rest)
        if placed is None or "dtype" in given:
            continue  # refused as a whole, or cast before the call
        positional, named = placed
        star = len(positional) - len(rest)
        assert all(found is part for found, part in zip(positional[star:], rest, strict=True))
        for numpy_name, value in given.items():
            by_name = [key for key, found in named.items() if found is value]
            by_place = [index for index, found in enumerate(positional[:star]) if found is value]
            if by_name:
                assert by_name[0] in (numpy_name, SYNONYMS.get(numpy_name))
            elif by_place:
                (index,) = by_place
                here = places[index] if index < len(places) else "*"
                is_same = here in (numpy_name, SYNONYMS.get(numpy_name))
                # An array under another name, or the same place where neither has the other's name for it.
                assert is_same or numpy_places.index(numpy_name) == index
                assert is_same or index < leading or here not in numpy_places
