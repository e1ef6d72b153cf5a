"""Compiled functions in PyTorch: autograd derives what they compute of tensors in main memory. PyTorch has to be installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]

from ._derived import Evaluation, Pullback, derived
from ._errors import ArgumentError
from ._grad import _check_callable
from ._structure import leaves, mapped


def function(function: Callable[..., Any], /) -> Callable[..., Any]:
    """Return a function of tensors that runs a function of arrays as a kernel, and that autograd derives, also twice.

    Tensors and arrays share their memory. Arguments and results may be tuples, lists, dicts, named tuples and dataclasses of
    tensors; numbers among the arguments are constants. What the function changes in place is a copy.

        energy = broadloom.torch.function(lambda x: np.exp(-((x[:, None] - x) ** 2)).sum())
        energy(x).backward()
    """
    _check_callable("function", function)
    value_of = derived(Evaluation, function, ())

    def run(*arguments):
        return _run(function, value_of, arguments)

    run.__doc__, run.__name__ = function.__doc__, getattr(function, "__name__", "function")
    return run


# What stands for a tensor in a structure.
_TENSOR = object()


def _run(function, value_of, arguments):
    tensors = [item for _, item in leaves(arguments) if isinstance(item, torch.Tensor)]
    call = _Call(function, value_of, mapped(lambda leaf, path: _TENSOR if isinstance(leaf, torch.Tensor) else leaf, arguments))
    if not tensors:
        return value_of(*arguments)
    results = _Compiled.apply(call, *tensors)
    return _filled(call.value, results)


class _Call:
    """One call: the structures of its arguments and of its value."""

    def __init__(self, function, value_of, arguments):
        self.function, self.value_of, self.arguments = function, value_of, arguments
        self.value = None


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        ctx.call = call
        ctx.save_for_backward(*tensors)
        value = call.value_of(*_filled(call.arguments, [_array(tensor) for tensor in tensors]))
        call.value = mapped(lambda leaf, path: _TENSOR if _is_array(leaf) else leaf, value)
        results = [_tensor(item) for _, item in leaves(value) if _is_array(item)]
        ctx.mark_non_differentiable(*[result for result in results if not result.is_floating_point()])
        return tuple(results)

    @staticmethod
    def backward(ctx, *weights):
        call, needed = ctx.call, iter(ctx.needs_input_grad[1:])
        held = [[item is _TENSOR and next(needed) for _, item in leaves(argument)] for argument in call.arguments]
        positions = tuple(position for position, needs in enumerate(held) if any(needs))
        weights = iter([weight if weight.is_floating_point() else None for weight in weights])
        cotangent = mapped(lambda leaf, path: next(weights) if leaf is _TENSOR else None, call.value)
        # It is a function of tensors as well, and derives again.
        pullback = derived(Pullback, call.function, (positions,))
        slopes = dict(
            zip(positions, _run(pullback, pullback, (_filled(call.arguments, ctx.saved_tensors), cotangent)), strict=True)
        )
        result = []
        for position, argument in enumerate(call.arguments):
            places = [item for _, item in leaves(argument)]
            found = [item for _, item in leaves(slopes[position])] if position in slopes else [None] * len(places)
            result += [slope for place, slope in zip(places, found, strict=True) if place is _TENSOR]
        return None, *result


def _filled(structure, values):
    values = iter(values)
    return mapped(lambda leaf, path: next(values) if leaf is _TENSOR else leaf, structure)


def _is_array(item):
    return isinstance(item, (np.ndarray, np.generic))


def _array(tensor):
    """The memory of a tensor as an array."""
    if tensor.device.type != "cpu":
        raise ArgumentError(f"a tensor is on the device {tensor.device}, and kernels read main memory: pass `x.cpu()`")
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        # NumPy has no such dtype: this package has it where this is installed.
        import ml_dtypes

        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def _tensor(array):
    """The memory of an array as a tensor."""
    array = np.asarray(array)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
