"""Measure eight jobs on one core beside other systems, and draw the chart of the README.

    python benches/chart.py [--write]

It installs the package and the other systems into an environment of its own, `target/chart`, and needs gcc for the loops in C. All
systems compute the same, are compared with NumPy, and take turns; a figure is the median over the rounds. `--write` puts the chart
into docs/chart.svg and the tables into docs/comparison.md.
"""

import argparse
import datetime
import html
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = ROOT / "target" / "chart"
PACKAGES = ["numpy", "numexpr", "numba", "jax", "torch", "polars", "duckdb", "pyarrow"]
ROUNDS = 15
SYSTEMS = ["Broadloom", "C loop", "NumPy", "numexpr", "numba", "JAX", "torch.compile", "polars", "DuckDB"]


def inside():
    """Runs this file in its environment, which is made if there is none."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *PACKAGES], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", ROOT / "crates" / "broadloom-python"], check=True)
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "POLARS_MAX_THREADS")
    os.environ.update(dict.fromkeys(names, "1"), BROADLOOM_CHART="1")
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


if __name__ == "__main__" and os.environ.get("BROADLOOM_CHART") != "1":
    inside()

import ctypes  # noqa: E402
import math  # noqa: E402
import tempfile  # noqa: E402

import broadloom as bl  # noqa: E402
import broadloom.duckdb  # noqa: E402
import broadloom.polars  # noqa: E402
import duckdb  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numba  # noqa: E402
import numexpr  # noqa: E402
import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
import torch  # noqa: E402
from compare import processor, row, unit  # noqa: E402

C = r"""
#include <math.h>
#include <stdint.h>
#define N long n
void nearest(N, long k, const float *x, const float *c, int64_t *out) {
    for (long i = 0; i < n; i++) {
        float least = INFINITY; int64_t at = 0;
        for (long j = 0; j < k; j++) {
            float a = x[3*i] - c[3*j], b = x[3*i+1] - c[3*j+1], d = x[3*i+2] - c[3*j+2];
            float s = a*a + b*b + d*d;
            if (s < least) { least = s; at = j; }
        }
        out[i] = at;
    }
}
void kernel_sum(N, long m, const float *x, const float *y, const float *b, float *out) {
    for (long i = 0; i < n; i++) {
        float s = 0, p = x[i], q = x[n+i], r = x[2*n+i];
        for (long j = 0; j < m; j++) {
            float u = p - y[j], v = q - y[m+j], w = r - y[2*m+j];
            s += expf(-(u*u + v*v + w*w)) * b[j];
        }
        out[i] = s;
    }
}
void softmax(N, long m, const float *x, float *out) {
    for (long i = 0; i < n; i++) {
        const float *row = x + i*m; float *to = out + i*m, top = row[0], s = 0;
        for (long j = 1; j < m; j++) top = row[j] > top ? row[j] : top;
        for (long j = 0; j < m; j++) { float e = expf(row[j] - top); to[j] = e; s += e; }
        for (long j = 0; j < m; j++) to[j] /= s;
    }
}
void black_scholes(N, const double *p, const double *k, double *out) {
    for (long i = 0; i < n; i++) {
        double d1 = (log(p[i] / k[i]) + 0.05) / 0.2, d2 = d1 - 0.2;
        out[i] = 0.5 * (p[i] * (1 + erf(d1 * M_SQRT1_2)) - k[i] * 0.97 * (1 + erf(d2 * M_SQRT1_2)));
    }
}
void haversine(N, const double *a, const double *b, const double *c, const double *d, double *out) {
    for (long i = 0; i < n; i++) {
        double s = sin((c[i] - a[i]) / 2), t = sin((d[i] - b[i]) / 2);
        out[i] = 12742 * asin(sqrt(s*s + cos(a[i]) * cos(c[i]) * t*t));
    }
}
void layer_norm(N, long m, const float *x, float *out) {
    for (long i = 0; i < n; i++) {
        const float *row = x + i*m; float s = 0, v = 0;
        for (long j = 0; j < m; j++) s += row[j];
        s /= m;
        for (long j = 0; j < m; j++) v += (row[j] - s) * (row[j] - s);
        v = 1 / sqrtf(v / m + 1e-5f);
        for (long j = 0; j < m; j++) out[i*m+j] = (row[j] - s) * v;
    }
}
long selected(N, const float *x, const float *y, float *out) {
    long count = 0;
    for (long i = 0; i < n; i++) { out[count] = x[i] * 2 + y[i]; count += x[i] > 0.5f; }
    return count;
}
"""


def c_library(folder):
    source, library = Path(folder, "loops.c"), Path(folder, "loops.so")
    source.write_text(C)
    flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-shared", "-fPIC"]
    start = time.perf_counter()
    subprocess.run(["gcc", *flags, "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library)), time.perf_counter() - start


def looped(function, result, *arguments):
    """A call of a loop in C, which writes a new array."""

    def run():
        out = result()
        count = function(*(item if isinstance(item, int) else ctypes.c_void_p(item.ctypes.data) for item in (*arguments, out)))
        return out[:count] if function.__name__ == "selected" else out

    return run


def compiled(function):
    return torch.compile(function, dynamic=False)


def tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


def jobs(c, random):
    f32, f64 = np.float32, np.float64

    def normal(*shape, dtype=f32):
        return random.normal(size=shape).astype(dtype)

    x, codes = normal(200_000, 3), normal(64, 3)

    def nearest(x, codes):
        return ((x[:, None] - codes) ** 2).sum(axis=-1).argmin(axis=1)

    @numba.njit(fastmath=True)
    def nearest_loop(x, codes):
        out = np.empty(len(x), np.int64)
        for i in range(len(x)):
            least, at = np.float32(np.inf), 0
            for j in range(len(codes)):
                s = (x[i, 0] - codes[j, 0]) ** 2 + (x[i, 1] - codes[j, 1]) ** 2 + (x[i, 2] - codes[j, 2]) ** 2
                if s < least:
                    least, at = s, j
            out[i] = at
        return out

    yield "nearest of 64 codes for 200,000 points, f32", dict(
        with_others(nearest, nearest, [x, codes], torch_of=lambda x, c: ((x[:, None] - c) ** 2).sum(-1).argmin(1)),
        **{
            "C loop": looped(c.nearest, lambda: np.empty(len(x), np.int64), len(x), len(codes), x, codes),
            "numba": lambda: nearest_loop(x, codes),
        },
    )

    p, q, b = normal(5_000, 3), normal(5_000, 3), normal(5_000)
    columns = [np.ascontiguousarray(of.T) for of in (p, q)]

    def kernel_sum(xp):
        return lambda x, y, b: (xp.exp(-((x[:, None] - y) ** 2).sum(-1)) * b).sum(1)

    @numba.njit(fastmath=True)
    def kernel_loop(x, y, b):
        out = np.empty(len(x), np.float32)
        for i in range(len(x)):
            s = np.float32(0)
            for j in range(len(y)):
                s += np.exp(-((x[i, 0] - y[j, 0]) ** 2 + (x[i, 1] - y[j, 1]) ** 2 + (x[i, 2] - y[j, 2]) ** 2)) * b[j]
            out[i] = s
        return out

    yield "Gaussian kernel sum, 5,000 x 5,000 points, f32", dict(
        with_others(kernel_sum(np), kernel_sum(jnp), [p, q, b], torch_of=kernel_sum(torch)),
        **{
            "C loop": looped(c.kernel_sum, lambda: np.empty(len(p), f32), len(p), len(q), *columns, b),
            "numba": lambda: kernel_loop(p, q, b),
        },
    )

    rows = normal(4_096, 1_024)

    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    @numba.njit(fastmath=True)
    def softmax_loop(x):
        out = np.empty_like(x)
        for i in range(x.shape[0]):
            top, s = x[i, 0], np.float32(0)
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            for j in range(x.shape[1]):
                out[i, j] = np.exp(x[i, j] - top)
                s += out[i, j]
            for j in range(x.shape[1]):
                out[i, j] /= s
        return out

    yield "softmax, 4,096 rows of 1,024, f32", dict(
        with_others(softmax, lambda x: jax.nn.softmax(x, axis=-1), [rows], torch_of=lambda x: torch.softmax(x, -1)),
        **{
            "C loop": looped(c.softmax, lambda: np.empty_like(rows), *rows.shape, rows),
            "numba": lambda: softmax_loop(rows),
        },
    )

    price, strike = (random.uniform(0.5, 2, 2_000_000) for _ in range(2))

    def black_scholes(xp, erf):
        def value(p, k):
            d1 = (xp.log(p / k) + 0.05) / 0.2
            return 0.5 * (p * (1 + erf(d1 * 0.5**0.5)) - k * 0.97 * (1 + erf((d1 - 0.2) * 0.5**0.5)))

        return value

    @numba.vectorize
    def black_scholes_loop(p, k):
        d1 = (np.log(p / k) + 0.05) / 0.2
        return 0.5 * (p * (1 + math.erf(d1 * 0.5**0.5)) - k * 0.97 * (1 + math.erf((d1 - 0.2) * 0.5**0.5)))

    erf = np.vectorize(math.erf)
    ours = bl.Program(
        "let d = (log(p / k) + 0.05) / 0.2; "
        "0.5 * (p * (1 + erf(d * sqrt(0.5))) - k * 0.97 * (1 + erf((d - 0.2) * sqrt(0.5))))",
        threads=1,
    )
    found = with_others(
        black_scholes(np, erf),
        black_scholes(jnp, jax.scipy.special.erf),
        [price, strike],
        torch_of=black_scholes(torch, torch.erf),
        ours=lambda p, k: ours(p=p, k=k),
    )
    # NumPy has no erf of arrays, nor has numexpr.
    found["check"] = found.pop("NumPy")
    yield "Black-Scholes, 2 M options, f64", dict(
        found,
        **{
            "C loop": looped(c.black_scholes, lambda: np.empty_like(price), len(price), price, strike),
            "numba": lambda: black_scholes_loop(price, strike),
        },
    )

    places = [random.uniform(-1.5, 1.5, 2_000_000) for _ in range(4)]

    def haversine(xp):
        def distance(a, b, c, d):
            s, t = xp.sin((c - a) / 2), xp.sin((d - b) / 2)
            return 12742 * xp.arcsin(xp.sqrt(s * s + xp.cos(a) * xp.cos(c) * t * t))

        return distance

    haversine_loop = numba.vectorize(haversine(np))
    text = "12742 * arcsin(sqrt(sin((c - a) / 2) ** 2 + cos(a) * cos(c) * sin((d - b) / 2) ** 2))"
    frame = pl.DataFrame(dict(zip("abcd", places, strict=True)))
    e, f, g, h = (pl.col(name) for name in "abcd")
    own = 12742 * (((g - e) / 2).sin() ** 2 + e.cos() * g.cos() * ((h - f) / 2).sin() ** 2).sqrt().arcsin()
    con = duckdb.connect(config={"threads": 1})
    con.register("t", frame.to_arrow())
    query = text.replace("arcsin", "asin")
    yield "haversine distances, 2 M rows, f64", dict(
        with_others(haversine(np), haversine(jnp), places, torch_of=haversine(torch)),
        **{
            "C loop": looped(c.haversine, lambda: np.empty_like(places[0]), len(places[0]), *places),
            "numba": lambda: haversine_loop(*places),
            "numexpr": lambda: numexpr.evaluate(text, dict(zip("abcd", places, strict=True))),
            "polars": lambda: frame.select(own).to_series().to_numpy(),
            "DuckDB": lambda: con.sql(f"SELECT {query} AS r FROM t").fetchnumpy()["r"],
        },
    )

    narrow = normal(100_000, 64)

    def layer_norm(xp):
        def norm(x):
            centred = x - x.mean(-1, keepdims=True)
            return centred / xp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)

        return norm

    def norm(x):
        return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)

    @numba.njit(fastmath=True)
    def norm_loop(x):
        out = np.empty_like(x)
        for i in range(x.shape[0]):
            s = v = np.float32(0)
            for j in range(x.shape[1]):
                s += x[i, j]
            s /= x.shape[1]
            for j in range(x.shape[1]):
                v += (x[i, j] - s) ** 2
            v = np.float32(1) / np.sqrt(v / x.shape[1] + np.float32(1e-5))
            for j in range(x.shape[1]):
                out[i, j] = (x[i, j] - s) * v
        return out

    yield "layer norm, 100,000 rows of 64, f32", dict(
        with_others(norm, layer_norm(jnp), [narrow], torch_of=layer_norm(torch)),
        **{
            "C loop": looped(c.layer_norm, lambda: np.empty_like(narrow), *narrow.shape, narrow),
            "numba": lambda: norm_loop(narrow),
        },
    )

    u, v = (random.uniform(size=4 << 20).astype(f32) for _ in range(2))
    c.selected.restype = ctypes.c_long

    def selected(x, y):
        mask = x > 0.5
        return x[mask] * 2 + y[mask]

    @numba.njit
    def selected_loop(x, y):
        out, count = np.empty_like(x), 0
        for i in range(len(x)):
            out[count] = x[i] * np.float32(2) + y[i]
            count += x[i] > np.float32(0.5)
        return out[:count]

    ours = bl.jit(selected, threads=1)
    yield "x[m] * 2 + y[m] where x > 0.5, 4 M, f32", {
        "Broadloom": lambda: ours(u, v),
        "C loop": looped(c.selected, lambda: np.empty_like(u), len(u), u, v),
        "NumPy": lambda: selected(u, v),
        "numba": lambda: selected_loop(u, v),
        "polars": lambda of=pl.DataFrame({"u": u, "v": v}).lazy(): (
            of.filter(pl.col("u") > 0.5).select(pl.col("u") * 2 + pl.col("v")).collect().to_series().to_numpy()
        ),
    }

    left, right = normal(1_000, 1_000), normal(1_000, 1_000)
    yield "matrix product, 1,000 x 1,000, f32", with_others(
        lambda a, b: a @ b, lambda a, b: a @ b, [left, right], torch_of=lambda a, b: a @ b
    )


def with_others(of_numpy, of_jax, arrays, *, torch_of, ours=None):
    """The functions of the systems that take NumPy's notation, or nearly."""
    ours = ours or bl.jit(lambda *arrays: of_numpy(*arrays), threads=1)
    of_jax, torch_of = jax.jit(of_jax), compiled(torch_of)
    there, here = [jnp.asarray(array) for array in arrays], tensors(*arrays)
    return {
        "Broadloom": lambda: ours(*arrays),
        "NumPy": lambda: of_numpy(*arrays),
        "JAX": lambda: of_jax(*there).block_until_ready(),
        "torch.compile": lambda: torch_of(*here),
    }


