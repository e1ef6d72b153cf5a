//! The structure of a call: arrays and numbers in containers, and everything else, which is the key of its kernel.

use crate::array::Operand;
use crate::error::Class;
use crate::trace::Value;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;

/// Most containers within each other.
const MAX_NESTING: usize = 32;
/// Trailing sizes up to this one are numbers, as in `broadloom::eval`.
const SMALL: usize = 8;

/// A value that may change from call to call without another kernel.
pub enum Leaf<'py> {
    Array(Operand<'py>),
    /// A Python float, which takes the dtype of the other operand.
    Number(f64),
}

/// The size of an axis when a function is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Constant(usize),
    /// A symbol by its number.
    Symbol(usize),
}

/// What a trace knows of the values of a call, beside their structure. A kernel that was made by such a trace serves calls with
/// equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KnownValues {
    /// The sizes of all axes.
    pub sizes: bool,
    /// The integers and flags among NumPy's scalars, as `np.int64(1)` for an axis.
    pub integers: bool,
}

impl KnownValues {
    pub const NOTHING: KnownValues = KnownValues { sizes: false, integers: false };
    pub const SIZES: KnownValues = KnownValues { sizes: true, integers: false };
    pub const INTEGERS: KnownValues = KnownValues { sizes: false, integers: true };
    /// The least first: its kernels serve the most calls.
    pub const ALL: [KnownValues; 4] = [
        KnownValues::NOTHING,
        KnownValues::INTEGERS,
        KnownValues::SIZES,
        KnownValues { sizes: true, integers: true },
    ];

    pub fn includes(self, other: KnownValues) -> bool {
        (self.sizes || !other.sizes) && (self.integers || !other.integers)
    }
}

const TUPLE: u64 = 1;
const LIST: u64 = 2;
const DICT: u64 = 3;
const STATIC: u64 = 4;
const NUMBER: u64 = 5;
const ARRAY: u64 = 6;
const RECORD: u64 = 7;
/// The next array is one of NumPy's scalars: operations in place do not change it.
const SCALAR: u64 = 8;

