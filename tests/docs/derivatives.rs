//! docs/derivatives.md: what each function derives to, from the rows that say so.

use broadloom::{Composed, Op};
use std::fmt::Write;

const HEAD: &str = "\
# Derivatives

Generated from the tables of the source by `UPDATE_DOCS=1 cargo test --test docs`; do not edit.

A derivative is an ordinary expression: it fuses with others, runs in chunks, prints, explains itself, gives the same bits on
any number of threads, and derives again.

| | Rust | text language | Python |
| --- | --- | --- | --- |
| derivatives of a loss without axes by tensors | `loss.grad([w, b])`, `loss.value_and_grad([w, b])` | `grad(loss, w)`, `grad(loss, (w, b))[0]` | `bl.grad(f)`, `bl.value_and_grad(f)` |
| of `sum(y * cotangent)`: the vector-Jacobian product | `y.vjp(cotangent, [x])` | `vjp(y, x, cotangent)` | `bl.vjp(f, x)` |
| of `y` along tangents: the Jacobian-vector product | `y.jvp([(x, dx)])` | `jvp(y, x, dx)` | `bl.jvp(f, (x,), (dx,))` |
| of the gradient along tangents: the Hessian-vector product | `loss.hvp([(x, dx)])` | `jvp(grad(loss, x), x, dx)` | `bl.jvp(bl.grad(f), (x,), (dx,))` |
| a value that is constant for derivatives | `x.stop_gradient()` | `stop_gradient(x)` | `bl.stop_gradient(x)` |
| a value with the derivatives of another | `value.with_gradient(other)` | `with_gradient(value, other)` | `bl.with_gradient(value, other)` |

The derivative by a tensor has its shape and dtype; by one that the loss does not read, it is 0. A tensor may be an input or
any other floats on the way to the loss. Derivatives of f16 and bf16 are computed in f32 and rounded once.

`with_gradient` states a rule of your own: if `f(x)` derives to `d`, it is `with_gradient(f(x), x * stop_gradient(d))`.

## Where there is no derivative

The derivative where there is one. Else, of the slopes between those on either side, the one of least magnitude (a
subgradient); operands that tie share; against a number a tie counts as 0. Else the limit, which may be infinite. Outside of
a function's domain it is NaN. Elements that a selection leaves out have no part in a derivative, whatever their values are:
the derivative of `where(x > 0, log(x), 0)` at 0 is 0.

| function | choice |
| --- | --- |
| `abs`, `sign`, `hypot`, norms at 0 | 0. Where a root, a power or a logarithm lies above squares, products or magnitudes of `x`, a zero `x` gets 0, so that points may coincide. A plain `sqrt` at 0 has an infinite derivative |
| `maximum`, `minimum`, `fmax`, `fmin`, `clip` of tensors | two that tie get half each |
| the same against a number; `relu` | 0 at the tie: `relu(x)`, `maximum(x, 0)` and `clip(x, 0, inf)` agree |
| `max` and `min` over axes, of segments | shared equally by all that tie; if the extreme is NaN, NaN for the elements that are NaN |
| `cummax`, `cummin`, `topk`, `sort`, `median`, `quantile` | to the elements that they choose; of equal ones the first |
| `pow` | `x**0` by `x` is 0; `0**y` by `y` is 0 for `y >= 0` |
| `prod`, `cumprod` | the product of the others, also with zeros, and so are derivatives of derivatives |
| products of segments and at positions | the product of the others, also with zeros. It is a quotient, and so are derivatives of derivatives: these are 0 beside zeros |
| `floor`, `round`, comparisons, casts to integers, positions, counts | 0 |
| `atan2` at the origin | 0 |
| `logsumexp` of nothing but minus infinities | 0 |
| sums of products (`matmul`, `einsum`) beside elements left out | the rule holds if the factors are finite |
| integers and bool | an error: there is no derivative of them or by them; cast to floats first |

## Ops of the table

