//! Functions for AArch64, run by an emulator where one is installed.
//!
//! They become a program, without libraries and in one file with what they are called with. It does the calls one after
//! the other and prints all that they wrote.
//!
//! ```text
//! headers │ start │ functions ‖ table of calls │ what they write to │ what they read
//!                             └ a page of its own      └─▶ printed
//! ```

use crate::failure::REPORT;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, Inst, InstructionData};
use cranelift_codegen::isa::{self, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::Flags;
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

/// Alignment of functions, and of what is before arrays.
pub(crate) const ALIGNMENT: usize = 64;

/// Arrays begin this far behind a multiple of the alignment: elements are aligned, registers are not.
pub(crate) const SKEW: usize = 8;

/// Bytes of arrays of one program: beyond them another begins, so that no test needs much memory.
const BATCH: usize = 16 << 20;

/// The first instructions. In `x19`, which functions preserve, is the address of the next call.
const START: [u32; 17] = [
    0x5800_0233, //       ldr  x19, table
    0xf940_0269, // next: ldr  x9, [x19]
    0xb400_00e9, //       cbz  x9, done
    0xa940_8660, //       ldp  x0, x1, [x19, #8]
    0xa941_8e62, //       ldp  x2, x3, [x19, #24]
    0xf940_1664, //       ldr  x4, [x19, #40]
    0x9100_c273, //       add  x19, x19, #48
    0xd63f_0120, //       blr  x9
    0x17ff_fff9, //       b    next
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
pub(crate) fn is_installed() -> bool {
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

/// The instructions of every AArch64.
pub(crate) fn aarch64(flags: Flags) -> OwnedTargetIsa {
    let builder = isa::lookup_by_name("aarch64-unknown-linux-gnu").expect("a back end of the tests");
    builder.finish(flags).expect("valid flags")
}

/// What is known of a program before it is made: a number, or the address of a byte of the arrays of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    Number(i64),
    Source(usize),
    Target(usize),
}

/// A call: the place of a function, and what it gets.
pub(crate) type Call = (usize, [Word; 5]);

/// Gets what has been written.
pub(crate) type Check<'c> = Box<dyn FnOnce(&[u8]) + 'c>;

/// Calls on the same two arrays.
pub(crate) struct Job<'c> {
    /// What is read.
    pub source: Vec<u8>,
    /// Where in that there are addresses.
    pub pointers: Vec<(usize, Word)>,
    /// What is written to, and holds this before.
    pub target: Vec<u8>,
    pub calls: Vec<Call>,
    pub check: Check<'c>,
}

/// Whether a call reports a failure. Jobs have none; if one did, its program would jump to where nothing is, and end.
fn reports(func: &Function, call: Inst) -> bool {
    let callee = func.dfg.inst_args(call).first().and_then(|callee| func.dfg.value_def(*callee).inst());
    let Some(InstructionData::UnaryImm { imm, .. }) = callee.map(|inst| func.dfg.insts[inst]) else {
        return false;
    };
    imm.bits() == REPORT.address() as i64
}

/// Functions, and jobs that have not been done yet.
#[derive(Default)]
pub(crate) struct Program<'c> {
    code: Vec<u8>,
    jobs: Vec<Job<'c>>,
    /// Bytes of their arrays.
    waiting: usize,
}

impl<'c> Program<'c> {
    /// Compiles a function, and adds it unless it calls another, which would be code of this machine. Gives its place.
    pub fn define(&mut self, context: &mut Context, isa: &dyn TargetIsa) -> Result<Option<usize>, String> {
        let func = &context.func;
        let mut instructions = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        let calls = instructions.any(|inst| func.dfg.insts[inst].opcode().is_call() && !reports(func, inst));
        let code =
            context.compile(isa, &mut ControlPlane::default()).map_err(|error| format!("{error:?}"))?;
        // Library calls, and constants elsewhere.
        assert!(code.buffer.relocs().is_empty(), "refers to {:?}", code.buffer.relocs());
        Ok((!calls).then(|| self.add(code.code_buffer())))
    }

    /// Adds machine code that refers to nothing outside. Gives its place.
    fn add(&mut self, code: &[u8]) -> usize {
        let place = self.code.len().next_multiple_of(ALIGNMENT);
        self.code.resize(place, 0);
        self.code.extend(code);
        place
    }

    /// Does a job, now or later.
    pub fn submit(&mut self, job: Job<'c>) {
        self.waiting += job.source.len() + job.target.len();
        self.jobs.push(job);
        if self.waiting >= BATCH {
            self.run();
        }
    }

