"""Sizes that the data decide: each program runs by NumPy and compiled, and results and arguments are equal bit for bit. Small integers
make sums exact."""

import ast
import copy
import inspect
import itertools
import threading

import broadloom as bl
import numpy as np
import pytest
from test_changes import same

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(46)
SIZES = [0, 1, 17, 65, 100_003]
DTYPES = [np.float64, np.float32, np.int64, np.int16, np.uint8, np.bool_]


def programs(text):
    """Functions by their last lines, which return results; `;` stands between lines."""
    names = [line.strip() for line in text.strip().splitlines()]
    return pytest.mark.parametrize("program", names)


def function_of(program, parameters):
    *lines, last = program.split("; ")
    if isinstance(ast.parse(last.removeprefix("return ")).body[0], ast.Expr) and not last.startswith(("np.place", "np.add.at", "np.copyto")):
        last = f"return {last.removeprefix('return ')}"
    body = "".join(f"    {line}\n" for line in (*lines, last))
    space = {"np": np}
    exec(f"def program({parameters}):\n{body}", space)  # noqa: S102
    return space["program"]


def compare(function, compiled, *args):
    """Runs a function and its kernel on copies. What NumPy refuses is refused."""
    theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
    try:
        wanted = function(*theirs)
    except (ValueError, IndexError):
        with pytest.raises((bl.Error, IndexError)):
            compiled(*ours)
        same(ours, args)
        return False
    same(compiled(*ours), wanted)
    same(ours, theirs)
    return True


def elements(shape, dtype):
    return RNG.integers(0, 2 if dtype is np.bool_ else 9, shape).astype(dtype)


def masks(size):
    yield np.zeros(size, bool)
    yield np.ones(size, bool)
    for share in (0.02, 0.5, 0.97):
        yield RNG.random(size) < share


def strided(x):
    """The same elements, every third of an array, from its end on."""
    wide = np.zeros([3 * size for size in x.shape], x.dtype)
    part = wide[tuple([slice(None, None, -3)] * x.ndim)]
    part[...] = x
    return part


@programs("""
x[m]
x[m] * 2 + x[m]
x[m], x[~m], m
x[m].sum()
x[m].mean()
x[m].max()
x[m].any(), x[m].all()
x[m].argmin()
x[m].cumsum()
np.sort(x[m])
x[m][::-1], x[m][None], x[m][:, None]
x[m].astype(np.float64).reshape(-1, 1)
np.sqrt(x[m].astype(float))
x[m] - x[m].min()
x[m].size, x[m].shape[0] * 2, len(x[m]) + 1
x[m].shape[0] + np.zeros(2), m.sum() / max(len(m), 1)
x[m][x[m] > 3]
x[m & (x > 3)]
x[m] @ x[m]
np.concatenate([x[m], x[~m]])
np.where(x[m] > 3, x[m], 0)
np.clip(x[m], 2, 5)
x[x > 4].sum() + x[m].sum()
np.full_like(x[m], 3), np.zeros(x[m].shape), np.zeros_like(x[m])
y = x[m]; y[...] = 3; return y
y = x[m]; y[y > 3] = 0; return y
y = x[m]; y += y; return y, x[m]
x.compress(m), np.compress(m, x), np.compress(m, x, axis=0), np.extract(m, x)
np.nonzero(m)
np.where(m), np.flatnonzero(m), np.argwhere(m), m.nonzero()
x.nonzero(), np.flatnonzero(x), np.argwhere(x), np.where(x)
x[np.nonzero(m)], x[np.flatnonzero(m)].sum(), x[np.where(m)[0]] + x[m]
np.take(x, np.flatnonzero(m)), np.flatnonzero(m) * 2
np.count_nonzero(m), np.count_nonzero(x[m])
np.unique(x[m])
x[m, None], x[None, m], x[..., m]
np.repeat(x[m], 2), np.repeat(x, m), np.repeat(x, m * 3)
x[:m.sum()], x[m.sum():], x[-m.sum():], x[m.sum() - 3 : m.sum() + 2]
x[: x[m].shape[0]]
np.arange(m.sum()), np.zeros(m.sum()), np.ones((m.sum(), 2)), np.full(m.sum(), 4)
np.arange(m.sum(), 5), np.arange(3, m.sum()), np.arange(m.sum(), 0, -2), np.arange(0, m.sum(), 3)
np.flip(x[m]), np.tile(x[m], 2), np.pad(x[m], 1)
np.split(x[m], 1)[0], np.atleast_2d(x[m])
""")
def test_vectors(program):
    function = function_of(program, "x, m")
    compiled = bl.jit(function)
    for size, dtype in itertools.product(SIZES, DTYPES):
        if dtype is np.bool_ and ("x[m] - " in program or "clip" in program):
            continue  # NumPy does not subtract truth values.
        if size > 1000 and dtype not in (np.float64, np.uint8) or size > 1000 and "@" in program and dtype is np.uint8:
            continue
        x = elements(size, dtype)
        for m in masks(size):
            compare(function, compiled, x, m)
        compare(function, compiled, strided(x), strided(m))


