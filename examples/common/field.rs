//! A number at each pixel of the plane, drawn as a map.

use super::Error;
use super::palette;
use super::picture::Picture;
use broadloom::prelude::*;

/// Colours numbers from 0 to 1, `f32[side, side]`, by a ramp. A line follows each multiple of `1 / levels`; the last row and
/// column have no neighbours to tell lines by, and are left out.
pub fn map(values: &[f32], side: usize, stops: &[[u8; 3]], levels: f32) -> Result<Picture, Error> {
    let g = Graph::new();
    let side_of = g.symbol("side");
    let values_of = g.input::<f32>("values", shape![side_of, side_of]);
    let colors = g.input::<u8>("colors", shape![256, 3]);
    let level = (values_of * levels).floor().minimum(levels - 1.0); // 1 is at the end of the last one
    let inner = level.slice(slice![..-1, ..-1]);
    let is_line = inner.ne(level.slice(slice![1.., ..-1])) | inner.ne(level.slice(slice![..-1, 1..]));
    let color = colors.take((values_of.slice(slice![..-1, ..-1]) * 255).round().cast::<u8>(), 0);
    // A line is the colour beside it, darker by a third.
    let color = select(is_line.unsqueeze(-1), color.cast::<f32>() * 0.66, color.cast::<f32>());
    let kernel = color.cast::<u8>().compile()?;
    let pixels = kernel.run(inputs! {
        "values" => ArrayView::new(values, &[side, side])?,
        "colors" => ArrayView::new(&palette::ramp(stops, 256), &[256, 3])?,
    })?;
    Ok(Picture { width: side - 1, height: side - 1, pixels: pixels.try_into()? })
}
