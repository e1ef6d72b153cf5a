"""The namespace after the array API standard beyond what the standard's own suite tests: when and how arrays are computed."""

import copy
import pickle
import threading

import broadloom as bl
import broadloom.array_api as xp
import numpy as np
import pytest
from broadloom.array_api import _graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def kernels(function):
    """How many kernels a function compiles."""
    before = _graph._run.traces
    function()
    return _graph._run.traces - before


def test_an_expression_is_one_kernel_for_all_sizes():
    def distances(rows):
        points = np.random.default_rng(0).random((rows, 3))
        x = xp.asarray(points)
        found = xp.sum(xp.square(x[:, None, :] - x[None, :, :]), axis=2)
        expected = ((points[:, None] - points[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-14)

    assert kernels(lambda: distances(11)) == 1
    assert kernels(lambda: [distances(rows) for rows in (12, 13, 40)]) == 0


def test_nothing_is_computed_before_a_look_and_nothing_twice():
    x = xp.asarray([1.0, 4.0, 9.0])
    y = xp.sqrt(x) * 3.0 - 1.0
    assert y.shape == (3,) and y.dtype == xp.float64 and y._node.data is None
    assert float(y[1]) == 5.0
    total = xp.sum(y)
    assert float(total) == 15.0
    assert total._node.source is None
    assert kernels(lambda: (float(total), repr(total), np.asarray(total))) == 0


def test_a_look_leaves_shared_parts_shared():
    x = xp.asarray([1.0, 2.0])
    y = x + 1.0
    z = y * y
    np.testing.assert_array_equal(np.asarray(z), [4.0, 9.0])
    np.testing.assert_array_equal(np.asarray(y), [2.0, 3.0])


def test_loops_over_positions_compute_once():
    x = xp.arange(50, dtype=xp.float64)
    for take in (lambda y: [float(y[i]) for i in range(50)], lambda y: [float(part) for part in y], xp.unstack):
        y = xp.exp(x) * 2.0 - x
        assert kernels(lambda: take(y)) <= 1
        expected = np.exp(np.arange(50.0)) * 2 - np.arange(50.0)
        np.testing.assert_allclose([float(part) for part in take(y)], expected, rtol=1e-15)


def test_long_expressions_are_evaluated_in_parts():
    x = xp.zeros(3)
    for _ in range(10 * _graph.MAX_OPERATIONS):
        x = x + 1.0
        assert x._node.operations <= _graph.MAX_OPERATIONS
    assert float(x[0]) == 10 * _graph.MAX_OPERATIONS
    doubled = xp.ones(())
    for _ in range(100):
        doubled = doubled + doubled
    assert float(doubled) == 2.0**100


def test_changes_are_seen_by_one_array_only():
    x = xp.asarray([1.0, 2.0, 3.0])
    view, later, same = x[1:], x * 2.0, copy.copy(x)
    x[1] = 7.0
    x += 1.0
    np.testing.assert_array_equal(np.asarray(x), [2.0, 8.0, 4.0])
    np.testing.assert_array_equal(np.asarray(view), [2.0, 3.0])
    np.testing.assert_array_equal(np.asarray(later), [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(np.asarray(same), [1.0, 2.0, 3.0])
    whole = xp.asarray([1, 2])
    with pytest.raises(bl.DTypeError, match="cannot hold the result of float64"):
        whole /= 2
    with pytest.raises(bl.ArgumentError, match="cannot hold the result of shape"):
        whole += xp.ones((2, 2), dtype=xp.int64)
    with pytest.raises(bl.DTypeError, match="astype"):
        whole[0] = xp.asarray(1.5)
    np.testing.assert_array_equal(np.asarray(whole), [1, 2])


def test_changes_by_slices_wait():
    def smooth(size):
        data = np.arange(float(size)) ** 2
        x = xp.asarray(data) * 2.0
        x[1:-1] = (x[:-2] + x[2:]) / 2
        x[:1] = 0
        x[::-3] = xp.asarray(1.5)
        x[2:2] = 7
        assert x._node.source is not None
        expected = data * 2
        expected[1:-1] = (expected[:-2] + expected[2:]) / 2
        expected[:1], expected[::-3] = 0, 1.5
        np.testing.assert_array_equal(np.asarray(x), expected)

    assert kernels(lambda: smooth(10)) == 1
    rows = xp.zeros((4, 3), dtype=xp.int32) + xp.asarray(1, dtype=xp.int32)
    rows[..., 1:] = xp.asarray([[5], [6], [7], [8]], dtype=xp.int16)
    rows[:, :1] = 2.9
    np.testing.assert_array_equal(np.asarray(rows), [[2, value, value] for value in (5, 6, 7, 8)])
    x = xp.exp(xp.zeros(5))
    for value, key in [(xp.ones(3), slice(1, 3)), (xp.ones((2, 5)), slice(None)), (xp.ones(2), slice(0, 0))]:
        with pytest.raises((bl.ShapeError, ValueError)):
            x[key] = value
    with pytest.raises(bl.DTypeError):
        rows[:2] = xp.ones(3)


def test_memory_is_shared_only_if_asked():
    data = np.array([1.0, 2.0])
    taken, shared = xp.asarray(data), xp.asarray(data, copy=False)
    sums = xp.sum(taken), xp.sum(shared)
    data[0] = 10.0
    assert [float(total) for total in sums] == [3.0, 12.0]
    assert not np.asarray(taken).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1.0], copy=False)


def test_dlpack_both_ways():
    x = xp.arange(6, dtype=xp.float32)
    np.testing.assert_array_equal(np.from_dlpack(x * 2.0), np.arange(6, dtype=np.float32) * 2)
    np.testing.assert_array_equal(np.asarray(xp.from_dlpack(np.arange(4.0))), np.arange(4.0))


def test_numbers_take_the_dtype_of_arrays():
    for dtype in (xp.float32, xp.float64):
        assert (xp.ones(2, dtype=dtype) * 2.5).dtype == dtype
    assert (1 - xp.ones(2, dtype=xp.int8)).dtype == xp.int8
    assert (xp.ones(2, dtype=xp.int32) * 0.5).dtype == np.result_type(np.int32, 0.5)
    with pytest.raises(OverflowError):
        xp.ones(2, dtype=xp.uint8) + 300
    with pytest.raises(TypeError):
        xp.ones(2) + 1j


def test_arrays_and_scalars_of_numpy_have_their_dtypes():
    x, other = xp.ones(3, dtype=xp.float32), np.arange(3.0)
    for have, want in [
        (x + other, np.float32(1) + other),
        (other - x, other - np.float32(1)),
        (x / np.int64(4), np.ones(3, np.float32) / np.int64(4)),
        (np.float64(2) * x, np.float64(2) * np.ones(3, np.float32)),
        (np.float32(2) ** x, np.full(3, 2, np.float32)),
        (np.exp(x), np.exp(np.ones(3, np.float32))),
        (np.add.reduce(x), np.float32(3)),
        (np.mean(x, axis=0), np.float32(1)),
        (np.concatenate([x, other]), np.concatenate([np.ones(3, np.float32), other])),
        (x.sum(), np.float32(3)),
        (x.reshape(3, 1), np.ones((3, 1), np.float32)),
        (x.reshape((1, -1)).transpose(), np.ones((3, 1), np.float32)),
    ]:
        assert isinstance(have, xp.Array) and have.dtype == want.dtype and have.shape == want.shape
        np.testing.assert_allclose(np.asarray(have), want, rtol=1e-7)
    total = np.sqrt(x) + np.hypot(x, 2 * other)
    assert total._node.data is None
    # What an operation takes is what the array has then.
    want = np.sqrt(np.float32(1)) + np.hypot(np.float32(1), 2 * other) + other
    total = total + other
    other[:] = np.nan
    np.testing.assert_allclose(np.asarray(total), want, rtol=1e-6)
    other = np.arange(3.0)
    assert [part.shape for part in np.split(x, 3)] == [(1,)] * 3
    assert np.shape(x) == (3,) and np.ndim(x) == 1 and np.result_type(x, np.int8) == np.float32
    with pytest.raises(bl.ShapeError):
        np.add(x, np.ones(2))
    with pytest.raises(bl.ArgumentError, match="`out=`"):
        np.add(x, 1, out=x)


def test_what_tracing_does_not_know_numpy_computes():
    x = xp.asarray(np.random.default_rng(2).normal(size=(5, 3)))
    have = np.linalg.lstsq(x, x[:, 0], rcond=None)[0]
    np.testing.assert_allclose(have, [1, 0, 0], atol=1e-12)
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    assert isinstance(u, xp.Array)
    np.testing.assert_allclose(np.asarray((u * s) @ vh), np.asarray(x), rtol=1e-12)
    assert xp.linalg.vector_norm(x)._node.data is None


@pytest.mark.parametrize(
    "key",
    [0, -1, slice(None), slice(5, 1, -2), slice(None, None, -1), slice(2, 2), slice(-100, 100), (..., 0), None]
    + [(slice(1, 3), None, -2), (..., None, slice(None, None, 3)), (), ...],
)
def test_indices_of_expressions_and_of_data_agree_with_numpy(key):
    data = np.arange(24.0).reshape(6, 4)
    x = xp.asarray(data)
    for array, expected in ((x, data), (x + 1.0, data + 1.0)):
        found = array[key]
        assert found.shape == expected[key].shape
        np.testing.assert_array_equal(np.asarray(found), expected[key])


def test_powers_by_integers_of_python():
    x = xp.asarray([1.5, -2.0, 0.0])
    for exponent in (2, 0, -1, 5, True):
        with np.errstate(divide="ignore"):
            expected = np.asarray(x) ** exponent
        np.testing.assert_allclose(np.asarray(x**exponent), expected, rtol=1e-15)
        np.testing.assert_array_equal(np.asarray(xp.pow(x, exponent)), np.asarray(x**exponent))
    assert (xp.ones(2, dtype=xp.float32) ** 3).dtype == xp.float32
    np.testing.assert_array_equal(np.asarray(xp.asarray([3, -2], dtype=xp.int8) ** 3), [27, -8])
    np.testing.assert_array_equal(np.asarray(2 ** xp.asarray([3, 4])), [8, 16])
    for exponent in (-1, 2**70):
        with pytest.raises((ValueError, IndexError, OverflowError, bl.Error)):
            np.asarray(xp.asarray([3, -2]) ** exponent)


def test_indices_by_arrays_look_at_them():
    data = np.arange(12.0).reshape(3, 4)
    x = xp.asarray(data)
    np.testing.assert_array_equal(np.asarray(x[x > 5.0]), data[data > 5])
    rows = xp.asarray([2, 0])
    np.testing.assert_array_equal(np.asarray(x[rows, 1]), data[[2, 0], 1])


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda x: x + xp.ones(4), bl.ShapeError, "cannot broadcast"),
        (lambda x: xp.sum(x, axis=3), bl.ShapeError, "cannot use axis 3"),
        (lambda x: x[3], IndexError, "outside of axis 0"),
        (lambda x: (x + 1.0)[0, 0], IndexError, "2 indices for 1 axes"),
        (lambda x: float(xp.take(x, xp.asarray([3]))[0]), IndexError, "the index"),
        (lambda x: bool(x), TypeError, "no axes"),
        (lambda x: xp.sin(1.0), TypeError, "asarray"),
        (lambda x: xp.add(1, 2), TypeError, "at least one array"),
        (lambda x: xp.where(x, x, x), TypeError, "x != 0"),
        (lambda x: xp.asarray(1j), TypeError, "complex128 is not supported"),
        (lambda x: xp.asarray("text"), TypeError, "is not supported"),
        (lambda x: xp.astype(x, None), TypeError, "is not supported"),
        (lambda x: xp.zeros(3, device="gpu"), ValueError, "only one is 'cpu'"),
        (lambda x: xp.isdtype(x.dtype, "decimal"), ValueError, "the kinds are"),
        (lambda x: xp.cumulative_sum(x[:, None]), ValueError, "`axis` is needed"),
        (lambda x: xp.finfo(xp.int8), TypeError, "iinfo"),
        (lambda x: x.__array_namespace__(api_version="1999.01"), ValueError, "2025.12"),
        (lambda x: x.T, ValueError, "permute_dims"),
        (lambda x: xp.clip(x > 0.0, 0, 1), TypeError, "takes numbers, not bool"),
        (lambda x: hash(x), TypeError, "unhashable"),
        (lambda x: xp.Array(), TypeError, "asarray"),
        (lambda x: xp.arange(10**30), ValueError, "Maximum"),
        (lambda x: xp.searchsorted(x, x, side="up"), TypeError, "'left' or 'right'"),
    ],
)
def test_mistakes(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong(xp.ones(3))


def test_mistakes_point_at_the_line():
    with pytest.raises(bl.ShapeError) as raised:
        xp.ones(2) + xp.ones(3)
    assert "test_array_api.py" in str(raised.value) and "xp.ones(2) + xp.ones(3)" in str(raised.value)


def test_pickle_repr_and_numpy():
    x = xp.asarray([1.0, 2.0]) * 2.0
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(x))), [2.0, 4.0])
    assert repr(x) == "Array([2., 4.])"
    assert np.asarray(x, dtype=np.float32).dtype == np.float32


