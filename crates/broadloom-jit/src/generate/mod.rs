//! Translates the statements of a kernel to CLIF.
//!
//! ```text
//! mod.rs      the function, loops, strips, statements
//! passes.rs   the loops that run over an axis one after the other, with more or fewer lanes
//! polls.rs    where loops look whether the run should end
//! address.rs  where accesses and rows point at the current position
//! repeat.rs   steps one after the other, with what they carry
//! reduce.rs   reductions into values: in vectors, along their axis, by the fixed tree
//! tree.rs     the parts of the fixed tree: lanes of a block, the counter over blocks
//! stream.rs   reductions into scratch rows: their steps; stream/ends.rs: before and after them
//! contract.rs reductions whose operands move with two other axes, into rows
//! fold.rs     such rows, combined over further axes; table.rs: walks over them
//! best.rs     the best elements along an axis
//! calls.rs    functions of the host
//! control.rs  loops and branches that carry values
//! blocked.rs  blocks of loops that read across rows, in registers
//! rows.rs     filling of scratch rows: element by element, in blocks, gathered
//! scan.rs     scans along a strip
//! scatter.rs  rows of a table into their segments
//! sort.rs     sorts along an axis
//! source.rs   which statement code belongs to, for those who read it
//! ```
//!
//! The generated function is `fn(args, first, last, scratch, watch)`: it runs the steps `first..last` of the
//! kernel's parallel axis, or of that and those counted with it. Statements are emitted in one of two ways, scalar or for several neighbours of the axis of
//! the surrounding vector loop; a value that does not vary along that axis stays scalar in both. Cranelift hoists address
//! arithmetic and constants out of loops; loads stay where the schedule has put them.

mod address;
mod best;
mod blocked;
mod calls;
mod contract;
mod control;
mod fold;
mod passes;
mod polls;
mod reduce;
mod repeat;
mod rows;
mod scan;
mod scatter;
mod short_rows;
mod sort;
mod source;
mod stream;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod transposed_rows;
mod tree;

pub(crate) use source::statement;

use crate::emit::{Emitter, Host, Val};
use crate::failure::REPORT;
use crate::module::JitOptions;
use crate::notes::{Note, Notes};
use crate::thresholds::MAX_HELD_BASES;
use broadloom_ir::dtype::{Class, DType};
use broadloom_ir::ops::Op;
use broadloom_loops::kernel::*;
use contract::Results;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, MemFlagsData, Signature, SourceLoc, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use polls::Polls;
use scatter::Place;
use smallvec::SmallVec;
use source::Locations;
use std::collections::HashMap;

/// Returns the signature of every kernel.
pub(crate) fn signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.extend([AbiParam::new(types::I64); 5]);
    signature
}

/// Emits the body of a kernel into an empty function of the [`signature`]. If its text is kept, each instruction has the number of its
/// [`statement`] as its source location; the code is the same.
///
/// # Errors
/// Returns a description of the problem if a statement cannot be generated. A verified schedule has no such statement.
pub(crate) fn generate(
    mut builder: FunctionBuilder<'_>,
    kernel: &Kernel,
    options: &JitOptions,
    host: Host,
    notes: &mut Notes,
    config: cranelift_codegen::isa::TargetFrontendConfig,
) -> Result<(), String> {
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let [args, first, last, scratch, watch] = builder.block_params(entry) else {
        return Err("expected five parameters".to_string());
    };
    let (args, first, last, scratch, watch) = (*args, *first, *last, *scratch, *watch);
    let locations = options.keep_text.then(|| Locations::of(kernel));
    if let Some(locations) = &locations {
        locations.begin(&mut builder);
    }
    let polls = options.looks_after.map(|all| Polls::new(&mut builder, all));
    let emit = Emitter::new(&mut builder, host, options.level, notes);
    let mut generator = Generator {
        emit,
        kernel,
        call_conv: config.default_call_conv,
        params: Vec::new(),
        args,
        bases: Vec::new(),
        range: (first, last),
        scratch,
        watch,
        polls,
        env: HashMap::new(),
        positions: HashMap::new(),
        strips: HashMap::new(),
        row_contents: HashMap::new(),
        tree_lanes: None,
        placed: Vec::new(),
        vector: None,
        streams: None,
        has_products: false,
        refused: None,
        locations,
    };
    generator.load_arguments();
    generator.remember_rows();
    generator.body(&kernel.body);
    generator.end_polls();
    generator.end_streams();
    let refused = generator.refused;
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(config);
    refused.map_or(Ok(()), Err)
}

