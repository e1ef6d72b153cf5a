"""Compiled functions in PyTorch: what they compute of tensors in main memory, autograd derives. PyTorch has to be installed."""

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
    """Return a function of tensors that runs a function of arrays as a kernel, and whose derivatives autograd asks for.

    Tensors and arrays share their memory. Arguments and results may be tuples, lists, dicts, named tuples and dataclasses of
    tensors; numbers among the arguments are constants. What the function changes in place is a copy. Derivatives of
    derivatives are those of `bl.grad`: autograd derives once.

        energy = broadloom.torch.function(lambda x: np.exp(-((x[:, None] - x) ** 2)).sum())
        energy(x).backward()
    """
    _check_callable("function", function)
    value_of = derived(Evaluation, function, ())

    def run(*arguments):
        held = leaves(arguments, "arguments")
        tensors = [item for _, item in held if isinstance(item, torch.Tensor)]
        call = _Call(function, value_of, arguments)
        results = iter(_Compiled.apply(call, *tensors))
        return mapped(lambda leaf, path: next(results) if _is_array(leaf) else leaf, call.value)

    run.__doc__, run.__name__ = function.__doc__, getattr(function, "__name__", "function")
    return run


class _Call:
    """One call: its arguments, and the structure of its value."""

    def __init__(self, function, value_of, arguments):
        self.function, self.value_of, self.arguments = function, value_of, arguments
        self.value = None

    def arrays(self, tensors):
        """The arguments with arrays in the place of tensors."""
        tensors = iter(tensors)
        return mapped(lambda leaf, path: _array(next(tensors), path) if isinstance(leaf, torch.Tensor) else leaf, self.arguments, "x")

    def positions(self, needed):
        """The arguments of which some tensor needs its derivative."""
        needed = iter(needed)
        return tuple(
            position
            for position, argument in enumerate(self.arguments)
            if any([next(needed) for _, item in leaves(argument) if isinstance(item, torch.Tensor)])
        )


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        ctx.call = call
        ctx.save_for_backward(*tensors)
        call.value = call.value_of(*call.arrays(tensors))
        results = [_tensor(item) for _, item in leaves(call.value) if _is_array(item)]
        ctx.mark_non_differentiable(*[result for result in results if not result.is_floating_point()])
        return tuple(results)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *weights):
        call, tensors = ctx.call, ctx.saved_tensors
        positions = call.positions(ctx.needs_input_grad[1:])
        given = iter(weights)

        def weight(leaf, path):
            if not _is_array(leaf):
                return leaf
            tensor = next(given)
            return _array(tensor, path) if tensor is not None and tensor.is_floating_point() else None

        cotangent = mapped(weight, call.value)
        slopes = derived(Pullback, call.function, (positions,))(call.arrays(tensors), cotangent)
        found = dict(zip(positions, slopes, strict=True))
        result = []
        for position, argument in enumerate(call.arguments):
            places = [item for _, item in leaves(argument)]
            of_argument = [item for _, item in leaves(found[position])] if position in found else [None] * len(places)
            result += [
                None if slope is None else _tensor(slope)
                for item, slope in zip(places, of_argument, strict=True)
                if isinstance(item, torch.Tensor)
            ]
        return None, *result


def _is_array(item):
    return isinstance(item, (np.ndarray, np.generic))


def _array(tensor, path):
    """The memory of a tensor as an array."""
    if tensor.device.type != "cpu":
        raise ArgumentError(f"`{path}` is on the device {tensor.device}, and kernels read main memory: pass `{path}.cpu()`")
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