    /// Does the jobs that wait.
    pub fn run(&mut self) {
        let jobs = std::mem::take(&mut self.jobs);
        self.waiting = 0;
        if jobs.is_empty() {
            return;
        }
        let results = Arrays::of(jobs.iter().map(|job| &job.target[..]));
        let printed = emulate(&self.image(&jobs, &results));
        assert_eq!(printed.len(), results.bytes.len(), "all results are printed");
        for (job, place) in jobs.into_iter().zip(results.places) {
            (job.check)(&printed[place..][..job.target.len()]);
        }
    }

    /// The file, which is in memory as it is.
    fn image(&self, jobs: &[Job<'_>], results: &Arrays) -> Vec<u8> {
        let mut operands = Arrays::of(jobs.iter().map(|job| &job.source[..]));
        let calls: usize = jobs.iter().map(|job| job.calls.len()).sum();
        let start = HEADERS.next_multiple_of(ALIGNMENT);
        let functions = (start + 4 * START.len() + 8 * 3).next_multiple_of(ALIGNMENT);
        let table = (functions + self.code.len()).next_multiple_of(PAGE);
        // After the last call is one of nothing.
        let written = (table + 8 * 6 * (calls + 1)).next_multiple_of(ALIGNMENT);
        let read = written + results.bytes.len();
        let address = |offset: usize| ADDRESS + offset as u64;

        let mut image = headers(address(start), read + operands.bytes.len());
        image.resize(start, 0);
        image.extend(START.map(u32::to_le_bytes).concat());
        image.extend(words(&[address(table), address(written), results.bytes.len() as u64]));
        image.resize(functions, 0);
        image.extend(&self.code);
        image.resize(table, 0);
        for (index, job) in jobs.iter().enumerate() {
            let value = |word: Word| match word {
                Word::Number(number) => number.cast_unsigned(),
                Word::Source(byte) => address(read + operands.places[index] + byte),
                Word::Target(byte) => address(written + results.places[index] + byte),
            };
            for (place, arguments) in &job.calls {
                image.extend(words(&[address(functions + place)]));
                image.extend(words(&arguments.map(value)));
            }
            let pointers: Vec<(usize, u64)> = job
                .pointers
                .iter()
                .map(|(byte, word)| (operands.places[index] + byte, value(*word)))
                .collect();
            for (byte, pointer) in pointers {
                operands.bytes[byte..][..8].copy_from_slice(&pointer.to_le_bytes());
            }
        }
        image.resize(written, 0);
        image.extend(&results.bytes);
        image.extend(operands.bytes);
        image
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        assert!(self.jobs.is_empty() || std::thread::panicking(), "a job was never done");
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
            bytes.resize(bytes.len() + SKEW, 0);
            places.push(bytes.len());
            bytes.extend(array);
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
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
fn jobs_are_done_in_turn_and_checked() {
    if !is_installed() {
        return;
    }
    let results = RefCell::new(Vec::new());
    let found = &results;
    let mut program = Program::default();
    let store = program.add(&words(&[0xd65f_03c0_f900_0022])); // str x2, [x1]; ret
    let copy = program.add(&words(&[0xf900_0023_f940_0003, 0xd65f_03c0])); // ldr x3, [x0]; str x3, [x1]; ret
    let zero = Word::Number(0);
    // They are too large for one program.
    for number in 1..=5u8 {
        program.submit(Job {
            source: vec![number; BATCH / 3],
            pointers: vec![(8, Word::Target(8))],
            target: vec![0xa5; 25],
            calls: vec![
                (store, [zero, Word::Target(0), Word::Number(number.into()), zero, zero]),
                (copy, [Word::Source(0), Word::Target(8), zero, zero, zero]),
                (copy, [Word::Source(8), Word::Target(16), zero, zero, zero]),
            ],
            check: Box::new(move |written| {
                let [stored, copied, pointer] =
                    [0, 8, 16].map(|at| u64::from_le_bytes(written[at..][..8].try_into().expect("8 bytes")));
                assert_eq!((stored, copied), (number.into(), u64::from_le_bytes([number; 8])));
                assert_eq!((pointer - ADDRESS) as usize % ALIGNMENT, SKEW + 8);
                assert_eq!(written[24], 0xa5);
                found.borrow_mut().push(number);
            }),
        });
    }
    program.run();
    drop(program);
    assert_eq!(results.into_inner(), [1, 2, 3, 4, 5]);
}
