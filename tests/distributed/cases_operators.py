"""Case 87 for all operators, those of reductions, views, indices and products included."""

import itertools

import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.declare.samples import samples_of
from pullback.distributed import Partial, Replicate, Shard
from tests.operators.declared import has_rule, registry, tolerance

RANKS = 3
ON_THREADS = (2,)


def case_087_every_declared_operator():
    """An operator on blocks gives what it gives on the whole, or refuses: samples of all, in random placements."""
    mesh, random = dist.mesh(dist.size(), "x"), np.random.default_rng(0)
    done = {"right": 0, "refused": 0}
    for op in registry.values():
        if op.takes_payloads or op.family in ("random", "custom") or op.sample_rule is None:
            continue
        for sample in itertools.islice(samples_of(op), 4):
            inputs = sample.inputs()
            if not any(isinstance(x, np.ndarray) for x in inputs):
                continue
            try:
                check_sample(op, sample, inputs, mesh, random)
            except dist.PlacementError:
                done["refused"] += 1
            except ModuleNotFoundError as missing:
                assert missing.name.partition(".")[0] == "scipy"  # which ranks may do without
            else:
                done["right"] += 1
    assert done["right"] > 850, done
    return f"{done['right']} right, {done['refused']} refused"


def check_sample(op, sample, inputs, mesh, random):
    placed = [
        dist.distribute(x, mesh, [some_placement(x, random)]) if isinstance(x, np.ndarray) else x for x in inputs
    ]  # fmt: skip
    plain = [pb.tensor(np.array(x)) if isinstance(x, np.ndarray) else x for x in inputs]
    for k, (x, y) in enumerate(zip(placed, plain, strict=True)):
        if op.is_differentiable and isinstance(y, pb.Tensor) and y.dtype.kind in "fc" and has_rule(op, k):
            x.requires_grad_(), y.requires_grad_()
    with np.errstate(all="ignore"):
        expected = pb.tree.leaves(op.run(tuple(plain), sample.params))
        found = pb.tree.leaves(op.run(tuple(placed), sample.params))
        for x, y in zip(found, expected, strict=True):
            assert x.shape == y.shape and x.dtype == y.dtype, op.name
            same(op, sample, x.detach(), y.detach())
        differentiable = [(x, y) for x, y in zip(found, expected, strict=True) if y.requires_grad]
        if differentiable:
            sum(pb.abs(x).sum() for x, _ in differentiable).backward()
            sum(pb.abs(y).sum() for _, y in differentiable).backward()
    for x, y in zip(placed, plain, strict=True):
        if isinstance(y, pb.Tensor) and y.grad is not None:
            gradient = y.grad.to_dense() if hasattr(y.grad, "to_dense") else y.grad
            same(op, sample, x.grad, gradient)


def same(op, sample, x, y):
    np.testing.assert_allclose(x.full_tensor().numpy(), np.asarray(y), **tolerance(sample), err_msg=op.name)


def some_placement(x, random):
    known = [Replicate(), *[Shard(dim) for dim in range(x.ndim)], *([Partial()] if x.dtype.kind in "fc" else [])]
    return known[random.integers(len(known))]


