"""Statements as users write them: arithmetic, views, writes, loops, helpers, masks, control flow, gradients inside."""

from __future__ import annotations

from textwrap import dedent

from .phrases import Phrase, phrases

# Expressions. Each becomes `t1 = ...`.
ARITHMETIC = phrases(
    """
    {x} + {y}
    {x} - {y}
    {x} * {y}
    {f} / (2 + {y} * {y})
    {f} * {n}
    {n} - {f}
    {f} ** 2
    ({r} * {r} + 1) ** 0.5
    -{x}
    {lib}.sin({f})
    {lib}.tanh({r}) * {y}
    {lib}.exp(-{r} * {r})
    {lib}.sqrt(1 + {r} * {r})
    {lib}.log(2 + {r} * {r})
    {lib}.abs({f})
    {lib}.maximum({r}, {y})
    {lib}.minimum({r}, {n})
    {lib}.where({r} > 0, {o}, {y})
    {lib}.where({r} > {n}, {n}, {o})
    {lib}.arctan2({r}, 2 + {o} * {o})
    {lib}.logaddexp({r}, {o})
    pb.relu({r})
    pb.sigmoid({r})
    pb.softplus({r})
    pb.special.erf({r})
    {r} > {y}
    {r} // 2
    {r} % 3
    {x}.clone()
    {x} * 1
""",
    2.0,
)

READS = phrases(
    """
    {x}[{key}]
    {x}[{key}] * 2
    {x}[{key}] + {x}[{key}]
    {a}[{ii}]
    {a}[np.array({ii})] * {n}
    {a}[pb.tensor({ii})]
    {v}[pb.argmax({r})]
    {d}[pb.argmax({d}, axis=0)]
    {a}[{index}]
    {r}[{r} > 0]
    {x}[{mask}].sum()
    {x}.T
    {x}.T * {n}
    {x}.reshape(-1)
    {x}.reshape{other}
    {x}.swapaxes(0, -1)
    {x}.transpose({order})
    {x}[None]
    {m}.diagonal()
    {x}.real
    {z}.imag
    {f}.conj()
    {x}.astype({dt})
    {x}.float()
    pb.concat([{a}, {o}])
    pb.stack([{x}, {o}], -1)
    pb.split({a}, 2)[0]
    {a}.unbind()[0] * {n}
    {m}.t() @ {m}
    {x}.flip(0)
    {x}.detach()
    {x}.detach() * {y}
    pb.zeros({x}.shape)
    pb.ones_like({x}) * {y}
    pb.arange({a}.shape[0]) * {n}
    pb.full({x}.shape, {n})
    {x} if {x}.ndim > 1 else {x} * 2
    {x} * len({a})
    {x} * {x}.shape[0]
""",
    1.2,
)

REDUCTIONS = phrases("""
    {x}.sum()
    {x}.sum({ax})
    {f}.mean({ax})
    {x}.sum({ax}, keepdims=True) * {y}
    {d}.max({ax})
    {d}.min()
    {d}.max({ax}, keepdims=True) - {o}
    {d}.prod({ax})
    {d}.var({ax})
    {d}.std({ax}, correction=0)
    {f}.cumsum({ax})
    {d}.cumsum({ax}) * {o}
    pb.cumsum(pb.sin({d}) + {d}[0], 0)
    {d}.cumprod({ax})
    pb.logcumsumexp({d}, {ax})
    pb.logsumexp({d}, {ax})
    pb.softmax({d}, {ax})
    pb.log_softmax({d}, {ax})
    pb.cummax({d}, {ax})[0]
    {d}.argmax({ax})
    {d}.sort({ax})[0]
    pb.sort({d}, axis={ax})
    pb.topk({d}, 1)[0]
    pb.median({d})
    pb.linalg.norm({f})
    pb.linalg.norm({d}, axis={ax})
    ({x} * {y}).sum()
    ({r} - {r}.mean()) / (1 + {r}.std())
    pb.take_along_axis({d}, pb.argsort({d}, axis=0), 0)
    {d}.any({ax})
    {x}.sum(dtype='complex128')
    {d}.mean(0) + {d}.sum(0)
""")

