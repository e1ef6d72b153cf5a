//! docs/cli.md is a session: every command of it is run, in order, in one folder, and prints what stands there. So are
//! the commands of README.md.
//! `UPDATE_DOCS=1 cargo test -p broadloom-cli --test session` writes the outputs anew.
//!
//! What the files hold in the end is compared with plain Rust.

#![cfg_attr(not(unix), allow(dead_code, unused_imports, reason = "the commands are those of a shell"))]

#[path = "support/pictures.rs"]
#[allow(dead_code, reason = "a session writes its pictures itself")]
mod pictures;

use broadloom::CpuLevel;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A part of the page.
enum Part {
    Words(String),
    Block { varies: bool, commands: Vec<Typed> },
}

/// A command, as it is typed, and what the page says that it prints.
struct Typed {
    lines: Vec<String>,
    prints: String,
}

impl Typed {
    fn script(&self) -> String {
        self.lines.join("\n")
    }
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn parts(page: &str) -> Vec<Part> {
    let mut parts = vec![Part::Words(String::new())];
    for line in page.lines() {
        match parts.last_mut().expect("there is one") {
            Part::Words(_) if line.starts_with("```console") => {
                parts.push(Part::Block { varies: line == "```console varies", commands: Vec::new() });
            }
            Part::Words(words) => words.extend([line, "\n"]),
            Part::Block { .. } if line == "```" => parts.push(Part::Words(String::new())),
            Part::Block { commands, .. } => {
                let open = commands.last_mut().filter(|last| last.prints.is_empty());
                match (line.strip_prefix("$ "), line.strip_prefix("> "), open) {
                    (Some(command), ..) => {
                        commands.push(Typed { lines: vec![command.to_owned()], prints: String::new() });
                    }
                    (None, Some(more), Some(open)) if open.script().contains("<<'END'") => {
                        open.lines.push(more.to_owned());
                    }
                    _ => {
                        let command =
                            commands.last_mut().unwrap_or_else(|| panic!("no command prints {line}"));
                        command.prints.extend([line, "\n"]);
                    }
                }
            }
        }
    }
    parts
}

fn text(parts: &[Part]) -> String {
    let mut page = String::new();
    for part in parts {
        match part {
            Part::Words(words) => page += words,
            Part::Block { varies, commands } => {
                page += if *varies { "```console varies\n" } else { "```console\n" };
                for Typed { lines, prints } in commands {
                    let _ = write!(page, "$ {}\n{prints}", lines.join("\n> "));
                }
                page += "```\n";
            }
        }
    }
    page
}

/// What a command prints, and its exit code if that is not 0. Only one of the streams is used: data are printed if all
/// is well, and messages if it is not.
fn run(command: &Typed, folder: &Path) -> String {
    let script = command.script();
    let program = Path::new(env!("CARGO_BIN_EXE_broadloom"));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let first = std::iter::once(program.parent().expect("a folder").to_owned());
    let paths = std::env::join_paths(first.chain(std::env::split_paths(&paths))).expect("a path");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&script).current_dir(folder).env("PATH", paths).stdin(Stdio::null());
    let output = shell.output().expect("there is a shell");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let code = output.status.code().expect("an exit code");
    match code {
        0 => assert_eq!(stderr, "", "{script}"),
        _ => assert_eq!(stdout, "", "{script}"),
    }
    assert!(
        !stderr.contains(&*folder.to_string_lossy()) && !stderr.contains("panicked"),
        "{script}\n{stderr}"
    );
    let mut prints = stdout + &stderr;
    if !prints.is_empty() && !prints.ends_with('\n') {
        prints.push('\n');
    }
    if code != 0 {
        let _ = writeln!(prints, "[{code}]");
    }
    prints
}