def test_the_greatest_rank_is_what_the_namespace_says():
    rank = xp.__array_namespace_info__().capabilities()["max dimensions"]
    assert float(xp.sum(xp.ones((1,) * rank) + 1.0)) == 2.0
    with pytest.raises(bl.Error):
        xp.ones((1,) * (rank + 1)) + 1.0


def test_many_threads_look_at_one_array():
    x = xp.linspace(0.0, 1.0, 1000)
    expected = np.exp(np.linspace(0.0, 1.0, 1000)) + 1.0
    for _ in range(20):
        y = xp.exp(x) + 1.0
        found = []
        threads = [threading.Thread(target=lambda: found.append(np.asarray(y * 1.0))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        for values in found:
            np.testing.assert_allclose(values, expected, rtol=1e-15)


def test_the_namespace_has_its_names_and_no_others():
    public = {name for name in vars(xp) if not name.startswith("_")}
    assert {"np", "call", "checked", "wrap", "builtins", "operator"}.isdisjoint(public)
    assert {"asarray", "sum", "bool", "float32", "pi", "newaxis", "unique_all", "Array"} <= public


STEPS = ["add", "subtract", "multiply", "maximum", "less", "where", "sum", "max", "argmin", "flip", "matrix_transpose"]
STEPS += ["index", "reshape", "concat", "roll", "cumulative_sum", "sort", "look", "set", "clip", "astype"]

SHAPES = [(3, 4), (4,), (3, 1), (1, 4), (2,), ()]


def computed(namespace, arrays, steps):
    """What steps make of arrays; each is a function, and numbers that choose what it takes. The same code for NumPy."""
    values = [namespace.asarray(array) for array in arrays]
    for name, a, b, c in steps:
        x, y = values[a % len(values)], values[b % len(values)]
        axis = c % x.ndim if x.ndim else None
        match name:
            case "where":
                made = namespace.where(x > y, x, y)
            case "sum" | "max" | "argmin":
                made = getattr(namespace, name)(x, axis=axis, keepdims=b % 2 == 0)
            case "flip" | "matrix_transpose":
                made = getattr(namespace, name)(x)
            case "index":
                made = [x[..., None], x[::-2], x[1:], x[-1], x[None]][c % 5]
            case "reshape":
                made = namespace.reshape(x, (-1,))
            case "concat":
                made = namespace.concat([x, y], axis=axis)
            case "roll":
                made = namespace.roll(x, b, axis=axis)
            case "cumulative_sum" | "sort":
                made = getattr(namespace, name)(x if x.ndim else namespace.reshape(x, (1,)), axis=axis or 0)
            case "look":
                np.asarray(x)
                made = x
            case "set":
                made = namespace.asarray(x, copy=True)
                made[...] = 3
            case "clip":
                made = namespace.clip(x if x.dtype != np.bool_ else namespace.astype(x, namespace.int64), -2, 4)
            case "astype":
                made = namespace.astype(x, [namespace.float64, namespace.int64][c % 2])
            case _:
                made = getattr(namespace, name)(x, y)
        values.append(namespace.asarray(made))
    return values


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.sampled_from(SHAPES), st.sampled_from("if")), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from(STEPS), *[st.integers(0, 9)] * 3), min_size=1, max_size=8),
)
def test_random_steps_agree_with_numpy(kinds, steps):
    arrays = [
        (np.arange(np.prod(shape, dtype=int)) * 7 % 11 - 4.0).reshape(shape).astype({"i": np.int64, "f": np.float64}[kind])
        for shape, kind in kinds
    ]
    try:
        expected = computed(np, arrays, steps)
    except (TypeError, ValueError, IndexError):
        # What NumPy refuses may be refused in another way, or have a result.
        return
    for found, right in zip(computed(xp, arrays, steps), expected, strict=True):
        assert (found.shape, found.dtype) == (right.shape, right.dtype)
        np.testing.assert_array_equal(np.asarray(found), right)