PRODUCTS = phrases(
    """
    {m} @ {right}
    {v} @ {o}
    {m}.T @ {m}
    pb.tanh({m} @ {right})
    pb.outer({q}, {v})
    pb.einsum('i,i->', {v}, {o})
    pb.einsum('ij,ij->i', {m}, {o})
    pb.linalg.solve({square} + 9 * np.eye({square}.shape[0]), {right})
    pb.linalg.inv({square} @ {square}.T + np.eye({square}.shape[0]))
    pb.linalg.det({square} * 0.5)
    pb.linalg.slogdet({square} @ {square}.T + np.eye({square}.shape[0]))[1]
    pb.linalg.cholesky({square} @ {square}.T + np.eye({square}.shape[0]))
    pb.linalg.eigvalsh({square} + {square}.T)
    pb.linalg.svdvals({m}[:5, :5])
    pb.fft.rfft({rv}).real
    pb.fft.irfft(pb.fft.rfft({rv}))
    pb.fft.fft({f}) | n={len} | axis={ax}
    pb.fft.ifft({f}) | norm={norm}
    pb.fft.fft2({m}).imag
    pb.convolve({rv}, {q}) | mode={mode}
    pb.conv1d({three}, {three}[:, :, :2]) | padding=1 | stride=2
    pb.avg_pool1d({three}, 2)
    pb.layer_norm({rows}, {rows}.shape[1:])
    {d} @ {d}.mT
""",
    0.8,
)

# Whole statements. `{t}` is a new name.
WRITES = phrases("""
    {x} += {l}
    {x} *= {n}
    {x}.mul_({l})
    {x}.add_({n})
    {x}[{key}] = {n}
    {x}[{key}] += {n}
    {x}[{key}] *= {x}[{key}]
    {r}[{mask}] = {n}
    {x}[{ii}] = {n}
    {x}[{ii}] += {n}
    {x}[{i}] = {x}[{i}]
    {a}[1:] = {a}[:-1]
    {a}[:-1] += {a}[1:]
    {r}.sin_()
    {r}.zero_()
    {r}.fill_({n})
    {x}.copy_({l})
    {t} = {x}.clone(); {t} += {l}
    {t} = {x} * 1; {t}[{key}] = {n}
    {t} = {x} * 1; {t}[{key}] *= {n}
    {t} = {x} + 0; {t}[{i}] += {n}
    {t} = {x} * {n}; {t}.reshape(-1)[0] += {n}
    {t} = {r} * 1; {t}[{mask}] *= {n}
    {t} = {r} * 1; {t}[{r} > 0] = {n}
    {t} = pb.zeros({x}.shape); {t}[...] = {x}
    {t} = np.zeros({x}.shape); {t} = {x} + {t}
    {t} = {x}.clone(); {u} = {t}[{key}]; {t} *= {n}
    {t} = {x}.clone(); {u} = {t}[{key}]; {u} += {n}
    {t} = {r} * 2; {u} = {t}.T; {u}[...] = {u} * {u}
    {t} = {d} * 1; {u} = {t}[pb.argmax({t}.reshape(-1)) % {t}.shape[0]]; {u} += 10
    {t} = {x} * {n}; {u} = {t}.detach(); {u} += 1
""")