/// A text of which numbers, units of time and rates, columns, levels of processors, what vectors they have and the loops of
/// their code are left out.
fn stable(text: &str) -> String {
    const UNITS: &[&str] = &["ns", "us", "ms", "s", "k", "M", "G"];
    let levels = CpuLevel::ALL.map(CpuLevel::name);
    let mut words: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("  loop ")) {
        let mut after_number = false;
        let line = line.split("vectors of").next().unwrap_or(line);
        for word in line.split_whitespace() {
            let is_number = word.starts_with(|first: char| first.is_ascii_digit());
            match () {
                () if is_number || levels.contains(&word) => words.push(".."),
                () if after_number && UNITS.contains(&word.trim_end_matches(',')) => {}
                () => words.push(word),
            }
            after_number = is_number;
        }
        words.push("\n");
    }
    words.join(" ")
}

#[cfg(not(unix))]
#[test]
fn the_page_is_typed() {
    eprintln!("SKIPPED, NOT RUN: docs/cli.md is a session of a Unix shell");
}

/// Types the commands of a page into a folder.
fn type_in(name: &str, folder: &Path) {
    let path = page(name);
    let found = std::fs::read_to_string(&path).expect("the page").replace("\r\n", "\n");
    let mut parts = parts(&found);
    assert_eq!(text(&parts), found, "the page is read as it is");
    let (mut count, mut differing) = (0, String::new());
    for part in &mut parts {
        let Part::Block { varies, commands } = part else { continue };
        for command in commands {
            count += 1;
            let prints = run(command, folder);
            let is_same = match varies {
                true => stable(&prints) == stable(&command.prints),
                false => prints == command.prints,
            };
            if !is_same {
                let _ = write!(differing, "$ {}\n{prints}instead of\n{}\n", command.script(), command.prints);
                command.prints = prints;
            }
        }
    }
    assert!(count >= 3, "{name}: {count} commands");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, text(&parts)).expect("the page can be written");
    } else {
        assert!(differing.is_empty(), "{name}: {differing}`UPDATE_DOCS=1` writes the page anew");
    }
}

#[cfg(unix)]
#[test]
fn the_session_prints_what_the_page_shows_and_computes_what_plain_loops_do() {
    let folder = TempDir::new().expect("a folder");
    type_in("docs/cli.md", folder.path());
    files::check(folder.path());
}

#[cfg(unix)]
#[test]
fn the_commands_of_the_readme_print_what_it_shows() {
    let folder = TempDir::new().expect("a folder");
    type_in("README.md", folder.path());
}

#[test]
fn what_varies_is_left_out_and_nothing_else() {
    assert_eq!(stable("1  386 us  2.59 G  71%"), stable("4 12.5 ms 259 k 7%"));
    for level in CpuLevel::ALL {
        let line = format!("compiled in 12 us for {level} to 7 bytes of code");
        assert_eq!(stable(&line), stable("compiled in 0.9 ms for avx512 to 1546 bytes of code"));
    }
    assert_eq!(stable("a\n  loop n: 64 lanes, no spills\nb"), stable("a\nb"));
    let differing = [
        ("a\n  for n\nb", "a\nb"),
        ("for n vector 16 {", "for m vector 8 {"),
        ("a\nb", "a b"),
        ("3 rows", "3 cells"),
        ("for avx512", "for avx"),
    ];
    for (one, other) in differing {
        assert_ne!(stable(one), stable(other));
    }
}

/// What the session wrote, computed anew.
#[cfg(unix)]
mod files {
    use crate::pictures::read_png;
    use npyz::{Deserialize, NpyFile};
    use std::path::Path;

    fn npy<T: Deserialize>(path: &Path) -> (Vec<u64>, Vec<T>) {
        let bytes = std::fs::read(path).expect("a file");
        let file = NpyFile::new(bytes.as_slice()).expect("a .npy");
        (file.shape().to_vec(), file.into_vec().expect("elements"))
    }

    /// The columns of a table.
    fn columns<const N: usize>(path: &Path, first: usize) -> Vec<[f64; N]> {
        let text = std::fs::read_to_string(path).expect("a table");
        let rows = text.lines().filter_map(|line| {
            let cells: Vec<f64> =
                line.split(',').skip(first).map(str::parse).collect::<Result<_, _>>().ok()?;
            cells.try_into().ok()
        });
        rows.collect()
    }

    /// Mean and deviation.
    fn moments(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
    }

    pub fn check(folder: &Path) {
        nearest_codes(folder);
        pictures(folder);
        distances(folder);
        scales(folder);
    }

