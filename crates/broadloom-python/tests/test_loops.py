"""Loops: the functions of steps, and plain `for` and `while`, against NumPy running the same function."""

import copy
import threading

import broadloom as bl
import numpy as np
import pytest

X = np.linspace(1.0, 2.0, 40)
TABLE = np.arange(40.0)
COUNTS = {"number": 0}


def close(one, other):
    if one is None or other is None:
        return one is other
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(close, one, other))
    one, other = np.asarray(one), np.asarray(other)
    is_same_kind = (one.dtype, one.shape) == (other.dtype, other.shape)
    return is_same_kind and np.allclose(one, other, rtol=1e-10, equal_nan=True)


def text_of(function, *arguments):
    return bl.jit(function).kernel(*copy.deepcopy(arguments)).text


def is_loop(text):
    return any(line.startswith(("for ", "loop ")) for line in text.splitlines())


def same(function, *arguments, loop=True):
    """Compares results and changed arguments. `loop` says whether the program has a loop; None if both are right."""
    plain, ours = copy.deepcopy(arguments), copy.deepcopy(arguments)
    wanted = function(*plain)
    compiled = bl.jit(function)
    assert close(compiled(*ours), wanted)
    assert all(close(one, other) for one, other in zip(ours, plain) if isinstance(one, np.ndarray))
    if loop is not None:
        assert is_loop(compiled.kernel(*copy.deepcopy(arguments)).text) == loop


def refused(function, *arguments, error=bl.TracingError):
    with pytest.raises(error) as caught:
        bl.jit(function)(*copy.deepcopy(arguments))
    return str(caught.value)


# Functions of steps ---------------------------------------------------------------------------------------------------


def test_fori_loop():
    assert close(bl.fori_loop(0, 3, lambda i, x: x * 2 + i, np.array([1.0, 2.0])), [12.0, 20.0])
    assert close(bl.fori_loop(2, 5, lambda i, x: x + i, 0.0), 9.0)
    assert close(bl.fori_loop(5, 2, lambda i, x: x + i, X), X)
    assert close(bl.fori_loop(np.int64(1), np.int64(4), lambda i, x: x.at[i].set(x[i - 1] * 2), np.ones(6)), [1.0, 2, 4, 8, 1, 1])


def test_fori_loop_keeps_structures():
    init = {"a": X, "b": (X * 2, None, 0.0)}

    def step(i, value):
        a, (b, nothing, t) = value["a"], value["b"]
        return {"a": a + b * 0.1, "b": (b * 0.5, nothing, t + 0.5)}

    a, b, t = X, X * 2, 0.0
    for _ in range(7):
        a, b, t = a + b * 0.1, b * 0.5, t + 0.5
    assert close(bl.fori_loop(0, 7, step, init), {"a": a, "b": (b, None, t)})
    assert close(bl.jit(lambda value: bl.fori_loop(0, 7, step, value))(init), {"a": a, "b": (b, None, t)})


def test_ranges_at_the_counter():
    def smooth(x):
        return bl.fori_loop(1, 38, lambda i, u: u.at[i : i + 2].set(u[i - 1 : i + 1] * 0.5), x)

    wanted = X.copy()
    for i in range(1, 38):
        wanted[i : i + 2] = wanted[i - 1 : i + 1] * 0.5
    assert close(bl.jit(smooth)(X), wanted)
    assert close(smooth(X), wanted)


def test_while_loop():
    assert close(bl.while_loop(lambda x: x.sum() > 1, lambda x: x / 2, np.array([4.0, 8.0])), [0.25, 0.5])
    root, steps = bl.while_loop(lambda v: np.abs(v[0] * v[0] - 2) > 1e-12, lambda v: ((v[0] + 2 / v[0]) / 2, v[1] + 1), (1.0, 0))
    assert close(root, np.sqrt(2)) and 3 < steps < 8
    assert close(bl.while_loop(lambda x: x.sum() < 0, lambda x: x + 1, X), X)


