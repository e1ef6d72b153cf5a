"""Changes that are refused, and arguments that are unusual: the caller's arrays stay as they were, or hold what NumPy writes."""

import copy
import dataclasses
import threading

import broadloom as bl
import numpy as np
import pytest
from test_changes import A, B, V, array, check, same


def add_to(x, y):
    x[1:] += y[1:]


def test_overlapping_arguments():
    base = array(24)
    compiled = bl.jit(add_to)
    for x, y in [(base, base), (base[:12], base[6:18]), (base[::-1], base), (base[::2][:6], base[1:7])]:
        before = base.copy()
        with pytest.raises(bl.ArgumentError, match="shares memory"):
            compiled(x, y)
        same(base, before)
    for x, y in [(base[:12], base[12:]), (base[::2], base[1::2])]:
        theirs = x.copy()
        add_to(theirs, y.copy())
        compiled(x, y)
        same(x.copy(), theirs)
    bl.jit(lambda x, y: x + y)(base, base)


def test_a_global_that_overlaps():
    base = array(8)

    def change(x):
        x += base

    with pytest.raises(bl.ArgumentError, match="shares memory"):
        bl.jit(change)(base)
    same(base, array(8))


def test_read_only_arguments():
    x = array(4)
    x.flags.writeable = False
    with pytest.raises(bl.ArgumentError, match=r"`x`.*read-only.*x\.copy\(\)"):
        bl.jit(add_to)(x, array(4))
    with pytest.raises(bl.Error):
        bl.jit(add_to)(np.broadcast_to(array(1), 4), array(4))
    check(lambda x: x + 1, x)


def test_strange_layouts():
    swapped = array(6).astype(">f8")
    unaligned = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64)
    for x in [swapped, unaligned]:
        theirs = x.astype(float)
        add_to(theirs, array(6))
        bl.jit(add_to)(x, array(6))
        same(x.astype(float), theirs)
    for make in [lambda: array(4, 6).T, lambda: array(8, 9)[::-2, ::-3], lambda: np.asfortranarray(array(3, 4))]:
        ours, theirs = make(), make()
        y = array(*ours.shape)
        bl.jit(add_to)(ours, y), add_to(theirs, y)
        same(ours.copy(), theirs.copy())


def test_sizes_of_zero():
    for shape in [(0, 6), (5, 0), (1, 6), (2, 6)]:
        check(lambda x: x.__setitem__(np.s_[1:-1], 3), array(*shape))
        check(add_to, array(*shape), array(*shape))


def test_values_that_do_not_fit():
    def too_many(x, v):
        x[0] = v

    def too_long(x, v):
        x[:, 0] = v

    def grow(x, v):
        v += x

    check(too_many, A, V[None, None])
    for function, value in [(too_many, A), (too_long, V), (grow, V)]:
        x, before = A.copy(), A.copy()
        with pytest.raises(bl.ShapeError):
            bl.jit(function)(x, value.copy())
        same(x, before)


def test_exceptions_leave_the_arguments():
    def raises(x):
        x[0] = 5
        raise KeyError("own")

    def fails(x, i):
        x += 1
        return x[i]

    x = A.copy()
    with pytest.raises(KeyError):
        bl.jit(raises)(x)
    with pytest.raises(bl.OutOfRangeError):
        bl.jit(fails)(x, np.array([3, 70]))
    same(x, A)


def test_what_the_caller_would_not_see():
    def replace(arrays):
        arrays[0] = arrays[0] + 1

    def add(arrays):
        arrays["new"] = arrays["x"] * 2

    for function, arrays in [(replace, [A]), (add, {"x": A})]:
        with pytest.raises(bl.TracingError, match="replaces what stands in a list, a dict or a dataclass"):
            bl.jit(function)(arrays)
        assert len(arrays) == 1

    @dataclasses.dataclass
    class State:
        x: np.ndarray
        steps: int = 0

    def count(state):
        state.steps += 1

    def assign(state):
        state.x = state.x + 1

    def change(state):
        state.x += 1

    for function in (count, assign):
        with pytest.raises(bl.TracingError, match="replaces what stands in"):
            bl.jit(function)(State(A))
    state = State(A.copy())
    bl.jit(change)(state)
    same(state.x, A + 1)


def test_changes_that_are_refused():
    def reshape(x):
        x.shape = (6, 5)

    def of_view(x):
        y = x * 2
        z = y[1:]
        y.shape = -1
        return z

    def transposed(x):
        y = (x * 2).T
        y.shape = -1
        return y

    def of_reshaped(x):
        x.reshape(-1)[3] = 1

    def scatter(x):
        np.hypot.at(x, np.array([0, 0]), 1)

    def outside(x):
        np.add(x, 1, out=A)

    for function, args, text in [
        (reshape, [A], "caller's array keeps its shape"),
        (scatter, [V], "np.hypot"),
        (of_view, [A], "that has views, or is one"),
        (transposed, [A], r"write `x = x\.reshape\(shape\)`"),
        (of_reshaped, [A], r"write `x\.flat\[3\] = v`"),
        (outside, [B], "pass the array as an argument"),
        (lambda x: np.einsum("ii->i", x).fill(0), [array(4, 4)], "copy"),
        (lambda x: np.diagonal(x).fill(0), [array(4, 4)], "copy"),
    ]:
        before = copy.deepcopy(args)
        with pytest.raises(bl.TracingError, match=text):
            bl.jit(function)(*args)
        same(args, before)


def test_layouts_that_matter():
    def write(x):
        x.reshape(-1)[0] = 5

    def read(x):
        y = x.ravel()
        x[0] = 1
        return y

    for function in [write, read]:
        x = A.copy()
        with pytest.raises(bl.TracingError, match="copy"):
            bl.jit(function)(x)
        same(x, A)


def test_threads():
    def change(x, y):
        x[1:-1] += y[1:-1]
        x[0] = 3

    compiled = bl.jit(change)
    arrays = [array(400, start=start) for start in range(16)]
    wanted = [x.copy() for x in arrays]

    def work(part):
        for x in part:
            for _ in range(20):
                compiled(x, np.ones(400))

    workers = [threading.Thread(target=work, args=(arrays[k::2],)) for k in range(2)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    for x in wanted:
        for _ in range(20):
            change(x, np.ones(400))
    same(arrays, wanted)


def test_out_beside_changes():
    def change(x, y):
        x += 1
        return x * y

    x, out = A.copy(), np.empty_like(A)
    assert bl.jit(change)(x, B, out=out) is out
    same((x, out), (A + 1, (A + 1) * B))
    with pytest.raises(bl.ArgumentError, match="out"):
        bl.jit(add_and_return)(A.copy(), out=np.empty_like(A))


def add_and_return(x):
    x += 1
    return x


def test_nested_functions_change_their_arguments():
    inner = bl.jit(add_to)

    def outer(x, y):
        inner(x, y)
        add_to(y, x)
        return x.sum()

    check(outer, A, B)
