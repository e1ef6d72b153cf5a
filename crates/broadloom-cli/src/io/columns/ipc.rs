//! Arrow IPC files: their columns, and their record batches, which are not copied from the mapped file.

use super::guard::guarded;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, MetadataVersion, convert, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
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
    schema: SchemaRef,
    version: MetadataVersion,
    blocks: Arc<[Block]>,
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
            let schema = Arc::new(convert::fb_to_schema(schema));
            let blocks: Arc<[Block]> = footer.recordBatches().into_iter().flatten().copied().collect();
            let mut file = File {
                bytes: Buffer::from(bytes.clone()),
                schema,
                version: footer.version(),
                blocks,
                rows: 0,
            };
            for block in file.blocks.clone().iter() {
                let rows = file.check(block)?;
                file.rows = file.rows.checked_add(rows).ok_or("its number of rows is not possible")?;
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

    /// Checks that the buffers of a batch lie in it, and can become as long as they claim. Returns the number of rows.
    fn check(&self, block: &Block) -> Result<usize, String> {
        let bytes = self.block(block).ok_or("a batch is not within the file")?;
        let (metadata, body) = bytes.split_at(block.metaDataLength() as usize);
        let message = match metadata.strip_prefix(&CONTINUATION) {
            Some(message) => message,
            None => metadata,
        };
        let message = message.get(4..).unwrap_or_default();
        let message = root_as_message(message).map_err(|error| error.to_string())?;
        let batch = message.header_as_record_batch().ok_or("a block is not a batch")?;
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
        let decoder = FileDecoder::new(self.schema.clone(), self.version).with_projection(columns.to_vec());
        (0..self.blocks.len()).map(move |at| {
            guarded(|| {
                let block = &file.blocks[at];
                let bytes = file.block(block).ok_or("a batch is not within the file")?;
                let batch = decoder.read_record_batch(block, &bytes).map_err(|error| error.to_string())?;
                batch.ok_or_else(|| "a batch has no content".to_owned())
            })
        })
    }
}
