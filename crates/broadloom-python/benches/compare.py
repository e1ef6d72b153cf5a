"""Measure Broadloom beside NumPy, numexpr, numba and JAX, where they are installed.

    pip install -r benches/requirements.txt
    python benches/compare.py [--write] [NAME ..]

The same results are computed by all, on arrays of f32, with the number of threads that each chooses, and compared with
NumPy's. The libraries take turns, and a figure is the median over the rounds. ``--write`` puts the tables into
docs/python.md.
"""

import argparse
import ctypes
import datetime
import gc
import importlib.util
import os
import platform
import re
import statistics
import time
from pathlib import Path

import numpy as np

import broadloom as bl

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
SIZES = {"16": 16, "32 Ki": 1 << 15, "4 Mi": 1 << 22}
CODES = 16
LIBRARIES = ["NumPy", "Broadloom", "numexpr", "numba", "JAX"]


# The programs, as they are written for NumPy.


def saxpy(x, y):
    return 2.5 * x + y


def chain(x, y):
    return np.maximum((x - y) * (x + y) * 0.5 - x, 0) + y * y


def functions(x, y):
    return np.exp(-x) + np.sin(y) * np.log1p(x)


def normal_cdf(x, np=np):
    k = 1 / (1 + 0.2316419 * np.abs(x))
    series = 0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    tail = np.exp(-0.5 * x * x) * 0.3989422804 * k * series
    return np.where(x > 0, 1 - tail, tail)


def black_scholes(price, strike, np=np, cdf=None):
    cdf = cdf or (lambda x: normal_cdf(x, np))
    d1 = (np.log(price / strike) + 0.05) / 0.2
    return price * cdf(d1) - strike * 0.97 * cdf(d1 - 0.2)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def nearest(observations, codes):
    differences = observations[:, None, :] - codes[None, :, :]
    return (differences**2).sum(axis=-1).argmin(axis=1)