/// The arguments of a call.
#[derive(Default)]
pub struct Call<'py> {
    pub leaves: SmallVec<[Leaf<'py>; 4]>,
    /// The structure in words, which are equal if one kernel serves both calls and the static values are equal.
    pub key: SmallVec<[u64; 24]>,
    pub statics: SmallVec<[Bound<'py, PyAny>; 2]>,
    /// The static values that may change while they stay equal: objects with attributes, containers, functions.
    pub objects: SmallVec<[Bound<'py, PyAny>; 2]>,
    /// The state of these objects, as a value that can be compared.
    pub print: Option<Bound<'py, PyAny>>,
    /// Whether there are lazy arrays among the arguments.
    pub is_lazy: bool,
    /// The sizes that have symbols, by their number.
    known: SmallVec<[usize; 8]>,
    /// The sizes that are numbers, as bits: 1 and short trailing sizes.
    constants: u64,
}

impl<'py> Call<'py> {
    /// Adds an argument.
    ///
    /// # Errors
    /// Returns an error for arrays that are not supported, for static values that cannot be compared, and for containers
    /// that are nested too deeply.
    pub fn add(&mut self, object: &Bound<'py, PyAny>, depth: usize) -> PyResult<()> {
        if object.is_exact_instance_of::<PyFloat>() {
            self.key.push(NUMBER);
            self.leaves.push(Leaf::Number(object.extract()?));
            return Ok(());
        }
        if let Some(array) = Operand::of_exact(object)? {
            self.add_array(array);
            return Ok(());
        }
        if depth == MAX_NESTING {
            let text = "the arguments are nested too deeply: pass arrays, or containers of them";
            return Err(Class::Value.error(object.py(), text));
        }
        if let Ok(items) = object.cast_exact::<PyTuple>() {
            self.key.extend([TUPLE, items.len() as u64]);
            return items.iter().try_for_each(|item| self.add(&item, depth + 1));
        }
        if let Ok(items) = object.cast_exact::<PyList>() {
            self.key.extend([LIST, items.len() as u64]);
            return items.iter().try_for_each(|item| self.add(&item, depth + 1));
        }
        if let Ok(items) = object.cast_exact::<PyDict>() {
            self.key.extend([DICT, items.len() as u64]);
            for (key, item) in items {
                self.add_static(&key)?;
                self.add(&item, depth + 1)?;
            }
            return Ok(());
        }
        if object.is_instance_of::<Value>() {
            self.is_lazy = true;
            return Ok(());
        }
        if let Some(array) = Operand::of(object)? {
            if array.is_scalar() {
                self.key.push(SCALAR);
            }
            self.add_array(array);
            return Ok(());
        }
        if is_named_tuple(object)? {
            self.key.extend([RECORD, object.len()? as u64]);
            self.add_static(object.get_type().as_any())?;
            return object.try_iter()?.try_for_each(|item| self.add(&item?, depth + 1));
        }
        if let Some(fields) = fields(object)? {
            self.key.extend([RECORD, fields.len() as u64]);
            self.add_static(object.get_type().as_any())?;
            return fields.iter().try_for_each(|(_, item)| self.add(item, depth + 1));
        }
        self.add_static(object)
    }

    /// Adds a value that is part of the structure.
    ///
    /// # Errors
    /// Returns an error if the value cannot be hashed.
    pub fn add_static(&mut self, object: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Ok(number) = object.cast_exact::<PyFloat>() {
            // Zero and its negative are equal, and compute other things; NaN is not equal to itself, and computes the same.
            self.key.extend([STATIC, object.get_type_ptr() as u64, number.value().to_bits()]);
            self.statics.push(object.clone());
            return Ok(());
        }
        let hash = object.hash().map_err(|error| {
            let text = format!(
                "an argument that is neither an array nor a number becomes a part of the kernel and has to be hashable: {error}"
            );
            Class::DType.error(object.py(), text)
        })?;
        self.key.extend([STATIC, object.get_type_ptr() as u64, hash as u64]);
        if !is_atom(object) {
            self.objects.push(object.clone());
        }
        self.statics.push(object.clone());
        Ok(())
    }

    /// Adds the state of the static objects, which is part of the structure.
    ///
    /// # Errors
    /// Returns an error if it cannot be hashed.
    pub fn add_print(&mut self, print: Bound<'py, PyAny>) -> PyResult<()> {
        self.key.push(print.hash()? as u64);
        self.statics.push(print.clone());
        self.print = Some(print);
        Ok(())
    }

    fn add_array(&mut self, array: Operand<'py>) {
        self.key.push(ARRAY | (array.dtype as u64) << 8 | (array.shape.len() as u64) << 16);
        if let Some(size @ 1..=SMALL) = array.shape.last().copied() {
            self.constants |= 1 << size;
        }
        self.leaves.push(Leaf::Array(array));
    }

    /// Ends the arguments: which sizes are numbers is known only when all arrays are.
    pub fn close(&mut self) {
        for size in self.declared(false).into_iter().flatten() {
            self.key.push(match size {
                Size::Constant(size) => (size as u64) << 1 | 1,
                Size::Symbol(number) => (number as u64) << 1,
            });
        }
    }

    /// 1 and what some array has as a short trailing size are numbers, so that `points @ weights` with arrays `[n, 3]` and
    /// `[3, 3]` multiplies 3 by 3; equal sizes share a symbol.
    fn size(&mut self, size: usize) -> Size {
        if size == 1 || size <= SMALL && self.constants >> size & 1 == 1 {
            return Size::Constant(size);
        }
        let known = self.known.iter().position(|known| *known == size);
        Size::Symbol(known.unwrap_or_else(|| {
            self.known.push(size);
            self.known.len() - 1
        }))
    }

    /// The sizes of all arrays, by leaf, as a trace declares them.
    pub fn declared(&mut self, is_concrete: bool) -> SmallVec<[SmallVec<[Size; 4]>; 4]> {
        let leaves = std::mem::take(&mut self.leaves);
        let sizes = leaves.iter().map(|leaf| match leaf {
            Leaf::Number(_) => SmallVec::new(),
            Leaf::Array(array) if is_concrete => {
                array.shape.iter().map(|size| Size::Constant(*size)).collect()
            }
            Leaf::Array(array) => array.shape.iter().map(|size| self.size(*size)).collect(),
        });
        let sizes = sizes.collect();
        self.leaves = leaves;
        sizes
    }

    /// The values by which a kernel is found whose trace knew them.
    pub fn values(&self, known: KnownValues) -> Vec<u64> {
        let arrays = || {
            self.leaves.iter().filter_map(|leaf| match leaf {
                Leaf::Array(array) => Some(array),
                Leaf::Number(_) => None,
            })
        };
        let sizes = arrays().filter(|_| known.sizes).flat_map(|array| &array.shape).map(|size| *size as u64);
        let integers = arrays().filter(|_| known.integers).filter_map(Operand::integer);
        sizes.chain(integers).collect()
    }

    /// Whether there are integers or flags among NumPy's scalars.
    pub fn has_integers(&self) -> bool {
        self.leaves.iter().any(|leaf| matches!(leaf, Leaf::Array(array) if array.integer().is_some()))
    }

    /// Whether the static values are equal to those of another call with the same key.
    pub fn has_statics(&self, others: &[Py<PyAny>]) -> PyResult<bool> {
        for (own, other) in self.statics.iter().zip(others) {
            // The bits of floats are in the key.
            if !own.is(other) && !own.is_exact_instance_of::<PyFloat>() && !own.eq(other)? {
                return Ok(false);
            }
        }
        Ok(self.statics.len() == others.len())
    }
}

/// Whether an object has no parts: what is equal to it is the same.
fn is_atom(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBytes>()
}

/// An argument again, with its leaves replaced in the order in which [`Call::add`] found them. `path` says where a leaf
/// stands, as a name.
pub fn rebuilt<'py>(
    object: &Bound<'py, PyAny>,
    path: &str,
    replace: &mut dyn FnMut(&str) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if object.is_exact_instance_of::<PyFloat>() {
        return replace(path);
    }
    if object.is_exact_instance_of::<PyTuple>() || object.is_exact_instance_of::<PyList>() {
        let mut items = Vec::new();
        for (position, item) in object.try_iter()?.enumerate() {
            items.push(rebuilt(&item?, &format!("{path}_{position}"), replace)?);
        }
        return Ok(match object.is_exact_instance_of::<PyTuple>() {
            true => PyTuple::new(py, items)?.into_any(),
            false => PyList::new(py, items)?.into_any(),
        });
    }
    if let Ok(items) = object.cast_exact::<PyDict>() {
        let made = PyDict::new(py);
        for (key, item) in items {
            made.set_item(&key, rebuilt(&item, &format!("{path}_{key}"), replace)?)?;
        }
        return Ok(made.into_any());
    }
    if Operand::of(object)?.is_some() {
        return replace(path);
    }
    if is_named_tuple(object)? {
        let mut items = Vec::new();
        for (position, item) in object.try_iter()?.enumerate() {
            items.push(rebuilt(&item?, &format!("{path}_{position}"), replace)?);
        }
        return object.get_type().call_method1("_make", (PyTuple::new(py, items)?,));
    }
    if let Some(fields) = fields(object)? {
        let mut made = Vec::new();
        for (name, item) in fields {
            made.push((name.clone(), rebuilt(&item, &format!("{path}_{name}"), replace)?));
        }
        return record(object.get_type().as_any(), made);
    }
    Ok(object.clone())
}

fn is_named_tuple(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyTuple>() && object.hasattr("_make")?)
}