/// The lanes of the fixed tree among which the steps of a block are distributed, or a single one for short axes: their
/// number, and its logarithm.
#[derive(Clone, Copy)]
struct TreeLanes {
    count: ir::Value,
    shift: ir::Value,
}

/// Where the base pointer of an access is.
#[derive(Clone, Copy)]
enum Base {
    /// In a register, from the beginning of the kernel.
    Held(ir::Value),
    /// Among the arguments, so many bytes after the first: read where it is used, because there are more than registers.
    Read(i32),
}

struct Generator<'a, 'f, 'k> {
    emit: Emitter<'a, 'f>,
    kernel: &'k Kernel,
    call_conv: CallConv,
    params: Vec<ir::Value>,
    args: ir::Value,
    /// The base pointer of every access that has a buffer.
    bases: Vec<Option<Base>>,
    /// The steps to run of the axes that threads share.
    range: (ir::Value, ir::Value),
    scratch: ir::Value,
    /// The host during this call.
    watch: ir::Value,
    /// Where loops look whether the run should end, if they do.
    polls: Option<Polls>,
    /// The values in scope.
    env: HashMap<ValueId, Val>,
    /// The step of the axis of every surrounding loop; for a vector loop, the step of its first lane.
    positions: HashMap<AxisId, ir::Value>,
    /// The bounds of the current strip of an axis.
    strips: HashMap<AxisId, (ir::Value, ir::Value)>,
    /// For each contraction, by its first rows of results: memory that describes the content of the rows filled for it.
    row_contents: HashMap<RowId, ir::Value>,
    /// The lanes among which the steps of blocks are distributed in the surrounding contraction.
    tree_lanes: Option<TreeLanes>,
    /// Accesses whose address at the current position has been computed.
    placed: Vec<(AccessId, ir::Value)>,
    /// The axis and the lanes of the surrounding vector loop.
    vector: Option<(AxisId, usize)>,
    /// What it streams to, where its vectors are aligned there.
    streams: Option<AccessId>,
    /// Whether it divides by what it does not change by products with the reciprocal.
    has_products: bool,
    /// The reason why a statement cannot be generated.
    refused: Option<String>,
    /// The statements as source locations, if these are wanted.
    locations: Option<Locations>,
}

impl<'f> Generator<'_, 'f, '_> {
    fn ins(&mut self) -> cranelift_frontend::FuncInstBuilder<'_, 'f> {
        self.emit.builder.ins()
    }

    fn load_arguments(&mut self) {
        let mut offset = 0;
        let mut next = || {
            offset += 8;
            offset - 8
        };
        for _ in &self.kernel.params {
            let param = self.argument(next());
            self.params.push(param);
        }
        let kernel = self.kernel;
        let is_held = kernel.accesses.len() <= MAX_HELD_BASES;
        for access in &kernel.accesses {
            let base = access.buffer.map(|_| match next() {
                offset if is_held => Base::Held(self.argument(offset)),
                offset => Base::Read(offset),
            });
            self.bases.push(base);
        }
    }

    /// Reads an argument, which lies so many bytes after the first.
    fn argument(&mut self, offset: i32) -> ir::Value {
        let (args, flags) = (self.args, MemFlagsData::trusted().with_readonly());
        self.ins().load(types::I64, flags, args, offset)
    }

    fn constant(&mut self, value: i64) -> ir::Value {
        self.ins().iconst(types::I64, value)
    }

    fn extent(&mut self, extent: Extent) -> ir::Value {
        match extent {
            Extent::Constant(extent) => self.constant(extent),
            Extent::Param(param) => self.params[param.index()],
        }
    }

    /// Returns the steps of an axis to run: those of its strip, of its group, of the caller's range, or all.
    fn bounds(&mut self, axis: AxisId) -> (ir::Value, ir::Value) {
        if let Some(&strip) = self.strips.get(&axis) {
            return strip;
        }
        if let Some(level) = self.kernel.shared().position(|shared| shared == axis) {
            return self.shared_bounds(level);
        }
        let kernel = self.kernel;
        let Axis { extent, groups, stretched, .. } = &kernel.axes[axis.index()];
        if let Some((along, steps)) = *stretched {
            // A strip is not empty, so the divisor is not zero.
            let (start, end) = self.bounds(along);
            let steps = self.extent(steps);
            let first = self.ins().udiv(start, steps);
            let last = self.ins().iadd_imm_s(end, -1);
            let last = self.ins().udiv(last, steps);
            return (first, self.ins().iadd_imm_s(last, 1));
        }
        let mut bounds = (self.constant(0), self.extent(*extent));
        for (counter, length) in groups {
            let (counter, length) = (self.positions[counter], self.params[length.index()]);
            let before = self.ins().imul(counter, length);
            let start = self.ins().iadd(bounds.0, before);
            let end = self.ins().iadd(start, length);
            // The last groups may lie beyond the end.
            bounds = (self.least(start, bounds.1), self.least(end, bounds.1));
        }
        bounds
    }

