//! Pictures: .png and .jpeg to arrays.

use super::content::Content;
use super::memory::{Array, Memory, Owned};
use super::source::{DAMAGED, Source};
use crate::failure::Failure;
use broadloom::DType;
use image::{ColorType, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::io::{BufRead, BufReader, Seek};
use std::rc::Rc;

/// The most bytes that one byte of a compressed picture can expand to: the limit of Deflate; JPEG stays below.
const MOST_COMPRESSED: u64 = 1100;
/// Memory for small pictures and the decoder's tables.
const ROOM: u64 = 1 << 20;

/// The header of a picture, and its decoder.
struct Picture<'a> {
    decoder: Box<dyn ImageDecoder + 'a>,
    dtype: DType,
    shape: Vec<usize>,
}

impl<'a> Picture<'a> {
    /// Reads the header of a picture of `length` bytes.
    ///
    /// # Errors
    /// Returns an error if it is not a picture, or has an unsupported colour type, in words.
    fn open(from: impl BufRead + Seek + 'a, format: ImageFormat, length: u64) -> Result<Picture<'a>, String> {
        let most = length.saturating_mul(MOST_COMPRESSED).saturating_add(ROOM);
        let mut limits = Limits::default();
        limits.max_alloc = Some(most);
        let mut reader = ImageReader::with_format(from, format);
        reader.limits(limits);
        let decoder = reader.into_decoder().map_err(|error| error.to_string())?;
        let (width, height) = decoder.dimensions();
        let color = decoder.color_type();
        if decoder.total_bytes() > most {
            return Err(format!(
                "its header claims {width} x {height} pixels, which {length} bytes cannot hold"
            ));
        }
        let (dtype, channels) = match color {
            ColorType::L8 => (DType::U8, None),
            ColorType::La8 => (DType::U8, Some(2)),
            ColorType::Rgb8 => (DType::U8, Some(3)),
            ColorType::Rgba8 => (DType::U8, Some(4)),
            ColorType::L16 => (DType::U16, None),
            ColorType::La16 => (DType::U16, Some(2)),
            ColorType::Rgb16 => (DType::U16, Some(3)),
            ColorType::Rgba16 => (DType::U16, Some(4)),
            _ => return Err(format!("its colours are {color:?}; convert it to RGB")),
        };
        let size = |size| usize::try_from(size).unwrap_or(usize::MAX);
        let mut shape = vec![size(height), size(width)];
        shape.extend(channels);
        Ok(Picture { decoder: Box::new(decoder), dtype, shape })
    }

    /// The pixels.
    ///
    /// # Errors
    /// Returns an error if they are damaged, in words.
    fn load(self) -> Result<Array, String> {
        let length = usize::try_from(self.decoder.total_bytes()).map_err(|error| error.to_string())?;
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(length).map_err(|error| error.to_string())?;
        pixels.resize(length, 0);
        self.decoder.read_image_boxed(&mut pixels).map_err(|error| error.to_string())?;
        let owned = Owned::read(pixels.as_slice(), length).map_err(|error| error.to_string())?;
        Array::new(self.dtype, self.shape, false, Memory::owned(owned), 0)
    }
}

/// A .png or .jpeg.
#[derive(Debug)]
pub struct PictureFile {
    content: Rc<Content>,
    format: ImageFormat,
    dtype: DType,
    shape: Vec<usize>,
}

impl PictureFile {
    /// Reads the header.
    ///
    /// # Errors
    /// Returns an error if it is not a supported picture.
    pub fn open(content: &Rc<Content>, format: ImageFormat) -> Result<PictureFile, Failure> {
        let Picture { dtype, shape, .. } = PictureFile::header(content, format)?;
        Ok(PictureFile { content: content.clone(), format, dtype, shape })
    }

    fn header(content: &Rc<Content>, format: ImageFormat) -> Result<Picture<'static>, Failure> {
        let from = BufReader::new(content.reader(0));
        Picture::open(from, format, content.length()).map_err(|what| content.wrong(&what).help(DAMAGED))
    }
}

impl Source for PictureFile {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn load(&self) -> Result<Array, Failure> {
        let picture = PictureFile::header(&self.content, self.format)?;
        picture.load().map_err(|what| self.content.wrong(&what).help(DAMAGED))
    }
}
