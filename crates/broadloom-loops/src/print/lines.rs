//! The lines of printed kernels, with what each of them stands for.

use crate::kernel::*;
use broadloom_ir::ExprId;

/// A line of a printed kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The number of loops around it.
    pub depth: usize,
    /// The text, without the indentation.
    pub text: String,
    /// The number of its statement, in the order of [`Kernel::statements`]. A loop has several lines.
    pub statement: usize,
    /// The expressions whose values, or parts of them, it computes, moves or stores, each once and in order.
    pub exprs: Vec<ExprId>,
    /// The array that it writes.
    pub written: Option<BufferId>,
}

impl Schedule {
    /// Returns the lines of one of its kernels, as they are printed.
    pub fn lines(&self, kernel: &Kernel) -> Vec<Line> {
        let texts = Texts { schedule: self, kernel };
        let mut printer = Printer { texts, lines: Vec::new(), statements: 0 };
        printer.body(&kernel.body, 0);
        printer.lines
    }
}

/// Prints the statements of a kernel.
struct Printer<'s> {
    texts: Texts<'s>,
    lines: Vec<Line>,
    /// The number of statements so far.
    statements: usize,
}

impl Printer<'_> {
    fn body(&mut self, body: &[Stmt], depth: usize) {
        for stmt in body {
            let statement = self.statements;
            self.statements += 1;
            let Texts { schedule: _, kernel } = self.texts;
            let written = stmt.accesses(&kernel.values).into_iter().find(|(_, used)| used.writes());
            let written = written.and_then(|(access, _)| kernel.accesses[access.index()].buffer);
            let head = self.texts.head(stmt);
            self.lines.push(Line { depth, text: head, statement, exprs: exprs(kernel, stmt), written });
            for child in stmt.children() {
                self.body(child, depth + 1);
            }
            let Some(results) = self.texts.results(stmt) else { continue };
            for (text, exprs) in results {
                self.lines.push(Line { depth: depth + 1, text, statement, exprs, written: None });
            }
            let (text, exprs) = ("}".to_string(), Vec::new());
            self.lines.push(Line { depth, text, statement, exprs, written: None });
        }
    }
}

/// Returns each expression once, in order.
fn each_once(exprs: impl IntoIterator<Item = ExprId>) -> Vec<ExprId> {
    let mut exprs: Vec<ExprId> = exprs.into_iter().collect();
    exprs.sort_unstable();
    exprs.dedup();
    exprs
}

/// Returns the expressions of the values that are read from rows.
fn of_rows(kernel: &Kernel, rows: &[RowId]) -> Vec<ExprId> {
    let is_read = |value: &&Value| matches!(value.def, Def::Row(row, _) if rows.contains(&row));
    each_once(kernel.values.iter().filter(is_read).map(|value| value.origin))
}

/// Returns the expressions of what a statement itself computes, moves or stores.
fn exprs(kernel: &Kernel, stmt: &Stmt) -> Vec<ExprId> {
    let of = |value: ValueId| kernel.values[value.index()].origin;
    let results = |accumulators: &mut dyn Iterator<Item = &Accumulator>| {
        each_once(accumulators.map(|accumulator| of(accumulator.result)))
    };
    match stmt {
        Stmt::Let(value)
        | Stmt::Store { value, .. }
        | Stmt::Scatter { value, .. }
        | Stmt::Put { value, .. }
        | Stmt::Begin { value, .. } => vec![of(*value)],
        Stmt::Repeat(repeat) => each_once(repeat.carried.iter().map(|entry| of(entry.last))),
        Stmt::Reduce(reduce) => results(&mut reduce.accumulators.iter()),
        Stmt::Stream(stream) => results(&mut stream.accumulators.iter().map(|entry| &entry.accumulator)),
        Stmt::Contract(contract) => {
            results(&mut contract.accumulators.iter().map(|entry| &entry.accumulator))
        }
        Stmt::Call { target, .. } | Stmt::Scan { target, .. } => of_rows(kernel, target.row().as_slice()),
        Stmt::FoldRows(fold) => {
            of_rows(kernel, &fold.folded.iter().map(|entry| entry.target).collect::<Vec<RowId>>())
        }
        Stmt::Best(best) => of_rows(kernel, &best.rows()),
        Stmt::BestRows(best) => of_rows(kernel, &best.rows()),
        Stmt::Transpose { row, .. } | Stmt::Gather { row, .. } | Stmt::Deinterleave { row, .. } => {
            of_rows(kernel, &[*row])
        }
        Stmt::For { .. } | Stmt::Strip { .. } | Stmt::Sort(_) => Vec::new(),
    }
}

