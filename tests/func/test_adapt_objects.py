"""`pb.func.adapt` sees into methods, and into the objects of the module that a function uses."""

import dataclasses
import functools
import gc
from abc import ABC, abstractmethod

import numpy as np
import pytest

import pullback as pb
from pullback.func import DetachedArrayWarning, adapt
from tests.func.checking import check, leaf


def helper(x):
    out = np.zeros(3)
    out[:] = x
    return out


class Base(ABC):
    order = 1

    @abstractmethod
    def rate(self, x): ...

    def step(self, x):
        out = np.zeros(3)
        out[:] = x + 0.1 * self.rate(x)
        return out


class Decay(Base):
    made = 0

    def __init__(self, speed):
        self.speed = speed
        self.start = np.array([1.0, 2.0, 3.0])
        self.calls = 0
        self.history = []
        type(self).made += 1

    def rate(self, x):
        self.calls += 1
        out = np.empty(3)
        out[:] = -self.speed * x
        return out

    def step(self, x):
        return super().step(x) + self.shift

    @property
    def shift(self):
        return helper(self.start)

    @staticmethod
    def square(x):
        out = np.zeros(3)
        out[:] = x**2
        return out

    @classmethod
    def weighted(cls, x):
        return cls.square(x) * cls.order

    def run(self, x):
        y = self.start.copy()
        y[0] = x[0]
        for _ in range(3):
            y = self.step(y * x)
            self.history.append(y)
        return (y + self.weighted(x) + Decay.square(x)).sum()

    def __call__(self, x):
        return self.run(x)


@dataclasses.dataclass
class Pair:
    left: Decay
    factor: float = 2.0

    def total(self, x):
        out = np.zeros(1)
        out[0] = self.left.run(x) * self.factor
        return out[0]


MODEL = Decay(0.5)


def makes_objects(x):
    pair = Pair(Decay(0.3))
    assert isinstance(MODEL, Decay) and isinstance(pair.left, Base) and issubclass(Decay, Base)
    return pair.total(x) + MODEL.run(x)


@pytest.mark.parametrize("function", [
    MODEL.run, MODEL, Pair(MODEL, 3.0).total, makes_objects, functools.partial(Decay.run, MODEL),
    lambda x: Decay.square(x).sum(), lambda x: Decay.weighted(x).sum(), lambda x: adapt(Decay.weighted)(x).sum(),
], ids=["method", "callable", "nested", "made-inside", "partial", "static", "class", "class-method"])  # fmt: skip
def test_methods_and_objects_are_seen(function):
    check(function)


class Layer:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        out = np.zeros(3)
        out[:] = np.tanh(self.weight * x)
        return out


