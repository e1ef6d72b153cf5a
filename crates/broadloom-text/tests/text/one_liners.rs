//! One-liners as NumPy's users write them, pasted unchanged: dtype, shape and elements are NumPy's own.
//!
//! The Python is the first of `$BROADLOOM_PYTHON`, `target/numpy/bin/python`, which `.ci/run` makes, and `python3`.
//! Without one that has NumPy 2 the test says so, and only checks that the lines are accepted; `numpy.rs` compares some
//! of them with plain Rust.

use crate::support::{graph, numbers};
use broadloom_ir::dtype::DType;
use broadloom_ir::interp::{Array, interpret};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What there is: name, dtype, declared sizes, sizes.
const INPUTS: &[(&str, DType, &str, &[usize])] = &[
    ("x", DType::F32, "n, 3", &[6, 3]),
    ("y", DType::F64, "n", &[6]),
    ("v", DType::F32, "n", &[6]),
    ("c", DType::Bool, "n, 3", &[6, 3]),
    ("img", DType::U8, "h, w, 3", &[4, 5, 3]),
    ("gray", DType::U8, "h, w", &[4, 5]),
    ("obs", DType::F32, "rows, 3", &[20, 3]),
    ("codes", DType::F32, "k, 3", &[5, 3]),
    ("lat1", DType::F64, "p", &[9]),
    ("lon1", DType::F64, "p", &[9]),
    ("lat2", DType::F64, "p", &[9]),
    ("lon2", DType::F64, "p", &[9]),
    ("table", DType::F64, "r, 4", &[8, 4]),
    ("i", DType::I64, "q", &[4]),
    ("j", DType::I32, "r", &[8]),
    ("t", DType::F32, "2, r, 3, 4", &[2, 8, 3, 4]),
];

