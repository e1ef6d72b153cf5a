"""Arrays that a function makes and changes: of constants, and in other shapes; and positions in lists."""

import broadloom as bl
import numpy as np
import pytest
from test_changes import array, check
from test_written import refused

X, ROWS, N = array(2, 3), array(5, 4), np.int64(2)
TABLE = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "make",
    [
        "np.array([1.0, 2.0, 3.0])", "np.arange(3.0)", "np.linspace(0, 1, 3)", "np.tile(np.array([1.0]), 3)", "np.repeat(2.0, 3)",
        "np.zeros_like(TABLE)", "np.full_like(TABLE, 7)", "np.ones_like([1.0, 2.0, 3.0])", "np.copy(TABLE)",
        "np.concatenate([TABLE[:1], TABLE[1:]])", "np.eye(3)[0]", "np.zeros(3)", "np.array(TABLE)", "np.asarray(TABLE[:], like=x)",
    ],
)  # fmt: skip
def test_constants_that_change(make, tmp_path):
    source = f"""
import numpy as np
TABLE = np.array([1.0, 2.0, 3.0])

def set_one(x):
    y = {make}
    y[0] = x[0, 0]
    return y

def added(x):
    y = {make}
    y += x[0]
    return y * 2

def out_of_place(x):
    y = {make}
    np.add(x[0], y, out=y)
    return y

def in_a_loop(x):
    y = {make}
    for i in range(80):
        y[i % 3] += x[0, 1]
    return y

def not_changed(x):
    y = {make}
    return x * y
"""
    path = tmp_path / "made.py"
    path.write_text(source)
    space = {"__name__": "made"}
    exec(compile(source, str(path), "exec"), space)
    for name in ("set_one", "added", "out_of_place", "in_a_loop", "not_changed"):
        if "like=" not in make:
            check(space[name], X)


def test_constants_that_are_read_too():
    def order(x):
        y = np.array([2, 0, 1])
        y[0] = 1
        return x[:, y]

    def counted(x):
        steps = np.arange(3)
        steps[0] = 2
        return [x[0, int(step)] for step in steps]

    check(order, X)
    check(counted, X)


def test_arrays_from_outside():
    def change(x):
        TABLE[0] = x[0, 0]

    def change_all(x):
        table = TABLE
        table += x[0]

    def kept(x):
        y = np.asarray(TABLE, like=x)
        y[0] = x[0, 0]
        return y

    refused(change, X, match=r"`TABLE` is an array of NumPy's.*`TABLE = np.asarray\(TABLE, like=x\)`")
    refused(change_all, X, match=r"such as `\+=`")
    before = TABLE.copy()
    assert refused(change, X, match="TABLE") and (before == TABLE).all()
    check(lambda x: kept(x * 1), X)


def test_functions_of_packages_are_named():
    import statistics

    refused(lambda x: statistics.NormalDist().pdf(x[0, 0] * x), X, match=r"`statistics\.NormalDist\.pdf`")


def test_other_shapes_of_arrays_that_are_made():
    def filled(x):
        y = np.zeros(x.size)
        z = y.reshape(x.shape)
        z[:] = x
        return y

    def copied(x):
        y = x.copy()
        y.ravel()[0] = 1
        np.ravel(y)[1] += 2
        return y

    def twice(x):
        y = np.zeros(x.shape)
        z = y.ravel()
        z[1:3] = x[0, :2]
        z = z.reshape(x.shape)
        y[1] += z[0]
        z += 1
        return y, z, y.reshape(-1)

    def looped(x):
        y = np.zeros(x.size)
        z = y.reshape(x.shape)
        for i in range(x.shape[0]):
            z[i] = x[i] * 2
        return y

    for x in (X, array(90, 3), X.T, np.asfortranarray(array(20, 30))):
        for function in (filled, copied, twice, looped):
            check(function, x)


