//! Tables of numbers: from a file, or made.

use crate::common::{Error, uniform_numbers};
use broadloom::ArrayView;
use std::path::Path;

/// Rows of numbers with a name for each column.
pub struct Table {
    pub names: Vec<String>,
    /// Row by row.
    pub numbers: Vec<f64>,
}

impl Table {
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    pub fn rows(&self) -> usize {
        self.numbers.len() / self.columns()
    }

    /// As an array: `f64[n, d]`.
    pub fn view(&self) -> Result<ArrayView<'_>, Error> {
        Ok(ArrayView::new(&self.numbers, &[self.rows(), self.columns()])?)
    }

    /// Reads a file of comma-separated numbers, the first line of which names the columns.
    pub fn read(path: &Path) -> Result<Table, Error> {
        let failed = |reason: &dyn std::fmt::Display| format!("cannot read {}: {reason}", path.display());
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path).map_err(|error| failed(&error))?;
        let header = reader.headers().map_err(|error| failed(&error))?;
        let names: Vec<String> = header.iter().map(str::to_string).collect();
        let mut numbers = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| failed(&error))?;
            for (name, field) in names.iter().zip(&record) {
                let line = record.position().map_or(0, csv::Position::line);
                let number: Result<f64, _> = field.parse();
                numbers.push(number.map_err(|_| {
                    failed(&format!("line {line}: column {name:?} holds {field:?}, which is no number"))
                })?);
            }
        }
        if numbers.is_empty() {
            return Err(failed(&"it has no rows").into());
        }
        Ok(Table { names, numbers })
    }
}

/// Hours of made weather, in the units of a weather station: scales from tenths to a hundred thousand.
pub fn weather() -> Table {
    const HOURS: usize = 24 * 365 * 20;
    const NAMES: [&str; 8] =
        ["temp_c", "humid_%", "press_pa", "wind_m/s", "rain_mm", "sun_w/m2", "ozone", "load_w"];
    let mut uniform = uniform_numbers(0x7ab1e).map(f64::from);
    // Sums of uniform numbers are nearly normal.
    let mut noise = || uniform.by_ref().take(6).sum::<f64>() * 1.414 - 4.243;
    let (mut storm, mut warmth) = (0.0, 0.0);
    let mut numbers = Vec::with_capacity(HOURS * NAMES.len());
    for hour in 0..HOURS {
        let day = (hour as f64 / 24.0 - 0.25) * std::f64::consts::TAU;
        let year = (hour as f64 / 8766.0 - 0.3) * std::f64::consts::TAU;
        // The part that the next hour inherits from this one.
        storm = 0.97 * storm + 0.24 * noise();
        warmth = 0.98 * warmth + 0.2 * noise();
        let season = year.sin();
        let clouds = 1.0 / (1.0 + (-1.5 * storm).exp());
        let sun = ((day.sin() + 0.35 * season).max(0.0) * (1.0 - 0.75 * clouds) * 900.0).max(0.0);
        let temperature = 11.0 + 8.5 * season + sun / 130.0 + 2.5 * warmth - 1.2 * storm + 0.5 * noise();
        let humidity = (74.0 - 0.9 * (temperature - 11.0) + 11.0 * storm + 4.0 * noise()).clamp(12.0, 100.0);
        let pressure = 101_325.0 - 800.0 * storm + 90.0 * noise();
        let wind = (3.6 + 1.9 * storm + 1.1 * noise()).abs();
        let rain = (storm - 1.0).max(0.0) * (0.9 + 0.4 * noise()).max(0.0);
        let ozone = 0.031 + 0.000_03 * sun + 0.0005 * (temperature - 11.0) + 0.004 * noise();
        let load = 41e6 - 3.1e5 * (temperature - 16.0) + 5.5e6 * (day - 0.6).sin() + 1.5e6 * noise();
        numbers.extend([temperature, humidity, pressure, wind, rain, sun, ozone, load]);
    }
    Table { names: NAMES.map(str::to_string).to_vec(), numbers }
}
