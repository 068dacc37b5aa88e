"""`pb.scipy.spatial` and `pb.scipy.cluster`: values are SciPy's, and derivatives agree with differences."""

import itertools

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.spatial
import scipy.spatial.distance
import scipy.spatial.transform

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.scipy import spatial
from pullback.scipy.cluster import hierarchy, vq
from pullback.scipy.spatial import distance
from pullback.scipy.spatial.transform import Rotation, Slerp

RANDOM = np.random.default_rng(3)
X = RANDOM.uniform(0.2, 2, (6, 3))
Y = RANDOM.uniform(0.2, 2, (4, 3))
W = RANDOM.uniform(0.5, 1, 3)
V = RANDOM.standard_normal((4, 3))
Theirs = scipy.spatial.transform.Rotation
METRICS = [
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "jensenshannon",
    "mahalanobis", "minkowski", "seuclidean", "sqeuclidean",
]  # fmt: skip
SQUARE = RANDOM.standard_normal((3, 3))
OPTIONS = {"mahalanobis": {"VI": SQUARE @ SQUARE.T}, "minkowski": {"p": 3.0, "w": W}, "seuclidean": {"V": W}}


def leaf(value):
    return pb.tensor(np.array(value, dtype=float), requires_grad=True)


def checked(function, *values):
    return gradcheck(function, tuple(map(leaf, values)), check_forward_ad=True)


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_scipys_and_differentiate(metric):
    for options in ({}, OPTIONS.get(metric, {} if metric == "jensenshannon" else {"w": W})):
        ours = distance.cdist(leaf(X), leaf(Y), metric, **options).detach().numpy()
        np.testing.assert_allclose(ours, scipy.spatial.distance.cdist(X, Y, metric, **options), rtol=1e-13, atol=1e-15)
        ours = distance.pdist(leaf(X), metric, **options).detach().numpy()
        np.testing.assert_allclose(ours, scipy.spatial.distance.pdist(X, metric, **options), rtol=1e-13, atol=1e-15)

        def both(x, y, *values, options=options):
            return distance.cdist(x, y, metric, **dict(zip(options, values)))

        assert checked(both, X, Y, *options.values())
        assert checked(lambda x, options=options: distance.pdist(x, metric, **options), X)
    single = getattr(scipy.spatial.distance, metric)
    options = OPTIONS.get(metric, {})
    ours = getattr(distance, metric)(leaf(X[0]), Y[0], **options)
    assert ours.item() == pytest.approx(single(X[0], Y[0], **options), rel=1e-13)


def test_euclidean_distances_are_scipys_to_the_bit_and_differentiate_twice():
    x = leaf(X)
    np.testing.assert_array_equal(distance.cdist(x, Y).detach().numpy(), scipy.spatial.distance.cdist(X, Y))
    assert gradgradcheck(distance.cdist, (x, leaf(Y)))
    far = leaf(X + 1e7)
    (gradient,) = pb.autograd.grad(distance.cdist(far, Y + 1e7).sum(), far)
    (near,) = pb.autograd.grad(distance.cdist(x, Y).sum(), x)
    np.testing.assert_allclose(gradient.numpy(), near.numpy(), rtol=1e-7)


def test_points_that_coincide_have_slope_zero():
    for metric in ("euclidean", "sqeuclidean", "cityblock", "minkowski", "chebyshev", "seuclidean"):
        a = leaf(X[:1])
        options = {"p": 3.0} if metric == "minkowski" else {"V": W} if metric == "seuclidean" else {}
        distance.cdist(a, X[:1], metric, **options).sum().backward()
        np.testing.assert_array_equal(a.grad.numpy(), np.zeros((1, 3)))


def test_a_metric_of_the_user_and_one_that_counts():
    p = leaf(2.0)
    out = distance.cdist(X, leaf(Y), lambda u, v: (pb.abs(u - v) ** p).sum())
    np.testing.assert_allclose(out.detach().numpy(), scipy.spatial.distance.cdist(X, Y, "sqeuclidean"))
    out.sum().backward()
    assert p.grad is not None
    counted = distance.cdist(leaf(np.round(X)), np.round(Y), "hamming")
    assert not counted.requires_grad
    np.testing.assert_array_equal(counted.numpy(), scipy.spatial.distance.cdist(np.round(X), np.round(Y), "hamming"))


