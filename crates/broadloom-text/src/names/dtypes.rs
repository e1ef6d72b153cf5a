//! The names of dtypes: Broadloom's and NumPy's.

use broadloom_ir::dtype::DType;

/// NumPy's names of dtypes.
const DTYPES: &[(&str, DType)] = &[
    ("bool_", DType::Bool),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("int", DType::I64),
    ("uint8", DType::U8),
    ("uint16", DType::U16),
    ("uint32", DType::U32),
    ("uint64", DType::U64),
    ("float16", DType::F16),
    ("bfloat16", DType::Bf16),
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("float", DType::F64),
];

/// Returns the dtype of a name: Broadloom's or NumPy's.
pub fn dtype(name: &str) -> Option<DType> {
    let own = DType::ALL.iter().copied().find(|dtype| dtype.name() == name);
    own.or_else(|| DTYPES.iter().find(|(other, _)| *other == name).map(|(_, dtype)| *dtype))
}

/// Returns the dtype of a quoted text: a name, or NumPy's notation, in which `'i8'` has eight bytes.
pub(crate) fn quoted_dtype(text: &str) -> Option<DType> {
    let code = text.trim_start_matches(['<', '>', '=', '|']);
    if let Some(known) = DType::of_numpy_code(code) {
        return Some(known);
    }
    Some(match code {
        "?" | "bool" => DType::Bool,
        "b" => DType::I8,
        "h" => DType::I16,
        "i" => DType::I32,
        "l" | "q" => DType::I64,
        "B" => DType::U8,
        "H" => DType::U16,
        "I" => DType::U32,
        "L" | "Q" => DType::U64,
        "e" => DType::F16,
        "f" => DType::F32,
        "d" => DType::F64,
        name => return dtype(name),
    })
}

/// Returns the names of all dtypes.
pub(crate) fn dtypes() -> impl Iterator<Item = &'static str> {
    DType::ALL.iter().map(|dtype| dtype.name()).chain(DTYPES.iter().map(|(name, _)| *name))
}