def test_other_shapes_of_arrays_whose_layout_is_not_known():
    for make in (lambda x: x, lambda x: x * 2, np.copy, lambda x: x.copy(order="K"), lambda x: x.copy()[1:], lambda x: x.copy().T):

        def change(x):
            y = make(x)
            y.reshape(-1).fill(1)
            return y

        refused(change, X, match="depends on the layout")


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x[[i, 0]],
        lambda x, i: x[[[i, 0], [0, i]]],
        lambda x, i: x[[i, 0], [0, i]],
        lambda x, i: x[[True, False, True, False, True]],
        lambda x, i: x[[True] * x.shape[0]],
        lambda x, i: x[[]],
        lambda x, i: x[[x.shape[0] - 1, -1, 0]],
        lambda x, i: x[[i > 1, i < 1, i == 2, i > 5, i < 5]],
        lambda x, i: x[:, [True, False, True, True]],
    ],
)
def test_positions_in_lists(function):
    def changed(x, i):
        y = function(x, i) * 1
        y[...] = 0
        return y

    check(function, ROWS, N)
    check(changed, ROWS, N)


def test_rows_change_places():
    def swap(x, i):
        x[[0, i]] = x[[i, 0]]

    def pivot(x, n):
        for i in range(n):
            k = np.argmax(np.abs(x[:, i]) * (np.arange(x.shape[0]) >= i))
            x[[i, k]] = x[[k, i]]
        return x

    def masked(x, i):
        x[[True, False, False, False, True]] = 1
        x[[-1, 1]] += i

    for function in (swap, masked):
        check(function, ROWS, N)
    check(pivot, array(5, 5) * -1, np.int64(5))


def row(x, i, j):
    part = x[i]
    part += 1
    return x, part


def column(x, i, j):
    part = x[:, i]
    part[part > 3] = 7
    part[...] = part[::-1]
    return part.T, x


def element(x, i, j):
    x[i][0] = 5
    x[i, 1:][j] = 6
    x[..., i][None, j] -= 3
    part = x[i, j]
    part += 1
    return part


def computed(x, i, j):
    part = x[x[:, 0].argmax()]
    part *= 2
    rows = x[np.array([i, j])]
    rows += 100
    whole = x[np.asarray(i)]
    whole += 100
    return part


def before_the_change(x, i, j):
    part = x[i]
    x[i] = 9
    x += 1
    return part


@pytest.mark.parametrize("function", [row, column, element, computed, before_the_change])
@pytest.mark.parametrize("i, j", [(2, 1), (0, 0), (-1, -2)])
def test_rows_at_integers_that_are_not_known_are_views(function, i, j):
    for kind in (np.int64, np.int8):
        check(function, array(5, 4), kind(i), kind(j))


FULL, STACK, GRID, RANGE, LINES = np.full, np.stack, np.mgrid, np.arange, np.linspace


@pytest.mark.parametrize(
    "function",
    [
        lambda x: FULL(x.shape, x[0, 0]),
        lambda x: FULL((2, 3), x[0]) + RANGE(x.shape[1]),
        lambda x: GRID[: x.shape[0]] + x[:, 0],
        lambda x: LINES(x[0, 0], x[0, 1], 5),
    ],
)
def test_functions_that_make_arrays_under_other_names(function):
    np.testing.assert_allclose(bl.jit(function)(X), function(X))


def test_functions_that_make_arrays_in_cells_and_defaults():
    full, stack = np.full, np.stack

    def cells(x):
        y = stack([np.ones(3), np.ones(3)])
        y[0] = x[0, 0]
        return full(x.shape, x[0, 0]), y

    def defaults(x, make=np.full, *, zeros=np.zeros, shifted=lambda x: np.zeros(x.shape) + x):
        return make(x.shape, x[0, 0]) + zeros(x.shape) + shifted(x)

    def local(x):
        make = np.full
        return make(x.shape, x[0, 0])

    def imported(x):
        from numpy import full as make

        return make(x.shape, x[0, 0])

    for function in (cells, defaults, local, imported):
        for found, expected in zip(bl.jit(function)(X), function(X), strict=True):
            np.testing.assert_array_equal(found, expected)