BLOCKS = [Phrase(dedent(text).strip(), (), 1.0) for text in (
    """
    {t} = pb.zeros({q}.shape[0] + 1)
    for i in range({q}.shape[0]):
        {t}[i + 1] = {t}[i] * 0.9 + {q}[i]
    """,
    """
    {t} = {q} * 1
    for i in range(1, {t}.shape[0]):
        {t}[i] += {t}[i - 1] * {n}
    """,
    """
    {t} = 0.0
    for row in {rows}:
        {t} = {t} + pb.tanh(row) * {n}
    """,
    """
    {u} = []
    for i in range({kk}):
        {u}.append({r} * (i + 1))
    {t} = pb.stack({u})
    """,
    """
    {t} = {d} * 1
    for _ in range({kk}):
        {t}[1:-1] = 0.5 * ({t}[2:] + {t}[:-2]) - 0.1 * {t}[1:-1]
    """,
    """
    {t} = {f}
    for i in range({kk}):
        {t} = {t} * 0.5 + {y}
    """,
    """
    def {t}g(u, scale={n}):
        return u * scale + {r}.mean()
    {t} = {t}g({r}) - {t}g({r}, 2.0)
    """,
    """
    def {t}g(u):
        def inner(s):
            return pb.sin(s) * u
        return inner({r})
    {t} = {t}g({o})
    """,
    """
    {t} = sum([{r}.sum() * i for i in range(3)])
    """,
    """
    {t} = pb.zeros({rows}.shape)
    for i, row in enumerate({rows}):
        {t}[i] = row * (i + 1) - {t}[i - 1]
    """,
    """
    {t} = {rows} * 1
    for i in range({t}.shape[0]):
        for j in range(min(3, {t}.shape[1])):
            {t}[i, j] += {t}[i, j - 1] * {n}
    """,
    """
    {u} = {{'a': {r}, 'b': [{r} * 2, {o}]}}
    {t} = {u}['a'].mean() * {u}['b'][1] + {u}['b'][0].sum()
    """,
    """
    {t}, {u} = {r} * 2, {r} + 1
    {t}, {u} = {u}, {t}
    """,
    """
    {t} = pb.stack([pb.sin(u) for u in {rows}])
    """,
    """
    {t} = pb.concat([u.reshape(1, -1) * {n} for u in {rows}], 0)
    """,
    """
    def {t}g(u, depth):
        return u if depth == 0 else {t}g(u * 0.5 + {r}, depth - 1)
    {t} = {t}g({o}, {kk})
    """,
    """
    {u} = {q} * 1.0
    {t} = {u}
    for _ in range({kk}):
        s1 = pb.sin({t})
        s2 = pb.sin({t} + 0.05 * s1)
        {t} = {t} + 0.1 * (s1 + s2) / 2
    """,
    """
    {t} = {d} * 1
    {u} = {t}[1:] - {t}[:-1]
    {t}[1:] += 0.1 * {u}
    {t}[:-1] -= 0.1 * {u}
    """,
    """
    {t} = {r} * 1
    {t}[...] = {t} + {t}.mean()
    {t} = {t} * {t}
    """,
    """
    try:
        {t} = {r} @ {r}
    except ValueError:
        {t} = {r} * 2
    """,
    """
    {t} = 0.0
    for u, s in zip({rows}, range(9)):
        {t} = {t} + (u * s).sum()
    """,
    """
    {u} = np.linspace(0, 1, {q}.shape[0])
    {t} = {q} * {u} + np.outer({q}, {u}).sum(0)
    """,
    """
    {t} = {r}
    for {u} in (0.5, 2.0):
        {t} = pb.tanh({t} * {u}) if {u} < 1 else {t} - {u}
    """,
    """
    {t} = {x} * 1
    {u} = {t}.view({t}.shape) if {t}.is_contiguous() else {t}
    {u} *= {n}
    """,
    """
    if {x}.shape[0] > 5:
        {t} = {x}[:5].sum()
    else:
        {t} = {x} * 3
    """,
    """
    {u} = {r}.detach()
    {t} = pb.where({u} > 0, {r}, {u} * {r})
    """,
    """
    with pb.no_grad():
        {t} = {r} * {y}
    """,
    """
    with pb.no_grad():
        {t} = {r} * 2
        {t}[{key}] = 1.0
    {t} = {t} * {o}
    """,
    """
    i = 0
    {t} = {r}
    while i < {kk}:
        {t} = pb.sin({t}) + {o}
        i += 1
    """,
    """
    {t} = pb.checkpoint(lambda u: pb.sin(u) * u, {r}, use_reentrant=False)
    """,
    """
    {t} = pb.vmap(lambda row: pb.tanh(row) * row.sum())({rows})
    """,
    """
    {t} = pb.func.grad(lambda u: (pb.sin(u) * {r}).sum())({o})
    """,
    """
    {t} = pb.func.jvp(lambda u: u * pb.sin(u), ({r},), ({o},))[1]
    """,
)]  # fmt: skip

