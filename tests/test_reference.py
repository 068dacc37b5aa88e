"""The reference has every public name in one place, with a meaning, conventions at the edges, and examples that run."""

import importlib
import inspect
import re
from collections import Counter

import pytest

from docs._ext import declarations, examples, names, reference
from pullback.declare.op import registry

ENTRIES = names.entries()
BY_NAME = {name: entry for entry in ENTRIES for name in entry.names}


def public_names():
    for module_name in names.public_modules():
        prefix = module_name.removeprefix("pullback").lstrip(".")
        for name in importlib.import_module(module_name).__all__:
            yield f"{prefix}.{name}".lstrip(".")


def test_every_public_name_is_in_exactly_one_entry():
    counts = Counter(name for entry in ENTRIES for name in entry.names)
    assert [name for name in public_names() if counts[name] != 1] == []


def test_every_entry_says_what_its_object_is():
    assert [entry.name for entry in ENTRIES if not re.search(r"\w.*[.:?]", entry.meaning)] == []


def test_every_array_function_is_on_the_page_of_a_family():
    assert [op.name for op in registry.values() if op.is_public and op.name not in BY_NAME] == []
    pages = {BY_NAME[op.name].page for op in registry.values() if op.is_public}
    assert pages <= names.FAMILIES.keys()


def declared_in(text):
    """The names that a page declares to Sphinx."""
    objects = re.findall(r"^```\{py:(?!module)\w+\} ([\w.]+).*\n:module: pullback$", text, re.MULTILINE)
    return Counter(objects + re.findall(r"^```\{py:module\} pullback\.(.*)$", text, re.MULTILINE))


def test_every_name_is_declared_once_so_that_links_and_the_search_find_it():
    modules = [entry for entry in ENTRIES if inspect.ismodule(entry.value)]
    declared = sum((declared_in(reference.directive(entry)) for entry in ENTRIES if entry not in modules), Counter())
    declared += sum((declared_in(reference.family_page(entry.page, [entry])) for entry in modules), Counter())
    assert declared == Counter(BY_NAME.keys())


def test_the_page_of_a_family_links_to_the_pages_of_its_objects():
    members = reference.families()["signal"]
    linked = re.findall(r"^\| \[`[^`]+`\]\(api/([^)]+)\.md\)", reference.family_page("signal", members), re.MULTILINE)
    assert linked == [entry.name for entry in members if reference.has_page(entry)] and len(linked) > 20
    assert reference.neighbours()[f"reference/api/{linked[1]}"] == ("signal", linked[0], linked[2])
    assert all(f"[{reference.page_title(page)}]({page}.md)" in reference.index_page() for page in reference.families())


def test_files_of_pages_differ_on_systems_that_ignore_case():
    files = [entry.name.lower() for entry in ENTRIES if reference.has_page(entry)]
    assert len(files) == len(set(files))


def test_the_page_of_tensor_has_every_public_member():
    page = reference.tensor_page(BY_NAME["Tensor"])
    members = {name for name in dir(BY_NAME["Tensor"].value) if not name.startswith("_")}
    shown = {name.removeprefix("Tensor.") for name in declared_in(page)} | set(re.findall(r"\[(\w+)\]\(", page))
    assert members - shown == set()
    assert not re.findall(r"^```\n\n", page.partition("## Members of its own")[2], re.MULTILINE)


@pytest.mark.parametrize("name", ["sin", "where", "sum", "special.erf", "nn.hardtanh", "tril", "reshape", "special.jv"])
def test_a_page_shows_signature_kind_and_example(name):
    text = reference.object_page(BY_NAME[name])
    assert text.startswith(f"---\norphan: true\n---\n\n# pullback.{name}\n")
    assert declared_in(text) == Counter(BY_NAME[name].names)
    assert "\n- Kind: " in text
    assert f"\n>>> out = pb.{name}(" in text
    assert "\n>>> pb.autograd.grad(" in text