def measured(ways, c_seconds):
    """The first and the median times of the systems, in seconds."""
    expected = np.asarray(ways.get("NumPy", ways.get("check"))(), dtype=np.float64)
    ways = {system: ways[system] for system in SYSTEMS if system in ways}
    first, times = {}, {system: [] for system in ways}
    for system, run in ways.items():
        start = time.perf_counter()
        value = run()
        first[system] = time.perf_counter() - start + (c_seconds if system == "C loop" else 0)
        value = np.asarray(value, dtype=np.float64)
        wrong = np.abs(value - expected) > 1e-3 * np.abs(expected).max()
        # Codes that are as near as others may be chosen instead.
        assert wrong.mean() < 1e-4, (system, wrong.mean())
    for _ in range(ROUNDS):
        for system, run in ways.items():
            start = time.perf_counter()
            run()
            times[system].append(time.perf_counter() - start)
    return {system: (first[system], statistics.median(of)) for system, of in times.items()}


# The most times of Broadloom that a bar is long.
LONGEST = 5
STYLE = """
    .page { fill: #ffffff } text { font: 12px system-ui, sans-serif; fill: #24292f }
    .job { font-weight: 600 } .time { fill: #57606a } .note { fill: #57606a; font-size: 11px }
    .ours { fill: #0a7d5c } .other { fill: #b8c0c9 }
    @media (prefers-color-scheme: dark) {
        .page { fill: #0d1117 } text { fill: #e6edf3 } .time, .note { fill: #9198a1 } .ours { fill: #2fbf8f } .other { fill: #4a525c }
    }
"""


