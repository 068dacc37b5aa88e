"""Units whose gradients have units
==================================

Magnitudes with a unit: metres and seconds do not add, and the derivative of an energy by a length is a force.

A unit is a set of exponents. Rules say what groups of operators do to them: what is linear keeps them, products add
them, other functions want pure numbers. The gradient of a value has the unit of the root divided by that of the value,
which `dual_meta` says; gradients of another unit are refused.
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


class UnitError(ValueError):
    """Units that do not go together."""


class Quantity(pb.Payload, parts=("value",), meta=("unit",)):
    """Numbers with a unit: pairs of a name and its exponent, in order."""

    default = "refuse"

    @staticmethod
    def dual_meta(value, root):
        """A derivative has the unit of the root divided by that of the value."""
        return (combined((() if root is None else root.unit, 1), (value.unit, -1)),)

    def __format_parts__(self):
        return f"{np.array2string(np.asarray(self.value), separator=', ')} {written(self.unit)}"


def combined(*powers):
    """The unit that is a product of powers of units."""
    total = {}
    for unit, power in powers:
        for name, exponent in unit:
            total[name] = total.get(name, 0) + Fraction(exponent) * Fraction(power).limit_denominator(64)
    return tuple(sorted((name, exponent) for name, exponent in total.items() if exponent))


def written(unit):
    """A unit as text."""
    return " ".join(name if power == 1 else f"{name}^{power}" for name, power in unit) or "1"


def unit_of(x):
    """The unit of an operand; plain numbers have none."""
    return x.unit if isinstance(x, Quantity) else ()


def value_of(x):
    """The numbers of an operand."""
    return x.value if isinstance(x, Quantity) else x


def in_common(call, operands):
    """The unit that all operands have. Zero has every unit."""
    units = {x.unit for x in operands if isinstance(x, Quantity)}
    for x in operands:
        if not isinstance(x, Quantity) and not (isinstance(x, (int, float, np.ndarray)) and not np.any(x)):
            units.add(())
    if len(units) > 1:
        raise UnitError(f"{call.name} of {' and '.join(sorted(map(written, units)))}")
    return units.pop()


def on_values(call, unit, *operands):
    """The operator on the numbers, with this unit."""
    kind = next(type(x) for x in operands if isinstance(x, Quantity))
    out = call(*map(value_of, operands))
    return tuple(kind(part, unit) for part in out) if isinstance(out, tuple) else kind(out, unit)


@Quantity.rule("linear", "write", "maximum", "minimum", "amax", "amin", "sort", "abs", "fabs", "hypot", "clip")
def keeps(call, *operands, **params):
    """Operands of one unit, and a result of the same."""
    return on_values(call, in_common(call, operands), *operands)


@Quantity.rule("index", "where", "masked_fill", "view", "copy")
def picks(call, *operands, **params):
    """The same, but operands that say which elements are meant have no unit."""
    measured = [x for x in operands if not (hasattr(x, "dtype") and x.dtype.kind in "biu")]
    return on_values(call, in_common(call, measured), *operands)


@Quantity.rule("multilinear")
def multiplies(call, *operands, **params):
    """Products add exponents."""
    return on_values(call, combined(*[(unit_of(x), 1) for x in operands]), *operands)


@Quantity.rule("divide")
def divides(call, x, y):
    """Quotients subtract them."""
    return on_values(call, combined((unit_of(x), 1), (unit_of(y), -1)), x, y)


HALF = Fraction(1, 2)
POWERS = {"sqrt": HALF, "rsqrt": -HALF, "cbrt": Fraction(1, 3), "square": 2, "reciprocal": -1, "var": 2}


@Quantity.rule(*POWERS)
def multiplies_exponents(call, x, **params):
    """Powers multiply them."""
    return on_values(call, combined((x.unit, POWERS[call.name])), x)


@Quantity.rule("std", on="tensors")
def deviation(call, x, **params):
    """Its derivative is written with a number that has no unit, so it is left to those of the square root."""
    return pb.sqrt(x.var(**params))


@Quantity.rule("pow")
def power(call, x, y):
    """A power with a number for exponent; an exponent that is an array must belong to a pure number."""
    if isinstance(x, Quantity) and x.unit:
        exponent = np.asarray(value_of(y))
        if unit_of(y) or exponent.ndim:
            raise UnitError(f"{written(x.unit)} to a power that is no single number")
        return on_values(call, combined((x.unit, float(exponent))), x, value_of(y))
    return NotImplemented


@Quantity.rule("comparison")
def compares(call, x, y, **params):
    """Truth values of operands of one unit."""
    in_common(call, (x, y))
    return call(value_of(x), value_of(y))


@Quantity.rule("sign", "argmax", "argmin", "argsort", "isnan", "isfinite")
def forgets(call, x, **params):
    """Pure numbers, whatever the unit."""
    return call(x.value)


@Quantity.rule("any")
def of_numbers(call, *operands, **params):
    """All other functions are functions of pure numbers."""
    for x in operands:
        if unit_of(x):
            raise UnitError(f"{call.name} of {written(x.unit)}: only pure numbers have it")
    return on_values(call, (), *operands)


BASE = ("m", "kg", "s", "A", "K", "mol", "cd")


def quantity(value, unit=""):
    """A tensor with a unit that is written as "kg m s^-2". If pint is installed, it knows all other units as well."""
    exponents = [part.partition("^") for part in unit.split()]
    if all(name in BASE for name, _, _ in exponents):
        found = combined(*[(((name, Fraction(power or 1)),), 1) for name, _, power in exponents])
        return pb.wrap(Quantity(np.array(value, float), found))
    import pint

    base = pint.get_application_registry().Quantity(1.0, unit.replace("^", "**")).to_base_units()
    names = ("meter", "kilogram", "second", "ampere", "kelvin", "mole", "candela")
    short = dict(zip(names, BASE, strict=True))
    found = combined(*[(((short[name], Fraction(power)),), 1) for name, power in base.units._units.items()])
    return pb.wrap(Quantity(np.asarray(value, float) * base.magnitude, found))


if __name__ == "__main__":
    # %%
    # A spring: energy, and the force as its derivative.

    stretch = quantity([0.1, 0.2, -0.1], "m").requires_grad_()
    stiffness = quantity(50.0, "kg s^-2")
    energy = (0.5 * stiffness * stretch**2).sum()
    energy.backward()
    print("energy   ", energy.detach())
    print("force    ", -stretch.grad)

    # %%
    # What does not go together is refused, in derivatives as well.

    for wrong in (lambda: stretch + quantity(1.0, "s"), lambda: pb.exp(stretch), lambda: stretch * 2 + 1.0):
        try:
            wrong()
        except UnitError as error:
            print("refused  ", error)

    # %%
    # A step of gradient descent needs a rate with a unit: that of the squared value divided by that of the root.

    rate = quantity(0.01, "kg^-1 s^2")
    with pb.no_grad():
        stretch -= rate * stretch.grad
    print("stepped  ", stretch.detach())
    print("curvature", pb.hessian(lambda x: (0.5 * stiffness * x**2).sum())(stretch.detach()))

    # %%
    # Energy and force over the stretch, in their units.

    at = quantity(np.linspace(-0.2, 0.2, 50), "m").requires_grad_()
    work = 0.5 * stiffness * at**2
    work.sum().backward()
    for curve in (work.detach(), -at.grad):
        plt.plot(at.detach().payload.value, curve.payload.value, label=written(curve.payload.unit))
    plt.xlabel("stretch in m")
    plt.legend()
    plt.show()
