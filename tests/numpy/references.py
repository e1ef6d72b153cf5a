"""References of the functions that NumPy lacks, in long doubles or with as many decimal digits as it takes."""

import decimal
import functools
import math

import numpy as np

WIDE = np.longdouble


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def vanishing(x, function):
    """`x` times a function that vanishes faster towards minus infinity, where the limit is -0."""
    return np.where(x == -np.inf, WIDE(-0.0), function(x))


def silu(x):
    return vanishing(x, lambda x: x / (1 + np.exp(-x)))


PI = WIDE("3.14159265358979323846264338327950288419716939937511")


def gelu_tanh(x):
    """`x / 2 * (1 + tanh(u))`, where `(1 + tanh(u)) / 2 = 1 / (1 + exp(-2 * u))`."""
    factor = np.sqrt(2 / PI)
    return vanishing(x, lambda x: x / (1 + np.exp(-2 * factor * (x + WIDE("0.044715") * x**3))))


def decimals(function):
    """A function of one finite number with many digits, on arrays of long doubles."""

    def reference(x):
        result = np.empty(x.shape, WIDE)
        for at in np.ndindex(x.shape):
            # The arguments are those of a narrower dtype, which f64 holds.
            result[at] = function(float(x[at]))
        return result

    return reference


def erf_of(x, digits):
    """`2 / sqrt(pi) * exp(-x^2) * sum(2^n x^(2n+1) / (2n+1)!!)`, of which all terms have one sign."""
    square = x * x
    term = total = x
    odd = 1
    while abs(term) > abs(total) * decimal.Decimal(10) ** -digits:
        odd += 2
        term *= 2 * square / odd
        total += term
    return 2 * (-square).exp() * total / pi_of(digits).sqrt()


@functools.cache
def pi_of(digits):
    """By Machin's formula."""

    def arctan_of_inverse(inverse):
        term = total = decimal.Decimal(1) / inverse
        odd, sign = 1, 1
        while term > decimal.Decimal(10) ** -digits:
            term /= inverse * inverse
            odd, sign = odd + 2, -sign
            total += sign * term / odd
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))


def with_digits(function):
    """A function of a decimal and the digits that it needs near a float, as it needs many where it vanishes."""

    def reference(x):
        lost = min(x * x, 1000.0) / math.log(10)
        with decimal.localcontext() as context:
            context.prec = digits = 60 + int(lost)
            context.Emin, context.Emax = -999_999, 999_999
            return WIDE(str(function(decimal.Decimal(x), digits)))

    return reference


@decimals
def erf(x):
    if not math.isfinite(x) or x == 0 or abs(x) > 30:
        return math.erf(x)
    return with_digits(erf_of)(x)


@decimals
def erfc(x):
    if not math.isfinite(x) or abs(x) > 30:
        return math.erfc(x)
    return with_digits(lambda x, digits: 1 - erf_of(x, digits))(x)


@decimals
def gelu(x):
    """`x / 2 * erfc(-x / sqrt(2))`"""
    if not math.isfinite(x) or x == 0 or abs(x) > 42:
        return max(x, math.copysign(0.0, x))
    return with_digits(lambda x, digits: x / 2 * (1 + erf_of(x / decimal.Decimal(2).sqrt(), digits)))(x)