@programs("""
x[m] = 5; return x.sum()
x[m] = x[m]
x[m] = x[m] * 2 + 1
x[m] += x[m]
x[m] += y[m]
x[m] = y[m] * x[m]
x[m] = np.sort(x[m])
x[m] = x[m][::-1]
x[m] = np.cumsum(x[m])
x[m] = np.arange(m.sum())
x[m] = np.flatnonzero(m) % 7
x[np.nonzero(m)] = y[m]
x[np.flatnonzero(m)] += y[np.flatnonzero(m)]
x[m & (x > 3)] = y[m & (x > 3)]
x[x > 3] = x[x > 3] - 3; x[m] *= 2
x[~m] = y[~m]; x[m] -= x[m]
k = m.sum(); x[:k] = y[:k]
k = m.sum(); x[k:] += 1; return x[:k].sum()
k = m.sum(); x[k // 2 : k] = 5; x[-k:] *= 2
np.place(x, m, y[:3]); np.place(x, ~m, 2)
np.add.at(x, m, 1); np.maximum.at(x, m, y[m])
np.add.at(x, np.flatnonzero(m) // 2, y[m])
np.copyto(x, y, where=m); x[m] = x[m] + x[m]
x[m] = np.unique(x)[0] if len(x) else 1
z = x[1:]; z[m[1:]] = z[m[1:]] * 2
return x.at[m].set(0) if hasattr(x, "at") else np.where(m, 0, x).astype(x.dtype)
""")
def test_writes(program):
    function = function_of(program, "x, y, m")
    compiled = bl.jit(function)
    for size, dtype in itertools.product(SIZES, [np.float64, np.int64, np.float32]):
        if size > 1000 and dtype is not np.float64:
            continue
        if size == 1 and "k = m.sum()" in program:
            continue
        x, y = elements(size, dtype), elements(size, dtype)
        for m in masks(size):
            compare(function, compiled, x, y, m)
        compare(function, compiled, strided(x), y, strided(m))


SHAPES = [(0, 3), (1, 1), (17, 5), (5, 17), (65, 9), (4, 0), (1003, 100)]


