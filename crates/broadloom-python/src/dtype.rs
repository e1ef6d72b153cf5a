//! Dtypes of NumPy and those of Broadloom.

use broadloom::DType;
use numpy::npyffi::NPY_TYPES;
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The number of `ml_dtypes.bfloat16`, which only exists where that package is installed.
static BFLOAT16: PyOnceLock<Option<i32>> = PyOnceLock::new();

fn bfloat16(py: Python<'_>) -> Option<i32> {
    *BFLOAT16.get_or_init(py, || {
        let class = py.import("ml_dtypes").and_then(|package| package.getattr("bfloat16")).ok()?;
        Some(PyArrayDescr::new(py, class).ok()?.num())
    })
}

/// Returns the dtype of a number of NumPy's; `None` if its elements are of another kind.
pub fn of_number(py: Python<'_>, number: i32) -> Option<DType> {
    use NPY_TYPES::*;
    let of = |kind: NPY_TYPES| kind as i32;
    let integer = |signed: bool, bytes: usize| match (signed, bytes) {
        (true, 4) => DType::I32,
        (true, _) => DType::I64,
        (false, 4) => DType::U32,
        (false, _) => DType::U64,
    };
    let long = size_of::<std::ffi::c_long>();
    Some(match number {
        n if n == of(NPY_BOOL) => DType::Bool,
        n if n == of(NPY_BYTE) => DType::I8,
        n if n == of(NPY_UBYTE) => DType::U8,
        n if n == of(NPY_SHORT) => DType::I16,
        n if n == of(NPY_USHORT) => DType::U16,
        n if n == of(NPY_INT) => DType::I32,
        n if n == of(NPY_UINT) => DType::U32,
        n if n == of(NPY_LONG) => integer(true, long),
        n if n == of(NPY_ULONG) => integer(false, long),
        n if n == of(NPY_LONGLONG) => DType::I64,
        n if n == of(NPY_ULONGLONG) => DType::U64,
        n if n == of(NPY_HALF) => DType::F16,
        n if n == of(NPY_FLOAT) => DType::F32,
        n if n == of(NPY_DOUBLE) => DType::F64,
        n if Some(n) == bfloat16(py) => DType::Bf16,
        _ => return None,
    })
}

/// Returns NumPy's dtype.
///
/// # Errors
/// bfloat16 needs the package `ml_dtypes`.
pub fn to_numpy(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyArrayDescr>> {
    if let Some(code) = dtype.numpy_code() {
        return PyArrayDescr::new(py, code);
    }
    let class = py.import("ml_dtypes").and_then(|package| package.getattr("bfloat16"));
    let class = class.map_err(|_| {
        let text =
            "NumPy has no bfloat16 of its own: install the package ml_dtypes, or write `.astype(np.float32)`";
        crate::error::Class::DType.error(py, text)
    })?;
    PyArrayDescr::new(py, class)
}

/// Returns the dtype that a Python object names: a dtype of NumPy, a class of its scalars, `float`, or a text.
pub fn of_object(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    let py = object.py();
    let descr = PyArrayDescr::new(py, object)?;
    let found = of_number(py, descr.num()).filter(|_| descr.is_native_byteorder() != Some(false));
    found.ok_or_else(|| unsupported(&descr))
}

/// The error of elements that Broadloom does not compute with.
pub fn unsupported(dtype: &Bound<'_, PyAny>) -> PyErr {
    let py = dtype.py();
    let says = py
        .import("broadloom._unsupported")
        .and_then(|module| module.call_method1("says", (dtype,))?.extract::<String>());
    says.map_or_else(|error| error, |text| crate::error::Class::DType.error(py, text))
}
