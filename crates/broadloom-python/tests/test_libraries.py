"""Libraries that are written for the array API standard, or that take arrays like NumPy's, on `broadloom.array_api`.

Each library computes the same of NumPy's arrays. It is tested where it is installed:

    pip install scipy scikit-learn xarray "dask[array]" cubed einops array-api-extra
    SCIPY_ARRAY_API=1 python -m pytest tests/test_libraries.py
"""

import importlib
import os
import subprocess
import sys
import warnings

import broadloom.array_api as xp
import numpy as np
import pytest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
GAPS = np.where(RNG.uniform(size=X.shape) < 0.1, np.nan, X)
T = X @ np.arange(1.0, 5.0) + 0.1
Y = (X[:, 0] + 0.1 * RNG.normal(size=60) > 0).astype(np.int64)
Z = (X[:, 1] > 0).astype(np.int64)
P = np.abs(X) + 0.1


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed: it is not tested with broadloom.array_api")


def in_namespace(value):
    return xp.asarray(value) if isinstance(value, np.ndarray) else value


def agree(have, want, rtol=1e-9):
    """The results are alike, and those that have axes are arrays of the namespace."""
    if isinstance(want, (tuple, list)):
        for mine, other in zip(have, want, strict=True):
            agree(mine, other, rtol)
        return
    if isinstance(want, np.ndarray) and want.ndim:
        assert isinstance(have, xp.Array), type(have)
    np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=rtol, atol=rtol)


def compare(function, *args, rtol=1e-9, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(function(*map(in_namespace, args), **kwargs), function(*args, **kwargs), rtol)


@pytest.fixture
def scipy():
    library("scipy")
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        pytest.skip("SCIPY_ARRAY_API is not 1: SciPy is not tested with broadloom.array_api")
    return lambda module: importlib.import_module(f"scipy.{module}")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("special.erf", (X,)), ("special.gammaln", (P,)), ("special.logsumexp", (X,)), ("special.softmax", (X,)),
        ("special.xlogy", (P, P)), ("special.rel_entr", (P, P + 1)), ("stats.skew", (X,)), ("stats.kurtosis", (X,)),
        ("stats.gmean", (P,)), ("stats.pmean", (P, 2)), ("stats.zscore", (X,)), ("stats.sem", (X,)), ("stats.entropy", (P,)),
        ("stats.ttest_ind", (X, X + 1)), ("stats.pearsonr", (T, X[:, 0])), ("stats.spearmanr", (T, X[:, 0])),
        ("stats.rankdata", (T,)), ("stats.iqr", (T,)), ("stats.circmean", (T,)), ("cluster.vq.whiten", (X,)),
        ("cluster.vq.vq", (X, X[:3].copy())), ("signal.savgol_filter", (T, 5, 2)), ("signal.detrend", (T,)),
        ("signal.convolve", (T, T[:5])), ("signal.lfilter", (np.array([1, 0.5]), np.array([1, -0.2]), T)),
        ("ndimage.gaussian_filter", (X, 1.0)), ("integrate.trapezoid", (T,)), ("integrate.simpson", (T,)),
        ("integrate.cumulative_trapezoid", (T,)),
    ],
)  # fmt: skip
def test_scipy(scipy, name, args):
    module, _, function = name.rpartition(".")
    found = getattr(scipy(module), function)
    pick = lambda result: [result.statistic, result.pvalue] if hasattr(result, "pvalue") else result  # noqa: E731
    compare(lambda *args: pick(found(*args)), *args)


def test_scipy_calls_functions_of_the_namespace(scipy):
    found = scipy("integrate").tanhsinh(lambda x: xp.exp(-x * x), xp.asarray(0.0), xp.asarray(1.0))
    assert float(found.integral) == pytest.approx(0.746824132812427)
    found = scipy("differentiate").derivative(xp.exp, xp.asarray([0.0, 1.0]))
    np.testing.assert_allclose(np.asarray(found.df), np.exp([0, 1]), rtol=1e-8)
    found = scipy("integrate").cubature(lambda x: xp.sum(x, axis=-1), xp.asarray([0.0, 0.0]), xp.asarray([1.0, 1.0]))
    assert float(found.estimate) == pytest.approx(1)