# Sizes that the data decide ------------------------------------------------------------------------------------------------


def test_chosen_elements_are_computed_when_their_shape_is_asked_for():
    data = np.array([[3.0, -1.0, 2.0], [0.0, 5.0, -2.0]])
    x = xp.asarray(data) * 2.0
    kept = x[x > 1.0]
    assert kept._node.source is not None and kept.dtype == xp.float64
    assert kept.shape == (3,) and kept._node.source is None
    np.testing.assert_array_equal(np.asarray(kept), (data * 2)[data * 2 > 1])
    assert float(xp.sum(kept * kept)) == 152.0
    repeated = xp.repeat(x, xp.asarray([2, 0, 3]), axis=1)
    assert repeated._node.source is not None and repeated.shape == (2, 5)


def test_indices_by_arrays_are_those_of_numpy():
    data = np.arange(24.0).reshape(2, 3, 4)
    rows, columns, places = np.array([True, False]), np.array([True, False, True]), np.array([2, 0, -1])
    x = xp.asarray(data)
    for key in [
        (rows,), (data > 7,), (slice(None), columns), (Ellipsis, data[0, 0] > 1), (rows, 1), (0, columns), (0, slice(None), places),
        (None, rows), (places[1:2], slice(1, None)), (slice(None), columns, 3), (data[:, :, 0] > 3,), (True,), (False,), (rows, ..., -1),
        (places % 2, places, places),
    ]:  # fmt: skip
        ours = tuple(xp.asarray(item) if isinstance(item, np.ndarray) else item for item in key)
        found, right = x[ours], data[key]
        assert (found.shape, found.dtype) == (right.shape, right.dtype), key
        np.testing.assert_array_equal(np.asarray(found), right)
        if any(item.dtype == bool if isinstance(item, np.ndarray) else isinstance(item, bool) for item in key):
            changed, wanted = copy.copy(x), data.copy()
            changed[ours], wanted[key] = 7.0, 7.0
            np.testing.assert_array_equal(np.asarray(changed), wanted)
    assert kernels(lambda: [x[places_, 0].shape for places_ in (xp.asarray([0, 1]), xp.asarray([1, 1]))]) <= 1


