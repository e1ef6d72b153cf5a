//! Parquet files: their columns, and their rows in batches.

use super::guard::{Pages, guarded};
use super::{thrift, without_dictionary};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowGroups,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{CompressionCodec, Type};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::SerializedPageReader;
use std::sync::Arc;

/// A Parquet file.
#[derive(Debug, Clone)]
pub struct File {
    bytes: Bytes,
    metadata: Arc<ParquetMetaData>,
    schema: SchemaRef,
}

impl File {
    /// Reads the footer.
    ///
    /// # Errors
    /// Returns an error if it is damaged, in words.
    pub fn open(bytes: Bytes) -> Result<File, String> {
        if !footer(&bytes).is_none_or(thrift::is_sound) {
            return Err("its footer claims more data than the file has".to_owned());
        }
        guarded(|| {
            let read = load(&bytes, ArrowReaderOptions::new())
                .or_else(|_| load(&bytes, ArrowReaderOptions::new().with_skip_arrow_metadata(true)))?;
            let (metadata, schema) = (read.metadata().clone(), read.schema());
            let schema = Arc::new(with_plain_types(&metadata, schema));
            Ok(File { bytes, metadata, schema })
        })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows that the footer claims.
    pub fn rows(&self) -> Result<usize, String> {
        let rows = self.metadata.row_groups().iter().try_fold(0usize, |sum, group| {
            usize::try_from(group.num_rows()).ok().and_then(|rows| sum.checked_add(rows))
        });
        rows.ok_or_else(|| "its number of rows is not possible".to_owned())
    }

    /// The positions of the leaves of a column.
    fn leaves(&self, column: usize) -> impl Iterator<Item = usize> + '_ {
        let schema = self.metadata.file_metadata().schema_descr();
        (0..schema.num_columns()).filter(move |leaf| schema.get_column_root_idx(*leaf) == column)
    }

    /// The name of a compression that is not supported, if a column has it.
    pub fn unsupported_compression(&self, column: usize) -> Option<&'static str> {
        let leaves = self.leaves(column);
        let chunks = leaves.flat_map(|leaf| {
            self.metadata.row_groups().iter().filter_map(move |group| group.columns().get(leaf))
        });
        chunks.map(ColumnChunkMetaData::compression_codec).find_map(|codec| match codec {
            CompressionCodec::BROTLI => Some("Brotli"),
            CompressionCodec::LZO => Some("LZO"),
            CompressionCodec::UNCOMPRESSED
            | CompressionCodec::SNAPPY
            | CompressionCodec::GZIP
            | CompressionCodec::LZ4
            | CompressionCodec::ZSTD
            | CompressionCodec::LZ4_RAW => None,
        })
    }

    /// The number of nulls in a column by the statistics, if all row groups have them.
    pub fn nulls(&self, column: usize) -> Option<u64> {
        let mut counts = self.leaves(column).flat_map(|leaf| {
            let groups = self.metadata.row_groups().iter();
            groups.map(move |group| group.columns().get(leaf)?.statistics()?.null_count_opt())
        });
        counts.try_fold(0u64, |sum, count| Some(sum.saturating_add(count?)))
    }

    /// The rows of some columns, in batches of at most `rows` rows.
    ///
    /// # Errors
    /// Returns an error if the columns cannot be read, in words.
    pub fn batches(
        &self,
        columns: &[usize],
        rows: usize,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, String>> + use<>, String> {
        let mut reader = guarded(|| {
            let schema = self.metadata.file_metadata().schema_descr();
            let mask = ProjectionMask::roots(schema, columns.iter().copied());
            let reader =
                parquet_to_arrow_field_levels(schema, mask, Some(self.schema.fields())).and_then(|levels| {
                    ParquetRecordBatchReader::try_new_with_row_groups(&levels, self, rows, None)
                });
            reader.map_err(|error| error.to_string())
        })?;
        Ok(std::iter::from_fn(move || {
            guarded(|| reader.next().transpose().map_err(|error| error.to_string())).transpose()
        }))
    }
}

/// Reads the footer. Without Arrow's own metadata, which may have types that are not known here, columns have the types that
/// Parquet has.
fn load(bytes: &Bytes, options: ArrowReaderOptions) -> Result<ArrowReaderMetadata, String> {
    guarded(|| ArrowReaderMetadata::load(bytes, options).map_err(|error| error.to_string()))
}

/// The schema as it is read. Columns with dictionaries are columns of their values. Those of the old type INT96 have
/// microseconds: these have a Julian day, and nanoseconds as i64 reach only from 1677 to 2262.
fn with_plain_types(metadata: &ParquetMetaData, schema: &Schema) -> Schema {
    let columns = metadata.file_metadata().schema_descr();
    let is_int96 = |at: usize| {
        let mut leaves = (0..columns.num_columns()).filter(|leaf| columns.get_column_root_idx(*leaf) == at);
        leaves.any(|leaf| columns.column(leaf).physical_type() == Type::INT96)
    };
    let fields = schema.fields().iter().enumerate().map(|(at, field)| match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) if is_int96(at) => {
            let with = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            Arc::new(field.as_ref().clone().with_data_type(with))
        }
        _ => without_dictionary(field),
    });
    Schema::new_with_metadata(fields.collect::<Vec<FieldRef>>(), schema.metadata().clone())
}

/// The footer, if the file ends as Parquet files do. It is not encrypted.
fn footer(bytes: &[u8]) -> Option<&[u8]> {
    let (rest, length) = bytes.strip_suffix(b"PAR1")?.split_last_chunk()?;
    rest.get(rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?..)
}

impl RowGroups for File {
    fn num_rows(&self) -> usize {
        self.rows().unwrap_or(0)
    }

    fn column_chunks(&self, leaf: usize) -> ParquetResult<Box<dyn PageIterator>> {
        Ok(Box::new(Chunks { file: self.clone(), leaf, group: 0 }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The chunks of a column, one in each row group.
struct Chunks {
    file: File,
    leaf: usize,
    group: usize,
}

impl Iterator for Chunks {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.file.metadata.row_groups().get(self.group)?;
        self.group += 1;
        let chunk = group.column(self.leaf);
        let has_levels = chunk.column_descr().max_def_level() > 0;
        let bytes = Arc::new(self.file.bytes.clone());
        let pages = SerializedPageReader::new(bytes, chunk, group.num_rows() as usize, None);
        Some(pages.map(|pages| Box::new(Pages { pages, has_levels }) as Box<dyn PageReader>))
    }
}

impl PageIterator for Chunks {}