def test_distances_batch_and_compile():
    gradient = pb.func.grad(lambda x: (distance.cdist(x, Y) ** 3).sum() + distance.pdist(x, "cosine").sum())
    many = pb.tensor(RANDOM.standard_normal((3, 6, 3)))
    looped = pb.stack([gradient(each) for each in many])
    np.testing.assert_allclose(pb.func.vmap(gradient)(many).numpy(), looped.numpy(), rtol=1e-10)
    np.testing.assert_allclose(pb.compile(gradient)(many[0]).numpy(), looped[0].numpy(), rtol=1e-10)


def test_other_distances():
    assert checked(lambda x, y: spatial.distance_matrix(x, y, p=3), X, Y)
    assert checked(lambda x, y: spatial.minkowski_distance_p(x[0], y[0], 2.5), X, Y)
    d, i, j = distance.directed_hausdorff(leaf(X), Y)
    assert (d.item(), i, j) == pytest.approx(scipy.spatial.distance.directed_hausdorff(X, Y))
    np.testing.assert_array_equal(distance.squareform(leaf([1.0, 2.0, 3.0])).detach().numpy(),
                                  scipy.spatial.distance.squareform([1.0, 2.0, 3.0]))  # fmt: skip
    assert checked(lambda v: distance.squareform(distance.squareform(v) ** 2), [1.0, 2.0, 3.0])


def test_the_nearest_neighbours_have_unit_vectors_as_slopes():
    points = leaf(Y)
    d, i = spatial.KDTree(X).query(points, k=2)
    plain_d, plain_i = scipy.spatial.KDTree(X).query(Y, k=2)
    np.testing.assert_array_equal(i, plain_i)
    np.testing.assert_allclose(d.detach().numpy(), plain_d, rtol=1e-15)
    (gradient,) = pb.autograd.grad(d[:, 0].sum(), points)
    np.testing.assert_allclose(gradient.numpy(), (Y - X[i[:, 0]]) / plain_d[:, :1])
    assert checked(lambda x, y: spatial.cKDTree(x).query(y, k=2, p=3)[0], X, Y)
    assert checked(lambda x, y: spatial.KDTree(x, boxsize=2.5).query(y)[0], X, Y)
    far, _ = spatial.KDTree(leaf(X)).query(Y, distance_upper_bound=1e-3)
    assert np.isinf(far.detach().numpy()).all()
    assert spatial.KDTree(X).query_ball_point(Y[0], 1.0) == scipy.spatial.KDTree(X).query_ball_point(Y[0], 1.0)
    with pytest.raises(pb.AutogradError) as raised:
        spatial.KDTree(X).query_ball_point(leaf(Y[0]), 1.0)
    assert raised.value.code == "SCIPY_NO_RULE"


def test_the_volume_and_the_area_of_a_hull():
    width = leaf(2.0)
    units = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    corners = pb.stack([pb.stack([a * width, pb.tensor(b)]) for a, b in units])
    hull = spatial.ConvexHull(corners)
    assert (hull.volume.item(), hull.area.item()) == pytest.approx((2, 6))
    assert pb.autograd.grad(hull.volume, width)[0].item() == pytest.approx(1.0)
    cloud = RANDOM.standard_normal((9, 3))
    theirs = scipy.spatial.ConvexHull(cloud)
    ours = spatial.ConvexHull(leaf(cloud))
    assert (ours.volume.item(), ours.area.item()) == pytest.approx((theirs.volume, theirs.area))
    assert checked(lambda p: (spatial.ConvexHull(p).volume, spatial.ConvexHull(p).area), cloud)