def test_a_page_says_where_the_object_is_used():
    assert "</gallery/newton_cg>" in reference.object_page(BY_NAME["func.hvp_fn"])


def test_a_page_that_did_not_change_is_not_written_again(tmp_path):
    reference.write(tmp_path, {"index": "a", "api/x": "b"})
    before = (tmp_path / "index.md").stat().st_mtime_ns
    reference.write(tmp_path, {"index": "a"})
    assert (tmp_path / "index.md").stat().st_mtime_ns == before
    assert sorted(path.name for path in tmp_path.rglob("*.md")) == ["index.md"]


def test_the_formulas_are_those_of_the_declaration():
    assert declarations.gradient_of(registry["sin"]) == "Derivative:\n\n- by `x`: `cos(x)`"
    assert "- by `y`: `x`" in declarations.gradient_of(registry["multiply"])
    assert "`x / y`, and 0 where both are 0" in declarations.gradient_of(registry["xlogy"])
    assert "asking for it raises" in declarations.gradient_of(registry["special.jv"])
    assert "broadcast_to(g, shape=x.shape)" in declarations.gradient_of(registry["sum"])
    assert declarations.gradient_of(registry["floor"]) == ""
    assert declarations.kind_of(registry["argmax"]) == "not differentiable: its results are positions"


def test_formulas_can_be_shown_for_every_operator():
    for op in registry.values():
        assert bool(declarations.gradient_of(op)) == (op.is_differentiable and not declarations.is_constant(op)), op


def test_every_array_function_has_an_example_that_runs():
    failed = {}
    for entry in filter(names.is_array_function, ENTRIES):
        try:
            text = examples.example_of(entry.names, entry.value, entry.op).text
            assert any(f"pb.{name}(" in text for name in entry.names)
        except Exception as error:
            failed[entry.name] = error
    assert failed == {}, "give these a line in docs/_ext/example_calls.txt"


def test_every_line_of_the_table_is_about_a_function_that_exists():
    _, calls = examples.table()
    assert [name for name in calls if name not in BY_NAME] == []


def test_an_example_that_does_not_run_is_an_error():
    with pytest.raises(TypeError):
        examples.run(examples.Call({"x": "pb.tensor([1.0])"}, "pb.sin(x, x, x, x)", None))


CONVENTIONS = """
    max min amax amin max_with_indices kthvalue maximum minimum fmax fmin sort topk cummax median quantile
    unique_values nanmax nanmedian nanquantile scatter_reduce abs sign floor round trunc heaviside sqrt cbrt rsqrt log
    log1p asin acosh atanh logit pow divide remainder fmod floor_divide hypot atan2 copysign xlogy special.rel_entr
    sinc nextafter special.ndtri special.erfinv special.boxcox special.gammainc special.betainc special.zeta prod
    cumprod linalg.vector_norm linalg.matrix_norm std var cdist dist pairwise_distance normalize cosine_similarity
    nanmean logcumsumexp interp histogram bincount linspace full where clip logaddexp logsumexp softmax
    nn.scaled_dot_product_attention relu nn.elu nn.hardswish nn.dropout nn.leaky_relu nn.prelu nn.hardtanh nn.relu6
    nn.hardsigmoid nn.softshrink nn.hardshrink nn.threshold nn.l1_loss nn.smooth_l1_loss nn.huber_loss
    nn.binary_cross_entropy nn.cross_entropy nn.layer_norm nn.max_pool2d nn.kl_div angle take index_put fft.irfft
    linalg.cholesky linalg.eigh linalg.svd linalg.eig linalg.det linalg.slogdet linalg.qr linalg.pinv linalg.lstsq
    linalg.solve_triangular linalg.solve linalg.inv random.normal random.bernoulli
"""


@pytest.mark.parametrize("name", CONVENTIONS.split())
def test_conventions_at_ties_kinks_and_edges_are_in_the_docstring(name):
    text = inspect.getdoc(BY_NAME[name].value) or ""
    assert re.search(r"gradient|derivative|slope|differentia|subgradient", text), text
