"""Functions that the standard does not have, and that libraries written for it look for under NumPy's names."""

from types import SimpleNamespace

import numpy as np

from ._numpy import computed

__all__ = [
    "cumprod", "cumsum", "einsum", "gradient", "lib", "median", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax",
    "nanmean", "nanmedian", "nanmin", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "pad", "quantile", "transpose",
]


def _like(name, space=np):
    function = getattr(space, name)

    def apply_it(*args, **kwargs):
        return computed(function, args, kwargs)

    apply_it.__name__ = apply_it.__qualname__ = name
    apply_it.__doc__ = f"NumPy's `{name}`."
    return apply_it


cumprod, cumsum, einsum, gradient, median = map(_like, ("cumprod", "cumsum", "einsum", "gradient", "median"))
nanargmax, nanargmin, nancumprod, nancumsum = map(_like, ("nanargmax", "nanargmin", "nancumprod", "nancumsum"))
nanmax, nanmean, nanmedian, nanmin, nanprod = map(_like, ("nanmax", "nanmean", "nanmedian", "nanmin", "nanprod"))
nanquantile, nanstd, nansum, nanvar = map(_like, ("nanquantile", "nanstd", "nansum", "nanvar"))
pad, quantile, transpose = map(_like, ("pad", "quantile", "transpose"))

# xarray looks for windows there.
lib = SimpleNamespace(
    stride_tricks=SimpleNamespace(sliding_window_view=_like("sliding_window_view", np.lib.stride_tricks))
)
