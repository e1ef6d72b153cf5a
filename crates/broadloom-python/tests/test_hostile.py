"""Whatever is passed to a public function: a result or an exception, and no memory is kept."""

import gc
import mmap
import sys
import threading
import weakref
from pathlib import Path

import broadloom as bl
import numpy as np
import pytest

X = np.arange(12.0).reshape(4, 3)


class Raising:
    """Whatever is asked of it is an error."""

    def __getattr__(self, name):
        raise ZeroDivisionError(name)

    def __hash__(self):
        raise ZeroDivisionError

    def __eq__(self, other):
        raise ZeroDivisionError


class Odd:
    def __init__(self, **fields):
        self.__dict__.update(fields)


HOSTILE = [
    None, True, 0, -1, 2**200, 1.5, float("nan"), 1j, "", "x", "x +", "\0", "é" * 1000, b"x", bytearray(b"x"), (), [], {}, set(),
    [[1, 2], [3]], {"x": X}, {1: 2}, object(), Raising(), type, len, lambda: None, (item for item in "ab"), Ellipsis, slice(None),
    np.array("a"), np.array(None), np.array(1j), np.zeros((0, 3)), np.zeros((3, 0, 2), "?"), np.float16(2), np.array(2, ">f8"),
    np.zeros(3, [("a", "i4")]), np.zeros(2, "M8[s]"), np.ma.masked_array([1.0]),
    Odd(__array_interface__={"shape": (2**40,), "typestr": "<f8", "data": (8, False), "version": 3}), Odd(__array__=3),
    np.dtype("f8"), memoryview(b""), memoryview(b"ab").cast("c"), bl.jit, bl.input("h", "f64[n]"), bl.Program("x"), bl.Kernel, X,
]
HOSTILE[-1].flags.writeable = False