const LINES: &[&str] = &[
    // Nearest codes.
    "np.argmin(((codes[None, :, :] - obs[:, None, :]) ** 2).sum(axis=-1), axis=1)",
    "np.argmin(np.sum((codes[None] - obs[:, None]) ** 2, axis=2), axis=1)",
    "np.linalg.norm(obs[:, None] - codes, axis=-1).argmin(1)",
    "np.sqrt(((obs[:, None] - codes[None]) ** 2).sum(-1)).min(axis=1)",
    "((obs[:, np.newaxis, :] - codes[np.newaxis, :, :]) ** 2).sum(axis=-1).argmin(axis=-1)",
    "np.abs(obs[:, None] - codes).sum(-1).argmin(-1)",
    "np.argmin((obs ** 2).sum(1)[:, None] - 2 * (obs[:, None] * codes).sum(-1) + (codes ** 2).sum(1), axis=1)",
    "codes[np.argmin(((obs[:, None] - codes) ** 2).sum(-1), axis=1)]",
    "np.mean((obs - codes[np.linalg.norm(obs[:, None] - codes, axis=2).argmin(axis=1)]) ** 2)",
    // Sums of products.
    "obs @ codes.T",
    "codes @ obs.T @ obs",
    "np.maximum(obs @ codes.T + 0.5, 0)",
    "obs[:, None] @ codes.T[None]",
    "y @ y",
    "np.dot(y, y)",
    "np.dot(obs, codes.T)",
    "np.vdot(x, x)",
    "np.inner(obs, codes)",
    "np.outer(y, v)",
    "np.kron(v, v)",
    "np.tensordot(img, img, axes=([0, 1], [0, 1]))",
    "np.tensordot(t, t.T, axes=1)",
    "np.vecdot(x, x)",
    "np.linalg.vecdot(x, x, axis=-1)",
    "np.einsum('ij,kj->ik', obs, codes)",
    "np.einsum('ij,ij->i', x, x)",
    "np.einsum('hwc,c->hw', img, [0.299, 0.587, 0.114])",
    "np.einsum('ij,kj,k->i', obs, codes, codes[:, 0])",
    "np.einsum('...ij,...kj', t, t)",
    "np.einsum('ii', x @ x.T)",
    "np.einsum('ii->i', obs.T @ obs)",
    "(x.T @ x) / 6 - np.outer(x.mean(axis=0), x.mean(axis=0))",
    "c.T @ c",
    "(c @ c.T).sum()",
    "j @ j",
    // Images.
    "img.astype(np.float32) / 255",
    "img / 255.0",
    "img.astype('float32') / 127.5 - 1",
    "(img / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]",
    "(img.astype(np.float32) / 255.0 - np.array([0.485, 0.456, 0.406], dtype=np.float32)) / np.array([0.229, 0.224, 0.225], dtype=np.float32)",
    "((img - img.mean(axis=(0, 1))) / img.std(axis=(0, 1))).transpose(2, 0, 1)",
    "(img - img.min()) / (img.max() - img.min())",
    "img[:, ::-1]",
    "img[::-1, :, :]",
    "img[..., ::-1]",
    "img[:, :, [2, 1, 0]]",
    "img[1:-1, 1:-1]",
    "img[::2, ::2].mean(axis=-1)",
    "255 - img",
    "(img * [0.299, 0.587, 0.114]).sum(-1)",
    "0.299 * img[..., 0] + 0.587 * img[..., 1] + 0.114 * img[:, :, 2]",
    "np.clip(img * 1.2 + 10, 0, 255).astype(np.uint8)",
    "np.clip(img.astype(np.int16) - 40, 0, 255).astype(np.uint8)",
    "(255 * (img / 255) ** (1 / 2.2)).round().astype(np.uint8)",
    "np.where(gray > 127, 255, 0).astype(np.uint8)",
    "(gray > gray.mean()).astype(np.uint8) * 255",
    "np.stack([gray, gray, gray], axis=-1)",
    "np.concatenate([img, img[:, ::-1]], axis=1)",
    "np.abs(img.astype(int)[1:] - img.astype(int)[:-1]).mean()",
    "img.reshape(-1, 3).mean(axis=0)",
    "img.astype(np.float32).reshape(img.shape[0], -1)",
    "img.sum(dtype=np.float64) / img.size",
    "np.expand_dims(img, 0)",
    "10 * np.log10(255 ** 2 / np.mean((gray / 1.0 - gray[::-1]) ** 2))",
    // Haversine.
    "6371 * 2 * np.arcsin(np.sqrt(np.sin((np.radians(lat2) - np.radians(lat1)) / 2) ** 2 + np.cos(np.radians(lat1)) * np.cos(np.radians(lat2)) * np.sin((np.radians(lon2) - np.radians(lon1)) / 2) ** 2))",
    "2 * 6371.0 * np.arcsin(np.sqrt(np.sin(np.deg2rad(lat2 - lat1) / 2) ** 2 + np.cos(np.deg2rad(lat1)) * np.cos(np.deg2rad(lat2)) * np.sin(np.deg2rad(lon2 - lon1) / 2) ** 2))",
    "np.hypot(lat2 - lat1, (lon2 - lon1) * np.cos(np.radians((lat1 + lat2) / 2))) * 111.32",
    "np.degrees(np.arctan2(np.sin(np.radians(lon2 - lon1)) * np.cos(np.radians(lat2)), np.cos(np.radians(lat1)) * np.sin(np.radians(lat2)) - np.sin(np.radians(lat1)) * np.cos(np.radians(lat2)) * np.cos(np.radians(lon2 - lon1)))) % 360",
    "lat1 * np.pi / 180",
    "(lon1 + 180) % 360 - 180",
    // Columns of a table.
    "(table - table.mean(axis=0)) / table.std(axis=0)",
    "(table - table.mean(0, keepdims=True)) / table.std(axis=0, ddof=1, keepdims=True)",
    "(table - np.mean(table, 0)) / np.std(table, 0)",
    "(table - table.min(axis=0)) / (table.max(axis=0) - table.min(axis=0))",
    "table / np.linalg.norm(table, axis=1, keepdims=True)",
    "table / table.sum(axis=1)[:, np.newaxis]",
    "np.sum(table, 0) / len(table)",
    "((table - table.mean(0)) ** 2).sum(0) / (table.shape[0] - 1)",
    "((table - table.mean(0))[:, :, None] * (table - table.mean(0))[:, None, :]).sum(0) / (len(table) - 1)",
    "np.round(table.mean(axis=0), 2)",
    "table[:, [0, -1]]",
    "np.take(table, i, axis=0)",
    "table[i].max(axis=1)",
    "table[:, i]",
    "t[0, i]",
    "t[0, :, :, i]",
    "t[:, 0, i]",
    "t[1, ..., i]",
    "t[:, i, None]",
    "t[0, None, i]",
    "np.where(np.isnan(table), 0, table)",
    "np.maximum(table, 0)",
    "np.exp(table - table.max(axis=1, keepdims=True)) / np.exp(table - table.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)",
    "np.log1p(np.abs(table)) * np.sign(table)",
    "(np.abs(table - table.mean(axis=0)) > 2 * table.std(axis=0)).any(axis=1)",
    "np.count_nonzero(table > 0, axis=0)",
    // Others.
    "x.sum(0)",
    "x.sum(axis=0) / x.shape[0]",
    "x.mean(axis=-1, keepdims=True)",
    "x.reshape(-1, 3, 1).mean(axis=1)",
    "x.T",
    "x.T.ravel()",
    "(x > 0).sum()",
    "(c & (x > 0)).mean()",
    "~c",
    "np.sqrt(np.mean((y - v) ** 2))",
    "1 - ((y - v) ** 2).sum() / ((y - y.mean()) ** 2).sum()",
    "1 / (1 + np.exp(-x))",
    "x * (x > 0)",
    "np.linalg.norm(x)",
    "np.linalg.norm(v, 1)",
    "np.linalg.norm(y, np.inf)",
    "x / (len(x) / 2)",
    "v * x.size ** 0.5",
    "x - x.ndim",
    "y[1:] - y[:-1]",
    "y[::-1]",
    "y[-3:]",
    "(y[1:] + y[:-1]) / 2",
    "np.concatenate((y[-1:], y[:-1]))",
    "np.arange(10)",
    "np.arange(2, 10)",
    "np.arange(10, 0, -3)",
    "np.arange(0, 1, 0.1)",
    "np.arange(5, dtype=np.float32) / 5",
    "np.arange(1, 4) * 2.5",
    "np.arange(0.5, 3)",
    "np.linspace(0, 1, 5)",
    "np.round(y * 100, 1)",
    "np.round(y * 1000, -2)",
    "np.round(x, 2)",
    "np.round(gray, -1)",
    "np.round(gray, 2)",
    "np.array([[1, 2, 3], [4, 5, 6]]) * 2",
    "np.array([1, 2.5, True])",
    "x + [1, 2, 3]",
    "np.float32(2) * x",
    "x.astype(np.float64).sum()",
    "np.sum(x, axis=0, dtype=np.float64)",
    "np.mean(gray, dtype=np.float32)",
    "np.var(x, axis=0, ddof=1)",
    "x.argmax(axis=1)",
    "np.clip(x, 0, None)",
    "x.clip(0)",
    "np.clip(x, -0.5, 0.5)",
    "np.where(x > 0, x, 0.01 * x)",
    "np.power(x, 2) + np.e",
    "np.logical_and(x > 0, x < 0.5)",
    "np.isfinite(x).all()",
    "x[..., None] * x[:, None, :]",
    "x[:, :, np.newaxis].shape[0] * x",
    "np.swapaxes(t, 0, -1)",
    "t.transpose(3, 0, 1, 2)",
    "np.squeeze(x[:1], axis=0)",
    "np.broadcast_to(y, (2, len(y)))",
    "np.minimum(x, x[::-1])",
    "np.sin(2 * np.pi * np.arange(8) / 8)",
    "np.floor(x * 4) / 4",
];