def test_scan():
    last, all = bl.scan(lambda total, x: (total + x, total * x), 0.0, X)
    assert close(last, X.sum()) and close(all, (np.cumsum(X) - X) * X)
    last, all = bl.scan(lambda total, x: (total + x, total), 0.0, X, reverse=True)
    assert close(all, (np.cumsum(X[::-1]) - X[::-1])[::-1])
    last, all = bl.scan(lambda u, nothing: (u * 0.5, u.sum()), X, length=4)
    assert close(all, X.sum() * 0.5 ** np.arange(4))
    rows = {"x": X, "y": np.stack([X, X * 2], axis=1)}
    last, all = bl.scan(lambda u, row: (u + row["y"], (row["x"], None, u[0])), np.zeros(2), rows)
    assert close(last, rows["y"].sum(axis=0)) and close(all[0], X) and all[1] is None


def test_loops_of_functions_nest():
    def table(n):
        inner = lambda i, u: bl.fori_loop(0, i, lambda j, v: v.at[i, j].set(i * 10.0 + j), u)  # noqa: E731
        return bl.fori_loop(0, n, inner, np.zeros((4, 4)))

    wanted = np.tril(np.arange(4)[:, None] * 10.0 + np.arange(4), -1)
    assert close(bl.jit(table)(np.int64(4)), wanted)


def test_errors_of_functions_of_steps():
    n = np.asarray(3)
    text = refused(lambda n, x: bl.fori_loop(0, n, lambda i, u: u / 2, x), n, np.arange(5), error=bl.DTypeError)
    assert "`value`: it is int64 before a step, and float64 after it" in text and "astype(np.float64)" in text
    text = refused(lambda n, x: bl.fori_loop(0, n, lambda i, u: (u[0], u[1].sum()), (x, x)), n, X, error=bl.ShapeError)
    assert "`value[1]`" in text and "1 axes before a step, and 0 after it" in text
    text = refused(lambda n, x: bl.fori_loop(0, n, lambda i, u: (u, u), x), n, X, error=bl.DTypeError)
    assert "keeps the structure" in text and "`value[0]`, `value[1]`" in text
    text = refused(lambda x: bl.while_loop(lambda u: u > 1, lambda u: u, x), X, error=bl.DTypeError)
    assert "one truth value" in text and ".any()" in text
    text = refused(lambda x: bl.scan(lambda u, row: u, 0.0, x), X, error=bl.DTypeError)
    assert "return carry, y" in text
    with pytest.raises(TypeError, match="length=10"):
        bl.scan(lambda u, row: (u, u), X)
    with pytest.raises(TypeError, match="takes a function"):
        bl.fori_loop(0, 3, 5, X)

    def outside(n, x):
        other = x * 2

        def step(i, u):
            other[0] = 5.0
            return u + other

        return bl.fori_loop(0, n, step, x)

    assert "changes an array that it does not carry" in refused(outside, n, X)
    text = refused(lambda x: bl.fori_loop(0, 9, lambda i, u: u.at[i : 2 * i].set(0.0), x), X)
    assert "length of the range" in text and "x[i:i + 3]" in text


# Plain loops ----------------------------------------------------------------------------------------------------------


