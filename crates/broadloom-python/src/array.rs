//! NumPy's arrays as views, and results as NumPy's arrays: the place where pointers cross the border.
//!
//! A view holds a reference to its array, so its memory lives; NumPy refuses to resize an array that is referred to. Another
//! thread may still write to the elements while a kernel runs without the GIL: as in NumPy, it then reads either value.
//! Kernels load an index once, check it and use what they checked.
#![allow(
    unsafe_code,
    reason = "NumPy's arrays are read by their fields, and results are handed over by pointers"
)]

use crate::dtype;
use crate::error::{Class, of_layout};
use broadloom::{AnyArray, ArrayView, ArrayViewMut, DType};
use numpy::npyffi::{self, PY_ARRAY_API, PyArrayObject, flags};
use pyo3::basic::CompareOp;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyMemoryView};
use smallvec::SmallVec;
use std::ops::Range;

/// The most candidates that NumPy tries to find an element that two arrays share.
const MAX_WORK: usize = 1_000_000;

/// An array that is passed to a kernel.
pub struct Operand<'py> {
    /// The array of NumPy's that owns or borrows the elements.
    pub object: Bound<'py, PyAny>,
    /// What the caller passed, if it is another object: a subclass, a scalar, or an array that had to be copied.
    given: Option<Bound<'py, PyAny>>,
    is_copy: bool,
    data: *mut u8,
    pub dtype: DType,
    pub shape: SmallVec<[usize; 4]>,
    /// In elements.
    strides: SmallVec<[isize; 4]>,
    is_writeable: bool,
}

/// Returns whether an object is an array of numbers or bools, and of no class of its own.
pub fn is_number_array(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object lives, and this thread is attached.
    let is_array = unsafe { npyffi::PyArray_CheckExact(object.py(), object.as_ptr()) != 0 };
    // SAFETY: the object is an array of NumPy's, which has a descriptor.
    is_array
        && unsafe {
            let descr = (*object.as_ptr().cast::<PyArrayObject>()).fields.descr;
            dtype::of_number(object.py(), (*descr).fields.type_num).is_some()
        }
}

