//! Warnings of programs that are valid and rarely meant, and their absence where programs are right.

use broadloom_text::Program;

const DECLARED: &str = "
input u: u8[4]
input v: u8[4]
input img: u8[5, 6, 3]
input matrix: u8[4, 4]
input a: i8[4]
input b: i8[4]
input c: i16[4]
input d: i16[4]
input wide: u32[4]
input x: f64[4, 3]
input w: f64[3, 1]
input q: f64[3]
input y: f64[4]
input p: f64[4, 1]
input s: f64[4, 4]
input mask: bool[4]
";

/// The codes of the warnings of a program, those that `eval` prints with `!`.
#[track_caller]
fn warned(program: &str) -> Vec<String> {
    let text = format!("{DECLARED}{program}");
    let resolved = Program::parse("lints", &text).and_then(|program| program.resolve_in_full(&[]));
    let resolved = resolved.unwrap_or_else(|mistakes| panic!("{program}\n{mistakes:#}"));
    let Some(warnings) = resolved.warnings else { return Vec::new() };
    let likely = warnings.likely_wrong();
    let is_likely = |span| likely.iter().flat_map(|likely| likely.as_slice()).any(|of| of.span == span);
    let code = |warning: &broadloom_text::Mistake| {
        format!("{}{}", warning.problem.code(), if is_likely(warning.span) { "!" } else { "" })
    };
    warnings.as_slice().iter().map(code).collect()
}

#[track_caller]
fn all_warn(expected: &str, programs: &[&str]) {
    for program in programs {
        assert_eq!(warned(program), [expected], "{program}");
    }
}

/// `(n, 1)` beside `(n,)`: of data, of products and of reductions.
#[test]
fn columns_of_computed_predictions_meet_rows() {
    all_warn(
        "L001!",
        &[
            "((p - y)**2).mean()",
            "((x @ w - y)**2).mean()",
            "((x @ q[:, None] - y)**2).mean()",
            "abs(y - x @ w).mean()",
            "let prediction = 2 * (x @ w) + 1; prediction - y",
            "einsum('ij,jk->ik', x, w) - y",
            "dot(x, w) * y",
            "x.mean(axis=1, keepdims=True) - y",
            "x[:, :1] - y",
            "let column = arange(4.0)[:, None]; ((column - y)**2).mean()",
            "where(y > 0, p, 0)",
            "where(mask, y, p)",
            "isclose(p, y)",
            "allclose(p, y)",
            "maximum(p, y)",
            "logaddexp(p, y)",
            "copysign(p, y)",
        ],
    );
    // Tables of all pairs, of which only `--strict` tells.
    all_warn(
        "L001",
        &[
            "y[:, None] + x[:, 0]",
            "abs(y[:, None] - x[:, 0]).mean()",
            "y[:, newaxis] - y",
            "y.reshape(4, 1) - x[:, 0]",
            "let column = y[:, None]; column + x[:, 0]",
            "let column = y[:, None]; column - y",
            "where(mask[:, None], y, 0)",
        ],
    );
}

#[test]
fn integers_with_few_bits_wrap() {
    all_warn(
        "L003!",
        &[
            // Sums of products.
            "u @ v",
            "dot(u, v)",
            "vdot(u, v)",
            "inner(u, v)",
            "vecdot(u, v)",
            "tensordot(u, v, 1)",
            "einsum('i,i->', u, v)",
            "matrix @ u",
            "matrix @ matrix.T",
            "a @ b",
            "c @ d",
            // Sums that are divided come too late.
            "(u + v) / 2",
            "(u + v) // 2",
            "(u + v + 1) // 2",
            "(u + v) >> 1",
            "(u + v) * 0.5",
            "(u + v).mean()",
            "mean(u + v + u[::-1])",
            "(img[..., 0] + img[..., 1] + img[..., 2]) / 3",
            "(img[..., 0] + img[..., 1] + img[..., 2]) // 3",
            "(y.astype(u8) + p[:, 0].astype(u8)) / 2",
            // |100 - (-100)| is beyond 127.
            "abs(a - b)",
            "abs(c - d)",
            "absolute(subtract(a, b)).max()",
            // Below 0 there is nothing.
            "maximum(u - v, 0)",
            "clip(u - v, 0, 9)",
            "fmax(u - v, u)",
            "sign(u - v)",
            "abs(u - v)",
        ],
    );
    // One of the operands may be known to be small.
    all_warn(
        "L003",
        &[
            "(u * v).sum()",
            "(u * v).mean()",
            "(u * v) / 255",
            "(u * v) // 255",
            "(a * b).astype(f32)",
            "sqrt(c * d)",
            "(u * v) > 9",
            "outer(u, v)",
            "einsum('i,j->ij', u, v)",
            "-u",
            "argsort(-u)",
        ],
    );
}