def attempt(function, *args, **kwargs):
    """A result, or an exception; a panic of Rust's would be a BaseException."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        assert str(error) is not None


KERNEL = bl.compile(bl.input("x", "f64[n, 3]") * 2)
FUNCTION = bl.jit(lambda x: x * 2 + 1)
PROGRAM = bl.Program("x + 1")
PUBLIC = {
    "eval": lambda v: bl.eval(v, x=X),
    "eval mapping": lambda v: bl.eval("x + 1", v),
    "eval array": lambda v: bl.eval("x + 1", x=v),
    "eval out": lambda v: bl.eval("x + 1", x=X, out=v),
    "eval threads": lambda v: bl.eval("x + 1", x=X, threads=None if isinstance(v, int) and v > 64 else v),
    "input name": lambda v: bl.input(v, "f32[n]"),
    "input type": lambda v: bl.input("x", v),
    "compile": bl.compile,
    "jit": bl.jit,
    "jit static": lambda v: bl.jit(lambda x: x, static=v)(X),
    "function": FUNCTION,
    "function out": lambda v: FUNCTION(X, out=v),
    "function keyword": lambda v: FUNCTION(x=v),
    "function unknown": lambda v: FUNCTION(X, y=v),
    "function kernel": FUNCTION.kernel,
    "function get": lambda v: FUNCTION.__get__(v),
    "returned": lambda v: bl.jit(lambda x: v)(X),
    "returned beside": lambda v: bl.jit(lambda x: (x + 1, v))(X),
    "operand": lambda v: bl.jit(lambda x: x + v)(X),
    "left operand": lambda v: bl.jit(lambda x: v - x)(X),
    "compared": lambda v: bl.jit(lambda x: x == v)(X),
    "index": lambda v: bl.jit(lambda x: x[v])(X),
    "axis": lambda v: bl.jit(lambda x: x.sum(axis=v))(X),
    "shape": lambda v: bl.jit(lambda x: x.reshape(v))(X),
    "dtype": lambda v: bl.jit(lambda x: x.astype(v))(X),
    "argument": lambda v: bl.jit(lambda x: np.where(v, x, v))(X),
    "concatenate": lambda v: bl.jit(lambda x: np.concatenate([x, v]))(X),
    "kernel": KERNEL,
    "kernel out": lambda v: KERNEL(X, out=v),
    "kernel name": lambda v: KERNEL(**{v: X}),
    "chunks": lambda v: KERNEL.in_chunks(v),
    "chunks size": lambda v: KERNEL.in_chunks("n", size=v),
    "chunks rows": lambda v: KERNEL.in_chunks("n", size=2)(x=v),
    "chunks list": lambda v: KERNEL.in_chunks("n", size=2)(x=[X, v]),
    "chunks out": lambda v: KERNEL.in_chunks("n", size=2)(x=X, out=v),
    "chunks push": lambda v: KERNEL.in_chunks("n").start().push(x=v),
    "program": bl.Program,
    "program call": lambda v: PROGRAM(v),
    "program array": lambda v: PROGRAM(x=v),
    "program compile": lambda v: PROGRAM.compile(x=v),
    "program equal": lambda v: PROGRAM == v,
    "array": bl.Array,
    "array of": lambda v: bl.Array(v, "x"),
    "value of": lambda v: bl.Array(bl.input("x", "f64[n]")._trace, v),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PUBLIC)
def test_anything_is_a_result_or_an_exception(name):
    for value in HOSTILE:
        attempt(PUBLIC[name], value)


@pytest.mark.parametrize("shape", [(2**30, 2**20), (2**50,)])
def test_results_that_do_not_fit(shape):
    with pytest.raises((MemoryError, bl.Error)):
        FUNCTION(np.broadcast_to(X[0, 0], shape))


def test_closed_memory(tmp_path):
    file = tmp_path / "rows"
    file.write_bytes(X.tobytes())
    with file.open("r+b") as opened:
        mapped = mmap.mmap(opened.fileno(), 0)
    view = memoryview(mapped)
    array = np.frombuffer(view).reshape(4, 3)
    np.testing.assert_array_equal(FUNCTION(array), X * 2 + 1)
    # As long as an array views the map, it cannot be closed.
    with pytest.raises(BufferError):
        mapped.close()
    del array
    view.release()
    with pytest.raises(ValueError):
        FUNCTION(view)
    mapped.close()
    with pytest.raises(ValueError):
        FUNCTION(mapped)


def test_arrays_that_are_resized_while_they_are_passed():
    kept = np.arange(4.0)
    captured = bl.jit(lambda x: x + kept)
    captured(kept)
    # The kernel refers to the array.
    with pytest.raises(ValueError):
        kept.resize(10**6)


def test_writes_by_another_thread():
    """Indices are checked as they are used: what another thread writes in between is seen or not, and nothing else."""
    index, table, stop = np.zeros(4096, np.int64), np.arange(16.0), threading.Event()
    mask = np.zeros(4096, np.uint8)

    def write():
        while not stop.is_set():
            index[::7] = 2**40
            mask[::3] = 77
            index[::7] = 3
            mask[::3] = 0

    writer = threading.Thread(target=write)
    writer.start()
    take = bl.jit(lambda t, i, m: np.where(m, t[i], -1.0))
    try:
        for _ in range(300):
            try:
                found = take(table, index, mask.view(bool))
            except IndexError:
                continue
            assert found.shape == (4096,)
    finally:
        stop.set()
        writer.join()


def test_generators_of_chunks_that_fail():
    def rows():
        yield X
        raise KeyError("rows")

    with pytest.raises(KeyError):
        KERNEL.in_chunks("n", size=2)(x=rows())

    def again():
        yield KERNEL.in_chunks("n", size=2)(x=[X])

    np.testing.assert_array_equal(KERNEL.in_chunks("n", size=3)(x=again()), X * 4)


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of a process is read from /proc")
def test_calls_keep_nothing():
    x, bad = np.arange(5000.0), np.arange(3.0)
    other = x[::-1].astype(">f8")
    pair = bl.jit(lambda a, b: {"sum": a + b, "both": (a * b, 3)})
    tensor = bl.Program("a + b")

    def calls():
        for _ in range(300):
            pair(x, other)
            pair(x, 2.0)
            FUNCTION(x, out=x)
            tensor(a=x, b=other)
            attempt(pair, x, bad)
            attempt(FUNCTION, object())
            attempt(FUNCTION, x, out=bad)

    calls()
    gc.collect()
    counts, before = [sys.getrefcount(thing) for thing in (x, bad, other, pair, FUNCTION, X)], resident()
    for _ in range(4):
        calls()
    gc.collect()
    assert [sys.getrefcount(thing) for thing in (x, bad, other, pair, FUNCTION, X)] == counts
    # One array in a hundred of those made would be more.
    assert resident() - before < 12 * len(x) * 8 * 4


def test_functions_that_are_dropped_keep_nothing():
    kept = []

    class Noticed(np.ndarray):
        def __del__(self):
            kept.append(1)

    def use():
        weights = np.ones(3).view(Noticed)
        bl.jit(lambda x: x @ np.asarray(weights))(X)
        cyclic = bl.jit(lambda x, f: x + 1, static="f")
        cyclic(X, cyclic)
        return weakref.ref(cyclic)

    references = [use() for _ in range(5)]
    gc.collect()
    assert len(kept) == 5
    assert [reference() for reference in references] == [None] * 5