def test_shapes_and_great_circles():
    a, b = RANDOM.standard_normal((2, 5, 2))
    for ours, theirs in zip(spatial.procrustes(leaf(a), b), scipy.spatial.procrustes(a, b)):
        np.testing.assert_allclose(ours.detach().numpy(), theirs, atol=1e-14)
    assert checked(spatial.procrustes, a, b)
    start, end = np.array([1.0, 0.0, 0.0]), np.array([0.6, 0.8, 0.0])
    at = np.array([0.2, 0.5])
    np.testing.assert_allclose(spatial.geometric_slerp(start, end, leaf(at)).detach().numpy(),
                               scipy.spatial.geometric_slerp(start, end, at), atol=1e-15)  # fmt: skip
    assert checked(lambda t: spatial.geometric_slerp(start, end, t), at)
    with pytest.raises(pb.AutogradError) as raised:
        spatial.geometric_slerp(start, start, leaf(at))
    assert raised.value.code == "SCIPY_DEGENERATE"


def test_codes_are_constant_and_distances_to_them_are_not():
    codes, d = vq.vq(leaf(X), Y)
    plain_codes, plain_d = scipy.cluster.vq.vq(X, Y)
    np.testing.assert_array_equal(codes.numpy(), plain_codes)
    np.testing.assert_allclose(d.detach().numpy(), plain_d)
    assert checked(lambda x, y: vq.vq(x, y)[1], X, Y) and checked(vq.whiten, X)
    for call in (lambda: vq.kmeans(leaf(X), 2), lambda: hierarchy.linkage(leaf(X))):
        with pytest.raises(pb.AutogradError) as raised:
            call()
        assert raised.value.code == "SCIPY_NO_RULE"


# Rotations.


def same(ours, theirs):
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=1e-12, atol=1e-14)


def test_representations_of_rotations_are_scipys():
    ours, theirs = Rotation.from_rotvec(leaf(V)), Theirs.from_rotvec(V)
    for name in ("as_matrix", "as_rotvec", "as_mrp", "magnitude", "as_quat"):
        same(getattr(ours, name)(), getattr(theirs, name)())
    same(Rotation.from_rotvec(leaf(9 * V)).as_rotvec(degrees=True), Theirs.from_rotvec(9 * V).as_rotvec(degrees=True))
    same(Rotation.from_matrix(leaf(theirs.as_matrix() + 0.05)).as_matrix(),
         Theirs.from_matrix(theirs.as_matrix() + 0.05).as_matrix())  # fmt: skip
    same(Rotation.from_mrp(leaf(V)).as_matrix(), Theirs.from_mrp(V).as_matrix())
    same(Rotation.from_quat(leaf([1.0, 2.0, 3.0, 4.0]), scalar_first=True).as_matrix(),
         Theirs.from_quat([1.0, 2.0, 3.0, 4.0], scalar_first=True).as_matrix())  # fmt: skip
    same(Rotation.random(3, rng=1).as_matrix(), Theirs.random(3, rng=1).as_matrix())
    for letters in itertools.product("xyz", repeat=3):
        if letters[0] != letters[1] != letters[2]:
            for seq in ("".join(letters), "".join(letters).upper()):
                same(ours.as_euler(seq), theirs.as_euler(seq))
                angles = theirs.as_euler(seq)
                same(Rotation.from_euler(seq, leaf(angles)).as_matrix(), Theirs.from_euler(seq, angles).as_matrix())
    same(Rotation.from_euler("z", leaf(30.0), degrees=True).as_matrix(), Theirs.from_euler("z", 30, True).as_matrix())


