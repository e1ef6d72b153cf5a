//! Which forms of expressions and loops the cases come to.
//!
//! A form is a line of text, such as `stream, tree: f64`. [`required`] lists those that must be reached.

use crate::build::Built;
use broadloom::DType::{self, Bool, F32, F64, I32, I64, U8};
use broadloom::Op;
use broadloom_ir::graph::{CheckedGraph, Node, SEARCH, scan_name};
use broadloom_ir::reduce::ReduceOp;
use broadloom_loops::kernel::*;
use broadloom_loops::{Layout, LowerOptions, Target, lower};
use broadloom_math::trace;
use std::collections::{BTreeMap, BTreeSet};

/// How often each form was reached.
pub type Reached = BTreeMap<String, usize>;

/// Adds the forms of a graph, each once.
pub fn count(built: &Built, reached: &mut Reached) {
    let graph = built.graph.finish(built.named_outputs()).expect("a recipe makes no mistakes");
    let mut forms = BTreeSet::new();
    expressions(&graph, &mut forms);
    let dense = LowerOptions::dense(&graph, true);
    let any = || Layout::Strided { unit: None };
    let strided = LowerOptions {
        inputs: graph.inputs().iter().map(|_| any()).collect(),
        outputs: graph.outputs().iter().map(|_| any()).collect(),
        ..dense.clone()
    };
    // With the wide back end, on which most functions are part of loops.
    let inlining = |options: &LowerOptions| LowerOptions {
        target: Target { widest_bytes: 32, ..options.target },
        ..options.clone()
    };
    let unfused = LowerOptions { fused: false, ..dense.clone() };
    for options in [inlining(&dense), inlining(&strided), dense, unfused, strided] {
        let schedule = lower(&graph, &options).expect("a recipe stays within limits");
        schedule_forms(&schedule, &mut forms);
    }
    for form in forms {
        *reached.entry(form).or_default() += 1;
    }
}

fn expressions(graph: &CheckedGraph, forms: &mut BTreeSet<String>) {
    for expr in graph.exprs() {
        let dtype = graph.dtype(expr);
        let form = match graph.node(expr) {
            Node::Elementwise { op, operands } => {
                forms.insert(format!("op on {}", graph.dtype(operands[0])));
                format!("op {op}")
            }
            Node::Select { .. } => format!("select: {dtype}"),
            Node::Cast(operand) => {
                forms.insert(format!("cast from {}", graph.dtype(*operand)));
                format!("cast to {dtype}")
            }
            Node::Reduce { op, operand, axes, keepdims } => {
                forms.insert(format!(
                    "reduction over {} axes{}",
                    axes.len(),
                    if *keepdims { ", kept" } else { "" }
                ));
                format!("reduction {op}: {}", graph.dtype(*operand))
            }
            Node::View { view, .. } => format!("view {}", view.name()),
            Node::Take { .. } => format!("take: {dtype}"),
            Node::Iota => "iota".to_string(),
            Node::Size(_) => "size".to_string(),
            Node::Concat { axis, .. } => format!("concat along axis {axis}"),
            Node::Set { region, .. } => {
                let has_steps = region.iter().any(|part| part.step != 1);
                format!("set of {} axes{}", region.len(), if has_steps { " with steps" } else { "" })
            }
            Node::Scatter { op, .. } => {
                format!("{}: {dtype}", op.map_or("scatter".to_owned(), |op| format!("scatter {op}")))
            }
            Node::TopK { topk, .. } => format!("{}: {dtype}", topk.name()),
            Node::Sort { operand, sort } => format!("{}: {}", sort.name(), graph.dtype(*operand)),
            Node::Search { table, .. } => format!("{SEARCH}: {}", graph.dtype(*table)),
            Node::Scan { op, .. } => format!("{}: {dtype}", scan_name(*op)),
            Node::Segment { op, compensated, .. } => {
                format!("{}segment_{op}: {dtype}", if *compensated { "compensated " } else { "" })
            }
            Node::Input(_) | Node::Constant(_) | Node::Poison => continue,
            // They have a test of their own.
            Node::Step { .. } | Node::Loop { .. } | Node::Compress { .. } => continue,
        };
        forms.insert(form);
    }
    forms.extend((graph.outputs().len() > 1).then(|| "several outputs".to_string()));
}

