//! Pictures as arrays of pixels, from and to files.

use super::{Error, letters};
use broadloom::{ArrayView, ArrayViewMut};
use png::{BitDepth, ColorType, Decoder, Encoder, Transformations};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// Pixels in rows, three bytes each.
pub struct Picture {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
}

impl Picture {
    /// The number of pixels.
    pub fn count(&self) -> usize {
        self.width * self.height
    }

    /// As an array of observations: `u8[n, 3]`.
    pub fn view(&self) -> Result<ArrayView<'_>, Error> {
        view(&self.pixels)
    }

    /// As an array of rows: `u8[height, width, 3]`.
    pub fn rows(&self) -> Result<ArrayView<'_>, Error> {
        Ok(ArrayView::new(&self.pixels, &[self.height, self.width, 3])?)
    }

    /// As an array of rows to be written.
    pub fn rows_mut(&mut self) -> Result<ArrayViewMut<'_>, Error> {
        Ok(ArrayViewMut::new(&mut self.pixels, &[self.height, self.width, 3])?)
    }

    /// Reads a PNG file; transparency is dropped.
    pub fn read(path: &Path) -> Result<Picture, Error> {
        let failed = |reason: &dyn std::fmt::Display| format!("cannot read {}: {reason}", path.display());
        let file = File::open(path).map_err(|error| failed(&error))?;
        let mut decoder = Decoder::new(BufReader::new(file));
        decoder.set_transformations(Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(|error| failed(&error))?;
        let size = reader.output_buffer_size().ok_or_else(|| failed(&"it is too large"))?;
        let mut elements = vec![0; size];
        let info = reader.next_frame(&mut elements).map_err(|error| failed(&error))?;
        let channels = info.color_type.samples();
        let pixel = |pixel: &[u8]| match *pixel {
            [red, green, blue, ..] => [red, green, blue],
            [grey, ..] => [grey; 3],
            [] => [0; 3],
        };
        let pixels = elements.chunks_exact(channels).flat_map(pixel).collect();
        Ok(Picture { width: info.width as usize, height: info.height as usize, pixels })
    }

    /// Writes a PNG file.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let failed = |reason: &dyn std::fmt::Display| format!("cannot write {}: {reason}", path.display());
        let file = File::create(path).map_err(|error| failed(&error))?;
        let mut encoder =
            Encoder::new(BufWriter::new(file), u32::try_from(self.width)?, u32::try_from(self.height)?);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&self.pixels)?;
            writer.finish()
        });
        written.map_err(|error| failed(&error).into())
    }

    /// A picture of one colour.
    pub fn new(width: usize, height: usize, color: [u8; 3]) -> Picture {
        Picture { width, height, pixels: color.repeat(width * height) }
    }

    /// Fills a rectangle, as far as it lies in the picture.
    pub fn fill(&mut self, (left, top): (usize, usize), (width, height): (usize, usize), color: [u8; 3]) {
        let right = (left + width).min(self.width);
        for y in top..(top + height).min(self.height) {
            let row = y * self.width;
            let start = (row + left.min(right)) * 3;
            self.pixels[start..(row + right) * 3].as_chunks_mut().0.fill(color);
        }
    }

    /// Copies another picture to a place at which it fits.
    pub fn paste(&mut self, (left, top): (usize, usize), other: &Picture) {
        for (y, row) in other.pixels.chunks(other.width * 3).enumerate() {
            let start = ((top + y) * self.width + left) * 3;
            self.pixels[start..start + row.len()].copy_from_slice(row);
        }
    }
}

/// Pictures of one size beside each other, each below its caption.
pub fn beside(parts: &[(&str, &Picture)]) -> Picture {
    const GAP: usize = 12;
    const CAPTION: usize = 40;
    let (width, height) = parts.first().map_or((0, 0), |(_, part)| (part.width, part.height));
    let mut picture = Picture::new(parts.len() * (width + GAP) + GAP, height + CAPTION + GAP, [255; 3]);
    for (index, (caption, part)) in parts.iter().enumerate() {
        let left = GAP + index * (width + GAP);
        let middle = left + (width - 2 * letters::width(caption)) / 2;
        picture.write_text((middle, (CAPTION - 2 * letters::HEIGHT) / 2), 2, [40; 3], caption);
        picture.paste((left, CAPTION), part);
    }
    picture
}

/// Pixels of three bytes as an array: `u8[n, 3]`.
pub fn view(pixels: &[u8]) -> Result<ArrayView<'_>, Error> {
    Ok(ArrayView::new(pixels, &[pixels.len() / 3, 3])?)
}
