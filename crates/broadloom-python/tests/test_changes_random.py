"""Random programs of views and writes: NumPy and the compiled function compute the same, bit for bit.

`BROADLOOM_PROGRAMS` is the number of programs, and `BROADLOOM_SEED` that of the first.
"""

import os
import random

import broadloom as bl
import numpy as np

PROGRAMS = int(os.environ.get("BROADLOOM_PROGRAMS", "2000"))
SEED = int(os.environ.get("BROADLOOM_SEED", "0"))


class Writer:
    """Writes a function line by line, and runs each line by NumPy, so that only lines with a meaning are kept."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        shape = (self.random.randint(1, 6), self.random.randint(1, 6))
        self.arguments = {name: self.argument(shape) for name in "xyz"[: self.random.randint(1, 3)]}
        if self.random.random() < 0.4:
            shape = self.random.choice([(4,), (3,), (2, 1), (1, 3), ()])
            self.arguments |= {name: np.array(self.positions(shape)).reshape(shape) for name in "pq"}
        self.values = {name: array.copy(order="K") for name, array in self.arguments.items()}
        self.lines = []
        self.made = 0

    def argument(self, shape):
        dtype = self.random.choice(["f8", "f8", "i8", "f4", "i2"])
        if self.random.random() < 0.3:
            shape = shape[::-1]
        array = np.array([[self.random.randint(-9, 9) for _ in range(shape[1])] for _ in range(shape[0])], dtype)
        return self.random.choice([array, array.T, np.asfortranarray(array), np.repeat(array, 2, 0)[::2]])

    def positions(self, shape):
        return [self.random.randint(-3, 3) for _ in range(int(np.prod(shape)))]

    def name(self):
        return self.random.choice([name for name in self.values if name not in "pq"])

    def at_positions(self, name):
        """A change at positions: those of an argument or known ones, for one axis or two, or beside a range."""
        first, second = (
            self.random.choice(
                [f"{letter} % {name}.shape[{axis}]", letter, str(self.positions((3,)))][2 * (letter not in self.values) :]
            )
            for letter, axis in zip("pq", (0, -1))
        )
        index = self.random.choice([first, f"({first}, {second})", f"(slice(None, None, -1), {second})", f"({first}, 0)"])
        value = self.random.choice([str(self.random.randint(-5, 5)), self.operand()])
        ufunc = self.random.choice(["add", "subtract", "maximum", "minimum"])
        # `at` of another kind is refused, where NumPy cuts off the fractions of each sum.
        dtype = self.values[name].dtype
        alike = [other for other, array in self.values.items() if getattr(array, "dtype", None) == dtype]
        other = self.random.choice([str(self.random.randint(-5, 5)), self.random.choice(alike)])
        return self.random.choice(
            [f"np.{ufunc}.at({name}, {index}, {other})", f"{name}[{index}] = {value}", f"{name}[{index}] += {value}"]
        )

    def region(self, value):
        items = []
        for size in value.shape:
            kind = self.random.random()
            if kind < 0.25 and size:
                items.append(str(self.random.randint(-size, size - 1)))
            elif kind < 0.45:
                items.append(":")
            else:
                ends = [self.random.choice(["", str(self.random.randint(-size - 1, size + 1))]) for _ in range(2)]
                step = self.random.choice(["", "", "", ":-1", ":2", ":-2"])
                items.append(ends[0] + ":" + ends[1] + step)
        while items and self.random.random() < 0.2:
            items.pop()
        if self.random.random() < 0.15:
            items.insert(self.random.randint(0, len(items)), "None")
        if self.random.random() < 0.1 or not items:
            items.append("...")
        return ", ".join(items)

    def operand(self):
        kind = self.random.random()
        if kind < 0.3:
            return str(self.random.randint(-5, 5))
        name = self.name()
        if kind < 0.6 or not isinstance(self.values[name], np.ndarray):
            return name
        return f"{name}[{self.region(self.values[name])}]"

    def expression(self):
        left, right = self.operand(), self.operand()
        return self.random.choice(
            [f"{left} + {right}", f"{left} - {right}", f"np.maximum({left}, {right})", f"np.minimum({left}, {right})", left]
        )

    def line(self):
        name, kind = self.name(), self.random.random()
        value = self.values[name]
        is_array = isinstance(value, np.ndarray)
        fresh = f"v{self.made}"
        if kind < 0.2 and is_array:
            arranged = self.random.choice(
                [f"{name}.T", f"np.flip({name})", f"{name}.swapaxes(0, -1)", f"{name}.squeeze()", f"{name}[None]"]
            )
            return f"{fresh} = {self.random.choice([f'{name}[{self.region(value)}]', arranged])}"
        if kind < 0.27:
            return f"{fresh} = {self.random.choice([f'{name}.copy()', name, f'{name}.sum()', f'{name} + 0'])}"
        if kind < 0.33:
            return f"{fresh} = np.zeros({name}.shape, dtype={name}.dtype)"
        if kind > 0.93 and is_array:
            return self.at_positions(name)
        if kind < 0.55:
            return f"{name} {self.random.choice(['+=', '-='])} {self.operand()}"
        if not is_array:
            return f"{fresh} = {self.expression()}"
        if kind < 0.65:
            mask = f"{name} {self.random.choice(['>', '<', '=='])} {self.random.randint(-4, 4)}"
            return self.random.choice(
                [f"{name}[{mask}] = {self.random.randint(-9, 9)}", f"{name}[{mask}] += 2", f"{name}[{mask}] = -{name}[{mask}]"]
            )
        if kind < 0.7:
            return f"{name}.sort()"
        if kind < 0.75:
            return f"np.copyto({name}, {self.operand()})"
        if kind < 0.8:
            return f"np.add({name}, {self.operand()}, out={name})"
        operator = self.random.choice(["=", "=", "+=", "-="])
        return f"{name}[{self.region(value)}] {operator} {self.expression()}"

    def write(self, count):
        while len(self.lines) < count:
            line = self.line()
            before = {name: value for name, value in self.values.items()}
            try:
                compile(line, "", "exec")
                with np.errstate(all="raise"):
                    exec(line, {"np": np}, self.values)
            except (ArithmeticError, AttributeError, LookupError, SyntaxError, SystemError, TypeError, ValueError):
                self.values = before
                continue
            too_large = any(np.size(value) and np.abs(value).max() > 30000 for value in self.values.values())
            if too_large:
                break
            self.made += f"v{self.made}" in self.values
            self.lines.append(line)
        return self.text()

    def text(self):
        body = "".join(f"    {line}\n" for line in self.lines)
        results = [name for name in self.values if name[0] == "v"]
        return f"def f({', '.join(self.arguments)}):\n{body}    return [{', '.join(results)}]\n"


def run(seed):
    writer = Writer(seed)
    text = writer.write(writer.random.randint(1, 8))
    space = {"np": np}
    exec(compile(text, f"<program {seed}>", "exec"), space)
    f = space["f"]
    theirs = {name: array.copy(order="K") for name, array in writer.arguments.items()}
    ours = {name: array.copy(order="K") for name, array in writer.arguments.items()}
    try:
        wanted = f(**theirs)
        got = bl.jit(f)(**ours)
        for one, other in [*zip(got, wanted), *zip(ours.values(), theirs.values())]:
            assert np.asarray(one).dtype == np.asarray(other).dtype and np.shape(one) == np.shape(other), (one, other)
            np.testing.assert_array_equal(one, other)
    except Exception as error:
        shown = "\n".join(f"{name} = {array!r}" for name, array in writer.arguments.items())
        raise AssertionError(f"seed {seed}\n{shown}\n{text}") from error


def test_random_programs():
    for seed in range(SEED, SEED + PROGRAMS):
        run(seed)