    fn nearest_codes(folder: &Path) {
        let curve = |t: f64| [t.sin(), (3.0 * t).cos(), t.sin() * t.cos()];
        let (shape, observed) = npy::<f64>(&folder.join("obs.npy"));
        assert_eq!(shape, [1000, 3]);
        let codes: Vec<[f64; 3]> = (0..4).map(|row| curve(f64::from(row) * 2.5)).collect();
        let (_, nearest) = npy::<i64>(&folder.join("code.npy"));
        assert_eq!(nearest.len(), 1000);
        for (row, (found, observed)) in nearest.iter().zip(observed.chunks_exact(3)).enumerate() {
            let point = curve(row as f64 * 0.01);
            assert!(point.iter().zip(observed).all(|(x, y)| (x - y).abs() < 1e-14), "row {row}");
            let distance =
                |code: &[f64; 3]| code.iter().zip(point).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
            let best = (0..4).min_by(|i, j| distance(&codes[*i]).total_cmp(&distance(&codes[*j])));
            assert_eq!(Some(*found as usize), best, "row {row}");
        }
    }

    fn pictures(folder: &Path) {
        let open = |name: &str| {
            let (size, color, pixels) = read_png(&std::fs::read(folder.join(name)).expect("a picture"));
            assert_eq!((size, color), ([160, 120], png::ColorType::Rgb), "{name}");
            pixels
        };
        let (photo, normalised) = (open("photo.png"), open("normalised.png"));
        for channel in 0..3 {
            let of = |pixels: &[u8]| -> Vec<f64> {
                pixels.chunks_exact(3).map(|pixel| f64::from(pixel[channel])).collect()
            };
            let values = of(&photo);
            let (mean, deviation) = moments(&values);
            for (at, (found, value)) in of(&normalised).into_iter().zip(values).enumerate() {
                let expected = (128.0 + 50.0 * (value - mean) / deviation).clamp(0.0, 255.0);
                // A value next to a whole number may be cut off on either side of it.
                let off = (expected - 0.5 - found).abs();
                assert!(off < 0.5 + 1e-9, "pixel {at}: {found} {expected}");
            }
        }
    }

    fn distances(folder: &Path) {
        let cities = columns::<2>(&folder.join("cities.csv"), 1);
        let km = columns::<5>(&folder.join("km.csv"), 0);
        assert_eq!((cities.len(), km.len()), (5, 5));
        // By the angle between vectors, another formula than the haversines'.
        let vector = |[lat, lon]: [f64; 2]| {
            let (lat, lon) = (lat.to_radians(), lon.to_radians());
            [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
        };
        let (_, farthest) = npy::<f64>(&folder.join("farthest.npy"));
        for (i, one) in cities.iter().enumerate() {
            for (j, other) in cities.iter().enumerate() {
                let cosine: f64 = vector(*one).iter().zip(vector(*other)).map(|(x, y)| x * y).sum();
                let expected = 6371.0 * cosine.clamp(-1.0, 1.0).acos();
                assert!((km[i][j] - expected).abs() < 0.501, "{i} {j}: {} {expected}", km[i][j]);
            }
            assert_eq!(farthest[i], km[i].iter().copied().fold(0.0, f64::max));
        }
    }

    fn scales(folder: &Path) {
        let people = columns::<3>(&folder.join("people.csv"), 0);
        let mut archive =
            zip::ZipArchive::new(std::fs::File::open(folder.join("scaled.npz")).expect("a file"))
                .expect("an archive");
        for (column, name) in ["height.npy", "weight.npy"].into_iter().enumerate() {
            let file = archive.by_name(name).expect("an array");
            let scaled: Vec<f64> = NpyFile::new(file).expect("a .npy").into_vec().expect("elements");
            let values: Vec<f64> = people.iter().map(|row| row[column]).collect();
            let (mean, deviation) = moments(&values);
            assert_eq!(scaled.len(), 4);
            for (scaled, value) in scaled.iter().zip(values) {
                assert!((scaled - (value - mean) / deviation).abs() < 1e-13, "{name}");
            }
        }
    }
}
