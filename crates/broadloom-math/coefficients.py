#!/usr/bin/env python3
"""Prints the minimax coefficients and split constants of broadloom-math.

Needs mpmath. Every polynomial comes out of a Remez exchange in 60 digits: it
minimises the largest |weight * (target - polynomial)| over the interval; the
coefficients are then rounded to the precision in which they are used, one by
one. The printed log2 is the bound before that rounding.
"""
import struct

from mpmath import asin, atan, atanh, cbrt, cos, cosh, erf, erfc, exp, log, lu_solve, matrix, mp, mpf, pi, sin, sinh, sqrt, tan

mp.dps = 60


def remez(target, weight, lo, hi, degree, rounds=12, grid=2000):
    n = degree + 2
    mid, half = (lo + hi) / 2, (hi - lo) / 2
    nodes = [mid - half * cos(pi * i / (n - 1)) for i in range(n)]
    samples = [mid - half * cos(pi * i / grid) for i in range(grid + 1)]
    values = [(x, target(x), weight(x)) for x in samples]
    for _ in range(rounds):
        a, b = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(nodes):
            for j in range(n - 1):
                a[i, j] = x**j
            a[i, n - 1] = (-1) ** i / weight(x)
            b[i] = target(x)
        solution = lu_solve(a, b)
        coefficients = [solution[j] for j in range(n - 1)]

        def error(x, f, w):
            p = mpf(0)
            for c in reversed(coefficients):
                p = p * x + c
            return w * (f - p)

        errors = [error(*v) for v in values]
        # One extremum per run of equal sign.
        runs = [[0]]
        for i in range(1, len(errors)):
            if (errors[i] > 0) == (errors[runs[-1][-1]] > 0):
                runs[-1].append(i)
            else:
                runs.append([i])
        peaks = [max(run, key=lambda i: abs(errors[i])) for run in runs]
        while len(peaks) > n:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if len(peaks) < n:
            break
        nodes = [samples[i] for i in peaks]
    return coefficients, max(abs(e) for e in errors)


def f32(x):
    """Nearest f32: through f64 is one rounding too many only for ties, which these are not."""
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def show(name, coefficients, worst, single):
    print(f"{name}: 2^{float(log(worst, 2)):.1f}")
    for c in coefficients:
        value = f32(c) if single else float(c)
        print(f"    {literal(value, single)},")


def literal(value, single):
    """Shortest decimal that reads back as `value`."""
    if not single:
        return repr(value)
    return next(text for text in (f"{value:.{digits}g}" for digits in range(1, 10)) if f32(float(text)) == value)


def near_zero(f, series, scale=mpf(10) ** -12):
    """`f`, or its constant term where the quotient would lose all digits."""
    return lambda x: series if abs(x) < scale else f(x)


ln2 = log(mpf(2))
tiny = mpf(10) ** -9

half = ln2 / 2 * mpf("1.0001")
for single, degree in ((True, 4), (False, 9), (False, 5)):
    c, e = remez(near_zero(lambda r: (exp(r) - 1 - r) / r**2, mpf(1) / 2),
                 lambda r: r**2 / exp(r) + tiny**4, -half, half, degree)
    show(f"exp f{32 if single else 64} degree {degree}", c, e, single)

c, e = remez(near_zero(lambda r: (exp(r) - 1 - r - r * r / 2) / r**3, mpf(1) / 6, mpf(10) ** -10),
             lambda r: abs(r) ** 3 / abs(exp(r) - 1) if abs(r) > tiny else r * r + tiny**4, -half, half, 9)
show("expm1 f64 degree 9", c, e, False)

lo, hi = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
c, e = remez(near_zero(lambda f: (log(1 + f) - f + f * f / 2) / f**3, mpf(1) / 3),
             lambda f: abs(f) ** 2 + tiny**4, lo, hi, 8)
show("log f32 degree 8", c, e, True)

top = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2


def log_series(z):
    s = sqrt(z)
    return (2 * atanh(s) / s - 2) / z


for degree in (6, 3):
    c, e = remez(near_zero(log_series, mpf(2) / 3), lambda z: z + tiny**4, mpf(0), top * mpf("1.0001"), degree)
    show(f"log f64 degree {degree}", c, e, False)
c, e = remez(near_zero(lambda z: ((log_series(z) - mpf(2) / 3) / z - mpf(2) / 5) / z, mpf(2) / 7, mpf(10) ** -8),
             lambda z: z**2 * (z + mpf(10) ** -3) + mpf(10) ** -12, mpf(0), top * mpf("1.0001"), 6)
show("pow log tail f64", c, e, False)

def sin_series(z):
    r = sqrt(z)
    return (sin(r) / r - 1) / z


def cos_series(z):
    return (cos(sqrt(z)) - 1 + z / 2) / z**2


# Beyond pi/4 by as much as the rounding of the quotient lets arguments go.
for single, slack, sin_degree, cos_degree in ((True, "1.02", 3, 2), (False, "1.0001", 5, 5)):
    edge, bits = (pi / 4 * mpf(slack)) ** 2, 32 if single else 64
    c, e = remez(near_zero(sin_series, -mpf(1) / 6), lambda z: z + tiny**4, mpf(0), edge, sin_degree)
    show(f"sin f{bits}", c, e, single)
    c, e = remez(near_zero(cos_series, mpf(1) / 24), lambda z: z**2 + tiny**4, mpf(0), edge, cos_degree)
    show(f"cos f{bits}", c, e, single)