FLOW = [Phrase(dedent(text).strip(), (), 1.0) for text in (
    "{t} = pb.cond({r}.sum() > 0, lambda u: u * u, lambda u: pb.sin(u), {o})",
    "{t} = pb.cond({r}.sum() > 0, lambda u, d: u * u * d, lambda u, d: u * d, {o}, {o}.detach())",
    "{t} = pb.cond({r}.mean() > {n}, lambda u: u * {r}.sum(), lambda u: u.detach() * u, {o})",
    """
    def {t}g(u):
        with pb.no_grad():
            s = u * 2
        return u * s
    {t} = pb.cond({r}.sum() > 0, {t}g, lambda u: u * 3.0, {o})
    """,
    """
    {t}, {u} = pb.scan(lambda c, row: (c * 0.5 + pb.tanh(row), c * row), {rows}[0] * 1.0, {rows})
    """,
    """
    def {t}g(c, row):
        c = c * 0.9 + row.detach() * row
        return c, c.sum()
    {t}, {u} = pb.scan({t}g, pb.zeros_like({rows}[0]), {rows}, reverse=True)
    """,
    """
    def {t}g(c, row):
        with pb.no_grad():
            s = pb.sin(c)
        return c * s * 0.3 + row, s
    {t}, {u} = pb.scan({t}g, {rows}[0] * 0.5, {rows})
    """,
    """
    {t} = pb.scan(lambda c, u: (c + pb.sin(u * {n}), None), {q}[0] * 1.0, {q})[0]
    """,
    """
    {t} = pb.fori_loop(0, {kk}, lambda i, c: c * 0.5 + {r} * i, {o} * 1.0)
    """,
    """
    def {t}g(c, row):
        c['n'] = c['n'] + 1
        c['h'] = pb.cond(row.sum() > 0, lambda h: h + row, lambda h: h.detach() * row, c['h'])
        return c, c['h'] * 2
    {u}, {t} = pb.scan({t}g, {{'n': 0, 'h': {rows}[0] * 1.0}}, {rows})
    """,
    """
    def {t}g(i, c):
        return pb.fori_loop(0, 2, lambda j, s: pb.sin(s) * (i + j) + {r}.mean(), c)
    {t} = pb.fori_loop(0, {kk}, {t}g, {r} * 0.1)
    """,
    """
    def {t}g(c, row):
        c[0] += row.sum()
        return c * 0.9, c
    {t}, {u} = pb.scan({t}g, {rows}[0].clone(), {rows})
    """,
    """
    {t} = pb.vmap(lambda u: pb.cond(u.sum() > 0, lambda s: s * s, lambda s: s.detach() * s, u))({rows})
    """,
    """
    {t} = pb.fori_loop(0, {kk}, lambda i, c: pb.sin(c) * {r}.detach(), {o} * 1.0)
    """,
    """
    def {t}g(i, c):
        c = c * 1.0
        c[i] = c[i] * c[i - 1]
        return c
    {t} = pb.fori_loop(1, {q}.shape[0], {t}g, {q} * 1.0)
    """,
    """
    def {t}p(c):
        return (c[1] < {kk}) & (c[0].sum() > -1e3)
    {t} = pb.while_loop({t}p, lambda c: (pb.sin(c[0]) + {r}, c[1] + 1), ({o} * 1.0, 0), max_steps=6)[0]
    """,
    """
    def {t}g(c):
        return c[0] * c[0].detach(), c[1] + 1
    {t} = pb.while_loop(lambda c: c[1] < {kk}, {t}g, ({r} * 0.5, 0), max_steps=6)[0]
    """,
)]  # fmt: skip

