"""Programs as people write them for NumPy: loops, arrays that are filled, helpers, classes. `numpy_programs.py` runs
them.

The text of this module is run three times, with `np` as NumPy, as Pullback and as HIPS autograd, so it imports nothing
else that computes. A program takes arrays and returns one number. What it is given is drawn by the function in its
decorator: `(rng, n)`, where `n` says how much there is to do.
"""

# ruff: noqa: D101, D102, D103 (the names say what is computed, as in such programs)

import numpy as np

PROGRAMS = {}


def program(operands, small=4, large=48, overwrites=False):
    """Register a function, what draws its operands, and two sizes. Some overwrite what their derivative needs."""

    def register(function):
        PROGRAMS[function.__name__] = (function, operands, small, large, overwrites)
        return function

    return register


# Differential equations -----------------------------------------------------------------------------------------------


def rk4_step(slope, state, dt):
    k1 = slope(state)
    k2 = slope(state + 0.5 * dt * k1)
    k3 = slope(state + 0.5 * dt * k2)
    k4 = slope(state + dt * k3)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@program(lambda rng, n: [rng.uniform(0.4, 1.2, 4), rng.uniform(0.8, 1.2, (n, 2))], small=2)
def predators_and_prey(rates, observed):
    a, b, c, d = rates
    state = np.array([1.0, 0.5])
    path = np.empty(observed.shape)
    for k in range(len(observed)):
        state = rk4_step(lambda u: np.array([a * u[0] - b * u[0] * u[1], d * u[0] * u[1] - c * u[1]]), state, 0.1)
        path[k] = state
    return ((path - observed) ** 2).mean()


@program(lambda rng, n: [rng.uniform(0.1, 0.3, ()), rng.standard_normal(4 * n)])
def heat_in_a_rod(conductivity, start):
    temperature = start.copy()
    for _ in range(10):
        before = temperature.copy()
        temperature[1:-1] = before[1:-1] + conductivity * (before[2:] - 2 * before[1:-1] + before[:-2])
        temperature[0] = 0.0
        temperature[-1] = temperature[-2]
    return np.sum(temperature**2)


@program(lambda rng, n: [rng.uniform(0.1, 0.2, ()), rng.standard_normal((n, n))])
def waves_on_a_membrane(speed, start):
    u = np.zeros((8, *start.shape))
    u[0] = start
    u[1] = start
    for t in range(1, 7):
        inner = u[t, 1:-1, 1:-1]
        spread = u[t, 2:, 1:-1] + u[t, :-2, 1:-1] + u[t, 1:-1, 2:] + u[t, 1:-1, :-2] - 4 * inner
        u[t + 1, 1:-1, 1:-1] = 2 * inner - u[t - 1, 1:-1, 1:-1] + speed * spread
    return np.sum(u[-1] ** 2)


def around(field):
    return np.roll(field, 1, 0) + np.roll(field, -1, 0) + np.roll(field, 1, 1) + np.roll(field, -1, 1) - 4 * field


@program(lambda rng, n: [rng.uniform(0.02, 0.08, 2), 0.5 + 0.1 * rng.random((n, n)), 0.25 * rng.random((n, n))])
def reaction_and_diffusion(feed_and_kill, u, v):
    feed, kill = feed_and_kill
    for _ in range(5):
        reaction = u * v * v
        u = u + 0.16 * around(u) - reaction + feed * (1 - u)
        v = v + 0.08 * around(v) + reaction - (feed + kill) * v
    return np.mean(v) + np.var(u)


class Cluster:
    def __init__(self, positions, masses):
        self.positions = positions
        self.masses = masses
        self.velocities = np.zeros(positions.shape)

    def accelerations(self):
        apart = self.positions[None, :, :] - self.positions[:, None, :]
        cubes = (np.sum(apart**2, axis=2) + 0.1) ** 1.5
        return np.sum(apart * (self.masses / cubes)[:, :, None], axis=1)

    def leap(self, dt):
        self.velocities = self.velocities + 0.5 * dt * self.accelerations()
        self.positions = self.positions + dt * self.velocities
        self.velocities = self.velocities + 0.5 * dt * self.accelerations()

    def kinetic_energy(self):
        return 0.5 * np.sum(self.masses[:, None] * self.velocities**2)