    /// Returns the steps of one of the axes that threads share, outermost first: those with a step in the caller's range.
    fn shared_bounds(&mut self, level: usize) -> (ir::Value, ir::Value) {
        let (mut first, mut last) = self.range;
        let axes: SmallVec<[AxisId; 2]> = self.kernel.shared().collect();
        if let [inside @ .., innermost] = &axes[level + 1..] {
            let mut apart = self.size(*innermost);
            for axis in inside {
                let size = self.size(*axis);
                apart = self.ins().imul(apart, size);
            }
            // Without steps inside, the range is empty.
            let one = self.constant(1);
            apart = self.greatest(apart, one);
            first = self.ins().udiv(first, apart);
            last = self.ins().iadd(last, apart);
            last = self.ins().iadd_imm_s(last, -1);
            last = self.ins().udiv(last, apart);
        }
        if let [outermost, around @ ..] = &axes[..level] {
            // The number of the first step in the current steps of the loops around.
            let mut begin = self.positions[outermost];
            for axis in around {
                let size = self.size(*axis);
                begin = self.ins().imul(begin, size);
                let position = self.positions[axis];
                begin = self.ins().iadd(begin, position);
            }
            let size = self.size(axes[level]);
            let zero = self.constant(0);
            begin = self.ins().imul(begin, size);
            first = self.ins().isub(first, begin);
            last = self.ins().isub(last, begin);
            (first, last) = (self.greatest(first, zero), self.least(last, size));
        }
        (first, last)
    }

    /// Returns the number of steps of an axis.
    fn size(&mut self, axis: AxisId) -> ir::Value {
        self.extent(self.kernel.axes[axis.index()].extent)
    }

    fn greatest(&mut self, x: ir::Value, y: ir::Value) -> ir::Value {
        let less = self.ins().icmp(IntCC::SignedLessThan, x, y);
        self.ins().select(less, y, x)
    }

    fn least(&mut self, x: ir::Value, y: ir::Value) -> ir::Value {
        let less = self.ins().icmp(IntCC::SignedLessThan, x, y);
        self.ins().select(less, x, y)
    }

