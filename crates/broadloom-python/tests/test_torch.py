"""Compiled functions in PyTorch."""

import broadloom as bl
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: broadloom.torch is not tested")


def made(function):
    import broadloom.torch

    return broadloom.torch.function(function)


def smooth(x, y):
    return np.exp(-((x[:, None] - y) ** 2)).sum(axis=1)


def smooth_in_torch(x, y):
    return torch.exp(-((x[:, None] - y) ** 2)).sum(dim=1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_derivatives(dtype):
    kind = getattr(torch, dtype)
    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(size, generator=generator, dtype=torch.float64).to(kind) for size in (40, 30))
    x.requires_grad_()
    y.requires_grad_()
    value = made(smooth)(x, y)
    (value * torch.arange(40, dtype=kind) / 40).sum().backward()
    assert value.dtype == x.grad.dtype == kind
    wide = [item.detach().double().requires_grad_() for item in (x, y)]
    want = smooth_in_torch(*wide)
    (want * torch.arange(40) / 40).sum().backward()
    tolerance = 100 * torch.finfo(kind).eps
    for have, expected in ((value, want), (x.grad, wide[0].grad), (y.grad, wide[1].grad)):
        torch.testing.assert_close(have.detach().double(), expected.detach(), rtol=tolerance, atol=tolerance * 5)


def test_gradcheck():
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    y = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(made(smooth), (x, y))
    assert torch.autograd.gradcheck(made(smooth), (x.detach(), y))
    assert torch.autograd.gradgradcheck(made(smooth), (x, y))


def test_penalty_on_the_slope():
    """A loss of a derivative, which autograd derives again."""
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(made(lambda x: (x**3).sum())(x), x, create_graph=True)
    (slope.square().sum() + x.sum()).backward()
    torch.testing.assert_close(x.grad, 36 * x.detach() ** 3 + 1)


def test_structures_and_integers():
    def function(parameters, index, scale):
        rows = parameters["w"][index] * scale
        return {"loss": (rows**2).sum() + parameters["b"], "largest": rows.argmax(), "rows": rows, "scale": 3}

    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.tensor(0.5, requires_grad=True)
    found = made(function)({"w": w, "b": b}, torch.tensor([0, 2, 2]), 2.0)
    assert found["scale"] == 3 and found["largest"].item() == 1 and not found["largest"].requires_grad
    (found["loss"] + found["rows"].sum()).backward()
    torch.testing.assert_close(w.grad, torch.tensor([10.0, 0.0, 52.0]))
    assert b.grad.item() == 1


def test_memory_is_shared():
    """The function reads the memory of the tensor, also of a part of one."""
    import broadloom.torch

    x = torch.arange(12.0).reshape(3, 4)
    for part in (x, x.T, x[:, 1:3], x[0]):
        assert np.shares_memory(broadloom.torch._array(part), x.numpy())
    torch.testing.assert_close(made(lambda x: x * 2)(x.T), x.T * 2)


def test_arguments_stay():
    def function(x):
        x *= 2
        return (x**2).sum()

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    made(function)(x).backward()
    torch.testing.assert_close(x.grad, torch.tensor([8.0, 16.0]))
    torch.testing.assert_close(x.detach(), torch.tensor([1.0, 2.0]))


def test_training():
    x = torch.linspace(-1, 1, 50, dtype=torch.float64)
    parameters = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    loss = made(lambda p, x: ((p[0] + p[1] * x + p[2] * x**2 - np.exp(x)) ** 2).mean())
    optimizer = torch.optim.LBFGS([parameters], max_iter=50, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        value = loss(parameters, x)
        value.backward()
        return value

    optimizer.step(closure)
    want = np.polyfit(x.numpy(), np.exp(x.numpy()), 2)[::-1]
    np.testing.assert_allclose(parameters.detach().numpy(), want, atol=1e-5)


def test_mistakes():
    x = torch.ones(3)
    with pytest.raises(TypeError, match="takes a function"):
        made(3)
    with pytest.raises(bl.ArgumentError, match="pass `x.cpu\\(\\)`"):
        made(lambda x: x)(torch.ones(3, device="meta"))
    with pytest.raises(bl.ShapeError, match="test_torch.py"):
        made(lambda x: x + np.ones(7))(x)
