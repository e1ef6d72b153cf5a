"""Names that have no value."""

from ._errors import TracingError


class Undefined:
    """What a name stands for after a loop that defines it in its steps alone, which may be none."""

    def __init__(self, name):
        self._refused_result = (
            f"`{name}` is defined only in the steps of the loop: give it a value before the loop, of the shape that it has at the end"
        )

    def _refuse(self, *args, **kwargs):
        raise TracingError(self._refused_result)


for _method in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or ror xor rxor neg pos "
    "abs invert eq ne lt le gt ge bool int float index len iter getitem setitem call contains array array_ufunc array_function format "
    "getattr str"
).split():
    setattr(Undefined, f"__{_method}__", Undefined._refuse)