@pytest.mark.parametrize(
    "function, values",
    [
        (lambda v, x: Rotation.from_rotvec(v).apply(x), (V, X[:4])),
        (lambda v, x: Rotation.from_rotvec(v).apply(x, inverse=True), (V, X[:4])),
        (lambda v: Rotation.from_rotvec(v).as_euler("xyz"), (V,)),
        (lambda v: Rotation.from_rotvec(v).as_euler("ZXZ"), (V,)),
        (lambda a: Rotation.from_euler("zyx", a, degrees=True).as_matrix(), ([10.0, 20.0, 30.0],)),
        (lambda m: Rotation.from_matrix(m).as_rotvec(), (Theirs.from_rotvec(V).as_matrix(),)),
        (lambda v, n: (Rotation.from_rotvec(v).inv() ** n).as_matrix(), (V, 0.4)),
        (lambda v: (Rotation.from_rotvec(v[:2]) * Rotation.from_rotvec(v[2:])).as_mrp(), (V,)),
        (lambda v, w: Rotation.from_rotvec(v).mean(w).as_matrix(), (V, [1.0, 2.0, 0.5, 1.0])),
        (lambda a, b: Rotation.align_vectors(a, b)[0].as_matrix(), (X, X[::-1] + Y[:1])),
        (lambda a, b: Rotation.align_vectors(a, b)[1], (X, X[::-1] + Y[:1])),
        (lambda v, t: Slerp([0.0, 1.0, 2.5, 3.0], Rotation.from_rotvec(v))(t).as_matrix(), (V, [0.3, 1.7, 2.9])),
    ],
)  # fmt: skip
def test_rotations_differentiate(function, values):
    assert checked(function, *values)


def test_means_alignments_and_paths_of_rotations_are_scipys():
    same(Rotation.from_rotvec(leaf(V)).mean().as_matrix(), Theirs.from_rotvec(V).mean().as_matrix())
    (ours, rest), (theirs, plain_rest) = Rotation.align_vectors(leaf(X), X[::-1]), Theirs.align_vectors(X, X[::-1])
    same(ours.as_matrix(), theirs.as_matrix())
    assert rest.item() == pytest.approx(plain_rest)
    times, at = [0.0, 1.0, 2.5, 3.0], [0.0, 0.3, 1.0, 2.2, 3.0]
    same(Slerp(times, Rotation.from_rotvec(leaf(V)))(at).as_matrix(),
         scipy.spatial.transform.Slerp(times, Theirs.from_rotvec(V))(at).as_matrix())  # fmt: skip


def test_no_rotation_at_all_has_the_exact_derivatives():
    zero = np.zeros((2, 3))
    assert checked(lambda v: Rotation.from_rotvec(v).as_matrix(), zero)
    assert gradgradcheck(lambda v: Rotation.from_rotvec(v).as_matrix(), (leaf(zero),))
    assert checked(lambda v: (Rotation.from_rotvec(v) ** 3).as_rotvec(), zero)
    jacobian = pb.func.jacrev(lambda v: Rotation.from_rotvec(v).as_rotvec())(pb.tensor(zero[0]))
    np.testing.assert_array_equal(jacobian.numpy(), np.eye(3))


def test_where_a_representation_has_no_derivative_it_is_refused():
    with pytest.raises(pb.AutogradError) as raised:
        Rotation.from_euler("zyx", leaf([10.0, 90.0, 30.0]), degrees=True).as_euler("zyx")
    assert raised.value.code == "SCIPY_DEGENERATE"
    with pytest.raises(pb.AutogradError) as raised:
        Rotation.from_quat(leaf([1.0, 0.0, 0.0, 0.0])).as_rotvec()
    assert raised.value.code == "SCIPY_DEGENERATE"
    with pytest.warns(UserWarning, match="Gimbal lock"):
        Rotation.from_euler("zyx", [10.0, 90.0, 30.0], degrees=True).as_euler("zyx")


def test_an_array_whose_memory_belongs_to_cython_is_taken():
    angles = Theirs.from_rotvec(V).as_euler("xyz")
    np.testing.assert_array_equal(pb.asarray(angles).numpy(), angles)


def test_rotations_batch_and_compile():
    gradient = pb.func.grad(lambda v: (Rotation.from_rotvec(v).apply(X[0]) ** 3).sum())
    looped = pb.stack([gradient(each) for each in pb.tensor(V)])
    np.testing.assert_allclose(pb.func.vmap(gradient)(pb.tensor(V)).numpy(), looped.numpy(), rtol=1e-12)
    np.testing.assert_allclose(pb.compile(gradient)(pb.tensor(V[0])).numpy(), looped[0].numpy(), rtol=1e-12)