@pytest.fixture
def sklearn():
    sklearn = library("sklearn")
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        pytest.skip("SCIPY_ARRAY_API is not 1: scikit-learn is not tested with broadloom.array_api")
    with sklearn.config_context(array_api_dispatch=True):
        yield lambda module: importlib.import_module(f"sklearn.{module}")


@pytest.mark.parametrize(
    ("name", "kwargs", "results"),
    [
        ("naive_bayes.GaussianNB", {}, ["predict_proba"]),
        ("linear_model.Ridge", {"solver": "svd"}, ["predict"]),
        ("discriminant_analysis.LinearDiscriminantAnalysis", {}, ["predict_proba"]),
        ("decomposition.PCA", {"n_components": 2, "svd_solver": "full"}, ["transform"]),
        ("preprocessing.StandardScaler", {}, ["transform"]),
        ("preprocessing.MinMaxScaler", {}, ["transform"]),
        ("preprocessing.MaxAbsScaler", {}, ["transform"]),
        ("preprocessing.Normalizer", {}, ["transform"]),
        ("preprocessing.PolynomialFeatures", {}, ["transform"]),
        ("preprocessing.Binarizer", {}, ["transform"]),
    ],
)
def test_estimators(sklearn, name, kwargs, results):
    module, _, estimator = name.rpartition(".")

    def fitted(x, y):
        made = getattr(sklearn(module), estimator)(**kwargs).fit(x, y)
        return [getattr(made, result)(x) for result in results]

    compare(fitted, X, Y, rtol=1e-7)


@pytest.mark.parametrize(
    ("name", "args"),
    [(f"metrics.{name}", (Y, Z)) for name in ("accuracy_score", "balanced_accuracy_score", "f1_score", "confusion_matrix")]
    + [(f"metrics.{name}", (P[:, 0], P[:, 1])) for name in ("r2_score", "mean_squared_error", "d2_absolute_error_score")]
    + [(f"metrics.pairwise.{name}", (P, P + 0.5)) for name in ("cosine_similarity", "rbf_kernel", "euclidean_distances")]
    + [("metrics.log_loss", (Y, np.stack([P[:, 0], P[:, 1]], axis=1) / (P[:, :1] + P[:, 1:2]))), ("metrics.roc_curve", (Y, T))],
)
def test_metrics(sklearn, name, args):
    module, _, function = name.rpartition(".")
    compare(getattr(sklearn(module), function), *args, rtol=1e-7)


