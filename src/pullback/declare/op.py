"""`Op`: everything anybody needs to know of one primitive, declared once.

A declaration is data. Rules attach to it after it exists (`@sum.transpose`, `@eigh.vjp`), each derives what it can
from the family, and `eager` builds the fast functions from the finished declarations when they are first used. Nothing
here evaluates, differentiates or compiles.

A rule is a plain function whose parameter names say what it reads:

    g, g_<output>      gradient of the only output, or of a named one; `gs` is the tuple of all of them
    x, y, ...          an operand's value (in a `transpose`: the `Spec` of the operand it is linear in)
    out, <output>      an output's value
    t_x, t_y, ...      the tangent of an operand (jvp rules)
    needs              which operands need a gradient
    operands           the values of all operands, if the op takes any number of them; `t_operands` their tangents
    outs               the values of all outputs
    ctx                what `setup` filled in behind the kernel, and the node keeps
    any other name     a static parameter

Operands and outputs that a rule names are saved for backward; nothing else is kept alive.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Unpack

import numpy as np

from pullback.core.spec import Spec
from pullback.declare.facts import FACTS, Complex, Exact, Expansion, Fact, Facts, Flow, Layout, Price, Recompute
from pullback.errors import InternalError

registry: dict[str, Op] = {}
"""Every declared operator by name, in the order of declaration."""

# What one argument of a rule is taken from.
(
    GRADIENT, OPERAND, SPEC, OUTPUT, PARAM, NEEDS, TANGENT, OPERANDS, SPECS, TANGENTS, GRADIENTS, OUTPUTS, CONTEXT,
) = range(13)  # fmt: skip


def _declared(name: str, module: str) -> Op:
    if name not in registry and module:
        importlib.import_module(module)
    return registry[name]


class Rule:
    """A derivative rule together with the plan of where its arguments come from."""

    __slots__ = ("by_spec", "constant", "fn", "is_partial", "plan", "reads_all_operands", "reads_all_outputs",
                 "reads_operands", "reads_outputs")  # fmt: skip

    def __init__(self, op: Op, fn: Any, *, specs: Iterable[int] = (), is_partial: bool = False) -> None:
        self.is_partial = is_partial
        self.constant: Any = None
        self.fn: Callable[..., Any] = fn
        self.plan: tuple[tuple[int, Any], ...] = ()
        self.by_spec = frozenset(specs)  # operands of which the rule sees the Spec
        if not callable(fn):
            self.constant = fn
            self.fn = lambda: fn
        else:
            code = fn.__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if hasattr(fn, "__self__"):
                names = names[1:]
            self.plan = tuple([op.source_of(name, self.by_spec) for name in names])
        read: dict[int, list[int]] = {OPERAND: [], OUTPUT: [], OPERANDS: [], OUTPUTS: []}
        for source, key in self.plan:
            if source in read:
                read[source].append(key)
        self.reads_operands = tuple(sorted(read[OPERAND]))
        self.reads_outputs = tuple(sorted(read[OUTPUT]))
        self.reads_all_operands = bool(read[OPERANDS])
        self.reads_all_outputs = bool(read[OUTPUTS])


class Op:
    """One primitive. Call it with arrays to evaluate, with Tensors to differentiate.

    A dot in the name puts it into a namespace (`linalg.solve`), an underscore at the start keeps it out of all of them.
    `table` is where the operator is registered: those that users define are kept apart from the built-in ones.
    """

    def __init__(
        self,
        name: str,
        kernel: Callable[..., Any],
        operands: tuple[str, ...],
        *,
        params: tuple[str, ...] = (),
        outputs: tuple[str, ...] = ("out",),
        family: str = "general",
        doc: str = "",
        aliases: tuple[str, ...] = (),
        torch: str | None = None,
        table: dict[str, Op] = registry,
        **facts: Unpack[Facts],
    ) -> None:
        if name in table:
            raise InternalError(f"operator {name} is declared twice")
        if facts and not FACTS.issuperset(facts):
            raise InternalError(f"operator {name} states {sorted(set(facts) - FACTS)}, which are no facts")
        self.name = name
        self.kernel = kernel
        self.operands = operands
        self.params = params
        self.outputs = outputs
        self.family = family
        self.doc = doc or (kernel.__doc__ or "" if hasattr(kernel, "__code__") else "")
        self.aliases = aliases  # other public names of the same function
        self.torch = torch  # the name that torch gives it, if that is another
        self.stated = facts  # of `declare/facts.py`; what is not stated is derived
        self.expansion: Expansion | None = None
        if "expand" in facts:
            self.expansion = Expansion(facts["expand"], takes_numbers=True)
        self.is_public = not name.startswith("_")
        # Other names of what a node has saved; of something that is made of it, the function of the node that does.
        self.saved_aliases: dict[str, str | Callable[[Any], Any]] = {}
        # A last operand written with a star stands for any number of them.
        self.variadic_from = len(operands) - 1 if operands and operands[-1].startswith("*") else -1
        self.num_outputs: int | None = len(outputs)  # None: as many as the kernel returns
        # rules
        self.partials: tuple[Rule, ...] | None = None
        self.gradients: dict[int, Rule] = {}  # by operand
        self.joint: Rule | None = None  # one rule for all operands
        # What computes the same from small arrays in less time: NumPy's function behind the one that users call.
        self.inner_kernel: Callable[..., Any] | None = None
        # What passes on plain arrays run in place of the rules, by operand; None is all of them.
        self.array_rules: dict[int | None, Rule] = {}
        self.jvp_rule: Rule | None = None
        # Of an op whose rules read `ctx`: what fills it in, `setup(ctx, operands, outputs, params)`, and its class.
        self.setup_rule: Callable[..., None] | None = None
        self.context: Any = None
        self.linear_in: frozenset[int] | None = None  # operands in which the op is (jointly) linear
        self.multilinear = False
        self.not_differentiable_because: str | None = None
        # structure
        self.elsewhere: Callable[..., Any] | None = None  # what calls on arrays of another library run, once made
        self.is_view = False
        self.may_copy = False  # a view that NumPy sometimes has to copy
        self.shows_each_once = False  # a view of the gradient too: no element of the operand is in the result twice
        self.shows_all = ""  # of such a view that has all elements: "in order", or with other "axes"
        self.add_at: Callable[..., Any] | None = None  # of what reads places: adds a gradient to an array there
        # Of what writes to places: takes the gradient of the values out of that of the result, which it becomes.
        self.take_out: Callable[..., Any] | None = None
        self.inplace_kernel: Callable[..., Any] | None = None
        self.has_inplace_twin = False
        self.takes_numbers = False  # a Python number is given to the kernel as it is: it has fast paths for some
        self.along_axis = False  # works along one axis: what has none is taken as a vector of one element
        self.takes_payloads = False  # the kernel gets payloads of any kind as they are
        # Of a reduction: what each of so many elements gets of the gradient, if that depends on nothing else.
        self.share: Callable[[Any, int], Any] | None = None
        self.adapt_output: Callable[..., Any] | None = None
        self.adapt_array: Callable[..., Any] | None = None  # the same, for passes on plain arrays
        self.restore_output: Callable[..., Any] | None = None
        # derived or attached
        self.cores: list[tuple[str, ...]] | None = None  # of a gufunc: the names of its operands' last axes
        self.spec_rule: Callable[..., Any] | None = None
        self.batch_rule: Callable[..., Any] | None = None
        self.loop_rule: Callable[..., Any] | None = None
        # What it does to rows of different lengths: as a whole, as a write, and along rows of values that are cut.
        self.ragged_rule: Callable[..., Any] | None = None
        self.ragged_write: Callable[..., Any] | None = None
        self.row_rule: Callable[..., Any] | None = None
        self.ufunc = kernel if isinstance(kernel, np.ufunc) else None  # what the kernel calls for each element
        self.sample_rule: Callable[..., Any] | None = None
        # How it is written for arrays of other libraries, by kind; "array_api" is for all of them.
        self.spellings: dict[str, Callable[..., Any]] = {}
        self.refused: dict[str, str] = {}  # kinds of input that the op does not take, each with the reason
        self.door_rule: Callable[..., Any] | None = None
        # Rules that give every parameter by keyword give it in canonical form, and go past the door.
        self.keywords_are_canonical = False
        # filled by eager
        self.fast_nodes: Any = None
        self.large_nodes: Any = None
        self.kernels: Any = None  # what computes it at present, as fast paths find it
        self.native: Callable[..., Any] | None = None  # computes what `kernel` does, faster for large arrays
        self.call: Callable[..., Any] = self._build_and_call
        self.run: Callable[[tuple[Any, ...], dict[str, Any]], Any] = self._build_and_run
        table[name] = self

    make_elsewhere: ClassVar[Callable[..., Any]]  # `eager.elsewhere.make_elsewhere`
    build: ClassVar[Callable[[Op], None]]
    """Gives an operator its `call`, its `run` on tensors and canonical parameters, and its `function`:
    `eager.build.build`, when the operator is first used."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate on arrays, differentiate on Tensors."""
        return self.call(*args, **kwargs)

    def __reduce__(self) -> Any:
        # By name, with the module that declares it: families are loaded when they are first used.
        return _declared, (self.name, getattr(self.kernel, "__module__", ""))

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def _build_and_call(self, *args: Any, **kwargs: Any) -> Any:
        self.build()
        return self.call(*args, **kwargs)

    def _build_and_run(self, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        self.build()
        return self.run(operands, params)

    @functools.cached_property
    def function(self) -> Callable[..., Any]:
        """What users call. Arrays and lists count as constant Tensors."""
        self.build()
        return self.__dict__["function"]

    @functools.cached_property
    def grad_name(self) -> str:
        """What nodes of this op are called."""
        return f"{camel_case(self.torch or self.name)}Backward0"

    # Attaching rules. Every method returns the function it was given, so it serves as a decorator.

    def vjp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """One rule for all operands: returns a gradient, or a tuple with one per operand."""
        self.joint = Rule(self, rule)
        return rule

    def vjp_of(self, operand: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A rule for one operand."""

        def attach(rule: Callable[..., Any]) -> Callable[..., Any]:
            self.gradients[self.operands.index(operand)] = Rule(self, rule)
            return rule

        return attach

    def kernel_on_arrays(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel for eager calls, if there is a quicker one. It gives the same bits, and raises the same errors."""
        self.inner_kernel = kernel
        return kernel

    def vjp_on_arrays(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """What the rule for all operands computes, written with NumPy: for passes on plain arrays, where operators
        would cost more than they compute. It may read what that rule reads. Operands it is linear in are Specs there
        and here."""
        joint = self.joint
        if joint is None:
            raise InternalError(f"a rule of {self.name} for arrays comes before the rule for all operands")
        self.array_rules[None] = Rule(self, rule, specs=joint.by_spec)
        return rule

    def vjp_of_on_arrays(self, operand: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The same for the rule of one operand."""

        def attach(rule: Callable[..., Any]) -> Callable[..., Any]:
            position = self.operands.index(operand)
            self.array_rules[position] = Rule(self, rule, specs=self.gradients[position].by_spec)
            return rule

        return attach

    def transpose(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The op is linear in all operands together: the rule sees their Specs and returns their gradients."""
        positions = range(len(self.operands))
        self.joint = Rule(self, rule, specs=positions)
        self.linear_in = frozenset(positions)
        return rule

    def transpose_of(self, operand: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The op is linear in this operand for fixed others: the rule sees its Spec and the others' values."""

        def attach(rule: Callable[..., Any]) -> Callable[..., Any]:
            position = self.operands.index(operand)
            self.gradients[position] = Rule(self, rule, specs=(position,))
            self.linear_in = (self.linear_in or frozenset()) | {position}
            self.multilinear = True
            return rule

        return attach

    def jvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The forward rule: tangents of the outputs from tangents of the operands."""
        self.jvp_rule = Rule(self, rule)
        return rule

    def batch(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The op on operands that all have one more axis in front."""
        self.batch_rule = rule
        return rule

    def spec(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Specs of the outputs from Specs of the operands."""
        self.spec_rule = rule
        return rule

    def loop(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """A list of `Loop`s of NumPy that compute the op with these parameters, one after the other."""
        self.loop_rule = rule
        return rule

    def ragged(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The op on operands of which one has rows of different lengths, where the family does not say it."""
        self.ragged_rule = rule
        return rule

    def rows(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The op along the rows of values that offsets cut: takes values, an `Offsets` and the other parameters."""
        self.row_rule = rule
        return rule

    def expand(self, **when: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """What the op is written out as in native code, and when: see `Expansion`."""

        def attach(function: Callable[..., Any]) -> Callable[..., Any]:
            self.expansion = Expansion(function, **when)
            return function

        return attach

    def spelling(self, *kinds: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """What computes the op on arrays of other libraries where the kernel cannot: for these kinds, those that are
        "lazy", or all of the "array_api". It gets NumPy's functions as they are there, the operands, and parameters
        by keyword (`payloads/foreign/evaluate.py`)."""

        def attach(function: Callable[..., Any]) -> Callable[..., Any]:
            self.spellings.update(dict.fromkeys(kinds, function))
            return function

        return attach

    def samples(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Inputs for the systematic tests."""
        self.sample_rule = rule
        return rule

    def door(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The signature users see: turns their arguments into `(operands, params)` in canonical form."""
        self.door_rule = rule
        if rule.__qualname__ == f"{self.name}_door":
            rule.__qualname__ = self.name  # what Python calls it in a TypeError
        return rule

    def inplace(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that writes its result into the first operand."""
        self.inplace_kernel = kernel
        self.has_inplace_twin = True
        return kernel

    def not_differentiable(self, reason: str) -> Op:
        """Say why this op has no derivative; its results never require grad."""
        self.not_differentiable_because = reason
        return self

    def refuses(self, reason: str, *kinds: str) -> Op:
        """Say why this op does not take such input: a dtype, "0-d", "empty", or a layout of `declare.samples`.

        Of these, "complex128" is refused for users too, with the reason (`eager/build.py`); kernels see to the others.
        An op that takes complex numbers and lacks some derivative by them refuses "complex derivative". One that takes
        other `ascending` operands for each example of a batch, and lacks some derivative then, "varying derivative";
        one whose derivatives no graph has, "traced derivative".
        """
        self.refused.update(dict.fromkeys(kinds, reason))
        return self

    # What others ask.

    flow = Fact[Flow]()
    recompute = Fact[Recompute]()
    scalar = Fact[str | None]()
    price = Fact[Price | None]()
    commutes = Fact[bool]()
    exact = Fact[Exact | None]()
    folds = Fact[np.ufunc | None]()
    fresh = Fact[bool]()
    layout = Fact[Layout]()
    dynamic = Fact[int | None]()
    counted = Fact[str | None]()
    complex = Fact[Complex | None]()
    group = Fact[str | None]()
    flops = Fact[Callable[..., float] | None]()
    letters = Fact[Callable[..., str] | None]()
    ascending = Fact[tuple[str, ...]]()
    reads_memory = Fact[bool]()

    @functools.cached_property
    def is_differentiable(self) -> bool:
        """True if there is a reverse rule for some operand. Asked for only when the declaration is complete."""
        return bool(self.joint or self.gradients or self.partials)

    def operand_index(self, position: int) -> int:
        """The declared operand that the argument at `position` belongs to."""
        return self.variadic_from if 0 <= self.variadic_from <= position else position

    @functools.cached_property
    def _reads_cache(self) -> dict[tuple[bool, ...], tuple[tuple[int, ...], tuple[int, ...]]]:
        return {}

    def reads(self, needs: tuple[bool, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The operands and outputs that the rules for the needed gradients read."""
        cached = self._reads_cache.get(needs)
        if cached is None:
            rules = [self.joint] if self.joint is not None else [
                self.rule_for(position) for position, needed in enumerate(needs) if needed
            ]
            operands = {k for rule in rules if rule is not None for k in rule.reads_operands}
            if any(rule is not None and rule.reads_all_operands for rule in rules):
                operands |= set(range(self.variadic_from, len(needs)))
            outputs = {k for rule in rules if rule is not None for k in rule.reads_outputs}
            cached = self._reads_cache[needs] = (tuple(sorted(operands)), tuple(sorted(outputs)))
        return cached

    @functools.cached_property
    def fast_rules(self) -> tuple[Rule, ...] | None:
        """The rules of an elementwise op that read nothing but `g`, operands and the result; None if there are others.

        Fast paths are made from these. Asked for only when the declaration is complete.
        """
        if self.family != "elementwise" or self.joint is not None or self.door_rule is not None or self.params:
            return None
        rules = [self.rule_for(position) for position in range(len(self.operands))]
        if not 1 <= len(rules) <= 2 or self.operands != ("x", "y")[: len(rules)]:
            return None
        for rule in rules:
            if rule is None or any(kind not in (GRADIENT, OPERAND, OUTPUT) for kind, _ in rule.plan):
                return None
        return tuple(rule for rule in rules if rule is not None)

    def rule_for(self, position: int) -> Rule | None:
        """The reverse rule of one operand, where rules are given one by one."""
        if self.partials is not None:
            return self.partials[position]
        return self.gradients.get(self.operand_index(position))

    def source_of(self, name: str, specs: frozenset[int]) -> tuple[int, Any]:
        """Where a rule's parameter of this name comes from."""
        starred = f"*{name}"
        if name == "g":
            return GRADIENT, 0
        if name == "gs":
            return GRADIENTS, None
        if name == "needs":
            return NEEDS, None
        if name == "ctx":
            return CONTEXT, None
        if name == "outs":
            return OUTPUTS, None
        if name.startswith("g_") and name[2:] in self.outputs:
            return GRADIENT, self.outputs.index(name[2:])
        if name in self.operands:
            position = self.operands.index(name)
            return (SPEC if position in specs else OPERAND), position
        if starred in self.operands:
            return (SPECS if self.operands.index(starred) in specs else OPERANDS), self.variadic_from
        if name in self.outputs:
            return OUTPUT, self.outputs.index(name)
        if name.startswith("t_") and name[2:] in self.operands:
            return TANGENT, self.operands.index(name[2:])
        if name.startswith("t_") and f"*{name[2:]}" in self.operands:
            return TANGENTS, self.variadic_from
        if name in self.params:
            return PARAM, name
        raise InternalError(f"a rule of {self.name} reads {name!r}, which is neither operand, output nor parameter")

    def specs_of(self, *operands: Spec, **params: Any) -> Any:
        """Shape and dtype of the result, without running the kernel on data."""
        if self.spec_rule is None:
            raise InternalError(f"operator {self.name} has no shape rule")
        return self.spec_rule(*operands, **params)


def camel_case(name: str) -> str:
    """`log_sigmoid` as `LogSigmoid`, `linalg.solve` as `LinalgSolve`."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace(".", "_").split("_"))


def run_rule(
    rule: Rule,
    gradients: Any,
    operand: Callable[[int], Any],
    operand_spec: Callable[[int], Any],
    output: Callable[[int], Any],
    params: dict[str, Any],
    needs: Any,
    tangents: Any,
    count: int,
    context: Any = None,
) -> Any:
    """Call a rule with what its parameter names ask for. The accessors are called only for what is read.

    `gradients` has an entry for each output; those of a forward rule mean nothing.
    """
    arguments: list[Any] = []
    for kind, key in rule.plan:
        if kind == GRADIENT:
            arguments.append(gradients[key])
        elif kind == OPERAND:
            arguments.append(operand(key))
        elif kind == SPEC:
            arguments.append(operand_spec(key))
        elif kind == OUTPUT:
            arguments.append(output(key))
        elif kind == PARAM:
            arguments.append(params[key])
        elif kind == NEEDS:
            arguments.append(needs)
        elif kind == GRADIENTS:
            arguments.append(gradients)
        elif kind == TANGENT:
            arguments.append(tangents[key])
        elif kind == OPERANDS:
            arguments.append(tuple(operand(k) for k in range(key, count)))
        elif kind == SPECS:
            arguments.append(tuple(operand_spec(k) for k in range(key, count)))
        elif kind == OUTPUTS:
            arguments.append(tuple(output(k) for k in range(len(gradients))))
        elif kind == CONTEXT:
            arguments.append(context)
        else:
            arguments.append(tuple(tangents[key:count]))
    return rule.fn(*arguments)
