"""The text language from Python."""

import copy
import pickle

import broadloom as bl
import numpy as np
import pytest

X = np.arange(12.0).reshape(4, 3)


def test_eval():
    np.testing.assert_array_equal(bl.eval("sqrt(x*x + y*y)", x=np.array([3.0]), y=np.array([4.0])), [5.0])
    y = X + 1
    np.testing.assert_array_equal(bl.eval("X * y", {"X": X, "y": y}), X * y)
    np.testing.assert_array_equal(bl.eval("X * y", globals(), y=y), X * y)
    x = X.astype("f4")
    assert bl.eval("x * a + k", x=x, a=2.5, k=3).dtype == np.float32
    np.testing.assert_array_equal(bl.eval("x * a + k", x=x, a=2.5, k=3), x * 2.5 + 3)
    assert bl.eval("x.sum()", x=X) == X.sum()
    out = np.empty(4)
    assert bl.eval("x.sum(axis=1)", x=X, out=out) is out
    np.testing.assert_array_equal(out, X.sum(axis=1))


def test_names():
    with pytest.raises(bl.ArgumentError, match="`y`, which is not given"):
        bl.eval("x + y", x=X)
    with pytest.raises(bl.ArgumentError, match="does not read `z`"):
        bl.eval("x + 1", x=X, z=X)
    np.testing.assert_array_equal(bl.eval("x + pi", x=X), X + np.pi)
    np.testing.assert_array_equal(bl.eval("x + e", x=X, e=np.ones(3)), X + 1)


def test_several_outputs():
    found = bl.eval("output a = x + 1; output b = x.sum()", x=X)
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["a"], X + 1)


def test_errors():
    with pytest.raises(bl.ProgramError) as caught:
        bl.eval("x +", x=X)
    assert "program:1:" in str(caught.value)
    with pytest.raises(bl.ShapeError) as caught:
        bl.eval("x + y", x=X, y=np.ones(4))
    assert "y[:, None]" in str(caught.value) and "program:1:1" in str(caught.value)
    with pytest.raises(bl.DTypeError):
        bl.eval("x + y", x=X, y="text")


def test_programs_that_declare_their_inputs():
    program = bl.Program("input x: f64[n, 3]\ninput y: f32[]\noutput z = x * y + w", threads=1)
    assert program.inputs == ["w", "x", "y"]
    found = program(x=X, y=2, w=X[0])
    np.testing.assert_array_equal(found, X * 2 + X[0])
    with pytest.raises(bl.ArgumentError, match="`y`, which is not given"):
        program(x=X, w=X[0])
    with pytest.raises(bl.ShapeError):
        program(x=X[:, :2], y=1, w=X[0])
    whole = bl.Program("input x: f64[n, 3]\nx.sum(axis=0)")
    assert whole.shapes() == "x: f64[n, 3]\nresult: f64[3]\n"
    assert "vector" in whole.explain()
    np.testing.assert_array_equal(whole(x=X), X.sum(axis=0))


def test_slices_that_end_behind_the_axis():
    program = bl.Program("x[:20] * k")
    for n in (100, 30, 12, 12):
        np.testing.assert_array_equal(program(x=np.arange(float(n)), k=2), np.arange(float(n))[:20] * 2)


def test_programs():
    program = bl.Program("x * y")
    assert program.inputs == ["x", "y"]
    kernel = program.compile(x=X, y=X[0])
    assert "f64[" in kernel.shapes()
    assert "x * y" in kernel.text
    assert kernel.explain()
    again = pickle.loads(pickle.dumps(program))
    assert again == program and hash(again) == hash(program) and copy.copy(program) == program
    np.testing.assert_array_equal(again(x=X, y=X[0]), X * X[0])
    assert eval(repr(program), {"Program": bl.Program}) == program
