//! Reports measurements, for people and for programs.

use super::measure::Times;
use std::fmt;

/// All that is reported.
#[derive(Debug)]
pub struct Report {
    /// `x: f32[1000, 16]` and where its elements come from.
    pub inputs: Vec<(String, String)>,
    pub outputs: Vec<String>,
    /// Sizes by name, and whether they were chosen.
    pub sizes: Vec<(String, i64, bool)>,
    pub kernels: usize,
    /// Seconds.
    pub compile_time: f64,
    pub bytes_in: usize,
    pub bytes_out: usize,
    /// Of the largest array, in bytes.
    pub elements: usize,
    pub rows: Vec<Measured>,
}

/// The measurements on a number of threads.
#[derive(Debug)]
pub struct Measured {
    pub threads: usize,
    pub run: Times,
    pub copy: Times,
}

impl Report {
    fn bytes(&self) -> usize {
        self.bytes_in + self.bytes_out
    }

    fn bytes_per_second(&self, times: &Times) -> f64 {
        self.bytes() as f64 / times.median
    }

    /// The report as JSON, with times in seconds.
    pub fn json(&self) -> serde_json::Value {
        let times = |times: &Times| {
            serde_json::json!({
                "median": times.median, "min": times.least, "p90": times.ninetieth,
                "repetitions": times.repetitions, "bytes_per_second": self.bytes_per_second(times),
            })
        };
        let sizes: serde_json::Map<String, serde_json::Value> =
            self.sizes.iter().map(|(name, size, _)| (name.clone(), (*size).into())).collect();
        let rows = self.rows.iter().map(|row| {
            serde_json::json!({
                "threads": row.threads, "run": times(&row.run), "copy": times(&row.copy),
                "elements_per_second": self.elements as f64 / row.run.median,
                "share_of_copy": row.copy.median / row.run.median,
            })
        });
        serde_json::json!({
            "inputs": self.inputs.iter().map(|(input, _)| input).collect::<Vec<_>>(),
            "outputs": self.outputs, "sizes": sizes, "kernels": self.kernels,
            "compile_seconds": self.compile_time, "bytes_in": self.bytes_in, "bytes_out": self.bytes_out,
            "elements": self.elements, "measured": rows.collect::<Vec<_>>(),
        })
    }
}

/// A number with three digits and a unit in steps of 1,000; a whole number in the smallest unit.
fn scaled(value: f64, units: &[&str], is_whole: bool) -> String {
    let mut value = value;
    let mut exponent = 0;
    while value >= 999.5 && exponent + 1 < units.len() {
        value /= 1000.0;
        exponent += 1;
    }
    let digits = match value {
        _ if is_whole && exponent == 0 => 0,
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    let unit = units.get(exponent).copied().unwrap_or_default();
    format!("{value:.digits$} {unit}").trim_end().to_string()
}

fn time(seconds: f64) -> String {
    scaled(seconds * 1e9, &["ns", "us", "ms", "s"], false)
}

fn bytes(count: usize) -> String {
    scaled(count as f64, &["B", "kB", "MB", "GB", "TB"], true)
}

/// `1,000,000`
fn grouped(number: impl fmt::Display) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (input, from)) in self.inputs.iter().enumerate() {
            writeln!(f, "{:9} {input}, {from}", if index == 0 { "inputs" } else { "" })?;
        }
        for (index, output) in self.outputs.iter().enumerate() {
            writeln!(f, "{:9} {output}", if index == 0 { "outputs" } else { "" })?;
        }
        let chosen: Vec<String> =
            self.sizes.iter().filter(|size| size.2).map(|(name, size, _)| format!("{name}={size}")).collect();
        if !chosen.is_empty() {
            writeln!(f, "{:9} chosen; as options: --size {}", "sizes", chosen.join(" --size "))?;
        }
        let plural = if self.kernels == 1 { "" } else { "s" };
        writeln!(f, "{:9} {}, {} kernel{plural}", "compiled", time(self.compile_time), self.kernels)?;
        let (bytes_in, bytes_out) = (bytes(self.bytes_in), bytes(self.bytes_out));
        writeln!(
            f,
            "{:9} {bytes_in} in, {bytes_out} out; elements of the largest array: {}",
            "moved",
            grouped(self.elements)
        )?;
        writeln!(f)?;
        writeln!(
            f,
            "{:>7} {:>9} {:>9} {:>9} {:>12} {:>8} {:>11} {:>8}",
            "threads", "median", "min", "90%", "elements/s", "GB/s", "copy GB/s", "of copy"
        )?;
        for row in &self.rows {
            let Times { median, least, ninetieth, .. } = row.run;
            let speed = scaled(self.elements as f64 / median, &["", "k", "M", "G", "T"], true);
            writeln!(
                f,
                "{:>7} {:>9} {:>9} {:>9} {:>12} {:>8.2} {:>11.2} {:>7.0}%",
                row.threads,
                time(median),
                time(least),
                time(ninetieth),
                speed,
                self.bytes_per_second(&row.run) / 1e9,
                self.bytes_per_second(&row.copy) / 1e9,
                100.0 * row.copy.median / median,
            )?;
        }
        Ok(())
    }
}