    /// Runs `emit`; values that it brings into scope are not visible afterwards.
    fn scoped<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.env.clone();
        let result = emit(self);
        self.env = outer;
        result
    }

    fn body(&mut self, body: &[Stmt]) {
        let mut read: HashMap<ValueId, Val> = HashMap::new();
        let rows = self.stored_rows(body);
        for (index, stmt) in body.iter().enumerate() {
            let around = self.locate(|locations| locations.of_statement(stmt));
            match stmt {
                Stmt::Let(id) => {
                    if !read.contains_key(id) {
                        read.extend(self.loaded_rows(*id, &body[index..]));
                    }
                    let value = read.remove(id).unwrap_or_else(|| self.value(*id));
                    self.env.insert(*id, value);
                }
                Stmt::Store { access, delta, value } => match rows.get(&index) {
                    Some(Some(row)) => self.store_rows(row),
                    Some(None) => {}
                    None => self.store(*access, *delta, *value),
                },
                Stmt::Scatter { access, delta, index, stride, size, op, value, lost } => {
                    let (access, index, stride, size) = ((*access, *delta), *index, *stride, *size);
                    self.scatter(&Place { access, lost: *lost, index, stride, size }, *op, *value);
                }
                Stmt::Put { row, part, axis, value } => self.put(*row, *part, *axis, *value),
                Stmt::For { axis, lanes, body } => self.vector_loop(*axis, *lanes, body),
                Stmt::Strip { axis, length, body } => {
                    if let Some(blocked) = self.blocked(stmt) {
                        self.run_blocked(&blocked);
                    } else {
                        let length = match stmt.stripped() {
                            Some(contract) => self.steps_of_strip(contract, *length),
                            None => self.constant(*length as i64),
                        };
                        self.strip(*axis, length, body);
                    }
                }
                Stmt::Call { op, target, args, axis } => self.call(*op, *target, args, *axis),
                Stmt::Begin { row, value } => self.begin_scan(*row, *value),
                Stmt::Scan { op, target, source, state, axis, rows } => {
                    self.scan(*op, [*target, *source], *state, *axis, *rows);
                }
                Stmt::Repeat(repeat) => self.repeat_steps(repeat),
                Stmt::Reduce(reduce) => self.reduce(reduce),
                Stmt::Stream(stream) => self.stream(stream),
                Stmt::Contract(contract) => self.contract(contract, Results::Rows),
                Stmt::FoldRows(fold) => self.fold_rows(fold),
                Stmt::Sort(sort) => self.sort(sort),
                Stmt::Best(best) => self.best(best),
                Stmt::BestRows(best) => self.best_rows(best),
                Stmt::Gather { access, delta, row, axis, steps, strides } => {
                    self.gather((*access, *delta), *row, *axis, *steps, *strides);
                }
                Stmt::Deinterleave { row, source, axis } => self.deinterleave(*row, *source, *axis),
                Stmt::Transpose { access, delta, row, rows, axis, in_registers: _ } => {
                    self.transpose(*access, *delta, *row, *rows, *axis);
                }
            }
            self.relocate(around);
        }
    }

    /// Begins the code of a statement, if locations are wanted. Returns the location to [return](Self::relocate) to.
    fn locate(&mut self, of: impl FnOnce(&Locations) -> Option<SourceLoc>) -> Option<SourceLoc> {
        let location = of(self.locations.as_ref()?)?;
        let around = self.emit.builder.srcloc();
        self.emit.builder.set_srcloc(location);
        Some(around)
    }

    /// Ends the code of a statement.
    fn relocate(&mut self, around: Option<SourceLoc>) {
        if let Some(around) = around {
            self.emit.builder.set_srcloc(around);
        }
    }

    /// Emits statements with values in place of the rows that would hold them.
    fn body_of(&mut self, body: &[Stmt], held: &[(RowId, Val)]) {
        for stmt in body {
            match stmt {
                Stmt::Let(id)
                    if let Def::Row(row, _) = self.kernel.values[id.index()].def
                        && let Some((_, value)) = held.iter().find(|(of, _)| *of == row) =>
                {
                    self.env.insert(*id, value.clone());
                }
                _ => self.body(std::slice::from_ref(stmt)),
            }
        }
    }

    /// Emits code at a position of an axis, for `lanes` neighbours.
    fn at<T>(
        &mut self,
        axis: AxisId,
        position: ir::Value,
        lanes: usize,
        emit: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.emit.note(Note::Step(axis, lanes));
        let before = (self.positions.insert(axis, position), self.vector);
        if lanes > 1 {
            self.vector = Some((axis, lanes));
        }
        let result = emit(self);
        match before.0 {
            Some(position) => self.positions.insert(axis, position),
            None => self.positions.remove(&axis),
        };
        self.vector = before.1;
        result
    }

    /// Runs `emit` with a strip of an axis as its bounds.
    fn within<T>(
        &mut self,
        axis: AxisId,
        strip: (ir::Value, ir::Value),
        emit: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.strips.insert(axis, strip);
        let result = emit(self);
        match before {
            Some(strip) => self.strips.insert(axis, strip),
            None => self.strips.remove(&axis),
        };
        result
    }

    fn strip(&mut self, axis: AxisId, length: ir::Value, body: &[Stmt]) {
        let (start, end) = self.bounds(axis);
        self.blocks(start, end, length, &[], |generator, strip, _| {
            generator.within(axis, strip, |generator| generator.body(body));
            Vec::new()
        });
    }

    /// Emits a loop over blocks of a range; the last block may be shorter.
    fn blocks(
        &mut self,
        start: ir::Value,
        end: ir::Value,
        length: ir::Value,
        carried: &[Val],
        body: impl FnOnce(&mut Self, (ir::Value, ir::Value), &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        self.loop_while(
            &[start],
            carried,
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], end),
            |generator, state, carried| {
                let next = generator.ins().iadd(state[0], length);
                let stop = generator.least(next, end);
                (vec![next], body(generator, (state[0], stop), carried))
            },
        )
        .carried
    }

    /// Returns the number of lanes of values along an axis at this place.
    fn lanes_along(&self, axis: Option<AxisId>) -> usize {
        self.vector.filter(|(vector, _)| Some(*vector) == axis).map_or(1, |(_, lanes)| lanes)
    }

    fn get(&self, value: ValueId) -> Val {
        self.env[&value].clone()
    }

    /// Returns the integer whose set bits a value counts.
    fn with_set_bits(&self, id: ValueId) -> Option<Val> {
        match &self.kernel.values[id.index()].def {
            Def::Op { op: Op::CountOnes, args, .. } => {
                Some(self.get(args[0])).filter(|bits| bits.dtype.class() == Class::Int)
            }
            _ => None,
        }
    }

    fn value(&mut self, id: ValueId) -> Val {
        let around = self.locate(|locations| locations.of_value(id));
        let value = self.computed(id);
        self.relocate(around);
        value
    }

    fn computed(&mut self, id: ValueId) -> Val {
        let kernel = self.kernel;
        let value = &kernel.values[id.index()];
        match &value.def {
            Def::Constant(constant) => self.emit.constant(*constant),
            Def::Param(param) => self.integer(self.params[param.index()]),
            Def::Index(axis) => {
                let position = self.positions[axis];
                let lanes = self.lanes_along(Some(*axis));
                self.emit.iota(position, lanes, DType::I64)
            }
            Def::Load { access, delta } => self.load(*access, *delta),
            Def::Row(row, axis) => self.row(*row, *axis),
            Def::Op { op, args, position } => {
                let args: SmallVec<[Val; 3]> = args.iter().map(|arg| self.get(*arg)).collect();
                if let (Some(position), [_, exponent]) = (position, &args[..]) {
                    self.check_exponent(exponent, *position, value);
                }
                match (op, &args[..]) {
                    (Op::Divide, [x, y]) if self.has_products && self.emit.has_products(x, y) => {
                        self.emit.divide_by_invariant(x, y)
                    }
                    _ => self.emit.op(*op, &args),
                }
            }
            Def::Select([condition, on_true, on_false]) => {
                let (condition, on_true, on_false) =
                    (self.get(*condition), self.get(*on_true), self.get(*on_false));
                self.emit.select(&condition, &on_true, &on_false)
            }
            Def::Cast(arg) => match self.with_set_bits(*arg) {
                // A count is made in lanes as wide as what it counts.
                Some(bits) if value.dtype.class() == Class::Int => {
                    let count = self.emit.count_ones(&bits);
                    self.emit.cast(&count, value.dtype)
                }
                _ => {
                    let arg = self.get(*arg);
                    self.emit.cast(&arg, value.dtype)
                }
            },
            Def::Take { access, index, stride, size, position } => {
                let index = self.get(*index);
                self.take(value, *access, &index, *stride, *size, *position)
            }
            Def::Search { access, value, stride, size, right } => {
                let wanted = self.get(*value);
                self.search(*access, &wanted, *stride, *size, *right)
            }
            Def::Checked { index, size, wraps, position } => {
                let index = self.get(*index);
                match position {
                    Some(position) => self.checked(value, &index, *size, *wraps, *position),
                    None => index,
                }
            }
            Def::Reduced => self.get(id),
        }
    }

    /// Returns an i64 as a value.
    pub(super) fn integer(&mut self, value: ir::Value) -> Val {
        self.emit.iota(value, 1, DType::I64)
    }

    /// Reports negative exponents of an integer power, lane by lane.
    fn check_exponent(&mut self, exponent: &Val, position: AccessId, value: &Value) {
        let axis = self.vector.map(|(axis, _)| axis);
        let size = self.constant(-1);
        for lane in 0..exponent.lanes {
            let exponent = self.emit.lane(exponent, lane);
            let exponent = self.emit.cast(&exponent, DType::I64).regs[0];
            let bad = self.ins().icmp_imm_s(IntCC::SignedLessThan, exponent, 0);
            let place = self.position(position, axis, lane);
            self.report(bad, value, place, exponent, size);
        }
    }

    /// Calls the host if there is an error, in a block outside the common path.
    fn report(
        &mut self,
        bad: ir::Value,
        value: &Value,
        position: ir::Value,
        found: ir::Value,
        size: ir::Value,
    ) {
        self.rarely(bad, |generator| {
            let origin = generator.constant(value.origin.index() as i64);
            let watch = generator.watch;
            generator.call_host(REPORT.address(), &[watch, origin, position, found, size]);
        });
    }
}
