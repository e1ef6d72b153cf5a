//! The C interface of polars' expression plugins, version 0.1: columns come and go as arrays of Arrow's C data interface.
//!
//! The layout and the owners of memory are those of polars' crate `polars-ffi`, which stay the same within a version; polars asks
//! for the version first.
#![allow(unsafe_code, reason = "polars calls C functions with pointers to arrays that change their owner")]

use super::plan::Plan;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type, to_ffi};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::Field;
use arrow_select::concat::concat;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

const MAJOR: u32 = 0;
const MINOR: u32 = 1;

/// A column as polars passes it: chunks of one type.
#[repr(C)]
pub struct SeriesExport {
    field: *mut FFI_ArrowSchema,
    arrays: *mut *mut FFI_ArrowArray,
    length: usize,
    release: Option<unsafe extern "C" fn(*mut SeriesExport)>,
    private: *mut c_void,
}

/// What a column of ours owns, until its release. The arrays belong to whoever reads them; only their boxes are freed.
struct Owned {
    arrays: Box<[*mut FFI_ArrowArray]>,
    _field: Box<FFI_ArrowSchema>,
}

thread_local! {
    /// The message of the last call of this thread that failed.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Returns the version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn _polars_plugin_get_version() -> u32 {
    MAJOR << 16 | MINOR
}

/// Returns the message of the last call of this thread that failed; it stays until the next one.
#[unsafe(no_mangle)]
pub extern "C" fn _polars_plugin_get_last_error_message() -> *const c_char {
    MESSAGE.with(|message| message.borrow().as_ptr())
}

/// Writes the type of a result.
///
/// # Safety
/// `fields` has `count` schemas, which stay polars'; `result` can be written; `definition` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _polars_plugin_field_broadloom(
    fields: *const FFI_ArrowSchema,
    count: usize,
    result: *mut FFI_ArrowSchema,
    definition: *const u8,
    length: usize,
) {
    reported(|| {
        // SAFETY: by the contract of the caller.
        let (schemas, definition) = unsafe { (parts(fields, count), parts(definition, length)) };
        let fields = schemas.iter().map(field_of).collect::<Result<Vec<Field>, String>>()?;
        let field = Plan::of_bytes(definition, &fields)?.field(name_of(&fields))?;
        let schema = FFI_ArrowSchema::try_from(&field).map_err(|error| error.to_string())?;
        // SAFETY: by the contract of the caller. What was there is empty.
        unsafe { result.write(schema) };
        Ok(())
    });
}

/// Computes a result.
///
/// # Safety
/// `columns` has `count` columns, which are ours from now on; `result` can be written; `definition` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _polars_plugin_broadloom(
    columns: *mut SeriesExport,
    count: usize,
    definition: *const u8,
    length: usize,
    result: *mut SeriesExport,
    _context: *const c_void,
) {
    reported(|| {
        // SAFETY: by the contract of the caller: each column is read once.
        let taken: Vec<_> = (0..count).map(|number| unsafe { take(columns.add(number)) }).collect();
        let taken = taken.into_iter().collect::<Result<Vec<(Field, ArrayRef)>, String>>()?;
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = taken.into_iter().unzip();
        // SAFETY: by the contract of the caller.
        let plan = Plan::of_bytes(unsafe { parts(definition, length) }, &fields)?;
        let made = export(&plan.field(name_of(&fields))?, &plan.run(&fields, &arrays)?)?;
        // SAFETY: by the contract of the caller. What was there is empty.
        unsafe { result.write(made) };
        Ok(())
    });
}

/// The result has the name of the first column, as results of polars' own functions do.
fn name_of(fields: &[Field]) -> &str {
    fields.first().map_or("literal", |field| field.name())
}

/// Runs an action; what is wrong, a panic included, becomes the message that polars asks for.
fn reported(action: impl FnOnce() -> Result<(), String>) {
    let result = catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|payload| Err(defect(&*payload)));
    if let Err(message) = result {
        // A text for C ends at its first zero.
        let message = CString::new(message.replace('\0', "?")).unwrap_or_default();
        MESSAGE.with(|last| *last.borrow_mut() = message);
    }
}

fn defect(payload: &(dyn Any + Send)) -> String {
    let what = (payload.downcast_ref::<String>().map(String::as_str))
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    format!("a defect of Broadloom: {what}; please report it with the expression that you ran")
}

/// Returns what a pointer and a number of elements describe.
///
/// # Safety
/// If the number is not 0, so many elements can be read as long as the result lives.
unsafe fn parts<'a, T>(start: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: by the contract of the caller.
        count => unsafe { slice::from_raw_parts(start, count) },
    }
}

fn field_of(schema: &FFI_ArrowSchema) -> Result<Field, String> {
    Field::try_from(schema).map_err(|error| format!("a column of polars has no type of Arrow's: {error}"))
}

/// Takes a column, whose chunks are joined.
///
/// # Safety
/// The column is one of polars' that nobody has taken.
unsafe fn take(column: *mut SeriesExport) -> Result<(Field, ArrayRef), String> {
    // SAFETY: by the contract of the caller. The arrays are moved out of their boxes before these are freed, and end with
    // their own releases, whatever happens here.
    let (field, chunks) = unsafe {
        let mut column = column.read();
        let field = field_of(&*column.field);
        let pointers = parts(column.arrays.cast_const(), column.length);
        let chunks: Vec<FFI_ArrowArray> = pointers.iter().map(|array| array.read()).collect();
        if let Some(release) = column.release {
            release(&mut column);
        }
        (field?, chunks)
    };
    let chunks = chunks.into_iter().map(|chunk| {
        // SAFETY: the array has the type that came with it.
        let data = unsafe { from_ffi_and_data_type(chunk, field.data_type().clone()) };
        let mut data = data.map_err(|error| error.to_string())?;
        data.align_buffers();
        Ok(make_array(data))
    });
    let chunks = chunks.collect::<Result<Vec<ArrayRef>, String>>()?;
    let array = match chunks.as_slice() {
        [chunk] => chunk.clone(),
        [] => arrow_array::new_empty_array(field.data_type()),
        chunks => {
            let chunks: Vec<&dyn Array> = chunks.iter().map(|chunk| &**chunk).collect();
            concat(&chunks).map_err(|error| error.to_string())?
        }
    };
    Ok((field, array))
}

/// Hands out a result.
fn export(field: &Field, array: &ArrayRef) -> Result<SeriesExport, String> {
    let (array, _) = to_ffi(&array.to_data()).map_err(|error| error.to_string())?;
    let mut schema = Box::new(FFI_ArrowSchema::try_from(field).map_err(|error| error.to_string())?);
    let array: *mut ManuallyDrop<FFI_ArrowArray> = Box::into_raw(Box::new(ManuallyDrop::new(array)));
    let mut arrays: Box<[*mut FFI_ArrowArray]> = Box::new([array.cast()]);
    let (field, start) = (&raw mut *schema, arrays.as_mut_ptr());
    let private = Box::into_raw(Box::new(Owned { arrays, _field: schema }));
    Ok(SeriesExport { field, arrays: start, length: 1, release: Some(release), private: private.cast() })
}

/// # Safety
/// The column is one that `export` has made, and has not been released.
unsafe extern "C" fn release(column: *mut SeriesExport) {
    // SAFETY: by the contract of the caller. The arrays themselves have another owner by now.
    unsafe {
        let column = &mut *column;
        let owned = Box::from_raw(column.private.cast::<Owned>());
        for array in &owned.arrays {
            drop(Box::from_raw(array.cast::<ManuallyDrop<FFI_ArrowArray>>()));
        }
        column.release = None;
    }
}