/// The texts of the parts of a kernel.
struct Texts<'s> {
    schedule: &'s Schedule,
    kernel: &'s Kernel,
}

impl Texts<'_> {
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

    /// Returns the first line of a statement.
    fn head(&self, stmt: &Stmt) -> String {
        match stmt {
            Stmt::Let(value) => self.value(*value),
            Stmt::Store { access, delta, value } => {
                let how = if self.kernel.accesses[access.index()].streams { "stream" } else { "store" };
                format!("{how} {} <- {value}", self.access(*access, *delta))
            }
            Stmt::Scatter { access, delta, index, op, value, lost, .. } => {
                let op = op.map(|op| format!("{op} ")).unwrap_or_default();
                let lost = lost.map(|(access, delta)| format!(", lost {}", self.access(access, delta)));
                let lost = lost.unwrap_or_default();
                format!("scatter {} at {index} <- {op}{value}{lost}", self.access(*access, *delta))
            }
            Stmt::Put { row, part, axis, value } => {
                let part = match (self.kernel.rows[row.index()].span, *part) {
                    (Span::Periodic { .. }, _) => ", over and over".to_string(),
                    (Span::Stretched { .. }, _) => ", stretched".to_string(),
                    (Span::Strip | Span::Axis | Span::One | Span::Block { .. } | Span::Part { .. }, 0) => {
                        String::new()
                    }
                    (Span::Strip | Span::Axis | Span::One | Span::Block { .. } | Span::Part { .. }, part) => {
                        format!(", {part}")
                    }
                };
                format!("put {row}[{}{part}] <- {value}", self.axis(*axis))
            }
            Stmt::For { axis, lanes, .. } => format!("for {}{} {{", self.axis(*axis), Self::lanes(*lanes)),
            Stmt::Strip { axis, length, .. } => format!("strip {} of {length} {{", self.axis(*axis)),
            Stmt::Call { op, target, args, .. } => {
                let args: Vec<String> = args.iter().map(|arg| self.operand(*arg)).collect();
                format!("call {} = {op}({})", self.operand(*target), args.join(", "))
            }
            Stmt::Begin { row, value } => format!("begin {row} <- {value}"),
            Stmt::Scan { op, target, source, state, rows, .. } => {
                let (target, source) = (self.operand(*target), self.operand(*source));
                let rows = rows.map_or(String::new(), |rows| format!(" for {}", self.axis(rows)));
                format!("scan {target} = {op} of {source} from {state}{rows}")
            }
            Stmt::Repeat(repeat) => {
                let until = if repeat.settles { " until it settles" } else { "" };
                format!("repeat {}{until} {{", self.axis(repeat.axis))
            }
            Stmt::Reduce(reduce) => {
                let (axis, lanes) = (self.axis(reduce.axis), Self::lanes(reduce.lanes));
                let rows = if reduce.transposed.is_empty() { "" } else { " of transposed rows" };
                format!("reduce {axis}{rows}{lanes} {} {{", order(reduce.order))
            }
            Stmt::Contract(contract) => {
                let [axis, rows, strip] =
                    [contract.axis, contract.rows, contract.strip].map(|axis| self.axis(axis));
                let (lanes, order) = (Self::lanes(contract.lanes), order(contract.order));
                let epilogue = match contract.epilogue {
                    Epilogue::Store => "",
                    Epilogue::Extremes { of_roots: false } => " into extremes",
                    Epilogue::Extremes { of_roots: true } => " into extremes of roots",
                    Epilogue::Fold => " into the fold",
                };
                format!("contract {axis} for {rows} over rows of {strip}{lanes} {order}{epilogue} {{")
            }
            Stmt::FoldRows(fold) => {
                let [axis, rows, strip] = [fold.axis, fold.rows, fold.strip].map(|axis| self.axis(axis));
                format!("fold {axis} for {rows} over rows of {strip} {} {{", order(fold.order))
            }
            Stmt::Transpose { access, delta, row, rows, axis, in_registers } => {
                let (access, rows, axis) = (self.access(*access, *delta), self.axis(*rows), self.axis(*axis));
                let place = if *in_registers { " in registers" } else { "" };
                format!("transpose {row}[{axis}] by {rows}{place} = load {access}")
            }
            Stmt::Deinterleave { row, source, axis } => {
                let axis = self.axis(*axis);
                format!("deinterleave {row}[{axis}] = row {source}[{axis}]")
            }
            Stmt::Gather { access, delta, row, axis, steps, strides } => {
                let (access, axis) = (self.access(*access, *delta), self.axis(*axis));
                let [outer, inner] = strides.map(|stride| self.stride(stride));
                let steps = self.extent(*steps);
                format!("gather {row}[{axis}] by {steps} = load {access} by {outer}, {inner}")
            }
            Stmt::Sort(sort) => {
                let what = if sort.indices { "argsort" } else { "sort" };
                let order = if sort.descending { " descending" } else { "" };
                let [target, source] = [sort.target, sort.source].map(|access| self.access(access, 0));
                format!("{what} {}{order}: {target} = {source}", self.axis(sort.axis))
            }
            Stmt::Best(best) => {
                format!("best {} into rows of {} {{", self.axis(best.axis), self.axis(best.places))
            }
            Stmt::BestRows(best) => {
                let [axis, strip, places] = [best.axis, best.strip, best.places].map(|axis| self.axis(axis));
                format!("best {axis} for {places} over rows of {strip} {{")
            }
            Stmt::Stream(stream) => {
                let (axis, strip) = (self.axis(stream.axis), self.axis(stream.strip));
                let lanes = Self::lanes(stream.lanes);
                let steps = if stream.steps == 1 { String::new() } else { format!(" by {}", stream.steps) };
                let dense = if stream.dense { "dense " } else { "" };
                let padded = if stream.padded { "padded " } else { "" };
                let order = order(stream.order);
                format!("stream {axis}{steps} over {dense}{padded}rows of {strip}{lanes} {order} {{")
            }
        }
    }

    /// Returns the lines after the statements inside a loop, and their expressions: how its results come about. `None` for
    /// other statements.
    fn results(&self, stmt: &Stmt) -> Option<Vec<(String, Vec<ExprId>)>> {
        let of = |accumulator: &Accumulator| vec![self.kernel.values[accumulator.result.index()].origin];
        let into_rows = |target: RowId, accumulator: &Accumulator| {
            (format!("{target} = {}", self.accumulator(accumulator)), of(accumulator))
        };
        let best = |rows: [RowId; 2], largest: bool, source: Operand| {
            vec![(self.held(rows, largest, source), of_rows(self.kernel, &rows))]
        };
        match stmt {
            Stmt::For { .. } | Stmt::Strip { .. } => Some(Vec::new()),
            Stmt::Reduce(reduce) => {
                let result = |accumulator: &Accumulator| {
                    let text = format!("{} = {}", accumulator.result, self.accumulator(accumulator));
                    (text, of(accumulator))
                };
                Some(reduce.accumulators.iter().map(result).collect())
            }
            Stmt::Repeat(repeat) => {
                let result = |Carried { initial, before, next, last }: &Carried| {
                    let of = vec![self.kernel.values[last.index()].origin];
                    (format!("{last} = {before} = {next}, from {initial}"), of)
                };
                Some(repeat.carried.iter().map(result).collect())
            }
            Stmt::Contract(contract) => {
                let entries = contract.accumulators.iter();
                Some(entries.map(|entry| into_rows(entry.target, &entry.accumulator)).collect())
            }
            Stmt::Stream(stream) => {
                let entries = stream.accumulators.iter();
                Some(entries.map(|entry| into_rows(entry.target, &entry.accumulator)).collect())
            }
            Stmt::FoldRows(fold) => {
                let result = |entry: &Folded| {
                    let text = format!("{} = {} of {}", entry.target, entry.op, entry.from);
                    (text, of_rows(self.kernel, &[entry.target]))
                };
                Some(fold.folded.iter().map(result).collect())
            }
            Stmt::Best(found) => Some(best(found.rows(), found.largest, found.source)),
            Stmt::BestRows(found) => Some(best(found.rows(), found.largest, found.source)),
            Stmt::Let(_)
            | Stmt::Store { .. }
            | Stmt::Scatter { .. }
            | Stmt::Put { .. }
            | Stmt::Call { .. }
            | Stmt::Begin { .. }
            | Stmt::Scan { .. }
            | Stmt::Sort(_)
            | Stmt::Transpose { .. }
            | Stmt::Deinterleave { .. }
            | Stmt::Gather { .. } => None,
        }
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
