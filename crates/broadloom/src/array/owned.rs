//! Owned arrays, dense in row-major order.

use super::geometry::LayoutError;
use super::view::ArrayView;
use crate::memory::{OutOfMemory, Storage};
use broadloom_ir::dtype::{DType, Element};
use broadloom_ir::for_each_dtype;
use smallvec::SmallVec;
use std::fmt;
use thiserror::Error;

/// An owned array of elements of type `T` in row-major order.
///
/// ```
/// use broadloom::Array;
/// let array = Array::new(vec![1, 2, 3, 4, 5, 6], &[2, 3])?;
/// assert_eq!(array.shape(), [2, 3]);
/// assert_eq!(array.get(&[1, 0]), Some(4));
/// # Ok::<(), broadloom::LayoutError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Array<T> {
    data: Vec<T>,
    shape: SmallVec<[usize; 4]>,
}

impl<T: Element> Array<T> {
    /// Creates an array from its elements in row-major order.
    ///
    /// ```
    /// use broadloom::Array;
    /// let table = Array::new(vec![1, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!(table.get(&[1, 0]), Some(4));
    /// assert!(Array::new(vec![1, 2], &[3]).is_err());
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the shape does not have as many elements as `data`.
    pub fn new(data: Vec<T>, shape: &[usize]) -> Result<Self, LayoutError> {
        ArrayView::new(&data, shape)?;
        Ok(Array { data, shape: SmallVec::from_slice(shape) })
    }

    /// Creates an array in which every element has the same value.
    ///
    /// ```
    /// use broadloom::Array;
    /// assert_eq!(Array::full(0.5f32, &[2, 2])?.as_slice(), [0.5; 4]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is not enough memory for the elements.
    pub fn full(value: T, shape: &[usize]) -> Result<Self, LayoutError> {
        let too_large = || LayoutError::TooLarge { shape: shape.to_vec() };
        let count = match shape.contains(&0) {
            true => 0,
            false => {
                shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size)).ok_or_else(too_large)?
            }
        };
        let mut data = Vec::new();
        data.try_reserve_exact(count).map_err(|_| too_large())?;
        data.resize(count, value);
        Ok(Array { data, shape: SmallVec::from_slice(shape) })
    }

    pub(super) fn from_parts(data: Vec<T>, shape: SmallVec<[usize; 4]>) -> Self {
        Array { data, shape }
    }

    /// Returns the sizes of the axes.
    ///
    /// ```
    /// use broadloom::Array;
    /// assert_eq!(Array::full(0u8, &[2, 3])?.shape(), [2, 3]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the elements in row-major order.
    ///
    /// ```
    /// use broadloom::Array;
    /// assert_eq!(Array::new(vec![1, 2], &[1, 2])?.as_slice(), [1, 2]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// Returns the elements in row-major order, for writing.
    ///
    /// ```
    /// use broadloom::Array;
    /// let mut pair = Array::new(vec![1, 2], &[2])?;
    /// pair.as_mut_slice()[0] = 7;
    /// assert_eq!(pair.get(&[0]), Some(7));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Returns the elements in row-major order and consumes the array.
    ///
    /// ```
    /// use broadloom::Array;
    /// assert_eq!(Array::new(vec![1, 2], &[2])?.into_vec(), vec![1, 2]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Returns the element at an index, or `None` if the index is outside the shape.
    ///
    /// ```
    /// use broadloom::Array;
    /// let table = Array::new(vec![1, 2, 3, 4], &[2, 2])?;
    /// assert_eq!((table.get(&[1, 0]), table.get(&[2, 0])), (Some(3), None));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn get(&self, index: &[usize]) -> Option<T> {
        let inside = index.len() == self.shape.len()
            && index.iter().zip(&self.shape).all(|(index, size)| index < size);
        let position = index
            .iter()
            .zip(&self.shape)
            .fold(0, |position: usize, (index, size)| position.wrapping_mul(*size).wrapping_add(*index));
        if inside { self.data.get(position).copied() } else { None }
    }

    pub(super) fn split_mut(&mut self) -> (&mut [T], &[usize]) {
        (&mut self.data, &self.shape)
    }
}

