"""Arrays that change: `x.at[index].set(value)` is NumPy's `x[index] = value` on a copy."""

import warnings

import numpy as np

from functions import Lines, SOME, true_zeros, values
from meaning import BOOL, DTYPES, F32, F64, Refused

METHODS = {
    "set": lambda x, v: v,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
}

# Indices of x[3, 5, 4] with values that stretch to the region.
REGIONS = """
...                 | 3, x[0], x[:, :1], x[::-1]
0                   | 3, y, y[None], x[1], y[:, :1], x[0, 0]
-1                  | x[0], y
1:                  | 3, x[:2], x[0], y[None]
:, 1:-1             | 2, x[:, 2:], x[:, :3], x[0, 1:4]
1:2, 1:3, 1:3       | x[1:2, :2, 2:], x[0, 0, :2]
:, :, 0             | y.sum(), x[:, :, 1], y[:, 0], x[:, :, 3]
0, 1, 2             | 1, x[0, 0, 0]
::2                 | 4, x[:2], y
:, ::2              | x[:, :3], x[:, ::2]
:, ::-1             | x, y
:, ::-2, ::3        | x[:, :3, :2], 1
:, 1::3, ::-1       | x[:, :2], 7
::-1, ::-1, ::-1    | x
1:1                 | 5, x[:0]
:, 9:               | 5, x[:, :0]
:, 2:99             | x[:, :3]
-2:, None           | x[:2, None], 1
None, 0             | y, y[None]
..., 1              | y[:, 0], 3
0, ...              | y
2:0:-1              | x[:2]
:, 4:1:-2           | x[:, :2]
4                   | 0
:, 0, :, 0          | 0
1:                  | x
:, :3               | y
""".strip().splitlines()

MASKS = """
x > 1               | 3, y[0, 0]
m                   | 3, y, y[0], x[0, :, :1]
x[:, :, 0] > 0      | 2, y[0], y[0, 0]
x != x              | 0
m[:2]               | 0
""".strip().splitlines()

# Positions in x[3, 5, 4]: i and j have the shape [4], k has [2, 1]; those of j may be equal.
POSITIONS = """
i                   | 4, y, x[0], y[:4, None], x[:1]
k                   | 2, y, x[:2, None]
i, j                | 4, y[:4], x[0, :4, :1]
k, j                | 4, y[:4], y[:2, None], x[:2, :4]
j, i, j             | 1, y[0], x[0, 0]
:, i                | 4, y[:4], x[:, :1], x[:, :4]
:, j, i             | 4, y[0], x[:, :4, 0]
:, k, i             | 4, y[:2], x[:, :2]
i, :, j             | 4, y[:4, :1], x[0, :4, :1]
0, :, j             | 2, y[:4, :1], y[:4, 0, None]
i, ..., j           | 4, y[:4, :1]
i, 1, j             | 4, y[:4, 0]
1:, j               | 4, y[:4], x[1:, :4]
::-1, j, ::2        | 4, x[:, :4, :2], y[:4, :2]
..., j              | 4, y[0], x[:, :, :4]
None, j             | 1, y, x[None, :1]
j, None, 1:3        | 1, y[:2], x[:1, :1, :1]
[2, 0, 2]           | 4, x, y
[1, -1], :, [0, 0]  | 4, x[:2, :, 0]
[0, 1, 1], j[:3]    | 4, x[:, 0, 0]
h                   | 1, y
i[:0]               | 4, x[:0]
i, j[:3]            | 0
i, j, k, j          | 0
i * 2.5             | 0
i                   | x, y[:3]
""".strip().splitlines()


