//! Every function by its name, as a method, and by its other names.

use crate::support::{assert_round_trip, graph};
use broadloom_ir::dtype::{Class, DType};
use broadloom_ir::graph::Node;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// A dtype on which the op is defined.
fn dtype(op: Op) -> DType {
    let class = [Class::Float, Class::Int, Class::Bool].into_iter().find(|class| op.accepts(*class));
    match class {
        Some(Class::Float) => DType::F32,
        Some(Class::Int) => DType::I32,
        Some(Class::Bool) | None => DType::Bool,
    }
}

fn makes(text: &str, op: Op) {
    let graph = graph(text);
    let output = graph.outputs()[0].expr;
    let is_op = matches!(graph.node(output), Node::Elementwise { op: own, .. } if *own == op);
    assert!(is_op, "{text}\n{graph}");
    assert_round_trip(&graph);
}

#[test]
fn every_row_of_the_table_by_name_and_as_a_method() {
    for &op in Op::ALL {
        let dtype = dtype(op);
        let names = &["x", "y", "z"][..op.arity()];
        let inputs: Vec<String> = names.iter().map(|name| format!("input {name}: {dtype}[n]\n")).collect();
        let inputs = inputs.concat();
        makes(&format!("{inputs}{op}({})", names.join(", ")), op);
        makes(&format!("{inputs}np.{op}({})", names.join(", ")), op);
        makes(&format!("{inputs}x.{op}({})", names[1..].join(", ")), op);
    }
}

/// NumPy's, SciPy's and the DSL's names of rows that have others.
const OP_ALIASES: &[(&str, Op)] = &[
    ("np.absolute", Op::Abs),
    ("np.power", Op::Pow),
    ("np.true_divide", Op::Divide),
    ("np.mod", Op::Remainder),
    ("np.arcsin", Op::Asin),
    ("np.arccos", Op::Acos),
    ("np.arctan", Op::Atan),
    ("np.arctan2", Op::Atan2),
    ("np.arcsinh", Op::Asinh),
    ("np.arccosh", Op::Acosh),
    ("np.arctanh", Op::Atanh),
    ("np.radians", Op::Deg2rad),
    ("np.degrees", Op::Rad2deg),
    ("np.around", Op::Round),
    ("np.fix", Op::Trunc),
    ("np.invert", Op::BitwiseInvert),
    ("np.bitwise_not", Op::BitwiseInvert),
    ("np.left_shift", Op::BitwiseLeftShift),
    ("np.right_shift", Op::BitwiseRightShift),
    ("np.bitwise_count", Op::CountOnes),
    ("scipy.special.expit", Op::Sigmoid),
    ("clamp", Op::Clip),
    ("mul", Op::Multiply),
    ("sub", Op::Subtract),
    ("div", Op::Divide),
    ("neg", Op::Negative),
    ("eq", Op::Equal),
    ("ne", Op::NotEqual),
    ("lt", Op::Less),
    ("le", Op::LessEqual),
    ("gt", Op::Greater),
    ("ge", Op::GreaterEqual),
];

#[test]
fn rows_by_their_other_names() {
    for &(alias, op) in OP_ALIASES {
        let dtype = match dtype(op) {
            DType::F32 if matches!(op, Op::BitwiseLeftShift | Op::BitwiseRightShift) => DType::I32,
            dtype => dtype,
        };
        let names = &["x", "y", "z"][..op.arity()];
        let inputs: Vec<String> = names.iter().map(|name| format!("input {name}: {dtype}[n]\n")).collect();
        makes(&format!("{}{alias}({})", inputs.concat(), names.join(", ")), op);
    }
}