impl<T: Element> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?} {:?}", T::DTYPE, self.shape, self.data)
    }
}

/// An owned array in row-major order whose dtype is known at run time: the result of [`Executable::run`].
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::AnyArray;
/// let squares: AnyArray = eval(&[1.0f32, 2.0, 3.0], |x| x * x)?;
/// assert_eq!((squares.dtype(), squares.shape()), (DType::F32, &[3][..]));
/// assert_eq!(squares.as_slice::<f32>(), Some(&[1.0, 4.0, 9.0][..]));
/// assert_eq!(squares.as_slice::<f64>(), None);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
///
/// [`Executable::run`]: crate::Executable::run
#[derive(Clone)]
pub struct AnyArray {
    storage: Storage,
    shape: SmallVec<[usize; 4]>,
}

impl AnyArray {
    /// Creates an array. The storage must hold as many elements as the shape has.
    pub(crate) fn from_parts(storage: Storage, shape: SmallVec<[usize; 4]>) -> Self {
        AnyArray { storage, shape }
    }

    /// Allocates an array of `count` elements, the number that the shape has. They must be written to the storage
    /// before the array is used.
    #[inline]
    pub(crate) fn unwritten(dtype: DType, count: usize, shape: &[usize]) -> Result<Self, OutOfMemory> {
        Ok(AnyArray { storage: Storage::allocate(dtype, count)?, shape: SmallVec::from_slice(shape) })
    }

