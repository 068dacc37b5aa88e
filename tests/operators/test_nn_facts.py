"""Values and gradients of `pullback.nn` against numbers that torch 2.13 computed, one row per call.

Operands are waves, `wave(shape, k)` for the k-th; a row has the sum of the result times `cos(0), cos(1), ...` and the
same sum of each operand's gradient when the result's gradient is these cosines. None: torch has no such gradient.
"""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

F = pb.nn

FACTS = [
    ("F.leaky_relu(3 * x, 0.2)", "x(6)", 3.23862928348, [7.64019827499]),
    ("F.hardtanh(3 * x)", "x(6)", 1.37064327328, [2.94025542998]),
    ("F.relu6(9 * x)", "x(6)", 6.37445192161, [8.82076628993]),
    ("F.hardswish(5 * x)", "x(6)", 5.3708462834, [10.1153416273]),
    ("F.softshrink(x)", "x(6)", 0.471758128149, [1.97281898985]),
    ("F.hardshrink(x)", "x(6)", 1.21882658051, [1.97281898985]),
    ("F.threshold(x, 0.2, 9.0)", "x(6)", -11.1435874853, [1.46510477129]),
    ("F.elu(3 * x, 1.5)", "x(6)", 3.58626776449, [7.6615551091]),
    ("F.selu(3 * x)", "x(6)", 3.81921748043, [8.08956680986]),
    ("F.softplus(3 * x, 2.0, 3.0)", "x(6)", 2.87202944966, [6.08037374475]),
    ("F.silu(3 * x)", "x(6)", 3.1788591219, [6.34696180991]),
    ("F.mish(3 * x)", "x(6)", 3.33010419461, [6.41355586759]),
    ("F.softsign(x)", "x(6)", 0.626587794874, [1.51860135552]),
    ("F.tanhshrink(x)", "x(6)", 0.224349311487, [0.873454885648]),
    ("F.gelu(3 * x)", "x(6)", 3.26013688366, [6.18302141312]),
    ("F.gelu(3 * x, approximate='tanh')", "x(6)", 3.26091072659, [6.18313990773]),
    ("F.logsigmoid(x)", "x(6)", 0.623430379758, [1.25396051829]),
    ("F.rrelu(x)", "x(6)", 1.08312034759, [2.56154108971]),
    ("F.softmin(x, dim=0)", "x(6)", -0.144896553692, [-0.358410680486]),
    ("F.glu(x)", "x(6)", 0.541041843182, [0.356531530762]),
    ("F.prelu(x, w)", "x(2,3,2) w(3)", -1.67428460907, [5.13102716903, -1.18117322974]),
    (
        "F.layer_norm(x, (4,), w, b)",
        "x(2,3,4) w(4) b(4)",
        -0.028563987631,
        [0.286430403373, -0.838640388412, 1.23106626084],
    ),
    ("F.layer_norm(x, (3, 4))", "x(2,3,4)", 2.52324247646, [14.4036340998]),
    ("F.rms_norm(x, (4,), w)", "x(2,3,4) w(4)", -0.300670716294, [0.388836195066, -0.526762297665]),
    (
        "F.batch_norm(x, None, None, w, b, training=True)",
        "x(3,4,2) w(4) b(4)",
        1.406113544,
        [-9.5732530445, 2.81388325922, -1.14834812705],
    ),
    (
        "F.batch_norm(x, m.detach(), 2 + v.detach(), w, b)",
        "x(3,4) m(4) v(4) w(4) b(4)",
        -0.448375802809,
        [-1.41248574139, None, None, 1.77544190165, 0.505889963754],
    ),
    (
        "F.group_norm(x, 2, w, b)",
        "x(3,4,2) w(4) b(4)",
        -0.287064738935,
        [-4.90216527817, 1.00781144755, -1.14834812705],
    ),
    (
        "F.instance_norm(x, None, None, w, b)",
        "x(3,4,5) w(4) b(4)",
        -1.00182479069,
        [-4.19455046207, 0.542496944188, -5.12989219689],
    ),
    ("F.local_response_norm(x, 3, 0.5, 0.6, 2.0)", "x(2,5,3)", -0.348004156619, [8.78619159611]),
    ("F.normalize(x, p=3.0, dim=0)", "x(3,4)", -1.14018270904, [3.07232220335]),
    ("F.cross_entropy(x, classes(0, 2, 1, 4))", "x(4,5)", 1.39471201215, [-0.642017381358]),
    (
        "F.cross_entropy(x, classes(0, 2, 1, 4), w.detach() + 2, ignore_index=2, label_smoothing=0.1)",
        "x(4,5) w(5)",
        1.25230262854,
        [-0.460429333897, None],
    ),
    (
        "F.cross_entropy(x, classes(0, 2, 1, 4), w.detach() + 2, reduction='none', label_smoothing=0.1)",
        "x(4,5) w(5)",
        2.84742679663,
        [-2.35289506328, None],
    ),
    (
        "F.cross_entropy(x, p * p, w.detach() + 2, label_smoothing=0.2)",
        "x(4,5,2) p(4,5,2) w(5)",
        6.38622066856,
        [-0.171133637112, 2.12085032385, None],
    ),
    (
        "F.nll_loss(x, classes(0, 2, 1, 4), w.detach() + 2, ignore_index=2)",
        "x(4,5) w(5)",
        -0.801450372238,
        [-0.632553351487, None],
    ),
    ("F.mse_loss(x, y)", "x(6) y(6)", 0.538875469647, [-0.512355848248, 0.512355848248]),
    ("F.l1_loss(x, y, reduction='sum')", "x(6) y(6)", 3.80538084673, [-2.80314283361, 2.80314283361]),
    ("F.smooth_l1_loss(x, y, beta=0.5)", "x(6) y(6)", 0.424053811468, [-0.273367847044, 0.273367847044]),
    ("F.huber_loss(x, y, delta=0.5)", "x(6) y(6)", 0.212026905734, [-0.136683923522, 0.136683923522]),
    ("F.binary_cross_entropy(x * x, y * y)", "x(6) y(6)", 2.38103000795, [14.3153663197, 1.67261129326]),
    (
        "F.binary_cross_entropy_with_logits(3 * x, y * y, 2 + w.detach(), reduction='sum', pos_weight=2 + p.detach())",
        "x(2,3) y(2,3) w(2,3) p(3)",
        12.6985119641,
        [6.37671814045, -9.05500211177, None, None],
    ),
    ("F.kl_div(x, y * y, reduction='batchmean')", "x(2,3) y(2,3)", -0.813720801244, [0.289270159165, 0.978839446369]),
    ("F.poisson_nll_loss(x, 4 * y * y, full=True)", "x(5) y(5)", 2.65121116332, [0.794959662406, 4.10034340026]),
    (
        "F.gaussian_nll_loss(x, y, 2 + v, full=True)",
        "x(5) y(5) v(5)",
        1.3723674914,
        [-0.195996866715, 0.195996866715, 0.0352170093321],
    ),
    ("F.hinge_embedding_loss(x, classes(1, -1, 1, -1, -1), 0.5)", "x(5)", 0.617442278774, [0.445497856183]),
    ("F.soft_margin_loss(x, classes(1, -1, 1, -1, -1))", "x(5)", 0.644890408265, [-0.100378803991]),
    (
        "F.margin_ranking_loss(x, y, classes(1, -1, 1, -1, -1), 0.3)",
        "x(5) y(5)",
        0.637856520683,
        [-0.420666762319, 0.420666762319],
    ),
    (
        "F.cosine_embedding_loss(x, y, classes(1, -1, 1, -1), 0.1)",
        "x(4,3) y(4,3)",
        0.56881844047,
        [0.005021957997, 0.0350900722957],
    ),
    (
        "F.triplet_margin_loss(x, y, z, swap=True)",
        "x(4,3) y(4,3) z(4,3)",
        1.0340675763,
        [-0.787829247254, 0.619752561643, 0.168076685611],
    ),
    ("F.multi_margin_loss(x, classes(0, 2, 1, 4), 2)", "x(4,5)", 0.650584716539, [-0.894483637114]),
    ("F.multilabel_margin_loss(x, classes(3, 0, -1, 1))", "x(4)", 1.39203817188, [0.0570739829607]),
    (
        "F.multilabel_soft_margin_loss(x, y * y, 2 + w)",
        "x(4,5) y(4,5) w(5)",
        1.24084490573,
        [-0.000130181981693, -0.000669197187997, -0.0643050868539],
    ),
    (
        "F.ctc_loss(x.log_softmax(-1), classes([1, 2, 2], [3, 1, 0]), classes(6, 5), classes(3, 2))",
        "x(6,2,4)",
        1.55970171905,
        [-0.0253735340982],
    ),
    (
        "F.conv1d(x, w, b, 2, 1, 2)",
        "x(2,4,9) w(6,4,3) b(6)",
        1.40437079683,
        [-1.67094683278, 0.641709218624, 0.762845364596],
    ),
    (
        "F.conv2d(x, w, b, (2, 1), (1, 2), (1, 2), 2)",
        "x(2,4,6,7) w(6,2,3,2) b(6)",
        55.7240119607,
        [-28.5118766014, -14.0353788456, 0.229106954034],
    ),
    ("F.conv2d(x, w, padding='same')", "x(2,4,6,7) w(6,4,3,2)", -3.71632182528, [-142.854511434, -0.623317969767]),
    ("F.conv3d(x, w, stride=2, padding=1)", "x(1,2,4,5,4) w(3,2,2,3,2)", 2.5381125866, [16.3540908984, 6.49206873303]),
    (
        "F.conv_transpose1d(x, w, b, 2, 1, 1)",
        "x(2,4,5) w(4,3,3) b(3)",
        1.60633294893,
        [3.29403025699, -0.605434827057, 2.15138662465],
    ),
    (
        "F.conv_transpose2d(x, w, b, (2, 3), (1, 0), (1, 2), 2)",
        "x(2,4,5,3) w(4,3,3,2) b(6)",
        0.726926824618,
        [0.997630832004, 8.626294, 0.00203703094669],
    ),
    (
        "F.conv_transpose2d(x, w, None, 1, 0, 1, 1, 2)",
        "x(2,4,5,3) w(4,3,3,2)",
        0.361748024758,
        [-0.128546173273, -0.322238717507],
    ),
    ("F.max_pool1d(x, 3, 2, 1)", "x(2,3,9)", 1.86934193132, [0.510585859372]),
    ("F.max_pool2d(x, 3, 2, 1, ceil_mode=True)", "x(2,3,6,8)", 0.905258418954, [-3.84529404774]),
    ("F.max_pool2d(x, 2, 1, 0, 2)", "x(2,3,6,7)", 0.547632621671, [2.32651849992]),
    ("F.max_pool3d(x, 2)", "x(1,2,4,4,5)", 0.652967235675, [0.804934305065]),
    ("F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)", "x(2,3,6,8)", -0.227849912284, [-0.343992971785]),
    (
        "F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)",
        "x(2,3,6,8)",
        -0.184349769796,
        [-0.909366119025],
    ),
    ("F.avg_pool3d(x, 2, divisor_override=5)", "x(1,2,4,4,5)", -0.532828564733, [-0.320488811164]),
    ("F.lp_pool2d(x, 2.0, 2)", "x(2,3,6,8)", 1.73034139659, [1.67302019585]),
    ("F.adaptive_avg_pool2d(x, (3, None))", "x(2,3,7,8)", 2.73700633508, [0.729734707397]),
    ("F.adaptive_max_pool2d(x, (3, 5))", "x(2,3,7,8)", -1.9460453938, [2.57348932254]),
    ("F.adaptive_max_pool3d(x, 2)", "x(1,2,4,3,5)", 0.712827421344, [0.721652715205]),
    ("F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)", "x(2,3,6,8)", -6.52076248034, [37.2428542302]),
    ("F.unfold(x, (2, 3), padding=1, stride=(2, 1))", "x(2,3,5,6)", -1.22700979744, [-5.57987328627]),
    ("F.fold(x, (4, 5), (2, 2))", "x(2,12,12)", -0.0779110603314, [5.99047286067]),
    ("F.interpolate(x, size=(7, 5), mode='bilinear')", "x(2,3,4,6)", 2.46768805025, [0.599253409402]),
    (
        "F.interpolate(x, size=(7, 5), mode='bicubic', align_corners=True)",
        "x(2,3,4,6)",
        2.24776709982,
        [0.492144097387],
    ),
    ("F.interpolate(x, scale_factor=1.7, mode='linear')", "x(2,3,5)", 0.108991352038, [-0.834366713413]),
    ("F.interpolate(x, scale_factor=1.6, mode='nearest-exact')", "x(2,3,5)", 0.335165718576, [1.43978669665]),
    ("F.interpolate(x, size=(7, 5), mode='area')", "x(2,3,4,6)", 1.78663794091, [0.738242216948]),
    (
        "F.grid_sample(x, 1.3 * y, 'bilinear', 'zeros', False)",
        "x(2,3,4,5) y(2,3,6,2)",
        -1.53432151591,
        [1.75040094542, 9.65453773961],
    ),
    (
        "F.grid_sample(x, 1.3 * y, 'bilinear', 'reflection', True)",
        "x(2,3,4,5) y(2,3,6,2)",
        -1.17009089,
        [0.349147892908, 12.208703307],
    ),
    (
        "F.grid_sample(x, 1.3 * y, 'bilinear', 'border', False)",
        "x(2,2,3,4,2) y(2,2,2,3,3)",
        0.233141739563,
        [-1.53157258339, -3.68714870221],
    ),
    ("F.affine_grid(x, (2, 3, 4, 5))", "x(2,2,3)", -0.887921371097, [-0.141505952605]),
    ("F.pixel_shuffle(x, 2)", "x(2,8,3,2)", 0.214582957882, [21.4937418462]),
    ("F.pixel_unshuffle(x, 2)", "x(2,2,4,6)", -9.06365622878, [-4.64616127562]),
    ("F.pad(x, (1, 2, -1, 1))", "x(2,3,4)", -0.81579464429, [0.256206369286]),
    ("F.pad(x, (2, 1), value=1.5)", "x(2,3)", 4.91191562968, [-0.177444778716]),
    ("F.pad(x, (2, 1, 1, 0), 'reflect')", "x(2,3,4)", -0.80000915002, [-0.123862980436]),
    ("F.pad(x, (3, -1, 0, 2), 'replicate')", "x(2,3,4)", 1.45614972879, [5.34889045779]),
    ("F.pad(x, (2, -1, 1, 3), 'circular')", "x(2,3,4)", -0.622812726474, [0.236444907051]),
    ("F.channel_shuffle(x, 2)", "x(2,6,2,2)", 1.78601017098, [1.31075904689]),
    ("F.linear(x, w, b)", "x(2,3,4) w(5,4) b(5)", 0.490395642672, [0.603997199616, 1.33048132564, 3.14533914206]),
    (
        "F.bilinear(x, y, w, b)",
        "x(3,4) y(3,2) w(5,4,2) b(5)",
        -5.56756012616,
        [-6.96269483293, -2.53913779432, -0.259855465661, 1.92515830525],
    ),
    ("F.embedding(classes([0, 2], [2, 1]), w, 1)", "w(4,3)", 1.59926421779, [1.49195298348]),
    ("F.embedding(classes([0, 2], [2, 1]), w, scale_grad_by_freq=True)", "w(4,3)", 1.59926421779, [2.93025015567]),
    ("F.embedding_bag(classes(0, 2, 2, 1, 3), w, classes(0, 2, 2))", "w(4,3)", -0.0556674550142, [0.952841831884]),
    (
        "F.embedding_bag(classes(0, 2, 2, 1, 3), w, classes(0, 2, 2), mode='max')",
        "w(4,3)",
        2.56215924365,
        [-0.0429572899679],
    ),
    (
        "F.embedding_bag(classes(0, 2, 2, 1, 3), w, classes(0, 2, 2), mode='sum', per_sample_weights=s)",
        "w(4,3) s(5)",
        0.0803599148336,
        [3.886812565, 0.246920450619],
    ),
    (
        "F.scaled_dot_product_attention(q, k, v)",
        "q(2,3,4) k(2,5,4) v(2,5,3)",
        -1.34363553209,
        [0.961582959166, -0.102620043061, -2.83537667674],
    ),
    (
        "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        "q(2,3,4) k(2,5,4) v(2,5,3)",
        -0.0066438806306,
        [-1.18616737911, -0.0281030392246, 1.09836244252],
    ),
    (
        "F.scaled_dot_product_attention(q, k, v, m)",
        "q(2,3,4) k(2,5,4) v(2,5,3) m(3,5)",
        -1.37018160092,
        [0.967830375926, 0.2327848442, -3.11249124818, -0.309906035467],
    ),
    (
        "F.scaled_dot_product_attention(q, k, v, truth([1, 0, 1], [0, 0, 0]), scale=0.3)",
        "q(2,2,4) k(2,3,4) v(2,3,3)",
        -0.699557144538,
        [-0.00412715992256, -0.213116673599, -0.0109417571239],
    ),
    (
        "F.scaled_dot_product_attention(q, k, v, enable_gqa=True)",
        "q(1,4,2,3) k(1,2,3,3) v(1,2,3,3)",
        -0.981188427952,
        [-0.544605269369, 1.57637148558, -1.5844368605],
    ),
]