def jacobi_1d(u, steps):
    for t in range(steps):
        u[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3
    return u


def heat(u, v):
    for t in range(1, 100):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[1:-1, 1:-1] = v[1:-1, 1:-1]


def power(a, v):
    for i in range(200):
        w = a @ v
        v = w / np.sqrt((w * w).sum())
    return v, v @ (a @ v)


def newton(a):
    x = a * 1.0
    for _ in range(80):
        x = 0.5 * (x + a / x)
    return x


def ewm(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = 0.9 * y[i - 1] + 0.1 * x[i]
    return y


def swap(u):
    a, b = u * 1, u * 2
    for t in range(101):
        b[1:-1] = a[2:] * 0.5 + a[:-2] * 0.25
        a, b = b, a
    return a, b


def test_stencils():
    same(jacobi_1d, X, np.int64(1000))
    same(jacobi_1d, X, 1000)
    same(jacobi_1d, X, 10, loop=False)
    same(heat, np.outer(X, X), np.outer(X, X))
    same(swap, X)


def test_iterations():
    same(power, np.arange(9.0).reshape(3, 3) + np.eye(3) * 4, np.ones(3))
    same(newton, X)
    same(ewm, np.linspace(0, 1, 500))
    same(ewm, np.random.default_rng(0).random((300, 4)))


def test_rows():
    def total(x):
        s = 0.0
        for row in x:
            s = s + row.sum()
        return s

    def weighted(x):
        s = 0.0
        for i, row in enumerate(x, 2):
            s += row.sum() * i
        return s

    def dots(x, y):
        s = x[0] * 0
        for a, b in zip(x, y):
            s = s + a * b
        return s

    def numbered(x, y):
        s = x[0] * 0
        for i, (a, b) in enumerate(zip(x, y)):
            s = s * 0.5 + a * b + i
        return s

    def backwards(x):
        s = x[0] * 0
        for row in reversed(x):
            s = s * 0.5 + row
        return s

    rows = np.random.default_rng(1).random((100, 3))
    for function in (total, weighted, backwards):
        same(function, rows, loop=None)
    same(total, rows)
    same(weighted, rows)
    same(dots, rows, rows * 2)
    same(dots, rows, rows[:80])
    same(numbered, rows, rows * 2)


def test_rows_that_change():
    def normalized(x):
        for row in x:
            row /= row.sum()
        return x

    def reads(x):
        s = 0.0
        for row in x:
            x[-1] = row * 0.5
            s = s + row.sum()
        return s, x

    rows = np.random.default_rng(1).random((100, 3))
    same(normalized, rows)
    same(reads, rows)


def test_ranges():
    def up(x, n):
        for i in range(2, n, 3):
            x = x * 0.9 + i
        return x

    def down(x, n):
        for i in range(n, 2, -3):
            x = x * 0.9 + i
        return x

    def indices(x, n):
        for i in range(n - 2, 0, -2):
            x[i] += x[i + 1] * 0.5
        return x

    for n in (-5, 0, 1, 2, 3, 4, 20, 31):
        for function in (up, down):
            same(function, X, np.int64(n))
            same(function, X, n, loop=None)
    for n in (2, 3, 30, 39):
        same(indices, X, np.int64(n))

    def every(x):
        for i in range(300, -300, -5):
            x = x + i
        return x, i

    same(every, X)


def test_another_count_compiles_nothing():
    def steps(x, n):
        for i in range(n):
            x = x + i
        return x

    for kind in (np.asarray, np.int64, np.int32):
        compiled = bl.jit(steps)
        for n in (0, 1, 5, 100_000, -3):
            assert close(compiled(X, kind(n)), steps(X, n))
        assert compiled.traces == 1
    assert "takes integers" in refused(steps, X, 3.0, error=TypeError)


def test_while():
    def halve(x):
        k = 0
        while x.sum() > 1:
            x = x / 2
            k += 1
        return x, k

    def both(x, y):
        k = 0
        while (np.abs(x - y).max() > 1e-6) & (k < 50):
            x, y = (x + y) / 2, x
            k = k + 1
        return x, k

    def in_steps(x):
        for i in range(100):
            while x.max() > 2:
                x = x * 0.5
            x = x * 1.7
        return x

    def numbers(x):
        k = 1
        while k < 20:
            k *= 2
            x = x + k
        return x, k

    same(halve, X)
    same(halve, X * 0)
    same(both, X, X * 2)
    same(in_steps, X)
    same(numbers, X, loop=False)


def test_nested():
    def table(a):
        for i in range(1, a.shape[0]):
            for j in range(1, a.shape[1]):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j]) / 3
        return a

    def triangle(a):
        for i in range(a.shape[0]):
            for j in range(i):
                a[i, j] = a[j, i] * 0.5
        return a

    def seidel(a):
        for t in range(3):
            for i in range(1, 49):
                a[i, 1:-1] += a[i - 1, :-2] + a[i + 1, 2:]
                for j in range(1, 49):
                    a[i, j] += a[i, j - 1]
                    a[i, j] /= 9.0

    same(table, np.random.default_rng(2).random((70, 80)))
    same(table, np.random.default_rng(2).random((6, 7)), loop=None)
    same(triangle, np.random.default_rng(2).random((70, 70)))
    same(seidel, np.random.default_rng(2).random((50, 50)))


