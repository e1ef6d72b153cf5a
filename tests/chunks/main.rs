//! Running chunk by chunk: the same bits as all rows at once, for any chunks; and what is refused.

mod reduced;
mod refused;

use broadloom::prelude::*;
use broadloom::{AnyArray, ChunkError, Chunked, Inputs, Scalar, Threads};
use broadloom_ir::for_each_dtype;
use broadloom_text::Program;
use std::collections::BTreeMap;

/// The bits of an element, with all NaNs equal.
fn bits_of(element: Scalar) -> u64 {
    let is_nan = match element {
        Scalar::F16(x) => x.is_nan(),
        Scalar::Bf16(x) => x.is_nan(),
        Scalar::F32(x) => x.is_nan(),
        Scalar::F64(x) => x.is_nan(),
        _ => false,
    };
    if is_nan { u64::MAX } else { element.bits() }
}

/// Dtype, shape, and the bits of the elements.
fn bits(array: &AnyArray) -> (DType, Vec<usize>, Vec<u64>) {
    macro_rules! bits {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match array.dtype() {
                $(DType::$variant => {
                    let elements = array.as_slice::<$rust>().expect("the dtype was asked for");
                    elements.iter().map(|element| bits_of(element.into_scalar())).collect()
                })*
            }
        };
    }
    (array.dtype(), array.shape().to_vec(), for_each_dtype!(bits))
}

type Results = BTreeMap<String, (DType, Vec<usize>, Vec<u64>)>;

fn results(outputs: &Outputs) -> Results {
    outputs.iter().map(|(name, array)| (name.to_string(), bits(array))).collect()
}

/// Rows behind others.
fn extend(all: &mut Results, rows: Results) {
    for (name, (dtype, shape, bits)) in rows {
        match all.get_mut(&name) {
            Some((_, known, all)) => {
                assert_eq!(known[1..], shape[1..]);
                known[0] += shape[0];
                all.extend(bits);
            }
            None => {
                all.insert(name, (dtype, shape, bits));
            }
        }
    }
}

/// Numbers without a pattern.
fn noise(count: usize, seed: u64) -> impl Iterator<Item = u64> {
    (0..count as u64).map(move |index| {
        let mut x =
            (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^ (x >> 32)
    })
}

/// Arrays of `n` rows, of which the streamed ones are `x: f32[n, 3]`, `y: f64[n]`, `h: f16[n]`, `i: i32[n, 2]`,
/// `b: bool[n]` and `ids: i64[n]`, the others `w: f32[3]`, `codes: f32[5, 3]` and `table: f64[5]`.
struct Arrays {
    n: usize,
    x: Vec<f32>,
    y: Vec<f64>,
    h: Vec<f16>,
    i: Vec<i32>,
    b: Vec<bool>,
    ids: Vec<i64>,
    w: Vec<f32>,
    codes: Vec<f32>,
    table: Vec<f64>,
}

const DECLARATIONS: &str = "
    symbols n, k
    input x: f32[n, 3]
    input y: f64[n]
    input h: f16[n]
    input i: i32[n, 2]
    input b: bool[n]
    input ids: i64[n]
    input w: f32[3]
    input codes: f32[k, 3]
    input table: f64[5]
";

impl Arrays {
    fn new(n: usize) -> Arrays {
        let unit = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
        let small = |count: usize, seed| noise(count, seed).map(move |bits| (unit(bits) * 8.0 - 4.0) as f32);
        Arrays {
            n,
            x: small(3 * n, 1).collect(),
            // Few values, so that extremes are met often, and NaN at times.
            y: noise(n, 2)
                .map(|bits| if bits % 5000 == 7 { f64::NAN } else { (bits % 1000) as f64 / 7.0 })
                .collect(),
            h: small(n, 3).map(f16::from_f32).collect(),
            i: noise(2 * n, 4).map(|bits| (bits % 2001) as i32 - 1000).collect(),
            b: noise(n, 5).map(|bits| bits % 300 == 1).collect(),
            ids: noise(n, 6).map(|bits| (bits % 5) as i64).collect(),
            w: vec![0.5, -2.0, 3.25],
            codes: small(15, 7).collect(),
            table: vec![1.5, 2.5, -1.0, 0.25, 9.0],
        }
    }

    fn named<'a>(&'a self, names: &[String], rows: std::ops::Range<usize>) -> Inputs<'a> {
        let (all, count) = (self.n, rows.len());
        let part = |view: ArrayView<'a>| view.rows(rows.clone()).expect("rows within the array");
        names.iter().fold(Inputs::new(), |inputs, name| match name.as_str() {
            "x" => inputs.named("x", part(ArrayView::new(&self.x, &[all, 3]).unwrap())),
            "y" => inputs.named("y", &self.y[rows.clone()]),
            "h" => inputs.named("h", &self.h[rows.clone()]),
            "i" => inputs.named("i", part(ArrayView::new(&self.i, &[all, 2]).unwrap())),
            "b" => inputs.named("b", &self.b[rows.clone()]),
            "ids" => inputs.named("ids", &self.ids[rows.clone()]),
            "w" => inputs.named("w", &self.w),
            "codes" => inputs.named("codes", ArrayView::new(&self.codes, &[5, 3]).unwrap()),
            "table" => inputs.named("table", &self.table),
            name => panic!("no array {name} of {count} rows"),
        })
    }
}