@program(lambda rng, n: [rng.standard_normal((n, 3)), rng.uniform(0.5, 1.5, n)])
def bodies_that_attract(positions, masses):
    cluster = Cluster(positions, masses)
    for _ in range(3):
        cluster.leap(0.05)
    return cluster.kinetic_energy()


@program(lambda rng, n: [rng.uniform(0.2, 3.0, n), rng.uniform(0.05, 0.4, n)])
def orbits(anomaly, eccentricity):
    angle = anomaly
    for _ in range(8):
        angle = angle - (angle - eccentricity * np.sin(angle) - anomaly) / (1 - eccentricity * np.cos(angle))
    x, y = np.cos(angle) - eccentricity, np.sqrt(1 - eccentricity**2) * np.sin(angle)
    return np.sum(np.hypot(x, y) * np.arctan2(y, x))


@program(lambda rng, n: [rng.uniform(0.1, 1.0, 3)])
def stiff_kinetics(rates):
    def slope(y):
        forward, back, pair = rates[0] * y[0], rates[1] * y[1] * y[2], rates[2] * y[1] ** 2
        return np.array([back - forward, forward - back - pair, pair])

    def jacobian(y):
        jac = np.zeros((3, 3))
        jac[0, 0], jac[0, 1], jac[0, 2] = -rates[0], rates[1] * y[2], rates[1] * y[1]
        jac[2, 1] = 2 * rates[2] * y[1]
        jac[1] = -jac[0] - jac[2]
        return jac

    y = np.array([1.0, 0.1, 0.0])
    for _ in range(3):
        guess = y
        for _ in range(2):
            guess = guess - np.linalg.solve(np.eye(3) - 0.5 * jacobian(guess), guess - y - 0.5 * slope(guess))
        y = guess
    return y[2] + y[0] * y[1]


class Neuron:
    def __init__(self, conductances):
        self.sodium, self.potassium, self.leak = conductances
        self.voltage = -0.65
        self.gates = np.array([0.05, 0.6, 0.3])

    def advance(self, current, dt):
        m, h, n = self.gates
        flow = self.sodium * m**3 * h * (self.voltage - 0.5) + self.potassium * n**4 * (self.voltage + 0.77)
        flow = flow + self.leak * (self.voltage + 0.54)
        opening = 1 / (1 + np.exp(-(self.voltage * np.array([10.0, -8.0, 6.0]) + np.array([4.0, -5.0, 3.0]))))
        self.gates = self.gates + dt * (opening - self.gates)
        self.voltage = self.voltage + dt * (current - flow)


@program(lambda rng, n: [rng.uniform(0.3, 1.2, 3), rng.uniform(0.0, 1.0, n)])
def a_neuron(conductances, currents):
    neuron = Neuron(conductances)
    voltages = []
    for current in currents:
        neuron.advance(current, 0.05)
        voltages.append(neuron.voltage)
    return np.sum(np.array(voltages) ** 2)


# Statistics -----------------------------------------------------------------------------------------------------------


class Filter:
    def __init__(self, process, noise):
        self.state = np.zeros(2)
        self.covariance = np.eye(2)
        self.transition = np.array([[1.0, 0.1], [0.0, 1.0]])
        self.process = np.diag(np.array([process, process]))
        self.noise = noise

    def predict(self):
        self.state = self.transition @ self.state
        self.covariance = self.transition @ self.covariance @ self.transition.T + self.process

    def update(self, measured):
        seen = np.array([1.0, 0.0])
        spread = self.covariance @ seen
        variance = seen @ spread + self.noise
        off = measured - self.state[0]
        gain = spread / variance
        self.state = self.state + gain * off
        self.covariance = self.covariance - np.outer(gain, spread)
        return -0.5 * (np.log(variance) + off**2 / variance)


@program(lambda rng, n: [rng.uniform(0.05, 0.2, ()), rng.uniform(0.2, 0.5, ()), np.cumsum(rng.standard_normal(n))])
def kalman_filter(process, noise, series):
    tracker = Filter(process, noise)
    total = 0.0
    for measured in series:
        tracker.predict()
        total += tracker.update(measured)
    return total


def stochastic(rng, *shape):
    table = rng.uniform(0.2, 1.0, shape)
    return table / table.sum(axis=-1, keepdims=True)


