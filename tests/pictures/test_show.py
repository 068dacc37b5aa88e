"""`pb.show`: what pictures say of tapes, and the forms that they have."""

import gc
import json
import re
import subprocess
import sys
import weakref
from xml.etree import ElementTree

import numpy as np
import pytest

import pullback as pb
from pullback.graph.text import style
from pullback.pictures import Picture

SVG = "{http://www.w3.org/2000/svg}"


def leaf(*shape):
    return pb.ones(shape, requires_grad=True)


def a_loop(steps, x, w, b):
    h = x
    for _ in range(steps):
        h = pb.tanh(w @ h + b)
    return h.sum()


def written_through_a_view(x):
    z = x * 1
    z[1:] *= 3
    z[0] = x[1] * 2
    return z.sum()


def test_a_tape_is_written_from_the_result_back_to_its_leaves():
    x = leaf(2)
    assert pb.show((x * x).sum()).to_text(100).splitlines() == [
        "tape: 2 operations, 1 leaf, 16 B kept for backward, 0 B of them new",
        "sum  float64[]",
        "multiply  float64[2]  keeps x 16 B",
        "└─ leaf x  float64[2]  no .grad",
    ]


def test_leaves_are_called_as_the_caller_calls_them_or_by_their_name():
    weights = {"first": leaf(2)}
    assert "leaf weights['first']" in str(pb.show(weights["first"] * 2))
    assert "leaf rate" in str(pb.show(pb.tensor(2.0, requires_grad=True, name="rate") * 2))


def test_steps_of_a_loop_fold_into_one():
    x, w, b = leaf(2), leaf(2, 2), leaf(2)
    text = str(pb.show(a_loop(12, x, w, b)))
    assert "tape: 37 operations, 3 leaves" in text and "tanh × 11" in text and len(text.splitlines()) < 15
    assert "×" not in str(pb.show(a_loop(3, x, w, b)))


def test_a_folded_tape_keeps_every_byte_in_its_totals():
    x, w, b = leaf(2), leaf(2, 2), leaf(2)
    data = pb.show(a_loop(12, x, w, b)).data
    # tanh keeps its 12 results, matmul the 11 of them that it reads, the matrix and x.
    assert data["new_bytes"] == 12 * 16 and data["kept_bytes"] == 12 * 16 + 16 + 32


def test_writes_are_shown_with_their_region_and_views_with_a_dashed_line():
    x = leaf(3)
    picture = pb.show(written_through_a_view(x))
    names = [node["name"] for node in picture.data["nodes"]]
    assert "write multiply into [1:]" in names and "write assignment into [0]" in names and "[1]" in names
    by_name = {node["name"]: node for node in picture.data["nodes"]}
    assert by_name["[1]"]["inputs"][0]["view"] and not by_name["sum"]["inputs"][0]["view"]
    assert 'stroke-dasharray="2 3"' in picture.to_svg() and "[style=dashed]" in picture.to_dot()


def test_hooks_gradients_and_released_values_are_marked():
    x = leaf(2)
    y = pb.exp(x)
    y.register_hook(lambda g: g)
    loss = y.sum()
    assert "1 hook" in str(pb.show(loss)) and "no .grad" in str(pb.show(loss))
    loss.backward()
    text = str(pb.show(loss))
    assert "released" in text and ".grad is set" in text and "0 B kept" in text


def test_of_a_large_tape_the_nearest_nodes_are_drawn_and_the_others_counted():
    h = x = leaf(1)
    for k in range(600):
        h = h * (k + 1.0) if k % 3 else pb.sin(h)
    picture = pb.show(h, max_nodes=50)
    assert picture.data["hidden"] == 600 - 50 + 1  # with the leaf
    assert "more behind it" in str(picture) and "… 551 more" in picture.to_svg()
    assert pb.show(h, depth=2).data["operations"] == 3 and x.grad is None


def test_looking_keeps_nothing_alive_and_changes_nothing():
    x = leaf(1000)
    y = pb.exp(x)
    node, version = weakref.ref(y.grad_fn), y._version
    rare = y.grad_fn.rare
    picture = pb.show(y)
    assert y._version == version and y.grad_fn.rare is rare
    del y
    gc.collect()
    assert node() is None and "exp" in str(picture)


def test_values_packed_by_hooks_are_not_unpacked():
    x = leaf(3)

    def unpack(packed):
        raise AssertionError("unpacked")

    with pb.autograd.graph.saved_tensors_hooks(lambda t: "somewhere else", unpack):
        y = pb.exp(x)
    assert "packed" in str(pb.show(y))


