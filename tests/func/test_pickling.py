"""What transforms return pickles as what it was made of, and computes the same on the other side."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from tests.func import far_functions as far

X = np.array([0.5, 1.0, 2.0])

MADE = {
    "grad": lambda: pb.func.grad(far.energy),
    "grad with options": lambda: pb.func.grad(far.two, (1, 0), has_aux=True),
    "grad_and_value": lambda: pb.func.grad_and_value(far.energy),
    "value_and_grad": lambda: pb.func.value_and_grad(far.energy),
    "jacrev": lambda: pb.func.jacrev(far.residual, chunk_size=2),
    "jacfwd": lambda: pb.func.jacfwd(far.residual),
    "jacobian": lambda: pb.func.jacobian(far.residual),
    "hessian": lambda: pb.func.hessian(far.energy),
    "vmap": lambda: pb.func.vmap(far.one_by_one, out_dims=0),
    "vmap of grad": lambda: pb.func.vmap(pb.func.grad(far.one_by_one)),
    "hvp_fn": lambda: pb.func.hvp_fn(far.energy, pb.tensor(X))[1],
    "adapt": lambda: pb.func.adapt(far.plain_numpy),
    "grad of adapt": lambda: pb.func.grad(pb.func.adapt(far.plain_numpy)),
    "adapt of NumPy": lambda: pb.func.adapt(np.sin),
    "compile": lambda: pb.compile(far.energy, backend="numpy"),
    "grad of compile": lambda: pb.func.grad(pb.compile(far.energy, backend="numpy")),
    "compile of grad": lambda: pb.compile(pb.func.grad(far.energy), backend="numpy"),
    "custom_jvp": lambda: far.stated_forward,
    "custom_vjp": lambda: far.stated_backward,
    "grad of custom_vjp": lambda: pb.func.grad(far.sum_of_stated),
    "a global made by a decorator": lambda: far.decorated,
    "a partial inside": lambda: pb.func.grad(far.with_weight(2.0)),
    "a model inside": lambda: pb.func.grad(far.Model(3.0)),
}


def results(function, name):
    args = (X, X + 1) if name == "grad with options" else (X,)
    found = function(*[pb.tensor(arg) for arg in args])
    return [np.asarray(leaf) for leaf in pb.tree.leaves(found)]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_computes_the_same(name, protocol):
    function = MADE[name]()
    again = pickle.loads(pickle.dumps(function, protocol))
    for one, other in zip(results(function, name), results(again, name), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_fresh_process_computes_the_same():
    expected = {name: results(make(), name) for name, make in MADE.items()}
    sent = pickle.dumps({name: make() for name, make in MADE.items()})
    program = "import sys; from tests.func.test_pickling import answer; answer(sys.stdin.buffer, sys.stdout.buffer)"
    run = subprocess.run([sys.executable, "-c", program], input=sent, stdout=subprocess.PIPE, check=True)
    found = pickle.loads(run.stdout)
    for name, arrays in expected.items():
        for one, other in zip(arrays, found[name], strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


def answer(source, out):
    """What the fresh process does."""
    functions = pickle.load(source)
    pickle.dump({name: results(function, name) for name, function in functions.items()}, out)


def test_what_was_captured_travels_too():
    weight = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    again = pickle.loads(pickle.dumps(pb.func.grad(far.Model(weight))))
    np.testing.assert_array_equal(np.asarray(again(pb.tensor(X)).detach()), 2 * X * [1, 2, 3])


def test_a_decorated_global_is_the_same_object_again():
    for made in (far.decorated, far.stated_forward, far.stated_backward):
        assert pickle.loads(pickle.dumps(made)) is made


def test_functions_that_hold_a_graph_refuse():
    x = pb.tensor(X)
    for kept in (pb.func.vjp(far.residual, x)[1], pb.func.linearize(far.residual, x)[1],
                 pb.func.linear_transpose(far.doubled, x)):  # fmt: skip
        with pytest.raises(TypeError, match="send the inputs instead"):
            pickle.dumps(kept)


def test_transformed_functions_still_look_like_what_they_were_made_of():
    made = pb.func.grad(far.energy)
    assert made.__name__ == "energy" and made.__wrapped__ is far.energy
    assert made.__doc__ == "Gradient of `energy`.\n\nA scalar."
    assert pb.vmap(made).__doc__ == "Vectorized form of the gradient of `energy`.\n\nA scalar."
    assert pb.func.adapt(far.energy).__doc__ == "A scalar."  # which computes the same
    assert pb.func.grad(pb.func.adapt(far.energy)).__doc__ == "Gradient of `energy`.\n\nA scalar."
    assert repr(made) == "<grad of energy>"
    assert copy.deepcopy(made) is made and copy.copy(made) is made


def test_a_transform_decorates_a_method():
    class Well:
        depth = 3.0

        @staticmethod
        @pb.func.grad
        def force(x):
            return (x * x).sum()

        def slope(self, x):
            return pb.func.grad(lambda x: (self.depth * x * x).sum())(x)

    np.testing.assert_array_equal(np.asarray(Well.force(pb.tensor(X))), 2 * X)
    np.testing.assert_array_equal(np.asarray(Well().slope(pb.tensor(X))), 6 * X)