def test_distinct_elements_and_positions():
    data = np.array([[3, 1, 3], [0, 1, 2]])
    for dtype in (np.int64, np.float32, np.bool_):
        given_ = data.astype(dtype)
        x = xp.asarray(given_)
        for name in ("unique_all", "unique_counts", "unique_inverse"):
            for found, right in zip(getattr(xp, name)(x), getattr(np, name)(given_), strict=True):
                assert (found.shape, found.dtype) == (right.shape, right.dtype)
                np.testing.assert_array_equal(np.asarray(found), right)
        np.testing.assert_array_equal(np.asarray(xp.unique_values(x)), np.unique(given_))
        for found, right in zip(xp.nonzero(x), np.nonzero(given_), strict=True):
            np.testing.assert_array_equal(np.asarray(found), right)
    assert xp.unique_values(xp.asarray([np.nan, 1.0, np.nan])).shape == (3,)


def test_masks_of_another_size_are_refused():
    with pytest.raises(bl.ShapeError, match="the mask"):
        xp.asarray([1.0, 2.0, 3.0])[xp.asarray([True, False])]


@pytest.mark.parametrize("index", [..., (), (None, ...)])
def test_arrays_without_axes_change(index):
    x = xp.sum(xp.asarray([1.0, 2.0])) * 2
    x[index] = 7.0
    x[xp.asarray(True)] = x + 1
    assert float(x) == 8


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_numbers_that_are_equal_have_their_dtypes(first):
    x = xp.asarray([1, 2, 3])
    numbers = [2, 2.0, True, 1.0]
    for number in numbers[first:] + numbers[:first]:
        for have in (np.multiply(x, number), np.where(x > 1, number, number), np.add(x, number)):
            assert have.dtype == np.asarray(have).dtype
        assert np.multiply(x, number).dtype == np.multiply(np.array([1, 2, 3]), number).dtype