fn schedule_forms(schedule: &Schedule, forms: &mut BTreeSet<String>) {
    forms.extend((schedule.kernels.len() > 1).then(|| "several kernels".to_string()));
    forms.extend((schedule.kernels.len() > 2).then(|| "three kernels or more".to_string()));
    for buffer in schedule.buffers.iter().filter(|buffer| buffer.role == Role::Temporary) {
        forms.insert(format!("temporary: {}", buffer.dtype));
    }
    let sizes: BTreeSet<String> = schedule
        .buffers
        .iter()
        .flat_map(|buffer| buffer.shape.iter().map(|dim| schedule.show(dim)))
        .collect();
    for kernel in &schedule.kernels {
        for axis in &kernel.axes {
            if let Extent::Param(param) = axis.extent {
                // Longer than any axis of an array: several of them as one.
                let extent = schedule.show(&kernel.params[param.index()]);
                forms.extend(
                    (extent.contains('*') && !sizes.contains(&extent)).then(|| "merged axes".to_string()),
                );
            }
            let is_cut = axis.reduction && !axis.groups.is_empty();
            forms.extend(is_cut.then(|| "groups of a reduction".to_string()));
        }
        for (_, stride) in kernel.accesses.iter().flat_map(|access| &access.strides) {
            forms.insert(match stride {
                Stride::Constant(..=-1) => "access, backwards".to_string(),
                Stride::Constant(1) => "access, unit stride".to_string(),
                Stride::Constant(_) => "access, constant stride".to_string(),
                Stride::Param(_) => "access, stride at run time".to_string(),
            });
        }
        let mut statements = kernel.statements();
        let along = statements.any(|stmt| matches!(stmt, Stmt::Scan { .. }));
        forms.extend((kernel.scanned.is_some() && !along).then(|| "scan across".to_string()));
        Walk { kernel, forms }.body(&kernel.body, 1);
    }
}

struct Walk<'a> {
    kernel: &'a Kernel,
    forms: &'a mut BTreeSet<String>,
}

