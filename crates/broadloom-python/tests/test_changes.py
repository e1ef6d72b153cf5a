"""Arrays that change: each function runs on copies by NumPy and compiled, and results and arguments are equal bit for bit."""

import copy

import broadloom as bl
import numpy as np
import pytest


def same(got, wanted):
    if isinstance(wanted, (tuple, list)):
        assert type(got) is type(wanted) and len(got) == len(wanted)
        for one, other in zip(got, wanted):
            same(one, other)
    elif isinstance(wanted, dict):
        assert got.keys() == wanted.keys()
        for key in wanted:
            same(got[key], wanted[key])
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert np.asarray(got).dtype == wanted.dtype and np.shape(got) == wanted.shape, (got, wanted)
        assert np.asarray(got).tobytes() == np.ascontiguousarray(wanted).tobytes(), (got, wanted)
    else:
        assert got == wanted


def check(function, *args, calls=2):
    compiled = bl.jit(function)
    for _ in range(calls):
        theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
        wanted, got = function(*theirs), compiled(*ours)
        same(got, wanted)
        same(ours, theirs)
    return compiled


def array(*shape, dtype=float, start=1):
    return (np.arange(start, start + np.prod(shape, dtype=int)) % 101).reshape(shape).astype(dtype)


A, B, V = array(5, 6), array(5, 6, start=40), array(6, start=7)


# Sizes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", range(8))
def test_sizes_of_views_that_are_not_read(rows):
    def zeros(x):
        return np.zeros(x[-4:3, 0].shape), np.zeros_like(x[2:]), np.arange(x[-5:].shape[0] * 2)

    def grid(x, y):
        return np.meshgrid(x[-4:3, 0], y[0])[1], x[-3:].size + np.ones(2), y[: x[-3:].shape[0]]

    def nested(x, y):
        return np.zeros(x[-4:][1:3].shape), np.ones(x[: y.shape[0]].shape), np.full(len(x[-2:]), 3.0)

    def moved(x, y):
        joined = np.concatenate([x[-4:3], y[1:]])
        tail = np.reshape(x[3:], (-1, 2))
        return np.zeros(joined.shape), np.empty_like(tail, dtype=int) * 0, np.zeros(x[::3].shape)

    check(zeros, array(rows, 4))
    for other in (0, 2, 5):
        for function in (grid, nested, moved):
            check(function, array(rows, 4), array(other, 4) if function is not grid else array(other + 1, 3))


def test_two_changes_of_one_array_in_memory():
    def f(x):
        y = np.sort(x)
        y[:, 0] += y[:, 0]
        before = y.copy()
        y[:, 0] += 4
        return np.sort(before), y

    check(f, array(4, 2))
    check(f, array(3, 7, dtype=np.float32))


def test_grids_and_flat():
    def f(x):
        x.flat = 2.5
        return np.ogrid[0 : x.shape[0], 1 : x.shape[1]], np.mgrid[0 : x.shape[0], 0:2]

    check(f, array(3, 4))


# One change ----------------------------------------------------------------------------------------------------------

REGIONS = [
    np.s_[1:-1], np.s_[1:-1, 0], np.s_[0], np.s_[-1], np.s_[...], np.s_[:], np.s_[..., 2], np.s_[::-1], np.s_[::-2, 1:4],
    np.s_[4:0:-1], np.s_[2:2], np.s_[7:9], np.s_[:, ::3], np.s_[1, 2], np.s_[-2, -3], np.s_[None, 1:3], np.s_[1:3, None, 2],
    np.s_[3:1], np.s_[..., None], np.s_[1, ...], np.s_[1, 2, ...], np.s_[-1:-4:-1, -1:0:-2],
]  # fmt: skip


@pytest.mark.parametrize("region", REGIONS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8], ids=lambda d: d.__name__)
def test_regions(region, dtype):
    def assign(x):
        x[region] = 7
        return x.sum(axis=0)

    def add(x, y):
        x[region] += y[region]
        return x

    def through_a_view(x, y):
        view = x[region]
        view *= 2
        view[...] = view + y[region]
        return view

    x, y = array(5, 6, dtype=dtype), array(5, 6, dtype=dtype, start=3)
    check(assign, x)
    check(add, x, y)
    if isinstance(x[region], np.ndarray):
        check(through_a_view, x, y)


