"""Mistakes with derivatives say what is wrong and what to write."""

import broadloom as bl
import numpy as np
import pytest

X = np.array([1.0, 2.0, 3.0])


def fails(call, error):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_loss_with_axes():
    def loss(x):
        return x * 2

    text = fails(lambda: bl.grad(loss)(X), bl.ShapeError)
    assert "`grad` needs a loss without axes: take its `sum()` or `mean()`" in text and "`vjp`" in text
    assert "bl.grad(loss)(X)" in text and "test_grad_errors.py:" in text and "result of `multiply`" in text


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda x: (x.sum(), x), "returns a tuple, which is no loss: return the loss alone, or write `has_aux=True`"),
        (lambda x: None, "returns None, which is no loss: return a number, such as `x.sum()`"),
        (lambda x: {"loss": x.sum()}, "returns an object of the class dict, which is no loss"),
        (lambda x: (x > 1).sum(), "`grad` differentiates floats with respect to floats, not i64"),
    ],
)
def test_what_is_no_loss(loss, message):
    text = fails(lambda: bl.grad(loss)(X), bl.DTypeError)
    assert message in text


def test_aux():
    for loss in (lambda x: x.sum(), lambda x: (x.sum(), 1, 2)):
        assert "with `has_aux=True` the loss and what stands beside it: write `return loss, aux`" in fails(
            lambda loss=loss: bl.value_and_grad(loss, has_aux=True)(X), bl.DTypeError
        )


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (3, "`x` is the integer 3: write `3.0`"),
        (np.arange(3), "`x` is an array of int64: write `x.astype(np.float64)`"),
        (np.int32(3), "`x` is a number of int32: write `x.astype(np.float64)`"),
        (np.array([True]), "`x` is an array of bool: write `x.astype(np.float64)`"),
        (True, "`x` is an object of the class bool"),
        ("linear", "`x` is an object of the class str"),
        ({"w": X, "steps": [3]}, "`x['steps'][0]` is the integer 3: write `3.0`"),
        ((), "`x` holds none"),
        (None, "`x` holds none"),
    ],
)
def test_arguments_without_derivatives(argument, message):
    text = fails(lambda: bl.grad(lambda x: 1.0)(argument), bl.DTypeError)
    assert message in text and "by `argnums`" in text
    assert "`lambda x: f(x, k)`" in fails(lambda: bl.vjp(lambda x: x, argument), bl.DTypeError)
    assert message in fails(lambda: bl.jvp(lambda x: x, (argument,), (argument,)), bl.DTypeError)


def test_argnums():
    text = fails(lambda: bl.grad(lambda x: x.sum(), argnums=(0, 2))(X), bl.ArgumentError)
    assert "with respect to argument 2, `argnums`, but the call has argument 0 by position" in text
    assert "has none by position" in fails(lambda: bl.grad(lambda x: x.sum())(x=X), bl.ArgumentError)
    assert "arguments 0 to 1 by position" in fails(lambda: bl.grad(lambda x, y: x.sum(), -3)(X, X), bl.ArgumentError)
    for wrong in ("x", 1.5, [0.5], None):
        assert "`argnums=0`, or several, `argnums=(0, 2)`" in fails(lambda wrong=wrong: bl.grad(len, argnums=wrong), TypeError)
    assert "argnums is empty" in fails(lambda: bl.grad(len, argnums=()), ValueError)


def test_what_is_no_function():
    for derive in (bl.grad, bl.value_and_grad, bl.vjp, lambda f: bl.jvp(f, (X,), (X,)), lambda f: bl.hvp(f, (X,), (X,))):
        assert "takes a function, not float" in fails(lambda derive=derive: derive(3.0), TypeError)


def test_branches():
    for argument in (X[:1], 1.0):
        text = fails(lambda argument=argument: bl.grad(lambda a: a.sum() if a > 0 else -a)(argument), bl.TracingError)
        assert "np.where(condition, a, b)" in text and "static" not in text


def test_the_line_of_the_function():
    def loss(x):
        scaled = x * 2
        return (scaled + np.ones(7)).sum()

    text = fails(lambda: bl.grad(loss)(X), bl.ShapeError)
    assert "return (scaled + np.ones(7)).sum()" in text and "test_grad_errors.py:" in text


def test_tangents():
    double = lambda x: 2 * x  # noqa: E731
    assert "there are 1 arguments, and 2 tangents" in fails(lambda: bl.jvp(double, (X,), (X, X)), bl.ArgumentError)
    for call in (bl.jvp, bl.hvp):
        assert f"`bl.{call.__name__}(f, (x,), (dx,))`" in fails(lambda call=call: call(double, X, X), bl.DTypeError)
    text = fails(lambda: bl.jvp(lambda p: p["a"], ({"a": X},), ({"b": X},)), bl.DTypeError)
    assert "`p['a']`" in text and "`p['b']`" in text
    assert "has 1 axes, and the tangent of `x` 0 axes" in fails(lambda: bl.jvp(double, (X,), (1.0,)), bl.ShapeError)
    loss = lambda x: (x**3).sum()  # noqa: E731
    for call, function in ((bl.jvp, double), (bl.hvp, loss)):
        text = fails(lambda call=call, function=function: call(function, (X,), (np.ones(2),)), bl.ShapeError)
        assert f"`{call.__name__}` takes the tangent of `x`" in text and "has the shape (3,), and the tangent of `x` (2,)" in text
    assert fails(lambda: bl.jvp(double, (np.ones(100),), (np.ones(200),)), bl.ShapeError)
    assert "`jvp` differentiates floats with respect to floats, not bool" in fails(lambda: bl.jvp(lambda x: x > 1, (X,), (X,)), bl.DTypeError)


def test_cotangents():
    value, pullback = bl.vjp(lambda x: (x, x.sum()), X)
    assert "has `value[0]`, `value[1]`, and the cotangent has `value`" in fails(lambda: pullback(X), bl.DTypeError)
    assert "has 1 axes, and the cotangent 2 axes" in fails(lambda: pullback((np.ones((1, 3)), 1.0)), bl.ShapeError)
    assert fails(lambda: pullback((np.ones(2), 1.0)), bl.ShapeError)
    assert fails(lambda: bl.vjp(lambda x: x, X)[1](np.ones(2)), bl.ShapeError)
    np.testing.assert_array_equal(pullback((X, None))[0], X)
    np.testing.assert_array_equal(pullback((None, None))[0], np.zeros(3))


def test_no_arguments():
    value, pullback = bl.vjp(lambda: X)
    np.testing.assert_array_equal(value, X)
    assert "needs a tensor by which to derive" in fails(lambda: pullback(X), bl.DTypeError)
    assert "arguments" in fails(lambda: bl.grad(lambda: 1.0)(), bl.ArgumentError)


def test_fallback():
    with pytest.raises(ValueError, match="derivative"):
        bl.jit(bl.grad(lambda x: x.sum()), fallback=True)
