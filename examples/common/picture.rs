//! Pictures as arrays of pixels, from and to files.

use super::{Error, letters};
use broadloom::{ArrayView, ArrayViewMut};
use image::{ColorType, DynamicImage, ImageDecoder, ImageFormat, ImageReader};
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

    /// Reads a PNG or JPEG file, the right way up; transparency is dropped.
    pub fn read(path: &Path) -> Result<Picture, Error> {
        let failed = |reason: &dyn std::fmt::Display| format!("cannot read {}: {reason}", path.display());
        let reader = ImageReader::open(path).map_err(|error| failed(&error))?;
        let reader = reader.with_guessed_format().map_err(|error| failed(&error))?;
        if !matches!(reader.format(), Some(ImageFormat::Png | ImageFormat::Jpeg)) {
            return Err(format!("{} is not a PNG or JPEG picture", path.display()).into());
        }
        let mut decoder = reader.into_decoder().map_err(|error| failed(&error))?;
        // Cameras do not turn pictures, but note how they were held.
        let orientation = decoder.orientation().map_err(|error| failed(&error))?;
        let mut picture = DynamicImage::from_decoder(decoder).map_err(|error| failed(&error))?;
        picture.apply_orientation(orientation);
        let picture = picture.into_rgb8();
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        Ok(Picture { width, height, pixels: picture.into_raw() })
    }

    /// Writes a PNG file.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let (width, height) = (u32::try_from(self.width)?, u32::try_from(self.height)?);
        image::save_buffer(path, &self.pixels, width, height, ColorType::Rgb8)
            .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
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