    /// Returns the dtype of the elements.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let outputs = kernel.run(&[1.0f32])?;
    /// assert_eq!(outputs.get("out").map(|array| array.dtype()), Some(DType::F32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.storage.dtype()
    }

    /// Returns the sizes of the axes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let outputs = kernel.run(&[1.0f32, 2.0])?;
    /// assert_eq!(outputs.get("out").map(|array| array.shape()), Some([2].as_slice()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the elements in row-major order, if they are of type `T`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let outputs = kernel.run(&[1.0f32, 2.0])?;
    /// let array = outputs.get("out").ok_or("no output")?;
    /// assert_eq!(array.as_slice::<f32>(), Some([2.0, 4.0].as_slice()));
    /// assert_eq!(array.as_slice::<f64>(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        self.storage.as_slice()
    }

    /// Copies the elements in row-major order, for outputs that are only borrowed.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let outputs = (2 * x).compile()?.run(&[1.0f32, 2.0])?;
    /// let doubled: Vec<f32> = outputs.get("out").ok_or("no output")?.to_vec()?;
    /// assert_eq!(doubled, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the elements are not of type `T`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, OutputError> {
        let found = self.dtype();
        let elements = self.as_slice::<T>().ok_or(OutputError::DType { found, wanted: T::DTYPE })?;
        Ok(elements.to_vec())
    }

    /// Returns a pointer to the elements, contiguous in row-major order, for other languages and libraries. The
    /// pointer is valid until the array is dropped or changed.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![2]);
    /// let outputs = (2 * x).compile()?.run(&[1.0f32, 2.0])?;
    /// let array = outputs.get("out").ok_or("no output")?;
    /// // SAFETY: there are two elements of f32, and `array` lives.
    /// let last = unsafe { *array.as_ptr().cast::<f32>().add(1) };
    /// assert_eq!(last, 4.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_ptr(&self) -> *const u8 {
        self.storage.as_ptr()
    }

    /// Returns the same pointer for writing. Write only values that are valid for the dtype.
    ///
    /// ```
    /// use broadloom::{AnyArray, Array};
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let mut array: AnyArray = (2 * g.input::<u8>("x", shape![2])).compile()?.run(&[1u8, 2])?.try_into()?;
    /// // SAFETY: there are two elements of one byte.
    /// unsafe { *array.as_mut_ptr() = 9 };
    /// assert_eq!(array.as_slice::<u8>(), Some([9, 4].as_slice()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.storage.as_mut_ptr()
    }

    /// Converts the array to one with its dtype as a type, without copying.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let any: broadloom::AnyArray = kernel.run(&[1.0f32, 2.0])?.try_into()?;
    /// assert_eq!(any.into_array::<f32>()?.as_slice(), [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the elements are not of type `T`.
    pub fn into_array<T: Element>(self) -> Result<Array<T>, OutputError> {
        match self.storage.into_vec() {
            Ok(data) => Ok(Array::from_parts(data, self.shape)),
            Err(storage) => Err(OutputError::DType { found: storage.dtype(), wanted: T::DTYPE }),
        }
    }

    /// Converts the elements to another type, by the rule of [`Tensor::cast`](crate::Tensor::cast): floats saturate to integers
    /// and NaN becomes 0, integers wrap, and a conversion to bool is `!= 0`.
    ///
    /// ```
    /// use broadloom::{AnyArray, prelude::*};
    /// let rounded: AnyArray = eval(&[0.5f32, -1.5, 300.0, f32::NAN], |x| x.round())?;
    /// assert_eq!(rounded.cast::<i64>()?.as_slice(), [0, -2, 300, 0]);
    /// assert_eq!(rounded.cast::<u8>()?.as_slice(), [0, 0, 255, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn cast<T: Element>(&self) -> Result<Array<T>, OutOfMemory> {
        Ok(Array::from_parts(self.storage.cast()?, self.shape.clone()))
    }

    /// Like [`AnyArray::cast`], to a dtype known only at run time.
    ///
    /// ```
    /// use broadloom::{AnyArray, prelude::*};
    /// let counts: AnyArray = eval(&[0, 1, 2], |x| x * x)?;
    /// assert_eq!(counts.cast_to(DType::F16)?.as_slice::<f16>(), Some([0, 1, 4].map(|x| f16::from_f32(x as f32)).as_slice()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn cast_to(&self, dtype: DType) -> Result<AnyArray, OutOfMemory> {
        macro_rules! typed {
            ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
                match dtype {
                    $(DType::$variant => self.cast::<$rust>().map(AnyArray::from),)*
                }
            };
        }
        for_each_dtype!(typed)
    }

    /// Appends the elements of another array of the same dtype along the leading axis. The other sizes must be
    /// equal.
    pub(crate) fn append(&mut self, other: AnyArray) -> Result<(), OutOfMemory> {
        if let (Some(rows), Some(more)) = (self.shape.first_mut(), other.shape.first()) {
            *rows += more;
        }
        self.storage.append(other.storage)
    }

    pub(super) fn storage(&self) -> &Storage {
        &self.storage
    }

    pub(crate) fn storage_mut(&mut self) -> &mut Storage {
        &mut self.storage
    }
}

impl<T: Element> From<Array<T>> for AnyArray {
    /// Forgets the dtype at compile time, without copying.
    ///
    /// ```
    /// use broadloom::{AnyArray, Array, DType};
    /// let array = AnyArray::from(Array::new(vec![1i32, 2], &[2])?);
    /// assert_eq!((array.dtype(), array.as_slice::<i32>()), (DType::I32, Some([1, 2].as_slice())));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    fn from(array: Array<T>) -> Self {
        AnyArray { storage: Storage::of(array.data), shape: array.shape }
    }
}

impl fmt::Debug for AnyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype(), self.shape)
    }
}