def test_operators_in_place():
    def floats(x, y):
        x += y
        x -= 2
        x *= y
        x /= 4
        x **= 2
        x //= 3
        x %= 5
        return x

    def integers(x, y):
        x += y
        x <<= 1
        x |= y
        x &= 63
        x ^= y
        x >>= 1
        x //= y
        x %= 7
        return x.sum()

    def matrices(x):
        x @= x
        return x

    def powers(x):
        x[1:] **= 2
        x[0] -= x[1]

    check(floats, A, B)
    check(integers, array(5, 6, dtype=np.int64), array(5, 6, dtype=np.int64, start=4))
    check(matrices, array(3, 3))
    check(powers, A)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("value", [2.7, -1.0, 3, True, np.float32(1.5), np.int64(5), np.float64(0.0)], ids=repr)
def test_casts_of_assignment(dtype, value):
    if value == -1.0 and np.dtype(dtype).kind == "u":
        pytest.skip("the result depends on the machine")

    def assign(x):
        x[1] = value
        x[2:4] = [1, value]
        x[4:] = x[1]

    check(assign, array(6, dtype=dtype))


@pytest.mark.parametrize("source", ["f8", "f4", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("target", ["f8", "f4", "i8", "i4", "u1", "?"])
def test_casts_of_arrays(source, target):
    def assign(x, y):
        x[...] = y
        x[1:] = y[:-1]

    def add(x, y):
        x += y

    x, y = array(6).astype(target), array(6, start=3).astype(source)
    check(assign, x, y)
    try:
        add(x.copy(), y)
    except TypeError:
        with pytest.raises(bl.DTypeError):
            bl.jit(add)(x, y)
        same(x, array(6).astype(target))
    else:
        check(add, x, y)


def test_integers_that_do_not_fit():
    def assign(x):
        x[0] = 300

    x = array(3, dtype=np.uint8)
    with pytest.raises(OverflowError):
        bl.jit(assign)(x)
    same(x, array(3, dtype=np.uint8))


# Names and views -----------------------------------------------------------------------------------------------------


def names(x, y):
    x, y = y, x
    x += 1
    y[0] = x[1]
    return x, y


def views_of_views(x):
    u = x[1:-1]
    w = u[:, 1:-1]
    w += 100
    t = w.T
    t[0] = -1
    u[0] = t[1, 0]
    return x.sum(), u, w, t


def copies(x):
    a, b, c, d = x.copy(), np.copy(x), copy.copy(x), copy.deepcopy(x)
    e, f = x.astype(x.dtype), np.array(x)
    x[...] = 0
    a[0] = 5
    b += a
    f -= 1
    return a, b, c, d, e, f


def scalars(x):
    t = s = x.sum()
    s += 1
    p = q = x[0, 0]
    q *= 5
    x[0, 0] = 9
    return s, t, p, q


def arrays_without_axes(x, y):
    z = x
    z += 1
    x[...] = x * 2
    w = y[0, ...]
    w += 4
    w[()] = w + 1
    return z, w


def results_are_their_own(x):
    y = x + 0
    z = y
    z[0] = 5
    y *= 2
    return x, y, z


def transposes(x):
    x.T[0] = 1
    x.swapaxes(0, 1)[1] = 2
    np.transpose(x)[2, 0] = 3
    np.moveaxis(x, 0, 1)[3] += 1
    np.flip(x)[0] = 8
    np.fliplr(x)[1:3, 0] = 9
    np.rot90(x)[0, 1:] += 10
    x[None].squeeze(0)[4] = 11
    np.expand_dims(x, 1)[2, 0] += 12
    np.atleast_3d(x)[:, 1, 0] = 13
    x.transpose(1, 0)[:, 2] -= 1
    return x


def later_reads(x):
    u, t, f = x[1:3], x.T, np.flip(x, 0)
    x[...] = x + 1
    x[2] = 0
    return u + 0, t * 2, f - 1


def shifted(x):
    x[1:] = x[:-1]
    x[:, :-1] += x[:, 1:]
    x[::-1] = x
    return x


def unrolled(x):
    for row in x:
        row -= row[0]
    for number in range(1, x.shape[0]):
        x[number] += x[number - 1]


def reshaped(x):
    y = (x * 1).reshape(-1)
    y[3] = 5
    z = x.reshape(6, 5) + 1
    z[0] = 0
    return y, z, x.ravel() + 1


def rebound(x):
    x = x + 1
    x[0] = 0
    return x


def containers(args):
    args["a"][0] = 1
    args["b"][1] += args["a"]
    return args["b"][0]


@pytest.mark.parametrize(
    "function",
    [views_of_views, copies, scalars, results_are_their_own, transposes, later_reads, shifted, unrolled, reshaped, rebound],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("make", [lambda: array(5, 6), lambda: array(6, 5).T, lambda: array(10, 12)[::-2, ::2]], ids=["C", "F", "strided"])
def test_names_and_views(function, make):
    check(function, make())


def test_several_arguments():
    check(names, A, B)
    check(arrays_without_axes, np.array(3.0), A)
    check(containers, {"a": array(4), "b": [array(4), array(3, 4)]})


def test_numpy_scalars_stay():
    def change(s, x):
        s += 1
        x += s
        return s

    for number in [np.float64(2.5), 2.5, np.array(2.5)]:
        check(change, number, array(3))


def test_the_argument_is_returned():
    def change(x, y):
        x += y
        return y, x, x[0], {"x": x}

    x = A.copy()
    y, changed, row, named = bl.jit(change)(x, B)
    assert changed is x and named["x"] is x and y is not B
    same((y, row), (B, (A + B)[0]))


def test_sizes_that_become_one():
    compiled = bl.jit(lambda x: x[3:].squeeze())
    for size in [4, 6, 4]:
        same(compiled(array(size, 6)), array(size, 6)[3:].squeeze())


def test_one_kernel_serves_all_sizes():
    def step(u):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
        u[0] = u[1]

    compiled = bl.jit(step)
    for size in [9, 12, 33]:
        ours, theirs = array(size, size + 1), array(size, size + 1)
        compiled(ours), step(theirs)
        same(ours, theirs)
    assert compiled.traces == 1


# Masks ---------------------------------------------------------------------------------------------------------------


def masks(x, y, m):
    x[x > 50] = 0
    x[m] += 1
    x[m & (y > 10)] = -y.sum()
    x[m] = y[m]
    x[x > 20] = np.floor(np.sqrt(x[x > 20])) + 1
    x[~m] *= 2
    return x[m].sum(), x[m].max(), x[~m].min(), x[m].size


def masked_rows(x, v):
    m = x[:, 0] > 8
    x[m] = v
    x[m] *= 2
    x[m] -= v
    x[m, ] = x[m] + 1
    x[~m] = 4


def masked_view(x, m):
    u = x[1:, 1:]
    u[m[1:, 1:]] = 5
    u[u == 5] = u[u == 5] + u[u == 5]
    x.T[x.T > 30] = 3


def masks_beside_single_elements(x, y):
    x[x > 20] *= y[0, 0]
    x[x < 10] = y.sum() - x[x < 10]
    x[y > 9] = np.maximum(x[0, 0], x[y > 9]) + x.shape[0] * x[y > 9]


def views_by_keywords(x):
    np.flip(m=x, axis=0)[0] = 7
    np.transpose(a=x)[1] += 1
    y = np.astype(x, x.dtype, copy=False)
    y[2] = 3
    z = x.reshape(-1, copy=True)
    z[0] = 5
    return z


def test_views_by_keywords():
    check(views_by_keywords, A)


def test_masks():
    m = A % 3 == 0
    check(masks, A, B, m)
    check(masks_beside_single_elements, A, B)
    check(masked_rows, A, V)
    check(masked_view, A, m)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_chosen_elements(dtype, name):
    x, row, none = np.arange(12).reshape(3, 4).astype(dtype), np.array([False, True, False]), np.zeros(3, bool)
    functions = [
        (lambda x, m: getattr(x[m], name)(), row, none),
        (lambda x, m: getattr(np, name)(x[m] + x[m]), row, none),
        (lambda x, m: getattr(x[:, m], name)(), np.array([False, True, True, False]), np.zeros(4, bool)),
        (lambda x, m: getattr(x[m], name)(), np.arange(12).reshape(3, 4) > 3, np.zeros((3, 4), bool)),
    ]
    for function, some, nothing in functions:
        compiled = bl.jit(function)
        found, expected = compiled(x, some), function(x, some)
        assert found == expected and found.dtype == expected.dtype
        with pytest.raises(ValueError):
            function(x, nothing)
        with pytest.raises(ValueError, match="`(max|min)` needs"):
            compiled(x, nothing)
    # Rows that are chosen may have no elements.
    with pytest.raises(ValueError, match="not defined for zero elements"):
        bl.jit(functions[0][0])(x[:, :0], row)
    given = lambda x, m: getattr(x[m], name)(initial=1)
    for mask in row, none:
        assert bl.jit(given)(x, mask) == given(x, mask)


def test_the_extreme_of_no_elements_points_at_its_line():
    def largest(x, m):
        y = x * 2
        return y[m].max()

    with pytest.raises(bl.Error, match=r"return y\[m\].max\(\)"):
        bl.jit(largest)(np.arange(3.0), np.zeros(3, bool))

    def in_steps(x, m):
        best = 0.0
        for t in range(100):
            best += x[m & (x > t)].max()
        return best

    # Its number of elements would differ from step to step.
    with pytest.raises(bl.Error, match="N007"):
        bl.jit(in_steps)(np.arange(3.0), np.ones(3, bool))


def masks_of_inner_axes(x, m, r):
    column = np.arange(5.0)[:, None]
    x[:, m] = column
    x[..., m] += 2.5
    x[1:3, m] = -x[1:3, m]
    x[:, m] = x[:, m] * 2 + x[:, m]
    x[:2][:, m] = 9
    x.T[m] -= 1
    x[r] = np.arange(6.0)
    return x[:, m].max(), x[:, m].min()


def masks_of_the_last_axes(x, m):
    x[:, m] = np.arange(2.0)[:, None]
    x[:, m] += 1


def positions_of_masks(x, r):
    x[np.where(x > 15)] = 0
    x[np.nonzero(x > 7)] += 1
    np.add.at(x, np.where(x > 9), 2)
    i = np.flatnonzero(r)
    x[i, 2] = 5
    i, j = (x > 3).nonzero()
    x[i, 0] = 4
    j += 0
    x[i, j] *= 2
    return x[i, j].sum(), i.max(), j.size, i.sum()


def positions_along_one_axis(x, y, v):
    i, j = np.where(x > 15)
    x[i] += 1
    y[i] = 100
    v[j] = -1
    np.add.at(y, i, 1)
    x[j % 5, 0] = 3
    return y[i].sum(), v[i].max(), x[i, i].min()


def test_masks_beside_ranges_and_their_positions():
    check(positions_along_one_axis, A, np.ones((5, 3, 2)), np.arange(6.0))
    m, rows = np.array([True, False, True, True, False, False]), np.array([False, True, False, False, True])
    for r in rows, ~rows, rows | True:
        check(masks_of_inner_axes, A, m, r)
        check(positions_of_masks, A, r)
    check(masks_of_the_last_axes, np.stack([A, A + 1]), A % 3 == 0)
    check(positions_of_masks, A[:3], m[:3])


def another_shape(x):
    y = x * 2
    y.shape = (-1, 1)
    y[3] = 7
    z = y.copy()
    z.shape = 30
    z[4:] -= 1
    x.flat[2:20:3] = np.arange(6)
    x.flat[20:24] = np.arange(4).reshape(2, 2)
    y.flat = x * 2
    return y, z


def test_another_shape():
    check(another_shape, A)


def masks_beside_positions(x, m):
    x[m, 0] = 5
    x[m, 1:3] += 1
    x[2, x[2] > 20] = -1
    x[m, -1] = x[m, -1] * 2
    x[m] = np.clip(x[m], 2, 9)
    return x[m, 2].sum()


def masks_of_ufuncs(x, y):
    np.add(x, y, out=x, where=y > 50)
    np.sqrt(y, where=y > 60, out=y)
    return x.astype(x.dtype, copy=False) is x


def numbers_beside_masks(x, m):
    x[:, m, 0] = 3
    x[m, :, 1] += np.arange(6.0)
    x[m, 0, :] *= np.arange(4.0)
    x[..., m, 2] = x[..., m, 3]
    x[1, m] -= 1
    k = np.flatnonzero(m)
    x[2, k, 1] = 9


def rows_and_columns(x, n):
    made = np.eye(n, dtype=x.dtype)
    for i in range(n - 1):
        made[i + 1 :, i] = made[i, i + 1 :] = x[i, i + 1 :] + i
    return made


def parts_are_views(x):
    left, right = np.split(x, 2, axis=1)
    left += right
    right[:] = left[:, ::-1]
    parts = np.array_split(x, 4)
    parts[1][0] = 5
    x[0] = 9
    one, two, three = np.hsplit(x, [2, 5])
    two[...] = 0
    above, below = np.vsplit(x, 2)
    below += above
    return parts[0], three


def test_parts_are_views():
    check(parts_are_views, np.arange(48.0).reshape(6, 8))


def test_more_regions_than_a_kernel_is_cut_into():
    check(rows_and_columns, np.arange(1600.0).reshape(40, 40), 40)


def test_masks_beside_other_items():
    check(numbers_beside_masks, np.arange(144.0).reshape(6, 6, 4), np.array([1, 0, 1, 1, 0, 0], bool))
    check(masks_beside_positions, A, A[:, 0] > 8)
    check(masks_of_ufuncs, A, B * B)


def test_masks_are_the_same_or_refused():
    def other(x, y):
        x[x > y] = x[x > 7]

    def stale(x, y):
        m = x > 8
        y = x[m]
        m[0] = True
        x[m] = y

    def combined(x, y):
        x[x > 8] = x[x > 8] + y

    check(other, V, 7)
    check(other, V[::-1], 7)
    for function, args in [(other, [V, 9]), (stale, [V, V + 1]), (combined, [V, V + 1])]:
        before = copy.deepcopy(args)
        with pytest.raises(bl.ShapeError, match="@k"):
            bl.jit(function)(*args)
        same(args, before)


# Functions that change an argument -------------------------------------------------------------------------------------


def functions(x, y):
    np.copyto(x[0], y[0])
    np.copyto(x, 0, where=y > 60)
    x[1].fill(3)
    np.add(x, y, out=x)
    np.multiply(x[2], 2, out=x[2])
    np.fill_diagonal(x, 9)
    np.maximum(x, y, out=x)
    np.sum(y, axis=0, out=x[3])
    np.cumsum(y[0], out=x[4])
    np.putmask(x, y > 50, -1)
    np.clip(x, 0, 40, out=x)
    np.nan_to_num(x, copy=False, nan=1)
    return np.subtract(x, 1, out=y)


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3), (1, 1), (1, 4)])
@pytest.mark.parametrize("dtype", ["f4", "i8", "?"])
def test_diagonals_are_filled(shape, dtype):
    def filled(x):
        np.fill_diagonal(x, 2)

    x = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype)
    check(filled, x)
    if shape[0] == shape[1] > 1:
        # Of a square array nothing is read, and nothing else is written.
        assert "load x[" not in str(bl.jit(filled).kernel(x).explain())


