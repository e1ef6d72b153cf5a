//! The sweep over one function in one format, and its state.

use crate::proof::measure::{Finding, NUMERICS, f32_errors, f64_errors, fingerprints, settled};
use crate::proof::random::{Format, Random};
use crate::proof::record::{Entry, rounded_up};
use crate::proof::samples::{Arguments, piece, probe};
use crate::proof::table::{Row, Truth};
use crate::search::Search;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{fs, io, thread};

/// A bit each in the state.
pub const PIECES: u64 = 64;

/// How many of the worst are looked at in multiple precision.
const KEPT: usize = 1000;

/// Random pairs of f32 per piece: 33 million in all.
const PAIRS: usize = 1 << 19;

/// Random arguments of f64 per piece: a quarter of a million in all, and the search looks at seven times as many.
const DOUBLES: usize = 1 << 12;

/// Random pairs of f64 per piece for exact functions, of which the search finds nothing: two million in all.
const EXACT_PAIRS: usize = 1 << 15;

/// Errors from which on the search looks for worse ones: less than half an ulp, which rounding alone makes.
const SEARCHED: f64 = 0.49;

const THREADS: usize = 2;

/// Far more than what f64 functions get wrong, in ulps of f32.
const F64_ERROR: f64 = 1e-6;

/// The worst errors so far.
#[derive(Clone, Default)]
struct Worst {
    found: Vec<Finding>,
    /// Errors up to this one are not among the worst.
    threshold: f64,
}

impl Worst {
    #[inline]
    fn add(&mut self, finding: Finding) {
        if finding.error > self.threshold {
            self.found.push(finding);
            // Seldom, because tiny arguments come first, and for many functions each is worse than the last.
            if self.found.len() == 16 * KEPT {
                self.cut();
            }
        }
    }

    /// Keeps the worst, worst first.
    fn cut(&mut self) {
        self.found.sort_by(|a, b| b.error.total_cmp(&a.error));
        self.found.truncate(KEPT);
        if let Some(least) = self.found.get(KEPT - 1) {
            self.threshold = least.error;
        }
    }
}

/// What has been done.
#[derive(Clone, Default)]
struct State {
    /// Of the code that is measured.
    fingerprints: [u64; 2],
    /// Bit i: piece i.
    done: u64,
    tested: u64,
    worst: [Worst; 2],
}

impl State {
    fn merge(&mut self, other: State) {
        self.done |= other.done;
        self.tested += other.tested;
        for (mine, theirs) in self.worst.iter_mut().zip(other.worst) {
            theirs.found.into_iter().for_each(|finding| mine.add(finding));
            mine.cut();
        }
    }

    fn print(&self) -> String {
        let [unfused, fused] = self.fingerprints;
        let mut text = format!("fingerprints {unfused:016x} {fused:016x}\n");
        text += &format!("done {:016x}\ntested {}\n", self.done, self.tested);
        for (numerics, worst) in NUMERICS.iter().zip(&self.worst) {
            for Finding { error, at: (x, y) } in &worst.found {
                text += &format!("{numerics} {error:e} {x:e} {y:e}\n");
            }
        }
        text
    }

    fn parse(text: &str) -> Option<State> {
        let mut state = State::default();
        for line in text.lines() {
            match *line.split(' ').collect::<Vec<_>>() {
                ["fingerprints", unfused, fused] => {
                    let number = |digits| u64::from_str_radix(digits, 16).ok();
                    state.fingerprints = [number(unfused)?, number(fused)?];
                }
                ["done", mask] => state.done = u64::from_str_radix(mask, 16).ok()?,
                ["tested", count] => state.tested = count.parse().ok()?,
                [numerics, error, x, y] => {
                    let index = NUMERICS.iter().position(|&name| name == numerics)?;
                    let at = (x.parse().ok()?, y.parse().ok()?);
                    state.worst[index].add(Finding { error: error.parse().ok()?, at });
                }
                _ => return None,
            }
        }
        state.worst.iter_mut().for_each(Worst::cut);
        Some(state)
    }
}

pub struct Sweep {
    row: &'static Row,
    format: Format,
    file: PathBuf,
    progress: Mutex<Progress>,
}

struct Progress {
    state: State,
    /// Pieces that are done or that a thread is at.
    taken: u64,
}

impl Sweep {
    /// The sweep where it was left, or at its beginning.
    pub fn resume(row: &'static Row, format: Format, file: PathBuf) -> io::Result<Sweep> {
        let old = if fs::exists(&file)? { State::parse(&fs::read_to_string(&file)?) } else { None };
        let fingerprints = fingerprints(row, format, &probe(row, format));
        let same = old.filter(|state| state.fingerprints == fingerprints);
        let state = same.unwrap_or_else(|| State { fingerprints, ..State::default() });
        let taken = state.done;
        Ok(Sweep { row, format, file, progress: Mutex::new(Progress { state, taken }) })
    }

