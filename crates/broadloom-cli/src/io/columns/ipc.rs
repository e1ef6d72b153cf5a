//! Arrow IPC files: their columns, and their record batches, which are not copied from the mapped file.

use super::guard::guarded;
use super::{UNREADABLE, cells, without_dictionary};
use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, Message, MetadataVersion, Type, root_as_footer, root_as_message};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::take::take;
use bytes::Bytes;
use std::sync::Arc;

/// The marks at both ends of a file.
const MAGIC: &[u8] = b"ARROW1";
/// The mark of a message, before its length.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The most bytes that one compressed byte can become: a block of zstd takes at least 4 bytes, and holds at most 128 KiB.
const RATIO: i64 = 32 << 10;

/// An Arrow IPC file.
#[derive(Debug, Clone)]
pub struct File {
    bytes: Buffer,
    /// The schema of the file, and that of the batches that are read: without dictionaries.
    stored: SchemaRef,
    schema: SchemaRef,
    version: MetadataVersion,
    blocks: Arc<[Block]>,
    /// The dictionary of each column that has one, and the blocks of all dictionaries.
    dictionaries: Arc<[Option<i64>]>,
    dictionary_blocks: Arc<[Block]>,
    rows: usize,
}

impl File {
    /// Reads the footer.
    ///
    /// # Errors
    /// Returns an error if it is damaged, in words.
    pub fn open(bytes: Bytes) -> Result<File, String> {
        if bytes.starts_with(&CONTINUATION) {
            return Err(
                "it is a stream of Arrow IPC messages, not a file: write it with FileWriter, or with \
                        pyarrow.ipc.new_file"
                    .to_owned(),
            );
        }
        if bytes.starts_with(b"FEA1") {
            return Err("it is a Feather file of version 1: write it again with version=2".to_owned());
        }
        guarded(|| {
            let without = || "it does not start and end as Arrow IPC files do".to_owned();
            let rest = bytes.strip_prefix(MAGIC).and_then(|bytes| bytes.strip_suffix(MAGIC));
            let (rest, length) = rest.and_then(|rest| rest.split_last_chunk()).ok_or_else(without)?;
            let start = rest.len().checked_sub(u32::from_le_bytes(*length) as usize).ok_or_else(without)?;
            let footer = root_as_footer(&rest[start..]).map_err(|error| error.to_string())?;
            let schema = footer.schema().ok_or("it has no schema")?;
            if !schema.endianness().equals_to_target_endianness() {
                return Err("its byte order is not the one of this machine".to_owned());
            }
            let dictionary = |field: arrow_ipc::Field<'_>| Some(field.dictionary()?.id());
            let dictionaries = schema.fields().into_iter().flatten().map(dictionary).collect();
            let stored = stored(schema)?;
            let plain: Vec<FieldRef> = stored.fields().iter().map(without_dictionary).collect();
            let schema = Arc::new(Schema::new_with_metadata(plain, stored.metadata().clone()));
            let mut file = File {
                bytes: Buffer::from(bytes.clone()),
                stored: Arc::new(stored),
                schema,
                version: footer.version(),
                blocks: footer.recordBatches().into_iter().flatten().copied().collect(),
                dictionaries,
                dictionary_blocks: footer.dictionaries().into_iter().flatten().copied().collect(),
                rows: 0,
            };
            for block in file.blocks.clone().iter() {
                let rows = file.check(block)?;
                file.rows = file.rows.checked_add(rows).ok_or("its number of rows is not possible")?;
            }
            for block in file.dictionary_blocks.iter() {
                file.check(block)?;
            }
            Ok(file)
        })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows that the batches claim.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes of a block.
    fn block(&self, block: &Block) -> Option<Buffer> {
        let start = usize::try_from(block.offset()).ok()?;
        let metadata = usize::try_from(block.metaDataLength()).ok()?;
        let length = metadata.checked_add(usize::try_from(block.bodyLength()).ok()?)?;
        let is_within = metadata >= 8 && start.checked_add(length)? <= self.bytes.len();
        is_within.then(|| self.bytes.slice_with_length(start, length))
    }

    /// Checks that the buffers of a batch, or of the batch of a dictionary, lie in it, and can become as long as they claim.
    /// Returns the number of rows.
    fn check(&self, block: &Block) -> Result<usize, String> {
        let bytes = self.block(block).ok_or("a batch is not within the file")?;
        let (metadata, body) = bytes.split_at(block.metaDataLength() as usize);
        let message = message(metadata)?;
        let dictionary = message.header_as_dictionary_batch();
        let batch = message.header_as_record_batch().or_else(|| dictionary?.data());
        let batch = batch.ok_or("a block is not a batch")?;
        for buffer in batch.buffers().into_iter().flatten() {
            let start = usize::try_from(buffer.offset()).ok();
            let length = usize::try_from(buffer.length()).ok();
            let elements = start.and_then(|start| body.get(start..)).zip(length);
            let elements = elements.and_then(|(body, length)| body.get(..length));
            let elements = elements.ok_or("a buffer is not within its batch")?;
            if let (Some(_), Some((claimed, packed))) = (batch.compression(), elements.split_first_chunk()) {
                let claimed = i64::from_le_bytes(*claimed);
                if claimed / RATIO > packed.len() as i64 {
                    return Err(format!("{} compressed bytes cannot hold {claimed}", packed.len()));
                }
            }
        }
        usize::try_from(batch.length()).map_err(|_| "a batch has a negative number of rows".to_owned())
    }

    /// The rows of some columns, in batches as in the file.
    pub fn batches(&self, columns: &[usize]) -> impl Iterator<Item = Result<RecordBatch, String>> + use<> {
        let file = self.clone();
        let decoder = guarded(|| self.decoder(columns));
        (0..self.blocks.len()).map(move |at| {
            guarded(|| {
                let block = &file.blocks[at];
                let bytes = file.block(block).ok_or("a batch is not within the file")?;
                let decoder = decoder.as_ref().map_err(String::clone)?;
                let batch = decoder.read_record_batch(block, &bytes).map_err(|error| error.to_string())?;
                plain(&batch.ok_or("a batch has no content")?)
            })
        })
    }

    /// A decoder of some columns, which knows their dictionaries.
    fn decoder(&self, columns: &[usize]) -> Result<FileDecoder, String> {
        let mut decoder =
            FileDecoder::new(self.stored.clone(), self.version).with_projection(columns.to_vec());
        let known = |column: &usize| self.dictionaries.get(*column).copied().flatten();
        let wanted: Vec<i64> = columns.iter().filter_map(known).collect();
        for block in self.dictionary_blocks.iter().filter(|_| !wanted.is_empty()) {
            let bytes = self.block(block).ok_or("a dictionary is not within the file")?;
            let (metadata, _) = bytes.split_at(block.metaDataLength() as usize);
            let id = message(metadata)?.header_as_dictionary_batch().map(|dictionary| dictionary.id());
            if id.is_some_and(|id| wanted.contains(&id)) {
                decoder.read_dictionary(block, &bytes).map_err(|error| error.to_string())?;
            }
        }
        Ok(decoder)
    }
}

/// A batch in which columns of numbers with dictionaries have their values. Texts stay in their dictionaries.
fn plain(batch: &RecordBatch) -> Result<RecordBatch, String> {
    let arrays: Vec<ArrayRef> = batch.columns().iter().map(without_codes).collect::<Result<_, String>>()?;
    let fields = batch.schema_ref().fields().iter().zip(&arrays);
    let fields =
        fields.map(|(field, array)| field.as_ref().clone().with_data_type(array.data_type().clone()));
    // Without columns, a batch has its number of rows still.
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = Arc::new(Schema::new(fields.map(|field| field.with_nullable(true)).collect::<Vec<Field>>()));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|error| error.to_string())
}

