//! Functions that cannot be read, on executors.
//!
//! An executor of Ballista that cannot read a task only refuses it, and users read that it was refused (`launch_multi_task` of
//! ballista-executor 55.0). So a function whose bytes are damaged, or are those of another version, arrives as one whose
//! calls return the error: the message of a failed task reaches users.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// A function that was refused.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Refused {
    name: String,
    /// The reason, as users read it.
    message: String,
    signature: Signature,
}

impl Refused {
    pub(crate) fn new(name: &str, error: &DataFusionError) -> Refused {
        let message = match error {
            DataFusionError::Execution(message) => message.clone(),
            other => other.strip_backtrace(),
        };
        Refused { name: name.to_owned(), message, signature: Signature::variadic_any(Volatility::Immutable) }
    }

    fn error(&self) -> DataFusionError {
        DataFusionError::Execution(self.message.clone())
    }
}

impl ScalarUDFImpl for Refused {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(self.error())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(self.error())
    }
}

impl AggregateUDFImpl for Refused {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// A plan is read with the types of its aggregates; no value of this one is ever made.
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Err(self.error())
    }
}