def test_several_results_share_one_picture_and_a_node_has_one_too():
    x = leaf(2)
    a, b = pb.sin(x), pb.exp(x)
    assert pb.show([a, b]).data["operations"] == 2
    assert pb.show(a.grad_fn).data["operations"] == 1
    assert str(a.graph()) == str(pb.show(a))
    assert str(pb.show(pb.ones(3))).endswith("nothing was recorded")


def test_a_custom_function_is_a_box_of_its_own_kind():
    class Double(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    picture = pb.show(Double.apply(leaf(2)))
    assert [node["kind"] for node in picture.data["nodes"]] == ["leaf", "custom"] and picture.data["kept_bytes"] == 16


def every_picture():
    x, w, b = leaf(2), leaf(2, 2), leaf(2)
    compiled = pb.compile(lambda x: (pb.sin(x) * x).sum(), backend="numpy")
    compiled(x)
    with pb.memory() as ledger, pb.profile() as profile:
        a_loop(3, x, w, b).backward()
    found = {
        "tape": pb.show(a_loop(12, x, w, b)),
        "write": pb.show(written_through_a_view(leaf(3))),
        "graph": pb.show(compiled),
        "explanation": pb.show(compiled, x),
        "memory": pb.show(ledger),
        "profile": pb.show(profile),
        "tree": pb.show({"a": [w, b], "b": np.ones(3)}),
        "levels": pb.show(pb.vmap(pb.func.grad(lambda x: (x * x).sum())), pb.ones((5, 3))),
    }
    try:
        import scipy.sparse
    except ImportError:
        return found
    return found | {"pattern": pb.show(scipy.sparse.eye(40, format="csr"))}


@pytest.fixture(scope="module")
def pictures():
    return every_picture()


def test_every_picture_is_a_well_formed_svg_with_a_title_and_loads_nothing(pictures):
    for name, picture in pictures.items():
        root = ElementTree.fromstring(picture.to_svg())
        assert root.get("role") == "img" and root.find(f"{SVG}title").text == picture.title, name
        for text in (picture.to_svg(), picture.to_html(), picture._repr_mimebundle_()["text/html"]):
            outside = re.findall(r"(?:href|src)=\"(?!data:)|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
            assert outside == [], name


def selectors(css):
    css = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*)\}", r"\1", css)
    for rule in re.findall(r"([^{}]+)\{", css):
        yield from re.split(r",(?![^(]*\))", rule.strip())


