//! The table of cases that `cases.py` writes; its format is described there.

use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::interp::Array;
use std::path::Path;

/// What NumPy makes of an expression.
#[derive(Debug)]
pub enum Wanted {
    /// The bits.
    Exact(Array),
    /// So many steps from float to float away.
    Steps(u64, Array),
    /// Values in `f64` of results of a dtype, and distances from them.
    Within { dtype: DType, values: Array, distances: Vec<f64> },
    /// A mistake in the expression.
    Refused,
    /// A mistake in the data.
    Fails,
}

/// An expression, its inputs and its result.
#[derive(Debug)]
pub struct Case {
    pub kind: String,
    pub expression: String,
    pub inputs: Vec<(String, Array)>,
    pub wanted: Wanted,
}

/// The cases in a directory.
pub fn read(directory: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(directory.join("cases.txt")).expect("the cases were written");
    let bytes = std::fs::read(directory.join("values.bin")).expect("the values were written");
    text.lines().map(|line| case(line, &bytes)).collect()
}

fn case(line: &str, bytes: &[u8]) -> Case {
    let [kind, expression, inputs, wanted] = line.split('\t').collect::<Vec<_>>()[..] else {
        panic!("{line}");
    };
    let inputs = inputs.split(';').filter(|input| !input.is_empty()).map(|input| {
        let (name, array) = input.split_once(':').expect("a name and an array");
        (name.to_owned(), read_array(array, bytes))
    });
    Case {
        kind: kind.to_owned(),
        expression: expression.to_owned(),
        inputs: inputs.collect(),
        wanted: result(wanted, bytes),
    }
}

fn result(text: &str, bytes: &[u8]) -> Wanted {
    let Some((how, array)) = text.split_once(':') else {
        return match text {
            "refused" => Wanted::Refused,
            "fails" => Wanted::Fails,
            _ => panic!("{text}"),
        };
    };
    if let Some(steps) = how.strip_prefix("steps=") {
        return Wanted::Steps(steps.parse().expect("a number"), read_array(array, bytes));
    }
    let Some(at) = how.strip_prefix("within@") else { return Wanted::Exact(read_array(array, bytes)) };
    let (dtype, place) = array.split_once(':').expect("a dtype and a place");
    let (sizes, _) = place.split_once(':').expect("sizes and a place");
    let values = read_array(&format!("f64:{place}"), bytes);
    let distances = read_array(&format!("f64:{sizes}:{at}"), bytes).to_vec().expect("f64");
    Wanted::Within { dtype: dtype_of(dtype), values, distances }
}

/// The dtype of a name.
pub fn dtype_of(name: &str) -> DType {
    *DType::ALL.iter().find(|dtype| dtype.name() == name).expect("the name of a dtype")
}

fn read_array(text: &str, bytes: &[u8]) -> Array {
    let [dtype, sizes, offset] = text.split(':').collect::<Vec<_>>()[..] else { panic!("{text}") };
    let dtype = dtype_of(dtype);
    let sizes = sizes.split(',').filter(|size| !size.is_empty());
    let shape: Vec<usize> = sizes.map(|size| size.parse().expect("a size")).collect();
    let offset: usize = offset.parse().expect("an offset");
    let length = shape.iter().product::<usize>() * dtype.size();
    let elements = bytes[offset..offset + length].chunks_exact(dtype.size());
    Array { dtype, shape, elements: elements.map(|bytes| scalar(dtype, bytes)).collect() }
}

fn scalar(dtype: DType, bytes: &[u8]) -> Scalar {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    match dtype {
        DType::F16 => Scalar::F16(half::f16::from_bits(bits as u16)),
        DType::Bf16 => Scalar::Bf16(half::bf16::from_bits(bits as u16)),
        DType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
        DType::F64 => Scalar::F64(f64::from_bits(bits)),
        DType::U64 => Scalar::U64(bits),
        // Zero-extended; a narrower integer keeps the lower bits.
        _ => Scalar::I64(bits.cast_signed()).cast(dtype),
    }
}