def uniform(seed, shape, low=0.5, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def pairs(size):
    return uniform(1, size), uniform(2, size)


PROGRAMS = {
    "saxpy": (saxpy, pairs),
    "cheap chain": (chain, pairs),
    "exp, sin, log1p": (functions, pairs),
    "Black-Scholes": (black_scholes, pairs),
    "softmax of 16": (softmax, lambda size: (uniform(1, (size // 16, 16)),)),
    "nearest of 16 codes": (nearest, lambda size: (uniform(1, (size // 3, 3)), uniform(2, (CODES, 3)))),
}


# The same programs for the others.


def with_numpy():
    return {name: function for name, (function, _) in PROGRAMS.items()}


def with_broadloom():
    programs = {name: bl.jit(function) for name, (function, _) in PROGRAMS.items()}
    # Without the parameters that stand for other libraries.
    programs["Black-Scholes"] = bl.jit(lambda price, strike: black_scholes(price, strike))
    bl.jit(lambda x: x + 1)(np.ones(3))
    return programs


def with_numexpr():
    import numexpr

    def cdf(x):
        k = f"(f1 / (f1 + c0 * abs({x})))"
        tail = f"exp(h * {x} * {x}) * c6 * {k} * (c1 + {k} * (c2 + {k} * (c3 + {k} * (c4 + {k} * c5))))"
        return f"where({x} > 0, f1 - {tail}, {tail})"

    d1 = "((log(x / y) + a) / b)"
    texts = {
        "saxpy": "p * x + y",
        "cheap chain": "where((x - y) * (x + y) * q - x > 0, (x - y) * (x + y) * q - x, 0) + y * y",
        "exp, sin, log1p": "exp(-x) + sin(y) * log1p(x)",
        "Black-Scholes": f"x * {cdf(d1)} - y * w * {cdf(f'({d1} - b)')}",
    }
    numbers = {"p": 2.5, "q": 0.5, "f1": 1, "h": -0.5, "a": 0.05, "b": 0.2, "w": 0.97, "c0": 0.2316419, "c1": 0.319381530}
    numbers |= {"c2": -0.356563782, "c3": 1.781477937, "c4": -1.821255978, "c5": 1.330274429, "c6": 0.3989422804}
    numbers = {name: np.float32(value) for name, value in numbers.items()}
    numexpr.evaluate("x + 1", {"x": np.ones(3)})

    def program(text):
        return lambda x, y: numexpr.evaluate(text, numbers | {"x": x, "y": y})

    return {name: program(text) for name, text in texts.items()}


def with_numba():
    import numba

    compiled = numba.njit(parallel=True)
    one, half = np.float32(1), np.float32(0.5)

    @numba.njit
    def cdf(x):
        k = one / (one + np.float32(0.2316419) * abs(x))
        series = np.float32(-1.821255978) + k * np.float32(1.330274429)
        series = np.float32(-0.356563782) + k * (np.float32(1.781477937) + k * series)
        tail = np.exp(-half * x * x) * np.float32(0.3989422804) * k * (np.float32(0.319381530) + k * series)
        return one - tail if x > 0 else tail

    @compiled
    def saxpy(x, y):
        return np.float32(2.5) * x + y

    @compiled
    def chain(x, y):
        return np.maximum((x - y) * (x + y) * half - x, np.float32(0)) + y * y

    @compiled
    def functions(x, y):
        return np.exp(-x) + np.sin(y) * np.log1p(x)

    @compiled
    def black_scholes(price, strike):
        result = np.empty_like(price)
        for i in numba.prange(price.size):
            d1 = (np.log(price[i] / strike[i]) + np.float32(0.05)) / np.float32(0.2)
            result[i] = price[i] * cdf(d1) - strike[i] * np.float32(0.97) * cdf(d1 - np.float32(0.2))
        return result

    @compiled
    def softmax(x):
        result = np.empty_like(x)
        for i in numba.prange(x.shape[0]):
            e = np.exp(x[i] - x[i].max())
            result[i] = e / e.sum()
        return result

    @compiled
    def nearest(observations, codes):
        result = np.empty(observations.shape[0], np.int64)
        for i in numba.prange(observations.shape[0]):
            least = np.float32(np.inf)
            for k in range(codes.shape[0]):
                total = np.float32(0)
                for j in range(observations.shape[1]):
                    total += (observations[i, j] - codes[k, j]) ** 2
                if total < least:
                    least, result[i] = total, k
        return result

    numba.njit(parallel=True)(lambda x: x + 1)(np.ones(3))
    return dict(zip(PROGRAMS, [saxpy, chain, functions, black_scholes, softmax, nearest]))


def with_jax():
    import jax
    import jax.numpy as jnp

    def program(function):
        # The same text, with JAX's functions.
        names = function.__globals__ | {"np": jnp}
        own = type(function)(function.__code__, names, function.__name__, function.__defaults__)
        if function is black_scholes:
            own = lambda price, strike: black_scholes(price, strike, jnp)
        compiled = jax.jit(own)
        return lambda *arrays: np.asarray(compiled(*arrays).block_until_ready())

    program(saxpy)(np.ones(3, np.float32), np.ones(3, np.float32))
    return {name: program(function) for name, (function, _) in PROGRAMS.items()}


def libraries():
    ways = zip(LIBRARIES, [with_numpy, with_broadloom, with_numexpr, with_numba, with_jax])
    return {name: way() for name, way in ways if importlib.util.find_spec(name.lower())}


# Measuring.


def once(function, arrays):
    start = time.perf_counter()
    result = function(*arrays)
    return time.perf_counter() - start, result


def later(functions, arrays, seconds):
    """The median time of a call, for each library; they take turns."""
    times = {name: [] for name in functions}
    counts = {name: max(1, int(0.002 / max(once(function, arrays)[0], 1e-7))) for name, function in functions.items()}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["NumPy"]) < 3:
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                function(*arrays)
            times[name].append((time.perf_counter() - start) / counts[name])
    return {name: statistics.median(found) for name, found in times.items()}


def status(field):
    return int(re.search(rf"^{field}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)[1]) * 1024


def memory(function, arrays):
    """The most memory during a call, above that before it; None where the system does not tell."""
    try:
        gc.collect()
        # What an earlier call freed does not count as there.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        function(*arrays)
        return max(status("VmHWM") - before, 0)
    except (OSError, AttributeError):
        return None


def check(name, found, expected, arrays):
    """The results are NumPy's, but for rounding; for the nearest code, the distance is."""
    found = np.asarray(found)
    if found.dtype.kind == "i":
        observations, codes = (array.astype(np.float64) for array in arrays)
        distance = lambda code: ((observations - codes[code]) ** 2).sum(axis=1)
        found, expected = distance(found), distance(expected)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6, err_msg=name)


def unit(seconds):
    if seconds is None:
        return "-"
    scale, name = next((scale, name) for scale, name in [(1, "s"), (1e-3, "ms"), (1e-6, "us")] if seconds >= scale or name == "us")
    return f"{seconds / scale:.3g} {name}" if seconds / scale < 1000 else f"{seconds / scale:.0f} {name}"


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def overhead():
    """The microseconds of `np.add` and of a compiled addition, on two arrays of 16 elements."""
    x, y = np.arange(16.0), np.arange(16.0)
    functions = {"NumPy": np.add, "Broadloom": bl.jit(lambda x, y: x + y)}
    return {name: time * 1e6 for name, time in later(functions, (x, y), 0.5).items()}


def processor():
    try:
        return re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1]
    except (OSError, TypeError):
        return platform.machine()


def measure(names):
    every = libraries()
    present = list(every)
    first, used, lines = {}, {}, []
    for name in names:
        _, inputs = PROGRAMS[name]
        functions = {library: programs[name] for library, programs in every.items() if name in programs}
        for label, size in SIZES.items():
            arrays = inputs(size)
            calls = {library: once(function, arrays) for library, function in functions.items()}
            for library, (seconds, result) in calls.items():
                check(f"{library}, {name}", result, calls["NumPy"][1], arrays)
                first.setdefault((name, library), seconds)
            if size == max(SIZES.values()):
                del calls, result
                used |= {(name, library): memory(function, arrays) for library, function in functions.items()}
            times = later(functions, arrays, 0.1)
            lines.append(row(name, label, *(unit(times.get(library)) for library in present)))
    call = overhead()
    text = [
        f"Written by `python benches/compare.py --write` in `crates/broadloom-python` on {processor()}, {os.cpu_count()} threads,",
        f"Python {platform.python_version()}, on {datetime.date.today()}; do not edit. Arrays are f32. Each library has the threads that it chooses.",
        "",
        "The time of a call that is not the first one:",
        "",
        row("program", "elements", *present),
        row(*["---"] * (2 + len(present))),
        *lines,
        "",
        "The time of the first call, on 16 elements, after the library has compiled another function; and the most memory that a",
        f"call on {list(SIZES)[-1]} elements takes, with its result:",
        "",
        row("program", *(f"{library}: first call, memory" for library in present)),
        row(*["---"] * (1 + len(present))),
    ]
    for name in names:
        cells = []
        for library in present:
            amount = used.get((name, library))
            mebibytes = "-" if amount is None else f"{amount / 2**20:.0f} MiB"
            cells.append(f"{unit(first.get((name, library)))}, {mebibytes}")
        text.append(row(name, *cells))
    text += [
        "",
        f"On two arrays of 16 elements, `np.add` takes {call['NumPy']:.2f} us, and a compiled addition "
        f"{call['Broadloom']:.2f} us: {call['Broadloom'] - call['NumPy']:.2f} us more (asked: at most 2.5).",
    ]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/python.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"programs; by default all: {', '.join(PROGRAMS)}")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in PROGRAMS]
    if unknown:
        parser.error(f"there is no program {unknown[0]!r}; choose from {', '.join(PROGRAMS)}")
    if arguments.write and arguments.names:
        parser.error("--write needs all programs: leave out the names")
    text = measure(arguments.names or list(PROGRAMS))
    print(text)
    if arguments.write:
        page = PAGE.read_text()
        before, rest = page.split("<!-- measured -->\n")
        _, after = rest.split("<!-- end -->")
        PAGE.write_text(f"{before}<!-- measured -->\n{text}\n<!-- end -->{after}")


if __name__ == "__main__":
    main()