fn names(infos: Vec<broadloom::ArrayInfo>) -> Vec<String> {
    infos.into_iter().map(|info| info.name).collect()
}

fn compile(program: &str, threads: Threads) -> Executable {
    let text = format!("{DECLARATIONS}{program}");
    let graph = Program::parse("test", &text).unwrap().resolve().unwrap_or_else(|error| panic!("{error}"));
    let options = CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
    Executable::compile(&graph, &options).unwrap()
}

fn run_in_chunks(chunked: &Chunked, arrays: &Arrays, chunks: &[usize]) -> Result<Results, ChunkError> {
    let (streamed, fixed) = (names(chunked.streamed()), names(chunked.fixed()));
    let mut run = chunked.start(arrays.named(&fixed, 0..0))?;
    let mut all = Results::new();
    for pass in 0..chunked.passes() {
        let mut start = 0;
        for rows in chunks {
            let outputs = run.push(arrays.named(&streamed, start..start + rows))?;
            assert_eq!(
                names(chunked.rows(pass)),
                outputs.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
            );
            extend(&mut all, results(&outputs));
            start += rows;
        }
        assert_eq!(start, arrays.n);
        run.end_pass()?;
    }
    let totals = run.finish()?;
    assert_eq!(names(chunked.totals()), totals.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>());
    all.extend(results(&totals));
    Ok(all)
}

/// Chunks of `n` rows: of `multiple` rows and of several times that, even and uneven, with what remains at the end.
fn cuts(n: usize, multiple: usize) -> Vec<Vec<usize>> {
    let cut = |sizes: &[usize]| {
        let (mut left, mut chunks) = (n, Vec::new());
        for size in sizes.iter().cycle() {
            if left < *size || chunks.len() > 200 {
                break;
            }
            chunks.push(*size);
            left -= size;
        }
        chunks.extend(Some(left).filter(|left| *left > 0 || n == 0));
        chunks
    };
    let m = multiple;
    let patterns: [&[usize]; 5] = [&[m], &[2 * m], &[3 * m], &[4 * m, m, 7 * m], &[64 * m]];
    let mut cuts: Vec<Vec<usize>> = patterns.iter().map(|sizes| cut(sizes)).collect();
    if m == 1 {
        cuts.push(cut(&[1000]));
        cuts.push(cut(&[17, 300, 1]));
    }
    cuts.sort();
    cuts.dedup();
    cuts
}

