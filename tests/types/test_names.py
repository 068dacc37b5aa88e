"""What completion offers, and the names that people who know other libraries type."""

import subprocess
import sys

import pytest

import pullback as pb


def test_dir_lists_public_names_only_and_loads_nothing():
    program = (
        "import sys, pullback as pb; before = set(sys.modules); names = dir(pb); assert set(sys.modules) == before; "
        "print(sorted(name for name in names if name[:2] != '__') == sorted(pb.__all__))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout == "True\n", ran.stderr


@pytest.mark.parametrize("name", ["grad", "hessian", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp", "vmap"])
def test_a_transform_at_the_top_is_that_of_func(name):
    assert getattr(pb, name) is getattr(pb.func, name)


def test_vmap_knows_the_names_of_jax_for_its_axes():
    x = pb.reshape(pb.arange(6.0), (2, 3))
    mapped = pb.vmap(lambda column: column * 2, in_axes=1, out_axes=1)
    assert pb.array_equal(mapped(x), x * 2)
    assert pb.array_equal(pb.vmap(lambda column, y: column * y, in_axes=(1, None))(x, 2), x.T * 2)


@pytest.mark.parametrize(
    "options", [{"in_dims": 1, "in_axes": 0}, {"in_dims": 0, "in_axes": 1}, {"out_dims": 0, "out_axes": 0}]
)
def test_two_names_for_one_thing_are_refused(options):
    with pytest.raises(TypeError, match="both were given"):
        pb.vmap(pb.sin, **options)


PROGRAMS = {
    "import pullback.special as sp\nsp.gammal": "gammaln",
    "from pullback import linalg\nlinalg.cholesk": "cholesky",
    "from pullback.nn import functional\nfunctional.layer_nor": "layer_norm",
    "import pullback as pb\npb.autograd.forward_ad.dual_l": "dual_level",
    "import pullback as pb\npb.value_and_g": "value_and_grad",
    "import pullback as pb\npb.ones(3).resha": "reshape",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_completion_knows_names_of_modules_tensors_and_results(program):
    jedi = pytest.importorskip("jedi", reason="jedi, which editors complete by, is not installed")
    lines = program.split("\n")
    found = [each.name for each in jedi.Script(program).complete(len(lines), len(lines[-1]))]
    assert PROGRAMS[program] in found
