"""The objectives of GradBench and ADBench: gmm, kmeans, lse and llsq, with values computed by independent NumPy code."""

import math

import broadloom as bl
import numpy as np
import pytest

RANDOM = np.random.default_rng(7)
EXTENDED = np.longdouble


def quotients(function, x, step):
    """The derivatives of a function that NumPy computes in extended precision, from differences of the fourth order."""
    x = np.asarray(x, EXTENDED)
    slope = np.zeros_like(x)
    for at in np.ndindex(x.shape):

        def value(steps, at=at):
            moved = x.copy()
            moved[at] += steps * EXTENDED(step)
            return function(moved)

        slope[at] = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * EXTENDED(step))
    return slope


def test_extended_precision():
    assert np.finfo(EXTENDED).eps < 1e-18, "the expected values need more digits than those that they are compared with"


# The logarithm of the sum of exponentials.


def lse(x):
    highest = x.max()
    return highest + np.log(np.exp(x - highest).sum())


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_lse(size):
    x = RANDOM.normal(size=size) * 10
    value, slope = bl.value_and_grad(lse)(x)
    shares = np.exp(x.astype(EXTENDED) - x.max())
    np.testing.assert_allclose(value, float(x.max() + np.log(shares.sum())), rtol=1e-14)
    np.testing.assert_allclose(slope, (shares / shares.sum()).astype(float), rtol=1e-13, atol=1e-300)


def test_lse_of_large_numbers():
    _, slope = bl.value_and_grad(lse)(np.array([1000.0, 1000.0, -1000.0]))
    np.testing.assert_array_equal(slope, [0.5, 0.5, 0])


# Least squares of a polynomial of sines: a sum over samples of the squared residual of sums over parameters.


def llsq(x, samples):
    t = np.linspace(-1.0, 1.0, samples)
    powers = t[:, None] ** np.arange(float(x.shape[0]))
    return ((np.sign(t) - powers @ x) ** 2).sum() / 2


def llsq_in_numpy(x, samples):
    value, slope = EXTENDED(0), np.zeros(len(x), EXTENDED)
    for t in np.linspace(EXTENDED(-1), EXTENDED(1), samples):
        powers = np.array([t**number for number in range(len(x))])
        residual = np.sign(t) - powers @ x.astype(EXTENDED)
        value += residual**2 / 2
        slope -= residual * powers
    return float(value), slope.astype(float)


@pytest.mark.parametrize("size", [2, 16])
def test_llsq(size):
    x = RANDOM.normal(size=size)
    value, slope = bl.value_and_grad(llsq)(x, 129)
    want, want_slope = llsq_in_numpy(x, 129)
    np.testing.assert_allclose(value, want, rtol=1e-12)
    np.testing.assert_allclose(slope, want_slope, rtol=1e-11, atol=1e-11)


# k-means: the sum over points of the squared distance from the nearest centre.


def kmeans(centers, points):
    return ((points[:, None] - centers[None]) ** 2).sum(-1).min(axis=1).sum()


@bl.jit
def kmeans_parts(centers, points):
    """The cost, its gradient, and the diagonal of its Hessian matrix, which one product of the matrix gives."""
    cost, slope = bl.value_and_grad(kmeans)(centers, points)
    _, diagonal = bl.jvp(bl.grad(lambda centers: kmeans(centers, points)), (centers,), (np.ones_like(centers),))
    return cost, slope, diagonal