    /// Runs the first `pieces` pieces, or until time is up; returns how many of them are left.
    pub fn run(&self, until: Option<Instant>, pieces: u64) -> io::Result<u64> {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| self.work(until, pieces))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("a piece panicked"))
        })?;
        let done = self.with(|progress| progress.state.done);
        Ok((0..pieces).filter(|piece| done >> piece & 1 == 0).count() as u64)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Progress) -> T) -> T {
        // Only whole pieces are merged, so a panic elsewhere leaves no half of one.
        f(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn work(&self, until: Option<Instant>, pieces: u64) -> io::Result<()> {
        while until.is_none_or(|until| Instant::now() < until) {
            let free = self.with(|progress| {
                let free = (0..pieces).find(|&i| progress.taken >> i & 1 == 0)?;
                progress.taken |= 1 << free;
                Some((free, progress.state.worst.each_ref().map(|worst| worst.threshold)))
            });
            let Some((free, thresholds)) = free else { break };
            let piece = self.piece(free, thresholds);
            self.with(|progress| {
                progress.state.merge(piece);
                // A new file takes the place of the old one, so that one of them is whole at any time.
                let new = self.file.with_extension("new");
                fs::write(&new, progress.state.print())?;
                fs::rename(&new, &self.file)
            })?;
        }
        Ok(())
    }

    fn is_exhaustive(&self) -> bool {
        self.format == Format::F32 && self.row.function.arity() == 1
    }

    /// A piece, of which only errors beyond the thresholds matter.
    fn piece(&self, index: u64, thresholds: [f64; 2]) -> State {
        let worst = thresholds.map(|threshold| Worst { threshold, ..Worst::default() });
        let mut state = State { done: 1 << index, worst, ..State::default() };
        let (row, format) = (self.row, self.format);
        if self.is_exhaustive() {
            // Arguments of all sizes in each, so that the first one finds out what counts as bad.
            let bits = (index..1 << 32).step_by(PIECES as usize);
            let found = |numerics: usize, finding| state.worst[numerics].add(finding);
            let arguments = bits.map(|bits| (f32::from_bits(bits as u32), 0.0));
            state.tested = f32_errors(row, arguments, thresholds, found);
            return state;
        }
        let count = match row.truth {
            _ if format == Format::F32 => PAIRS,
            Truth::Exact { .. } => EXACT_PAIRS,
            Truth::Rounded { .. } => DOUBLES,
        };
        let mut search = Search::default();
        self.sample(&mut search, &mut state, piece(row, format, index, count));
        // Other numbers than those of the samples, which begin with the index.
        search.run(&mut Random(!index), format, |search, arguments| {
            self.sample(search, &mut state, arguments.iter().map(|&(x, y)| (x, self.second(y))));
        });
        state
    }

    /// The second operand, which functions of one ignore: a zero, so that it does not tell cells apart.
    fn second(&self, y: f64) -> f64 {
        if self.row.function.arity() == 2 { y } else { 0.0 }
    }

    /// Measures arguments for the state, and for the search the errors of which it may find worse ones.
    fn sample(&self, search: &mut Search, state: &mut State, arguments: impl Iterator<Item = Arguments>) {
        let State { tested, worst, .. } = state;
        let found = |numerics: usize, finding| {
            worst[numerics].add(finding);
            search.add(numerics, finding);
        };
        *tested += match self.format {
            Format::F32 => {
                f32_errors(self.row, arguments.map(|(x, y)| (x as f32, y as f32)), [SEARCHED; 2], found)
            }
            _ => f64_errors(self.row, arguments, [SEARCHED; 2], found),
        };
    }

    /// The lines of the table, of the pieces that are done: the worst in multiple precision.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut state = self.with(|progress| progress.state.clone());
        let (row, format) = (self.row, self.format);
        let exhaustive = self.is_exhaustive() && state.done == u64::MAX;
        if self.is_exhaustive() && !exhaustive {
            // Of a part of all arguments the tests may find worse ones than the pieces have.
            let thresholds = state.worst.each_ref().map(|worst| worst.threshold);
            let arguments = probe(row, format);
            let arguments = arguments.iter().map(|&(x, y)| (x as f32, y as f32));
            state.tested += f32_errors(row, arguments, thresholds, |numerics: usize, finding| {
                state.worst[numerics].add(finding);
            });
            state.worst.iter_mut().for_each(Worst::cut);
        }
        let entry = |(numerics, kept): (usize, &Worst)| {
            let mut worst = Finding { error: 0.0, at: (0.0, 0.0) };
            for &Finding { at, .. } in &kept.found {
                let error = settled(row, format, at)[numerics];
                if error > worst.error {
                    worst = Finding { error, at };
                }
            }
            // What was not kept is at most as bad as the threshold, so it cannot matter to a worst beyond.
            if worst.error + F64_ERROR < kept.threshold {
                return Err(io::Error::other(format!(
                    "{} {}: multiple precision finds {} ulp at most, where f64 found {} for more than {KEPT}",
                    row.function, format.name, worst.error, kept.threshold
                )));
            }
            worst.error = rounded_up(worst.error);
            let (function, tested) = (row.function, state.tested);
            let fingerprint = state.fingerprints[numerics];
            Ok(Entry { function, format, numerics, worst, tested, exhaustive, fingerprint })
        };
        state.worst.iter().enumerate().map(entry).collect()
    }
}