#[test]
fn reductions_meet_other_axes() {
    all_warn(
        "L004!",
        &[
            "s - s.mean(axis=1)",
            "(s - s.mean(axis=0)) / s.std(axis=1)",
            "s + 1 - s.mean(axis=1)",
            "s - logsumexp(s, axis=1)",
            "exp(s - s.max(axis=1, keepdims=True)) / exp(s).sum(axis=1)",
            "s - s.T.mean(axis=0)",
            "s.T - s.mean(axis=0)",
            "exp(s) / exp(s).sum(axis=1)",
            "s - s.mean(axis=1, keepdims=True).squeeze(1)",
            "s / norm(s, axis=1)",
            "s - average(s, axis=1)",
            "s - ptp(s, axis=1)",
            "s - median(s + 1, axis=1)",
            "where(s > s.mean(axis=1), s, 0)",
        ],
    );
}

#[test]
fn right_programs_stay_silent() {
    for program in [
        // Photographs.
        "img / 255",
        "img.astype(f32) / 255",
        "img.mean(axis=(0, 1))",
        "img.astype(f32).mean(axis=2)",
        "(img[..., 0].astype(u16) + img[..., 1] + img[..., 2]) / 3",
        "0.299 * img[..., 0] + 0.587 * img[..., 1] + 0.114 * img[..., 2]",
        "((u.astype(i32) - v)**2).sum()",
        "abs(u.astype(i16) - v.astype(i16))",
        "maximum(u, v) - minimum(u, v)",
        "255 - u",
        "u > v",
        "where(u > v, u - v, v - u)",
        "u + v",
        "u * mask",
        "(u * mask.astype(u8)).sum()",
        "mask.astype(u8) @ u",
        "u.astype(i64) @ v.astype(i64)",
        "u @ y",
        "(u.astype(f64) * v).sum()",
        "multiply(u, v, dtype=f64).sum()",
        "u.sum() / 4",
        "(u // 2 + v // 2)",
        "u / 2 + v / 2",
        "-(u.astype(i32))",
        "-a",
        // Signed differences of room enough.
        "abs(a.astype(i32) - b)",
        "abs(c.astype(f32) - d)",
        "abs(wide.astype(i64) - 5)",
        "(c - d).astype(f32)",
        "c - d",
        // Shapes that are meant.
        "x - x.mean(axis=0)",
        "x - x.mean(axis=1, keepdims=True)",
        "x - x.mean(axis=1)[:, None]",
        "(x @ w)[:, 0] - y",
        "(x @ w).ravel() - y",
        "x @ q - y",
        "p - y[:, None]",
        "s - s.mean(axis=0)",
        "(s - s.mean(axis=0)) / s.std(axis=0)",
        "s - s.mean(axis=1)[:, None]",
        "s - s.mean(axis=0) - s.mean(axis=1)[:, None] + s.mean()",
        "s - s.T.mean(axis=1)",
        "s.T - s.mean(axis=1)",
        "s.T / s.sum(axis=1)",
        "s - logsumexp(s, axis=1, keepdims=True)",
        "exp(s - s.max(axis=0)) / exp(s).sum(axis=0)",
        "s / s.sum()",
        "s * y",
        "s - x.mean(axis=1)",
        "s / outer(diag(s), diag(s))",
        "s / diag(s) / diag(s)[:, None]",
        "where(y > 0, y, 0)",
        "isclose(x, x[0])",
    ] {
        assert_eq!(warned(program), Vec::<String>::new(), "{program}");
    }
}