/// A field of an object by its name.
type Field<'py> = (String, Bound<'py, PyAny>);

/// The fields of an object of a dataclass that is a container of arrays; `None` for other objects. One that can be hashed is a
/// static value, as any object.
fn fields<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Field<'py>>>> {
    let class = object.get_type();
    if !class.hasattr("__dataclass_fields__")? || object.hash().is_ok() {
        return Ok(None);
    }
    let names = class.getattr("__dataclass_fields__")?;
    let names = names.try_iter()?.map(|name| name?.extract::<String>());
    names
        .map(|name| name.and_then(|name| Ok((name.clone(), object.getattr(&*name)?))))
        .collect::<PyResult<_>>()
        .map(Some)
}

/// An object of a dataclass with these fields. What its constructor checks, it checked before.
fn record<'py>(class: &Bound<'py, PyAny>, fields: Vec<Field<'py>>) -> PyResult<Bound<'py, PyAny>> {
    let made = class.call_method1("__new__", (class,))?;
    let set = class.py().get_type::<PyAny>().getattr("__setattr__")?;
    for (name, value) in fields {
        set.call1((&made, name, value))?;
    }
    Ok(made)
}

/// The results of a function: where arrays stand among what it returned.
pub enum Tree {
    /// An output, by its number.
    Output(usize),
    Static(Py<PyAny>),
    Tuple(Vec<Tree>),
    List(Vec<Tree>),
    Dict(Vec<(Py<PyAny>, Tree)>),
    /// A named tuple, by its class.
    Named(Py<PyAny>, Vec<Tree>),
    /// An object of a dataclass, by its class and its fields.
    Record(Py<PyAny>, Vec<(String, Tree)>),
}

