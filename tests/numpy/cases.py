"""The file of cases: expressions, their inputs, and what NumPy makes of them.

`cases.txt` has one line per case, with tabs between its fields:

    kind    expression    inputs                       result
    unary   add(a, 1)     a:u8:4:0;b:f32:2,3:128       exact:u8:4:256

An array is `name:dtype:sizes:offset`, where its bytes lie in `values.bin` (little-endian, row-major). A result is

    exact:dtype:sizes:offset             bit for bit, where all NaNs count as one
    steps=N:dtype:sizes:offset           as many steps from float to float away, of the same sign
    within@D:dtype:sizes:offset          values and, at offset D, distances from them, all f64
    refused                              a mistake in the expression
    fails                                a mistake in the data
"""

import hashlib
from collections import Counter

import numpy as np

import meaning
from best import BEST
from contractions import CONTRACTIONS
from meaning import DTYPE_NAMES, ELEMENTWISE, Approximate, Fails, Refused, Unsaid
from reductions import REDUCTIONS, STATISTICS
from shapes import VIEWS


def giving_arrays(function):
    """NumPy gives some results of rank 0 as scalars, which here would be taken for literals."""

    def wrapped(*arguments, **named):
        result = function(*arguments, **named)
        return np.asarray(result) if isinstance(result, np.generic) else result

    return wrapped


NAMES = {
    name: giving_arrays(value) if callable(value) and not isinstance(value, np.dtype) else value
    for name, value in {**ELEMENTWISE, **REDUCTIONS, **STATISTICS, **VIEWS, **CONTRACTIONS, **BEST}.items()
}
"""What an expression may name beside its inputs."""


class Cases:
    """Writes cases as they are made."""

    def __init__(self, directory, ops):
        self.ops = ops
        self.text = open(directory / "cases.txt", "w", encoding="utf-8", newline="\n")
        self.bytes = open(directory / "values.bin", "wb")
        self.offsets = {}
        self.size = 0
        self.counts = Counter()

    def close(self):
        self.text.close()
        self.bytes.close()

    def add(self, kind, expression, **inputs):
        """A case; gives its result."""
        inputs = {name: np.asarray(array) for name, array in inputs.items()}
        result = evaluate(expression, inputs)
        self.write(kind, expression, inputs, result)
        return result

    def write(self, kind, expression, inputs, result):
        assert not isinstance(result, Unsaid), expression
        self.counts[kind] += 1
        arrays = ";".join(f"{name}:{self.array(array)}" for name, array in inputs.items())
        self.text.write(f"{kind}\t{expression}\t{arrays}\t{self.result(result)}\n")

    def result(self, result):
        if isinstance(result, Refused):
            return "refused"
        if isinstance(result, Fails):
            return "fails"
        if not isinstance(result, Approximate):
            return f"exact:{self.array(result)}"
        sizes = ",".join(map(str, result.values.shape))
        place = f"{DTYPE_NAMES[result.dtype]}:{sizes}:{self.offset(result.values)}"
        if result.steps is not None:
            return f"steps={result.steps}:{place}"
        return f"within@{self.offset(result.distance)}:{place}"

    def array(self, array):
        sizes = ",".join(map(str, array.shape))
        return f"{DTYPE_NAMES[array.dtype]}:{sizes}:{self.offset(array)}"

    def offset(self, array):
        """Where the bytes of an array lie; equal bytes are written once."""
        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        key = hashlib.blake2b(data, digest_size=16).digest()
        if key not in self.offsets:
            self.offsets[key] = self.size
            self.bytes.write(data)
            self.size += len(data)
        return self.offsets[key]


def evaluate(expression, inputs):
    """What an expression gives: an array, an `Approximate`, or the exception."""
    meaning.products.clear()
    try:
        with np.errstate(all="ignore"):
            result = eval(compiled(expression), {"__builtins__": {}}, {**NAMES, **inputs})
    except (Refused, Fails, Unsaid) as mistake:
        return mistake
    return result if isinstance(result, Approximate) else np.asarray(result)


codes = {}


def compiled(expression):
    if expression not in codes:
        codes[expression] = compile(expression, expression, "eval")
    return codes[expression]
