"""Writes numpy.txt, what NumPy prints for arrays: `python generate.py > numpy.txt`."""
import numpy as np

print(f"# NumPy {np.__version__}. Each case: dtype[shape] bytes in hexadecimal, then the text up to a line of ==.")
r = np.random.default_rng(7)
cases = []
f = lambda x, t: cases.append(np.array(x, t))
for t in (np.float16, np.float32, np.float64):
    f(0.1, t); f(-0.0, t); f(3.0, t); f(1e-5, t); f(12345.678, t); f(np.nan, t); f(-np.inf, t); f(60000, t)
    f([0.1, 0.25, -3], t); f([1, 2, 3], t); f([1e-5, 1], t); f([1, 2000], t); f([0.5, 999.0], t); f([1234.5, 7], t)
    f([np.nan, 1, np.inf], t); f([np.nan, -np.inf], t); f([np.nan, np.nan], t); f([1e-5, np.nan, -np.inf], t)
    f([[1.5, 2], [-3, 4.25]], t); f([0.1, 60000], t); f([0, 0], t); f([-0.0, 1], t); f([0.1, 0.30000001], t)
    f([1/3, 2/3], t); f([[[1/3], [100/3]], [[0], [1]]], t); f(np.zeros((2, 0)), t); f([6.1e-5, 3], t)
    f(r.normal(size=50), t); f(r.normal(size=(3, 11)), t); f((np.arange(1020) % 7 - 3).reshape(34, 30), t)
    f(r.normal(size=(4, 1, 3)), t); f(10.0 ** r.uniform(-4, 4, 20), t)
for t in (np.float16, np.float32, np.float64):
    f(999, t); f(1000, t); f(1001, t); f(1e-4, t); f(30000, t)
for t in (np.float32, np.float64):
    f(999999, t); f(1e6, t); f(1234567, t); f(9.9e15, t); f(9.999999e15, t)
    f([1e10, 0.1], t); f([1.2345678e10, 0.1], t); f(1e16, t); f(123456789.0, t); f(1e15, t); f([123456, 1000], t)
    f([1e7 + 1, 1e6], t); f([99999999.0, 3e7], t); f([1e-38, 1e38], t); f(1e22, t); f([0.00010001, 0.05], t)
    f(16777216.0, t); f([16777216.0], t); f([1e5, 999999], t); f([1e6, 1e6], t); f([123456.789, 123456], t)
    f(3e-38, t); f([2.5, 1e-4], t); f(0.0001, t); f(0.00009999, t); f(9999999.0, t)
f([-148776.125, 52222.8125, 158428.125], np.float32); f(-148776.125, np.float32); f(2.0 ** 60 + 2.0 ** 9, np.float64)
f([1e-300, 1e300], np.float64); f([1e-5, 1e150], np.float64); f(5e-324, np.float64)
f([0.1 + 0.2, 0.3], np.float64); f([0.123456785, 0.123456775], np.float64); f([0.5, 0.123456789012], np.float64)
for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
    i = np.iinfo(t)
    f(7, t); f(i.min, t); f([i.min, 0, i.max], t); f([[1, 20], [100, 4]], t); f(np.arange(100) % 50, t)
f(np.arange(1001), np.int16); f(np.arange(1000), np.int16); f(np.arange(-600, 600).reshape(2, 600), np.int16)
f((np.arange(1200) % 120).reshape(4, 300), np.int8); f(np.arange(24).reshape(2, 3, 4), np.int64); f([], np.int32)
f((np.arange(1008) % 100).reshape(8, 7, 2, 9), np.int8); f((np.arange(1100) % 9).reshape(1100, 1), np.uint8)
f(True, bool); f(False, bool); f([True, False], bool); f([[True], [True]], bool); f(np.zeros(2000), bool)
for a in cases:
    name = "bool" if a.dtype == bool else f"{a.dtype.kind}{a.itemsize * 8}"
    print(f"{name}{list(a.shape)} {a.tobytes().hex()}")
    print(np.array2string(a) if a.shape else str(a[()]))
    print("==")