/// Programs, the number of their passes, and of how many rows chunks are.
const PROGRAMS: &[(&str, usize, usize)] = &[
    ("output a = cumsum(y); output b = cumsum(x, axis=0); output c = cumprod(x * 0.3 + 1, axis=0)", 1, 1),
    ("output a = cumsum(x, axis=1); output b = cummax(i, axis=0) - i; output c = cummin(h)", 1, 1),
    ("output a = exp(cumsum(y) * -1e-5) * y; output b = cumsum(cummax(y)); output c = cumsum(b)", 1, 1),
    ("output a = cumsum(y) / sum(y); output b = cumsum(y - mean(y))", 2, 1024),
    ("output a = sum(cumsum(x, axis=0)); output b = max(cumsum(i, axis=0), axis=0)", 1, 1024),
    ("output a = cumsum(h) + cumsum(h * 2); output b = nancumsum(y)", 1, 1),
    ("output a = exp(x) * w + 1", 1, 1),
    ("output a = argmin(sum((codes[None] - x[:, None]) ** 2, axis=-1), axis=1)", 1, 1),
    ("output a = x.sum(axis=1); output b = x.T.sum(axis=0)", 1, 1),
    ("output a = topk(x, 2); output b = mean(argtopk(exp(x), 2), axis=1)", 1, 1),
    ("output a = sort(x, axis=1); output b = argsort(exp(x)); output c = median(x, axis=1)", 1, 1),
    (
        "output a = searchsorted(sort(table), y, side='right'); output b = quantile(x, [0.2, 0.9], axis=1).T",
        1,
        1,
    ),
    ("output a = x.sum(axis=0)", 1, 1024),
    ("output a = sum(x * x)", 1, 1024),
    ("output a = sum(y ** 2); output b = sum(y * y)", 1, 1024),
    ("output a = prod(1 + y / 1e6)", 1, 1024),
    (
        "output a = mean(y); output b = mean(x, axis=0, keepdims=True); output c = mean(h); output d = mean(i, axis=0)",
        1,
        1024,
    ),
    ("output a = sum(h); output b = sum(h * h); output c = prod(h / 4 + 1)", 1, 1024),
    ("output a = sum(i); output b = sum(i, axis=0); output c = count_nonzero(b)", 1, 1),
    ("output a = min(y); output b = max(x, axis=0); output c = min(h); output d = max(i, axis=0)", 1, 1),
    ("output a = any(b); output b2 = all(x > -5, axis=0); output c = any(b, keepdims=True)", 1, 1),
    (
        "output a = argmin(y); output b = argmax(x, axis=0); output c = argmin(x); output d = argmax(i); output e = argmax(b)",
        1,
        1,
    ),
    (
        "output a = min(b); output c = max(b); output d = argmin(b); output e = prod(i / 1000, axis=0)",
        1,
        1024,
    ),
    ("output a = arange(n) * 2 + ids", 1, 1),
    ("output a = take(table, ids) * y; output b = w.sum(); output c = sqrt(w) * 2", 1, 1),
    ("output a = x - x.mean(axis=0)", 2, 1024),
    ("output a = (x - mean(x, axis=0)) / std(x, axis=0)", 3, 1024),
    ("output a = softmax(y, axis=0); output b = softmax(x, axis=1)", 3, 1024),
    ("output a = var(x, axis=0, ddof=1); output m = x.mean(axis=0); output k = x - m", 2, 1024),
    ("output a = logsumexp(x, axis=0)", 2, 1024),
    ("output a = y / max(abs(y)); output b = x.reshape(n, 3, 1) * w[:, None]", 2, 1),
    (
        "output a = segment_sum(y, ids, 5); output b = segment_mean(x, ids, 5); output c = segment_count(ids, 5)",
        1,
        65_536,
    ),
    ("output a = y - take(segment_mean(y, ids, 5), ids)", 2, 65_536),
    ("output a = (arange(5) * 0.5).at[ids].add(y); output b = zeros((5, 3)).at[ids].maximum(x)", 1, 1),
    ("output a = zeros(5).at[ids].set(y); output b = y - w.at[ids % 3].add(y)[ids % 3]", 2, 1),
    ("output a = (max(y) + w).at[ids % 3].subtract(y)", 2, 1),
    ("output a = segment_max(x, ids, k); output b = sum(y)", 1, 65_536),
    ("output a = cumsum(broadcast_to(max(y), (n + 1,))); output b = y - max(y)", 2, 1),
    (
        "output a = x.at[:, 0].set(y).at[x > 0].add(2); output m = x.at[:, 1:].set(max(y)).sum(axis=0)",
        2,
        1024,
    ),
    ("output a = where(b, y, -y).sum(); output b2 = concat([x, x * 2], axis=1).max(axis=0)", 1, 1024),
    ("output a = sum(exp(-x ** 2), axis=0) / n; output r = y / n", 2, 1024),
    ("output a = broadcast_to(w, (n, 3)) + 1; output b = y[:, None] * w", 1, 1),
    ("output a = einsum('nai,naj->ij', x[:, :, None] * w, x[:, :, None] + w)", 1, 1024),
    ("output a = sum(sum(x * w, axis=1)); output b = (x * w).sum(axis=1).max()", 1, 1024),
    // Rows that masks select, and what is computed of them.
    ("output a = x[x.sum(axis=1) > 0]; output c = y[y > 70]; output d = i[b]", 1, 1),
    (
        "let m = y > 70; output a = exp(x[m]) * w + y[m][:, None]; output c = y[m].sum(); output d = len(y[m])",
        1,
        1024,
    ),
    ("output a = x[y > mean(y)] * w; output c = flatnonzero(x[:, 0] > max(y) / 100)", 2, 1024),
    (
        "let z = y[y > 20]; let v = z[z < 100] * 2; output a = v; output c = v.sum(); output d = cumsum(v)",
        1,
        1024,
    ),
    ("let z = y[y > 70]; output a = z - mean(z); output c = std(z)", 2, 1024),
    (
        "let m = y > -1; output a = max(i[m], axis=0); output c = min(x[m] * 2); output d = x[m].sum(axis=1)",
        1,
        1,
    ),
    ("output a = zeros(5).at[ids[b]].set(y[b]); output c = broadcast_to(w, (len(y[b]), 3)) + x[b]", 1, 1),
    ("output a = x[:, w > 0] + 1; output c = x[:, w > 0].max(axis=0)", 1, 1),
    ("output a = x[:, w > 0].sum(axis=0); output c = y[y > 70]", 1, 1024),
    // Sizes that are known after a pass.
    (
        "let g = as_size(max(ids) + 1); output a = segment_sum(y, ids, g); output c = segment_max(x, ids, g)",
        2,
        65_536,
    ),
    ("output a = zeros(as_size(max(ids) + 1)).at[ids].add(y)", 2, 1),
    ("output a = arange(as_size(max(ids) + 1)) * 2; output c = y - max(y)", 2, 1),
];

