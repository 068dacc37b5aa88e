"""Losses over classes under `vmap`: every example as if it were alone, with labels that are ignored or out of range."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, hessian, jacrev, vmap

rng = np.random.default_rng(3)
LOGITS = pb.asarray(rng.standard_normal((6, 5)))
LABELS = pb.asarray(np.array([0, 4, 2, 2, 1, 3]))
SOME_IGNORED = pb.asarray(np.array([0, -100, 2, -100, 1, 3]))
WEIGHT = pb.asarray(np.linspace(0.5, 2.0, 5))

LOSSES = {
    "mean": pb.nn.cross_entropy,
    "sum": lambda z, label: pb.nn.cross_entropy(z, label, reduction="sum"),
    "none": lambda z, label: pb.nn.cross_entropy(z, label, reduction="none"),
    "weighted": lambda z, label: pb.nn.cross_entropy(z, label, WEIGHT),
    "smoothed": lambda z, label: pb.nn.cross_entropy(z, label, label_smoothing=0.1),
    "nll": lambda z, label: pb.nn.nll_loss(z, label),
}


def one_by_one(f, *arguments):
    return np.stack([np.asarray(f(*example)) for example in zip(*arguments, strict=True)])


@pytest.mark.parametrize("labels", [LABELS, SOME_IGNORED], ids=["all count", "some are ignored"])
@pytest.mark.parametrize("name", LOSSES)
def test_values_and_gradients_are_those_of_single_examples(name, labels):
    loss = LOSSES[name]
    for f in (loss, grad(loss), jacrev(grad(loss)), hessian(loss)):
        found = vmap(f)(LOGITS, labels)
        np.testing.assert_allclose(found.numpy(), one_by_one(f, LOGITS, labels), rtol=1e-12, atol=1e-14)


def test_a_batch_of_batches():
    logits, labels = LOGITS.reshape(2, 3, 5), LABELS.reshape(2, 3)
    found = vmap(vmap(grad(pb.nn.cross_entropy)))(logits, labels)
    np.testing.assert_allclose(found.numpy().reshape(6, 5), vmap(grad(pb.nn.cross_entropy))(LOGITS, LABELS).numpy())
    rows = vmap(grad(lambda z, label: pb.nn.cross_entropy(z, label)))(logits, labels)  # the mean over three rows
    np.testing.assert_allclose(3 * rows.numpy(), found.numpy(), rtol=1e-12)


def test_what_is_not_mapped_is_the_same_for_all():
    f = grad(pb.nn.cross_entropy)
    shared = vmap(f, (0, None))(LOGITS, pb.asarray(2))
    np.testing.assert_allclose(shared.numpy(), one_by_one(lambda z: f(z, pb.asarray(2)), LOGITS), rtol=1e-12)
    one = LOGITS[0].clone()
    mapped = vmap(f, (None, 0))(one, LABELS)
    np.testing.assert_allclose(mapped.numpy(), one_by_one(lambda label: f(one, label), LABELS), rtol=1e-12)


def test_gradients_of_the_total_are_not_those_of_one_example():
    z = LOGITS.clone().requires_grad_()
    scale = pb.arange(6.0)
    (vmap(pb.nn.cross_entropy)(z, LABELS) * scale).sum().backward()
    expected = vmap(grad(pb.nn.cross_entropy))(LOGITS, LABELS) * scale[:, None]
    np.testing.assert_allclose(z.grad.numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("bad", [5, -1])
def test_labels_that_are_no_classes_are_refused(bad):
    labels = pb.asarray(np.array([0, 4, 2, bad, 1, 3]))
    for loss in (pb.nn.cross_entropy, pb.nn.nll_loss):
        with pytest.raises(IndexError, match="outside the 5 classes"):
            vmap(grad(loss))(LOGITS, labels)


def test_losses_without_axes_have_the_dtype_of_a_mean():
    whole = pb.nn.mse_loss(pb.asarray(3), pb.asarray(1))
    assert whole.dtype == np.float64 and whole.item() == 4.0
    assert pb.nn.mse_loss(pb.asarray(np.float32(3)), pb.asarray(np.float32(1))).dtype == np.float32
    with pytest.raises(ValueError, match="reduction must be one of"):
        pb.nn.mse_loss(pb.asarray(3.0), pb.asarray(1.0), reduction="median")
