//! Programs of a grammar. Each statement is kept if the program is accepted with it, so that most of them are valid
//! however wild the statements are.

use crate::arrays::Random;
use broadloom_text::{Program, signature};

const DTYPES: [&str; 13] =
    ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"];
const SIZES: [&str; 20] = [
    "n",
    "n",
    "n",
    "m",
    "m",
    "k",
    "3",
    "1",
    "2",
    "0",
    "n + 1",
    "2*n",
    "n*m",
    "m//2",
    "n - 1",
    "_",
    "#n",
    "#m",
    "70",
    "1000000007",
];
const FACTS: [&str; 8] = [
    "n >= 1",
    "m <= 1000",
    "k % 4 == 0",
    "k == 2*m",
    "m == n + 1",
    "likely(n) == 64",
    "2*n >= m",
    "n <= 9223372036854775807",
];
const UNARY: [&str; 44] = [
    "-",
    "~",
    "+",
    "abs",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sigmoid",
    "square",
    "sign",
    "floor",
    "ceil",
    "round",
    "trunc",
    "isnan",
    "isfinite",
    "isinf",
    "signbit",
    "logical_not",
    "reciprocal",
    "cbrt",
    "erf",
    "erfc",
    "exp2",
    "expm1",
    "log1p",
    "log2",
    "log10",
    "rsqrt",
    "relu",
    "gelu",
    "silu",
    "softplus",
    "asin",
    "acosh",
    "atanh",
    "sinh",
    "deg2rad",
    "count_ones",
    "leading_zeros",
];
const BINARY: [&str; 19] =
    ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", ">", ">=", "+"];
const CALLS: [&str; 14] = [
    "maximum",
    "minimum",
    "hypot",
    "atan2",
    "copysign",
    "fmin",
    "fmax",
    "fmod",
    "logaddexp",
    "nextafter",
    "logical_and",
    "logical_or",
    "logical_xor",
    "pow",
];
const REDUCTIONS: [&str; 17] = [
    "sum",
    "prod",
    "min",
    "max",
    "mean",
    "any",
    "all",
    "argmin",
    "argmax",
    "count_nonzero",
    "logsumexp",
    "norm",
    "var",
    "std",
    "softmax",
    "log_softmax",
    "sum",
];
const NUMBERS: [&str; 18] = [
    "0", "1", "2", "-1", "3", "0.5", "-0.0", "0.1", "1e300", "inf", "nan", "pi", "True", "255", "-7", "1e-7",
    "n", "m - n",
];
const BOUNDS: [&str; 14] =
    ["", "", "", "0", "1", "2", "-1", "-2", "n", "n//2", "n - 1", "m", "3", "9223372036854775807"];
const STEPS: [&str; 9] = ["", "", "", "1", "2", "3", "-1", "-2", "-9223372036854775807"];