impl<'py> Operand<'py> {
    /// Returns the array that an object is or can be viewed as; `None` if it is something else.
    ///
    /// # Errors
    /// Returns an error for arrays whose meaning would be lost, and for dtypes that are not supported.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Operand<'py>>> {
        if let Some(array) = Operand::of_exact(object)? {
            return Ok(Some(array));
        }
        match as_array(object)? {
            Some(array) => {
                let mut operand = Operand::of_array(array)?.with_true_as_one()?;
                operand.given = Some(object.clone());
                Ok(Some(operand))
            }
            None => Ok(None),
        }
    }

    /// Returns the array that an object is; `None` if its class is another one.
    ///
    /// # Errors
    /// Returns an error for dtypes that are not supported.
    pub fn of_exact(object: &Bound<'py, PyAny>) -> PyResult<Option<Operand<'py>>> {
        // SAFETY: the object lives, and this thread is attached.
        match unsafe { npyffi::PyArray_CheckExact(object.py(), object.as_ptr()) } {
            0 => Ok(None),
            _ => Operand::of_array(object.clone())?.with_true_as_one().map(Some),
        }
    }

    /// Reads the fields of an array.
    fn of_array(array: Bound<'py, PyAny>) -> PyResult<Operand<'py>> {
        let py = array.py();
        // SAFETY: the object is an array of NumPy's, which this thread refers to.
        let fields = unsafe { &(*array.as_ptr().cast::<PyArrayObject>()).fields };
        // SAFETY: an array has a descriptor.
        let descr = unsafe { &(*fields.descr).fields };
        let Some(dtype) = dtype::of_number(py, descr.type_num) else {
            return Err(dtype::unsupported(&array.getattr("dtype")?));
        };
        let rank = usize::try_from(fields.nd).unwrap_or(0);
        let (sizes, steps) = match rank {
            0 => (&[][..], &[][..]),
            // SAFETY: an array with axes has `nd` sizes and strides.
            _ => unsafe {
                (
                    std::slice::from_raw_parts(fields.dimensions, rank),
                    std::slice::from_raw_parts(fields.strides, rank),
                )
            },
        };
        let swapped = if cfg!(target_endian = "little") { b'>' } else { b'<' };
        let item = dtype.size() as isize;
        let is_strange = descr.byteorder as u8 == swapped
            || fields.flags & flags::NPY_ARRAY_ALIGNED == 0
            || sizes.iter().zip(steps).any(|(size, step)| *size > 1 && step % item != 0);
        if is_strange {
            let operand = Operand::of_array(copied(&array)?)?;
            return Ok(Operand { given: Some(array), is_copy: true, ..operand });
        }
        let shape = sizes.iter().map(|size| *size as usize).collect();
        let strides = sizes.iter().zip(steps).map(|(size, step)| if *size > 1 { step / item } else { 0 });
        Ok(Operand {
            data: fields.data.cast(),
            dtype,
            shape,
            strides: strides.collect(),
            is_writeable: fields.flags & flags::NPY_ARRAY_WRITEABLE != 0,
            object: array,
            given: None,
            is_copy: false,
        })
    }

    /// Returns the operand itself, or a copy with ones for other bytes that mean true, which a view of integers as bools
    /// has: kernels compute with 0 and 1.
    fn with_true_as_one(self) -> PyResult<Operand<'py>> {
        if self.dtype != DType::Bool || self.shape.contains(&0) {
            return Ok(self);
        }
        // SAFETY: NumPy vouches for the elements of the array, which `object` keeps alive.
        if unsafe { all_bits(self.data, &self.shape, &self.strides) } <= 1 {
            return Ok(self);
        }
        let bytes = self.object.call_method1("view", ("u1",))?;
        let operand = Operand::of_array(bytes.rich_compare(0, CompareOp::Ne)?)?;
        Ok(Operand { given: Some(self.given.unwrap_or(self.object)), is_copy: true, ..operand })
    }

    /// Returns what the caller passed.
    pub fn given(&self) -> &Bound<'py, PyAny> {
        self.given.as_ref().unwrap_or(&self.object)
    }

    /// Returns whether the caller passed one of NumPy's scalars, which cannot change.
    pub fn is_scalar(&self) -> bool {
        // SAFETY: the object lives, and this thread is attached.
        let is_array =
            |object: &Bound<'py, PyAny>| unsafe { npyffi::PyArray_Check(object.py(), object.as_ptr()) != 0 };
        self.shape.is_empty() && self.given.as_ref().is_some_and(|given| !is_array(given))
    }

    /// Returns the bits of an integer or a flag that the caller passed as one of NumPy's scalars.
    pub fn integer(&self) -> Option<u64> {
        (!self.dtype.is_float() && self.is_scalar()).then(|| {
            let mut bits = [0; 8];
            // SAFETY: the array has one element of at most 8 bytes, and `object` keeps it alive.
            unsafe { std::ptr::copy_nonoverlapping(self.data, bits.as_mut_ptr(), self.dtype.size()) };
            u64::from_le_bytes(bits)
        })
    }

    /// Returns whether two arrays have a byte in common; arrays for which that is too hard to tell count as if they had.
    ///
    /// # Errors
    /// Returns an error if NumPy does.
    pub fn overlaps(&self, other: &Operand<'py>) -> PyResult<bool> {
        let (own, others) = (self.bytes(), other.bytes());
        if own.start >= others.end || others.start >= own.end {
            return Ok(false);
        }
        let numpy = numpy_module(self.object.py())?;
        let shared = numpy.call_method1("shares_memory", (self.given(), other.given(), MAX_WORK));
        shared.map_or(Ok(true), |shared| shared.extract())
    }

    /// The addresses between the first and the last byte of the array that the caller passed.
    fn bytes(&self) -> Range<usize> {
        if self.is_copy {
            // The copy is at another address: NumPy answers for the original.
            return 0..usize::MAX;
        }
        let (mut start, mut end) = (self.data as usize, self.data as usize + self.dtype.size());
        for (size, stride) in self.shape.iter().zip(&self.strides) {
            let Some(last) = size.checked_sub(1) else { return 0..0 };
            let reach = (last as isize * stride).unsigned_abs() * self.dtype.size();
            if *stride < 0 { start = start.wrapping_sub(reach) } else { end = end.wrapping_add(reach) }
        }
        start..end
    }

    /// Checks that a kernel may write to the array of this name.
    ///
    /// # Errors
    /// Returns an error if it is read-only.
    pub fn check_writeable(&self, name: &str) -> PyResult<()> {
        let is_writeable = match &self.given {
            Some(given) if self.is_copy => given.getattr("flags")?.getattr("writeable")?.extract()?,
            _ => self.is_writeable,
        };
        if is_writeable {
            return Ok(());
        }
        let text = format!("the function changes `{name}`, which is read-only: pass a copy, `{name}.copy()`");
        Err(Class::Value.error(self.object.py(), text))
    }

    /// Writes elements that a kernel changed to the array that the caller passed, if the kernel had a copy.
    ///
    /// # Errors
    /// Returns an error if NumPy does.
    pub fn write_back(&self) -> PyResult<()> {
        if self.is_copy {
            numpy_module(self.object.py())?.call_method1("copyto", (self.given(), &self.object))?;
        }
        Ok(())
    }

    /// Returns the view that kernels read.
    ///
    /// # Errors
    /// Returns an error if there are more elements than can be counted.
    pub fn view(&self) -> PyResult<ArrayView<'_>> {
        // SAFETY: NumPy vouches for the elements, which are aligned and in native byte order and live as long as
        // `object`. Bools are 0 or 1, as `with_true_as_one` found.
        let view = unsafe { ArrayView::from_raw(self.data, self.dtype, &self.shape, &self.strides) };
        view.map_err(|error| of_layout(self.object.py(), &error))
    }

    /// Returns the view that kernels read, for as long as the caller keeps a reference to `object`.
    ///
    /// # Errors
    /// Returns an error if there are more elements than can be counted.
    ///
    /// # Safety
    /// The caller keeps a reference to `object` as long as the view is used.
    pub unsafe fn view_unbound(&self) -> PyResult<ArrayView<'static>> {
        // SAFETY: as for `view`; the caller vouches for the lifetime.
        let view = unsafe { ArrayView::from_raw(self.data, self.dtype, &self.shape, &self.strides) };
        view.map_err(|error| of_layout(self.object.py(), &error))
    }

    /// Returns the array that a caller gives for a result.
    ///
    /// # Errors
    /// Returns an error for objects that are not arrays, cannot be written to, or would have to be converted.
    pub fn destination(object: &Bound<'py, PyAny>) -> PyResult<Operand<'py>> {
        let py = object.py();
        // SAFETY: as in `of`.
        if unsafe { npyffi::PyArray_Check(py, object.as_ptr()) } == 0 {
            let text = format!("`out` takes NumPy arrays, not {}", object.get_type().name()?);
            return Err(Class::DType.error(py, text));
        }
        let operand = Operand::of_array(object.clone())?;
        if !operand.object.is(object) {
            let text = "`out` must be aligned and in native byte order: pass an array of your own, and copy it by `np.copyto`";
            return Err(Class::Value.error(py, text));
        }
        if !operand.is_writeable {
            return Err(Class::Value.error(py, "`out` is read-only: pass a copy, `out.copy()`"));
        }
        Ok(operand)
    }

    /// Returns the view that kernels write to.
    ///
    /// # Errors
    /// Returns an error if two indices reach the same element.
    pub fn view_mut(&self) -> PyResult<ArrayViewMut<'_>> {
        // SAFETY: as for reading, and NumPy says that the array can be written to. The facade finds arrays of a call that
        // overlap by their addresses.
        let view = unsafe { ArrayViewMut::from_raw(self.data, self.dtype, &self.shape, &self.strides) };
        view.map_err(|error| of_layout(self.object.py(), &error))
    }
}