def wave(shape, k):
    return np.sin(1.0 + k + np.arange(np.prod(shape)) * (0.7 + 0.1 * k)).reshape(shape)


def cosines(shape):
    return np.cos(np.arange(np.prod(shape))).reshape(shape)


def classes(*values):
    return pb.tensor(np.array(values))


def truth(*values):
    return pb.tensor(np.array(values, bool))


def operands(shapes):
    """Tensors that require grad, by name, from words such as `x(2,3)`."""
    for k, word in enumerate(shapes.split()):
        name, lengths = word.rstrip(")").split("(")
        shape = tuple(int(n) for n in lengths.split(",") if n)
        yield name, pb.tensor(wave(shape, k), requires_grad=True)


@pytest.mark.parametrize("expression, shapes, value, gradients", FACTS, ids=[fact[0] for fact in FACTS])
def test_a_function_has_torchs_value_and_gradients(expression, shapes, value, gradients):
    leaves = dict(operands(shapes))
    out = eval(expression, {"F": F, "classes": classes, "truth": truth, **leaves})
    assert_close(float((out.detach().numpy() * cosines(out.shape)).sum()), value, rtol=1e-9, atol=1e-9)
    found = pb.autograd.grad(out, list(leaves.values()), pb.tensor(cosines(out.shape)), allow_unused=True)
    for gradient, expected in zip(found, gradients, strict=True):
        if expected is not None:
            assert_close(float((gradient.numpy() * cosines(gradient.shape)).sum()), expected, rtol=1e-8, atol=1e-9)