@programs("""
x[r], x[e], x[:, c]
x[r, ...], x[..., c], x[r, :], x[None, r]
x[r].sum(axis=0), x[r].sum(axis=1), x[r].sum(), x[:, c].sum(axis=0), x[e].sum()
x[r][:, c]
x[r].T, x[r].shape[0] + x[r].shape[1], x[r].size, x[:, c].size
x[r, 0], x[0, c], x[r, -1:], x[1:, c]
x[r, 0].sum() + x[r, 1].sum()
x[r, 0] * x[r, 1] + x[r].sum(axis=1)
np.compress(r, x, axis=0), np.compress(c, x, axis=1), x.compress(c, axis=-1), np.compress(r[:1], x, axis=0)
np.compress(e.ravel(), x), np.extract(e, x)
np.nonzero(x), np.nonzero(e), np.argwhere(e), np.flatnonzero(e), np.where(x)
x[np.nonzero(e)], x[np.nonzero(r)], x[np.nonzero(r)[0], 0], x[:, np.flatnonzero(c)]
x[np.ix_(r, c)]
x[r, :][:, None] - x[r, :][None]
x[r].mean(axis=0), x[r].max(axis=1)
x[r].argmax(axis=1), np.sort(x[r], axis=1), np.sort(x[:, c], axis=1)
x[r] @ x[r].T, x[:, c] @ x[:, c].T
x[x.sum(axis=1) > 20], x[:, x.sum(axis=0) > 20]
np.unique(x), np.unique(x[r])
np.repeat(x, r, axis=0), np.repeat(x, c * 2, axis=1), np.repeat(x, 2, axis=0)
x[: r.sum()], x[:, c.sum() :], x[: r.sum(), : c.sum()]
np.zeros((r.sum(), c.sum())), np.eye(r.sum()), np.zeros(x[r].shape)
x[r] = 0; x[:, c] = 1; x[e] = 2
x[r] = x[r] + 1; x[:, c] *= 2; x[e] -= x[e]
x[:, c] = x[:, c][::-1]
x[r] = np.arange(x.shape[1]); x[:, c] = np.arange(x.shape[0])[:, None]
x[r, 0] = x[r, 1] + 1; x[0, c] += 3
x[r, 0] = np.arange(r.sum()); x[:, c] = np.sort(x[:, c], axis=1)
x[e] = np.arange(e.sum()) % 7
x.T[c] = 4; x.T[e.T] = x.T[e.T] + 1
x[r] = x[r, ::-1]
x[np.nonzero(e)] += 1; x[np.flatnonzero(r)] = 3; return x[np.flatnonzero(r), 0]
""")
def test_matrices(program):
    function = function_of(program, "x, r, c, e")
    compiled = bl.jit(function)
    for shape, dtype in itertools.product(SHAPES, [np.float64, np.int64]):
        if shape[0] > 1000 and ("None" in program or "@" in program or dtype is np.int64):
            continue
        x = elements(shape, dtype)
        for r, c in zip(masks(shape[0]), masks(shape[1])):
            e = RNG.random(shape) < RNG.random()
            if "axis=0" in program and "compress(r[:1]" in program and shape[0] == 0:
                continue
            for layout in (np.asarray, np.asfortranarray, strided):
                compare(function, compiled, layout(x), r, c, layout(e))


@programs("""
x[a], x[:, b], x[:, :, c], x[ab], x[:, bc], x[abc]
x[a].sum(axis=(1, 2)), x[ab].sum(axis=0), x[abc].sum(), x[:, bc].sum(axis=1)
x[a][:, b], x[a, 0], x[a, :, 0], x[0, b], x[0, :, c], x[:, b, 0], x[..., c], x[ab, 0], x[0, bc]
np.compress(b, x, axis=1), np.argwhere(x), np.nonzero(abc)
x[a] = x[a] * 2; x[:, b] += 1; x[:, :, c] = x[:, :, c] - 1
x[ab] = x[ab] + 1; x[:, bc] *= 2; x[abc] = np.sort(x[abc])
x[a, 0] = 3; x[0, :, c] += 1; x[:, b, 0] = x[:, b, 1]
np.repeat(x, b, axis=1), np.repeat(x, 2, axis=2)
""")
def test_blocks(program):
    function = function_of(program, "x, a, b, c, ab, bc, abc")
    compiled = bl.jit(function)
    for shape in [(4, 3, 5), (17, 2, 9), (0, 2, 3), (3, 1, 2), (65, 17, 3)]:
        x = elements(shape, np.float64)
        for a, b, c in zip(*map(masks, shape)):
            args = [x, a, b, c, *(RNG.random(size) < 0.5 for size in (shape[:2], shape[1:], shape))]
            compare(function, compiled, *args)
            compare(function, compiled, *(np.asfortranarray(each) for each in args))
            compare(function, compiled, *map(strided, args))


