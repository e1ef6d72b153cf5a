//! Random inputs, and arrays for outputs.

use crate::failure::Failure;
use broadloom::prelude::*;
use broadloom::{Array, Element, Inputs, OutputsMut, Scalar, bf16, f16};
use std::fmt;
use std::str::FromStr;

/// Random integers are below this, unless a range is given.
pub const MOST: f64 = 100.0;

/// The numbers from the first to just below the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub from: f64,
    pub to: f64,
}

impl FromStr for Range {
    type Err = String;

    /// `0..100`
    fn from_str(text: &str) -> Result<Self, String> {
        let ends = text.split_once("..").and_then(|(from, to)| {
            Some(Range { from: from.trim().parse().ok()?, to: to.trim().parse().ok()? })
        });
        let is_good = |range: &Range| range.from.is_finite() && range.to.is_finite() && range.from < range.to;
        ends.filter(is_good).ok_or_else(|| format!("`{text}` is not a range; write one like `0..100`"))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.to)
    }
}

/// The default range of random numbers of a dtype.
pub fn default_range(dtype: DType, most: f64) -> Range {
    Range { from: 0.0, to: if dtype.is_float() { 1.0 } else { most } }
}

/// An array of any dtype, to be passed to a kernel.
pub trait Data {
    /// Passes it as an input.
    fn pass<'a>(&'a self, name: &'a str, inputs: Inputs<'a>) -> Inputs<'a>;
    /// Passes it as an input that is updated.
    fn pass_mut<'a>(&'a mut self, name: &'a str, inputs: Inputs<'a>) -> Inputs<'a>;
    /// Passes it as an output.
    fn receive<'a>(&'a mut self, name: &'a str, outputs: OutputsMut<'a>) -> OutputsMut<'a>;
}

impl<T: Element> Data for Array<T> {
    fn pass<'a>(&'a self, name: &'a str, inputs: Inputs<'a>) -> Inputs<'a> {
        inputs.named(name, self)
    }

    fn pass_mut<'a>(&'a mut self, name: &'a str, inputs: Inputs<'a>) -> Inputs<'a> {
        inputs.named(name, self)
    }

    fn receive<'a>(&'a mut self, name: &'a str, outputs: OutputsMut<'a>) -> OutputsMut<'a> {
        outputs.named(name, self)
    }
}

fn made<T: Element>(shape: &[usize], value: &mut dyn FnMut() -> f64) -> Result<Box<dyn Data>, Failure> {
    let count = shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
    let mut data: Vec<T> = Vec::new();
    let count = count.filter(|count| data.try_reserve_exact(*count).is_ok()).ok_or_else(|| {
        let dtype = T::DTYPE;
        Failure::data(format!("not enough memory for an array {dtype}{shape:?}"))
            .help("give smaller sizes: --size n=1000")
    })?;
    data.extend((0..count).map(|_| T::from_scalar(Scalar::F64(value()).cast(T::DTYPE)).unwrap_or_default()));
    let array = Array::new(data, shape).map_err(|error| Failure::data(error.to_string()))?;
    Ok(Box::new(array))
}

/// An array of values.
pub fn array(
    dtype: DType,
    shape: &[usize],
    value: &mut dyn FnMut() -> f64,
) -> Result<Box<dyn Data>, Failure> {
    match dtype {
        DType::Bool => made::<bool>(shape, value),
        DType::I8 => made::<i8>(shape, value),
        DType::I16 => made::<i16>(shape, value),
        DType::I32 => made::<i32>(shape, value),
        DType::I64 => made::<i64>(shape, value),
        DType::U8 => made::<u8>(shape, value),
        DType::U16 => made::<u16>(shape, value),
        DType::U32 => made::<u32>(shape, value),
        DType::U64 => made::<u64>(shape, value),
        DType::F16 => made::<f16>(shape, value),
        DType::Bf16 => made::<bf16>(shape, value),
        DType::F32 => made::<f32>(shape, value),
        DType::F64 => made::<f64>(shape, value),
    }
}

/// An array of random values: floats, integers or truth values of equal frequency.
pub fn random(
    dtype: DType,
    shape: &[usize],
    range: Range,
    generator: &mut fastrand::Rng,
) -> Result<Box<dyn Data>, Failure> {
    let Range { from, to } = range;
    let mut value = || {
        let value = from + generator.f64() * (to - from);
        match dtype {
            DType::Bool => f64::from(generator.bool()),
            _ if dtype.is_float() => value,
            _ => value.floor(),
        }
    };
    array(dtype, shape, &mut value)
}
