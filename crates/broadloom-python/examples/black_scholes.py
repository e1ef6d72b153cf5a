"""Prices of options by Black and Scholes, and their volatility from their prices, by Newton's method.

    python black_scholes.py [black_scholes.png]
"""

# %% The model. Helper functions are called as they are.
import math
import sys

import matplotlib
import numpy as np

import broadloom as bl

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def normal_cdf(x):
    """Abramowitz and Stegun 26.2.17: within 7.5e-8."""
    k = 1 / (1 + 0.2316419 * np.abs(x))
    series = 0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * k * series
    return np.where(x > 0, 1 - tail, tail)


@bl.jit
def call_and_vega(price, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    call = price * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d1 - spread)
    vega = price * np.sqrt(years / (2 * np.pi)) * np.exp(-0.5 * d1 * d1)
    return call, vega


# %% Prices for all pairs of a strike and a time.
strikes = np.linspace(60, 140, 81)[:, None]
years = np.linspace(0.1, 2, 39)[None, :]
smile = 0.2 + 0.15 * (np.log(strikes / 100) ** 2) + 0.02 * years
calls, vega = call_and_vega(100.0, strikes, years, 0.03, smile)


# %% Python's own `erfc` agrees.
def by_hand(strike, years, volatility):
    spread = volatility * math.sqrt(years)
    d1 = (math.log(100 / strike) + (0.03 + volatility**2 / 2) * years) / spread
    below = [math.erfc(-d / math.sqrt(2)) / 2 for d in (d1, d1 - spread)]
    return 100 * below[0] - strike * math.exp(-0.03 * years) * below[1]


np.testing.assert_allclose(calls, np.vectorize(by_hand)(strikes, years, smile), atol=2e-5)

# %% The volatility that the prices imply.
implied = np.full_like(smile, 0.5)
for _ in range(30):
    found, vega = call_and_vega(100.0, strikes, years, 0.03, implied)
    implied = np.clip(implied - (found - calls) / np.maximum(vega, 1e-3), 0.05, 2)
known = vega > 1
np.testing.assert_allclose(implied[known], smile[known], atol=1e-4)
print(f"{known.sum()} volatilities found again; the function was traced {call_and_vega.traces} time(s)")

# %% Prices, and the smile.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
shown = left.pcolormesh(years[0], strikes[:, 0], calls)
figure.colorbar(shown, label="price of a call")
left.set_xlabel("years"), left.set_ylabel("strike")
for column in (9, 18, 38):
    right.plot(strikes[:, 0], np.where(known, implied, np.nan)[:, column], label=f"{years[0, column]:.1f} years")
right.set_xlabel("strike"), right.set_ylabel("implied volatility"), right.legend()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "black_scholes.png")
