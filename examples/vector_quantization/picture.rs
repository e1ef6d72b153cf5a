//! Pictures as arrays of pixels, from and to files.

use crate::Error;
use broadloom::ArrayView;
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

    /// Squares of the colours, in rows of at most sixteen.
    pub fn swatches(colors: &[[u8; 3]]) -> Picture {
        const SIDE: usize = 48;
        let columns = colors.len().clamp(1, 16);
        let (width, height) = (columns * SIDE, colors.len().div_ceil(columns) * SIDE);
        let square = |x: usize, y: usize| y / SIDE * columns + x / SIDE;
        let places = (0..height).flat_map(|y| (0..width).map(move |x| square(x, y)));
        let pixels = places.flat_map(|place| colors.get(place).copied().unwrap_or([255; 3])).collect();
        Picture { width, height, pixels }
    }
}

/// Pixels of three bytes as an array: `u8[n, 3]`.
pub fn view(pixels: &[u8]) -> Result<ArrayView<'_>, Error> {
    Ok(ArrayView::new(pixels, &[pixels.len() / 3, 3])?)
}
