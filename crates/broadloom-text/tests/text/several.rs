//! Functions with several results, and counts, by what is accepted, and what is said of the others.

use broadloom_ir::dtype::DType;
use broadloom_text::{Given, Program};

const X: Given<'static> = Given { name: "x", dtype: DType::F64, shape: &[6, 4], rows: None, names: None };

fn resolved(text: &str) -> Result<String, String> {
    let program = Program::parse("case", text).map_err(|mistakes| format!("{mistakes:#}"))?;
    let graph = program.resolve_with(&[X]).map_err(|mistakes| format!("{mistakes:#}"))?;
    let output = graph.outputs().last().ok_or("there is no output")?;
    Ok(format!("{}{:?}", graph.dtype(output.expr), graph.shape(output.expr)))
}

#[test]
fn results_are_taken_by_number() {
    for (text, shape) in [
        ("divmod(x, 2)[0]", "f64[6, 4]"),
        ("q = divmod(x, 2); y = q", ""),
        ("let q = divmod(x, 2); q[0] * 2 + q[-1]", "f64[6, 4]"),
        ("np.meshgrid(x[:, 0], x[0])[0]", "f64[4, 6]"),
        ("np.meshgrid(x[:, 0], x[0], indexing=\"ij\")[1]", "f64[6, 4]"),
        ("np.stack(np.meshgrid(x[:, 0], x[0]))", "f64[2, 4, 6]"),
        ("np.gradient(x)[1]", "f64[6, 4]"),
        ("np.gradient(x, axis=1)", "f64[6, 4]"),
        ("np.gradient(x[0])", "f64[4]"),
        ("split(x, [1, 4])[1]", "f64[3, 4]"),
        ("array_split(x, 4, axis=0)[0]", "f64[2, 4]"),
        ("len(unstack(x)) + x", "f64[6, 4]"),
        ("repeat(x, [1, 2, 0, 1], axis=1)", "f64[6, 4]"),
        ("histogram(x, bins=3)[0]", "i64[3]"),
        ("histogram(x, [0.0, 1.0])[1]", "f64[2]"),
        ("input a: f32[4 * n]; split(a, 4)[3]", "f32[s0]"),
    ] {
        match resolved(text) {
            Ok(found) => assert_eq!(found, shape, "{text}"),
            Err(said) => assert_eq!("", shape, "{text}: {said}"),
        }
    }
}

#[test]
fn mistakes_say_what_to_type() {
    for (text, says) in [
        ("divmod(x, 2)", "divmod(x, 2)[0]"),
        ("divmod(x, 2) + 1", "select one of them by its number"),
        ("divmod(x, 2)[2]", "there are 2, numbered 0 to 1"),
        ("divmod(x, 2)[:1]", "by its number"),
        ("let i = argmax(x); divmod(x, 2)[i]", "by its number"),
        ("meshgrid(x, x)[0]", "rank 1"),
        ("meshgrid(x[0], indexing='yx')[0]", "'xy' or 'ij'"),
        ("split(x, 4)[0]", "array_split"),
        ("split(x, 0)[0]", "1 to 4096"),
        ("input a: f32[n]; split(a, 4)[0]", "a multiple of the number of parts"),
        ("unstack(x, axis=-3)[0]", "`unstack` cannot use axis -3: the rank is 2"),
        ("split(x, 2, axis=2)[0]", "`split` cannot use axis 2: the rank is 2"),
        ("repeat(x, x)", "`counts.astype(i64)`"),
        ("repeat(x, [1, 2], axis=0)", "one for each element"),
        ("repeat(x, [1, 2, 3, -4], axis=1)", "cannot repeat elements a negative number of times"),
        ("repeat(x, -1)", "cannot repeat elements a negative number of times"),
        ("tile(x, -2)", "`tile` cannot repeat elements a negative number of times"),
        ("pad(x[:0], 1, 'reflect')", "cannot extend an empty axis by its own elements: pad with a constant"),
        ("let a, b = meshgrid(x[0], x[0]); a + b", "by its number: `a = ..[0]`"),
        ("a, b = meshgrid(x[0], x[0]); a + b", "a definition has one name"),
        ("input a: f32[n]; repeat(a, [1, 2])", "constant size"),
        ("bincount(x.ravel())", "integer indices"),
        ("histogram(x, bins=0)", "1 to 16777216 bins"),
        ("histogram(x, range=(2, 1))[0]", "the lower one first"),
        ("histogram(x, [0, 2, 1])[0]", "bounds that do not decrease"),
        ("gradient(x, 1, 2, 3)", "one for each axis"),
        ("gradient(x[:1], axis=0)", "two elements"),
        ("convolve(x, x)", "rank 1"),
        ("convolve(x[0], x[0][:0])", "at least one element in each operand"),
        ("convolve(x[0], x[0], 'half')", "takes 'full', 'same' or 'valid' as `mode`"),
        ("cross(x, x)", "vectors of three"),
        ("max(x, axis=True)", "found `True` or `False`"),
        ("input w: f64[_, 1000000007]; sum(w @ w)", "has more elements than can be addressed"),
        ("zeros(-1)", "`zeros` gives axis 0 the negative size"),
        ("x.astype('complex')", "a dtype"),
    ] {
        let said = resolved(text).expect_err(text);
        assert!(said.contains(says), "{text}: {said}");
    }
}
