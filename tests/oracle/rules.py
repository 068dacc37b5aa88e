"""The differences from torch, and what the oracle does with each.

`[D1]` to `[D37]` are the deliberate ones of the specification; `§` names a section that says what Pullback does where
torch does something else (§2.18, §3.2 and §6 are sections of the operators' part), `R` one of the rules every operator
obeys; `N` are differences that the oracle found and no section speaks of. docs/differences.md has them in words.

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
        "backward(inputs=[constant]) complains about retain_grad, after other inputs were made to retain",
        "INPUT_NO_GRAD, and nothing else happens",
        "RuledTorch.execute_backward raises it",
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
    "D20": Rule(
        "post-accumulate hooks run although nothing was accumulated",
        "they do not",
        "RuledTorch.accumulated ignores the call",
    ),
    "D21": Rule(
        "tensor hooks of unused outputs get None",
        "they are not called",
        "RuledTorch.hook ignores the call",
    ),
    "D22": Rule(
        "a scalar operand and an index given as a list are saved tensors: x * 2 cannot run backward twice",
        "attributes: it can",
        "Statement.ruled: aten's overload for scalars keeps it as an attribute; SavedValues never releases an index",
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
        "RuledTorch.unwritable_gradients: set aside during the pass and added after it",
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
RULES |= {
    "§1.1": Rule(
        "a view whose base got a history counts as a leaf until its grad_fn was read",
        "is_leaf is what it is after the view is refreshed",
        "RuledTorch.write_or_refuse and execute_flag read grad_fn",
    ),
    "§1.3": Rule(
        "detach_ does nothing in inference mode, nor to an inference tensor; a tensor that retained its gradient then"
        " cannot get a history any more",
        "it detaches",
        "RuledTorch.execute_detach_ leaves the mode, or takes the flag away",
    ),
    "§1.6": Rule(
        "assigning data in inference mode makes an inference tensor",
        "the tensor keeps what it is but its payload",
        "RuledTorch.execute_set_data leaves the mode",
    ),
    "§2.3": Rule(
        "a .grad may be zeros without memory, which cannot be written",
        "every .grad can",
        "RuledTorch.materialize_gradients copies them",
    ),
    "§2.18": Rule(
        "copy_, fill_ and zero_ send zeros to the history of what they overwrite",
        "that history is dropped, for views it gets zeros in their place",
        "RuledTorch.overwrite detaches first",
    ),
    "§3.2": Rule(
        "a division keeps the dividend for the divisor's gradient",
        "it keeps the quotient",
        "formulas.Quotient; RuledTorch.keep_quotient for div_: version and region of the quotient are checked",
    ),
    "§5.1": Rule(
        "the shapes of all root gradients are checked before any flag, and some errors fail to be formatted",
        "one root after the other",
        "RuledTorch.root_gradients",
    ),
    "§5.2": Rule(
        "backward(inputs=[interior]) also runs the node of the interior tensor",
        "only what leads to an input runs (left open by the specification)",
        "Reach.idle: such nodes read and release nothing, and their pre-hooks are silent",
    ),
    "§6.1": Rule(
        "maximum with a NaN gives both operands the gradient",
        "the operand that is NaN",
        "formulas.Larger",
    ),
    "§6.2": Rule("the derivative of abs at NaN is 0", "NaN", "formulas.Magnitude"),
    "§6.3": Rule(
        "a hook on a view that was a leaf of its own runs for its new history and for its old accumulator",
        "once per pass, for the history the view had when the hook was registered",
        "RuledTorch.hook ignores the second call",
    ),
    "§7.5": Rule(
        "the gradient of a rebuilt view without elements has no history",
        "it has",
        "RuledTorch.operand derives such views again",
    ),
    "§7.7": Rule(
        "x[...] = v with an index that takes everything writes x and makes no view",
        "x[index].copy_(v), whatever the index",
        "RuledTorch.through_a_view spells it out",
    ),
    "§7.8": Rule(
        "fill_, zero_ and advanced writes go through broadcast memory",
        "OVERLAP_WRITE for every write",
        "RuledTorch.write raises it",
    ),
    "§8.1": Rule(
        "some fresh results are at version 1",
        "at version 0",
        "RuledTorch.born_at: versions count from there",
    ),
    "§9.4": Rule(
        "operations on nothing but inference tensors are not recorded, aliases of them can be written, a refused write"
        " has been made, and some results are views",
        "a flag is a flag, aliases are inference tensors, a refused write changes nothing, results are no views",
        "inference.Connect and RecordedView; RuledTorch.execute_alias, write_or_refuse and execute_read",
    ),
    "R4": Rule(
        "a node reads all it has saved, and fails if any of it was overwritten",
        "only what the gradients that the pass wants are made from",
        "SavedValues.is_wanted",
    ),
    "R5": Rule(
        "a product keeps its operand and its result, a sign its operand",
        "the product its operand, the sign nothing",
        "formulas.Product and Magnitude",
    ),
}

# Differences that no section speaks of.
RULES |= {
    "N1": Rule(
        "without create_graph hooks see a grad_output that requires grad as it is",
        "gradients are constants unless create_graph is given",
        "RuledTorch.execute_grad detaches it",
    ),
    "N2": Rule(
        "accumulating into a .grad made in inference mode raises outside of it",
        "replaced by a sum, as every .grad that cannot be written",
        "RuledTorch.unwritable_gradients: set aside during the pass and added after it",
    ),
    "D38": Rule(
        "a write over a value that a graph needs destroys it",
        "the value survives, unless the policy is torch's",
        reach="programs run under overwrite_policy('raise')",
    ),
    "D39": Rule("a saved operand is the operand itself", "an equal tensor", reach="programs compare values"),
    "D40": Rule(
        "detach_() on a saved operand is an error at backward",
        "harmless: the edge is in the node",
        "RuledTorch.check: the saved value is read all the same",
    ),
    "D41": Rule(
        "allow_mutation_on_saved_tensors does not nest, and backward runs inside of it",
        "it nests, and backward runs anywhere",
        reach="no allow_mutation_on_saved_tensors blocks",
    ),
    "N4": Rule(
        "a gradient that was given to a pass with create_graph passes some formulas as the same object, so that writing"
        " to it later is noticed by what they saved",
        "other formulas pass it on",
        "Saved.is_lent: VERSION or the right value",
    ),
    "N3": Rule(
        "the second derivative of x.square() counts as a function of x",
        "it is constant, so it does not require grad",
        "formulas.formula_for: x * x",
    ),
}
