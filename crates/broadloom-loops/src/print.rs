//! Prints schedules.

use crate::kernel::*;
use broadloom_ir::SymbolId;
use broadloom_ir::dim::{Dim, Named};
use std::fmt;

impl Schedule {
    /// Returns a dim of the schedule with the names of its symbols.
    pub fn show(&self, dim: &Dim) -> String {
        let host: Vec<String> = self
            .host_symbols
            .iter()
            .map(|symbol| match symbol {
                HostSymbol::Stride { buffer, axis } => {
                    format!("stride({}, {axis})", self.buffers[buffer.index()].name)
                }
                HostSymbol::GroupCount(group) => format!("groups{group}"),
                HostSymbol::GroupLength(group) => format!("length{group}"),
                HostSymbol::Rows(band) => format!("rows{band}"),
            })
            .collect();
        let name = |symbol: SymbolId| -> Named<'_> {
            let index = symbol.index();
            match self.symbols.get(index) {
                Some(symbol) => symbol.named(),
                None => host.get(index - self.symbols.len()).map_or("?", String::as_str).into(),
            }
        };
        dim.display(&name).to_string()
    }

    /// Returns whether an array holds some rows of a band.
    pub fn holds(&self, buffer: BufferId) -> bool {
        self.bands.iter().any(|band| band.held.contains(&buffer))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, buffer) in self.buffers.iter().enumerate() {
            let dims: Vec<String> = buffer.shape.iter().map(|dim| self.show(dim)).collect();
            let role = match buffer.role {
                Role::Input(_) => "input",
                Role::Output(_) => "output",
                Role::Temporary if self.holds(BufferId::new(index)) => "held",
                Role::Temporary => "stored",
            };
            write!(f, "{role:6} {}: {}[{}]", buffer.name, buffer.dtype, dims.join(", "))?;
            match buffer.starts_as {
                Some(array) => writeln!(f, ", starts as {}", self.buffers[array.index()].name)?,
                None => writeln!(f)?,
            }
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            let begins = |band: &&Band| band.kernels.first().is_some_and(|(first, _)| first.index() == index);
            if let Some(band) = self.bands.iter().find(begins) {
                let kernels: Vec<String> =
                    band.kernels.iter().map(|(kernel, _)| kernel.to_string()).collect();
                let (rows, all) = (self.show(&Dim::symbol(band.rows)), self.show(&band.extent));
                writeln!(f, "together {}: {rows} of {all} rows at a time", kernels.join(", "))?;
            }
            writeln!(f, "kernel {} {{", KernelId::new(index))?;
            Printer { schedule: self, kernel }.body(f, &kernel.body, 1)?;
            writeln!(f, "}}")?;
        }
        Ok(())
    }
}

struct Printer<'s> {
    schedule: &'s Schedule,
    kernel: &'s Kernel,
}