#[test]
fn chunks_give_the_bits_of_the_whole() {
    let pool = std::sync::Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap());
    let is_deep = std::env::var_os("BROADLOOM_DEEP").is_some();
    for (which, (program, passes, multiple)) in PROGRAMS.iter().enumerate() {
        for (way, threads) in [Threads::Calling, Threads::Pool(pool.clone())].into_iter().enumerate() {
            let whole = compile(program, threads);
            let chunked = whole.in_chunks("n").unwrap_or_else(|error| panic!("{program}\n{error:?}"));
            assert_eq!((chunked.passes(), chunked.multiple()), (*passes, *multiple), "{program}");
            let m = *multiple;
            let sizes: &[usize] = match m {
                65_536 => &[1, 70_000, 3 * 65_536, 5 * 65_536 + 4464, 4 * 65_536 + 30],
                _ => &[1, 64, 65, 1024, 1025, 1088, 1089, 2048, 7 * 1024 + 40, 13 * 1024, 40_000],
            };
            for (place, n) in sizes.iter().enumerate() {
                // Each size on one thread or on several, in turn from one program to the next.
                if !is_deep && !(which + way + place).is_multiple_of(2) {
                    continue;
                }
                let arrays = Arrays::new(*n);
                let inputs = names(whole.inputs());
                let fixed = names(chunked.fixed());
                let streamed: Vec<String> = inputs.into_iter().filter(|name| !fixed.contains(name)).collect();
                let all: Vec<String> = fixed.iter().chain(&streamed).cloned().collect();
                let want = results(&whole.run(arrays.named(&all, 0..*n)).unwrap());
                for chunks in cuts(*n, m) {
                    let got = run_in_chunks(&chunked, &arrays, &chunks).unwrap();
                    let of = |results: &Results, name: &String| results[name].clone();
                    for name in want.keys() {
                        let (want, got) = (of(&want, name), of(&got, name));
                        assert_eq!(
                            (want.0, &want.1),
                            (got.0, &got.1),
                            "{program}: {name} of {n} in {chunks:?}"
                        );
                        let differs = want.2.iter().zip(&got.2).position(|(want, got)| want != got);
                        assert_eq!(differs, None, "{program}: {name} of {n} rows in {chunks:?}");
                    }
                    assert_eq!(want.len(), got.len(), "{program}");
                }
            }
        }
    }
}