/// Calls with a value `X`, another of mostly the same shape `Y`, an `AXIS` of the first, some `INDICES` and a `NUMBER`.
const TEMPLATES: [&str; 152] = [
    "sort(X, axis=AXIS)",
    "sort(X, axis=None, descending=True)",
    "argsort(X, axis=AXIS)",
    "argsort(X, axis=AXIS, descending=True)",
    "searchsorted(sort(X, axis=None), Y, side='right')",
    "searchsorted(sort(ravel(X)), NUMBER)",
    "median(X, axis=AXIS)",
    "nanmedian(X, axis=AXIS, keepdims=True)",
    "quantile(X, 0.3, axis=AXIS)",
    "nanquantile(X, [0.1, 1.0], axis=AXIS)",
    "percentile(X, 30, axis=AXIS, method='hazen')",
    "nanpercentile(X, [0, 50], axis=AXIS, method='nearest')",
    "topk(X, 2, axis=AXIS)",
    "argtopk(X, 3, axis=AXIS, largest=False)",
    "cumsum(X, axis=AXIS)",
    "cumsum(X, axis=AXIS, include_initial=True)",
    "cumprod(X, axis=AXIS)",
    "cummin(X, axis=AXIS)",
    "cummax(X, axis=AXIS)",
    "nancumsum(X, axis=AXIS)",
    "nancumprod(X, axis=AXIS)",
    "np.add.accumulate(X, axis=AXIS)",
    "np.multiply.accumulate(X)",
    "np.maximum.accumulate(X, axis=AXIS)",
    "np.minimum.accumulate(X)",
    "np.add.reduce(X)",
    "np.multiply.reduce(X, axis=AXIS)",
    "np.maximum.reduce(X, axis=AXIS)",
    "np.minimum.reduce(X)",
    "np.logical_and.reduce(X)",
    "np.logical_or.reduce(X, axis=AXIS)",
    "nansum(X, axis=AXIS)",
    "nanprod(X)",
    "nanmean(X, axis=AXIS)",
    "nanmin(X, axis=AXIS)",
    "nanmax(X)",
    "nanargmin(X, axis=AXIS)",
    "nanargmax(X, axis=AXIS)",
    "nanvar(X, axis=AXIS)",
    "nanstd(X, ddof=1)",
    "ptp(X, axis=AXIS)",
    "average(X, axis=AXIS, weights=Y)",
    "sum(X, axis=AXIS, where=Y > 0)",
    "max(X, initial=0, where=Y < 2)",
    "layer_norm(X, axis=AXIS)",
    "isclose(X, Y, equal_nan=True)",
    "allclose(X, Y)",
    "array_equal(X, Y)",
    "nan_to_num(X, nan=NUMBER)",
    "diff(X, axis=AXIS)",
    "diff(X, 2, axis=AXIS)",
    "gradient(X, axis=AXIS)",
    "gradient(X, 0.5)[0]",
    "gradient(X, Y, axis=AXIS)",
    "trapezoid(X, axis=AXIS)",
    "trapezoid(X, Y)",
    "convolve(X, Y)",
    "convolve(X, Y, 'same')",
    "correlate(X, Y, 'full')",
    "polyval([2, NUMBER, 1], X)",
    "digitize(X, [0, 1, 2.5])",
    "digitize(X, sort(ravel(Y)), right=True)",
    "digitize(X, arange(20)[::-1])",
    "interp(X, arange(n), arange(n) * 0.5)",
    "interp(X, [0, 1, 2], [5, 6, 4], left=-1)",
    "histogram(X)[0]",
    "histogram(X, 5)[1]",
    "histogram(X, 3, (0, 2))[0]",
    "histogram(X, [0, 1, 4])[0]",
    "histogram(X, sort(ravel(Y)), density=True)[0]",
    "bincount(INDICES, minlength=3)",
    "bincount(INDICES % 3, X, minlength=3)",
    "isin(X, Y)",
    "isin(X, [0, 1, nan], invert=True)",
    "cov(X)",
    "cov(X, rowvar=False)",
    "corrcoef(X)",
    "cross(X, Y)",
    "cross(X[..., :3], [1, NUMBER, 2])",
    "divmod(X, Y)[0]",
    "divmod(X, NUMBER)[1]",
    "modf(X)[0]",
    "modf(X)[1]",
    "meshgrid(X, Y)[0]",
    "meshgrid(X, Y, indexing='ij')[1]",
    "broadcast_arrays(X, Y)[0]",
    "split(X, 3, axis=AXIS)[1]",
    "split(X, [1, n], axis=AXIS)[1]",
    "array_split(X, 4, axis=AXIS)[2]",
    "hsplit(X, 2)[0]",
    "vsplit(X, 2)[1]",
    "unstack(X, axis=AXIS)[0]",
    "unravel_index(INDICES, (3, n))[1]",
    "matmul(X, Y)",
    "X @ Y.T",
    "dot(X, Y)",
    "vdot(X, Y)",
    "vecdot(X, Y)",
    "inner(X, Y)",
    "outer(X, Y)",
    "tensordot(X, Y, 1)",
    "kron(X, Y)",
    "einsum('i,i->', X, Y)",
    "einsum('ij,jk->ik', X, Y)",
    "einsum('...i->...', X)",
    "flip(X, axis=AXIS)",
    "rot90(X)",
    "roll(X, 1, axis=AXIS)",
    "roll(X, -1)",
    "repeat(X, 2, axis=AXIS)",
    "repeat(X, 3)",
    "tile(X, 2)",
    "tile(X, (2, 1))",
    "pad(X, 1)",
    "pad(X, (2, 1), 'edge')",
    "pad(X, 1, 'reflect')",
    "pad(X, (0, 3), 'symmetric')",
    "pad(X, 2, 'wrap')",
    "diagonal(X)",
    "trace(X)",
    "tril(X)",
    "triu(X, 1)",
    "diag(X)",
    "vander(X, 3)",
    "sliding_window_view(X, 2, axis=AXIS)",
    "unfold(X, AXIS, 2, 2)",
    "swapaxes(X, 0, AXIS)",
    "moveaxis(X, 0, AXIS)",
    "squeeze(X)",
    "expand_dims(X, AXIS)",
    "take_along_axis(X, argsort(X, axis=AXIS), axis=AXIS)",
    "vstack([X, Y])",
    "hstack([X, Y])",
    "dstack([X, Y])",
    "column_stack([X, Y])",
    "append(X, Y, axis=AXIS)",
    "atleast_3d(X)",
    "full_like(X, NUMBER)",
    "eye(n, 3)",
    "tri(3, n)",
    "full((n, 2), NUMBER)",
    "segment_count(INDICES, 4)",
    "fabs(X)",
    "heaviside(X, Y)",
    "ldexp(X, 3)",
    "sinc(X)",
    "ndtr(X)",
    "logaddexp2(X, Y)",
    "float_power(X, Y)",
    "spacing(X)",
    "saturating_add(X, Y)",
    "saturating_subtract(X, Y)",
];

