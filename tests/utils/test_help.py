"""`pb.help` and the pages of errors: every code and class has a text, and its program ends in the error."""

import ast
from pathlib import Path

import pytest

import pullback as pb
from docs._ext.errors import SUBJECTS, index_page, page_of, raised_by
from pullback import errors
from pullback._phrases import BY_CODE
from pullback.utils._help import explanations

SOURCE = Path(pb.__file__).parent
CLASSES = {name for name in errors.__all__ if issubclass(getattr(errors, name), BaseException)}
# What a short program cannot show: it would need a module of its own, a large system, a mistake of ours, or luck.
WITHOUT_PROGRAM = {
    "FOREIGN_KIND", "FOREIGN_RESULT", "FOREIGN_RNG", "FOREIGN_SHAPE", "FOREIGN_TAPE",
    "ADAPT_UNSEEN", "AOTError", "AliasError", "ConstantMutationError", "DetachedWarning", "FunctionalizationError",
    "GuardError", "HOOKS_NONE", "HOOK_FILL_NONE", "HigherOrderError", "INTERNAL", "ImplicitAccuracyWarning",
    "InternalError", "LEAF_MOVED", "NO_DERIVATIVE", "PartitionError", "PerformanceWarning", "RecompileLimitError",
    "SAVED_INTERMEDIATE", "SCIPY_ADJOINT_FAILED", "SCIPY_CALLBACK_CHANGED", "SCIPY_DEGENERATE", "SCIPY_EVENT_GRAZING",
    "SideEffectError", "TraceError", "TraceWarning", "UnsupportedTypeError", "VMAP_NO_RULE",
}  # fmt: skip


def codes_in_the_source():
    """The codes that errors are raised with, read with `ast`."""
    found = {"INTERNAL", *BY_CODE}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = ast.unparse(node.func).rpartition(".")[2]
                if name in ("AutogradError", "_replacement_error"):
                    inside = [each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)]
                    found |= {value for value in inside if isinstance(value, str)}
    return found


def test_every_code_and_every_class_is_explained_and_nothing_else():
    assert explanations().keys() == codes_in_the_source() | CLASSES
    assert {each.subject for each in explanations().values()} == SUBJECTS.keys()


def test_every_explanation_has_a_sentence_a_reason_and_three_ways_out():
    for name, each in explanations().items():
        assert each.sentence.endswith("."), name
        assert "\nWhy: " in each.text and each.text.count("\n- ") == 3, name
    assert {name for name, each in explanations().items() if not each.program} == WITHOUT_PROGRAM


@pytest.mark.parametrize("name", sorted(explanations().keys() - WITHOUT_PROGRAM))
def test_the_program_ends_in_its_error(name):
    if "scipy" in explanations()[name].program:
        pytest.importorskip("scipy", reason="SciPy is an optional extra")
    error = raised_by(explanations()[name].program)
    assert name in {getattr(error, "code", ""), *(cls.__name__ for cls in type(error).__mro__)}, error


def test_a_page_shows_the_program_and_its_message():
    page = page_of(explanations()["LEAF_INPLACE"])
    assert "```python\nx = pb.tensor([1.0, 2.0], requires_grad=True)\nx += 1\n```" in page
    assert "```text\nAutogradError: [LEAF_INPLACE] a leaf float64[2]" in page
    assert all(f"[{name}]({name}.md)" in index_page() for name in explanations())


def test_help_prints_the_text_and_the_message_says_so(capsys):
    error = raised_by(explanations()["LEAF_INPLACE"].program)
    assert str(error).splitlines()[-1].split() == ["help", 'pb.help("LEAF_INPLACE")']
    for asked in ("LEAF_INPLACE", error):
        pb.help(asked)
        assert capsys.readouterr().out == f"LEAF_INPLACE: {explanations()['LEAF_INPLACE'].text}"
    pb.help(pb.GradcheckError)
    assert capsys.readouterr().out.startswith("GradcheckError: Analytical and numerical derivatives differ.")


def test_help_of_an_unknown_code_names_those_that_are_near():
    with pytest.raises(KeyError, match=r"did you mean .*LEAF_INPLACE"):
        pb.help("LEAF_INPLCE")