/// The error of a result that does not have the requested form.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{EvalError, OutputError};
/// let wrong: Result<Vec<f64>, EvalError> = eval(&[1.0f32], |x| 2 * x);
/// let expected = OutputError::DType { found: DType::F32, wanted: DType::F64 };
/// assert!(matches!(wrong, Err(EvalError::Output(error)) if error == expected));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The elements have a different dtype.
    #[error("the result has dtype {found}, not {wanted}")]
    DType {
        /// The dtype of the result.
        found: DType,
        /// The requested dtype.
        wanted: DType,
    },
    /// The number of axes is different.
    #[error("the result has {found} axes, not {wanted}")]
    Rank {
        /// The number of axes of the result.
        found: usize,
        /// The requested number of axes.
        wanted: usize,
    },
    /// A number was requested, but the result does not have exactly one element.
    #[error("the result has shape {shape:?}, not one element")]
    NotOneElement {
        /// The shape of the result.
        shape: Vec<usize>,
    },
    /// The only output was requested, but there are several.
    #[error("there are {} outputs, not {wanted}: {names:?}", names.len())]
    Number {
        /// The names of the outputs.
        names: Vec<String>,
        /// The requested number of outputs.
        wanted: usize,
    },
    /// No output has this name, or it was taken already.
    #[error("there is no output {name:?}; the outputs are {names:?}")]
    NoSuchName {
        /// The requested name.
        name: String,
        /// The available names.
        names: Vec<String>,
    },
}

/// Types that a result can become: [`Array<T>`](Array), [`AnyArray`], `Vec<T>` (from any shape, in row-major
/// order), a number (from one element) and, with the feature `ndarray`, that crate's owned arrays.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::Array;
/// let total: f32 = eval(&[1.0f32, 2.0], |x| x.sum(0))?;
/// let doubled: Vec<f32> = eval(&[1.0f32, 2.0], |x| 2 * x)?;
/// let table: Array<f32> = eval(&[1.0f32, 2.0], |x| x.unsqueeze(0))?;
/// assert_eq!((total, doubled, table.shape()), (3.0, vec![2.0, 4.0], &[1, 2][..]));
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be made from an array",
    note = "ask for a number, a `Vec`, an `Array` or an `AnyArray`"
)]
pub trait FromArray: Sized {
    /// Checks that [`FromArray::from_array`] will succeed.
    ///
    /// # Errors
    /// Returns an error if the dtype or rank does not match `Self`.
    fn check(array: &AnyArray) -> Result<(), OutputError>;

    /// Converts the array to `Self` without copying elements.
    ///
    /// # Errors
    /// Returns an error if the dtype or rank does not match `Self`.
    fn from_array(array: AnyArray) -> Result<Self, OutputError>;
}

impl AnyArray {
    fn check_dtype<T: Element>(&self) -> Result<(), OutputError> {
        let (found, wanted) = (self.dtype(), T::DTYPE);
        if found == wanted { Ok(()) } else { Err(OutputError::DType { found, wanted }) }
    }

    #[cfg(feature = "ndarray")]
    pub(super) fn check_rank<T: Element>(&self, rank: Option<usize>) -> Result<(), OutputError> {
        self.check_dtype::<T>()?;
        let found = self.shape.len();
        match rank {
            Some(wanted) if wanted != found => Err(OutputError::Rank { found, wanted }),
            Some(_) | None => Ok(()),
        }
    }
}

impl FromArray for AnyArray {
    fn check(_: &AnyArray) -> Result<(), OutputError> {
        Ok(())
    }

    fn from_array(array: AnyArray) -> Result<Self, OutputError> {
        Ok(array)
    }
}

impl<T: Element> FromArray for Array<T> {
    fn check(array: &AnyArray) -> Result<(), OutputError> {
        array.check_dtype::<T>()
    }

    fn from_array(array: AnyArray) -> Result<Self, OutputError> {
        array.into_array()
    }
}

impl<T: Element> FromArray for Vec<T> {
    fn check(array: &AnyArray) -> Result<(), OutputError> {
        array.check_dtype::<T>()
    }

    fn from_array(array: AnyArray) -> Result<Self, OutputError> {
        array.into_array().map(Array::into_vec)
    }
}