impl Walk<'_> {
    fn add(&mut self, form: impl std::fmt::Display, dtype: DType) {
        self.forms.insert(format!("{form}: {dtype}"));
    }

    fn value(&self, value: ValueId) -> &Value {
        &self.kernel.values[value.index()]
    }

    /// The statements of a loop that computes `lanes` neighbours at once.
    fn body(&mut self, body: &[Stmt], lanes: usize) {
        let how = if lanes > 1 { "vector" } else { "scalar" };
        let mut stored: BTreeMap<AccessId, usize> = BTreeMap::new();
        for stmt in body {
            match stmt {
                Stmt::Let(value) => {
                    let value = self.value(*value).clone();
                    self.add(format!("computed, {how}"), value.dtype);
                    self.function(&value, how);
                    match value.def {
                        Def::Search { .. } => {
                            self.forms.insert(format!("searched, {how}"));
                        }
                        Def::Take { .. } => self.add(format!("taken, {how}"), value.dtype),
                        Def::Index(_) => self.add(format!("position, {how}"), value.dtype),
                        Def::Row(..) => self.add(format!("row read, {how}"), value.dtype),
                        Def::Constant(_)
                        | Def::Param(_)
                        | Def::Load { .. }
                        | Def::Op { .. }
                        | Def::Select(_)
                        | Def::Cast(_)
                        | Def::Checked { .. }
                        | Def::Reduced => {}
                    }
                }
                Stmt::Store { access, value, .. } => {
                    self.add(format!("stored, {how}"), self.value(*value).dtype);
                    *stored.entry(*access).or_default() += 1;
                }
                Stmt::Scatter { value, .. } => {
                    self.add(format!("scattered, {how}"), self.value(*value).dtype)
                }
                Stmt::Put { row, .. } => {
                    let Row { span, dtype, .. } = self.kernel.rows[row.index()];
                    match span {
                        Span::Periodic { .. } => self.add("row that recurs", dtype),
                        Span::Stretched { .. } => self.add("row that is stretched", dtype),
                        Span::Strip | Span::Axis | Span::One | Span::Block { .. } | Span::Part { .. } => {}
                    }
                    self.add(format!("row written, {how}"), dtype)
                }
                Stmt::For { lanes, body, .. } => self.body(body, *lanes),
                Stmt::Strip { body, .. } => self.body(body, 1),
                Stmt::Call { .. } => self.call(stmt, "strip"),
                Stmt::Repeat(repeat) => self.body(&repeat.body, lanes),
                Stmt::Reduce(reduce) => self.reduce(reduce, lanes),
                Stmt::Stream(stream) => self.stream(stream),
                Stmt::Contract(contract) => self.contract(contract),
                Stmt::FoldRows(fold) => {
                    for entry in &fold.folded {
                        self.add(format!("contractions folded, {:?}", fold.order), entry.dtype);
                    }
                    self.body(&fold.body, 1);
                }
                Stmt::Best(best) => {
                    let from = if best.body.is_empty() { "an array" } else { "rows" };
                    let extreme = if best.largest { "greatest" } else { "least" };
                    self.forms.insert(format!("the {extreme} of {from}"));
                    self.body(&best.body, 1);
                }
                Stmt::BestRows(best) => {
                    let from = if best.ahead.is_empty() { "columns" } else { "contractions" };
                    self.forms.insert(format!("the best of {from}"));
                    [&best.ahead, &best.per_step, &best.prologue].iter().for_each(|body| self.body(body, 1));
                }
                Stmt::Sort(sort) => {
                    let form = if sort.indices { "row of indices" } else { "row" };
                    let order = if sort.descending { "descending" } else { "ascending" };
                    self.forms.insert(format!("{form} sorted, {order}"));
                }
                Stmt::Begin { .. } => {}
                Stmt::Scan { op, target, source, state, .. } => {
                    let dtype = self.kernel.rows[state.index()].dtype;
                    for (operand, verb) in [(source, "reads"), (target, "writes")] {
                        let what = if operand.array().is_some() { "an array" } else { "a row" };
                        self.forms.insert(format!("scan that {verb} {what}"));
                    }
                    self.add(format!("scan along, {op}"), dtype);
                }
                Stmt::Transpose { row, .. } => {
                    self.add("transposed by blocks", self.kernel.rows[row.index()].dtype);
                }
                Stmt::Deinterleave { row, .. } => {
                    self.add("packed by lanes", self.kernel.rows[row.index()].dtype);
                }
                Stmt::Gather { row, .. } => self.add("gathered", self.kernel.rows[row.index()].dtype),
            }
        }
        self.forms.extend(stored.values().any(|count| *count > 1).then(|| "unrolled axis".to_string()));
    }

    /// A function that a loop computes itself.
    fn function(&mut self, value: &Value, how: &str) {
        let Def::Op { op, .. } = value.def else { return };
        let Some((function, precision)) = op.tile(value.dtype) else { return };
        let Some(trace) = trace(function, precision, true) else { return };
        let rare = if trace.rare().is_some() { "with" } else { "without" };
        self.add(format!("function {rare} rare lanes, {how}"), value.dtype);
    }

    fn call(&mut self, stmt: &Stmt, place: &str) {
        if let Stmt::Call { op, target, args, .. } = stmt {
            let dtype = match *target {
                Operand::Row(row) => self.kernel.rows[row.index()].dtype,
                Operand::Array { access, .. } => self.kernel.accesses[access.index()].dtype,
            };
            if target.array().is_some() {
                self.add("call that writes to an array", dtype);
            }
            if args.iter().any(|arg| arg.array().is_some()) {
                self.add("call that reads an array", dtype);
            }
            self.add(format!("call of {op}"), dtype);
            self.add(format!("call in {place}"), dtype);
        }
    }

    fn reduce(&mut self, reduce: &Reduce, around: usize) {
        let form = match (around, reduce.lanes) {
            (2.., _) => "in a vector loop",
            (_, 2..) => "row",
            _ => "one by one",
        };
        for accumulator in &reduce.accumulators {
            self.accumulator(accumulator, &format!("reduce {form}, {:?}", reduce.order));
        }
        self.forms.extend((reduce.accumulators.len() > 1).then(|| "several accumulators".to_string()));
        reduce.prologue.iter().for_each(|stmt| self.call(stmt, "reduction"));
        self.body(&reduce.prologue, 1);
        self.body(&reduce.body, around.max(reduce.lanes));
        for stmt in &reduce.body {
            if let Stmt::Reduce(inner) = stmt {
                self.add("reduction in a reduction", inner.accumulators[0].dtype);
            }
        }
    }

    fn stream(&mut self, stream: &Stream) {
        for accumulator in &stream.accumulators {
            self.accumulator(&accumulator.accumulator, &format!("stream, {:?}", stream.order));
        }
        self.forms.extend((!stream.per_step.is_empty()).then(|| "stream with a part per step".to_string()));
        if stream.dense {
            self.add("stream over dense rows", stream.accumulators[0].accumulator.dtype);
        }
        if !stream.ahead.is_empty() {
            self.add("stream behind a contraction", stream.accumulators[0].accumulator.dtype);
        }
        stream.prologue.iter().for_each(|stmt| self.call(stmt, "stream"));
        self.body(&stream.ahead, 1);
        self.body(&stream.per_step, 1);
        self.body(&stream.prologue, 1);
        self.body(&stream.body, stream.lanes);
    }

    fn accumulator(&mut self, accumulator: &Accumulator, form: &str) {
        let dtype = accumulator.dtype;
        self.add(form, dtype);
        self.add(format!("{} {form}", accumulator.op), dtype);
        match accumulator.operand {
            Contribution::Value(_) => {}
            Contribution::Count(truth) => {
                self.add(format!("count of what compares {}", self.compared(truth)), dtype);
            }
            Contribution::Product(..) => self.add("products", dtype),
            Contribution::Indexed { index: Some(_), .. } => self.add("indexed, of groups", dtype),
            Contribution::Indexed { narrow: true, .. } => self.add("indexed, narrow", dtype),
            Contribution::Indexed { narrow: false, .. } => self.add("indexed, wide", dtype),
        }
    }

    /// The dtype of what a truth value comes from.
    fn compared(&self, truth: ValueId) -> DType {
        match &self.value(truth).def {
            Def::Op { args, .. } => self.value(args[0]).dtype,
            _ => Bool,
        }
    }

    fn contract(&mut self, contract: &Contract) {
        for Contracted { accumulator, .. } in &contract.accumulators {
            self.accumulator(accumulator, &format!("contract, {:?}", contract.order));
            if contract.is_ranked(&self.kernel.axes) {
                self.add("contract by ranks", accumulator.dtype);
            }
        }
        self.body(&contract.prologue, 1);
        self.body(&contract.rows_prologue, 1);
        self.body(&contract.body, contract.lanes);
    }
}