/// A name, its dtype and its sizes.
struct Value {
    name: String,
    dtype: String,
    sizes: Vec<String>,
}

/// What a program defines, by its signature.
fn values(text: &str) -> Option<Vec<Value>> {
    let graph = Program::parse("grammar", text).and_then(|program| program.resolve()).ok()?;
    let line = |line: &str| {
        let (name, rest) = line.split_once(": ")?;
        let (dtype, sizes) = rest.strip_suffix(']')?.split_once('[')?;
        let sizes = sizes.split(", ").filter(|size| !size.is_empty()).map(str::to_owned).collect();
        Some(Value { name: name.to_owned(), dtype: dtype.to_owned(), sizes })
    };
    signature(&graph).lines().map(line).collect()
}

struct Grammar<'a> {
    random: &'a mut Random,
    values: Vec<Value>,
}

/// A program that is probably accepted.
pub fn program(random: &mut Random) -> String {
    let mut head = String::from("symbols n, m, k\n");
    if random.below(4) == 0 {
        head += &format!("assume {}\n", pick(random, &FACTS));
    }
    let mut statements = Vec::new();
    for name in ["x", "y", "z", "w"].iter().take(1 + random.below(4)) {
        let rank = [1, 1, 2, 2, 2, 3, 0][random.below(7)];
        let sizes: Vec<&str> = (0..rank).map(|_| pick(random, &SIZES)).collect();
        let dtype =
            if random.below(3) == 0 { pick(random, &DTYPES) } else { ["f32", "f64", "i64"][random.below(3)] };
        head += &format!("input {name}: {dtype}[{}]\n", sizes.join(", "));
        statements.push(format!("{name}_ = {name}"));
    }
    let joined = |statements: &[String]| format!("{head}{}", statements.join("\n"));
    let Some(first) = values(&joined(&statements)) else { return joined(&statements) };
    let mut grammar = Grammar { random, values: first };
    let count = 2 + grammar.random.below(7);
    for number in 0..count * 3 {
        statements.push(format!("v{number} = {}", grammar.expression()));
        match values(&joined(&statements)) {
            Some(values) => grammar.values = values,
            None => drop(statements.pop()),
        }
        if statements.len() > count + 4 {
            break;
        }
    }
    // The inputs themselves are of no interest any more, and not every step has to be an output.
    let inputs = statements.iter().take_while(|statement| !statement.starts_with('v')).count();
    let is_kept: Vec<bool> = statements.iter().map(|_| grammar.random.below(3) == 0).collect();
    let last = statements.len() - 1;
    if last < inputs {
        return joined(&statements);
    }
    let mut lines: Vec<String> = head.lines().map(str::to_owned).collect();
    for (at, statement) in statements.iter().enumerate() {
        let is_let = at < inputs || at < last && !is_kept[at];
        lines.push(format!("{}{statement}", if is_let { "let " } else { "" }));
    }
    // An executable knows nothing of what no output needs, so it would be compared with another program.
    for at in (0..lines.len()).rev() {
        if lines[at].starts_with("let ") || lines[at].starts_with("input ") {
            let line = lines.remove(at);
            if values(&lines.join("\n")).is_none() {
                lines.insert(at, line);
            }
        }
    }
    lines.join("\n")
}