def test_calls_of_numpy_compile_once():
    x = xp.asarray(np.linspace(0, 1, 50))

    def compute():
        return np.asarray(np.exp(x) + x.sum() + np.concatenate([x, x]).reshape(2, 50) + np.sum(x, axis=(0,)))

    compute()
    assert kernels(compute) == 0


def test_out_is_written_or_refused():
    x = xp.asarray([1.0, 2.0, 3.0])
    out, wide = np.full((), -7.0), np.zeros(3)
    assert np.sum(x, out=out) is out and out == 6
    assert x.max(0, out) is out and out == 3
    assert xp.nanmean(x, out=out) is not None and out == 2
    np.testing.assert_array_equal(np.add(x, 1, out=wide), [2, 3, 4])
    wide += x
    np.testing.assert_array_equal(wide, [3, 5, 7])
    assert np.add.reduce(x, out=out) == 6
    for make in (lambda: np.sum(x, out=xp.zeros(())), lambda: x.sum(0, None, xp.zeros(())), lambda: np.add(x, 1, out=x)):
        with pytest.raises(bl.ArgumentError, match="`out=`"):
            make()


def test_only_assignments_change_arrays():
    x = xp.asarray([3.0, 1.0, 2.0])
    copy, later = x.copy(), x + 1
    for change in (
        lambda: np.copyto(x, 9),
        lambda: np.put(x, [0], 9),
        lambda: np.place(x, np.ones(3, bool), [9]),
        lambda: np.putmask(x, np.ones(3, bool), 9),
        lambda: np.negative.at(x, [0]),
        lambda: np.nan_to_num(x, copy=False),
    ):
        with pytest.raises(bl.ArgumentError, match="does not change"):
            change()
    with pytest.raises(ValueError, match="read-only"):
        np.real_if_close(x)[0] = 99
    into = np.zeros(3)
    np.copyto(into, x)
    for array, want in [(x, [3, 1, 2]), (copy, [3, 1, 2]), (later, [4, 2, 3]), (into, [3, 1, 2])]:
        np.testing.assert_array_equal(np.asarray(array), want)


def test_what_numpy_passes_as_sizes_and_operands():
    x = xp.asarray(np.arange(6.0))
    assert x.reshape(np.prod(x.shape)).shape == (6,)
    assert x.reshape(np.int64(3), 2).shape == x.reshape((np.int64(3), -1)).shape == x.reshape(np.array([3, 2])).shape == (3, 2)
    assert np.reshape(x, (np.int64(3), np.int64(2))).shape == (3, 2)
    np.testing.assert_array_equal(np.asarray(np.block([[x, x], [x, x]])), np.block([[np.arange(6.0)] * 2] * 2))
    np.testing.assert_array_equal(np.asarray(x * np.arange(6).astype(">f8")), np.arange(6.0) ** 2)
    x[:3] = np.array([7.0, 8.0, 9.0])
    np.testing.assert_array_equal(np.asarray(x), [7, 8, 9, 3, 4, 5])
    for wrong in (np.array(list("abcdef")), np.complex128(1j), np.ma.masked_array(np.ones(6), mask=[0, 1] * 3)):
        with pytest.raises(bl.DTypeError):
            x * wrong
