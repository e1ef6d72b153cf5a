"""Every keyword of every function of NumPy that can be traced: computed as NumPy does, or refused by its name.

The functions and their keywords are NumPy's own lists, so those of a later version are tried without a change here.
"""

import inspect
import warnings

import broadloom as bl
import numpy as np
import pytest

X = np.array([[3.0, 1.0, 2.0], [4.0, -6.0, 5.0], [0.5, 2.5, -1.0]])
I = np.array([[3, 1, 2], [0, 6, 5], [2, 2, 1]])
U = np.array([1, 2, 0], np.uint8)

# Operands that are tried one after the other, until NumPy has a result: the first of them are lazy arrays.
OPERANDS = [
    ((X,), ()), ((I,), ()), ((U,), ()), ((X, X.T), ()), ((I, I), ()), ((U, U), ()), ((X,), (1,)), ((X,), (0.25,)), ((X[0],), ()),
    ((X, U), ()), ((X, U.astype(np.int64)), ()), ((X,), ((3, 3),)), ((X,), ((1, 3, 3),)), ((X,), (0, 1)), ((X > 0, X, X), ()),
    ((X, np.sort(X[0]), X[1]), ()), ((X[0], U), ()), ((X, np.argsort(X)), (1,)), ((X, np.argsort(X)), ()),
]  # fmt: skip

# Values of keywords by name; others get a few of every kind.
VALUES = {
    "axis": [0, -1, None, (0, 1), (1,)],
    "axes": [0, 1, (1, 0), ([0], [1]), [(0, 1), (0, 1), (0, 1)]],
    # What a negative float becomes as an unsigned integer depends on the machine.
    "dtype": [np.float32, np.int64, np.float64, bool, "i2"],
    "order": ["C", "F", "A", "K", "x"],
    "casting": ["no", "equiv", "safe", "same_kind", "unsafe"],
    "signature": ["ff->f", "f->f", "dd->d", "qq->q", (None, None, np.float32)],
    "where": [True, False, X > 1, U > 0],
    "initial": [0, 7.5, -9],
    "kind": ["stable", "quicksort", "heapsort"],
    "mode": ["full", "same", "valid", "wrap", "clip", "raise", "constant", "edge", "reflect"],
    "method": ["linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull"],
    "side": ["left", "right"],
    "like": [],
    "device": ["cpu", "gpu"],
    "indexing": ["xy", "ij"],
    "weights": [np.arange(1.0, 4.0), X * X, np.arange(9.0).reshape(3, 3)],
    "sorter": [np.array([2, 1, 0])],
    "range": [(0.0, 5.0)],
    "bins": [3, np.array([-10.0, 0.0, 10.0])],
    "mean": [np.full((1, 1), 2.0), np.full((1, 3), 2.0)],
    "x": [np.array([0.0, 1.0, 3.0])],
}
OTHERS = [True, False, 0, 1, 2, -1, 0.5, 1e-9, (1, 0), [0, 2], np.arange(3.0), np.array([0, 1]), "constant", "fro"]


def functions():
    """The functions that NumPy passes on to arrays of other libraries, and the methods of ufuncs."""
    spaces = [("np", np), ("np.linalg", np.linalg), ("np.lib.stride_tricks", np.lib.stride_tricks)]
    found = {}
    for space, module in spaces:
        for name, value in sorted(vars(module).items()):
            if isinstance(value, np.ufunc) and value.nin <= 2:
                found[f"{space}.{name}"] = value
                for method in ("reduce", "accumulate", "outer"):
                    found[f"{space}.{name}.{method}"] = getattr(value, method)
            elif hasattr(value, "_implementation"):
                found[f"{space}.{name}"] = value
    methods = [name for name in dir(np.ndarray) if not name.startswith("_") and callable(getattr(np.ndarray, name))]
    return found, methods


FUNCTIONS, METHODS = functions()
UFUNC_KEYWORDS = ["dtype", "casting", "order", "subok", "where", "out", "signature", "axis", "axes", "keepdims", "initial"]


