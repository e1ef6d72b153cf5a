//! What is known about the innermost loops of a kernel's code.

use crate::wide::Registers;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_loops::kernel::AxisId;
use cranelift_codegen::Context;
use cranelift_codegen::ir::Block;
use cranelift_codegen::loop_analysis::Loop;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The code of an innermost loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopCode {
    /// The axis along which it steps.
    pub axis: AxisId,
    /// The number of neighbours that it computes at once; 1 if they are computed one by one.
    pub lanes: usize,
    /// How many independent steps of as many lanes one iteration takes.
    pub unrolled: usize,
    /// Its use of registers, where it is known: in the code of our own back end.
    pub registers: Option<Registers>,
    /// The elementary functions that it computes itself, with their dtypes.
    pub inlined: Vec<(Op, DType)>,
    /// The ops that it calls for each element, with the dtypes of their operands.
    pub called: Vec<(Op, DType)>,
}

/// What some code does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// It stands at a position of an axis, for so many neighbours.
    Step(AxisId, usize),
    /// It computes an elementary function.
    Inlined(Op, DType),
    /// It calls an op for each element.
    Called(Op, DType),
}

/// What the code in the blocks of functions does.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<(Block, Note)>);

impl Notes {
    /// Notes what a block does.
    pub(crate) fn add(&mut self, block: Option<Block>, note: Note) {
        self.0.extend(block.map(|block| (block, note)));
    }

    /// Returns the ops that are called for each element.
    pub(crate) fn called(&self) -> BTreeSet<(Op, DType)> {
        let called = |note: &Note| match *note {
            Note::Called(op, dtype) => Some((op, dtype)),
            Note::Step(..) | Note::Inlined(..) => None,
        };
        self.0.iter().filter_map(|(_, note)| called(note)).collect()
    }

    /// Returns the innermost loops of a compiled function that step along axes, in the order of their code, with the
    /// use of registers where it is known by the first block of a loop.
    pub(crate) fn loops(&self, context: &Context, registers: &[(Block, Registers)]) -> Vec<LoopCode> {
        let Context { loop_analysis, .. } = context;
        let outer: HashSet<Loop> =
            loop_analysis.loops().filter_map(|each| loop_analysis.loop_parent(each)).collect();
        let mut order: Vec<Loop> = Vec::new();
        let mut notes: HashMap<Loop, Vec<Note>> = HashMap::new();
        for (block, note) in &self.0 {
            let Some(each) = loop_analysis.innermost_loop(*block).filter(|each| !outer.contains(each)) else {
                continue;
            };
            let of_loop = notes.entry(each).or_default();
            if of_loop.is_empty() {
                order.push(each);
            }
            of_loop.push(*note);
        }
        let code = |each: Loop| {
            let header = loop_analysis.loop_header(each);
            let registers = registers.iter().find(|(block, _)| *block == header);
            LoopCode::of(&notes[&each], registers.map(|(_, registers)| *registers))
        };
        order.into_iter().filter_map(code).collect()
    }
}

impl LoopCode {
    /// Sums up what the code of a loop does, if it steps along an axis.
    fn of(notes: &[Note], registers: Option<Registers>) -> Option<LoopCode> {
        let steps: Vec<(AxisId, usize)> = notes
            .iter()
            .filter_map(|note| match *note {
                Note::Step(axis, lanes) => Some((axis, lanes)),
                Note::Inlined(..) | Note::Called(..) => None,
            })
            .collect();
        let &(axis, _) = steps.first()?;
        let times = |step: &(AxisId, usize)| steps.iter().filter(|other| *other == step).count();
        let mut code = LoopCode {
            axis,
            lanes: steps.iter().map(|(_, lanes)| *lanes).max()?,
            unrolled: steps.iter().map(times).max()?,
            registers,
            inlined: Vec::new(),
            called: Vec::new(),
        };
        for note in notes {
            let (functions, function) = match *note {
                Note::Step(..) => continue,
                Note::Inlined(op, dtype) => (&mut code.inlined, (op, dtype)),
                Note::Called(op, dtype) => (&mut code.called, (op, dtype)),
            };
            if !functions.contains(&function) {
                functions.push(function);
            }
        }
        Some(code)
    }
}
