"""Classification by a linear model: a softmax, its loss and its gradient, each one compiled function.

    python softmax.py [softmax.png]
"""

# %% The model.
import sys

import matplotlib
import numpy as np

import broadloom as bl

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@bl.jit
def probabilities(points, weights):
    return softmax(points @ weights)


@bl.jit
def step(points, labels, weights, rate):
    found = softmax(points @ weights)
    wanted = (labels[:, None] == np.arange(weights.shape[1])).astype(points.dtype)
    loss = -(np.log(found) * wanted).sum(axis=1).mean()
    return loss, weights - rate * (points.T @ (found - wanted)) / points.shape[0]


# %% Three clouds of points, with a column of ones for the offset.
random = np.random.default_rng(5)
labels = random.integers(0, 3, 600)
places = np.array([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]])[labels] + random.normal(size=(600, 2))
points = np.concatenate([places, np.ones((600, 1))], axis=1)

# %% Training. The rate is passed to the kernel: another one compiles nothing.
weights, losses = np.zeros((3, 3)), []
for number in range(200):
    loss, weights = step(points, labels, weights, 1.0 / (1 + number / 50))
    losses.append(float(loss))

# %% The gradient is that of the loss, by finite differences.
base, moved = step(points, labels, weights, 1.0)
for index in np.ndindex(3, 3):
    near = weights.copy()
    near[index] += 1e-6
    difference = (float(step(points, labels, near, 1.0)[0]) - float(base)) / 1e-6
    assert abs(difference - (weights - moved)[index]) < 1e-5, index
np.testing.assert_allclose(probabilities(points, weights), softmax(points @ weights), rtol=1e-12)
right_ones = (probabilities(points, weights).argmax(axis=1) == labels).mean()
assert losses[-1] < losses[0] / 2
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {right_ones:.1%} right; traced {step.traces} time(s)")

# %% What the model says of the plane.
side = np.linspace(-5, 5, 200)
plane = np.stack([*np.meshgrid(side, side), np.ones((200, 200))], axis=-1)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
left.imshow(probabilities(plane, weights), origin="lower", extent=(-5, 5, -5, 5))
left.scatter(*places.T, c=np.eye(3)[labels] * 0.7, s=6)
right.plot(losses)
right.set_xlabel("step"), right.set_ylabel("loss")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "softmax.png")
