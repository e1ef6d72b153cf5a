//! Machine code as text, with the statements that it belongs to.

use crate::generate::statement;
use cranelift_codegen::CompiledCode;
use cranelift_codegen::ir::SourceLoc;
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

/// A machine instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// The number of bytes from the beginning of the kernel's code; `None` for text that is not decoded from the code.
    pub offset: Option<usize>,
    /// Its text; on x86-64 in Intel's notation.
    pub text: String,
    /// The number of the statement that it is a part of, in the order of `Kernel::statements`. `None` if it serves several, such
    /// as the code that reads the arguments, or if this is not known.
    pub statement: Option<usize>,
}

/// Returns the instructions of code for x86-64. `locations` has the offsets at which the source location changes, in order.
pub(crate) fn decoded(code: &[u8], locations: &[(usize, SourceLoc)]) -> Vec<Instruction> {
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_rip_relative_addresses(true);
    formatter.options_mut().set_branch_leading_zeros(false);
    let mut instructions = Vec::new();
    for instruction in &mut Decoder::with_ip(64, code, 0, DecoderOptions::NONE) {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let offset = instruction.ip() as usize;
        let before = locations.partition_point(|(start, _)| *start <= offset);
        let location = before.checked_sub(1).map_or(SourceLoc::default(), |last| locations[last].1);
        instructions.push(Instruction { offset: Some(offset), text, statement: statement(location) });
    }
    instructions
}

/// Returns the instructions of code by Cranelift. Those of other machines than x86-64 are in its own notation.
pub(crate) fn of_cranelift(code: &CompiledCode) -> Vec<Instruction> {
    if !cfg!(target_arch = "x86_64") {
        let lines = code.vcode.as_deref().unwrap_or_default().lines();
        let line = |text: &str| Instruction { offset: None, text: text.trim().to_string(), statement: None };
        return lines.map(line).collect();
    }
    let mut locations = Vec::new();
    for range in code.buffer.get_srclocs_sorted() {
        locations.push((range.start as usize, range.loc));
        locations.push((range.end as usize, SourceLoc::default()));
    }
    let bytes = code.code_buffer();
    // Constants follow the last instruction.
    let end = locations.last().map_or(bytes.len(), |(end, _)| *end);
    decoded(&bytes[..end.min(bytes.len())], &locations)
}

/// Returns instructions as text, one a line, each with its offset.
pub(crate) fn text(instructions: &[Instruction]) -> String {
    let line = |instruction: &Instruction| {
        let Instruction { offset, text, statement: _ } = instruction;
        offset.map_or_else(|| format!("{text}\n"), |offset| format!("{offset:6x}  {text}\n"))
    };
    instructions.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
