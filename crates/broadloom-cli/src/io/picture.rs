//! Pictures: .png and .jpeg to arrays.

use super::memory::{Array, Memory, Owned};
use broadloom::DType;
use image::{ColorType, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::io::{BufRead, Seek};

/// Bytes that one byte of a compressed picture can stand for, at most: what Deflate can do, which JPEG cannot.
const MOST_COMPRESSED: u64 = 1100;
/// Room for small pictures and the decoder's tables.
const ROOM: u64 = 1 << 20;

/// What a picture is, and how it is decoded.
pub struct Picture<'a> {
    decoder: Box<dyn ImageDecoder + 'a>,
    pub dtype: DType,
    pub shape: Vec<usize>,
}

impl<'a> Picture<'a> {
    /// Reads the header of a picture of so many bytes.
    ///
    /// # Errors
    /// If it is none, or has colours that no array is made of, in words.
    pub fn open(
        from: impl BufRead + Seek + 'a,
        format: ImageFormat,
        length: u64,
    ) -> Result<Picture<'a>, String> {
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
                "its header promises {width} x {height} pixels, which {length} bytes cannot hold"
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
    /// If they are damaged, in words.
    pub fn load(self) -> Result<Array, String> {
        let length = usize::try_from(self.decoder.total_bytes()).map_err(|error| error.to_string())?;
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(length).map_err(|error| error.to_string())?;
        pixels.resize(length, 0);
        self.decoder.read_image_boxed(&mut pixels).map_err(|error| error.to_string())?;
        let owned = Owned::read(pixels.as_slice(), length).map_err(|error| error.to_string())?;
        Array::new(self.dtype, self.shape, false, Memory::owned(owned), 0)
    }
}
