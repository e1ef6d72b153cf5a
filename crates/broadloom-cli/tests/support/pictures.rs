//! Pictures for tests, written and read by the libraries of their formats.

use png::{BitDepth, ColorType};
use std::io::Cursor;

/// A .png of a width and a height.
pub fn png([width, height]: [u32; 2], color: ColorType, depth: BitDepth, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(pixels).unwrap();
    writer.finish().unwrap();
    bytes
}

/// A .jpg of a width and a height.
pub fn jpeg([width, height]: [u16; 2], color: jpeg_encoder::ColorType, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    jpeg_encoder::Encoder::new(&mut bytes, 75).encode(pixels, width, height, color).unwrap();
    bytes
}

/// The width and height, the colours and the pixels of a .png.
pub fn read_png(bytes: &[u8]) -> ([u32; 2], ColorType, Vec<u8>) {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    ([info.width, info.height], info.color_type, pixels)
}