def test_windows_at_two_counters():
    """With the sizes of the call, windows of these have one length, although they have none for all sizes."""

    def convolved(x, weights):
        k = weights.shape[0]
        result = np.empty((x.shape[0], x.shape[1] - k + 1, x.shape[2] - k + 1, weights.shape[3]))
        for i in range(result.shape[1]):
            for j in range(result.shape[2]):
                window = x[:, i : i + k, j : j + k, :, np.newaxis]
                result[:, i, j, :] = np.sum(window * weights[np.newaxis], axis=(1, 2, 3))
        return result

    rng = np.random.default_rng(3)
    # Unrolled, the longer ones are more than a function may have.
    for size, loop in [(7, False), (40, True), (70, True)]:
        same(convolved, rng.random((2, size, size, 2)), rng.random((3, 3, 2, 4)), loop=loop)


def test_steps_of_many_operations():
    def damped(x, inner):
        for _ in range(60):
            for _ in range(inner):
                x = np.sin(x) * 0.5 + x * 0.25 - 0.125
        return x

    compiled = bl.jit(damped, static=["inner"])
    for inner, loop in [(4, False), (16, True)]:
        assert close(compiled(X, inner=inner), damped(X, inner))
        assert is_loop(compiled.kernel(X, inner=inner).text) == loop


def test_names_after_the_loop():
    def last(x):
        for i in range(100):
            y = x * i
            x = x + y * 0.001
        return x, y, i

    def replaced(x):
        error = np.ones(3)
        for i in range(100):
            old = x
            x = x * 0.99
            error = np.abs(x - old)
        return x, error

    def counted(x):
        k, t = 3, 0.0
        for i in range(100):
            k += 2
            t += 0.01
            x = x + np.sin(t)
        return x, k, t, np.zeros(k)

    def again(x):
        for i in range(100):
            part = x[1:].sum()
            x = x - part * 0.001
        for i in range(100):
            part = x * 0.01
            x = x + part
        return x

    def otherwise(x):
        for i in range(70):
            x = x + 1
        else:
            x = x * 2
        return x

    for function in (last, replaced, counted, again, otherwise):
        same(function, X)


def test_values_that_no_step_carries():
    def pair(x):
        for i in range(70):
            p = (x * i, i)
            x = x + 1
        return p

    def function(x):
        for i in range(70):
            f = lambda y: y + i  # noqa: B023, E731
            x = f(x)
        return f(x)

    for function in (pair, function):
        same(function, X, loop=False)


def test_arrays_of_the_function():
    def weights(x, n):
        w, half = np.array([1.0, 2.0, 3.0]), np.zeros(3)
        for i in range(n):
            w *= 0.9
            half += w * 0.5
            x = x + w.sum()
        return x, w, half

    same(weights, X, np.int64(5))
    same(weights, X, 70)


def test_syntax_of_steps():
    def continued(x):
        for i in range(100):
            if x.ndim == 2:
                continue
            x = x + 1
            for j in range(3):
                if j == 1:
                    continue
                x = x + j
        return x

    def annotated(x):
        for i in range(100):
            y: float = 0.5
            z: int
            x = x * y + 1
        return x

    def walrus(x):
        for i in range(100):
            x = x + (z := x.mean() * 0.01)
        return x, z

    def blocks(x):
        for i in range(100):
            with np.errstate(all="ignore"):
                x = np.sqrt(x) + 0.5
            try:
                x = x + 1
            finally:
                x = x * 0.5
        return x

    def comprehended(x):
        for i in range(100):
            x = x + sum([k * 0.1 for k in range(3)])
            f = lambda y: y + i  # noqa: B023, E731
            x = f(x) * 0.5
        return x

    def unpacked(x):
        state = (x, x * 0, 0.0)
        for i in range(100):
            p, v, t = state
            state = (p + v * 0.1, v - p * 0.1, t + 0.1)
        return state

    for function in (continued, annotated, walrus, blocks, comprehended, unpacked):
        same(function, X)


