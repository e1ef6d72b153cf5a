"""A notebook as NumPy's users write them: on columns, images and distances.

Its lines are a program of Python's, which NumPy runs, and a program of the text language, letter by letter. Each line is a
case, behind those before it whose names it needs.
"""

import ast
import warnings

import numpy as np

from meaning import Approximate

NOTEBOOK = """
# Columns: height, weight and age of people, and the group of each.
n = len(height)
bmi = weight / (height / 100) ** 2
mean_height = np.mean(height)
spread = height.std(ddof=1)
z = (height - np.mean(height)) / np.std(height)
extremes = np.stack([np.min(weight), np.max(weight), np.ptp(weight)])
tall = height > 180
share_of_tall = np.mean(height > 180)
adults = np.count_nonzero(age >= 18)
weight_of_tall = np.mean(weight, where=height > 180)
clipped = np.clip(weight, 50, 90)
people = np.column_stack([height, weight, age])
centred = people - people.mean(axis=0)
scaled = centred / people.std(axis=0, keepdims=True)
covariance = np.cov(people, rowvar=False)
correlation = np.corrcoef(people.T)
correlation_of_two = np.corrcoef(height, weight)[0, 1]
per_group = np.bincount(group, minlength=4)
weight_per_group = np.bincount(group, weights=weight, minlength=4) / np.maximum(per_group, 1)
deviation = weight - weight_per_group[group]
one_hot = (group[:, None] == np.arange(4)).astype(np.float64)
group_sums = one_hot.T @ people
decade = np.digitize(age, [20, 30, 40, 50, 60])
counts = np.histogram(age, bins=6, range=(0, 90))[0]
edges = np.histogram(age, bins=6, range=(0, 90))[1]
density = np.histogram(height, bins=8, density=True)[0]
is_first = np.isin(group, [0, 2])
risk = np.where(bmi > 30, 2, np.where(bmi > 25, 1, 0))
log_weight = np.log1p(weight)
weighted = np.average(height, weights=weight)
slope = np.sum(z * weight) / np.sum(z ** 2)
fitted = np.polyval([0.5, -2.0, 60.0], age / 10)
residual = np.sqrt(np.mean((weight - fitted) ** 2))
norm_of_age = np.interp(age, [0, 18, 65, 90], [0.0, 1.0, 0.8, 0.2])
change = np.diff(weight)
running = np.cumsum(weight)
running_mean = np.cumsum(weight) / np.arange(1, 61)
most_so_far = np.maximum(np.cumprod(np.ones(4)), height[:4])
moving = np.convolve(weight, np.ones(5) / 5, mode='valid')
smooth = np.convolve(weight, [0.25, 0.5, 0.25], mode='same')
lagged = np.correlate(z, z[:8], mode='valid')
area = np.trapezoid(weight, dx=0.5)
rate = np.gradient(weight)
oldest = np.argmax(age)
ranks_of_heavy = np.take(height, np.argmin(weight))
whole_years = np.floor(age).astype(int)
parity = whole_years % 2 == 0
years_and_rest = np.modf(age)[0]
quotient = divmod(whole_years, 7)[0]
missing = np.where(age < 10, np.nan, weight)
mean_of_known = np.nanmean(missing)
filled = np.nan_to_num(missing, nan=0.0)
all_known = np.all(np.isfinite(filled))
halves = np.split(people, 2)[1]
first_third = np.array_split(weight, 3)[0]
doubled = np.repeat(group[:6], [1, 2, 0, 1, 3, 1])
again = np.tile(group[:3], 2)
joined = np.concatenate([weight[:4], weight[-4:]])
table = np.vstack([height, weight])
row = np.hstack([height[:2], weight[:2]])
same = np.array_equal(table[0], height)

# Images: bytes, height by width by channels.
grey = img.mean(axis=-1)
luma = img @ np.array([0.299, 0.587, 0.114])
unit = img.astype(np.float32) / 255
normalised = (unit - unit.mean(axis=(0, 1))) / unit.std(axis=(0, 1))
gamma = np.power(unit, 1 / 2.2)
bright = np.minimum(img.astype(np.int32) + 40, 255).astype(np.uint8)
inverted = 255 - img
crop = img[2:-2, 2:-2]
half_size = img[::2, ::2]
mirrored = img[:, ::-1]
upside_down = np.flipud(img)
turned = np.rot90(img)
channels_first = img.transpose(2, 0, 1)
red = img[..., 0]
padded = np.pad(grey, 1, mode='edge')
framed = np.pad(img, ((2, 2), (2, 2), (0, 0)))
mirrored_far = np.pad(grey[:3, :3], 7, mode='reflect')
wrapped_far = np.pad(grey[0, :3], (8, 5), mode='wrap')
blurred = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).mean(axis=(-1, -2))
opened = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).min(axis=(-1, -2))
pooled = grey.reshape(8, 2, 6, 2).max(axis=(1, 3))
gy = np.gradient(grey)[0]
gx = np.gradient(grey, axis=1)
edge_strength = np.hypot(gx, gy)
direction = np.arctan2(gy, gx)
horizontal = np.diff(grey, axis=1)
sharpened = np.clip(2 * grey - blurred, 0, 255)
levels = np.bincount(img.ravel() // 32, minlength=8)
binary = (grey > grey.mean()).astype('u1')
rolled = np.roll(grey, 50, axis=1)
grid_x = np.meshgrid(np.arange(12), np.arange(16))[0]
grid_y = np.meshgrid(np.arange(12), np.arange(16))[1]
centre = (grid_x * grey).sum() / grey.sum()
vignette = grey * np.exp(-((grid_x - 5.5) ** 2 + (grid_y - 7.5) ** 2) / 50)
brightest = np.unravel_index(np.argmax(grey), grey.shape)[1]
channel_means = np.einsum('hwc->c', unit) / unit[..., 0].size
lower = np.tril(grey[:4, :4])
spectrum = np.sinc(grid_x / 4)

# Distances: points and codes of three coordinates.
difference = points[:, None, :] - codes[None, :, :]
distance = np.sqrt((difference ** 2).sum(axis=-1))
by_norm = np.linalg.norm(points[:, None] - codes, axis=-1)
squared = np.sum(points ** 2, axis=1)[:, None] - 2 * points @ codes.T + np.sum(codes ** 2, axis=1)
manhattan = np.abs(difference).sum(axis=2)
chebyshev = np.abs(difference).max(axis=2)
nearest = np.argmin(distance, axis=1)
least = distance.min(axis=1)
chosen = codes[nearest]
error = np.mean((points - codes[nearest]) ** 2)
sizes = np.bincount(nearest, minlength=5)
centres = np.stack([np.sum(points[:, 0] * (nearest == k_of[0])), np.sum(points[:, 1] * (nearest == k_of[1]))])
unit_points = points / np.linalg.norm(points, axis=1, keepdims=True)
cosine = unit_points @ (codes / np.linalg.norm(codes, axis=1)[:, None]).T
gram = np.einsum('ik,jk->ij', points, points)
kernel = np.exp(-distance ** 2 / 2)
weights = kernel / kernel.sum(axis=1, keepdims=True)
shifted = distance - distance.max(axis=1, keepdims=True)
softmax = np.exp(-shifted) / np.exp(-shifted).sum(axis=1, keepdims=True)
entropy = -(weights * np.log(weights)).sum(axis=1)
normals = np.cross(points[:-1], points[1:])
volume = np.einsum('ij,ij->i', normals, points[::-1][:-1])
outer = np.outer(points[0], codes[0])
diagonal = np.diag(gram)
masked = np.where(np.eye(17, dtype=bool), np.inf, gram)
identity = np.diag(np.ones(3)) @ points.T
total = np.dot(points[:, 0], points[:, 1])
angles = np.rad2deg(np.arccos(np.clip(cosine, -1, 1)))
within = np.any(distance < 1.5, axis=1)
taken = np.take_along_axis(distance, nearest[:, None], axis=1)
signs = np.sign(points).astype(np.int8)
rounded = np.round(points, 2)
swapped = np.moveaxis(difference, -1, 0).shape[0] + np.zeros(1)
""".strip()