def drawn(results, note):
    """The chart, as SVG: a panel for each job, a bar for each system."""
    panel, line, names, bar, gap = 450, 17, 92, 235, 20
    heights = [34 + line * len(of) for of in results.values()]
    rows = [max(heights[at : at + 2]) for at in range(0, len(heights), 2)]
    parts, height = [], 34
    for number, (job, of) in enumerate(results.items()):
        left, top = (number % 2) * (panel + gap) + 10, 34 + sum(rows[: number // 2])
        parts.append(f'<text class="job" x="{left}" y="{top + 12}">{html.escape(job)}</text>')
        ours = of["Broadloom"][1]
        for place, (system, (_, seconds)) in enumerate(sorted(of.items(), key=lambda item: item[1][1])):
            y = top + 22 + line * place
            ratio = seconds / ours
            length = min(ratio, LONGEST) / LONGEST * bar
            kind = "ours" if system == "Broadloom" else "other"
            start = left + names
            parts.append(f'<text x="{start - 6}" y="{y + 10}" text-anchor="end">{system}</text>')
            # A bar that is too long ends in an arrow.
            tip = "l8 6.5 l-8 6.5" if ratio > LONGEST else "v13"
            parts.append(f'<path class="{kind}" d="M{start} {y}h{length:.1f}{tip}h-{length:.1f}z"/>')
            times = "" if system == "Broadloom" else f" ({ratio:.2f} x)" if ratio < 10 else f" ({ratio:.0f} x)"
            parts.append(f'<text class="time" x="{start + length + 14:.1f}" y="{y + 10}">{unit(seconds)}{times}</text>')
    height += sum(rows) + 12
    width = 2 * panel + gap + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">\n'
        f"<title>Times of eight jobs on one core, beside other systems</title>\n<style>{STYLE}</style>\n"
        f'<rect class="page" width="{width}" height="{height}" rx="8"/>\n<text class="note" x="10" y="16">{html.escape(note)}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def table(results, which):
    systems = [system for system in SYSTEMS if any(system in of for of in results.values())]
    lines = [row("job", *systems), row(*["---"] * (1 + len(systems)))]
    for job, of in results.items():
        lines.append(row(job, *(unit(of[system][which] if system in of else None) for system in systems)))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write docs/chart.svg and the tables of docs/comparison.md")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    numba.set_num_threads(1)
    numexpr.set_num_threads(1)
    torch.set_num_threads(1)
    jax.config.update("jax_enable_x64", True)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        c, seconds = c_library(folder)
        for job, ways in jobs(c, np.random.default_rng(1)):
            results[job] = measured(ways, seconds)
            print(job, {system: tuple(map(unit, of)) for system, of in results[job].items()}, flush=True)
    versions = ", ".join(
        f"{module.__name__} {module.__version__}" for module in (np, numexpr, numba, jax, torch, pl, duckdb)
    )
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    note = f"time of a call on one core, not the first one; {processor()}, {datetime.date.today()}"
    written = (
        f"Written by `python benches/chart.py --write` in `crates/broadloom-python` on {processor()}, one core, Python "
        f"{platform.python_version()}, on {datetime.date.today()}; do not edit. {versions}; gcc {gcc} with `-O3 -march=native -ffast-math`. "
        f"Medians of {ROUNDS} calls, the systems in turns.\n\n{table(results, 1)}\n\n"
        "The first call, with compiling; of the C loop, the time of gcc for the file of all loops is added:\n\n"
        f"{table(results, 0)}\n"
    )
    if options.write:
        (ROOT / "docs" / "chart.svg").write_text(drawn(results, note))
        page = ROOT / "docs" / "comparison.md"
        text, count = re.subn(
            r"(<!-- measured -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}{written}{found[2]}", page.read_text(), flags=re.DOTALL
        )
        assert count == 1, "docs/comparison.md has no place for the tables"
        page.write_text(text)
    else:
        print(written)


if __name__ == "__main__":
    main()