#[test]
fn facts_on_the_rows_are_of_all_of_them() {
    let g = Graph::new();
    let n = g.symbol("n").range(2000..=5000);
    let x = g.input::<f64>("x", shape![n]);
    let chunked = x.sum(0).compile().unwrap().in_chunks("n").unwrap();
    let data = vec![0.1; 6000];
    let run = |lengths: &[usize]| {
        let mut run = chunked.start(()).unwrap();
        lengths.iter().for_each(|length| drop(run.push(&data[..*length]).unwrap()));
        run.finish().map(|outputs| outputs.len())
    };
    assert_eq!(run(&[1024, 1024]).unwrap(), 1);
    let error = run(&[1024]).unwrap_err().to_string();
    assert!(error.contains("1024") && error.contains("n"), "{error}");
    assert!(run(&[1024, 4096]).is_err());

    let m = g.symbol("m").multiple_of(8);
    let y = g.input::<f64>("y", shape![m]);
    let refused = (y + 1.0).compile().unwrap().in_chunks("m");
    assert!(matches!(refused, Err(ChunkError::Refused { .. })), "{refused:?}");
}

#[test]
fn no_rows_are_rows() {
    let chunked =
        compile("output a = sum(x, axis=0); output b = x + 1; output c = mean(y)", Threads::Calling);
    let chunked = chunked.in_chunks("n").unwrap();
    let arrays = Arrays::new(0);
    let results = run_in_chunks(&chunked, &arrays, &[0]).unwrap();
    assert_eq!(results["a"], (DType::F32, vec![3], vec![0; 3]));
    assert_eq!(results["b"], (DType::F32, vec![0, 3], vec![]));
    assert_eq!(results["c"], (DType::F64, vec![], vec![u64::MAX]));

    // Somewhere there are rows.
    let arrays = Arrays::new(5);
    let least = compile("output a = min(y)", Threads::Calling).in_chunks("n").unwrap();
    let want = run_in_chunks(&least, &arrays, &[5]).unwrap();
    assert_eq!(run_in_chunks(&least, &arrays, &[0, 2, 0, 3, 0]).unwrap(), want);
    // Nowhere.
    let error = run_in_chunks(&least, &Arrays::new(0), &[0, 0]).unwrap_err();
    assert!(matches!(error, ChunkError::Bind(_)) && error.to_string().contains("n is 0"), "{error:?}");
    let run = least.start(()).unwrap();
    assert!(matches!(run.finish(), Err(ChunkError::NoChunks)));
}