#[test]
fn every_reduction() {
    for op in ReduceOp::ALL {
        for (call, shape) in [
            (format!("{op}(x)"), "[]"),
            (format!("{op}(x, 0)"), "[m]"),
            (format!("{op}(x, axis=-1)"), "[n]"),
            (format!("x.{op}(axis=(0, 1))"), "[]"),
            (format!("np.{op}(x, axis=[1], keepdims=True)"), "[n, 1]"),
            (format!("{op}(x, axis=None)"), "[]"),
        ] {
            let graph = graph(&format!("symbols n, m\ninput x: f32[n, m]\noutput y = {call}"));
            let output = graph.outputs()[0].expr;
            assert!(matches!(graph.node(output), Node::Reduce { op: own, .. } if own == op), "{call}");
            let signature = broadloom_text::signature(&graph);
            assert!(signature.ends_with(&format!("{shape}\n")), "{call}: {signature}");
            assert_round_trip(&graph);
        }
    }
}

/// Every other function, with what it makes of `x: f32[n, 3]`, `i: i32[n]` and `c: bool[n, 3]`.
const OTHERS: &[(&str, &str)] = &[
    ("var(x)", "f32[]"),
    ("np.var(x, axis=0, ddof=1)", "f32[3]"),
    ("x.std(axis=1, keepdims=True, correction=1)", "f32[n, 1]"),
    ("count_nonzero(x, axis=1)", "i64[n]"),
    ("logsumexp(x, axis=-1)", "f32[n]"),
    ("softmax(x, axis=-1)", "f32[n, 3]"),
    ("scipy.special.log_softmax(x, axis=-1)", "f32[n, 3]"),
    ("np.linalg.norm(x, axis=1)", "f32[n]"),
    ("norm(x, 1, axis=1, keepdims=True)", "f32[n, 1]"),
    ("norm(x.ravel(), ord=inf)", "f32[]"),
    ("norm(x, axis=(0, 1))", "f32[]"),
    ("x @ x.T", "f32[n, n]"),
    ("x.T @ x", "f32[3, 3]"),
    ("i @ x", "f64[3]"),
    ("x @ [1, 2, 3]", "f64[n]"),
    ("c.T @ c", "bool[3, 3]"),
    ("i @ i", "i32[]"),
    ("matmul(x, x.T)", "f32[n, n]"),
    ("np.matmul(x1=x, x2=x.T)", "f32[n, n]"),
    ("x.matmul(x.T)", "f32[n, n]"),
    ("np.dot(a=x, b=x.T)", "f32[n, n]"),
    ("x.dot(2)", "f32[n, 3]"),
    ("vdot(x, x)", "f32[]"),
    ("vecdot(x, x)", "f32[n]"),
    ("np.vecdot(x, x, axis=0)", "f32[3]"),
    ("np.linalg.vecdot(x, x, axis=-1)", "f32[n]"),
    ("inner(x, x)", "f32[n, n]"),
    ("outer(i, i)", "i32[n, n]"),
    ("tensordot(x, x)", "f32[]"),
    ("np.tensordot(x, x.T, axes=1)", "f32[n, n]"),
    ("tensordot(x, x, axes=([0], [0]))", "f32[3, 3]"),
    ("tensordot(x, x, (1, 1))", "f32[n, n]"),
    ("kron(i, x)", "f64[n, 3*n]"),
    ("np.einsum('ij,kj->ik', x, x)", "f32[n, n]"),
    ("einsum(\"ij,ik\", x, x)", "f32[3, 3]"),
    ("einsum(subscripts='ij->', operands=x)", "f32[]"),
    ("einsum('i,ij,kj,k->', i, x, x, i)", "f64[]"),
    ("einsum('...j->...', x)", "f32[n]"),
    ("einsum('ii->i', x @ x.T)", "f32[n]"),
    ("where(c, x, 0)", "f32[n, 3]"),
    ("select(c, 1.5, x)", "f32[n, 3]"),
    ("np.where(x > 0, x, np.nan)", "f32[n, 3]"),
    ("x.astype(np.float64)", "f64[n, 3]"),
    ("cast(x, u8)", "u8[n, 3]"),
    ("i64(x)", "i64[n, 3]"),
    ("reshape(x, (3, n))", "f32[3, n]"),
    ("x.reshape(-1)", "f32[3*n]"),
    ("x.reshape(n, -1, 1)", "f32[n, 3, 1]"),
    ("rebind(x, (4, None))", "f32[4, 3]"),
    ("x.ravel()", "f32[3*n]"),
    ("np.broadcast_to(x, (2, n, 3))", "f32[2, n, 3]"),
    ("permute_dims(x, (1, 0))", "f32[3, n]"),
    ("x.transpose(1, 0)", "f32[3, n]"),
    ("np.transpose(x)", "f32[3, n]"),
    ("x.T", "f32[3, n]"),
    ("x.mT", "f32[3, n]"),
    ("x.t()", "f32[3, n]"),
    ("np.swapaxes(x, 0, -1)", "f32[3, n]"),
    ("expand_dims(x, axis=(0, 2))", "f32[1, n, 1, 3]"),
    ("x.unsqueeze(1)", "f32[n, 1, 3]"),
    ("squeeze(x[:, None], axis=1)", "f32[n, 3]"),
    ("x[None].squeeze()", "f32[n, 3]"),
    ("np.flip(x, axis=0)", "f32[n, 3]"),
    ("flip(x)", "f32[n, 3]"),
    ("take(x, i, axis=0)", "f32[n, 3]"),
    ("take(i, i)", "i32[n]"),
    ("x[i]", "f32[n, 3]"),
    ("x[:, i]", "f32[n, n]"),
    ("x[i, i]", "f32[n]"),
    ("x[i[:, None], [0, 2]]", "f32[n, 2]"),
    ("x[i, ..., None, [1]]", "f32[n, 1]"),
    ("x.at[i, 0].add(1)", "f32[n, 3]"),
    ("x.at[:, [2, 0]].set(x[:, :1])", "f32[n, 3]"),
    ("np.concatenate([x, x], axis=0)", "f32[2*n, 3]"),
    ("concat((x, x), axis=-1)", "f32[n, 6]"),
    ("stack([i, i], axis=1)", "i32[n, 2]"),
    ("topk(x, 2)", "f32[n, 2]"),
    ("x.topk(k=3, dim=1, largest=False)", "f32[n, 3]"),
    ("argtopk(x, 2, axis=-1)", "i64[n, 2]"),
    ("x.argtopk(5, axis=0, largest=True)", "i64[5, 3]"),
    ("top_k(c, 1)", "bool[n, 1]"),
    ("mean(topk(exp(x), 2), axis=-1)", "f32[n]"),
    ("np.sort(x)", "f32[n, 3]"),
    ("x.sort(axis=0, descending=True)", "f32[n, 3]"),
    ("sort(x, axis=None)", "f32[3*n]"),
    ("np.argsort(x, axis=-1, kind='stable')", "i64[n, 3]"),
    ("argsort(x, stable=True)", "i64[n, 3]"),
    ("np.searchsorted(sort(i), x)", "i64[n, 3]"),
    ("i.searchsorted(2, side='right')", "i64[]"),
    ("np.median(x)", "f32[]"),
    ("median(i, axis=0, keepdims=True)", "f64[1]"),
    ("nanmedian(x, axis=(0, 1))", "f32[]"),
    ("np.quantile(x, 0.25, axis=0)", "f32[3]"),
    ("quantile(x, [0.25, 0.5], axis=1, method='lower')", "f32[2, n]"),
    ("np.nanpercentile(x, [5, 95], axis=0, keepdims=True)", "f64[2, 1, 3]"),
    ("np.diff(x)", "f32[n, 2]"),
    ("diff(x, 2, axis=0)", "f32[n-2, 3]"),
    ("x.diff(n=5)", "f32[n, 0]"),
    ("diff(c, axis=0)", "bool[n-1, 3]"),
    ("diff(i, 0)", "i32[n]"),
    ("segment_sum(x, i, 4)", "f32[4, 3]"),
    ("segment_min(x, i, 4)", "f32[4, 3]"),
    ("segment_max(x, i, n)", "f32[n, 3]"),
    ("segment_mean(x, i, segments=4)", "f32[4, 3]"),
    ("segment_count(i, 4)", "i64[4]"),
    ("arange(2*n)", "i64[2*n]"),
    ("iota(5)", "i64[5]"),
    ("linspace(0, 1, 11)", "f64[11]"),
    ("size(n + 1)", "i64[]"),
    ("n + 1", "i64[]"),
    ("n % 4", "i64[]"),
    ("clip(x, 0, None)", "f32[n, 3]"),
    ("np.clip(x, a_min=None, a_max=1.5)", "f32[n, 3]"),
    ("clip(x, min=0, max=1)", "f32[n, 3]"),
    ("x.max(axis=0, initial=-inf)", "f32[3]"),
    ("min(x, axis=0, initial=5)", "f32[3]"),
    ("np.amax(x, axis=0)", "f32[3]"),
    ("np.amin(x)", "f32[]"),
    ("np.product(x, axis=1)", "f32[n]"),
    ("x.flatten()", "f32[3*n]"),
    ("matrix_transpose(x)", "f32[3, n]"),
    ("x ** 2", "f32[n, 3]"),
    ("x ** 0.5 + x ** -1 + x ** 3", "f32[n, 3]"),
    ("f32(1.5) + f16(2)", "f32[]"),
    ("2 * pi * x", "f32[n, 3]"),
    ("np.sqrt(2) * x", "f64[n, 3]"),
    ("x[0]", "f32[3]"),
    ("x[..., -1]", "f32[n]"),
    ("x[1:, None, ::2]", "f32[n-1, 1, 2]"),
    ("x[::-1, np.newaxis]", "f32[n, 1, 3]"),
    ("x[:, 2:0:-1]", "f32[n, 2]"),
    ("x[-1:-3:-1]", "f32[2, 3]"),
    ("x[n//2:n]", "f32[n-(n//2), 3]"),
    ("add(x, i.astype(f32), axis=0)", "f32[n, 3]"),
    ("x.multiply(i, axis=0)", "f64[n, 3]"),
    ("arange(1, n + 2)", "i64[n+1]"),
    ("arange(n, 0, -2)", "i64[(n+1)//2]"),
    ("arange(5, 2)", "i64[0]"),
    ("arange(n, dtype=f16)", "f16[n]"),
    ("arange(stop=4)", "i64[4]"),
    ("x[:, [2, 0]]", "f32[n, 2]"),
    ("x[[0, -1]]", "f32[2, 3]"),
    ("x[0, i]", "f32[n]"),
    ("x[None, i, 1:]", "f32[1, n, 2]"),
    ("x.reshape(c.shape)", "f32[n, 3]"),
    ("x.reshape(x.shape[0], 1, -1)", "f32[n, 1, 3]"),
    ("broadcast_to(x[0], x.shape)", "f32[n, 3]"),
    ("x * len(x) / (n / 2)", "f32[n, 3]"),
    ("i + n", "i64[n]"),
    ("x * size(n)", "f64[n, 3]"),
    ("size(x)", "i64[]"),
    ("x.astype(i.dtype)", "i32[n, 3]"),
    ("len(x.shape) + x.ndim + ndim(i)", "i64[]"),
    ("round(x, 2)", "f32[n, 3]"),
    ("round(i, -1)", "i32[n]"),
    ("array([[1, 2], [3, 4]])", "i64[2, 2]"),
    ("asarray([1, 2.5], dtype=f32)", "f32[2]"),
    ("from_bits(f32, 0x7fc00001)", "f32[]"),
    ("x.sum(axis=0, dtype=f64)", "f64[3]"),
    ("i.sum(dtype=i8)", "i8[]"),
    ("symbols.n * 2", "i64[]"),
    ("x.clip(max=1)", "f32[n, 3]"),
];

#[test]
fn every_other_function() {
    for (call, signature) in OTHERS {
        let text = format!("symbols n\ninput x: f32[n, 3]\ninput i: i32[n]\ninput c: bool[n, 3]\n{call}");
        let graph = graph(&text);
        assert_eq!(broadloom_text::signature(&graph), format!("result: {signature}\n"), "{call}");
        assert_round_trip(&graph);
    }
}
