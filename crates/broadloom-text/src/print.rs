//! Prints a checked graph as a program that parses back to it.
//!
//! Expressions are printed in the order in which the outputs need them, which depends only on the graph, so a
//! printed program prints as itself. Expressions that are used more than once, or are long, get a name. Inferred
//! sizes are printed with their values; a size that stayed open gets a symbol.

mod loops;
mod nodes;
mod number;
mod slice;

use crate::Program;
use crate::token::is_name;
use broadloom_ir::diagnostics::Requirement;
use broadloom_ir::dim::{Dim, Facts, Named};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Demand, Node, SEARCH, SymbolInfo, SymbolKind, View, scan_name};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, LoopId, SymbolId};
use nodes::{open_axis, ordered, unified, used_symbols};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// How tightly the operator of a text binds; as in the parser.
const COMPARISON: u8 = 1;
const PREFIX: u8 = 8;
const POWER: u8 = 9;
const ATOM: u8 = 10;

/// Longest expression without a name, in bytes, and deepest.
const MAX_TEXT: usize = 100;
const MAX_DEPTH: usize = 10;

/// Words that are names in expressions only if they are quoted.
const RESERVED: &[&str] = &[
    "True", "False", "None", "inf", "nan", "and", "or", "not", "if", "else", "for", "while", "in", "is",
    "lambda", "def", "import", "from", "np", "numpy", "scipy", "math", "linalg", "special", "newaxis",
    "likely", "_", "symbols", "end",
];

/// The program of a graph: declarations, definitions and outputs, one per line.
///
/// Reading it gives the same graph, except for slices with a negative step that are empty because they begin before the first
/// element for all sizes, which Python's ranges cannot express, and for sizes with a coefficient beyond 64 bits.
pub fn print(graph: &CheckedGraph) -> String {
    let text = printed(graph);
    // A size that was found to be a number only after it was computed with is one from the beginning where it is read,
    // and so is all that is computed of it.
    let is_found = |expr| matches!(graph.node(expr), Node::Size(size) if size.as_constant().is_some());
    let folded = match graph.exprs().any(is_found) {
        true => Program::parse("printed", &text).and_then(|program| program.resolve()).ok(),
        false => None,
    };
    folded.map_or(text, |folded| printed(&folded))
}

fn printed(graph: &CheckedGraph) -> String {
    let mut printer = Printer::new(graph);
    printer.declarations();
    printer.expressions();
    printer.text
}

/// One line per output, assignments included: `name: dtype[sizes]`.
pub fn signature(graph: &CheckedGraph) -> String {
    let outputs = graph.outputs().iter();
    let mut text = described(
        graph,
        outputs.map(|output| (&*output.name, graph.dtype(output.expr), graph.shape(output.expr))),
    );
    let mut symbols: Vec<SymbolId> =
        graph.outputs().iter().flat_map(|output| graph.shape(output.expr)).flat_map(Dim::symbols).collect();
    symbols.sort_unstable();
    symbols.dedup();
    for symbol in symbols {
        let info = &graph.symbols()[symbol.index()];
        let Some(by) = info.kind.decided_by() else { continue };
        let what = match (info.kind, inline(graph, by)) {
            (SymbolKind::Count(_), Some(mask)) => format!("the number of elements where {mask}"),
            (SymbolKind::Count(_), None) => "the number of selected elements".to_owned(),
            (_, Some(value)) => format!("the value of {value}"),
            (_, None) => "a computed number".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "where {} is {what}", info.name);
    }
    text
}

/// An expression without names for its parts, if it is short.
fn inline(graph: &CheckedGraph, expr: ExprId) -> Option<String> {
    let mut printer = Printer::new(graph);
    let expr = printer.same[expr.index()];
    let order = ordered(&printer.nodes, &[expr], |_| Vec::new());
    for expr in order {
        let is_of_loop = matches!(printer.node(expr), Node::Step { .. } | Node::Loop { .. });
        if is_of_loop || !graph.decided_sizes(expr).is_empty() {
            return None;
        }
        let written = printer.write(expr);
        if written.text.len() > MAX_TEXT {
            return None;
        }
        printer.written.insert(expr, written);
    }
    Some(printer.get(expr).text.clone())
}