@pytest.mark.parametrize("data", [X, GAPS], ids=["numbers", "gaps"])
@pytest.mark.parametrize(
    "of",
    [
        lambda d: d.mean("a"), lambda d: d.sum(), lambda d: d.std("a"), lambda d: d.var("a"), lambda d: d.max("a"),
        lambda d: d.prod("a"), lambda d: d.median("a"), lambda d: d.quantile(0.3, "a"), lambda d: d.cumsum("a"),
        lambda d: d.count("a"), lambda d: (d > 0).any("a"), lambda d: d.clip(-1, 1), lambda d: d.where(d > 0),
        lambda d: d.fillna(0.0), lambda d: d.rolling(a=3).mean(), lambda d: d.rolling(a=3, center=True).sum(),
        lambda d: d.shift(a=1), lambda d: d.pad(a=1), lambda d: d.roll(a=1), lambda d: d.diff("a"),
        lambda d: d.coarsen(a=2).mean(), lambda d: d + d.mean("a"), lambda d: d.isel(a=slice(2, 9, 2)), lambda d: d.T,
        lambda d: d.groupby("a").mean(), lambda d: d.differentiate("a"), lambda d: d.integrate("a"),
        lambda d: np.exp(d), lambda d: d.stack(z=("a", "b")), lambda d: d.sortby("a", ascending=False),
    ],
)  # fmt: skip
def test_xarray(of, data):
    xarray = library("xarray")
    coordinates = {"a": np.arange(60.0) // 2 if of.__code__.co_names[:1] == ("groupby",) else np.arange(60.0)}
    compare(lambda x: of(xarray.DataArray(x, dims=("a", "b"), coords=coordinates)).data, data)


def test_xarray_applies_functions():
    xarray = library("xarray")
    compare(lambda x: xarray.dot(*[xarray.DataArray(x, dims=("a", "b"))] * 2, dim="b").data, X)
    compare(lambda x: xarray.apply_ufunc(lambda q: q * 2, xarray.DataArray(x, dims=("a", "b"))).data, X)


@pytest.mark.parametrize(
    "of",
    [
        lambda d: d.sum(), lambda d: d.mean(axis=0), lambda d: d.std(axis=0), lambda d: d @ d.T, lambda d: np.sum(d),
        lambda d: d.map_blocks(np.exp), lambda d: (d - d.mean(axis=0)).max(axis=1), lambda d: d[3:50:2],
    ],
)  # fmt: skip
def test_dask(of):
    dask = library("dask.array")
    compare(lambda x: of(dask.from_array(x, chunks=(20, 4), asarray=False)).compute(), X)


def test_einops():
    einops = library("einops")
    import broadloom.einops  # noqa: F401

    compare(einops.rearrange, X, pattern="a (b c) -> c a b", b=2)
    compare(einops.reduce, X, pattern="a b -> b", reduction="mean")
    compare(einops.repeat, X, pattern="a b -> a b c", c=2)
    compare(lambda x: einops.einsum(x, x, "a b, c b -> a c"), X)
    compare(lambda x, t: einops.pack([x, t], "a *")[0], X, T)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("atleast_nd", (T,), {"ndim": 2}), ("cov", (X.T,), {}), ("create_diagonal", (T,), {}), ("kron", (X[:2], X[:3]), {}),
        ("nunique", (Y,), {}), ("pad", (T, 2), {}), ("setdiff1d", (Y, Y[:1]), {}), ("sinc", (T,), {}), ("one_hot", (Y, 2), {}),
        ("isclose", (T, T), {}), ("nan_to_num", (GAPS,), {}), ("union1d", (Y, Z), {}),
    ],
)  # fmt: skip
def test_array_api_extra(name, args, kwargs):
    compare(getattr(library("array_api_extra"), name), *args, **kwargs)


CUBED = """
import tempfile
import numpy as np, cubed, cubed.array_api as xp
spec = cubed.Spec(tempfile.mkdtemp(), allowed_mem="500MB")
x = np.random.default_rng(0).normal(size=(60, 40))
gaps = np.where(x > 1, np.nan, x)
a, n = (xp.asarray(of, chunks=(20, 10), spec=spec) for of in (x, gaps))
for made, want in [
    (xp.sum(a), x.sum()), (xp.mean(a, axis=0), x.mean(0)), (xp.std(a, axis=1), x.std(1)), (xp.max(a, axis=0), x.max(0)),
    (cubed.nanmean(n, axis=0), np.nanmean(gaps, axis=0)), (cubed.nansum(n), np.nansum(gaps)), (xp.matmul(a, a.T), x @ x.T),
    (xp.exp(a) + 1, np.exp(x) + 1), (xp.argmax(a, axis=0), x.argmax(0)), (xp.concat([a, a]), np.concatenate([x, x])),
    (xp.cumulative_sum(a, axis=0), x.cumsum(0)), (xp.reshape(a, (2400,)), x.ravel()), (xp.where(a > 0, a, 0.0), np.maximum(x, 0)),
    (cubed.pad(a, ((1, 0), (0, 0)), mode="symmetric"), np.pad(x, ((1, 0), (0, 0)), mode="symmetric")),
]:
    np.testing.assert_allclose(np.asarray(made.compute()), want, rtol=1e-9)
"""


def test_cubed():
    library("cubed")
    environment = {**os.environ, "CUBED_BACKEND_ARRAY_API_MODULE": "broadloom.array_api"}
    subprocess.run([sys.executable, "-c", CUBED], check=True, env=environment, capture_output=True)