def sorted_in_place(x):
    x.sort()
    x[:, 1].sort()
    x.sort(axis=0)
    y = -x
    y.sort()
    return y


def flat_places(x):
    x.flat[3] = 5
    x.flat[-1] = x.flat[7]


def known_positions(x, v):
    x[[0, 2]] = 1
    x[np.array([1, 1])] = 2
    x[[3, 4]] = v


def known_positions_of_several_axes(x, v):
    n = x.shape[0]
    x[range(n), range(n)] = 0
    x[np.diag_indices(5)] += 3
    x[np.triu_indices(5, 2)] = -1
    x[[0, 1, 0], [5, 5, 5]] = v[:3]
    x[np.ix_([2, 4], [1, 3])] = [[1, 2], [3, 4]]
    x[1:3, [0, 2]] = x[2:4, [1, 1]]
    x[[4, -1], :3] *= 2
    x[[]] = 9
    x[np.arange(5) % 2 == 0, 1] = 8


def lazy_position(x, i):
    x[i] = 5
    return x


def results_by_position(x, y):
    """NumPy names the arrays of `concatenate` by their position alone."""
    np.concatenate((x[:1], y[1:]), 0, x)
    np.concatenate([x[:2], y[2:]], 0, out=y)
    np.sum(y, 0, None, x[3])
    np.cumsum(y[0], 0, None, x[4])
    np.take(y[1], [0, 2, 1, 4, 3, 5], 0, x[0])
    np.clip(x, 0, 40, y)
    return np.concatenate((x, y), 0, None), np.concatenate((x, y), None, None)