impl Printer<'_> {
    fn axis(&self, axis: AxisId) -> &str {
        &self.kernel.axes[axis.index()].name
    }

    fn access(&self, access: AccessId, delta: i64) -> String {
        let access = &self.kernel.accesses[access.index()];
        let Some(buffer) = access.buffer else { return "position".to_string() };
        let mut terms: Vec<String> = access
            .strides
            .iter()
            .map(|(axis, stride)| match stride {
                Stride::Constant(1) => self.axis(*axis).to_string(),
                stride => format!("{} by {}", self.axis(*axis), self.stride(*stride)),
            })
            .collect();
        if !access.offset.is_zero() {
            terms.push(format!("+ {}", self.schedule.show(&access.offset)));
        }
        if delta != 0 || terms.is_empty() {
            terms.push(format!("{delta:+}"));
        }
        format!("{}[{}]", self.schedule.buffers[buffer.index()].name, terms.join(", "))
    }

    fn stride(&self, stride: Stride) -> String {
        match stride {
            Stride::Constant(stride) => stride.to_string(),
            Stride::Param(param) => self.schedule.show(&self.kernel.params[param.index()]),
        }
    }

    fn value(&self, id: ValueId) -> String {
        let value = &self.kernel.values[id.index()];
        let list = |args: &[ValueId]| args.iter().map(ValueId::to_string).collect::<Vec<_>>().join(" ");
        let def = match &value.def {
            Def::Constant(constant) => constant.to_string(),
            Def::Param(param) => self.schedule.show(&self.kernel.params[param.index()]),
            Def::Index(axis) => format!("index {}", self.axis(*axis)),
            Def::Load { access, delta } => format!("load {}", self.access(*access, *delta)),
            Def::Row(row, axis) => format!("row {row}[{}]", self.axis(*axis)),
            Def::Op { op, args, .. } => format!("{op} {}", list(args)),
            Def::Select(args) => format!("select {}", list(args)),
            Def::Cast(arg) => format!("cast {arg}"),
            Def::Take { access, index, position, .. } => {
                let how = if position.is_none() { " unchecked" } else { "" };
                format!("take{how} {} at {index}", self.access(*access, 0))
            }
            Def::Search { access, value, size, right, .. } => {
                let side = if *right { " right" } else { "" };
                format!("search{side} {value} in {} of {}", self.access(*access, 0), self.extent(*size))
            }
            Def::Checked { index, size, position: None, .. } => {
                format!("{index} is below {}", self.extent(*size))
            }
            Def::Checked { index, size, wraps, .. } => {
                let wrapped = if *wraps { " from either end" } else { "" };
                format!("check {index} below {}{wrapped}", self.extent(*size))
            }
            Def::Reduced => "reduced".to_string(),
        };
        format!("{id} = {def} : {}", value.dtype)
    }

    fn extent(&self, extent: Extent) -> String {
        match extent {
            Extent::Constant(extent) => extent.to_string(),
            Extent::Param(param) => self.schedule.show(&self.kernel.params[param.index()]),
        }
    }

    fn accumulator(&self, accumulator: &Accumulator) -> String {
        let operand = match &accumulator.operand {
            Contribution::Value(value) | Contribution::Count(value) => value.to_string(),
            Contribution::Product(x, y) => format!("{x} * {y}"),
            Contribution::Indexed { value, index: None, .. } => value.to_string(),
            Contribution::Indexed { value, index: Some(index), .. } => format!("{value} at {index}"),
        };
        format!("{} {operand}", accumulator.op)
    }

    fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Row(row) => row.to_string(),
            Operand::Array { access, delta } => self.access(access, delta),
        }
    }

    /// Returns the contents of the rows that a walk for the best elements fills.
    fn held(&self, [values, indices]: [RowId; 2], largest: bool, source: Operand) -> String {
        let extreme = if largest { "greatest" } else { "least" };
        let source = match source {
            Operand::Row(row) => row.to_string(),
            Operand::Array { access, delta } => format!("load {}", self.access(access, delta)),
        };
        format!("{values}, {indices} = {extreme} of {source}")
    }

    fn lanes(lanes: usize) -> String {
        if lanes == 1 { String::new() } else { format!(" vector {lanes}") }
    }

    fn body(&self, f: &mut fmt::Formatter<'_>, body: &[Stmt], depth: usize) -> fmt::Result {
        let pad = "  ".repeat(depth);
        for stmt in body {
            match stmt {
                Stmt::Let(value) => writeln!(f, "{pad}{}", self.value(*value))?,
                Stmt::Store { access, delta, value } => {
                    let how = if self.kernel.accesses[access.index()].streams { "stream" } else { "store" };
                    writeln!(f, "{pad}{how} {} <- {value}", self.access(*access, *delta))?;
                }
                Stmt::Scatter { access, delta, index, op, value, lost, .. } => {
                    let op = op.map(|op| format!("{op} ")).unwrap_or_default();
                    write!(f, "{pad}scatter {} at {index} <- {op}{value}", self.access(*access, *delta))?;
                    if let Some((access, delta)) = lost {
                        write!(f, ", lost {}", self.access(*access, *delta))?;
                    }
                    writeln!(f)?;
                }
                Stmt::Put { row, part, axis, value } => {
                    let part = match (self.kernel.rows[row.index()].span, *part) {
                        (Span::Periodic { .. }, _) => ", over and over".to_string(),
                        (Span::Stretched { .. }, _) => ", stretched".to_string(),
                        (
                            Span::Strip | Span::Axis | Span::One | Span::Block { .. } | Span::Part { .. },
                            0,
                        ) => String::new(),
                        (
                            Span::Strip | Span::Axis | Span::One | Span::Block { .. } | Span::Part { .. },
                            part,
                        ) => {
                            format!(", {part}")
                        }
                    };
                    writeln!(f, "{pad}put {row}[{}{part}] <- {value}", self.axis(*axis))?;
                }
                Stmt::For { axis, lanes, body } => {
                    writeln!(f, "{pad}for {}{} {{", self.axis(*axis), Self::lanes(*lanes))?;
                    self.body(f, body, depth + 1)?;
                    writeln!(f, "{pad}}}")?;
                }
                Stmt::Strip { axis, length, body } => {
                    writeln!(f, "{pad}strip {} of {length} {{", self.axis(*axis))?;
                    self.body(f, body, depth + 1)?;
                    writeln!(f, "{pad}}}")?;
                }
                Stmt::Call { op, target, args, .. } => {
                    let args: Vec<String> = args.iter().map(|arg| self.operand(*arg)).collect();
                    writeln!(f, "{pad}call {} = {op}({})", self.operand(*target), args.join(", "))?;
                }
                Stmt::Begin { row, value } => writeln!(f, "{pad}begin {row} <- {value}")?,
                Stmt::Scan { op, target, source, state, rows, .. } => {
                    let (target, source) = (self.operand(*target), self.operand(*source));
                    let rows = rows.map_or(String::new(), |rows| format!(" for {}", self.axis(rows)));
                    writeln!(f, "{pad}scan {target} = {op} of {source} from {state}{rows}")?;
                }
                Stmt::Reduce(reduce) => {
                    let order = order(reduce.order);
                    let lanes = Self::lanes(reduce.lanes);
                    writeln!(f, "{pad}reduce {}{lanes} {order} {{", self.axis(reduce.axis))?;
                    self.body(f, &reduce.prologue, depth + 1)?;
                    self.body(f, &reduce.body, depth + 1)?;
                    for accumulator in &reduce.accumulators {
                        writeln!(f, "{pad}  {} = {}", accumulator.result, self.accumulator(accumulator))?;
                    }
                    writeln!(f, "{pad}}}")?;
                }
                Stmt::Contract(contract) => {
                    let [axis, rows, strip] =
                        [contract.axis, contract.rows, contract.strip].map(|axis| self.axis(axis));
                    let lanes = Self::lanes(contract.lanes);
                    let order = order(contract.order);
                    writeln!(f, "{pad}contract {axis} for {rows} over rows of {strip}{lanes} {order} {{")?;
                    self.body(f, &contract.prologue, depth + 1)?;
                    self.body(f, &contract.rows_prologue, depth + 1)?;
                    self.body(f, &contract.body, depth + 1)?;
                    for entry in &contract.accumulators {
                        writeln!(f, "{pad}  {} = {}", entry.target, self.accumulator(&entry.accumulator))?;
                    }
                    writeln!(f, "{pad}}}")?;
                }
                Stmt::FoldRows(fold) => {
                    let [axis, rows, strip] = [fold.axis, fold.rows, fold.strip].map(|axis| self.axis(axis));
                    let order = order(fold.order);
                    writeln!(f, "{pad}fold {axis} for {rows} over rows of {strip} {order} {{")?;
                    self.body(f, &fold.body, depth + 1)?;
                    for entry in &fold.folded {
                        writeln!(f, "{pad}  {} = {} of {}", entry.target, entry.op, entry.from)?;
                    }
                    writeln!(f, "{pad}}}")?;
                }
                Stmt::Transpose { access, delta, row, rows, axis } => {
                    let (access, rows, axis) =
                        (self.access(*access, *delta), self.axis(*rows), self.axis(*axis));
                    writeln!(f, "{pad}transpose {row}[{axis}] by {rows} = load {access}")?;
                }
                Stmt::Deinterleave { row, source, axis } => {
                    let axis = self.axis(*axis);
                    writeln!(f, "{pad}deinterleave {row}[{axis}] = row {source}[{axis}]")?;
                }
                Stmt::Gather { access, delta, row, axis, steps, strides } => {
                    let (access, axis) = (self.access(*access, *delta), self.axis(*axis));
                    let [outer, inner] = strides.map(|stride| self.stride(stride));
                    let steps = self.extent(*steps);
                    writeln!(f, "{pad}gather {row}[{axis}] by {steps} = load {access} by {outer}, {inner}")?;
                }
                Stmt::Sort(sort) => {
                    let what = if sort.indices { "argsort" } else { "sort" };
                    let order = if sort.descending { " descending" } else { "" };
                    let [target, source] = [sort.target, sort.source].map(|access| self.access(access, 0));
                    writeln!(f, "{pad}{what} {}{order}: {target} = {source}", self.axis(sort.axis))?;
                }
                Stmt::Best(best) => {
                    let (axis, places) = (self.axis(best.axis), self.axis(best.places));
                    writeln!(f, "{pad}best {axis} into rows of {places} {{")?;
                    self.body(f, &best.body, depth + 1)?;
                    let held = self.held(best.rows(), best.largest, best.source);
                    writeln!(f, "{pad}  {held}\n{pad}}}")?;
                }
                Stmt::BestRows(best) => {
                    let [axis, strip, places] =
                        [best.axis, best.strip, best.places].map(|axis| self.axis(axis));
                    writeln!(f, "{pad}best {axis} for {places} over rows of {strip} {{")?;
                    for body in [&best.ahead, &best.per_step, &best.prologue] {
                        self.body(f, body, depth + 1)?;
                    }
                    let held = self.held(best.rows(), best.largest, best.source);
                    writeln!(f, "{pad}  {held}\n{pad}}}")?;
                }
                Stmt::Stream(stream) => {
                    let (axis, strip) = (self.axis(stream.axis), self.axis(stream.strip));
                    let lanes = Self::lanes(stream.lanes);
                    let steps =
                        if stream.steps == 1 { String::new() } else { format!(" by {}", stream.steps) };
                    writeln!(
                        f,
                        "{pad}stream {axis}{steps} over {}rows of {strip}{lanes} {} {{",
                        if stream.dense { "dense " } else { "" },
                        order(stream.order)
                    )?;
                    self.body(f, &stream.ahead, depth + 1)?;
                    self.body(f, &stream.per_step, depth + 1)?;
                    self.body(f, &stream.prologue, depth + 1)?;
                    self.body(f, &stream.body, depth + 1)?;
                    for entry in &stream.accumulators {
                        writeln!(f, "{pad}  {} = {}", entry.target, self.accumulator(&entry.accumulator))?;
                    }
                    writeln!(f, "{pad}}}")?;
                }
            }
        }
        Ok(())
    }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Free => "in any order",
        Order::Sequential => "in order",
        Order::Tree => "by the tree",
        Order::Blocks => "by blocks",
        Order::Counter => "by the counter",
    }
}
