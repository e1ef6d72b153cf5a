//! Pictures: .png and .jpeg to arrays.

use super::content::{Content, Reader};
use super::memory::{Array, Memory, Owned};
use super::source::{DAMAGED, Source};
use crate::failure::Failure;
use broadloom::DType;
use png::{BitDepth, ColorType, Transformations};
use std::io::{BufRead, BufReader, Seek};
use std::rc::Rc;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// The most bytes that one byte of a compressed picture can expand to: the limit of Deflate; JPEG stays below.
const MOST_COMPRESSED: u64 = 1100;
/// Memory for small pictures and the decoder's tables.
const ROOM: u64 = 1 << 20;

/// The formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    Png,
    Jpeg,
}

/// The header of a picture, and its decoder.
struct Picture<R: BufRead + Seek> {
    decoder: Decoder<R>,
    dtype: DType,
    shape: Vec<usize>,
}

enum Decoder<R: BufRead + Seek> {
    Png(Box<png::Reader<R>>),
    Jpeg(Box<JpegDecoder<ZCursor<Vec<u8>>>>),
}

impl<R: BufRead + Seek> Picture<R> {
    /// Reads the header of a picture of `length` bytes.
    ///
    /// # Errors
    /// Returns an error if it is not a picture, or has an unsupported colour type, in words.
    fn open(from: R, format: PictureFormat, length: u64) -> Result<Picture<R>, String> {
        let most = length.saturating_mul(MOST_COMPRESSED).saturating_add(ROOM);
        let picture = match format {
            PictureFormat::Png => Picture::open_png(from, most)?,
            PictureFormat::Jpeg => Picture::open_jpeg(from)?,
        };
        let [height, width, ..] = picture.shape[..] else { return Err("it has no size".into()) };
        if picture.bytes().is_none_or(|bytes| bytes as u64 > most) {
            return Err(format!(
                "its header claims {width} x {height} pixels, which {length} bytes cannot hold"
            ));
        }
        Ok(picture)
    }

    fn open_png(from: R, most: u64) -> Result<Picture<R>, String> {
        let limits = png::Limits { bytes: usize::try_from(most).unwrap_or(usize::MAX) };
        let mut decoder = png::Decoder::new_with_limits(from, limits);
        decoder.set_transformations(Transformations::EXPAND);
        let reader = decoder.read_info().map_err(|error| error.to_string())?;
        let (color, depth) = reader.output_color_type();
        let dtype = match depth {
            BitDepth::Eight => DType::U8,
            BitDepth::Sixteen => DType::U16,
            BitDepth::One | BitDepth::Two | BitDepth::Four => {
                return Err(format!("its colours are {color:?} of {depth:?} bits; convert it to RGB"));
            }
        };
        let channels = match color {
            ColorType::Grayscale => None,
            ColorType::GrayscaleAlpha | ColorType::Rgb | ColorType::Rgba => Some(color.samples()),
            ColorType::Indexed => return Err(format!("its colours are {color:?}; convert it to RGB")),
        };
        let (width, height) = reader.info().size();
        let shape = [height, width].map(|size| size as usize).into_iter().chain(channels).collect();
        Ok(Picture { decoder: Decoder::Png(Box::new(reader)), dtype, shape })
    }

    fn open_jpeg(mut from: R) -> Result<Picture<R>, String> {
        let mut compressed = Vec::new();
        from.read_to_end(&mut compressed).map_err(|error| error.to_string())?;
        let options = DecoderOptions::default()
            .set_strict_mode(false)
            .set_max_width(usize::MAX)
            .set_max_height(usize::MAX);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(compressed), options);
        decoder.decode_headers().map_err(|error| error.to_string())?;
        let (width, height) = decoder.dimensions().ok_or("it has no size")?;
        let is_grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
        let color = if is_grey { ColorSpace::Luma } else { ColorSpace::RGB };
        decoder.set_options(options.jpeg_set_out_colorspace(color));
        let shape = [height, width].into_iter().chain((!is_grey).then_some(3)).collect();
        Ok(Picture { decoder: Decoder::Jpeg(Box::new(decoder)), dtype: DType::U8, shape })
    }

    /// The number of bytes of its pixels, if it can be represented.
    fn bytes(&self) -> Option<usize> {
        self.shape.iter().try_fold(self.dtype.size(), |bytes, size| bytes.checked_mul(*size))
    }

    /// The pixels.
    ///
    /// # Errors
    /// Returns an error if they are damaged, in words.
    fn load(self) -> Result<Array, String> {
        let length = self.bytes().ok_or("it is too large")?;
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(length).map_err(|error| error.to_string())?;
        pixels.resize(length, 0);
        match self.decoder {
            Decoder::Png(mut reader) => {
                reader.next_frame(&mut pixels).map_err(|error| error.to_string())?;
            }
            Decoder::Jpeg(mut decoder) => {
                decoder.decode_into(&mut pixels).map_err(|error| error.to_string())?;
            }
        }
        // The bytes of elements in a .png are in big-endian order.
        if self.dtype == DType::U16 {
            for element in pixels.as_chunks_mut::<2>().0 {
                *element = u16::from_be_bytes(*element).to_ne_bytes();
            }
        }
        let owned = Owned::read(pixels.as_slice(), length).map_err(|error| error.to_string())?;
        Array::new(self.dtype, self.shape, false, Memory::owned(owned), 0)
    }
}

/// A .png or .jpeg.
#[derive(Debug)]
pub struct PictureFile {
    content: Rc<Content>,
    format: PictureFormat,
    dtype: DType,
    shape: Vec<usize>,
}

impl PictureFile {
    /// Reads the header.
    ///
    /// # Errors
    /// Returns an error if it is not a supported picture.
    pub fn open(content: &Rc<Content>, format: PictureFormat) -> Result<PictureFile, Failure> {
        let Picture { dtype, shape, .. } = PictureFile::header(content, format)?;
        Ok(PictureFile { content: content.clone(), format, dtype, shape })
    }

    fn header(content: &Rc<Content>, format: PictureFormat) -> Result<Picture<BufReader<Reader>>, Failure> {
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