PLANE, KERNEL = pb.ones(1, 4, 4, 4), pb.ones(4, 4, 2, 2)
REFUSED = {
    "conv stride": lambda n: pb.nn.conv2d(PLANE, KERNEL, stride=n),
    "conv dilation": lambda n: pb.nn.conv2d(PLANE, KERNEL, dilation=(1, n)),
    "conv groups": lambda n: pb.nn.conv2d(PLANE, KERNEL, groups=n),
    "transposed stride": lambda n: pb.nn.conv_transpose2d(PLANE, KERNEL, stride=n),
    "transposed dilation": lambda n: pb.nn.conv_transpose2d(PLANE, KERNEL, dilation=n),
    "transposed groups": lambda n: pb.nn.conv_transpose2d(PLANE, KERNEL, groups=n),
    "max_pool window": lambda n: pb.nn.max_pool2d(PLANE, n),
    "max_pool stride": lambda n: pb.nn.max_pool2d(PLANE, 2, stride=n),
    "max_pool dilation": lambda n: pb.nn.max_pool2d(PLANE, 2, dilation=n),
    "avg_pool stride": lambda n: pb.nn.avg_pool2d(PLANE, 2, stride=n),
    "unfold stride": lambda n: pb.nn.unfold(PLANE, 2, stride=n),
    "fold stride": lambda n: pb.nn.fold(pb.ones(1, 16, 9), (4, 4), 2, stride=n),
    "pixel_shuffle": lambda n: pb.nn.pixel_shuffle(PLANE, n),
    "pixel_unshuffle": lambda n: pb.nn.pixel_unshuffle(PLANE, n),
    "group_norm": lambda n: pb.nn.group_norm(PLANE, n),
    "channel_shuffle": lambda n: pb.nn.channel_shuffle(PLANE, n),
    "interpolate": lambda n: pb.nn.interpolate(PLANE, n),
    "triplet margin": lambda n: pb.nn.triplet_margin_loss(PLANE, PLANE, PLANE, margin=n),
}


@pytest.mark.parametrize("number", [0, -1])
@pytest.mark.parametrize("name", REFUSED)
def test_a_count_or_step_below_one_is_refused(name, number):
    with pytest.raises(ValueError, match=r"nn\."):
        REFUSED[name](number)


def test_negative_padding_and_a_zero_divisor_are_refused():
    for padding in (-1, ((0, 0), (0, -1))):
        with pytest.raises(ValueError, match="padding must be at least 0"):
            pb.nn.conv2d(PLANE, KERNEL, padding=padding)
    with pytest.raises(ValueError, match="divisor_override"):
        pb.nn.avg_pool2d(PLANE, 2, divisor_override=0)


def test_margin_losses_take_one_class_without_axes():
    score, target = pb.tensor(0.25, requires_grad=True), pb.tensor(0)
    for loss in (pb.nn.multi_margin_loss, pb.nn.multilabel_margin_loss):
        assert loss(score, target).item() == 0