fn pick<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[random.below(of.len())]
}

impl Grammar<'_> {
    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        pick(self.random, of)
    }

    /// Any value, rather a late one.
    fn value(&mut self) -> usize {
        let count = self.values.len();
        self.random.below(count).max(self.random.below(count))
    }

    fn name(&mut self) -> String {
        let value = self.value();
        self.values[value].name.clone()
    }

    /// The name of a value of the same shape as another one, if there is one beside it.
    fn like(&mut self, value: usize) -> String {
        let sizes = &self.values[value].sizes;
        let alike: Vec<usize> =
            (0..self.values.len()).filter(|at| self.values[*at].sizes == *sizes).collect();
        let other = alike[self.random.below(alike.len())];
        if self.random.below(6) == 0 { self.name() } else { self.values[other].name.clone() }
    }

    fn axis(&mut self, value: usize) -> String {
        let rank = self.values[value].sizes.len().max(1);
        let axis = self.random.below(rank) as i64;
        (if self.random.below(2) == 0 { axis } else { axis - rank as i64 }).to_string()
    }

    /// An integer value, for indices.
    fn indices(&mut self) -> String {
        let is_integer = |value: &&Value| value.dtype.starts_with(['i', 'u']);
        let integers: Vec<String> =
            self.values.iter().filter(is_integer).map(|value| value.name.clone()).collect();
        match integers.len() {
            0 => "arange(3)".into(),
            count => integers[self.random.below(count)].clone(),
        }
    }

    fn index(&mut self, value: usize) -> String {
        let count = 1 + self.random.below(self.values[value].sizes.len().max(1));
        let items: Vec<String> = (0..count)
            .map(|_| match self.random.below(9) {
                0 => self.pick(&["0", "-1", "1", "n - 1", "n//2"]).into(),
                1 => "None".into(),
                2 => ":".into(),
                3 => self.indices(),
                4 => "[0, -1]".into(),
                _ => format!("{}:{}:{}", self.pick(&BOUNDS), self.pick(&BOUNDS), self.pick(&STEPS)),
            })
            .collect();
        items.join(", ")
    }

    fn expression(&mut self) -> String {
        let value = self.value();
        let (x, y) = (self.values[value].name.clone(), self.like(value));
        let sizes = self.values[value].sizes.join(", ");
        let axis = self.axis(value);
        let keep = self.pick(&["", "", ", keepdims=True"]);
        match self.random.below(52) {
            0..=2 => format!("{}({x})", self.pick(&UNARY)),
            3..=6 => format!("{x} {} {y}", self.pick(&BINARY)),
            7 | 8 => format!("{x} {} {}", self.pick(&BINARY), self.pick(&NUMBERS)),
            9 => format!("{} {} {x}", self.pick(&NUMBERS), self.pick(&BINARY)),
            10 => format!("{}({x}, {y})", self.pick(&CALLS)),
            11..=14 => format!("{}({x}, axis={axis}{keep})", self.pick(&REDUCTIONS)),
            15 => format!("{}({x})", self.pick(&REDUCTIONS)),
            16 => format!("{x} - {x}.{}(axis={axis}, keepdims=True)", self.pick(&REDUCTIONS)),
            17 => format!("where({x} > {}, {x}, {y})", self.pick(&NUMBERS)),
            18 => format!("{x}.astype({})", self.pick(&DTYPES)),
            19..=22 => format!("{x}[{}]", self.index(value)),
            23 => {
                let (name, k) = (self.pick(&["topk", "argtopk"]), self.pick(&["1", "2", "3", "64", "65"]));
                format!("{name}({x}, {k}, axis={axis}, largest={})", self.pick(&["True", "False"]))
            }
            33 => format!("take({x}, {}, axis={axis})", self.indices()),
            34..=47 => {
                let (indices, number) = (self.indices(), self.pick(&NUMBERS));
                let call = self.pick(&TEMPLATES).replace("AXIS", &axis).replace("INDICES", &indices);
                call.replace("NUMBER", number).replace('X', &x).replace('Y', &y)
            }
            24 => format!("concat([{x}, {y}, {x}], axis={axis})"),
            25 => format!("stack([{x}, {y}], axis={axis})"),
            26 => {
                let op = self.pick(&["sum", "min", "max", "mean"]);
                format!("segment_{op}({x}, {}, {})", self.indices(), self.pick(&["3", "n", "m + 1", "k"]))
            }
            27 => format!(
                "{x}.reshape({})",
                self.pick(&["-1", "-1, 3", "n, -1", "1, -1", "3, -1, 1", "m, n", "-1, 0"])
            ),
            28 => format!("{x}.T"),
            29 => format!("broadcast_to({x}, ({}, {sizes}))", self.pick(&["2", "n", "m", "1", "0", "k"])),
            30 => {
                let wide = self.pick(&["sum", "argmin", "max", "mean"]);
                format!("{wide}(({x}[:, None] - {y}[None, :]) ** 2, axis={axis})")
            }
            31 => format!("clip({x}, {}, {})", self.pick(&NUMBERS), self.pick(&NUMBERS)),
            32 => self
                .pick(&[
                    "arange(n)",
                    "arange(n, 0, -1)",
                    "arange(1, m)",
                    "linspace(0, 1, n)",
                    "size(n*m)",
                    "arange(0, 2*n, 3)",
                    "linspace(-1, 1, 5)",
                    "arange(100)[n:]",
                    "array([1, 2, 3])",
                    "np.array([0.5, nan])",
                ])
                .into(),
            48..=50 => {
                let index = self.index(value);
                let method =
                    self.pick(&["set", "add", "subtract", "multiply", "divide", "minimum", "maximum"]);
                let other = match self.random.below(4) {
                    0 => self.pick(&NUMBERS).into(),
                    1 => format!("{x}[{index}] + {}", self.pick(&NUMBERS)),
                    2 => format!("{y}[{index}]"),
                    _ => self.name(),
                };
                let index =
                    if self.random.below(5) == 0 { format!("{y} > {}", self.pick(&NUMBERS)) } else { index };
                format!("{x}.at[{index}].{method}({other})")
            }
            _ => {
                let tails = [".shape[0]", ".size", " / len(x)", " * x.shape[-1]", "[..., None]", ".ravel()"];
                format!("{x}{}", self.pick(&tails))
            }
        }
    }
}
