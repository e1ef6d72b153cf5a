"""Random programs of loops and changes in place, against NumPy running the same source."""

import copy
import linecache

import broadloom as bl
import numpy as np
import pytest

SIZE = 9


class Program:
    """The source of a function of two arrays, a count and a number, whose loops have so many steps that they are not unrolled."""

    def __init__(self, seed, swaps):
        self.swaps = swaps
        self.pick = np.random.default_rng(seed)
        self.lines = []
        self.loops = 0

    def one(self, *items):
        return items[self.pick.integers(len(items))]

    def vector(self, counters):
        names = ["a", "b", "c", "v", "w"]
        name = self.one(*names)
        kind = self.pick.integers(5)
        if kind == 0:
            return f"({self.one(*names)} * {self.one('0.5', '0.25', '-0.5')} + {name} * 0.25)"
        if kind == 1:
            return f"({name} * 0.5 + {self.scalar(counters)})"
        if kind == 2:
            return f"np.sin({name})"
        if kind == 3:
            return f"{name}[::-1] * 0.5"
        return f"np.where({name} > s, {self.one(*names)}, {name} * 0.5)"

    def scalar(self, counters):
        choices = ["s", "a[0]", "b[-1]", "c.mean()", "0.5", "t", "np.sin(v).sum() * 0.1"]
        for counter in counters:
            choices += [f"{counter} * 0.01", f"a[{counter} % {SIZE}]", f"np.cos(b[0] + {counter})"]
        return self.one(*choices)

    def statement(self, depth, counters, indent):
        pad = "    " * indent
        kind = self.pick.integers(14)
        target = self.one("a", "b", "c")
        if kind == 12 and depth < 2:
            self.loop(depth, counters, indent)
            return
        self.lines += [pad + line for line in self.simple(kind, target, counters)]

    def simple(self, kind, target, counters):
        """The lines of a statement that is not a loop."""
        match kind:
            case 0:
                return [f"{target} = {self.vector(counters)}"]
            case 1:
                return [f"{target} {self.one('+=', '-=', '*=')} {self.scalar(counters)} * 0.1"]
            case 2:
                return [f"{target}[1:-1] = ({self.one('a', 'b', 'c')}[2:] + {target}[:-2]) * 0.5"]
            case 3:
                return [f"s = s * 0.5 + {self.scalar(counters)}"]
            case 4:
                return ["t += 0.01"]
            case 5:
                return ["v *= 0.9"]
            case 6:
                return [f"change({target})"]
            case 7:
                return [f"u = {self.vector(counters)}", f"{target} = u * 0.5"]
            case 8 if self.swaps:
                return ["a, b = b, a"]
            case 9:
                return [f"k += {self.one('1', '2')}"]
            case 10 if counters:
                counter = self.one(*counters)
                place = self.one(f"{counter} % {SIZE}", f"({counter} + 1) % {SIZE}")
                return [f"{target}[{place}] {self.one('=', '+=')} {self.scalar(counters)}"]
            case 11:
                return [f"w = {target}[:]" if self.pick.integers(2) else f"{target}.fill(s)"]
        return ["box.append(s)" if self.pick.integers(8) == 0 else f"np.copyto({target}, {self.vector(counters)})"]

    def loop(self, depth, counters, indent):
        pad = "    " * indent
        name = "ijkl"[len(counters)] + "_"
        begin = int(self.pick.integers(3))
        steps = int(self.one(3, 70, 80)) if not depth else int(self.one(2, 66))
        kind = self.pick.integers(5) if not depth else 0
        if kind == 4 and depth == 0:
            self.lines.append(f"{pad}for {name} in range(n):")
        elif kind == 3:
            self.lines.append(f"{pad}for {name} in range({begin + 2 * steps}, {begin}, -2):")
        else:
            self.lines.append(f"{pad}for {name} in range({begin}, {begin + steps}):")
        if self.pick.integers(6) == 0:
            self.lines.append(f"{pad}    if k == -1: continue")
        for _ in range(self.pick.integers(1, 4)):
            self.statement(depth + 1, [*counters, name], indent + 1)

    def source(self):
        for _ in range(self.pick.integers(1, 3)):
            self.statement(3, [], 1)
        self.loop(0, [], 1)
        for _ in range(self.pick.integers(0, 3)):
            self.statement(3, [], 1)
        if self.pick.integers(2):
            self.loop(0, [], 1)
        body = "\n".join(self.lines)
        return (
            "def program(a, b, n, s):\n    c, t, k, box = a * 0.5, 0.0, 0, []\n    v, w = a[2:5], b\n    v, w = a[:], b[::-1]\n"
            "    def change(x):\n        x[0] = x[1] * 0.5\n"
            f"{body}\n    return a, b, c, v, w, s * 1.0, t + 0.0, k, len(box)\n"
        )


def function_of(source, name):
    """The function of a source that can be found by its lines."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"np": np}
    exec(compile(source, name, "exec"), space)
    return space["program"]


def outcome(function, arguments):
    arguments = copy.deepcopy(arguments)
    results = function(*arguments)
    return [np.asarray(item, dtype=float) for item in (*results, *arguments[:2])]


REFUSED = (bl.TracingError, bl.ProgramError, bl.ShapeError, bl.DTypeError)


def run(seed, swaps=False):
    """Whether a program is compiled. What it computes is what NumPy computes."""
    source = Program(seed, swaps).source()
    function = function_of(source, f"<random {seed}>")
    pick = np.random.default_rng(seed)
    arguments = [pick.random(SIZE), pick.random(SIZE), np.int64(pick.integers(0, 75)), 0.25]
    with np.errstate(all="ignore"):
        wanted = outcome(function, arguments)
    compiled = bl.jit(function)
    try:
        found = outcome(compiled, arguments)
    except REFUSED:
        return False
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=source)
    return True


@pytest.mark.parametrize("part", range(10))
def test_random_programs(part):
    compiled = sum(run(seed) for seed in range(part * 30, part * 30 + 30))
    assert compiled > 15


def test_random_programs_that_swap():
    compiled = sum(run(seed, swaps=True) for seed in range(1000, 1200))
    assert compiled > 100