/// Those with which the cases reach every form; that all others compute alike is the emitter's own test.
const MAIN: &[DType] = &[Bool, U8, I32, I64, F32, F64];
const FLOATS: &[DType] = &[F32, F64];
/// What sums and products accumulate in.
const SUMS: &[DType] = &[I64, F32, F64];

/// Forms of loops, and the dtypes with which the cases must reach them.
const LOOPS: &[(&str, &[DType])] = &[
    ("computed, vector", MAIN),
    ("computed, scalar", MAIN),
    ("stored, vector", MAIN),
    ("stored, scalar", MAIN),
    ("taken, vector", MAIN),
    ("taken, scalar", MAIN),
    ("position, vector", &[I64]),
    ("position, scalar", &[I64]),
    ("temporary", MAIN),
    ("row written, vector", FLOATS),
    ("row written, scalar", FLOATS),
    ("row read, vector", &[Bool, I64, F32, F64]),
    ("row read, scalar", FLOATS),
    ("row that recurs", FLOATS),
    ("row that is stretched", FLOATS),
    ("transposed by blocks", FLOATS),
    ("gathered", FLOATS),
    ("function without rare lanes, vector", FLOATS),
    ("function without rare lanes, scalar", FLOATS),
    ("function with rare lanes, vector", FLOATS),
    ("call that reads an array", FLOATS),
    ("call that writes to an array", FLOATS),
    ("call in strip", FLOATS),
    ("call in reduction", FLOATS),
    ("call in stream", FLOATS),
    ("call of exp", FLOATS),
    ("call of log", FLOATS),
    ("call of sin", FLOATS),
    ("call of cos", FLOATS),
    ("call of tanh", FLOATS),
    ("call of pow", FLOATS),
    ("reduce row, Free", MAIN),
    ("reduce row, Tree", FLOATS),
    ("reduce row, Counter", FLOATS),
    ("reduce in a vector loop, Free", MAIN),
    ("reduce in a vector loop, Sequential", FLOATS),
    ("reduce one by one, Free", &[Bool, I64, F32, F64]),
    ("reduce one by one, Sequential", FLOATS),
    ("reduce one by one, Tree", FLOATS),
    ("stream, Free", MAIN),
    ("stream, Tree", FLOATS),
    ("stream over dense rows", FLOATS),
    ("contract, Free", &[I64]),
    ("contract, Sequential", FLOATS),
    ("contract, Tree", FLOATS),
    ("contract by ranks", FLOATS),
    ("contractions folded, Free", &[I64]),
    ("contractions folded, Sequential", FLOATS),
    ("contractions folded, Tree", FLOATS),
    ("stream behind a contraction", FLOATS),
    ("sum reduce row, Tree", FLOATS),
    ("sum reduce row, Counter", FLOATS),
    ("sum reduce in a vector loop, Free", &[I64]),
    ("sum reduce in a vector loop, Sequential", FLOATS),
    ("sum stream, Tree", FLOATS),
    ("sum stream, Free", &[I64]),
    ("prod reduce row, Tree", FLOATS),
    ("prod reduce row, Counter", FLOATS),
    ("prod reduce row, Free", &[I64]),
    ("prod stream, Tree", FLOATS),
    ("min reduce row, Free", MAIN),
    ("max reduce row, Free", MAIN),
    ("argmin reduce row, Free", MAIN),
    ("argmax reduce row, Free", MAIN),
    ("min reduce in a vector loop, Free", FLOATS),
    ("max reduce in a vector loop, Free", FLOATS),
    // Of bool, the greatest stands for both: few cases reduce bool there.
    ("argmin reduce in a vector loop, Free", &[U8, I32, I64, F32, F64]),
    ("argmax reduce in a vector loop, Free", MAIN),
    ("min stream, Free", FLOATS),
    ("max stream, Free", FLOATS),
    ("argmin stream, Free", FLOATS),
    ("argmax stream, Free", FLOATS),
    ("reduction in a reduction", SUMS),
    ("products", FLOATS),
    ("indexed, narrow", &[Bool, U8, I32, F32]),
    ("indexed, wide", &[I64, F64]),
    ("indexed, of groups", MAIN),
    ("scan along, sum", SUMS),
    ("scan along, prod", SUMS),
    ("scan along, min", FLOATS),
    ("scan along, max", FLOATS),
    ("cumsum", SUMS),
    ("cumprod", SUMS),
    ("cummin", FLOATS),
    ("cummax", FLOATS),
    ("scattered, vector", FLOATS),
    ("scattered, scalar", SUMS),
    ("scatter", &[Bool, I64, F32, F64]),
    ("segment_sum", &[I64, F64]),
    ("compensated segment_sum", &[F64]),
    ("segment_min", FLOATS),
    ("segment_max", FLOATS),
];