/// Elements that look random.
fn noise(count: usize, seed: usize) -> Vec<f64> {
    let mut state = seed as u32 * 7919 + 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 23) - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// The inputs, and the Python that makes the same.
fn inputs() -> (Vec<Array>, String) {
    let mut arrays = Vec::new();
    let mut python = String::new();
    for (seed, (name, dtype, _, shape)) in INPUTS.iter().enumerate() {
        let noise = noise(shape.iter().product(), seed);
        let (array, name_of): (Array, _) = match dtype {
            DType::F32 => {
                (Array::new(shape, &noise.iter().map(|value| *value as f32).collect::<Vec<_>>()), "float32")
            }
            DType::F64 => {
                (Array::new(shape, &noise.iter().map(|value| value * 80.0).collect::<Vec<_>>()), "float64")
            }
            DType::U8 => (
                Array::new(
                    shape,
                    &noise.iter().map(|value| (value * 127.0 + 128.0) as u8).collect::<Vec<_>>(),
                ),
                "uint8",
            ),
            DType::I64 => (Array::new(shape, &[1_i64, 0, 2, 1]), "int64"),
            DType::I32 => (Array::new(shape, &[3_i32, 1, 4, 1, 5, 2, 6, 0]), "int32"),
            _ => (Array::new(shape, &noise.iter().map(|value| *value > 0.0).collect::<Vec<_>>()), "bool"),
        };
        let elements: Vec<String> = numbers(&array).iter().map(|value| format!("{value:?}")).collect();
        let _ = writeln!(
            python,
            "{name} = np.array([{}]).astype(np.{name_of}).reshape({shape:?})",
            elements.join(", ")
        );
        arrays.push(array);
    }
    (arrays, python)
}

