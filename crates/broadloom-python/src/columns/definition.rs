//! What is computed of columns: a program, and what its names stand for.

use broadloom::{AnyArray, DType};
use broadloom_arrow::array_from_bytes;
use serde_pickle::{DeOptions, HashableValue, Value};
use std::collections::BTreeMap;

/// What a program makes of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Makes {
    /// A value for each row, from this row alone: batches of any size give the same results.
    Rows,
    /// A value for each row, from all of them.
    Mixed,
    /// One value, from all rows.
    Total,
}

impl Makes {
    pub fn of(name: &str) -> Option<Makes> {
        Some(match name {
            "rows" => Makes::Rows,
            "mixed" => Makes::Mixed,
            "total" => Makes::Total,
            _ => return None,
        })
    }
}

/// The library that calls, whose words the help of a message uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caller {
    Polars,
    DuckDb,
}

impl Caller {
    pub fn of(name: &str) -> Option<Caller> {
        Some(match name {
            "polars" => Caller::Polars,
            "duckdb" => Caller::DuckDb,
            _ => return None,
        })
    }
}

/// A constant array: its name, dtype, shape and little-endian bytes.
pub type Constant = (String, String, Vec<usize>, Vec<u8>);

/// What is computed.
#[derive(Debug)]
pub struct Definition {
    /// Definitions of numbers, one in each line, which the text may use.
    pub numbers: String,
    pub text: String,
    /// The names that the columns stand for, in order.
    pub names: Vec<String>,
    pub constants: Vec<(String, AnyArray)>,
    pub makes: Makes,
    pub caller: Caller,
}

impl Definition {
    /// Takes the parts as Python has them; the numbers and the text come first.
    ///
    /// # Errors
    /// Returns an error if they do not fit each other, which only a defect or damaged bytes cause.
    pub fn new(
        [numbers, text]: [String; 2],
        names: Vec<String>,
        constants: Vec<Constant>,
        makes: &str,
        caller: &str,
    ) -> Result<Definition, String> {
        let damaged = |what: &str| format!("the definition of an expression is damaged: {what}");
        let array = |(name, dtype, shape, bytes): Constant| {
            let dtype = DType::ALL.iter().find(|known| known.to_string() == dtype);
            let array = dtype.and_then(|dtype| array_from_bytes(*dtype, &shape, &bytes));
            array.map(|array| (name, array)).ok_or_else(|| damaged("a constant"))
        };
        Ok(Definition {
            numbers,
            text,
            names,
            constants: constants.into_iter().map(array).collect::<Result<_, _>>()?,
            makes: Makes::of(makes).ok_or_else(|| damaged("what it makes"))?,
            caller: Caller::of(caller).ok_or_else(|| damaged("its caller"))?,
        })
    }

    /// Returns about how much memory it holds.
    pub fn bytes(&self) -> usize {
        let array = |(_, array): &(String, AnyArray)| {
            array.shape().iter().fold(array.dtype().size(), |bytes, size| bytes.saturating_mul(*size))
        };
        self.numbers.len() + self.text.len() + self.constants.iter().map(array).sum::<usize>()
    }

    /// Reads the arguments that polars has pickled.
    ///
    /// # Errors
    /// Returns an error if they are not those that `broadloom.polars` has passed.
    pub fn from_pickle(bytes: &[u8]) -> Result<Definition, String> {
        let read = || -> Option<Result<Definition, String>> {
            let Value::Dict(mut dict) = serde_pickle::value_from_slice(bytes, DeOptions::new()).ok()? else {
                return None;
            };
            let numbers = text(take(&mut dict, "numbers")?)?;
            let text = text(take(&mut dict, "text")?)?;
            let names =
                list(take(&mut dict, "names")?)?.into_iter().map(self::text).collect::<Option<_>>()?;
            let constants = list(take(&mut dict, "constants")?)?.into_iter().map(constant);
            let constants = constants.collect::<Option<Vec<_>>>()?;
            let makes = self::text(take(&mut dict, "makes")?)?;
            Some(Definition::new([numbers, text], names, constants, &makes, "polars"))
        };
        read().ok_or_else(|| {
            "the definition of an expression is damaged: use the same version of broadloom everywhere"
                .to_owned()
        })?
    }
}

fn take(dict: &mut BTreeMap<HashableValue, Value>, key: &str) -> Option<Value> {
    dict.remove(&HashableValue::String(key.to_owned()))
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::List(items) | Value::Tuple(items) => Some(items),
        _ => None,
    }
}

fn constant(value: Value) -> Option<Constant> {
    let [name, dtype, shape, bytes] = <[Value; 4]>::try_from(list(value)?).ok()?;
    let size = |value: Value| match value {
        Value::I64(size) => usize::try_from(size).ok(),
        _ => None,
    };
    let shape = list(shape)?.into_iter().map(size).collect::<Option<_>>()?;
    let Value::Bytes(bytes) = bytes else { return None };
    Some((text(name)?, text(dtype)?, shape, bytes))
}