/// Forms without a dtype that the cases must reach.
const OTHERS: &[&str] = &[
    "access, backwards",
    "access, constant stride",
    "access, stride at run time",
    "access, unit stride",
    "concat along axis 0",
    "concat along axis 1",
    "concat along axis 2",
    "set of 1 axes",
    "set of 1 axes with steps",
    "set of 2 axes",
    "set of 2 axes with steps",
    "set of 3 axes",
    "groups of a reduction",
    "iota",
    "merged axes",
    "reduction over 1 axes",
    "reduction over 1 axes, kept",
    "reduction over 2 axes",
    "reduction over 2 axes, kept",
    "reduction over 3 axes",
    "row of indices sorted, ascending",
    "row of indices sorted, descending",
    "row sorted, ascending",
    "row sorted, descending",
    "searched, scalar",
    "searched, vector",
    "several accumulators",
    "several kernels",
    "several outputs",
    "size",
    "stream with a part per step",
    "scan across",
    "scan that reads a row",
    "scan that reads an array",
    "scan that writes a row",
    "scan that writes an array",
    "the greatest of an array",
    "the greatest of rows",
    "the least of an array",
    "the least of rows",
    "three kernels or more",
    "unrolled axis",
    "view broadcast_to",
    "view expand_dims",
    "view permute_dims",
    "view reshape",
    "view slice",
    "view sliding_window_view",
    "view squeeze",
];

/// All forms that the cases must reach.
pub fn required() -> Vec<String> {
    let mut forms: Vec<String> = OTHERS.iter().map(|form| form.to_string()).collect();
    let mut add =
        |form: &str, dtypes: &[DType]| forms.extend(dtypes.iter().map(|dtype| format!("{form}: {dtype}")));
    for op in ReduceOp::ALL {
        add(&format!("reduction {op}"), MAIN);
    }
    add("select", MAIN);
    add("take", MAIN);
    ["sort", "argsort", SEARCH].iter().for_each(|form| add(form, FLOATS));
    LOOPS.iter().for_each(|(form, dtypes)| add(form, dtypes));
    forms.extend(Op::ALL.iter().map(|op| format!("op {op}")));
    for dtype in DType::ALL {
        forms.extend(["op on", "cast from", "cast to"].map(|form| format!("{form} {dtype}")));
    }
    forms
}