/// One line per input: `name: dtype[sizes]`.
///
/// ```
/// use broadloom_text::Program;
/// let graph = Program::parse("sum", "input x: f32[n, 3]; x.sum()")?.resolve()?;
/// assert_eq!(broadloom_text::inputs(&graph), "x: f32[n, 3]\n");
/// # Ok::<(), broadloom_text::Mistakes>(())
/// ```
pub fn inputs(graph: &CheckedGraph) -> String {
    let inputs = graph.inputs().iter();
    described(graph, inputs.map(|input| (&*input.name, input.dtype, &input.shape)))
}

fn described<'g>(
    graph: &'g CheckedGraph,
    arrays: impl Iterator<Item = (&'g str, DType, &'g Shape)>,
) -> String {
    let printer = Printer::new(graph);
    let mut text = String::new();
    let names = printer.in_signatures();
    for (name, dtype, shape) in arrays {
        let sizes: Vec<String> = shape.iter().map(|dim| printer.size_by(dim, &names)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {dtype}[{}]", quoted(name), sizes.join(", "));
    }
    text
}

/// A name as a program writes it.
pub(crate) fn quoted(name: &str) -> String {
    if is_name(name) && !RESERVED.contains(&name) { name.to_owned() } else { format!("\"{name}\"") }
}

/// An expression's text.
#[derive(Debug, Clone)]
struct Written {
    text: String,
    binds: u8,
    depth: usize,
}

impl Written {
    fn atom(text: impl Into<String>) -> Written {
        Written { text: text.into(), binds: ATOM, depth: 0 }
    }

    /// The text for a place that accepts only operators which bind at least this tightly.
    fn within(&self, least: u8) -> String {
        if self.binds < least { format!("({})", self.text) } else { self.text.clone() }
    }
}

struct Printer<'a> {
    graph: &'a CheckedGraph,
    text: String,
    /// The names of the symbols in declarations, except for sizes that stayed unknown.
    symbols: HashMap<SymbolId, String>,
    /// The text of symbols in expressions, where an input hides a symbol of the same name.
    in_expressions: HashMap<SymbolId, String>,
    taken: HashSet<String>,
    /// The demands of each expression, with their reasons.
    demands: HashMap<ExprId, Vec<(Requirement, Dim)>>,
    /// The nodes by expression, with representatives as operands.
    nodes: Vec<Node>,
    /// The representative of each expression and of all equal ones.
    same: Vec<ExprId>,
    uses: HashMap<ExprId, usize>,
    written: HashMap<ExprId, Written>,
    definitions: usize,
    /// The expressions that decide sizes.
    decides: HashSet<ExprId>,
    /// The innermost loop to whose steps each expression belongs.
    innermost: Vec<Option<LoopId>>,
    /// The number of loops around what is written.
    indent: usize,
}