/// The bits that some byte of an array has.
///
/// # Safety
/// Bytes of this shape and these strides are at `data`; no size is 0.
unsafe fn all_bits(data: *const u8, shape: &[usize], strides: &[isize]) -> u8 {
    let (Some((size, shape)), Some((stride, strides))) = (shape.split_first(), strides.split_first()) else {
        // SAFETY: as the caller says.
        return unsafe { *data };
    };
    if (shape.len(), *stride) == (0, 1) {
        // SAFETY: as the caller says.
        return (0..*size).fold(0, |bits, index| bits | unsafe { *data.add(index) });
    }
    // All elements along an axis of stride 0 are the same.
    let size = if *stride == 0 { (*size).min(1) } else { *size };
    (0..size).fold(0, |bits, index| {
        // SAFETY: as the caller says.
        bits | unsafe { all_bits(data.offset(index as isize * stride), shape, strides) }
    })
}

/// A copy that is aligned, in native byte order and contiguous.
fn copied<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let native = array.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
    array.call_method1("astype", (native, "C", "unsafe", false, true))
}

/// Objects that can be viewed as an array of NumPy: subclasses with the same meaning, scalars, buffers, DLPack's tensors, and
/// objects with `__array__`.
fn as_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let numpy = numpy_module(py)?;
    // SAFETY: as in `Operand::of`.
    if unsafe { npyffi::PyArray_Check(py, object.as_ptr()) } != 0 {
        for (class, help) in [("ma.MaskedArray", "x.filled(0)"), ("matrix", "np.asarray(x)")] {
            let mut found = numpy.clone();
            for name in class.split('.') {
                found = found.getattr(name)?;
            }
            if object.is_instance(&found)? {
                let text =
                    format!("arrays of the class np.{class} compute by rules of their own: write `{help}`");
                return Err(Class::DType.error(py, text));
            }
        }
        return base_class(object).map(Some);
    }
    if object.is_instance(&numpy.getattr("generic")?)? {
        return numpy.call_method1("asarray", (object,)).map(Some);
    }
    if object.hasattr("__dlpack__")? && object.hasattr("__dlpack_device__")? {
        // DLPack has dtypes that NumPy's reading of it lacks, such as bfloat16: what has its own way to NumPy takes that.
        let tensor = numpy.call_method1("from_dlpack", (object,));
        let found = tensor.or_else(|error| match object.get_type().hasattr("__array__")? {
            true => numpy.call_method1("asarray", (object,)).map_err(|_| error),
            false => Err(error),
        });
        return found.map(Some).map_err(|error| {
            let text =
                format!("the tensor cannot be read: {error}; pass one on the CPU, of a dtype that NumPy has");
            Class::Value.error(py, text)
        });
    }
    if object.is_instance_of::<pyo3::types::PyBytes>() || object.is_instance_of::<pyo3::types::PyByteArray>()
    {
        return Ok(None);
    }
    // SAFETY: the object lives, and this thread is attached.
    if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0 {
        let buffer = PyMemoryView::from(object)?;
        return numpy.call_method1("asarray", (buffer,)).map(Some);
    }
    if object.get_type().hasattr("__array__")? {
        let array = object.call_method0("__array__")?;
        // SAFETY: as in `Operand::of`.
        if unsafe { npyffi::PyArray_Check(py, array.as_ptr()) } == 0 {
            let text = format!("`__array__` of {} returned no array", object.get_type().name()?);
            return Err(Class::DType.error(py, text));
        }
        py.import("broadloom._errors")?.call_method1("warn_of_labels", (object.get_type(),))?;
        return base_class(&array).map(Some);
    }
    Ok(None)
}