@pytest.mark.parametrize(("points", "centers", "axes"), [(500, 7, 3), (200, 5, 1), (300, 11, 20)])
def test_kmeans(points, centers, axes):
    points, centers = RANDOM.normal(size=(points, axes)), RANDOM.normal(size=(centers, axes))
    cost, slope, diagonal = kmeans_parts(centers, points)
    wanted_cost, wanted_slope, wanted_diagonal = EXTENDED(0), np.zeros(centers.shape, EXTENDED), np.zeros(centers.shape)
    for point in points:
        differences = centers.astype(EXTENDED) - point
        distances = (differences**2).sum(-1)
        nearest = distances.argmin()
        wanted_cost += distances[nearest]
        wanted_slope[nearest] += 2 * differences[nearest]
        wanted_diagonal[nearest] += 2
    np.testing.assert_allclose(cost, float(wanted_cost), rtol=1e-13)
    np.testing.assert_allclose(slope, wanted_slope.astype(float), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(diagonal, wanted_diagonal)


def test_kmeans_by_newton():
    """Lloyd's algorithm is Newton's method: a step goes to the means of the nearest points."""
    points, centers = RANDOM.normal(size=(400, 2)), RANDOM.normal(size=(4, 2))
    _, slope, diagonal = kmeans_parts(centers, points)
    nearest = ((points[:, None] - centers) ** 2).sum(-1).argmin(axis=1)
    means = [points[nearest == number].mean(axis=0) for number in range(4)]
    np.testing.assert_allclose(centers - slope / diagonal, means, rtol=1e-12)


# The log-likelihood of a mixture of Gaussians, with a Wishart prior: ADBench's objective.


def gmm(parameters, points, gamma, m):
    """`alphas` [k], `means` [k, d], `logs` [k, d] of the diagonals, and `below` [k, d, d], of which the part below it counts."""
    alphas, means, logs, below = parameters
    n, d = points.shape
    k = alphas.shape[0]
    roots = np.tril(below, -1)
    centered = points[:, None] - means[None]
    scaled = np.exp(logs)[None] * centered + np.einsum("kij,nkj->nki", roots, centered)
    terms = alphas + logs.sum(-1) - (scaled**2).sum(-1) / 2
    highest = terms.max(axis=1, keepdims=True)
    likelihood = (np.log(np.exp(terms - highest).sum(axis=1)) + highest[:, 0]).sum()
    top = alphas.max()
    normalised = n * (np.log(np.exp(alphas - top).sum()) + top)
    prior = gamma**2 / 2 * ((np.exp(logs) ** 2).sum() + (roots**2).sum()) - m * logs.sum()
    return likelihood - normalised - prior


def gmm_in_numpy(parameters, points, gamma, m):
    """One point and one component after the other, with matrices of their own."""
    alphas, means, logs, below = (np.asarray(item, EXTENDED) for item in parameters)
    (n, d), k = points.shape, len(alphas)
    total = EXTENDED(0)
    roots = []
    for component in range(k):
        root = np.zeros((d, d), EXTENDED)
        for row in range(d):
            root[row, row] = np.exp(logs[component, row])
            root[row, :row] = below[component, row, :row]
        roots.append(root)
        total -= gamma**2 / 2 * (root**2).sum() - m * logs[component].sum()
    for point in points:
        terms = [
            alphas[component] + logs[component].sum() - ((roots[component] @ (point - means[component])) ** 2).sum() / 2
            for component in range(k)
        ]
        highest = max(terms)
        total += highest + np.log(sum(np.exp(term - highest) for term in terms))
    return total - n * np.log(np.exp(alphas).sum())


@pytest.mark.parametrize(("n", "d", "k"), [(30, 3, 4), (20, 2, 3), (12, 9, 2)])
def test_gmm(n, d, k):
    points = RANDOM.normal(size=(n, d))
    parameters = (
        RANDOM.normal(size=k),
        RANDOM.normal(size=(k, d)),
        RANDOM.normal(size=(k, d)) / 4,
        RANDOM.normal(size=(k, d, d)) / 4,
    )
    value, slopes = bl.value_and_grad(gmm)(parameters, points, 1.2, 3.0)
    np.testing.assert_allclose(value, float(gmm_in_numpy(parameters, points, 1.2, 3.0)), rtol=1e-12)
    for number, slope in enumerate(slopes):

        def moved(part, number=number):
            return gmm_in_numpy((*parameters[:number], part, *parameters[number + 1 :]), points, 1.2, 3.0)

        want = quotients(moved, parameters[number], 1e-3).astype(float)
        np.testing.assert_allclose(slope, want, rtol=1e-8, atol=1e-8)
    assert math.isfinite(value)
