"""An image, blurred and searched for edges: slices of views instead of temporaries.

    python image.py [image.png]
"""

# %% The functions.
import sys

import matplotlib
import numpy as np

import broadloom as bl

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@bl.jit
def blurred(image):
    rows = image[:-2] * 0.25 + image[1:-1] * 0.5 + image[2:] * 0.25
    return rows[:, :-2] * 0.25 + rows[:, 1:-1] * 0.5 + rows[:, 2:] * 0.25


@bl.jit
def edges(grey):
    across = grey[1:-1, 2:] - grey[1:-1, :-2]
    down = grey[2:, 1:-1] - grey[:-2, 1:-1]
    return np.clip(np.sqrt(across * across + down * down), 0, 255).astype(np.uint8)


@bl.jit
def grey(image):
    return image.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)


# %% A picture of 8-bit colours: discs before a ramp, with noise.
down, across = np.mgrid[0:240, 0:320]
image = np.stack([across * 0.5, 60 + down * 0.4, 200 - across * 0.4], axis=-1)
for row, column, radius, colour in [(80, 90, 50, (230, 60, 40)), (150, 210, 70, (250, 210, 60)), (70, 250, 30, (40, 60, 90))]:
    image[(down - row) ** 2 + (across - column) ** 2 < radius**2] = colour
image = np.clip(image + np.random.default_rng(2).normal(scale=8, size=image.shape), 0, 255).astype(np.uint8)

# %% The same functions on NumPy's arrays, without the compiler. Conversions to u8 cut, so that one step may differ.
smooth = blurred(grey(image))
found = edges(smooth)
expected = blurred.__wrapped__(grey.__wrapped__(image))
np.testing.assert_allclose(smooth, expected, rtol=1e-5)
assert np.abs(found.astype(int) - edges.__wrapped__(expected)).max() <= 1
assert found.shape == (236, 316)
print(f"{(found > 40).mean():.1%} of the pixels are on edges")

# %% Both pictures.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.imshow(image)
right.imshow(found, cmap="gray_r", vmax=120)
left.set_axis_off(), right.set_axis_off()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "image.png")