# As the f64 sine, after a rounded 1/6.
sixth = mpf(1 / 6)
c, e = remez(near_zero(lambda z: (sin_series(z) + sixth) / z, mpf(1) / 120), lambda z: z * z + mpf(10) ** -12,
             mpf(0), (pi / 4 * mpf("1.0001")) ** 2, 4)
show("sin after its cube f64", c, e, False)


def odd_tail(f):
    """R in f(x) = x + x^3 R(x^2), as a function of z = x^2."""
    return lambda z: (f(sqrt(z)) / sqrt(z) - 1) / z


# The odd functions: error relative to the result. Arguments up to `edge`, the constant term of R, and the
# degrees for f32 and f64.
for name, f, edge, first, degrees in (
    ("2 tan r/2", lambda r: 2 * tan(r / 2), pi / 4, mpf(1) / 12, (3, 8)),
    ("asin", asin, mpf(1) / 2, mpf(1) / 6, (5, 12)),
    ("atan", atan, tan(pi / 8), -mpf(1) / 3, (4, 10)),
    ("sinh", sinh, ln2 / 2, mpf(1) / 6, (2, 4)),
    ("atanh", atanh, sqrt(top), mpf(1) / 3, (2, 6)),
):
    for bits, slack, degree in ((32, "1.02", degrees[0]), (64, "1.0001", degrees[1])):
        c, e = remez(near_zero(odd_tail(f), first), lambda z: z + tiny**4, mpf(0), (edge * mpf(slack)) ** 2, degree)
        show(f"{name} f{bits}", c, e, bits == 32)

for bits, slack, degree in ((32, "1.02", 1), (64, "1.0001", 4)):
    c, e = remez(near_zero(lambda z: (cosh(sqrt(z)) - 1 - z / 2) / z**2, mpf(1) / 24), lambda z: z**2 + tiny**4,
                 mpf(0), (ln2 / 2 * mpf(slack)) ** 2, degree)
    show(f"cosh f{bits}", c, e, bits == 32)


# erf x = x + x P(x^2), up to where 1 - erfc takes over.
def erf_series(z):
    x = sqrt(z)
    return erf(x) / x - 1


for single, degree in ((True, 5), (False, 10)):
    c, e = remez(near_zero(erf_series, 2 / sqrt(pi) - 1), lambda z: 1 / (1 + erf_series(z + tiny)), mpf(0), mpf("0.6875") ** 2, degree)
    show(f"erf f{32 if single else 64}", c, e, single)


# erfc x = e^(-x^2) / (x + K) P(t), t = (x - K) / (x + K), for x from 0.68 to where erfc vanishes.
def erfc_scaled(k):
    def scaled(t):
        x = k * (1 + t) / (1 - t)
        return (x + k) * exp(x * x) * erfc(x)
    return scaled


for single, top, degree in ((True, mpf("10.5"), 9), (False, mpf(28), 22)):
    low, k = mpf("0.68"), mpf(2)
    c, e = remez(erfc_scaled(k), lambda t, f=erfc_scaled(k): 1 / f(t), (low - k) / (low + k), (top - k) / (top + k), degree)
    show(f"erfc f{32 if single else 64}", c, e, single)
    rest = c[0] - mpf(f32(c[0]) if single else float(c[0]))
    print("    what the first lacks:", literal(f32(rest) if single else float(rest), single))

for single, degree in ((True, 5), (False, 5)):
    c, e = remez(lambda m: 1 / cbrt(m), lambda m: cbrt(m), sqrt(mpf(1) / 2), sqrt(mpf(2)), degree)
    show(f"cbrt f{32 if single else 64}", c, e, single)


def split(name, value, bits):
    """`value` as a sum of parts with the given numbers of significant bits."""
    parts = []
    for b in bits:
        if value == 0:
            break
        exponent = int(mp.floor(log(abs(value), 2)))
        step = mpf(2) ** (exponent - b + 1)
        part = mp.nint(value / step) * step
        parts.append(part)
        value -= part
    print(name, [float(p).hex() for p in parts], [repr(float(p)) for p in parts])


split("ln2 f32", ln2, (15, 24))
split("ln2 f64", ln2, (41, 53))
split("log10(2) f32", log(mpf(2), 10), (15, 24))
split("log10(2) f64", log(mpf(2), 10), (41, 53))
for name, value in (("ln2", ln2), ("log2(e)", 1 / ln2), ("log10(e)", 1 / log(mpf(10)))):
    split(f"{name} in halves f32", value, (12, 24))
    split(f"{name} in halves f64", value, (26, 53))
split("2^(1/3) f32", cbrt(mpf(2)), (24,))
split("2^(1/3) f64", cbrt(mpf(2)), (53,))
split("2^(-1/3) f64", 1 / cbrt(mpf(2)), (53,))
split("sqrt(1/2) f64", sqrt(mpf(1) / 2), (53,53))
for name, value in (("gelu_tanh linear", sqrt(8 / pi)), ("gelu_tanh cubic", mpf("0.044715") * sqrt(8 / pi))):
    split(f"{name} f32", value, (24, 24))
    split(f"{name} f64", value, (53, 53))
split("pi/2 f32", pi / 2, (24, 24, 24))
split("pi/2 f64", pi / 2, (53, 53, 53))
split("2/3 f64", mpf(2) / 3, (53, 53))
mp.dps = 500
bits = int(mp.floor(2 / pi * mpf(2) ** (64 * 20)))
print([f"0x{(bits >> (64 * (19 - i))) & (2**64 - 1):016x}" for i in range(20)])
print("pi/2 * 2^127", hex(int(mp.nint(pi / 2 * mpf(2) ** 127))))