@program(lambda rng, n: [stochastic(rng, 3, 3), stochastic(rng, 3, n)])
def hidden_states(transition, emission):
    forward = np.zeros((emission.shape[1], 3))
    forward[0] = emission[:, 0] / 3
    scale = 0.0
    for t in range(1, len(forward)):
        step = (forward[t - 1] @ transition) * emission[:, t]
        total = step.sum()
        forward[t] = step / total
        scale = scale + np.log(total)
    return scale + forward[-1, 0]


@program(lambda rng, n: [stochastic(rng, 3, 3), stochastic(rng, 3, n)])
def best_path(transition, emission):
    score = np.log(emission[:, 0])
    for t in range(1, emission.shape[1]):
        score = np.max(score[:, None] + np.log(transition), axis=0) + np.log(emission[:, t])
    return np.max(score)


@program(lambda rng, n: [rng.standard_normal((4 * n, 2)), rng.standard_normal((3, 2))])
def clusters(points, centers):
    centers = centers.copy()
    for _ in range(3):
        nearest = np.argmin(np.sum((points[:, None, :] - centers[None]) ** 2, axis=2), axis=1)
        for k in range(len(centers)):
            weight = np.where(nearest == k, 1.0, 0.0)
            centers[k] = (weight @ points) / np.maximum(weight.sum(), 1.0)
    return np.sum(np.min(np.sum((points[:, None, :] - centers[None]) ** 2, axis=2), axis=1))


@program(lambda rng, n: [rng.standard_normal(4 * n), np.array([-1.0, 1.2])], overwrites=True)
def mixture(samples, means):
    spreads, weights = np.ones(2), np.full(2, 0.5)
    for _ in range(3):
        share = weights * np.exp(-0.5 * ((samples[:, None] - means) / spreads) ** 2) / spreads
        share /= share.sum(axis=1, keepdims=True)
        counts = share.sum(axis=0)
        means = share.T @ samples / counts
        spreads = np.sqrt(np.sum(share * (samples[:, None] - means) ** 2, axis=0) / counts)
        weights = counts / len(samples)
    return np.sum(np.log(np.sum(weights * np.exp(-0.5 * ((samples[:, None] - means) / spreads) ** 2), axis=1)))


@program(lambda rng, n: [rng.uniform(-0.4, 0.4, 2), rng.uniform(0.5, 1.0, ()), rng.standard_normal(2 * n)])
def autoregression(weights, spread, series):
    total = 0.0
    for t in range(2, len(series)):
        expected = weights[0] * series[t - 1] + weights[1] * series[t - 2]
        total -= np.log(spread) + 0.5 * ((series[t] - expected) / spread) ** 2
    return total


@program(lambda rng, n: [rng.standard_normal((4 * n, 3)), rng.standard_normal(3)])
def logistic_regression(features, weights):
    labels = np.arange(len(features)) % 2
    for _ in range(10):
        chance = 1 / (1 + np.exp(-features @ weights))
        weights = weights - 0.1 * features.T @ (chance - labels) / len(features)
    chance = 1 / (1 + np.exp(-features @ weights))
    return -np.mean(labels * np.log(chance) + (1 - labels) * np.log(1 - chance))


def kernel(x, y, length):
    return np.exp(-0.5 * np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2) / length**2)


@program(lambda rng, n: [rng.standard_normal((n, 2)), rng.standard_normal(n), rng.uniform(0.8, 1.2, ())])
def gaussian_process(inputs, outputs, length):
    covariance = kernel(inputs, inputs, length) + 0.1 * np.eye(len(inputs))
    root = np.linalg.cholesky(covariance)
    return -0.5 * outputs @ np.linalg.solve(covariance, outputs) - np.sum(np.log(np.diag(root)))


# Sequences ------------------------------------------------------------------------------------------------------------


@program(lambda rng, n: [rng.standard_normal(n), rng.standard_normal(n)], small=3, large=12)
def soft_time_warping(first, second):
    cost = (first[:, None] - second[None, :]) ** 2
    total = np.full((len(first) + 1, len(second) + 1), 100.0)
    total[0, 0] = 0.0
    for i in range(len(first)):
        for j in range(len(second)):
            ways = np.array([total[i, j], total[i, j + 1], total[i + 1, j]])
            total[i + 1, j + 1] = cost[i, j] - np.log(np.sum(np.exp(-ways)))
    return total[-1, -1]