/// Selected rows are counted over all chunks, before anything is made of what no rows have.
#[test]
fn selected_rows_are_counted_in_all_chunks() {
    let arrays = Arrays::new(5000);
    let some =
        compile("output a = max(y[y > 142]); output c = x[:, w > 0]; output d = cumsum(y)", Threads::Calling);
    let chunked = some.in_chunks("n").unwrap();
    let all: Vec<String> = names(some.inputs());
    let want = results(&some.run(arrays.named(&all, 0..5000)).unwrap());
    // Some chunks have no such row, and some no row at all.
    assert_eq!(run_in_chunks(&chunked, &arrays, &[0, 3, 0, 4997, 0]).unwrap(), want);
    let fails = [
        "output a = max(y[y > 1e6])",
        "output a = zeros(as_size(min(ids[ids > 100]))); output c = y * 2",
        "output a = y / max(y[y > 1e6])",
    ];
    for program in fails {
        let whole = compile(program, Threads::Calling);
        let chunked = whole.in_chunks("n").unwrap();
        let error = run_in_chunks(&chunked, &arrays, &[2048, 2048, 904]).unwrap_err();
        assert!(
            matches!(&error, ChunkError::Run(error) if error.to_string().contains("@k is 0")),
            "{program}: {error:?}"
        );
        let all: Vec<String> = names(whole.inputs());
        let of_whole = whole.run(arrays.named(&all, 0..5000)).unwrap_err();
        assert_eq!(error.to_string(), of_whole.to_string(), "{program}");
    }
    // Nowhere is a row.
    let none = Arrays::new(0);
    let sums =
        compile("output a = x[:, w > 0]; output c = cumsum(x, axis=0); output d = y[b]", Threads::Calling);
    let results = run_in_chunks(&sums.in_chunks("n").unwrap(), &none, &[0, 0]).unwrap();
    assert_eq!(results["a"].1, [0, 2]);
    assert_eq!((&results["c"].1, &results["d"].1), (&vec![0, 3], &vec![0]));
}

#[test]
fn a_wrong_chunk_changes_nothing() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let w = g.input::<f32>("w", shape![m]);
    let chunked = g.compile([("total", (x * w).sum(0))]).unwrap().in_chunks("n").unwrap();
    let data = vec![0.5f32; 3 * 2048];
    let weights = [1.0f32, 2.0, 3.0];
    let rows = |count: usize, width: usize| ArrayView::new(&data[..count * width], &[count, width]).unwrap();
    let mut run = chunked.start(inputs! { "w" => &weights }).unwrap();
    assert!(matches!(run.push(inputs! { "x" => rows(8, 2) }), Err(ChunkError::Bind(_))), "widths differ");
    run.push(inputs! { "x" => rows(1024, 3) }).unwrap();
    assert!(matches!(run.push(inputs! { "x" => rows(8, 2) }), Err(ChunkError::Bind(_))));
    assert!(matches!(run.push(inputs! { "y" => rows(8, 3) }), Err(ChunkError::Bind(_))));
    assert!(matches!(run.push(&[1.0f32]), Err(ChunkError::Bind(_))));
    let misplaced = run.push(inputs! { "w" => &weights, "x" => rows(1024, 3) });
    assert!(matches!(misplaced, Err(ChunkError::Misplaced { is_streamed: false, .. })));
    let sized = run.push(inputs! { "x" => rows(1024, 3) }.with_size("m", 3));
    assert!(matches!(sized, Err(ChunkError::SizeWithChunk { .. })), "{sized:?}");
    run.push(inputs! { "x" => rows(100, 3) }).unwrap();
    let late = run.push(inputs! { "x" => rows(100, 3) });
    assert!(matches!(late, Err(ChunkError::Multiple { rows: 100, multiple: 1024 })), "{late:?}");
    let total: Vec<f32> = run.finish().unwrap().take("total").unwrap();
    assert_eq!(total, [562.0, 1124.0, 1686.0]);

    let misplaced = chunked.start(inputs! { "w" => &weights, "x" => rows(1, 3) });
    assert!(matches!(misplaced, Err(ChunkError::Misplaced { is_streamed: true, .. })));
    assert!(matches!(chunked.start(()), Err(ChunkError::Bind(_))));

    // Nothing but the chunks says what `m` is.
    let widest = g.compile([("widest", x.max(0))]).unwrap().in_chunks("n").unwrap();
    let mut run = widest.start(()).unwrap();
    run.push(inputs! { "x" => rows(4, 3) }).unwrap();
    let changed = run.push(inputs! { "x" => rows(4, 2) });
    assert!(matches!(changed, Err(ChunkError::Changed { first: 3, now: 2, .. })), "{changed:?}");
}