def test_syntax_that_stays():
    def broken(x):
        for i in range(100):
            x = x + 1
            if i == 5:
                break
        return x

    def returned(x):
        for i in range(100):
            x = x + 1
            if i == 5:
                return x

    def generated(x):
        def rows():
            for i in range(70):
                yield x * i

        total = 0
        for row in rows():
            total = total + row
        return total

    def functions(x):
        made = []
        for i in range(3):
            made.append(lambda y, i=i: y + i)
        for function in made:
            x = function(x)
        return x

    for function in (broken, returned, generated, functions):
        same(function, X, loop=False)


def test_functions_keep_what_they_are():
    scale = 3.0

    def outer(x, *, shift=2.0, names=("a",)):
        """Docstring."""
        for i in range(100):
            x = x * 0.9 + scale * shift

        def inner(y):
            for j in range(100):
                y = y + j * scale
            return y

        return inner(x)

    class Model:
        def __init__(self):
            self.weight, self.__hidden = 2.0, 0.5

        def run(self, x):
            for i in range(100):
                x = x * self.__hidden + self.weight
            return x

    def helper(x):
        for i in range(100):
            x = x + 1
        return x

    same(outer, X)
    same(Model().run, X)
    same(lambda x: helper(x) * 2, X)
    with pytest.raises(ZeroDivisionError) as caught:
        bl.jit(failing)(X)
    assert caught.traceback[-1].lineno + 1 == failing.__code__.co_firstlineno + 2


def failing(x):
    for i in range(3):
        1 / 0
    return x


def test_without_source():
    space = {"np": np}
    exec("def f(x):\n    for i in range(70): x = x + i\n    return x", space)
    assert close(bl.jit(space["f"])(X), space["f"](X))
    assert not is_loop(text_of(space["f"], X))


# What steps change --------------------------------------------------------------------------------------------------


def test_lists_and_dicts():
    def grows(x):
        found = []
        for i in range(70):
            found.append(x * i)
        return found[-1], len(found)

    def keyed(x):
        found = {}
        for i in range(70):
            found[f"{i}"] = x * i
        return found["5"]

    def counted(x):
        count = {"n": 0}
        for i in range(70):
            count["n"] += 1
            x = x + 1
        return x, count["n"]

    def caught(x):
        for i in range(70):
            try:
                x = x + [1, 2][i]
            except (TypeError, IndexError):
                x = x + 5
        return x

    def enclosing(is_read):
        def function(x):
            total = 0

            def add():
                nonlocal total
                total += 1

            for i in range(70):
                add()
                x = x + (total if is_read else 1)
            return x if is_read else (x, total)

        return function

    for function in (grows, keyed, counted, caught, enclosing(False), enclosing(True)):
        same(function, X, loop=False)


def test_globals_and_objects():
    class Counter:
        def __init__(self):
            self.number, self.u = 0, None

    def steps(x):
        counter = Counter()
        counter.u = x * 1
        for i in range(70):
            counter.u[1:] += counter.u[:-1] * 0.1
        return counter.u

    def replaces(x):
        counter = Counter()
        counter.u = x * 1
        for i in range(70):
            counter.number += 1
            counter.u = counter.u * 0.9
        return counter.u, counter.number

    def of_module(x):
        for i in range(70):
            COUNTS["number"] += 1
        return x + 1

    same(steps, X)
    same(replaces, X, loop=False)
    before = COUNTS["number"]
    bl.jit(of_module)(X)
    assert COUNTS["number"] - before == 70


def test_aliases_and_views():
    def view(x):
        v = x[1:-1]
        for i in range(100):
            v += 1.5
            x *= 0.9
        return x, v.sum()

    def alias(x):
        y = x
        for i in range(100):
            y[0] += 1
        return x

    def split(x):
        y = x
        for i in range(100):
            x = x + 1
            y[0] = x[1]
        return x, y

    def called(x):
        def change(u):
            u[0] += 1

        for i in range(100):
            change(x)
        return x

    def out(x):
        y = np.zeros_like(x)
        for i in range(100):
            np.multiply(y, 0.5, out=y)
            np.add(y, x, out=y)
        return y

    def methods(x):
        for i in range(100):
            x[3:5].fill(0.25)
            x[::-1].sort()
            x += 0.1
        return x

    def renamed(x):
        y = x * 0
        for i in range(70):
            x += 1
            z = y.sum()
            x[0] = z
            y = x
        return x, y

    def later(a, b):
        v = a[:]
        for i in range(71):
            a, b = b, a * 0.5
        v *= 2
        return a, b

    for function in (view, alias, called, out, methods):
        same(function, X)
    for function in (split, renamed):
        same(function, X, loop=False)
    assert "other names" in refused(later, X, X * 2)