def arrays(random):
    count = 60
    return {
        "height": random.normal(172, 11, count),
        "weight": random.normal(71, 14, count),
        "age": random.uniform(1, 88, count),
        "group": random.integers(0, 4, count),
        "img": random.integers(0, 256, (16, 12, 3)).astype(np.uint8),
        "points": random.normal(0, 1, (17, 3)),
        "codes": random.normal(0, 1, (5, 3)),
        "k_of": np.array([1, 3]),
    }


def write(cases):
    """Each line with those before it that it needs, and what NumPy makes of it."""
    inputs = arrays(np.random.default_rng(17))
    known = {"np": np, **inputs}
    lines, needs = {}, {}
    for line in filter(None, NOTEBOOK.splitlines()):
        if line.startswith("#"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(line, known)
        name, expression = line.split(" = ", 1)
        names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
        needs[name] = names | set().union(*(needs[of] for of in names if of in needs))
        lines[name] = line
        text = "; ".join(lines[of] for of in lines if of in needs[name] or of == name)
        given = {of: array for of, array in inputs.items() if of in needs[name]}
        wanted = np.asarray(known[name])
        if wanted.dtype.kind == "f":
            # Sums have an order of their own, and functions round their own way.
            size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
            distance = np.full(wanted.shape, 200 * float(np.finfo(wanted.dtype).eps) * float(size))
            wanted = Approximate(wanted.dtype, wanted.astype(np.float64), distance=distance)
        cases.write("function", text, given, wanted)