#[test]
fn passes_are_counted() {
    let chunked = compile("output a = y - max(y)", Threads::Calling).in_chunks("n").unwrap();
    let data = [1.0, 3.0, 2.0];
    let mut run = chunked.start(()).unwrap();
    run.push(&data).unwrap();
    let early = run.finish();
    assert!(matches!(early, Err(ChunkError::MorePasses { done: 0, passes: 2 })), "{early:?}");

    let mut run = chunked.start(()).unwrap();
    run.push(&data).unwrap();
    run.end_pass().unwrap();
    run.push(&data[..2]).unwrap();
    let short = run.end_pass();
    assert!(matches!(short, Err(ChunkError::Rows { pass: 1, first: 3, found: 2 })), "{short:?}");
    // The rest of the rows mends it.
    run.push(&data[2..]).unwrap();
    run.end_pass().unwrap();
    assert!(matches!(run.push(&data), Err(ChunkError::NoMorePasses)));
    assert!(run.finish().unwrap().is_empty());
}

#[test]
fn positions_of_bad_data_count_all_rows() {
    let arrays = Arrays::new(0);
    let ids = |at: usize| (0..3000).map(|row| if row == at { 77 } else { 1 }).collect::<Vec<i64>>();
    let program = "output a = take(table, ids)";
    let chunked = compile(program, Threads::Calling).in_chunks("n").unwrap();
    let bad = ids(2100);
    let mut run = chunked.start(arrays.named(&["table".to_string()], 0..0)).unwrap();
    run.push(inputs! { "ids" => &bad[..1024] }).unwrap();
    run.push(inputs! { "ids" => &bad[1024..2048] }).unwrap();
    let Err(ChunkError::Run(error)) = run.push(inputs! { "ids" => &bad[2048..] }) else {
        panic!("77 is found")
    };
    assert!(error.to_string().contains("2100"), "{error}");
    assert!(matches!(run.push(inputs! { "ids" => &bad[..1024] }), Err(ChunkError::Failed)));
    assert!(matches!(run.finish(), Err(ChunkError::Failed)));

    let counts = compile("output a = segment_count(ids, 5); output b = any(ids == 0)", Threads::Calling);
    let mut run = counts.in_chunks("n").unwrap().start(()).unwrap();
    let many = vec![1i64; 65_536];
    run.push(inputs! { "ids" => &many }).unwrap();
    let Err(ChunkError::Run(error)) = run.push(inputs! { "ids" => &bad }) else { panic!("77 is found") };
    assert!(error.to_string().contains(&(65_536 + 2100).to_string()), "{error}");
}

#[test]
fn chunks_may_have_any_strides() {
    let arrays = Arrays::new(5000);
    let program = "output a = sum(x * w, axis=0); output b = x * 2";
    let chunked = compile(program, Threads::Calling).in_chunks("n").unwrap();
    let want = run_in_chunks(&chunked, &arrays, &[2048, 2048, 904]).unwrap();
    // Columns first, from the last row to the first.
    let columns: Vec<f32> = (0..3)
        .flat_map(|column| (0..5000).map(move |row| (row, column)))
        .map(|(row, column)| arrays.x[row * 3 + column])
        .rev()
        .collect();
    let view = ArrayView::strided(&columns, 14_999, &[5000, 3], &[-1, -5000]).unwrap();
    let mut run = chunked.start(inputs! { "w" => &arrays.w }).unwrap();
    let mut got = Results::new();
    for rows in [0..3 * 1024, 3 * 1024..4096, 4096..5000] {
        let outputs = run.push(inputs! { "x" => view.rows(rows).unwrap() }).unwrap();
        extend(&mut got, results(&outputs));
    }
    got.extend(results(&run.finish().unwrap()));
    assert_eq!(got, want);
}