class Network:
    def __init__(self):
        self.layers = [Layer(1.0), Layer(np.array([1.0, 2.0, 3.0]))]
        self.named = {"last": Layer(0.5)}

    def run(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.named["last"](x).sum()

    def grow(self, x):
        self.layers.append(Layer(2.0))
        self.named["new"] = self.layers[0]
        return self.run(x)


def test_objects_in_lists_and_dicts_are_seen():
    network = Network()
    layers = network.layers
    check(network.run)
    assert network.layers is layers and [type(layer) for layer in layers] == [Layer, Layer]


def test_what_is_put_into_lists_and_dicts_stays_there_as_it_is():
    network = Network()
    layers = network.layers
    first, second = layers
    x = leaf([0.5, 0.6, 0.7])
    result = adapt(network.grow)(x)
    assert network.layers is layers and layers[0] is first and layers[1] is second and type(layers[2]) is Layer
    assert network.named["new"] is first and list(network.named) == ["last", "new"]
    assert result.item() == pytest.approx(network.run(x.detach().numpy()))
    assert type(network.run(x.detach().numpy())) is np.float64  # the new layer computes with NumPy again


ARRAYS = [np.ones(2), np.zeros(2)]


def test_arrays_in_lists_are_seen():
    def f(x):
        held = ARRAYS[1].copy()
        held[0] = x[0]
        ARRAYS[0][1] = 7.0
        return (held * ARRAYS[0]).sum() + len(ARRAYS)

    first = ARRAYS[0]
    x = leaf([3.0])
    adapt(f)(x).backward()
    assert x.grad.tolist() == [1.0] and ARRAYS[0] is first and first.tolist() == [1.0, 7.0]


def test_attributes_written_in_the_call_are_those_of_the_object():
    model = Decay(0.5)
    adapt(model.run)(leaf([1.0, 2.0, 3.0]))
    assert model.calls == 3 and len(model.history) == 3 and type(model) is Decay
    assert type(model.start) is np.ndarray and model.start.tolist() == [1.0, 2.0, 3.0]
    assert vars(model).keys() == {"speed", "start", "calls", "history"}


def test_an_attribute_that_is_filled_keeps_the_gradient_for_the_call():
    class Recorder:
        def __init__(self):
            self.buffer = np.zeros(2)
            self.me = None

        def run(self, x):
            self.me = self
            self.buffer[0] = x[0] * x[0]
            return self.me.buffer.sum()

    recorder = Recorder()
    x = leaf([3.0])
    with pytest.warns(DetachedArrayWarning):
        adapt(recorder.run)(x).backward()
    assert x.grad.tolist() == [6.0]
    assert recorder.me is recorder and type(recorder.buffer) is np.ndarray and recorder.buffer.tolist() == [9.0, 0.0]


def test_an_object_that_returns_itself_comes_back_as_itself():
    class Fluent:
        def add(self, x):
            self.total = helper(x).sum()
            return self

    fluent = Fluent()
    x = leaf([1.0, 2.0, 3.0])
    assert adapt(fluent.add)(x) is fluent and type(fluent) is Fluent
    fluent.total.backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


SHARED = [np.ones(2)]
append_to_shared = SHARED.append


def test_a_list_that_was_only_read_keeps_what_others_put_there():
    def f(x):
        append_to_shared(3)  # compiled code, which knows the list itself, as another thread would
        return (SHARED[0] * x).sum()

    adapt(f)(leaf([1.0, 2.0]))
    assert len(SHARED) == 2 and SHARED[1] == 3


def test_methods_of_other_objects_kept_as_attributes_are_seen():
    class Holder:
        def __init__(self):
            self.layer = Layer(2.0).__call__

        def run(self, x):
            return self.layer(x).sum()

    check(Holder().run)


class Lazy:
    def __init__(self, scale):
        self.scale = scale

    @functools.cached_property
    def weights(self):
        out = np.zeros(3)
        out[:] = self.scale
        return out

    def run(self, power, x, shift=0.0):
        out = np.empty(3)
        out[:] = self.weights * x**power + shift
        return out.sum()

    square = functools.partialmethod(run, 2, shift=np.array([1.0, 2.0, 3.0]))


def test_cached_properties_and_partial_methods_are_seen():
    check(lambda x: Lazy(x[0]).square(x))
    lazy = Lazy(2.0)
    check(lazy.square)
    assert type(lazy.weights) is pb.Tensor and type(lazy) is Lazy


@dataclasses.dataclass(frozen=True)
class Frozen:
    scale: float

    def fill(self, x):
        out = np.zeros(3)
        out[:] = self.scale * x
        return out


def test_frozen_dataclasses_are_seen():
    check(lambda x: (Frozen(2.0).fill(x) * Frozen(3.0).fill(x)).sum())
    with pytest.raises(dataclasses.FrozenInstanceError):
        adapt(lambda x: setattr(Frozen(2.0), "scale", x))(leaf([1.0]))


def test_an_object_kept_elsewhere_is_of_its_own_class_again():
    kept = []

    class Registered:
        def run(self, x):
            kept.append(self)
            self.total = helper(x).sum()
            return (self, [self, Registered()])

    registered = Registered()
    first, (second, made) = adapt(registered.run)(leaf([1.0, 2.0, 3.0]))
    assert first is registered and second is registered
    assert type(kept[0]) is Registered and vars(kept[0]) is vars(registered) and type(made) is Registered


def test_a_method_that_is_a_generator_runs_adapted_until_it_ends():
    class Rows:
        ended = False

        def fill(self, x, i):
            row = np.zeros(3)
            row[i] = x[i] ** 2
            return row

        def rows(self, x):
            for i in range(3):
                yield self.fill(x, i)
            self.ended = True

    rows = Rows()
    x = leaf([1.0, 2.0, 3.0])
    sum(row.sum() for row in adapt(rows.rows)(x)).backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0] and rows.ended and type(rows) is Rows


def test_class_attributes_are_written_on_the_class():
    before = Decay.made
    adapt(makes_objects)(leaf([1.0, 2.0, 3.0]))
    assert Decay.made == before + 1
    assert Base.__abstractmethods__ == {"rate"} and Decay.__abstractmethods__ == frozenset()
    gc.collect()
    assert Base.__subclasses__() == [Decay] and Decay.__subclasses__() == []


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale

    def run(self, x):
        return self.scale * self.fill(x)

    def fill(self, x):
        out = np.zeros(3)
        out[:] = x
        return out


def test_an_object_with_slots_is_not_seen_and_says_so():
    with pytest.raises(pb.AutogradError) as caught:
        adapt(Slotted(2.0).run)(leaf([1.0, 2.0, 3.0]))
    assert caught.value.code == "ADAPT_UNSEEN" and "Slotted.fill" in caught.value.what


# Classes that work together ------------------------------------------------------------------------------------------


class Part:
    def __init__(self):
        super().__init__()  # nobody comes after it, or another branch of the family
        self.parts = np.zeros(2)

    def describe(self):
        return "part"


class Named(Part):
    label = "named"

    def __init__(self, name, **others):
        super().__init__(**others)
        self.name = name

    def describe(self):
        return self.name + super().describe()


class Weighted(Part):
    def __init__(self, weight=1.0):
        super().__init__()
        self.parts[0] = weight

    def __eq__(self, other):
        return isinstance(other, Weighted)

    def describe(self):
        return "weighted " + super().describe()