impl Tree {
    /// Reads the value that a function returned; `output` adds an output for each value that is or becomes an array, and returns
    /// its number.
    ///
    /// # Errors
    /// Returns an error for containers that are nested too deeply.
    pub fn of<'py>(
        object: &Bound<'py, PyAny>,
        depth: usize,
        output: &mut dyn FnMut(&Bound<'py, PyAny>) -> PyResult<Option<usize>>,
    ) -> PyResult<Tree> {
        if depth == MAX_NESTING {
            let text = "the results are nested too deeply: return arrays, or containers of them";
            return Err(Class::Value.error(object.py(), text));
        }
        let all = |output: &mut dyn FnMut(&Bound<'py, PyAny>) -> PyResult<Option<usize>>| {
            object
                .try_iter()?
                .map(|item| Tree::of(&item?, depth + 1, output))
                .collect::<PyResult<Vec<Tree>>>()
        };
        if object.is_exact_instance_of::<PyTuple>() {
            return Ok(Tree::Tuple(all(output)?));
        }
        if object.is_exact_instance_of::<PyList>() {
            return Ok(Tree::List(all(output)?));
        }
        if is_named_tuple(object)? {
            return Ok(Tree::Named(object.get_type().into_any().unbind(), all(output)?));
        }
        if let Ok(items) = object.cast_exact::<PyDict>() {
            let items =
                items.iter().map(|(key, item)| Ok((key.unbind(), Tree::of(&item, depth + 1, output)?)));
            return items.collect::<PyResult<_>>().map(Tree::Dict);
        }
        if let Some(fields) = fields(object)? {
            let fields =
                fields.into_iter().map(|(name, item)| Ok((name, Tree::of(&item, depth + 1, output)?)));
            let class = object.get_type().into_any().unbind();
            return Ok(Tree::Record(class, fields.collect::<PyResult<_>>()?));
        }
        Ok(match output(object)? {
            Some(number) => Tree::Output(number),
            None => Tree::Static(object.clone().unbind()),
        })
    }

    /// Shows the collector of Python's what the tree refers to.
    pub fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Tree::Output(_) => Ok(()),
            Tree::Static(object) => visit.call(object),
            Tree::Tuple(items) | Tree::List(items) => items.iter().try_for_each(|item| item.visit(visit)),
            Tree::Named(class, items) => {
                visit.call(class)?;
                items.iter().try_for_each(|item| item.visit(visit))
            }
            Tree::Dict(items) => items.iter().try_for_each(|(key, item)| {
                visit.call(key)?;
                item.visit(visit)
            }),
            Tree::Record(class, fields) => {
                visit.call(class)?;
                fields.iter().try_for_each(|(_, item)| item.visit(visit))
            }
        }
    }

    /// Whether another tree has its outputs in the same places of the same containers.
    pub fn is_like(&self, py: Python<'_>, other: &Tree) -> PyResult<bool> {
        let all = |items: &[Tree], others: &[Tree]| -> PyResult<bool> {
            for (item, other) in items.iter().zip(others) {
                if !item.is_like(py, other)? {
                    return Ok(false);
                }
            }
            Ok(items.len() == others.len())
        };
        match (self, other) {
            (Tree::Output(number), Tree::Output(other)) => Ok(number == other),
            (
                Tree::Tuple(items) | Tree::List(items) | Tree::Named(_, items),
                Tree::Tuple(others) | Tree::List(others),
            ) => all(items, others),
            (Tree::Named(_, items), Tree::Named(_, others)) => all(items, others),
            (Tree::Dict(items), Tree::Dict(others)) => {
                for ((key, item), (other_key, other)) in items.iter().zip(others) {
                    if !key.bind(py).eq(other_key)? || !item.is_like(py, other)? {
                        return Ok(false);
                    }
                }
                Ok(items.len() == others.len())
            }
            (Tree::Record(class, fields), Tree::Record(other_class, others)) => {
                let mut is_like = class.is(other_class);
                for ((_, item), (_, other)) in fields.iter().zip(others) {
                    is_like = is_like && item.is_like(py, other)?;
                }
                Ok(is_like)
            }
            _ => Ok(false),
        }
    }

    /// The results of one call; `output` returns each array.
    pub fn filled<'py>(
        &self,
        py: Python<'py>,
        output: &mut dyn FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Tree::Output(number) => output(*number),
            Tree::Static(object) => Ok(object.bind(py).clone()),
            Tree::Tuple(items) => Ok(PyTuple::new(py, filled(py, items, output)?)?.into_any()),
            Tree::List(items) => Ok(PyList::new(py, filled(py, items, output)?)?.into_any()),
            Tree::Named(class, items) => {
                class.bind(py).call_method1("_make", (PyTuple::new(py, filled(py, items, output)?)?,))
            }
            Tree::Dict(items) => {
                let made = PyDict::new(py);
                for (key, item) in items {
                    made.set_item(key, item.filled(py, output)?)?;
                }
                Ok(made.into_any())
            }
            Tree::Record(class, fields) => {
                let mut made = Vec::with_capacity(fields.len());
                for (name, item) in fields {
                    made.push((name.clone(), item.filled(py, output)?));
                }
                record(class.bind(py), made)
            }
        }
    }
}

fn filled<'py>(
    py: Python<'py>,
    items: &[Tree],
    output: &mut dyn FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    items.iter().map(|item| item.filled(py, output)).collect()
}
