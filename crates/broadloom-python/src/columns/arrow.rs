//! Arrays of Arrow's C data interface in Python's capsules, as pyarrow and others pass them.
#![allow(unsafe_code, reason = "arrays in capsules change their owner")]

use super::definition::{Constant, Definition};
use super::plan::{Plan, types};
use crate::error::{Class, detached};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::Field;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// An expression over columns, with its kernel for the types of the last call.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Columns {
    definition: Arc<Definition>,
    plan: Mutex<Option<Arc<Plan>>>,
}

/// A column, or only its type, that libraries of Arrow take.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Passed {
    field: Field,
    array: Option<ArrayRef>,
}

#[pymethods]
impl Columns {
    #[new]
    fn new(
        py: Python<'_>,
        numbers: String,
        text: String,
        names: Vec<String>,
        constants: Vec<Constant>,
        makes: &str,
        caller: &str,
    ) -> PyResult<Columns> {
        let definition = Definition::new([numbers, text], names, constants, makes, caller);
        let definition = definition.map_err(|message| Class::Value.error(py, message))?;
        Ok(Columns { definition: Arc::new(definition), plan: Mutex::default() })
    }

    /// The type of the result for columns of these types.
    fn result(&self, py: Python<'_>, fields: Vec<Bound<'_, PyAny>>) -> PyResult<Passed> {
        let fields = fields.iter().map(field_of).collect::<PyResult<Vec<Field>>>()?;
        let found = detached(py, || self.plan(&fields)?.field("result"))?;
        let field = found.map_err(|message| Class::Value.error(py, message))?;
        Ok(Passed { field, array: None })
    }

    /// The result for columns.
    fn run(&self, py: Python<'_>, columns: Vec<Bound<'_, PyAny>>) -> PyResult<Passed> {
        let columns = columns.iter().map(column_of).collect::<PyResult<Vec<(Field, ArrayRef)>>>()?;
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
        let made = detached(py, || {
            let plan = self.plan(&fields)?;
            Ok::<_, String>((plan.field("result")?, plan.run(&fields, &arrays)?))
        })?;
        let (field, array) = made.map_err(|message| Class::Value.error(py, message))?;
        Ok(Passed { field, array: Some(array) })
    }
}

impl Columns {
    /// Returns the plan of the last call, or that of columns of other types, which replaces it.
    fn plan(&self, fields: &[Field]) -> Result<Arc<Plan>, String> {
        let types = types(self.definition.caller, fields)?;
        let mut kept = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(plan) if plan.types() == types => Ok(plan.clone()),
            _ => Ok(kept.insert(Arc::new(Plan::new(self.definition.clone(), types)?)).clone()),
        }
    }
}

#[pymethods]
impl Passed {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&self.field);
        let schema = schema.map_err(|error| Class::Value.error(py, error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A type that is asked for need not be met.
        let _ = requested_schema;
        let array =
            self.array.as_ref().ok_or_else(|| PyTypeError::new_err("this is a type without an array"))?;
        let (array, _) =
            to_ffi(&array.to_data()).map_err(|error| Class::Value.error(py, error.to_string()))?;
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, ARRAY)?))
    }
}

/// Reads the type of a column.
fn field_of(object: &Bound<'_, PyAny>) -> PyResult<Field> {
    let capsule = object.call_method0("__arrow_c_schema__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    // SAFETY: a capsule of this name has a schema, by the protocol; it stays there.
    let schema = unsafe { &*capsule.pointer_checked(Some(SCHEMA))?.as_ptr().cast::<FFI_ArrowSchema>() };
    Field::try_from(schema).map_err(|error| Class::DType.error(object.py(), error.to_string()))
}

/// Takes a column.
fn column_of(object: &Bound<'_, PyAny>) -> PyResult<(Field, ArrayRef)> {
    let failed = |error: arrow_schema::ArrowError| Class::DType.error(object.py(), error.to_string());
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
        object.call_method0("__arrow_c_array__")?.extract()?;
    // SAFETY: capsules of these names have a schema, which stays there, and an array, which is moved out, by the protocol.
    let (schema, array) = unsafe {
        let schema = &*schema.pointer_checked(Some(SCHEMA))?.as_ptr().cast::<FFI_ArrowSchema>();
        (schema, FFI_ArrowArray::from_raw(array.pointer_checked(Some(ARRAY))?.as_ptr().cast()))
    };
    let field = Field::try_from(schema).map_err(failed)?;
    // SAFETY: the array has the type that came with it.
    let mut data = unsafe { from_ffi(array, schema) }.map_err(failed)?;
    data.align_buffers();
    Ok((field, make_array(data)))
}