/// A Python that has NumPy 2.
fn python() -> Option<PathBuf> {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("numpy").join("bin/python");
    let asked = std::env::var_os("BROADLOOM_PYTHON").map(PathBuf::from);
    asked.into_iter().chain([made, "python3".into()]).find(|python| {
        let probe = "import numpy, sys; sys.exit(int(numpy.__version__.split('.')[0]) != 2)";
        let output = Command::new(python).args(["-c", probe]).stderr(Stdio::null()).status();
        output.is_ok_and(|status| status.success())
    })
}

/// Dtype, shape and elements of each line as NumPy has them.
fn numpy(python: &Path, definitions: &str) -> Vec<(String, String, Vec<f64>)> {
    let lines: Vec<String> = LINES.iter().map(|line| format!("{line:?}")).collect();
    let script = format!(
        "import numpy as np\n{definitions}\nfor line in [{}]:\n    r = np.asarray(eval(line))\n    \
         print(r.dtype.name, '|', ', '.join(map(str, r.shape)), '|', *[repr(float(v)) for v in r.ravel()])\n",
        lines.join(", ")
    );
    let mut child = Command::new(python)
        .args(["-W", "ignore", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it ran before");
    child.stdin.take().expect("it is piped").write_all(script.as_bytes()).expect("Python reads it");
    let output = child.wait_with_output().expect("Python ends");
    assert!(output.status.success(), "Python refuses a line");
    let text = String::from_utf8(output.stdout).expect("Python writes text");
    let results: Vec<_> = text
        .lines()
        .map(|line| {
            let parts: Vec<&str> = line.splitn(3, '|').map(str::trim).collect();
            let elements = parts[2].split_whitespace().map(|number| number.parse().expect("a number"));
            (parts[0].to_owned(), parts[1].to_owned(), elements.collect())
        })
        .collect();
    assert_eq!(results.len(), LINES.len());
    results
}

/// NumPy's name of a dtype.
fn numpy_name(dtype: DType) -> String {
    let name = dtype.name();
    match name.split_at(1) {
        _ if dtype == DType::Bool => name.to_owned(),
        ("i", bits) => format!("int{bits}"),
        ("u", bits) => format!("uint{bits}"),
        (_, bits) => format!("float{bits}"),
    }
}

#[test]
fn one_liners() {
    let (arrays, definitions) = inputs();
    let declarations: String =
        INPUTS.iter().map(|(name, dtype, sizes, _)| format!("input {name}: {dtype}[{sizes}]\n")).collect();
    let graphs: Vec<_> =
        LINES.iter().map(|line| graph(&format!("{declarations}output result = {line}"))).collect();
    let Some(python) = python() else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: no Python with NumPy 2, so {} lines are not compared",
            LINES.len()
        );
        return;
    };
    let mut wrong = String::new();
    for ((line, graph), (dtype, shape, want)) in LINES.iter().zip(&graphs).zip(numpy(&python, &definitions)) {
        let result = match interpret(graph, &arrays, true) {
            Ok(results) => results[0].clone(),
            Err(error) => {
                let _ = writeln!(wrong, "{line}\n    {error}");
                continue;
            }
        };
        let have_shape: Vec<String> = result.shape.iter().map(usize::to_string).collect();
        let (have_dtype, have_shape) = (numpy_name(result.dtype), have_shape.join(", "));
        let near = |(have, want): (&f64, &f64)| {
            let digits = if matches!(result.dtype, DType::F32) { 2e-5 } else { 1e-11 };
            (have - want).abs() <= digits * want.abs().max(1.0) || have.is_nan() && want.is_nan()
        };
        let have = numbers(&result);
        if have_dtype != dtype
            || have_shape != shape
            || have.len() != want.len()
            || !have.iter().zip(&want).all(near)
        {
            let _ = writeln!(
                wrong,
                "{line}\n    {have_dtype}[{have_shape}] {have:?}\n    {dtype}[{shape}] {want:?}"
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