def case_087_layers_of_networks():
    """Examples in blocks go through layers as they do on one rank, and parameters get the gradients of all of them."""
    mesh, random = dist.mesh(dist.size(), "x"), np.random.default_rng(0)
    images, labels = random.normal(size=(5, 2, 8, 8)), random.integers(0, 3, 5)
    words = random.normal(size=(5, 6, 4))
    layers = {
        "convolution": (images, [(3, 2, 3, 3), (27, 3)], lambda x, w, v, labels: pb.nn.cross_entropy(
            pb.nn.max_pool2d(pb.nn.conv2d(x, w), 2).reshape(5, -1) @ v, labels)),
        "by channel": (images, [(4, 1, 3, 3)], lambda x, w, _: (pb.nn.conv2d(x, w, groups=2) ** 2).sum()),
        "transposed": (images, [(2, 3, 3, 3)], lambda x, w, _: (pb.nn.conv_transpose2d(x, w, stride=2) ** 2).sum()),
        "layer norm": (words, [(4,), (4,)], lambda x, w, b, _: (pb.nn.layer_norm(x, (4,), w, b) ** 3).sum()),
        "rms norm": (words, [(4,)], lambda x, w, _: (pb.nn.rms_norm(x, (4,), w) ** 3).sum()),
        "batch norm": (words, [(6,)], lambda x, w, _: (pb.nn.batch_norm(x, None, None, w, training=True) ** 3).sum()),
        "attention": (words, [(4, 4)], lambda x, w, _: (
            pb.nn.scaled_dot_product_attention(x @ w, x, x, is_causal=True) ** 2).sum()),
        "topk": (words, [(4,)], lambda x, w, _: (pb.topk(x * w, 2)[0] ** 2).sum()),
        "spread": (words, [(4,)], lambda x, w, _: sum((each**2).sum() for each in pb.var_mean(x * w, axis=1))),
        "distances": (words[:, 0], [(3, 4)], lambda x, w, _: (pb.cdist(x, w) ** 3).sum()),
    }  # fmt: skip
    for name, (x, shapes, loss) in layers.items():
        arrays = [x, *[random.normal(size=shape) for shape in shapes]]
        dims = range(2) if name in ("layer norm", "rms norm", "attention") else range(1)
        for dim in dims:  # of attention, words in blocks instead of sentences
            plain = [pb.tensor(each, requires_grad=True) for each in arrays]
            expected = loss(*plain, labels)
            placed = [Shard(dim), *[Replicate()] * len(shapes)]
            spread = [
                dist.distribute(each, mesh, [how]).requires_grad_() for each, how in zip(arrays, placed, strict=True)
            ]  # fmt: skip
            found = loss(*spread, dist.distribute(labels, mesh, [Shard(0)]))
            expected.backward(), found.backward()
            np.testing.assert_allclose(found.detach().full_tensor(), expected.detach(), rtol=1e-10, err_msg=name)
            for own, whole, how in zip(spread, plain, placed, strict=True):
                assert own.grad.placements == (how,), name
                np.testing.assert_allclose(own.grad.full_tensor(), whole.grad, rtol=1e-9, atol=1e-12, err_msg=name)


def case_087_parts_are_written():
    """`x[part] = value`, also where the part lies on several ranks, and the value is sharded or a number."""
    mesh, whole = dist.mesh(dist.size(), "x"), slice(None)
    keys = [
        (slice(1, 4),), (slice(None, None, 2),), (2,), (-1,), (slice(0, 0),), (whole, slice(1, 3)), (3, slice(1, 3)),
        (slice(4, 1, -1), 2), (..., 0), (None, slice(2, 5)), (slice(2, 4), slice(1, 3)),
    ]  # fmt: skip
    for key, dim in itertools.product(keys, range(2)):
        random = np.random.default_rng(0)
        x, v = random.normal(size=(7, 4)), random.normal(size=np.zeros((7, 4))[key].shape)
        for how in (Replicate(), Shard(0)) if v.ndim else (Replicate(), None):
            plain = pb.tensor(x, requires_grad=True), pb.tensor(v, requires_grad=True)
            placed = dist.distribute(x, mesh, [Shard(dim)]).requires_grad_(), (
                3.0 if how is None else dist.distribute(v, mesh, [how]).requires_grad_())  # fmt: skip
            plain = plain if how else (plain[0], 3.0)
            results = []
            for own, value in (plain, placed):
                changed = own * 2
                changed[key] = value * value
                (changed**3).sum().backward()
                results.append(changed.detach())
            assert results[1].placements == (Shard(dim),)
            np.testing.assert_allclose(results[1].full_tensor(), results[0])
            for own, expected in zip(placed, plain, strict=True):
                if isinstance(own, pb.Tensor):
                    np.testing.assert_allclose(own.grad.full_tensor(), expected.grad)
