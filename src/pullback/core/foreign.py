"""What other libraries call things that Pullback has under another name, or does not have: what to write instead.

Read when a name is not found, and never before.
"""

from __future__ import annotations

_ONE_CPU = "there is nothing to do: arrays live in the memory of one CPU, and results are there when a call returns"
_NO_DEVICE = "Pullback computes on the CPU; leave it out; x.cpu() is x; pb.foreign takes arrays on other devices"
_LAYER = (
    "a layer is a dataclass of its parameters: @pb.dataclass, fields `w` and `b`, and a function x @ p.w + p.b "
    "(tutorial 7, 'Train a small network')"
)
_TREES = "a model is a function of a tree of parameters: pb.dataclass, pb.tree, pb.grad"
_SCHEDULES = "a schedule is a function of the step: pb.optim.cosine, linear, exponential, piecewise, warmup, onecycle"
_LEAF = "pb.tensor(data, requires_grad=True)"

FOREIGN = {
    # torch
    "Variable": _LEAF, "Parameter": _LEAF, "FloatTensor": "pb.tensor(data, dtype=pb.float32)",
    "LongTensor": "pb.tensor(data, dtype=pb.int64)", "from_numpy": "pb.asarray(array), which shares its memory",
    "as_tensor_like": "pb.asarray", "autograd_grad": "pb.autograd.grad", "manual_seed_all": "pb.random.manual_seed",
    "Module": _TREES, "Sequential": _TREES, "ModuleList": _TREES, "Linear": _LAYER, "Conv2d": _LAYER, "Conv1d": _LAYER,
    "Embedding": _LAYER, "LSTM": _LAYER, "GRU": _LAYER, "LayerNorm": "pb.nn.layer_norm",
    "BatchNorm1d": "pb.nn.batch_norm", "BatchNorm2d": "pb.nn.batch_norm",
    "Dropout": "pb.nn.dropout", "ReLU": "pb.relu", "GELU": "pb.nn.gelu",
    "Sigmoid": "pb.sigmoid", "Tanh": "pb.tanh", "Softmax": "pb.softmax(x, axis=-1)", "MSELoss": "pb.nn.mse_loss",
    "CrossEntropyLoss": "pb.nn.cross_entropy", "BCELoss": "pb.nn.binary_cross_entropy",
    "DataLoader": "pb.data.batches", "TensorDataset": "pb.data.batches", "Dataset": "pb.data.batches",
    "lr_scheduler": _SCHEDULES, "StepLR": _SCHEDULES, "CosineAnnealingLR": _SCHEDULES,
    "state_dict": "the tree itself is the state: pb.save(path, tree)", "parameters": "pb.tree.leaves(tree)",
    "load_state_dict": "pb.load(path, like=tree)", "clip_grad_norm_": "pb.optim.clip_by_norm",
    "xavier_uniform_": "pb.init.xavier_uniform(shape)", "kaiming_normal_": "pb.init.kaiming_normal(shape)",
    "is_cuda": _NO_DEVICE, "cuda": _NO_DEVICE, "mps": _NO_DEVICE, "synchronize": _ONE_CPU,
    "amp": "choose dtype=pb.float32",
    "script": "pb.compile", "trace_module": "pb.compile", "dynamo": "pb.compile", "inductor": "pb.compile",
    "functorch": "pb.func", "functional_call": "call your function with another tree of parameters",
    # JAX
    "jit": "pb.compile", "pmap": _ONE_CPU, "shard_map": _ONE_CPU, "device_put": _ONE_CPU, "device_get": _ONE_CPU,
    "block_until_ready": _ONE_CPU, "tree_util": "pb.tree: map, leaves, flatten, unflatten",
    "tree_map": "pb.tree.map", "tree_leaves": "pb.tree.leaves", "tree_flatten": "pb.tree.flatten",
    "numpy": "pb itself has NumPy's names; x.numpy() is the array behind a tensor", "PRNGKey": "pb.random.Generator",
    "config": "float64 is the default; pb.set_default_dtype changes it", "remat": "pb.checkpoint",
    "stop_gradient": "x.detach()", "switch": "pb.cond, one inside of the other", "select": "pb.where",
    "map": "pb.vmap(f)(xs), or pb.scan for one after the other", "make_jaxpr": "pb.compile(f).explain(*args)",
    "custom_gradient": "pb.func.custom_vjp", "pure_callback": "pb.library.custom_op",
    "set_": "x.at[i].set(v), or x[i] = v",
    "ad_checkpoint": "pb.checkpoint", "sharding": _ONE_CPU, "experimental": "pb.func and pb.scipy have what there is",
    # HIPS autograd
    "value_and_gradient": "pb.value_and_grad", "elementwise_grad": "pb.vmap(pb.grad(f))",
    "egrad": "pb.vmap(pb.grad(f))",
    "make_vjp": "pb.vjp", "make_jvp": "pb.jvp", "make_hvp": "pb.func.hvp, or pb.jvp of pb.grad(f)",
    "holomorphic_grad": "pb.vjp with a complex cotangent", "grad_named": "pb.grad(f, argnums=position)",
    "hessian_vector_product": "pb.jvp of pb.grad(f)", "hessian_tensor_product": "pb.jvp of pb.grad(f)",
    "primitive": "pb.library.custom_op", "defvjp": "pb.library.register_autograd", "defjvp": "pb.library.register_jvp",
    # TensorFlow, CasADi, SymPy
    "GradientTape": "loss.backward(), or pb.grad(f)", "constant": "pb.tensor", "function": "pb.compile",
    "reduce_sum": "pb.sum", "reduce_mean": "pb.mean", "placeholder": "an argument of a function", "MX": "pb.tensor",
    "SX": "pb.tensor", "Function": "pb.autograd.Function", "diff_symbolic": "pb.grad",
    "lambdify": "write the function itself",
    # what people call it
    "gradient_descent": "pb.optim.SGD, or pb.optim.minimize", "derivative": "pb.grad", "deriv": "pb.grad",
    "differentiate": "pb.grad", "jacobian": "pb.func.jacobian, jacrev or jacfwd", "hess": "pb.hessian",
    "minimize": "pb.optim.minimize", "fit": "pb.optim.minimize or pb.optim.least_squares", "Adam": "pb.optim.Adam",
    "SGD": "pb.optim.SGD", "array": "pb.tensor(data)", "ndarray": "pb.Tensor", "backward": "loss.backward()",
    "params": "pb.tree",
}  # fmt: skip