@program(lambda rng, n: [rng.standard_normal((n, n + 1)), rng.uniform(0.2, 0.6, ())], small=3, large=12)
def soft_alignment(similarity, gap):
    rows, columns = similarity.shape
    best = np.zeros((rows + 1, columns + 1))
    best[:, 0] = -gap * np.arange(rows + 1)
    best[0, :] = -gap * np.arange(columns + 1)
    for i in range(rows):
        for j in range(columns):
            skipped = np.logaddexp(best[i, j + 1], best[i + 1, j]) - gap
            best[i + 1, j + 1] = np.logaddexp(best[i, j] + similarity[i, j], skipped)
    return best[-1, -1]


@program(lambda rng, n: [rng.standard_normal((n, 3)), 0.5 * rng.standard_normal((7, 4))])
def recurrent_network(words, weights):
    state = np.zeros(4)
    states = []
    for word in words:
        state = np.tanh(np.concatenate([word, state]) @ weights)
        states.append(state)
    return np.mean(np.stack(states) ** 2)


@program(lambda rng, n: [rng.standard_normal((3, n, 4)), rng.standard_normal((4, 4))])
def attention(tokens, mixing):
    queries = tokens @ mixing
    scores = queries @ np.swapaxes(tokens, 1, 2) / 2.0
    scores = np.exp(scores - np.max(scores, axis=2, keepdims=True))
    return np.sum((scores / np.sum(scores, axis=2, keepdims=True) @ tokens) ** 2)


# Networks from scratch ------------------------------------------------------------------------------------------------


class Layer:
    def __init__(self, weights):
        self.weights = weights

    def __call__(self, x):
        self.inputs = x
        self.active = x @ self.weights > 0
        return np.where(self.active, x @ self.weights, 0.0)

    def backward(self, gradient, rate):
        gradient = np.where(self.active, gradient, 0.0)
        passed = gradient @ self.weights.T
        self.weights = self.weights - rate * self.inputs.T @ gradient
        return passed


@program(lambda rng, n: [rng.standard_normal((n, 3)), rng.standard_normal((3, 5)), rng.standard_normal((5, 2))])
def training_by_hand(data, first, second):
    layers = [Layer(first), Layer(second)]
    for _ in range(3):
        out = data
        for layer in layers:
            out = layer(out)
        gradient = 2 * (out - 1.0) / len(data)
        for layer in layers[::-1]:
            gradient = layer.backward(gradient, 0.05)
    return np.mean((out - 1.0) ** 2) + 0.01 * np.sum(layers[0].weights ** 2)


@program(lambda rng, n: [rng.standard_normal((n, n)), rng.standard_normal((3, 3))], large=16)
def convolution_by_loops(image, mask):
    rows, columns = image.shape
    out = np.zeros((rows - 2, columns - 2))
    for i in range(rows - 2):
        for j in range(columns - 2):
            out[i, j] = np.sum(image[i : i + 3, j : j + 3] * mask)
    return np.sum(np.maximum(out, 0) ** 2)


# Images and signals ---------------------------------------------------------------------------------------------------


@program(lambda rng, n: [rng.random((n, n)), rng.uniform(0.8, 1.2, ()), rng.uniform(0.3, 0.6, ())], large=24)
def bilateral_filter(image, near, alike):
    total, weights = np.zeros(image.shape), np.zeros(image.shape)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            other = np.roll(np.roll(image, i, 0), j, 1)
            weight = np.exp(-(i * i + j * j) / (2 * near**2) - (image - other) ** 2 / (2 * alike**2))
            total += weight * other
            weights += weight
    return np.sum((total / weights) ** 2)


@program(lambda rng, n: [rng.random((n, n)), rng.uniform(0.8, 1.2, ())])
def gaussian_blur(image, width):
    taps = np.exp(-0.5 * (np.arange(-2, 3) / width) ** 2)
    taps = taps / taps.sum()
    padded = np.pad(image, 2, mode="edge")
    rows = sum(taps[k] * padded[:, k : k + image.shape[1]] for k in range(5))
    return np.sum(sum(taps[k] * rows[k : k + image.shape[0]] for k in range(5)) ** 2)