def test_functions():
    check(functions, A, B)
    check(results_by_position, A, B)
    check(sorted_in_place, (A * 37) % 11)
    check(flat_places, A)
    check(known_positions, A, V)
    check(known_positions_of_several_axes, A, V)
    for i in [np.int64(2), np.int64(-1), np.array(0)]:
        check(lazy_position, A, i)
        check(lazy_position, V, i)


def made(x):
    n, m = x.shape
    a, b, c = np.zeros((n, m)), np.empty_like(x), np.ones(x.shape, dtype=np.float32)
    d, e, f = np.full((m, n), 7), np.full(n, x[0, 0]), np.ndarray(n + 1, dtype=np.int32)
    g, h = np.zeros(3), np.eye(n, dtype=x.dtype)
    a[1:] = x[1:]
    b[:] = a + 1
    c[:, 0] = x[:, 0]
    d[:] = x.T
    f[:] = 4
    f[1:] += np.arange(n)
    g[0], g[1:] = x[0, 0], x[1, 1:3]
    h[0] = 2
    return a, b, c, d, e, f, g, h, np.zeros(x.shape[0]), np.zeros_like(x), np.identity(n), len(x) * 2


def stacks(x):
    a = np.array([x.sum(), x[0, 0], 3])
    b = np.array([[x[0, 1], 2], [3, x[1, 1]]])
    a[0] += 1
    c = np.stack([x[0], x[1]])
    c[0] = 0
    return a, b, c, np.asarray([x[0], x[1]]), isinstance(x, np.ndarray), np.asarray(x) * 2


def extremes(x):
    return max(1.0, x[0, 0]), min(x[1, 1], x[0, 1]), max(3, 4), max([1, 2])


def inner(x):
    from numpy import zeros

    import numpy

    y = numpy.zeros(x.shape)
    z = zeros(x.shape[0])
    y[0], z[0] = x[1], x[0, 1]
    return y, z


def calls_others(x):
    y, z = inner(x)
    helper = lambda n: np.zeros(n)  # noqa: E731
    w = helper(x.shape[1])
    w[1:] = x[0, 1:]
    return y, z, w


@pytest.mark.parametrize("function", [made, stacks, extremes, inner, calls_others], ids=lambda f: f.__name__)
def test_creation(function):
    check(function, A)
    compiled = bl.jit(function)
    for size in [9, 11]:
        same(compiled(array(size, size + 3)), function(array(size, size + 3)))


def test_constants_that_the_function_reads():
    def weighted(x):
        weights = np.zeros(3)
        weights[:] = [1, 2, 0]
        total = x * 0
        for weight in weights:
            if weight > 0:
                total += x * weight
        return total @ np.linalg.inv(np.eye(x.shape[1]) * 2)

    x = array(3, 4)
    same(bl.jit(weighted)(x), weighted(x))