def placed(index, method, value, inputs):
    """What NumPy makes of changes at positions: each of equal ones counts in `add` and so on."""
    names = {"np": np, **{name: array.copy() for name, array in inputs.items()}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names["v"] = v = eval(value, dict(names))
            dtype = names["x"].dtype
            if method == "set":
                exec(f"x[{index}] = v", names)
            else:
                place = eval(f"np.s_[{index}]", dict(names))
                part = v if isinstance(v, int) else v.ravel()[:1]
                if not np.can_cast(METHODS[method](names["x"].ravel()[:1], part).dtype, dtype, "same_kind"):
                    return Refused("another kind")
                # NumPy takes a number for an i64 here, and adds it to a u64 in f64.
                METHODS[method].at(names["x"], place, dtype.type(v) if isinstance(v, int) else v)
    except (ValueError, IndexError, TypeError, OverflowError) as mistake:
        return Refused(str(mistake))
    return names["x"]


def small(dtype, shape, random):
    """Powers of two and integers, so that sums and products are exact in any order."""
    return random.choice([1, 2, 4], shape).astype(dtype)


def write_positions(lines):
    random = lines.random
    integers = [DTYPES[name] for name in ["i64", "i32", "u8"]]
    for number, dtype in enumerate(SOME):
        i, j = np.array([2, 0, 1, -3]), np.array([1, 1, -3, 2])
        if number % 3 == 2:
            i, j = i % 3, j % 3
        kinds = {"i": i, "j": j, "k": np.array([[0], [2]]), "h": np.array(1)}
        inputs = {name: array.astype(integers[number % 3]) for name, array in kinds.items()}
        inputs |= {"x": small(dtype, (3, 5, 4), random), "y": small(dtype, (5, 4), random)}
        for line in POSITIONS:
            index, texts = (part.strip() for part in line.split("|"))
            for count, value in enumerate(split(texts)):
                if dtype == BOOL and value in "01234567":
                    continue
                methods = ["set"] if dtype == BOOL else ["set", list(METHODS)[1 + (count + len(index)) % 6]]
                for method in methods:
                    result = placed(index, method, value, inputs)
                    lines.cases.write("function", f"x.at[{index}].{method}({value})", inputs, result)
            if dtype != BOOL:
                lines.cases.write("function", f"x[{index}]", inputs, read(index, inputs))
    for size in [0, 1, 2, 3, 17, 65, 1000]:
        i, x = random.integers(-size, size, 2 * size), small(F32, (size,), random)
        inputs = {"x": x, "i": i, "v": np.arange(2 * size).astype(np.float32)}
        for method in ["set", "add", "maximum"]:
            lines.cases.write("function", f"x.at[i].{method}(v)", inputs, placed("i", method, "v", inputs))


def read(index, inputs):
    try:
        return eval(f"x[{index}]", dict(inputs)).copy()
    except IndexError as mistake:
        return Refused(str(mistake))


def written(index, method, value, inputs):
    """What NumPy makes of a change of a copy."""
    names = {"np": np, **{name: array.copy() for name, array in inputs.items()}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, mask = eval(value, dict(names)), index
            if index[0] in "xm":
                mask = eval(index, dict(names))
                # A value has one element for each chosen one; ours stretches to the axes after those of the mask.
                if isinstance(value, np.ndarray):
                    value = np.broadcast_to(value, names["x"].shape[mask.ndim :])
            names.update(v=value, i=mask)
            if method == "divide" and names["x"].dtype.kind != "f":
                return Refused("another kind")
            place = "x[i]" if index[0] in "xm" else f"x[{index}]"
            names["f"] = METHODS[method]
            exec(f"{place} = f({place}, v)", names)
    except (ValueError, IndexError, TypeError, OverflowError) as mistake:
        return Refused(str(mistake))
    return names["x"]


def write(cases):
    lines = Lines(cases)
    random = lines.random
    for dtype in SOME:
        x = true_zeros(values(dtype, (3, 5, 4), random))
        inputs = {"x": x, "y": true_zeros(values(dtype, (5, 4), random)), "m": random.random(3) < 0.5}
        for line in [*REGIONS, *MASKS]:
            index, texts = (part.strip() for part in line.split("|"))
            for number, value in enumerate(texts.split(", ") if "[" not in texts else split(texts)):
                # Sums of bool are integers, which bool does not take; its differences NumPy refuses.
                for method in ["set"] if dtype == BOOL else ["set", list(METHODS)[1 + (number + len(index)) % 6]]:
                    if dtype == BOOL and (value in "0123457" or "sum" in value):
                        continue
                    result = written(index, method, value, inputs)
                    lines.cases.write("function", f"x.at[{index}].{method}({value})", inputs, result)
    write_positions(lines)
    # Within the same kind, values are converted; others are refused, though NumPy casts them.
    for left in SOME:
        for right in SOME:
            x, y = (true_zeros(np.abs(values(dtype, (7,), random))) for dtype in (left, right))
            result = written("1:-1", "set", "y[:5]", {"x": x, "y": y})
            result = result if np.can_cast(right, left, "same_kind") else Refused("another kind")
            lines.cases.write("function", "x.at[1:-1].set(y[:5])", {"x": x, "y": y}, result)
    for size in [0, 1, 2, 3, 17, 64, 65, 1000]:
        x, y = values(F32, (size,), random), values(F64, (size, 3), random)
        for index in ["::2", "1::2", "::3", "::-3", ":size // 2", "size // 2:", "::-1", "size // 3::5"]:
            index = index.replace("size", str(size))
            inputs = {"x": x, "y": y}
            for value in ["1.5", f"x[{index}][::-1]"]:
                lines.cases.write("function", f"x.at[{index}].set({value})", inputs, written(index, "set", value, inputs))
            lines.cases.write("function", f"y.at[{index}, 1].set(x[{index}])", inputs, columns(index, inputs))
            lines.cases.write("function", f"y.at[{index}, ::2].multiply(2)", inputs, columns(index, inputs, doubled=True))
    x = values(DTYPES["i32"], (9,), random)
    chains = {
        "x.at[0].set(x[1]).at[-1].set(x[-2])": [x[1], *x[1:-1], x[-2]],
        "x.at[:5].set(1).at[3:].set(2)": [1, 1, 1, *[2] * 6],
        "x.at[1:].set(x[:-1]).at[:-1].add(x[1:])": None,
        "x.at[2:4].set(5)[2:4]": [5, 5],
    }
    shifted = np.append(x[:1], x[:-1])
    shifted[:-1] += x[1:]
    chains["x.at[1:].set(x[:-1]).at[:-1].add(x[1:])"] = shifted
    for expression, result in chains.items():
        lines.cases.write("function", expression, {"x": x}, np.array(result, np.int32))


def columns(index, inputs, doubled=False):
    x, y = inputs["x"], inputs["y"].copy()
    exec(f"y[{index}, ::2] *= 2" if doubled else f"y[{index}, 1] = x[{index}]", {"x": x, "y": y})
    return y


def split(texts):
    """Splits at commas that are not within brackets."""
    parts, depth = [""], 0
    for letter in texts:
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