def test_every_selector_of_a_notebook_output_begins_with_its_own_class(pictures):
    explained = pb.compile(lambda x: x * 2, backend="numpy").explain(leaf(2))
    outputs = {name: picture._repr_mimebundle_()["text/html"] for name, picture in pictures.items()}
    outputs["explain"] = explained._repr_html_()
    outputs["tensor"] = leaf(2, 3)._repr_mimebundle_()["text/html"]
    for name, text in outputs.items():
        (scope,) = re.findall(r'^<div class="pb-out (pb-[0-9a-f]+)">', text)
        (css,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        found = list(selectors(css))
        assert len(found) > 20 and all(each.strip().startswith(f".{scope}") for each in found), name
        assert "<script" not in text and " id=" not in text and " style=" not in text, name
        for place in ("prefers-color-scheme:dark", "[data-theme=dark]", "[data-jp-theme-light=false]", ".vscode-dark"):
            assert place in css


def test_two_different_outputs_have_different_classes(pictures):
    classes = [re.search(r"pb-[0-9a-f]{10}", p._repr_mimebundle_()["text/html"])[0] for p in pictures.values()]
    assert len(set(classes)) == len(classes)


def luminance(color):
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_on_every_colour(theme):
    boxes = style.LIGHT if theme == "light" else style.DARK
    inks = style._INKS[theme]
    for kind, (fill, _) in boxes.items():
        assert contrast(inks["ink"], fill) >= 4.5 and contrast(inks["soft"], fill) >= 4.5, kind
    assert contrast(inks["ink"], inks["head"]) >= 4.5 and contrast(inks["soft"], inks["paper"]) >= 4.5


def test_a_page_is_one_small_file_with_a_policy_that_allows_its_own_style_and_script_only(pictures):
    for name, picture in pictures.items():
        page = picture.to_html()
        assert len(page.encode()) <= 300_000, name
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
        for tag in ("style", "script"):
            (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
            assert style._allowed(text) in policy
        assert len(style._SCRIPT) <= 6000 and policy.startswith("default-src 'none'")


def test_every_picture_has_json_of_a_version_and_text_of_the_width_asked_for(pictures):
    for name, picture in pictures.items():
        data = json.loads(picture.to_json())
        assert data["schema_version"] == 1 and data["title"] == picture.title
        assert all(len(line) <= 60 for line in picture.to_text(60).splitlines()), name


def test_a_picture_is_saved_in_the_form_of_its_suffix(tmp_path):
    picture = pb.show(pb.exp(leaf(2)))
    for suffix, beginning in {"svg": "<svg", "html": "<!doctype", "txt": "tape", "dot": "digraph", "json": "{"}.items():
        picture.save(tmp_path / f"p.{suffix}")
        assert (tmp_path / f"p.{suffix}").read_text(encoding="utf-8").startswith(beginning)
    with pytest.raises(ValueError, match=r"known are \.svg"):
        picture.save(tmp_path / "p.png")
    with pytest.raises(ValueError, match="theme is one of"):
        pb.show(pb.exp(leaf(2)), theme="blue")


def test_a_line_of_time_has_no_form_in_the_language_of_dot(pictures):
    with pytest.raises(TypeError, match="is not a graph"):
        pictures["profile"].to_dot()


def test_text_is_ascii_where_the_terminal_has_nothing_else():
    program = "import pullback as pb; print(pb.show(pb.exp(pb.ones(2, requires_grad=True))))"
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", program], capture_output=True, check=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert b"`- leaf" in done.stdout


def test_what_has_no_picture_is_refused_with_a_list_of_what_has():
    with pytest.raises(TypeError, match="no picture of a int; show draws tensors"):
        pb.show(3)


def test_levels_are_named_from_the_outer_to_the_inner_one(capsys):
    def f(x):
        pb.show.levels(x)
        return (x * x).sum()

    pb.vmap(pb.func.grad(f))(pb.ones((5, 3)))
    assert capsys.readouterr().out.splitlines() == [
        "2 levels open, from outer to inner",
        "   level              x: float64[3]",
        "1  vmap   batch of 5  batch axis 0 of 1",
        "2  grad   backward    differentiated",
    ]
    picture = pb.show(lambda x: pb.func.jvp(pb.sin, (x,), (x,)), pb.ones(3))
    assert [(level["name"], level["told"]) for level in picture.data["levels"]] == [("jvp", "forward")]


def test_a_tree_counts_numbers_and_bytes():
    picture = pb.show({"w": pb.ones((3, 2), requires_grad=True), "rest": [np.ones(4, np.float32), 1.5]})
    assert picture.data["count"] == 10 and picture.data["bytes"] == 64
    assert "w       float64[3, 2]  48 B  grad" in picture.to_text(80)


def test_a_pattern_shows_its_entries_as_dots_and_counts_its_colours():
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is an optional extra")
    picture = pb.show(sparse.eye(8, format="csr"))
    assert picture.data["colors"] == 1
    assert picture.to_text(80).splitlines()[1:] == ["⠑⢄⠀⠀", "⠀⠀⠑⢄"]
    large = sparse.random(5000, 4000, 0.004, format="csr", random_state=0)
    assert "too many to be coloured" in pb.show(large).title
    assert len(pb.show(large).to_svg()) < 2_000_000 and len(pb.show(large).to_text(80).splitlines()[1]) <= 80


def test_a_tensor_in_a_notebook_is_text_and_a_table_of_limited_size():
    bundle = pb.ones((30, 40), requires_grad=True)._repr_mimebundle_()
    assert bundle["text/plain"].startswith("tensor([[1.") and "float64[30, 40], requires_grad" in bundle["text/html"]
    assert bundle["text/html"].count("<tr>") == 21 and bundle["text/html"].count("<td") == 21 * 21
    assert "text/html" not in pb.ones((2, 2, 2))._repr_mimebundle_()


def test_the_text_of_explain_groups_equal_values_and_names_the_largest():
    def f(x):
        h = x
        for _ in range(20):
            h = pb.sin(h) * x
        return h.sum()

    found = pb.aot.explain(f, leaf(3), partitioner="default")
    (line,) = [line for line in str(found).splitlines() if line.startswith("saved")]
    assert "sin ×20, 24 B each" in line and len(line) < 120
    many = [pb.ones(k + 1, requires_grad=True) for k in range(8)]
    text = str(pb.aot.explain(lambda *xs: sum((x * x).sum() for x in xs), *many))
    assert "3 more of" in text
    assert "more of" not in pb.aot.explain(lambda *xs: sum((x * x).sum() for x in xs), *many).to_text(verbose=True)


def test_pictures_are_no_part_of_importing_the_package():
    program = "import sys, pullback; print([m for m in sys.modules if m.startswith('pullback.pictures')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert isinstance(pb.show(leaf(2)), Picture)
