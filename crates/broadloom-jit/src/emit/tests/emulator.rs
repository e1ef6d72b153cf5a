//! Functions for AArch64, run by an emulator where one is installed.
//!
//! They become a program, without libraries and in one file with what they are called with. It does the calls one after
//! the other and prints all that they wrote.
//!
//! ```text
//! headers │ start │ functions ‖ table of calls │ what they write to │ what they read
//!                             └ a page of its own      └─▶ printed
//! ```

use std::cell::RefCell;
use std::io::Write;
use std::process::Command;
use std::sync::OnceLock;

/// Runs programs of one file for AArch64 under Linux.
const EMULATOR: &str = "qemu-aarch64";

/// Where programs are in memory.
const ADDRESS: u64 = 0x40_0000;

/// What is written shall not be beside code, which emulators translate by pages.
const PAGE: usize = 4096;

/// Bytes of the headers: one of the file and one of its only segment.
const HEADERS: usize = 64 + 56;

/// Alignment of functions.
const ALIGNMENT: usize = 64;

/// Arrays are off this alignment by half of it: elements are aligned, registers are not.
const ROW: usize = 16;

/// Bytes of arrays of one program: beyond them another begins, so that no test needs much memory.
const BATCH: usize = 16 << 20;

/// The first instructions. In `x19`, which functions preserve, is the address of the next call.
const START: [u32; 16] = [
    0x5800_0213, //       ldr  x19, table
    0xf940_0269, // next: ldr  x9, [x19]
    0xb400_00c9, //       cbz  x9, done
    0xa940_8660, //       ldp  x0, x1, [x19, #8]
    0xf940_0e62, //       ldr  x2, [x19, #24]
    0x9100_8273, //       add  x19, x19, #32
    0xd63f_0120, //       blr  x9
    0x17ff_fffa, //       b    next
    0xd280_0020, // done: mov  x0, #1
    0x5800_0121, //       ldr  x1, results
    0x5800_0142, //       ldr  x2, length
    0xd280_0808, //       mov  x8, #64            ; write(1, results, length)
    0xd400_0001, //       svc  #0
    0xd280_0000, //       mov  x0, #0
    0xd280_0ba8, //       mov  x8, #93            ; exit(0)
    0xd400_0001, //       svc  #0
]; // table:, results:, length: follow, of 8 bytes each

/// Whether the emulator is installed; says so once if not.
pub(super) fn is_installed() -> bool {
    static IS_INSTALLED: OnceLock<bool> = OnceLock::new();
    *IS_INSTALLED.get_or_init(|| {
        let found = Command::new(EMULATOR).arg("--version").output();
        let is_installed = cfg!(unix) && found.is_ok_and(|output| output.status.success());
        if !is_installed {
            let note = format!("SKIPPED: {EMULATOR} is not installed: code for AArch64 is compiled, not run");
            // What `eprintln` prints is shown of tests that fail only.
            writeln!(std::io::stderr(), "\n{note}").expect("a place for errors");
        }
        is_installed
    })
}

/// A call, and what is to be checked of what it writes.
struct Call<'c> {
    entry: usize,
    source: Vec<u8>,
    /// What is there before the call.
    target: Vec<u8>,
    number: i64,
    check: Box<dyn FnOnce(&[u8]) + 'c>,
}

/// Functions, and the calls of them that have not been done yet.
#[derive(Default)]
pub(super) struct Program<'c> {
    code: Vec<u8>,
    calls: Vec<Call<'c>>,
    /// Bytes of their arrays.
    waiting: usize,
}

impl<'c> Program<'c> {
    /// Adds machine code that refers to nothing outside. Gives its place.
    pub fn add(&mut self, code: &[u8]) -> usize {
        let entry = self.code.len().next_multiple_of(ALIGNMENT);
        self.code.resize(entry, 0);
        self.code.extend(code);
        entry
    }

    /// Will call the function at a place, and check the second array then.
    pub fn call(
        &mut self,
        entry: usize,
        source: &[u8],
        target: &[u8],
        number: i64,
        check: impl FnOnce(&[u8]) + 'c,
    ) {
        let (source, target) = (source.to_vec(), target.to_vec());
        self.waiting += source.len() + target.len();
        self.calls.push(Call { entry, source, target, number, check: Box::new(check) });
        if self.waiting >= BATCH {
            self.run();
        }
    }

    /// Does the calls that wait.
    pub fn run(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        self.waiting = 0;
        if calls.is_empty() {
            return;
        }
        let results = Arrays::of(calls.iter().map(|call| &call.target[..]));
        let printed = emulate(&self.image(&calls, &results));
        assert_eq!(printed.len(), results.bytes.len(), "all results are printed");
        for (call, place) in calls.into_iter().zip(results.places) {
            (call.check)(&printed[place..][..call.target.len()]);
        }
    }