impl<'a> Printer<'a> {
    fn new(graph: &'a CheckedGraph) -> Printer<'a> {
        let inputs = graph.inputs().iter().map(|input| input.name.to_string());
        let outputs = graph.outputs().iter().map(|output| output.name.to_string());
        let mut taken: HashSet<String> = inputs.clone().collect();
        let (mut symbols, mut in_expressions) = (HashMap::new(), HashMap::new());
        let is_input: HashSet<&str> = graph.inputs().iter().map(|input| &*input.name).collect();
        for symbol in used_symbols(graph) {
            let info = &graph.symbols()[symbol.index()];
            if let Some((input, axis)) = open_axis(graph, symbol) {
                in_expressions.insert(symbol, format!("{}.shape[{axis}]", quoted(input)));
                continue;
            }
            let mut name = info.name.trim_start_matches('?').replace('.', "_");
            if info.kind == SymbolKind::Flexible {
                // It has no name of its own.
                name.retain(|letter| letter == '_' || letter.is_alphanumeric());
                while taken.contains(&name) {
                    name.push('_');
                }
            }
            let own = quoted(&name);
            let prefix = if is_input.contains(&*name) { "symbols." } else { "" };
            in_expressions.insert(symbol, format!("{prefix}{own}"));
            symbols.insert(symbol, own);
            taken.insert(name);
        }
        taken.extend(outputs);
        let (nodes, same) = unified(graph);
        let mut demands: HashMap<ExprId, Vec<(Requirement, Dim)>> = HashMap::new();
        for obligation in graph.obligations() {
            if let (Some(origin), Demand::NonNegative(dim)) = (obligation.origin, &obligation.demand) {
                demands.entry(same[origin.index()]).or_default().push((obligation.requirement, dim.clone()));
            }
        }
        // A choice by demands must not depend on their order, which printing may change.
        demands
            .values_mut()
            .for_each(|demands| demands.sort_unstable_by(|(_, left), (_, right)| left.cmp(right)));
        let text = String::new();
        let (uses, written) = (HashMap::new(), HashMap::new());
        Printer {
            graph,
            text,
            symbols,
            in_expressions,
            taken,
            demands,
            nodes,
            same,
            uses,
            written,
            definitions: 0,
            decides: HashSet::new(),
            innermost: Vec::new(),
            indent: 0,
        }
    }

    /// Names as in declarations, and the axes of sizes that stayed unknown.
    fn in_signatures(&self) -> HashMap<SymbolId, String> {
        let name = |(symbol, name): (&SymbolId, &String)| {
            (*symbol, self.symbols.get(symbol).unwrap_or(name).clone())
        };
        let decided = self.graph.symbols().iter().enumerate();
        let decided = decided.filter(|(_, info)| info.kind.decided_by().is_some());
        let decided = decided.map(|(index, info)| (SymbolId::new(index), info.name.to_string()));
        self.in_expressions.iter().map(name).chain(decided).collect()
    }

    fn node(&self, expr: ExprId) -> &Node {
        &self.nodes[expr.index()]
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.indent));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn facts(&self, symbol: SymbolId) -> Facts {
        self.graph.symbols().get(symbol.index()).map_or_else(Facts::default, |info| info.facts)
    }

    /// A size in an expression.
    fn size(&self, dim: &Dim) -> String {
        self.size_by(dim, &self.in_expressions)
    }

    /// A size in a declaration.
    fn declared(&self, dim: &Dim) -> String {
        // A size that only its own axis has gets no name.
        match dim.as_symbol().is_some_and(|symbol| !self.symbols.contains_key(&symbol)) {
            true => "_".to_owned(),
            false => self.size_by(dim, &self.symbols),
        }
    }

    fn size_by(&self, dim: &Dim, names: &HashMap<SymbolId, String>) -> String {
        let named = |symbol: SymbolId| Named {
            name: names.get(&symbol).map_or("?", String::as_str),
            unit: self.graph.named(symbol).unit,
        };
        dim.display(&named).to_string()
    }