`x`, `y`, `z` are the operands, `r` is the result. `a.recip()` is `1 / a`; `a.within(c)` is `a` where `c` holds and NaN
elsewhere; `a.unless_zero(b)` is `a`, and 0 where `b` is 0; `wins(x, y)` is 1 where `x` is greater and 1/2 where both are equal,
or 0 there if `y` is a number, and `loses(x, y)` the same for the lesser; `both` is a product; `over_square(x, r)` is
`x / r / r`; `share`, `by_base`, `by_exponent`, `tanh_gelu` and `slope_of_sinc` are in `broadloom-ir/src/partial.rs`. *flat* is 0 everywhere between steps, *none* an op on integers or truth values.

| op | derivatives by its operands |
| --- | --- |
";

const COMPOSED: &str = "
## Functions made of these

Others derive as what they are made of.

| function | derivatives by its operands |
| --- | --- |
";

const TAIL: &str = "| `logsumexp(x)` | `exp(x - r)` |
| `softmax(x)` | `r * (dx - sum(r * dx))` along a tangent |
| `log_softmax(x)` | `dx - sum(exp(r) * dx)` along a tangent |
| `var(x)`, and `std`, `layer_norm` by it | `2 * (x - mean(x)) / n`: the mean has no part in it |

## Everything else

| expression | backwards |
| --- | --- |
| `sum`, `mean` | stretched along the axes, divided by the count |
| operands that stretch | summed along the axes that they do not have |
| reshape, transpose, new and removed axes, `rebind` | the inverse |
| slices | put into zeros |
| windows | summed over the windows that contain an element |
| `take`, `x[i]` | the sum of each segment |
| `sort`, `topk` | put back to where the elements came from |
| `segment_sum`, `segment_mean` | taken by the ids |
| `cumsum` | a running sum from the end |
| `cumprod` | running sums of products from the end, divided by the element; derivatives of these step by step |
| `concat` | its slices |
| `x.at[..].set(v)` | zero in the region for `x`, the region for `v`; of equal positions the last |
| sums of products | sums of products |
| `for`, scans, recurrences | the steps from the last to the first. What a loop carries before each step is kept: as many arrays as there are steps. Loops whose steps the data count derive only forwards |

Windows of more than 16 elements whose cotangents differ take time in the square of their length, those of up to 16 in their
length, and means and sums of windows of any length one pass.

Sums within a derivative have the order of a walk from the loss, so that statements which the loss does not read change no bit.

`crates/broadloom-text/tests/text/derive` compares the derivatives of all of these with differences of fourth order, forward
with reverse mode, and every row above at its kinks; `tests/oracle` compares compiled derivatives of random graphs with
interpreted ones, bit for bit.
";

/// The page.
pub fn render() -> String {
    let mut page = String::from(HEAD);
    for op in Op::ALL {
        row(&mut page, op.name(), op.operands(), op.derivatives());
    }
    page.push_str(COMPOSED);
    for function in Composed::ALL.iter().filter(|function| !function.derivatives().is_empty()) {
        row(&mut page, function.name(), function.operands(), function.derivatives());
    }
    page.push_str(TAIL);
    page
}

/// The source of a formula as people write it.
fn tidy(formula: &str) -> String {
    let line = formula.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.replace("(- ", "(-").replace("* - ", "* -").replace(" :: ", "::").replace('|', "\\|");
    line.strip_prefix("- ").map_or(line.clone(), |rest| format!("-{rest}"))
}

fn row(page: &mut String, name: &str, operands: &[&str], derivatives: &[&str]) {
    let parts: Vec<String> = derivatives
        .iter()
        .map(|derivative| match *derivative {
            "Flat" => "*flat*".to_owned(),
            "Undefined" => "*none*".to_owned(),
            formula => format!("`{}`", tidy(formula)),
        })
        .collect();
    let is_same = parts.iter().all(|part| part.starts_with('*') && *part == parts[0]);
    let shown = if is_same { parts[0].clone() } else { parts.join(", ") };
    let _ = writeln!(page, "| `{name}({})` | {shown} |", operands.join(", "));
}