# What is refused ----------------------------------------------------------------------------------------------------

N = np.asarray(5)


def test_names_of_steps():
    def used(x, n):
        for i in range(n):
            last = x * i
        return x + last

    def returned(x, n):
        for i in range(n):
            last = x * i
        return last

    def read(x, n):
        for i in range(n):
            x = x + k
            k = x.sum()
        return x

    def none(x, n):
        p = None
        for i in range(n):
            if p is not None:
                x = x + p
            p = x
        return x

    for function in (used, returned):
        text = refused(function, X, N, error=bl.Error)
        assert "`last` is defined only in the steps of the loop: give it a value before the loop" in text
    text = refused(read, X, N)
    assert "`k` is defined only in the steps of the loop: give it an array or a number before the loop" in text
    assert "`p` has no value that steps can carry on" in refused(none, X, N)


def test_shapes_and_dtypes():
    def halves(x, n):
        for i in range(n):
            x = x / 2
        return x

    def shrinks(x, n):
        for i in range(n):
            x = x[1:]
        return x

    def reduces(x, n):
        for i in range(n):
            x = x.sum()
        return x

    text = refused(halves, np.arange(5), N, error=bl.DTypeError)
    assert "`x` has the dtype int64 before a step, and float64 after it: begin with `x.astype(np.float64)`" in text
    assert "before a step, and" in refused(shrinks, X, N, error=bl.Error)
    assert "1 axes before a step, and 0 after it" in refused(reduces, X, N, error=bl.Error)
    same(halves, np.arange(5), 70, loop=None)


def test_steps_that_depend_on_the_counter():
    def branch(x, n):
        for i in range(n):
            if i % 2 == 0:
                x = x + 1
        return x

    def size(x, n):
        for i in range(n):
            x = x + x[:i].sum()
        return x

    def grows(x, n):
        found = []
        for i in range(n):
            found.append(x)
        return found

    text = refused(branch, X, N)
    assert "np.where" in text and "test_loops.py:" in text and "traced once" in text
    assert "length of the range" in refused(size, X, N)
    assert "changes a list" in refused(grows, X, N)
    same(branch, X, 70, loop=False)
    same(size, X, 40, loop=False)

    def powers(x):
        f, total = 1, x * 0
        for k in range(1, 70):
            f *= k
            total = total + x / (f % 1000 + k)
        return total

    same(powers, X, loop=False)


def test_captured_arrays_and_errors_at_run_time():
    def table(x, n):
        for i in range(n):
            x = x + TABLE * i + TABLE[3]
        return x

    def outside(x, n):
        for i in range(n):
            x[i] += 1
        return x

    same(table, X, N)
    argument = X.copy()
    with pytest.raises(bl.OutOfRangeError, match="in step 40"):
        bl.jit(outside)(argument, np.asarray(50))
    assert close(argument, X)


def test_arrays_of_numpy():
    def positions(a):
        rows = np.arange(70)
        for j in range(1, 70):
            a[rows, j] = a[:, j] + a[rows, j - 1]
            np.add.at(a, (rows[:3], j), 1.0)
        return a

    def unrolled(x):
        for i in range(70):
            x = x + TABLE * 0.5
            if i % 2:
                x = x + TABLE
        return x - TABLE

    same(positions, np.random.default_rng(3).random((70, 70)))
    same(unrolled, X, loop=False)


def test_derivatives_unroll():
    def loss(x):
        for i in range(70):
            x = x * 1.01
        return x.sum()

    assert close(bl.grad(loss)(X), np.full(40, 1.01**70))


def test_threads():
    compiled = bl.jit(jacobi_1d)
    wanted = jacobi_1d(X.copy(), 300)
    results = []

    def call():
        results.append(close(compiled(X.copy(), np.int64(300)), wanted))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8