    /// Sizes as a tuple.
    fn sizes<'d>(&self, dims: impl IntoIterator<Item = &'d Dim>) -> String {
        tuple(dims.into_iter().map(|dim| self.size(dim)).collect())
    }

    fn declarations(&mut self) {
        let graph = self.graph;
        let mut symbols: Vec<SymbolId> = self.symbols.keys().copied().collect();
        symbols.sort_unstable();
        let is_parameter = |symbol: &SymbolId| graph.symbols()[symbol.index()].kind == SymbolKind::Parameter;
        for group in symbols.chunk_by(|left, right| is_parameter(left) == is_parameter(right)) {
            let keyword = if group.first().is_some_and(is_parameter) { "parameters" } else { "symbols" };
            let names: Vec<&str> = group.iter().map(|symbol| &*self.symbols[symbol]).collect();
            let line = format!("{keyword} {}", names.join(", "));
            self.line(&line);
        }
        let mut facts = Vec::new();
        for symbol in &symbols {
            let SymbolInfo { unit, facts: Facts { lower, upper }, likely, .. } =
                &graph.symbols()[symbol.index()];
            let name = &self.symbols[symbol];
            if *unit != 1 {
                facts.push(format!("{name} % {unit} == 0"));
            }
            if *lower > 0 {
                facts.push(format!("{name} >= {}", lower.saturating_mul(*unit)));
            }
            if let Some(upper) = upper {
                facts.push(format!("{name} <= {}", upper.saturating_mul(*unit)));
            }
            if let Some(likely) = likely {
                facts.push(format!("likely({name}) == {likely}"));
            }
        }
        // Bounds come first: a text with the same facts prints as itself, whichever of them were declared and whichever follow
        // from sizes that were handed out.
        let mut equalities = Vec::new();
        for obligation in graph.obligations().iter().filter(|obligation| obligation.origin.is_none()) {
            match &obligation.demand {
                Demand::Equal(left, right) => {
                    equalities.push(format!("{} == {}", self.declared(left), self.declared(right)));
                }
                Demand::NonNegative(dim) => facts.push(format!("{} >= 0", self.declared(dim))),
            }
        }
        facts.extend(equalities);
        for fact in facts {
            self.line(&format!("assume {fact}"));
        }
        for input in graph.inputs() {
            let size = |(axis, dim): (usize, &Dim)| {
                let mark = if input.may_be_one.contains(&axis) { "#" } else { "" };
                let size = self.declared(dim);
                // `#` before a name is not a comment.
                if size.starts_with('-') { format!("{mark}({size})") } else { format!("{mark}{size}") }
            };
            let sizes: Vec<String> = input.shape.iter().enumerate().map(size).collect();
            self.line(&format!("input {}: {}[{}]", quoted(&input.name), input.dtype, sizes.join(", ")));
        }
    }

    /// All expressions, operands first, and the outputs.
    fn expressions(&mut self) {
        let graph = self.graph;
        let outputs: Vec<ExprId> =
            graph.outputs().iter().map(|output| self.same[output.expr.index()]).collect();
        let order = ordered(&self.nodes, &outputs, |expr| self.deciding(expr));
        for &expr in &order {
            for operand in self.node(expr).operands() {
                *self.uses.entry(operand).or_default() += 1;
            }
        }
        for expr in &outputs {
            *self.uses.entry(*expr).or_default() += 1;
        }
        self.innermost = graph.innermost();
        self.decides = order.iter().flat_map(|expr| self.deciding(*expr)).collect();
        self.define(&order, None);
        for output in graph.outputs() {
            let keyword = if output.assigned.is_some() { "assign" } else { "output" };
            let value = self.written[&self.same[output.expr.index()]].text.clone();
            self.line(&format!("{keyword} {} = {value}", quoted(&output.name)));
        }
    }

    /// The expressions that decide the sizes of an expression.
    fn deciding(&self, expr: ExprId) -> Vec<ExprId> {
        let decided = self.graph.decided_sizes(expr).into_iter();
        let by = decided.filter_map(|symbol| self.graph.decided_by(symbol));
        by.map(|expr| self.same[expr.index()]).collect()
    }

    /// Gives the sizes that an expression decides the text that stands for them, which begins with its name.
    fn decide(&mut self, expr: ExprId, name: &str) {
        for (index, info) in self.graph.symbols().iter().enumerate() {
            if info.kind.decided_by().is_some_and(|by| self.same[by.index()] == expr) {
                let text = match info.kind {
                    SymbolKind::Count(_) => format!("len({name}[{name}])"),
                    _ => format!("as_size({name})"),
                };
                self.in_expressions.insert(SymbolId::new(index), text);
            }
        }
    }

    /// Writes the expressions that belong to the steps of a loop, or to none, and names those that need one.
    fn define(&mut self, order: &[ExprId], of: Option<LoopId>) {
        for &expr in order {
            if self.innermost[expr.index()] != of || self.written.contains_key(&expr) {
                continue;
            }
            if let Node::Loop { repeated, .. } = self.node(expr) {
                let repeated = repeated.clone();
                self.repeat(&repeated, order);
                continue;
            }
            let mut written = self.write(expr);
            let is_shared = self.uses.get(&expr).is_some_and(|uses| *uses > 1) && written.depth > 0;
            let is_large = written.text.len() > MAX_TEXT || written.depth > MAX_DEPTH;
            let decides = self.decides.contains(&expr);
            if is_shared || is_large || decides && written.depth > 0 {
                let name = self.fresh_name();
                self.line(&format!("let {name} = {}", written.text));
                written = Written::atom(name);
            }
            if decides {
                self.decide(expr, &written.text);
            }
            self.written.insert(expr, written);
        }
    }

    fn fresh_name(&mut self) -> String {
        self.definitions += 1;
        let mut name = format!("v{}", self.definitions);
        while self.taken.contains(&name) {
            name.push('_');
        }
        name
    }

    fn get(&self, expr: ExprId) -> &Written {
        &self.written[&expr]
    }

    fn write(&self, expr: ExprId) -> Written {
        let graph = self.graph;
        let node = self.node(expr);
        let operands = node.operands();
        let depth = 1 + operands.iter().map(|operand| self.get(*operand).depth).max().unwrap_or(0);
        let (text, binds) = match node {
            Node::Input(input) => return Written::atom(quoted(&graph.inputs()[input.index()].name)),
            Node::Constant(value) => return Written::atom(number::typed(*value)),
            Node::Size(size) => (format!("size({})", self.size(size)), ATOM),
            Node::Iota => (format!("arange({})", self.size(&graph.shape(expr)[0])), ATOM),
            Node::Elementwise { op, operands } => self.elementwise(*op, operands),
            Node::Select { condition, on_true, on_false } => {
                let sides = self.literals(&[*on_true, *on_false]);
                let condition = &self.get(*condition).text;
                (format!("where({condition}, {}, {})", sides[0].text, sides[1].text), ATOM)
            }
            Node::Cast(operand) => self.cast(*operand, graph.dtype(expr)),
            Node::Reduce { op, operand, axes, keepdims } => {
                (self.reduce(expr, *op, *operand, axes, *keepdims), ATOM)
            }
            Node::View { view, operand } => return self.view(expr, view, *operand, depth),
            Node::Take { table, indices, axis } => {
                let (table, indices) = (&self.get(*table).text, &self.get(*indices).text);
                (format!("take({table}, {indices}, axis={axis})"), ATOM)
            }
            Node::Compress { operand, mask, axis } => {
                let (operand, mask) = (&self.get(*operand).text, &self.get(*mask).text);
                (format!("compress({mask}, {operand}, axis={axis})"), ATOM)
            }
            Node::TopK { operand, topk } => {
                let (operand, largest) = (&self.get(*operand).text, topk.largest);
                let smallest = if largest { "" } else { ", largest=False" };
                (format!("{}({operand}, {}, axis={}{smallest})", topk.name(), topk.k, topk.axis), ATOM)
            }
            Node::Sort { operand, sort } => {
                let descending = if sort.descending { ", descending=True" } else { "" };
                let operand = &self.get(*operand).text;
                (format!("{}({operand}, axis={}{descending})", sort.name(), sort.axis), ATOM)
            }
            Node::Search { table, values, right } => {
                let (table, values) = (&self.get(*table).text, &self.get(*values).text);
                let side = if *right { ", side='right'" } else { "" };
                (format!("{SEARCH}({table}, {values}{side})"), ATOM)
            }
            // Only parts of runs in chunks continue earlier results.
            Node::Scan { op, operand, axis, initial } => {
                let before = initial.map(|initial| format!(", initial={}", self.get(initial).text));
                let (operand, before) = (&self.get(*operand).text, before.unwrap_or_default());
                (format!("{}({operand}, axis={axis}{before})", scan_name(*op)), ATOM)
            }
            Node::Concat { operands, axis } => {
                let items: Vec<&str> = operands.iter().map(|operand| &*self.get(*operand).text).collect();
                (format!("concat([{}], axis={axis})", items.join(", ")), ATOM)
            }
            Node::Set { base, value, region } => {
                let items: Vec<String> = (0..region.len()).map(|axis| self.range(expr, axis)).collect();
                let (base, value) = (self.get(*base).within(ATOM), &self.get(*value).text);
                (format!("{base}.at[{}].set({value})", items.join(", ")), ATOM)
            }
            Node::Scatter { op, base, indices, values } => {
                let base = self.get(*base).within(ATOM);
                let (indices, values) = (&self.get(*indices).text, &self.get(*values).text);
                let method = op.map_or("set", |op| op.name());
                (format!("{base}.at[{indices}].{method}({values})"), ATOM)
            }
            Node::Segment { op, compensated, elements, values, ids, .. } => {
                let (x, ids) = (&self.get(*values).text, &self.get(*ids).text);
                let segments = self.size(&graph.shape(expr)[1]);
                let compensated = if *compensated { ", compensated=True" } else { "" };
                let elements = self.size(elements);
                (format!("segment_tables({x}, {ids}, {segments}, {elements}, '{op}'{compensated})"), ATOM)
            }
            // Their loop names them.
            Node::Step { .. } | Node::Loop { .. } => return Written::atom(""),
            // A checked graph has none.
            Node::Poison => return Written::atom(""),
        };
        Written { text, binds, depth }
    }

    /// The operands; constants are numbers without a dtype if another operand determines it.
    fn literals(&self, operands: &[ExprId]) -> Vec<Written> {
        let is_constant = |expr: &ExprId| matches!(self.node(*expr), Node::Constant(_));
        let has_other = !operands.iter().all(is_constant);
        let literal = |expr: &ExprId| match self.node(*expr) {
            Node::Constant(value) if has_other && number::is_weak(*value) => {
                let text = number::weak(*value);
                let binds = if text.starts_with('-') { PREFIX } else { ATOM };
                Written { text, binds, depth: 0 }
            }
            _ => self.get(*expr).clone(),
        };
        operands.iter().map(literal).collect()
    }

    fn elementwise(&self, op: Op, operands: &[ExprId]) -> (String, u8) {
        let mut written = self.literals(operands);
        if let (Op::Pow, &[_, exponent]) = (op, operands)
            && let Node::Constant(value) = self.node(exponent)
            && number::is_rewritten_as_exponent(*value)
        {
            written[1] = self.get(exponent).clone();
        }
        match (op, written.as_slice()) {
            (Op::Square, [x]) => (format!("{} ** 2", x.within(ATOM)), POWER),
            (Op::Negative, [x]) => (format!("-{}", x.within(POWER)), PREFIX),
            (Op::BitwiseInvert, [x]) => (format!("~{}", x.within(POWER)), PREFIX),
            (Op::Pow, [x, y]) => (format!("{} ** {}", x.within(ATOM), y.within(PREFIX)), POWER),
            (op, [x, y]) if let Some((symbol, binds)) = operator(op) => {
                // Comparisons do not chain; the others associate to the left.
                let left = if binds == COMPARISON { binds + 1 } else { binds };
                (format!("{} {symbol} {}", x.within(left), y.within(binds + 1)), binds)
            }
            (op, operands) => {
                let operands: Vec<&str> = operands.iter().map(|operand| &*operand.text).collect();
                (format!("{op}({})", operands.join(", ")), ATOM)
            }
        }
    }

    fn cast(&self, operand: ExprId, dtype: DType) -> (String, u8) {
        (format!("{}.astype({dtype})", self.get(operand).within(ATOM)), ATOM)
    }

    fn reduce(&self, expr: ExprId, op: ReduceOp, operand: ExprId, axes: &[usize], keepdims: bool) -> String {
        let mut text = format!("{op}({}", self.get(operand).text);
        let shape = self.graph.shape(operand);
        let selected = if op.needs_elements() { self.selected(expr, operand) } else { None };
        if let Some(selected) = &selected {
            text = format!("{op}({selected}");
        }
        match axes {
            [axis] => text += &format!(", axis={axis}"),
            axes if axes.len() == shape.rank() => {}
            axes => text += &format!(", axis={}", tuple(axes.iter().map(usize::to_string).collect())),
        }
        if keepdims {
            text += ", keepdims=True";
        }
        // Without a demand for elements, an empty axis gives the identity.
        let demands = self.demands.get(&expr).map_or(&[][..], Vec::as_slice);
        let is_safe = |axis: &usize| {
            let Ok(spare) = shape[*axis].sub(&Dim::ONE) else { return true };
            spare.interval(&|symbol| self.facts(symbol)).lower >= 0
                || demands.iter().any(|(_, demand)| *demand == spare)
        };
        if op.needs_elements() && selected.is_none() && !axes.iter().all(is_safe) {
            let identity = op.identity(self.graph.dtype(operand));
            text += &format!(", initial={}", number::weak(identity));
        }
        text + ")"
    }

    /// The operand of a reduction that needs elements among those that a mask selects: it reads all of them where the mask holds.
    fn selected(&self, expr: ExprId, operand: ExprId) -> Option<String> {
        let demands = self.demands.get(&expr)?;
        let is_decided = |symbol: SymbolId| self.graph.decided_by(symbol).is_some();
        demands.iter().flat_map(|(_, demand)| demand.symbols()).find(|symbol| is_decided(*symbol))?;
        let &Node::Select { condition, on_true, .. } = self.node(operand) else { return None };
        let (mut mask, mut axis) = (condition, 0);
        loop {
            match self.node(mask) {
                Node::View { view: View::BroadcastTo, operand } => mask = *operand,
                Node::View { view: View::ExpandDims(axes), operand } => {
                    axis = (0..=axes.len()).find(|axis| !axes.contains(axis))?;
                    mask = *operand;
                }
                _ => break,
            }
        }
        let (mask, whole) = (&self.get(mask).text, &self.get(on_true).text);
        Some(format!("compress({mask}, {whole}, axis={axis})"))
    }

    fn view(&self, expr: ExprId, view: &View, operand: ExprId, depth: usize) -> Written {
        let shape = self.graph.shape(expr);
        let inner = self.get(operand);
        let text = match view {
            View::Reshape | View::BroadcastTo | View::Rebind => {
                format!("{}({}, {})", view.name(), inner.text, self.sizes(shape))
            }
            View::Permute(axes) if axes.as_slice() == [1, 0] => format!("{}.T", inner.within(ATOM)),
            View::Permute(axes) => {
                format!(
                    "permute_dims({}, {})",
                    inner.text,
                    tuple(axes.iter().map(usize::to_string).collect())
                )
            }
            View::ExpandDims(axes) => {
                let item = |axis| if axes.contains(&axis) { "None" } else { ":" };
                let items: Vec<&str> = (0..shape.rank()).map(item).collect();
                format!("{}[{}]", inner.within(ATOM), items.join(", "))
            }
            View::Squeeze(axes) => match self.indexed(operand, axes) {
                Some(text) => text,
                None => {
                    let axes = tuple(axes.iter().map(usize::to_string).collect());
                    format!("squeeze({}, axis={axes})", inner.text)
                }
            },
            View::Windows(axis) => {
                let width = self.sizes(&shape[shape.rank() - 1..]);
                format!("{}({}, {width}, axis={axis})", view.name(), inner.text)
            }
            View::Slice(parts) => {
                let items: Vec<String> = (0..parts.len()).map(|axis| self.range(expr, axis)).collect();
                format!("{}[{}]", inner.within(ATOM), items.join(", "))
            }
        };
        Written { text, binds: ATOM, depth }
    }

    /// A slice whose axes of one element are squeezed away, as one index; `None` if the slice has other uses or makes
    /// other demands.
    fn indexed(&self, slice: ExprId, axes: &[usize]) -> Option<String> {
        let Node::View { view: View::Slice(parts), operand } = self.node(slice) else { return None };
        if self.uses.get(&slice) != Some(&1) || self.get(slice).depth == 0 {
            return None;
        }
        let item = |axis: usize| match axes.contains(&axis) {
            true => self.index(slice, axis),
            false => Some(self.range(slice, axis)),
        };
        let items: Vec<String> = (0..parts.len()).map(item).collect::<Option<_>>()?;
        Some(format!("{}[{}]", self.get(*operand).within(ATOM), items.join(", ")))
    }
}

/// Items in parentheses, as a tuple even if there is only one.
fn tuple(items: Vec<String>) -> String {
    match items.as_slice() {
        [item] => format!("({item},)"),
        items => format!("({})", items.join(", ")),
    }
}

/// The operator of an op, and how tightly it binds.
fn operator(op: Op) -> Option<(&'static str, u8)> {
    Some(match op {
        Op::Equal => ("==", COMPARISON),
        Op::NotEqual => ("!=", COMPARISON),
        Op::Less => ("<", COMPARISON),
        Op::LessEqual => ("<=", COMPARISON),
        Op::Greater => (">", COMPARISON),
        Op::GreaterEqual => (">=", COMPARISON),
        Op::BitwiseOr => ("|", 2),
        Op::BitwiseXor => ("^", 3),
        Op::BitwiseAnd => ("&", 4),
        Op::BitwiseLeftShift => ("<<", 5),
        Op::BitwiseRightShift => (">>", 5),
        Op::Add => ("+", 6),
        Op::Subtract => ("-", 6),
        Op::Multiply => ("*", 7),
        Op::Divide => ("/", 7),
        Op::FloorDivide => ("//", 7),
        Op::Remainder => ("%", 7),
        _ => return None,
    })
}
