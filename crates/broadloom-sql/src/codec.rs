//! Plans as bytes: Ballista's own codecs, with the functions of `broadloom-datafusion`.
//!
//! A function travels as its definition, so schedulers and executors know functions that were made after they started.
//! The client, the scheduler and the executors need both codecs: clients send logical plans, schedulers physical ones.

use crate::refused::Refused;
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use broadloom_datafusion::wire;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::config::CsvOptions;
use datafusion::common::parsers::CsvQuoteStyle;
use datafusion::common::{Result, TableReference, exec_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::datasource::file_format::csv::CsvFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, Extension, LogicalPlan, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::sync::Arc;

/// What is put into quotes in CSV, each with its number in a plan. The codec of DataFusion takes one for another, and default
/// options for none (`CsvOptionsProto` of datafusion-proto 55.2), so that a cluster would quote all cells.
const STYLES: [CsvQuoteStyle; 4] =
    [CsvQuoteStyle::Necessary, CsvQuoteStyle::Always, CsvQuoteStyle::NonNumeric, CsvQuoteStyle::Never];

/// The number of a format whose options are those of the statement.
const NO_OPTIONS: u8 = u8::MAX;

/// Logical plans, which clients send to schedulers.
#[derive(Debug, Default)]
pub struct LogicalCodec {
    ballista: BallistaLogicalExtensionCodec,
}

impl LogicalExtensionCodec for LogicalCodec {
    fn try_decode(&self, bytes: &[u8], inputs: &[LogicalPlan], context: &TaskContext) -> Result<Extension> {
        self.ballista.try_decode(bytes, inputs, context)
    }

    fn try_encode(&self, node: &Extension, bytes: &mut Vec<u8>) -> Result<()> {
        self.ballista.try_encode(node, bytes)
    }

    fn try_decode_table_provider(
        &self,
        bytes: &[u8],
        table: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        self.ballista.try_decode_table_provider(bytes, table, schema, context)
    }

    fn try_encode_table_provider(
        &self,
        table: &TableReference,
        provider: Arc<dyn TableProvider>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        self.ballista.try_encode_table_provider(table, provider, bytes)
    }

    fn try_decode_file_format(
        &self,
        bytes: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        let Some((style, rest)) = bytes.split_first() else { return exec_err!("a plan has no file format") };
        let format = self.ballista.try_decode_file_format(rest, context)?;
        let Some(csv) = format.downcast_ref::<CsvFormatFactory>() else { return Ok(format) };
        Ok(Arc::new(match (csv.options.clone(), STYLES.get(usize::from(*style))) {
            (Some(options), Some(style)) => {
                CsvFormatFactory::new_with_options(CsvOptions { quote_style: *style, ..options })
            }
            _ => CsvFormatFactory::new(),
        }))
    }

    fn try_encode_file_format(&self, bytes: &mut Vec<u8>, format: Arc<dyn FileFormatFactory>) -> Result<()> {
        let options = format.downcast_ref::<CsvFormatFactory>().and_then(|csv| csv.options.as_ref());
        let style = options.and_then(|options| STYLES.iter().position(|style| *style == options.quote_style));
        bytes.push(style.map_or(NO_OPTIONS, |style| style as u8));
        self.ballista.try_encode_file_format(bytes, format)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        wire::read_scalar(name, bytes).map(Arc::new)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        wire::write_scalar(function, bytes);
        Ok(())
    }

    fn try_decode_udaf(&self, name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
        wire::read_aggregate(name, bytes).map(Arc::new)
    }

    fn try_encode_udaf(&self, aggregate: &AggregateUDF, bytes: &mut Vec<u8>) -> Result<()> {
        wire::write_aggregate(aggregate, bytes);
        Ok(())
    }
}

/// Physical plans, which schedulers send to executors. A function that cannot be read returns its error when it is called.
#[derive(Debug, Default)]
pub struct PhysicalCodec {
    ballista: BallistaPhysicalExtensionCodec,
}

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.ballista.try_decode(bytes, inputs, context, converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.ballista.try_encode(node, bytes, converter)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        let function = wire::read_scalar(name, bytes);
        Ok(Arc::new(function.unwrap_or_else(|error| Refused::new(name, &error).into())))
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        wire::write_scalar(function, bytes);
        Ok(())
    }

    fn try_decode_udaf(&self, name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
        let aggregate = wire::read_aggregate(name, bytes);
        Ok(Arc::new(aggregate.unwrap_or_else(|error| Refused::new(name, &error).into())))
    }

    fn try_encode_udaf(&self, aggregate: &AggregateUDF, bytes: &mut Vec<u8>) -> Result<()> {
        wire::write_aggregate(aggregate, bytes);
        Ok(())
    }
}
