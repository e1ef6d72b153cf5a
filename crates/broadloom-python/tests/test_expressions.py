"""Declared inputs, kernels, chunks and pictures."""

import xml.etree.ElementTree

import broadloom as bl
import numpy as np
import pytest

X = np.arange(12.0).reshape(4, 3)


def test_declared_inputs():
    x, y = bl.input("x", "f64[n, 3]"), bl.input("y", "f64[3]")
    assert repr(x) == "Array(f64[n, 3])" and x.ndim == 2 and x.dtype == np.float64 and x.shape[1] == 3
    total = (x * y).sum(axis=1)
    kernel = total.compile()
    np.testing.assert_array_equal(kernel(X, X[0]), (X * X[0]).sum(axis=1))
    np.testing.assert_array_equal(kernel(y=X[0], x=X), (X * X[0]).sum(axis=1))
    assert kernel.shapes() == "x: f64[n, 3]\ny: f64[3]\nout0: f64[n]\n"
    # What was compiled can be written on.
    both = bl.compile({"total": total, "mean": total.mean()}, threads=1)
    found = both(X, [1, 2, 3])
    np.testing.assert_array_equal(found["total"], (X * [1, 2, 3]).sum(axis=1))
    np.testing.assert_array_equal(found["mean"], (X * [1, 2, 3]).sum(axis=1).mean())


def test_declared_inputs_meet():
    x, y, z = (bl.input(name, "f64[n]") for name in "xyz")
    left, right = x + y, y * z
    kernel = bl.compile(left - right)
    a, b, c = X[:, 0], X[:, 1], X[:, 2]
    np.testing.assert_array_equal(kernel(x=a, y=b, z=c), a + b - b * c)
    with pytest.raises(bl.Error):
        bl.input("x", "f32[n]") + x
    with pytest.raises(bl.ShapeError) as caught:
        bl.input("u", "f64[3]") + bl.input("w", "f64[4]")
    assert "test_expressions.py" in str(caught.value)


@pytest.mark.parametrize("name, type", [("x", "f32[n]\noutput y = 1"), ("x y", "f32[n]"), ("sum", "f32[n]"), ("x", "f31[n]"), ("x", "f32[")])
def test_wrong_declarations(name, type):
    with pytest.raises(bl.Error):
        bl.input(name, type)


def test_wrong_calls_of_kernels():
    kernel = bl.compile(bl.input("x", "f64[n]") + bl.input("y", "f64[n]"))
    for args, kwargs in [((), {}), ((X[0],), {}), ((X[0], X[0], X[0]), {}), ((X[0],), {"x": X[0]}), ((X[0], X[0]), {"z": 1})]:
        with pytest.raises(bl.ArgumentError, match="the kernel takes x, y"):
            kernel(*args, **kwargs)
    with pytest.raises(bl.ShapeError):
        kernel(X[0], X[:, 0])
    with pytest.raises(bl.DTypeError):
        kernel(X[0], X[0].astype("f4"))
    with pytest.raises(TypeError):
        bl.compile(3)


def test_chunks(tmp_path):
    def standardised(x, scale):
        return {"rows": (x - x.mean(axis=0)) * scale, "greatest": x.max(axis=0)}

    data = np.random.default_rng(3).normal(size=(5000, 3))
    kernel = bl.jit(standardised).kernel(data, np.ones(3))
    rows = kernel.shapes().split("[")[1].split(",")[0]
    chunks = kernel.in_chunks(rows, size=100)
    assert chunks.passes == 2 and chunks.streamed == ["x"] and chunks.fixed == ["scale"]
    expected = kernel(data, np.arange(3.0))
    file = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=data.dtype, shape=data.shape)
    file[...] = data
    for source in (data, file, np.array_split(data, 7), tuple(np.array_split(data, [128, 128, 4999]))):
        found = chunks(x=source, scale=np.arange(3.0))
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name])
    written = np.lib.format.open_memmap(tmp_path / "y.npy", mode="w+", dtype=data.dtype, shape=data.shape)
    found = chunks(x=file, scale=np.arange(3.0), out={"out0": written})
    assert found["rows"] is written
    np.testing.assert_array_equal(written, expected["rows"])
    for wrong in (written[1:], np.empty((6000, 3))):
        with pytest.raises(ValueError):
            chunks(x=file, scale=np.arange(3.0), out={"out0": wrong})
    with pytest.raises(bl.ArgumentError, match="2 times"):
        chunks(x=iter([data]), scale=np.ones(3))
    with pytest.raises(bl.ArgumentError, match="`x` is not given"):
        chunks(scale=np.ones(3))
    with pytest.raises(bl.Error):
        chunks(x=data)
    with pytest.raises(bl.Error):
        kernel.in_chunks("nothing")
    run = chunks.start(scale=np.ones(3))
    run.push(x=data)
    with pytest.raises(bl.Error):
        run.finish()
    with pytest.raises(bl.ArgumentError, match="the run is over"):
        run.finish()


def test_pictures():
    kernel = bl.compile((bl.input("x", "f64[n]") * 2).sum())
    picture = xml.etree.ElementTree.fromstring(kernel._repr_svg_())
    assert picture.tag.endswith("svg")
    assert kernel.dot().startswith("digraph")
    assert bl.input("x", "f64[n]")._repr_svg_()


def test_pages():
    kernel = bl.compile((bl.input("x", "f64[n]") * 2).sum())
    page = kernel.explain_html()
    assert isinstance(page, str) and page.startswith("<!DOCTYPE html>") and "sum" in page
    assert "data-e=" in page and "data-s=" in page
    frame = page._repr_html_()
    assert frame.startswith("<iframe ") and "<!DOCTYPE" not in frame and len(repr(page)) < 100
    function = bl.jit(lambda x: np.sqrt(x) + 1)
    assert "sqrt" in function.explain_html(np.ones(9))
    assert "sqrt" in bl.Program("sqrt(x)").explain_html(x=np.ones(9))
    assert "sqrt" in np.sqrt(bl.input("x", "f64[n]")).explain_html()
    assert bl.jit(lambda x: 2).explain_html(np.ones(9)).startswith("<!DOCTYPE html>")
