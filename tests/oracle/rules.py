"""The deliberate differences from torch, `[D1]` to `[D37]` of the specification, and what the oracle does with each.

A rule never skips a comparison. Most undo the difference on the torch side, at the statement where it arises, so that
everything that follows is compared too; the code is where `where` says. `reach` is None for rules that programs can
meet; otherwise it says what a program would have to contain, and which tests look at the rule instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """What torch does, what Pullback does, and how the torch side is made to say what Pullback must do."""

    torch: str
    pullback: str
    where: str = ""
    reach: str | None = None


_FUNCTION = "programs hold no autograd.Function"
_THREADS = "programs run in one thread"

RULES: dict[str, Rule] = {
    "D1": Rule(
        "grad captures the gradient before tensor hooks if the node also runs",
        "captured after them, always",
        "RuledTorch.captured: the last hook's result replaces the capture",
    ),
    "D2": Rule("multi-grad hooks miscount roots and targets", "counted", reach="programs hold no multi-grad hooks"),
    "D3": Rule(
        "a hook on a view whose base changed crashes the process",
        "the view is refreshed first",
        "RuledTorch.refreshed: grad_fn is read before registering",
    ),
    "D4": Rule(
        "a view older than base.requires_grad_() loses its gradient",
        "the gradient reaches the base",
        "RuledTorch.execute_flag: such views are derived again from the base",
    ),
    "D5": Rule(
        "views made under no_grad report requires_grad, and cannot be read after a write",
        "constants, always readable; tracked writes refused",
        "RuledTorch.execute_view: reads see a detached alias, writes the view itself",
    ),
    "D6": Rule(
        "outputs of unbind, chunk and split cannot be written or read after a write",
        "they can",
        "RuledTorch.rederived: the output is derived again as a view of its own",
    ),
    "D7": Rule("copies keyed by data pointer", "keyed by overlap", reach="no allow_mutation_on_saved_tensors blocks"),
    "D8": Rule(
        "one no_grad object entered twice leaves grad mode off",
        "each exit restores its entry",
        "RuledTorch.mode: two objects",
    ),
    "D9": Rule("async functions escape decorators", "they do not", reach="programs hold no decorators"),
    "D10": Rule("surplus grad_tensors are dropped", "GRADOUT_COUNT", "RuledTorch.execute_backward raises it"),
    "D11": Rule("assertion text for complex gradients", "own errors", reach="programs are real"),
    "D12": Rule("truncated shapes in batched errors", "full shapes", reach="no is_grads_batched"),
    "D13": Rule(
        "backward(inputs=[constant]) complains about retain_grad",
        "INPUT_NO_GRAD",
        "RuledTorch.execute_backward renames the error",
    ),
    "D14": Rule("once_differentiable guards half the cases", "guards all", reach=_FUNCTION),
    "D15": Rule("needs_input_grad ignores inputs=", "reflects the pass", reach=_FUNCTION),
    "D16": Rule(
        "y *= y fails at backward",
        "operands that alias the target are kept as they were",
        "RuledTorch.unaliased: the operand is cloned",
    ),
    "D17": Rule(
        "any write to a storage invalidates all values saved from it",
        "only overlapping writes do",
        "SavedValues: versions are compared with regions",
    ),
    "D18": Rule(
        "a hook may write the gradient it is given",
        "READONLY_GRAD",
        "RuledTorch.hook raises it",
    ),
    "D19": Rule(
        "grad may return the caller's gradient, or one object twice",
        "distinct objects, disjoint memory",
        "RuledTorch.distinct: shared results are copied",
    ),
    "D20": Rule("post-accumulate hooks run without a gradient", "they do not", reach=_FUNCTION),
    "D21": Rule(
        "tensor hooks of unused outputs get None",
        "they are not called",
        "RuledTorch.hook ignores the call",
    ),
    "D22": Rule(
        "a scalar operand is a saved tensor: x * 2 cannot run backward twice",
        "an attribute: it can",
        "Statement.ruled: aten's overload for scalars keeps it as an attribute",
    ),
    "D23": Rule("data of a new shape leaves stale metadata", "renewed", reach="data is assigned with the same shape"),
    "D24": Rule(
        "assigning data changes what graphs have saved",
        "the saved payload stays",
        "SavedValues: the payload at saving time is handed back",
    ),
    "D25": Rule("None from an in-place Function drops the base's gradient", "zeros", reach=_FUNCTION),
    "D26": Rule("inputs accepts only dict", "any Mapping", "Statement.ruled: a dict"),
    "D27": Rule("sequence numbers per thread", "per process", reach=_THREADS),
    "D28": Rule("anomaly flags per process", "per thread", reach=_THREADS),
    "D29": Rule("saved tensors read once under checkpoint", "as often as wanted", reach="no checkpoint"),
    "D30": Rule("gradcheck leaks errors", "GradcheckError", reach="no gradcheck"),
    "D31": Rule("create_graph backward leaks", "collectable", reach="memory is not observed"),
    "D32": Rule("mark_dirty on a leaf noticed late", "noticed by mark_dirty", reach=_FUNCTION),
    "D33": Rule(
        "accumulating into a broadcast .grad raises",
        "replaced by a sum",
        "RuledTorch.broadcast_gradients: set aside during the pass and added after it",
    ),
    "D34": Rule(
        "x[[0, 0]] = v gives overwritten entries a gradient",
        "only stored entries get one",
        "RuledTorch.last_writers: repeats are removed from the index",
    ),
    "D35": Rule(
        "partially overlapping operands raise",
        "as if the operand were copied first",
        "RuledTorch.unaliased: it is",
    ),
    "D36": Rule("unpack may change the shape", "checked", reach="no saved-tensor hooks"),
    "D37": Rule(
        "copy.copy shares memory but not the version counter",
        "shares both",
        "RuledTorch.execute_copy: a detached alias with the same flag",
    ),
}

# Sections of the specification that differ from torch without a number of their own.
RULES["§7.8"] = Rule(
    "fill_, zero_ and advanced writes go through broadcast memory",
    "OVERLAP_WRITE for every write",
    "RuledTorch.execute_write raises it",
)
RULES["§3.2"] = Rule(
    "division by a tensor that needs a gradient saves the dividend",
    "saves the quotient (operators, §3.2)",
    "RuledTorch.keep_quotient: the quotient's version and region are checked",
)