def keywords(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    if not parameters or any(p.kind == p.VAR_KEYWORD for p in parameters):
        names = UFUNC_KEYWORDS
    else:
        names = []
    return [p.name for p in parameters if p.default is not p.empty and p.kind != p.POSITIONAL_ONLY] + names


def attempt(function, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args), None
        except Exception as error:  # noqa: BLE001
            return None, error


# Calls that need arguments of their own.
CALLS = {
    "np.einsum": lambda x, **kwargs: np.einsum("ij,jk->ik", x, x, **kwargs),
    "np.select": lambda x, **kwargs: np.select([x > 1, x > 0], [x, x * 2], **kwargs),
    "np.astype": lambda x, **kwargs: np.astype(x, np.float32, **kwargs),
    "np.bincount": lambda x, **kwargs: np.bincount(U, **{"minlength": 4, **kwargs}) if isinstance(x, np.ndarray) else np.bincount(
        np.asarray(U, like=x), **{"minlength": 4, **kwargs}
    ),
    "np.unravel_index": lambda x, **kwargs: np.unravel_index(np.array([4, 0]) if isinstance(x, np.ndarray) else np.array([4, 0], like=x), (3, 3), **kwargs),
    "x.astype": lambda x, **kwargs: x.astype(np.float32, **kwargs),
    "x.view": lambda x, **kwargs: x.view(**kwargs),
}  # fmt: skip
# Elements that are not set.
UNSET = {"np.empty_like"}


def calls_of(name, function):
    """Calls of a function on operands of several kinds."""
    if name in CALLS:
        yield (lambda arrays, **kwargs: CALLS[name](*arrays, **kwargs)), [X]
        return
    for arrays, numbers in OPERANDS:
        for form in (lambda arrays: arrays, lambda arrays: (list(arrays) * 2,)):

            def call(arrays, numbers=numbers, form=form, **kwargs):
                return function(*form(arrays), *numbers, **kwargs)

            yield call, list(arrays)


def outcome(function, arrays, *others):
    """The result of a call, and what its arguments hold after it; or its error."""
    arguments = [[array.copy() for array in arrays], *(other.copy() for other in others)]
    result, error = attempt(function, *arguments)
    return (result, arguments), error


def has_effect(outcome, arrays):
    return outcome[0] is not None or not is_same(outcome[1][0], list(arrays))


def operands_for(name, function):
    """The first call with which NumPy and the traced function have the same result."""
    for call, arrays in calls_of(name, function):
        expected, error = outcome(call, arrays)
        if error is not None or not has_effect(expected, arrays):
            continue
        found, error = outcome(bl.jit(call), arrays)
        if error is None:
            assert is_same(found, expected) or name in UNSET, f"{name}: {found!r} instead of {expected!r}"
            return call, list(arrays)
        assert isinstance(error, (bl.Error, TypeError, AttributeError)), f"{name}: {error!r}"
    return None


def is_same(found, expected):
    if isinstance(expected, (tuple, list)):
        return isinstance(found, (tuple, list)) and len(found) == len(expected) and all(map(is_same, found, expected))
    if expected is None or found is None:
        return expected is found
    if isinstance(expected, np.dtype):
        return found == expected
    one, other = np.asarray(found), np.asarray(expected)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if other.dtype.kind in "biu":
        return np.array_equal(one, other)
    return other.dtype.kind == "f" and np.allclose(one, other, rtol=1e-6 if other.dtype == np.float32 else 1e-12, atol=0, equal_nan=True)


def check(name, function):
    found = operands_for(name, function)
    if found is None:
        return 0
    call, arrays = found
    wrong, tried = [], 0
    for keyword in dict.fromkeys(keywords(function)):
        # NumPy crashes on some results of another shape.
        values = results_for(call, arrays) if keyword == "out" else VALUES.get(keyword, OTHERS)
        for value in values:
            others = (value,) if keyword == "out" else ()

            def passed(arrays, value=value):
                return call(arrays, **{keyword: value})

            expected, error = outcome(passed, arrays, *others)
            if error is not None or not has_effect(expected, arrays):
                # What NumPy refuses may be refused, or have a result.
                continue
            tried += 1
            result, error = outcome(bl.jit(passed), arrays, *others)
            if keyword == "overwrite_input":
                # What the array holds after the call is not said.
                result, expected = result[0], expected[0]
            if error is None and name not in UNSET and not is_same(result, expected):
                wrong.append(f"{name}({keyword}={value!r}): {result!r} instead of {expected!r}")
            elif error is not None and not (isinstance(error, (bl.Error, TypeError, AttributeError)) and is_named(name, keyword, error)):
                wrong.append(f"{name}({keyword}={value!r}): the error does not name it: {error!r}")
    assert not wrong, "\n".join(wrong)
    return tried


def results_for(call, arrays):
    """Arrays for a result: one of its dtype, and those of others."""
    result, _ = attempt(lambda: np.asarray(call(list(arrays))))
    if result is None or result.dtype.kind not in "biuf":
        return []
    return [np.zeros(result.shape, dtype) for dtype in dict.fromkeys((result.dtype, np.dtype(float), np.dtype("f4"), np.dtype("i8")))]


def is_named(name, keyword, error):
    # The dtype is the only argument of `view`.
    return keyword in str(error) or (name == "x.view" and "`view`" in str(error))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    check(name, FUNCTIONS[name])


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    check(f"x.{name}", lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.linspace(x[0, 0], x[0, 1], 5, endpiont=False),
        lambda x: np.linspace(0, 1, 5, bogus=2),
        lambda x: np.array(x, bogus=2),
        lambda x: np.asarray(x, bogus=2),
        lambda x: np.asanyarray(x, bogus=2),
        lambda x: np.ascontiguousarray(x, bogus=2),
        lambda x: np.zeros(3, bogus=2),
        lambda x: np.empty(x.shape, bogus=2),
        lambda x: np.full(3, x[0, 0], bogus=2),
        lambda x: np.eye(3, bogus=2),
        lambda x: np.identity(3, bogus=2),
        lambda x: np.arange(x.shape[0], bogus=2),
        lambda x: np.cov(x, ddof=0.5),
        lambda x: np.unravel_index(x.astype(int), (3, 9), order="A"),
        lambda x: np.linspace(x[0, 0], x[0, 1], 5, axis=None),
    ],
)  # fmt: skip
def test_what_numpy_refuses(function):
    with pytest.raises((TypeError, ValueError)) as of_numpy:
        function(abs(X))
    with pytest.raises(of_numpy.type):
        bl.jit(function)(abs(X))


def test_keywords_without_effect():
    for function in (
        lambda x: np.arange(x.shape[0], device="cpu") + x,
        lambda x: np.asanyarray(x, None, "C", device="cpu", like=x) + np.identity(3, like=x),
        lambda x: np.linspace(x[0, 0], x[0, 1], 5, axis=-1, device="cpu"),
        lambda x: np.cov(x, ddof=1.0),
        lambda x: np.array(x, subok=True),
    ):
        np.testing.assert_allclose(bl.jit(function)(X), function(X), rtol=1e-14)
