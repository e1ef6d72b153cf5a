"""Random expressions over mixed dtypes and shapes. The same in every run."""

import numpy as np

from cases import evaluate
from elementwise import corners
from meaning import DTYPES, Approximate, Fails, Refused, Unsaid
from reduced import values, whole

COUNT = 6000
STEPS = 7
"""Ops of an expression, at most."""
MOST_ELEMENTS = 4000

SHAPES = [(), (4,), (3, 4), (3, 1), (1, 4), (2, 3, 4), (2, 1, 1), (1,), (0, 4), (65,), (2, 65)]
EXACT_LITERALS = ["0", "1", "-1", "2", "3", "100", "0.5", "-0.0", "2.0", "1.5", "True", "inf"]


class Composer:
    """Makes one expression by applying ops to what is there."""

    def __init__(self, random, ops):
        self.random = random
        self.ops = ops
        self.inputs = {}
        self.parts = []

    def choose(self, choices):
        return choices[self.random.integers(len(choices))]

    def new_input(self, shape=None, dtypes=None):
        dtype = self.choose(dtypes or list(DTYPES.values()))
        shape = self.choose(SHAPES) if shape is None else shape
        make = self.choose([values, whole, "corners"])
        array = self.random.choice(corners(dtype), shape) if make == "corners" else make(dtype, shape, self.random)
        name = f"x{len(self.inputs)}"
        self.inputs[name] = np.asarray(array, dtype)
        self.parts.append((name, self.inputs[name]))

    def part(self):
        """A part of the expression, rather a late one."""
        late = self.parts[-3:]
        return self.choose(late if self.random.random() < 0.8 else self.parts)

    def step(self):
        """The text of a further op on what is there."""
        text, value = self.part()
        rank = value.ndim
        kind = self.random.integers(20)
        if kind < 4:
            return f"{self.choose([op for op in self.ops if self.ops[op] == 1])}({text})"
        if kind < 10:
            name = self.choose([op for op in self.ops if self.ops[op] == 2])
            other = self.part()[0] if self.random.random() < 0.7 else self.choose(EXACT_LITERALS)
            return f"{name}({text}, {other})" if self.random.random() < 0.5 else f"{name}({other}, {text})"
        if kind == 10:
            low, high = self.part()[0], self.part()[0]
            return self.choose(
                [
                    f"clip({text}, {low}, {high})",
                    f"fma({text}, {low}, {high})",
                    f"select(cast({text}, bool), {low}, {high})",
                ]
            )
        if kind < 13:
            return f"cast({text}, {self.choose(list(DTYPES))})"
        axes = [int(axis) for axis in range(-rank, rank) if self.random.random() < 0.3]
        if kind < 16:
            name = self.choose(["sum", "prod", "min", "max", "mean", "argmin", "argmax", "any", "all", "count_nonzero"])
            keepdims = self.random.random() < 0.4
            axes = sorted({axis % rank for axis in axes}) if rank else []
            return f"{name}({text}, axes={axes or None}, keepdims={keepdims})"
        if kind == 16:
            return f"permute({text}, {[int(axis) for axis in self.random.permutation(rank)]})"
        if kind == 17 and rank:
            axis = int(self.random.integers(rank))
            parts = ["whole"] * axis + [
                self.choose(["span(1, None, 1)", "span(None, None, -1)", "span(None, -1, 2)", "at(0)", "new"])
            ]
            return f"slice({text}, {', '.join(parts)})"
        if kind == 18 and rank:
            other = self.part()[0]
            return self.choose(
                [f"concat([{text}, {other}], {rank - 1})", f"stack([{text}, {other}], 0)", f"reshape({text}, [-1])"]
            )
        return f"expand_dims({text}, [{int(self.random.integers(rank + 1))}])"

    def fits(self, text, value):
        """Whether a result is small enough for a case."""
        return value.size <= MOST_ELEMENTS and value.ndim <= 5

    def compose(self, cases):
        """Writes one case."""
        for _ in range(self.random.integers(1, 4)):
            self.new_input()
        done = 0
        for _ in range(4 * STEPS):
            text = self.step()
            result = evaluate(text, self.inputs)
            if isinstance(result, Unsaid):
                continue
            if isinstance(result, (Refused, Fails, Approximate)):
                is_last = self.random.random() < (0.3 if isinstance(result, Approximate) else 0.02)
                if is_last:
                    cases.write("composition", text, self.used(text), result)
                    return
                continue
            if not self.fits(text, result):
                continue
            self.parts.append((text, result))
            done += 1
            if done == STEPS:
                break
        text, result = self.parts[-1]
        cases.write("composition", text, self.used(text), result)

    def used(self, text):
        return {name: array for name, array in self.inputs.items() if name in text}


def write(cases):
    for seed in range(COUNT):
        Composer(np.random.default_rng([6, seed]), cases.ops).compose(cases)