/// The message before the body of a block.
fn message(metadata: &[u8]) -> Result<Message<'_>, String> {
    let message = metadata.strip_prefix(&CONTINUATION).unwrap_or(metadata);
    root_as_message(message.get(4..).unwrap_or_default()).map_err(|error| error.to_string())
}

/// The values of an array of codes of numbers; any other array as it is.
fn without_codes(array: &ArrayRef) -> Result<ArrayRef, String> {
    let codes = array.as_any_dictionary_opt().filter(|codes| {
        let kind = codes.values().data_type();
        kind.is_primitive() || *kind == DataType::Boolean
    });
    let Some(codes) = codes else { return Ok(array.clone()) };
    let places = cells::positions(codes).into_iter().map(|place| place.map(|place| place as u64));
    take(codes.values(), &places.collect::<UInt64Array>(), None).map_err(|error| error.to_string())
}

/// The schema of a file, in which integers of other widths than Arrow's are bytes that nobody reads: so the other columns
/// can be.
fn stored(schema: arrow_ipc::Schema<'_>) -> Result<Schema, String> {
    let readable = |field: arrow_ipc::Field<'_>| match guarded(|| Ok(Field::from(field))) {
        Ok(read) => Ok(read),
        Err(error) => {
            let (place, name) = placeholder(field).ok_or(error)?;
            let found = Field::new(field.name().unwrap_or_default(), place, true);
            Ok(found.with_metadata([(UNREADABLE.to_owned(), name)].into()))
        }
    };
    let fields = schema.fields().into_iter().flatten().map(readable).collect::<Result<Vec<_>, String>>()?;
    let pairs = schema.custom_metadata().into_iter().flatten();
    let metadata = pairs.filter_map(|pair| Some((pair.key()?.to_owned(), pair.value()?.to_owned())));
    Ok(Schema::new_with_metadata(fields, metadata.collect()))
}

/// A type with the same buffers as one that cannot be read, and the name of that one.
fn placeholder(field: arrow_ipc::Field<'_>) -> Option<(DataType, String)> {
    if let Some(int) = field.type_as_int() {
        let sign = if int.is_signed() { "Int" } else { "UInt" };
        let name = format!("{sign}{}", int.bitWidth());
        return Some((DataType::FixedSizeBinary(int.bitWidth() / 8), name));
    }
    let children = field.children().into_iter().flatten().map(|child| {
        let read = guarded(|| Ok(Field::from(child)));
        let read = read.map(|read| (read.data_type().clone(), read.data_type().to_string())).ok();
        let (kind, name) = read.or_else(|| placeholder(child))?;
        Some((Arc::new(Field::new(child.name().unwrap_or_default(), kind, true)), name))
    });
    let (fields, names): (Vec<FieldRef>, Vec<String>) =
        children.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let name = format!("{:?} of {}", field.type_type(), names.join(", "));
    let item = fields.first().cloned();
    let kind = match field.type_type() {
        Type::List => DataType::List(item?),
        Type::LargeList => DataType::LargeList(item?),
        Type::FixedSizeList => DataType::FixedSizeList(item?, field.type_as_fixed_size_list()?.listSize()),
        Type::Struct_ => DataType::Struct(fields.into()),
        _ => return None,
    };
    Some((kind, name.replace('_', "")))
}