@programs("""
np.unique(x)
np.unique(x, return_counts=True)
np.unique(x, return_index=True, return_inverse=True, return_counts=True)
np.unique(x, True), np.unique(x, equal_nan=False), np.unique(x, sorted=False).shape[0] + np.zeros(1)
tuple(np.unique_all(x)), tuple(np.unique_counts(x)), tuple(np.unique_inverse(x)), np.sort(np.unique_values(x))
np.union1d(x, y), np.intersect1d(x, y), np.setdiff1d(x, y), np.setxor1d(x, y)
np.union1d(x, [3, 1]), np.setdiff1d([3, 1, 77], x)
np.intersect1d(x, y, return_indices=True)
np.setdiff1d(np.unique(x)[::-1], np.unique(y), assume_unique=True)
np.isin(x, np.unique(y))
x[np.unique(x, return_index=True)[1]]
np.unique(x)[np.unique(x, return_inverse=True)[1]]
np.zeros(np.unique(x).shape[0] + 2), len(np.unique(x)) * 2 + np.zeros(1)
np.trim_zeros(x), np.trim_zeros(x, "f"), np.trim_zeros(x, "B"), np.trim_zeros(x, trim="bf")
""")
def test_distinct_elements_and_sets(program):
    function = function_of(program, "x, y")
    compiled = bl.jit(function)
    for size, dtype in itertools.product(SIZES, [np.float64, np.int64, np.uint8, np.float32]):
        if size > 1000 and dtype is not np.int64:
            continue
        for limit in (2, 200):
            x, y = (RNG.integers(0, limit, count).astype(dtype) for count in (size, size // 2 + 3))
            compare(function, compiled, x, y)
            if dtype is np.float64 and size and "equal_nan" not in program and "unique_all" not in program and "True)[1]" not in program:
                x[RNG.integers(0, size, size // 3)] = np.nan
                compare(function, compiled, x, y)


@programs("""
np.bincount(x)
np.bincount(x, minlength=5), np.bincount(x, minlength=2)
np.bincount(x, weights=w), np.bincount(x, w, 7)
np.bincount(x)[x]
np.bincount(x, minlength=x.shape[0])
np.repeat(w, x), np.repeat(x, x), np.repeat(w, x[0]) if len(x) else w
np.repeat(np.stack([w, w]), x, axis=1)
n = x.sum().astype(int); return np.arange(n), np.arange(n, 3), np.arange(2, n + 4, 3), np.arange(-1, n)[::2]
np.linspace(0, 1, x.sum() + 2).shape[0] + np.zeros(2)
np.zeros((x.sum(), 2), np.float32), np.ones(x.sum(), int)
""")
def test_counts(program):
    function = function_of(program, "x, w")
    compiled = bl.jit(function)
    for size, dtype in itertools.product([0, 1, 17, 65, 1003], [np.int64, np.int32, np.uint8]):
        if not size and "w, 7" in program:
            continue  # NumPy counts no elements in integers, also if they have weights.
        compare(function, compiled, RNG.integers(0, 5, size).astype(dtype), elements(size, np.float64))


PIECES = ["x[m]", "y[m]", "np.sort(x[m])", "x[m][::-1]", "np.cumsum(y[m])", "x[m] * y[m]", "(x[m] - y[m].sum())", "np.abs(x[m])",
          "x[m].max(initial=0)", "np.where(x[m] > 3, y[m], 1)", "2", "m.sum()"]  # fmt: skip


def random_program(random):
    lines = []
    for _ in range(random.integers(1, 5)):
        one, other = (PIECES[random.integers(len(PIECES))] for _ in range(2))
        sign = "+-*"[random.integers(3)]
        lines.append(
            [f"x[m] = {one} {sign} {other}", f"y[m] {sign}= {one}", f"m = m & (x {'<>'[random.integers(2)]} {random.integers(9)})",
             f"x[~m] = y[~m] {sign} 1", f"z = {one} {sign} {other}", f"y = y + x[m].sum() {sign} 2"][random.integers(6)]
        )  # fmt: skip
    one, other = (PIECES[random.integers(len(PIECES))] for _ in range(2))
    return "; ".join([*lines, f"return {one} + {other}, x, y, x[m].sum(), {one}"])


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    random = np.random.default_rng(seed)
    program = random_program(random)
    function = function_of(program, "x, y, m")
    compiled = bl.jit(function)
    for size in (0, 1, 17, 65, 1000):
        for m in masks(size):
            args = [elements(size, np.float64), elements(size, np.float64), m]
            compare(function, compiled, *args)
            compare(function, compiled, *map(strided, args))


# Kernels, threads, other entries -----------------------------------------------------------------------------------------


def test_one_kernel_for_all_sizes():
    compiled = bl.jit(lambda x, m: (x[m], np.unique(x), x[m].shape[0]))
    for size in (10, 20, 30, 1000):
        for share in (0, 0.5, 1):
            x, m = elements(size, float), RNG.random(size) < share
            got = compiled(x, m)
            same(got[:2], (x[m], np.unique(x)))
            assert got[2] == m.sum()
    assert compiled.traces == 1


def test_results_into_arrays_of_the_caller():
    compiled = bl.jit(lambda x: x[x > 0] * 2)
    x = np.array([1.0, -1, 3, 4])
    out = np.empty(3)
    assert compiled(x, out=out) is out
    assert out.tolist() == [2, 6, 8]
    out[:] = 0
    with pytest.raises(bl.ShapeError):
        compiled(np.array([1.0, -1, -3, 4]), out=out)
    assert not out.any()


def test_threads():
    compiled = bl.jit(lambda x: (x[x > 3], np.unique(x), np.sort(x[x > 3])[::-1]))
    failures = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(100):
            x = random.integers(0, 9, random.integers(0, 3000)).astype(float)
            kept = x[x > 3]
            try:
                same(compiled(x), (kept, np.unique(x), np.sort(kept)[::-1]))
            except Exception as error:  # noqa: BLE001
                failures.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert not failures


def test_texts():
    x, t = np.array([3.0, -1, 2]), np.array([[1, 0], [2, 2]])
    same(bl.eval("x[x > 0]", x=x), x[x > 0])
    same(bl.eval("x[x > 0].sum()", x=x), np.float64(5))
    same(bl.eval("unique(t)", t=t), np.unique(t))
    same(bl.eval("nonzero(t)[1]", t=t), np.nonzero(t)[1])
    same(bl.eval("zeros(t.sum())", t=t), np.zeros(5))
    program = bl.Program("input x: f64[n]\noutput kept = x[x > 0]\noutput count = unique(x).shape[0] + zeros(1)")
    for size in (0, 1, 5, 50, 7, 0):
        x = elements(size, float) - 3
        got = program(x=x)
        same((got["kept"], got["count"]), (x[x > 0], np.zeros(1) + len(np.unique(x))))


def test_expressions():
    x = bl.input("x", "f64[n]")
    kernel = bl.compile((x[x > 0], x[x > 0].sum(), np.unique(x)))
    for size in (3, 50, 0):
        data = elements(size, float) - 3
        same(kernel(data), (data[data > 0], data[data > 0].sum(), np.unique(data)))
    assert "f64[@k]" in kernel.shapes()


def test_derivatives():
    x, y, m = RNG.random(65) + 1, RNG.random(65), RNG.random(65) < 0.4
    close = np.testing.assert_allclose
    close(bl.grad(lambda x, m: (x[m] ** 2).sum())(x, m), np.where(m, 2 * x, 0))
    close(bl.grad(lambda x, y, m: (x[m] * y[m]).sum())(x, y, m), np.where(m, y, 0))
    # The mask is flat.
    close(bl.grad(lambda x: (x[x > 1.5] * 3).sum())(x), np.where(x > 1.5, 3, 0))
    close(bl.grad(lambda x, m: x[m].mean())(x, m), m / m.sum())
    close(bl.grad(lambda x, m: x[m].max())(x, m), np.where(m & (x == x[m].max()), 1, 0))
    weights = np.arange(1.0, 66)
    order = np.empty(65)
    order[np.flatnonzero(m)[np.argsort(x[m])]] = weights[: m.sum()]
    close(bl.grad(lambda x, m: (np.sort(x[m]) * np.arange(1, 1 + m.sum())).sum())(x, m), np.where(m, order, 0))

    def write(x, y, m):
        z = x * 1
        z[m] = z[m] * y[m]
        return (z * z).sum()

    close(bl.grad(write)(x, y, m), np.where(m, 2 * x * y * y, 2 * x))
    rows = RNG.random((17, 3))
    close(bl.grad(lambda w, r: (w[r] ** 2).sum())(rows, rows[:, 0] > 0.5), np.where(rows[:, :1] > 0.5, 2 * rows, 0))


# Loops -------------------------------------------------------------------------------------------------------------------


def mandelbrot(c, n):
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    for _ in range(n):
        inside = np.abs(z) < 3
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return z, count


def bands(x, edges):
    means = np.zeros(edges.shape[0] - 1)
    for i in range(edges.shape[0] - 1):
        chosen = x[(x >= edges[i]) & (x < edges[i + 1])]
        means[i] = chosen.sum() / np.maximum(chosen.size, 1)
    return means


def fixed(x, m, n):
    y = x[m]
    for _ in range(n):
        y = np.sort(y)[::-1] + y
    return y


def test_ranges_of_selected_elements_end_where_these_do():
    x = np.arange(10.0)
    for part in (
        np.s_[:5], np.s_[-3:], np.s_[2:], np.s_[2:4], np.s_[-4:-1], np.s_[1:-1], np.s_[:-2], np.s_[5:2], np.s_[..., :3], np.s_[:3, None],
        np.s_[:0],
    ):  # fmt: skip
        function = bl.jit(lambda x, m, part=part: x[m][part] * 2)
        for count in range(11):
            np.testing.assert_array_equal(function(x, x < count), (x[x < count][part]) * 2)

    def changed(x, m):
        y = x[m]
        y[:3] = 0
        return y

    table = np.arange(12.0).reshape(4, 3)
    for count in (4, 3, 1, 0):
        rows = np.arange(4) < count
        compare(changed, bl.jit(changed), x, x < count)
        compare(lambda t, m: t[m, :2][:3, 1:], bl.jit(lambda t, m: t[m, :2][:3, 1:]), table, rows)


def test_masks_in_loops():
    c = np.array([-1.0, 0.5, 2, 0, -4])
    for steps in (0, 1, 5, 30):
        compare(mandelbrot, bl.jit(mandelbrot), c, np.int64(steps))
        compare(fixed, bl.jit(fixed), c, c > -2, np.int64(steps))
    compare(bands, bl.jit(bands), elements(300, float), np.arange(10.0))

    def differs(x, n):
        for i in range(n):
            x = x + np.sort(x[x > i])[0]
        return x

    with pytest.raises(bl.Error, match="differs from step to step of a loop"):
        bl.jit(differs)(c + 100, np.int64(3))


# Errors ------------------------------------------------------------------------------------------------------------------


def fails(function, *args, error=bl.Error):
    with pytest.raises(error) as raised:
        bl.jit(function)(*args)
    return str(raised.value)


def test_mistakes():
    x, m, t = np.arange(5.0), np.arange(5) > 2, np.arange(20.0).reshape(4, 5)
    here = f"test_selected.py:{inspect.currentframe().f_lineno + 1}"
    text = fails(lambda x, m: x[m], x, m[:3], error=bl.ShapeError)
    assert here in text and "the mask" in text, text
    text = fails(lambda x, m: x[m] + x[x > 1], x, m, error=bl.ShapeError)
    assert "counts the true elements of" in text and "test_selected.py" in text, text
    for function, args, says in [
        (lambda x, m: x[m], (x, m.astype(float)), "integer"),
        (lambda t, m: t[m], (t, m), "the mask"),
        (lambda t, m: t[:, m], (t, m[:4]), "the mask"),
        (lambda x, t: x[t > 1], (x, t), "2 indices"),
        (lambda x, m: x[m].max(), (x, m & False), "empty"),
        (lambda x, m: x[m][0], (x, m & False), "past the"),
        (lambda x, m: x.__setitem__(m, x[x > 1]), (x, m), "@k"),
        (lambda x, m: np.unique(x, axis=0), (x, m), "leave out `axis=`"),
        (lambda t: np.trim_zeros(t), (t,), "one axis"),
        (lambda x: np.nonzero(x.sum()), (x,), "np.atleast_1d"),
        (lambda x: np.zeros(int(x.sum())), (x,), "`np.zeros(n)`"),
        (lambda x: np.zeros(x.sum()), (x,), "integer"),
        (lambda x: np.zeros(x.astype(int).sum() - 11), (x,), "the size is -1"),
        (lambda x: np.repeat(x, x.astype(int) - 1), (x,), "the size is -1"),
        (lambda x: np.bincount(x.astype(int) - 1), (x,), "-1"),
        (lambda x: 1 if x[x > 1].shape[0] > 2 else 2, (x,), "the data decide this size"),
        (lambda x: [0] * len(x[x > 1]), (x,), "the data decide this size"),
        (lambda x: float(x[x > 1].size), (x,), "the data decide this size"),
        (lambda x: np.arange(0, 9, x.astype(int).sum()), (x,), "`np.arange(n) * step`"),
    ]:  # fmt: skip
        text = fails(function, *args)
        assert says in text, text


def test_enormous_sizes_are_refused_before_memory_is():
    text = fails(lambda n: np.zeros(n), np.array(2**60))
    assert "too large" in text, text


def test_a_failed_call_changes_nothing():
    def change(x, m):
        x[m] = 7
        return x[m][0] + x[x > 100].max()

    x = np.arange(5.0)
    with pytest.raises(bl.Error):
        bl.jit(change)(x, x > 2)
    assert x.tolist() == [0, 1, 2, 3, 4]


# Chunks of rows -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 17, 5000])
def test_rows_that_a_mask_selects_come_with_their_chunk(count):
    x = RNG.integers(-9, 9, (count, 3)).astype(np.float64)
    declared = bl.input("x", "f64[n, 3]")
    kernel = bl.compile({"kept": declared[declared.sum(axis=1) > 0], "total": declared[declared[:, 0] > 2].sum()})
    results = kernel.in_chunks("n", size=1024)(x=x)
    same(x[x.sum(axis=1) > 0], results["kept"])
    same(x[x[:, 0] > 2].sum(), np.asarray(results["total"]))


def test_arrays_for_selected_rows_fit():
    x = np.arange(5000.0)
    declared = bl.input("x", "f64[n]")
    chunks = bl.compile(declared[declared > 4]).in_chunks("n", size=1000)
    out = np.empty(4995)
    chunks(x=x, out=out)
    same(x[5:], out)
    for size in (4994, 4996):
        with pytest.raises(bl.ShapeError, match=f"`out` has {size} rows for `.*`, which has"):
            chunks(x=x, out=np.empty(size))
    with pytest.raises(bl.ShapeError, match="`out` has 3 rows for `.*`, which has 0"):
        chunks(x=-x, out=np.empty(3))


def test_arrays_for_results_in_chunks_are_not_stretched():
    x = np.arange(12.0).reshape(6, 2)
    declared = bl.input("x", "f64[n, 2]")
    rows = bl.compile(declared[declared[:, 0] > 2]).in_chunks("n", size=4)
    with pytest.raises(bl.ShapeError, match=r"`out` has rows of shape \(1,\) for `.*`, whose rows have the shape \(2,\)"):
        rows(x=x, out=np.empty((4, 1)))
    total = bl.compile(declared.max(axis=0)).in_chunks("n", size=4)
    with pytest.raises(bl.ShapeError, match=r"`out` has the shape \(3, 2\) for `.*`, which has \(2,\)"):
        total(x=x, out=np.empty((3, 2)))
