"""Arrays of `broadloom.array_api` in einops: importing this module makes them known there. einops has to be installed.

    import broadloom.einops
    einops.rearrange(x, "a (b c) -> c a b", b=2)
"""

import numpy as np
from einops._backends import AbstractBackend  # type: ignore[import-not-found, unused-ignore]

from . import array_api


class Backend(AbstractBackend):
    """What einops asks for of the arrays of a library."""

    framework_name = "broadloom"

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, array_api.Array)

    def from_numpy(self, x):
        return array_api.asarray(x)

    def to_numpy(self, x):
        return np.asarray(x)

    def arange(self, start, stop):
        return array_api.arange(start, stop)

    def shape(self, x):
        return x.shape

    def reshape(self, x, shape):
        return array_api.reshape(x, shape)

    def transpose(self, x, axes):
        return array_api.permute_dims(x, axes)

    def reduce(self, x, operation, axes):
        return getattr(array_api, operation)(x, axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors):
        return array_api.stack(tensors)

    def add_axis(self, x, new_position):
        return array_api.expand_dims(x, axis=new_position)

    def tile(self, x, repeats):
        return array_api.tile(x, repeats)

    def concat(self, tensors, axis):
        return array_api.concat(tensors, axis=axis)

    def is_float_type(self, x):
        return array_api.isdtype(x.dtype, "real floating")

    def einsum(self, pattern, *x):
        return array_api.einsum(pattern, *x)