    /// The file, which is in memory as it is.
    fn image(&self, calls: &[Call<'_>], results: &Arrays) -> Vec<u8> {
        let operands = Arrays::of(calls.iter().map(|call| &call.source[..]));
        let start = HEADERS.next_multiple_of(ALIGNMENT);
        let functions = (start + 4 * START.len() + 8 * 3).next_multiple_of(ALIGNMENT);
        let table = (functions + self.code.len()).next_multiple_of(PAGE);
        let written = (table + 8 * 4 * (calls.len() + 1)).next_multiple_of(ROW);
        let read = written + results.bytes.len();
        let address = |offset: usize| ADDRESS + offset as u64;

        let mut image = headers(address(start), read + operands.bytes.len());
        image.resize(start, 0);
        image.extend(START.map(u32::to_le_bytes).concat());
        image.extend(words(&[address(table), address(written), results.bytes.len() as u64]));
        image.resize(functions, 0);
        image.extend(&self.code);
        image.resize(table, 0);
        for (call, (target, source)) in calls.iter().zip(results.places.iter().zip(&operands.places)) {
            let [entry, source, target] =
                [functions + call.entry, read + source, written + target].map(address);
            image.extend(words(&[entry, source, target, call.number.cast_unsigned()]));
        }
        // After the last call is one of nothing.
        image.resize(written, 0);
        image.extend(&results.bytes);
        image.extend(operands.bytes);
        image
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        assert!(self.calls.is_empty() || std::thread::panicking(), "a call was never checked");
    }
}

/// Arrays one after the other.
struct Arrays {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl Arrays {
    fn of<'a>(arrays: impl Iterator<Item = &'a [u8]>) -> Arrays {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        for array in arrays {
            bytes.resize(bytes.len() + ROW / 2, 0);
            places.push(bytes.len());
            bytes.extend(array);
            bytes.resize(bytes.len().next_multiple_of(ROW), 0);
        }
        Arrays { bytes, places }
    }
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Headers of an ELF file for AArch64 of one segment, which is all of the file.
fn headers(start: u64, size: usize) -> Vec<u8> {
    // 64 bits, little-endian, version 1.
    let mut headers = b"\x7fELF\x02\x01\x01".to_vec();
    headers.resize(16, 0);
    // Executable; for AArch64; version 1.
    headers.extend([2u16, 183, 1, 0].map(u16::to_le_bytes).concat());
    // The first instruction; where the segment's header is; no sections.
    headers.extend(words(&[start, 64, 0]));
    // No flags; sizes and numbers of headers: one of 64 bytes, one segment's of 56, none of sections.
    headers.extend([0u16, 0, 64, 56, 1, 0, 0, 0].map(u16::to_le_bytes).concat());
    // Loaded; to be read, written and executed.
    headers.extend([1u32, 7].map(u32::to_le_bytes).concat());
    // From the file's begin; to this address, virtual and physical; size in the file and in memory; alignment.
    headers.extend(words(&[0, ADDRESS, ADDRESS, size as u64, size as u64, PAGE as u64]));
    assert_eq!(headers.len(), HEADERS);
    headers
}

/// Runs a program; gives what it prints.
fn emulate(image: &[u8]) -> Vec<u8> {
    let mut file = executable().expect("a temporary file");
    file.write_all(image).expect("room for a program");
    let output = Command::new(EMULATOR).arg(file.path()).output().expect("the emulator");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{EMULATOR}: {}: {errors}", output.status);
    output.stdout
}

/// A temporary file that may be executed: no emulator runs another.
#[cfg(unix)]
fn executable() -> std::io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o700)).tempfile()
}

/// Where there is no such permission there is no emulator.
#[cfg(not(unix))]
fn executable() -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::NamedTempFile::new()
}

#[test]
fn calls_are_done_in_turn_and_checked() {
    if !is_installed() {
        return;
    }
    let results = RefCell::new(Vec::new());
    let checked = &results;
    let mut program = Program::default();
    let store = program.add(&words(&[0xd65f_03c0_f900_0022])); // str x2, [x1]; ret
    let copy = program.add(&words(&[0xf900_0023_f940_0003, 0xd65f_03c0])); // ldr x3, [x0]; str x3, [x1]; ret
    // More than one program.
    let large = vec![0xee; BATCH / 3];
    for number in 1..=5 {
        let mut check = |entry, result: u64| {
            program.call(entry, &large, &[0xa5; 9], number, move |written| {
                assert_eq!(written[..8], result.to_le_bytes());
                assert_eq!(written[8], 0xa5);
                checked.borrow_mut().push(result);
            });
        };
        check(store, number.cast_unsigned());
        check(copy, 0xeeee_eeee_eeee_eeee);
    }
    program.run();
    drop(program);
    let numbers: Vec<u64> = results.into_inner().into_iter().step_by(2).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}
