"""The colours of a picture, quantized to the nearest of a few codes; the codes are improved by Lloyd's algorithm.

    python nearest_codes.py [nearest_codes.png]
"""

# %% Two compiled functions: the nearest code of each pixel, and the mean of the pixels of each code.
import sys

import matplotlib
import numpy as np

import broadloom as bl

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@bl.jit
def nearest(pixels, codes):
    differences = pixels[:, None, :] - codes[None, :, :]
    return (differences**2).sum(axis=-1).argmin(axis=1)


@bl.jit
def means(pixels, found, codes):
    is_of = found[:, None] == np.arange(codes.shape[0])[None, :]
    count = np.maximum(is_of.sum(axis=0), 1)
    return is_of.astype(np.float32).T @ pixels / count[:, None].astype(np.float32)


# %% A picture: a sunset over water.
down, across = np.mgrid[0:120, 0:160].astype(np.float32) / 120
sun = np.exp(-40 * ((across - 0.66) ** 2 + (down - 0.45) ** 2))
picture = np.stack([90 + 120 * down + 160 * sun, 60 + 50 * down + 140 * sun, 140 - 90 * down + 40 * sun], axis=-1)
picture[70:] *= 0.6 + 0.3 * np.sin(90 * down[70:, :, None])
picture = np.clip(picture, 0, 255)
pixels = picture.reshape(-1, 3)

# %% Eight codes, improved twelve times.
codes = pixels[np.random.default_rng(3).choice(len(pixels), 8, replace=False)]
errors = []
for _ in range(12):
    found = nearest(pixels, codes)
    errors.append(float(((pixels - codes[found]) ** 2).sum(axis=1).mean()))
    codes = means(pixels, found, codes)

# %% NumPy finds the same codes, and no step makes the error larger.
distances = ((pixels[:, None, :].astype(np.float64) - codes[None, :, :]) ** 2).sum(axis=-1)
chosen = np.take_along_axis(distances, nearest(pixels, codes)[:, None], axis=1)[:, 0]
np.testing.assert_allclose(chosen, distances.min(axis=1), rtol=1e-4, atol=1e-3)
assert all(after <= before * 1.0001 for before, after in zip(errors, errors[1:])), errors
print(f"mean squared error {errors[0]:.1f} -> {errors[-1]:.1f}; nearest was traced {nearest.traces} time(s)")

# %% The picture, its eight colours, and the error.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
left.imshow(picture / 255)
middle.imshow(codes[nearest(pixels, codes)].reshape(picture.shape).clip(0, 255) / 255)
right.plot(errors, marker="o")
left.set_title("picture"), middle.set_title("eight codes"), right.set_title("mean squared error")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "nearest_codes.png")