@program(lambda rng, n: [rng.standard_normal(4 * n), rng.uniform(1.0, 3.0, ())])
def low_pass(signal, cutoff):
    spectrum = np.fft.fft(signal)
    frequency = np.abs(np.fft.fftfreq(len(signal)) * len(signal))
    smooth = np.real(np.fft.ifft(spectrum / (1 + (frequency / cutoff) ** 4)))
    return np.sum(np.diff(smooth) ** 2)


@program(lambda rng, n: [rng.uniform(0.1, 0.5, 3), rng.standard_normal(2 * n)])
def recursive_filter(taps, signal):
    out = np.zeros(len(signal))
    for t in range(2, len(signal)):
        out[t] = taps[0] * signal[t] + taps[1] * out[t - 1] - taps[2] * out[t - 2]
    return np.sum(out**2)


@program(lambda rng, n: [rng.uniform(0.3, 0.6, (n, n))])
def smooth_life(cells):
    for _ in range(3):
        around_here = -cells
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                around_here = around_here + np.roll(np.roll(cells, i, 0), j, 1)
        born = np.exp(-((around_here - 3) ** 2))
        cells = np.where(around_here > 4.5, 0.2 * cells, born)
    return np.sum(cells**2)


@program(lambda rng, n: [rng.uniform(-0.5, 0.3, n), rng.uniform(-0.5, 0.5, n)])
def escaping_points(x, y):
    real, imaginary, total = np.zeros(x.shape), np.zeros(x.shape), 0.0
    for _ in range(6):
        real, imaginary = real**2 - imaginary**2 + x, 2 * real * imaginary + y
        inside = real**2 + imaginary**2 < 4.0
        total = total + np.sum(np.where(inside, real**2 + imaginary**2, 0.0))
        real, imaginary = np.where(inside, real, 0.0), np.where(inside, imaginary, 0.0)
    return total


# Finance --------------------------------------------------------------------------------------------------------------


def normal_cdf(x):
    return 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


@program(lambda rng, n: [rng.uniform(0.8, 1.2, n), rng.uniform(0.1, 0.4, n), rng.uniform(0.01, 0.05, ())])
def option_prices(spot, volatility, rate):
    d1 = (np.log(spot) + (rate + 0.5 * volatility**2)) / volatility
    price = spot * normal_cdf(d1) - np.exp(-rate) * normal_cdf(d1 - volatility)
    return np.sum(price)


@program(lambda rng, n: [rng.uniform(0.9, 1.1, ()), rng.uniform(0.15, 0.3, ())])
def binomial_tree(spot, volatility):
    steps = 6
    up = np.exp(volatility * 0.25)
    chance = (1.005 - 1 / up) / (up - 1 / up)
    values = np.zeros(steps + 1)
    for k in range(steps + 1):
        values[k] = np.maximum(spot * up ** (2.0 * k - steps) - 1.0, 0.0)
    for step in range(steps, 0, -1):
        values = (chance * values[1 : step + 1] + (1 - chance) * values[:step]) / 1.005
    return values[0]


@program(lambda rng, n: [rng.uniform(0.9, 1.1, ()), rng.uniform(0.1, 0.3, ()), rng.standard_normal((6, 8 * n))])
def average_of_paths(spot, volatility, noise):
    price = np.ones(noise.shape[1]) * spot
    total = np.zeros(noise.shape[1])
    for step in noise:
        price = price * np.exp(-0.5 * volatility**2 / 6 + volatility * step / np.sqrt(6.0))
        total += price
    return np.mean(np.maximum(total / 6 - 1.0, 0.0))


# Linear algebra by hand -----------------------------------------------------------------------------------------------


@program(lambda rng, n: [rng.standard_normal((n, n)) + n * np.eye(n)], small=3, large=12)
def elimination(matrix):
    upper = matrix.copy()
    lower = np.eye(len(matrix))
    for k in range(len(matrix)):
        for i in range(k + 1, len(matrix)):
            lower[i, k] = upper[i, k] / upper[k, k]
            upper[i, k:] = upper[i, k:] - lower[i, k] * upper[k, k:]
    return np.sum(np.log(np.abs(np.diag(upper)))) + np.sum(lower**2)