class Both(Named, Weighted):
    label = "both"

    def __init__(self, name, weight):
        super().__init__(name, weight=weight)
        self.parts[1] = 2 * weight


def test_classes_that_call_each_other_by_super():
    def f(x):
        both = Both("it is ", x)
        assert both.describe() == "it is weighted part" and both.label == "both" and isinstance(both, Part)
        assert both == Weighted(x) and type(both).__hash__ is None
        return both.parts.sum() ** 2

    for call in (adapt(f), pb.compile(adapt(f), fallback="raise")):
        x = pb.tensor(3.0, requires_grad=True)
        y = call(x)
        assert (y.item(), pb.autograd.grad(y, x)[0].item()) == (81.0, 54.0)


def test_a_compiled_function_makes_objects_whose_classes_call_each_other_by_super():
    class Holder(Part):
        def __init__(self, value):
            super().__init__()
            self.value = value

    compiled = pb.compile(lambda x: Holder(x * 2).value + 1, fallback="raise")
    assert compiled(pb.tensor(2.0)).item() == 5.0


def asks_for_types(x):
    """Branches by `type`, as programs do that take numbers and arrays."""

    class Meta(type):
        pass

    class Made(metaclass=Meta):
        pass

    assert type(Made) is Meta and isinstance(Made, type) and type(Meta) is type and isinstance(type, type)
    real, imaginary, whole = 1.0, 1j, 1
    assert type(real) is float and type(imaginary) is complex and type(whole) is int and type(real) in {float: 1}
    assert type(x) is np.ndarray and type(x) in (list, np.ndarray) and type(np.zeros(2)) is np.ndarray
    assert type(x[0]) is np.float64 and type(x.sum()) is np.float64 and type(np.float64(2.0)) is np.float64
    assert type(type("Pair", (), {"size": 2})()).size == 2 and issubclass(type, object)
    return (type(x[0])(3.0) * x).sum()


def test_type_says_what_a_value_stands_for():
    check(asks_for_types)


class Counting:
    def __init__(self):
        self.count = 0
        super().__init__()

    def tell(self):
        self.count += 1
        return self.count


class Curve(ABC, Counting):  # its layout in memory is not that of Counting, although objects look the same
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    @abstractmethod
    def at(self, x): ...


class Line(Curve):
    def at(self, x):
        out = np.zeros(2)
        out[0] = self.scale * x[0]
        return out.sum() * self.tell()


class Steep(Line):
    def at(self, x):
        return super().at(x) + self.scale


STEEP = Steep(3.0)


def test_other_things_are_no_objects_of_an_abstract_class():
    def total(x):
        assert isinstance(STEEP, Curve) and issubclass(Steep, Curve) and not issubclass(Counting, Curve)
        things = (x[0], np.ones(2), STEEP)
        return sum(y.scale if isinstance(y, (Curve, Steep)) else STEEP.scale * y for y in things).sum()

    check(total)
    assert not isinstance(3, Curve)
    x = leaf([2.0, 5.0])
    tripled = pb.compile(lambda x: x * (2.0 if isinstance(x, Curve) or issubclass(Counting, Line) else STEEP.scale))
    tripled(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_classes_of_several_bases():
    def total(x):
        return STEEP.at(x) + Steep(x[1]).at(x)

    def plain(x):
        return 3 * x[0] * count + 3 + x[1] * x[0] + x[1]

    for count in (1, 2):
        x = leaf([2.0, 5.0])
        result = adapt(total)(x)
        result.backward()
        assert (result.item(), x.grad.tolist()) == (plain([2.0, 5.0]), [3.0 * count + 5, 3.0])
        assert type(STEEP) is Steep and STEEP.count == count
    x = leaf([2.0, 5.0])
    pb.compile(lambda x: pb.sin(STEEP.scale * x).sum() * Steep(2.0).tell())(x).backward()
    np.testing.assert_allclose(x.grad, 3 * np.cos([6.0, 15.0]))


class Told:
    """Knows what is read and written, as classes with callbacks do."""

    def __init__(self):
        self.told = []
        super().__init__()

    def __setattr__(self, name, value):
        if "told" in self.__dict__:
            self.told.append(name)
        super().__setattr__(name, value)

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return value * 2 if name == "doubled" else value


class Kept(Told):
    pass


class Rod(Kept):
    def __init__(self, doubled):
        super().__init__()
        self.doubled = doubled

    def __setattr__(self, name, value):
        super().__setattr__(name, value)

    def at(self, x):
        self.last = np.zeros(2)
        self.last[:] = self.doubled * x[:2]
        return self.last.sum()


ROD = Rod(3.0)


@pytest.mark.parametrize("wrap", [lambda f: f, pb.compile])
def test_classes_that_say_how_attributes_are_read_and_written(wrap):
    x = leaf([2.0, 5.0])
    wrap(adapt(lambda x: ROD.at(x) + Rod(x[1]).at(x)))(x).backward()
    assert x.grad.tolist() == [6.0 + 10.0, 6.0 + 2 * 2.0 + 4 * 5.0]
    assert type(ROD) is Rod and ROD.told == ["doubled", "last"]
    ROD.told.remove("last")
