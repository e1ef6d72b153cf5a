//! Arrays as bytes, little-endian: the states of aggregates and the constants of programs on their way to other
//! processes.

use broadloom::{AnyArray, Array, DType};
use broadloom_ir::dtype::{Element, Scalar};
use broadloom_ir::for_each_dtype;

/// Appends the elements of an array.
///
/// ```
/// use broadloom::{AnyArray, Array, DType};
/// use broadloom_arrow::{array_from_bytes, write_array};
/// let array = AnyArray::from(Array::new(vec![1i16, -2], &[2])?);
/// let mut bytes = Vec::new();
/// write_array(&array, &mut bytes);
/// assert_eq!(bytes, [1, 0, 254, 255]);
/// let again = array_from_bytes(DType::I16, &[2], &bytes).ok_or("damaged")?;
/// assert_eq!(again.as_slice::<i16>(), Some([1, -2].as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_array(array: &AnyArray, bytes: &mut Vec<u8>) {
    macro_rules! write {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match array.dtype() {
                $(DType::$variant => {
                    let elements = array.as_slice::<$rust>().unwrap_or_default();
                    bytes.reserve(elements.len() * $size);
                    for element in elements {
                        bytes.extend_from_slice(&element.into_scalar().bits().to_le_bytes()[..$size]);
                    }
                })*
            }
        };
    }
    for_each_dtype!(write);
}

/// Reads an array back. `None` if the bytes are not exactly its elements: there are too many or too few, or a truth value
/// is neither 0 nor 1.
pub fn array_from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Option<AnyArray> {
    let count = match shape.contains(&0) {
        true => 0,
        false => shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size))?,
    };
    if count.checked_mul(dtype.size()) != Some(bytes.len()) {
        return None;
    }
    macro_rules! read {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match dtype { $(DType::$variant => read::<$rust>(shape, bytes),)* }
        };
    }
    for_each_dtype!(read)
}

fn read<T: Element>(shape: &[usize], bytes: &[u8]) -> Option<AnyArray> {
    let elements = bytes.chunks_exact(T::DTYPE.size()).map(|element| {
        let mut bits = [0; 8];
        bits[..element.len()].copy_from_slice(element);
        let bits = u64::from_le_bytes(bits);
        Scalar::from_bits(T::DTYPE, bits).and_then(T::from_scalar)
    });
    Some(AnyArray::from(Array::new(elements.collect::<Option<Vec<T>>>()?, shape).ok()?))
}