@program(lambda rng, n: [rng.standard_normal((n + 1, n))], small=3, large=12)
def orthogonal_columns(matrix):
    basis = np.zeros(matrix.shape)
    lengths = np.zeros(matrix.shape[1])
    for j in range(matrix.shape[1]):
        rest = matrix[:, j]
        for i in range(j):
            rest = rest - (basis[:, i] @ matrix[:, j]) * basis[:, i]
        lengths[j] = np.sqrt(rest @ rest)
        basis[:, j] = rest / lengths[j]
    return np.sum(lengths**3) + basis[0, 0]


@program(lambda rng, n: [rng.random((n, n)) + np.eye(n), rng.random(n)])
def largest_eigenvalue(matrix, start):
    both = matrix + matrix.T
    vector = start
    for _ in range(20):
        vector = both @ vector
        vector = vector / np.sqrt(np.sum(vector**2))
    return vector @ both @ vector


@program(lambda rng, n: [rng.standard_normal((n, n)), rng.standard_normal(n)])
def conjugate_gradients(matrix, right):
    definite = matrix @ matrix.T + len(right) * np.eye(len(right))
    x = np.zeros(len(right))
    residual = right - definite @ x
    direction = residual
    for _ in range(4):
        image = definite @ direction
        length = residual @ residual / (direction @ image)
        x = x + length * direction
        new = residual - length * image
        direction = new + (new @ new) / (residual @ residual) * direction
        residual = new
    return np.sum(x**2)


@program(lambda rng, n: [rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(n)])
def tridiagonal_system(below, above, right):
    n = len(right)
    factor, reduced, x = np.zeros(n), np.zeros(n), np.zeros(n)
    factor[0], reduced[0] = above[0] / 4.0, right[0] / 4.0
    for i in range(1, n):
        pivot = 4.0 - below[i] * factor[i - 1]
        factor[i] = above[i] / pivot
        reduced[i] = (right[i] - below[i] * reduced[i - 1]) / pivot
    x[-1] = reduced[-1]
    for i in range(n - 2, -1, -1):
        x[i] = reduced[i] - factor[i] * x[i + 1]
    return np.sum(x**2)


# Control and graphs ---------------------------------------------------------------------------------------------------


@program(lambda rng, n: [rng.uniform(0.8, 1.1, ()), rng.uniform(0.1, 0.5, ()), rng.standard_normal(2)])
def regulator(growth, push, start):
    system = np.array([[1.0, 0.1], [0.0, growth]])
    control = np.array([[0.0], [push]])
    value = np.eye(2)
    for _ in range(8):
        gain = np.linalg.solve(control.T @ value @ control + 0.1 * np.eye(1), control.T @ value @ system)
        value = np.eye(2) + system.T @ value @ (system - control @ gain)
    return start @ value @ start


@program(lambda rng, n: [0.1 * rng.standard_normal(2 * n)])
def swinging_up(torques):
    angle, speed, cost = 3.0, 0.0, 0.0
    for torque in torques:
        speed = speed + 0.1 * (np.sin(angle) - 0.1 * speed + torque)
        angle = angle + 0.1 * speed
        cost = cost + angle**2 + 0.1 * speed**2 + 0.01 * torque**2
    return cost


@program(lambda rng, n: [rng.uniform(0.1, 1.0, (n, n)), rng.uniform(0.8, 0.9, ())])
def importance_of_pages(links, damping):
    chances = links / links.sum(axis=0)
    rank = np.ones(len(links)) / len(links)
    for _ in range(10):
        rank = damping * (chances @ rank) + (1 - damping) / len(links)
    return np.sum(rank**2)


@program(lambda rng, n: [rng.uniform(0.5, 2.0, (n, n))], large=24)
def shortest_paths(lengths):
    distance = lengths * (1 - np.eye(len(lengths)))
    for k in range(len(lengths)):
        distance = np.minimum(distance, distance[:, k][:, None] + distance[k][None, :])
    return np.sum(distance)


@program(lambda rng, n: [rng.standard_normal((n, n)), rng.uniform(0.1, 0.4, ())])
def magnets(field, coupling):
    mean = np.tanh(field)
    for _ in range(6):
        mean = 0.5 * mean + 0.5 * np.tanh(field + coupling * (around(mean) + 4 * mean))
    return np.sum(mean**2)