/// The elements of a subclass as a plain array.
fn base_class<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    numpy_module(array.py())?.call_method1("asarray", (array,))
}

/// Whether an array is contiguous and has these bytes, in the order in which its elements are stored.
pub fn has_bytes(array: &Bound<'_, PyAny>, bytes: &[u8]) -> PyResult<bool> {
    let Some(operand) = Operand::of_exact(array)? else { return Ok(false) };
    // SAFETY: `of_exact` found an array of NumPy's.
    let own = unsafe { (*operand.object.as_ptr().cast::<PyArrayObject>()).fields.flags };
    if own & (flags::NPY_ARRAY_C_CONTIGUOUS | flags::NPY_ARRAY_F_CONTIGUOUS) == 0 {
        return Ok(false);
    }
    let size = operand.shape.iter().product::<usize>() * operand.dtype.size();
    // SAFETY: a contiguous array has this many bytes one after the other, which `operand` keeps alive.
    Ok(size == bytes.len() && unsafe { std::slice::from_raw_parts(operand.data, size) } == bytes)
}

/// The number of references to an object.
pub fn reference_count(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: the object lives, and this thread is attached.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

pub fn numpy_module(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static NUMPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let numpy = NUMPY.get_or_try_init(py, || py.import("numpy").map(|numpy| numpy.into_any().unbind()))?;
    Ok(numpy.bind(py).clone())
}

/// A result as an array of NumPy's, which keeps its memory without a copy; of rank 0, as a scalar, as NumPy has it.
pub fn to_numpy(py: Python<'_>, array: AnyArray) -> PyResult<Bound<'_, PyAny>> {
    let descr = dtype::to_numpy(py, array.dtype())?;
    let mut sizes: SmallVec<[isize; 4]> = array.shape().iter().map(|size| *size as isize).collect();
    let mut array = array;
    let data = array.as_mut_ptr();
    let owner = PyCapsule::new_with_value(py, array, c"broadloom.array")?;
    let flags = flags::NPY_ARRAY_CARRAY;
    // SAFETY: `data` is what `owner` keeps alive, contiguous in row-major order, of this dtype and these sizes. Moving the
    // array into the capsule does not move its elements. NumPy takes over the references to `descr` and to `owner`.
    unsafe {
        let class = npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type);
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr.into_ptr().cast(),
            sizes.len() as i32,
            sizes.as_mut_ptr(),
            std::ptr::null_mut(),
            data.cast(),
            flags,
            std::ptr::null_mut(),
        );
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, made.as_ptr().cast(), owner.into_ptr()) < 0 {
            return Err(PyErr::fetch(py));
        }
        Bound::from_owned_ptr_or_err(py, PY_ARRAY_API.PyArray_Return(py, made.into_ptr().cast()))
    }
}