/// The number of rows at which a pass could not end yet was held against all later ones.
#[test]
fn a_pass_that_cannot_end_yet_goes_on() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n").range(4..=10)]);
    let mut run = x.max(0).compile().unwrap().in_chunks("n").unwrap().start(()).unwrap();
    run.push(&[1.0, 5.0]).unwrap();
    assert_eq!(run.end_pass().unwrap_err().code(), "S101");
    run.push(&[7.0, 3.0]).unwrap();
    let highest: f64 = run.finish().unwrap().try_into().unwrap();
    assert_eq!(highest, 7.0);
}

#[test]
fn a_given_number_of_rows_is_that_of_all() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let chunked = x.max(0).compile().unwrap().in_chunks("n").unwrap();
    let run = |size| {
        let mut run = chunked.start(Inputs::new().with_size("n", size)).unwrap();
        run.push(&[1.0, 5.0]).unwrap();
        run.push(&[2.0]).unwrap();
        run.finish().map(|highest| highest.len())
    };
    assert_eq!(run(3).unwrap(), 1);
    assert_eq!(run(2).unwrap_err().code(), "S103");
}

/// Of two calls in one place, the first was taken for the one that failed.
#[test]
fn positions_of_bad_data_are_those_of_the_call_that_failed() {
    let two = "output a = take(table, idx); output b = take(table, ids)";
    let g = Graph::new();
    let table = g.input::<f64>("table", shape![5]);
    let (idx, ids) = (g.input::<i64>("idx", shape![2]), g.input::<i64>("ids", shape![g.symbol("n")]));
    let [a, b] = [idx, ids].map(|indices| table.take(indices, 0));
    let text = format!("symbols n\ninput table: f64[5]\ninput idx: i64[2]\ninput ids: i64[n]\n{two}");
    let graph = Program::parse("test", &text).unwrap().resolve().unwrap();
    let in_text = Executable::compile(&graph, &CompileOptions::default()).unwrap();
    for kernel in [in_text, g.compile([("a", a), ("b", b)]).unwrap()] {
        let chunked = kernel.in_chunks("n").unwrap();
        let mut run = chunked.start(inputs! { "table" => &[0.5f64; 5], "idx" => &[0i64, 1] }).unwrap();
        run.push(&[0i64, 1, 2]).unwrap();
        let error = run.push(&[0i64, 77]).unwrap_err();
        assert!(error.to_string().contains("[4] is 77"), "{error}");
    }
}

#[test]
fn positions_of_bad_data_count_rows_along_their_axis() {
    let g = Graph::new();
    let table = g.input::<f64>("table", shape![5]);
    let n = g.symbol("n");
    let [good, bad] = ["good", "bad"].map(|name| g.input::<i64>(name, shape![n, 2]));
    let [a, b] = [good, bad.t()].map(|indices| table.take(indices, 0));
    let chunked = (a + b.t()).compile().unwrap().in_chunks("n").unwrap();
    let mut run = chunked.start(inputs! { "table" => &[0.5f64; 5] }).unwrap();
    let rows = |data: &'static [i64]| ArrayView::new(data, &[data.len() / 2, 2]).unwrap();
    run.push(inputs! { "good" => rows(&[0; 6]), "bad" => rows(&[0; 6]) }).unwrap();
    let error = run.push(inputs! { "good" => rows(&[0; 4]), "bad" => rows(&[0, 1, 2, 77]) }).unwrap_err();
    assert!(error.to_string().contains("[1, 4] is 77"), "{error}");
}