INSIDE = [Phrase(dedent(text).strip(), (), 1.0) for text in (
    """
    {u} = (pb.sin({r}) * {r}).sum()
    ({t},) = pb.autograd.grad({u}, {r}, create_graph=True, allow_unused=True, materialize_grads=True)
    """,
    """
    {u} = {r}.detach().requires_grad_()
    ({t},) = pb.autograd.grad(({u} * {u} * {o}).sum(), {u})
    """,
    """
    {u} = {r}.detach().clone().requires_grad_()
    ({u} * {u}).sum().backward()
    {t} = {u}.grad * {o}
    """,
    "{t} = {r} * float({n})",
    "{t} = {r} * {r}.sum().item()",
    "{t} = {r} + {r}.detach().numpy()",
    "{t} = {r} + np.asarray({r}.detach())",
    "{t} = {r} * (2 if {r}.sum() > 0 else 3)",
    "{t} = {r} * (2 if {r}.requires_grad else 3)",
    "{t} = {r} * (2 if {r} is {o} else 3)",
    "{t} = pb.tensor({r}) * {o}",
    "{t} = {r}[range({kk})[-1] % max({r}.shape[0], 1)]",
)]  # fmt: skip

# What functions find around themselves: names that texts use, the statements that make them, what changes them.
SURROUNDINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "w": (
        "w = {tensor}",
        (
            "w.detach().mul_(1.5)",
            "w.data.add_(1)",
            "w.requires_grad_(not w.requires_grad)",
            "w = {tensor}",
            "w = w * 2",
            "w.data = w.data * 2",
            "w.detach()[...] = 1",
        ),
    ),
    "state.w": (
        "state.w = {tensor}",
        ("state.w.detach().mul_(0.5)", "state.w = {tensor}", "state.w.data = state.w.data * 2", "state.w = w * 1"),
    ),
    "box['w']": (
        "box['w'] = {tensor}",
        ("box['w'].detach().add_(1)", "box['w'] = {tensor}", "box['w'] = box['w'] + 1"),
    ),
    "box['all'][0]": (
        "box['all'] = [{tensor}, {tensor}]",
        ("box['all'].reverse()", "box['all'][0] = {tensor}", "box['all'].append(box['all'].pop(0) * 2)"),
    ),
    "state.inner.w": (
        "state.inner = Record(w={tensor}, k=2)",
        (
            "state.inner.w = {tensor}",
            "state.inner = Record(w={tensor}, k=3)",
            "state.inner.w.detach().add_(1)",
        ),
    ),
    "constant": ("constant = {array}", ("constant *= 2", "constant = {array}", "constant[...] = 1")),
    "k": ("k = 2.0", ("k = 3.5", "k = 2", "k = k + 1", "k = np.float32(1.5)", "k = pb.tensor(1.5)")),
    "state.k": ("state.k = 0.5", ("state.k = 1.5", "state.k = 3", "state.k = True")),
    "box['k']": ("box['k'] = 3", ("box['k'] = 1.5", "box['k'] += 1")),
    "number.item()": ("number = pb.tensor(1.5)", ("number.mul_(2)", "number = pb.tensor(0.25)")),
    "helper(1.5)": ("helper = lambda u: u * 2", ("helper = lambda u: u + 1", "helper = abs")),
    "len(box)": ("box['one'] = 1", ("box['two'] = 2",)),
}
NUMBERS = ("k", "state.k", "box['k']", "number.item()", "helper(1.5)", "len(box)")
