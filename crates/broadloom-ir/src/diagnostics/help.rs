//! The parts of a diagnostic besides the problem: the operands, the origins of symbols, and suggestions that make
//! the op valid. In order of preference: (a) keep the axes of a reduction; (b) insert axes of size 1 where the
//! sizes of one operand are a subsequence of the other's, or align that operand with an axis; (c) permute the axes;
//! (d) reshape; (e) replace a symbol by another symbol or by a number, where the symbol is made or at this op. Each
//! suggestion is tried by inference before it is offered.

use super::headline::{headline, quoted};
use super::{
    Certainty, Conflict, Decider, Diagnostic, Help, Made, Operand, Origin, Problem, Rule, Size, advice,
    product,
};
use crate::dim::Dim;
use crate::graph::elementwise::SELECT_ROLES;
use crate::graph::{
    Graph, InputInfo, LIST, Mistake, Node, PLACED_OPS, SEARCH, SymbolKind, View, infer, scan_name,
};
use crate::ids::{ExprId, SymbolId};
use crate::ops::Op;
use crate::shape::{MAX_RANK, Shape};

/// The most suggestions of a diagnostic.
const MAX_HELPS: usize = 3;

/// Returns the diagnostic of a mistake.
pub(super) fn explain(graph: &Graph, mistake: &Mistake) -> Diagnostic {
    let Mistake { problem, operands, site, .. } = mistake;
    let op = mistake.op.as_deref().unwrap_or_default();
    let mut described = describe(graph, mistake, op);
    let shape = |name: &str, dims: &[Size], made| Operand {
        name: name.into(),
        dtype: None,
        dims: dims.to_vec(),
        columns: None,
        made,
        site: *site,
    };
    let conflicts: &[Conflict] = match problem {
        Problem::Broadcast(conflicts) => conflicts,
        Problem::Placed { axis, conflicts } => {
            if let Some([smaller, larger]) = by_rank(&described) {
                let [small, large] = [smaller, larger].map(|operand| described[operand].dims.len());
                let first = usize::try_from(*axis).unwrap_or(large - small);
                described[smaller].columns = Some((first..first + small).collect());
            }
            conflicts
        }
        Problem::Stretch { wanted, conflicts } => {
            described.push(shape("wanted", wanted, Made::Wanted));
            conflicts
        }
        Problem::Grows { result, .. } => {
            described.push(shape("result", result, Made::Result));
            &[]
        }
        // Comparison starts at the first axis.
        Problem::Unequal { .. } => {
            described
                .iter_mut()
                .for_each(|operand| operand.columns = Some((0..operand.dims.len()).collect()));
            &[]
        }
        // Both sizes of a diagonal would have the same place.
        Problem::Contraction { meetings, .. }
            if meetings.iter().any(|meeting| meeting.rule == Rule::Diagonal) =>
        {
            &[]
        }
        Problem::Contraction { alignment, conflicts, .. } => {
            for (operand, columns) in described.iter_mut().zip(&alignment.columns) {
                operand.columns = Some(columns.clone());
            }
            conflicts
        }
        _ => &[],
    };
    let inputs = &graph.inputs()[..mistake.inputs];
    let mut origins = inferred(graph, inputs, problem, &described);
    origins.extend(clashing(graph, inputs, conflicts, &described));
    origins.extend(decided(graph, &described));
    let mut helps = Vec::new();
    if let (Some(clash), Some(rewrite)) = (headline(problem), Rewrite::new(graph, op, problem, &described)) {
        // A change of the expression needs no further explanation; symbols are in doubt only without one.
        rewrite.keep_dims(operands, &mut helps);
        rewrite.unsqueeze(&mut helps);
        rewrite.permute(&mut helps);
        if helps.is_empty() {
            rewrite.reshape(&mut helps);
        }
        if helps.is_empty() {
            rewrite.pairs(conflicts, &mut helps);
            rewrite.rename(clash, &mut helps);
        }
    }
    if let Some(rewrite) = Rewrite::new(graph, op, problem, &described)
        && matches!(problem, Problem::Pointwise { is_harmless: false, .. } | Problem::Misaligned { .. })
    {
        match problem {
            Problem::Misaligned { .. } => rewrite.keep_dims(operands, &mut helps),
            _ => rewrite.unsqueeze(&mut helps),
        }
    }
    if matches!(problem, Problem::Placed { .. } | Problem::Placement { .. }) {
        place(graph, op, &described, &mut helps);
    }
    product::offer(graph, problem, op, &described, &mut helps);
    advice::offer(graph, mistake, op, &described, &mut helps);
    // Sizes that data decide have no names that could be written.
    helps
        .retain(|help| !help.text.contains('@') && help.code.as_ref().is_none_or(|code| !code.contains('@')));
    helps.truncate(MAX_HELPS);
    let (problem, op) = (problem.clone(), mistake.op.clone());
    Diagnostic { problem, op, site: *site, operands: described, origins, helps }
}

fn describe(graph: &Graph, mistake: &Mistake, op: &str) -> Vec<Operand> {
    let operands = mistake.operands.as_slice();
    let roles: &[&str] = match (op, operands) {
        ("select", _) => SELECT_ROLES,
        ("take", _) => &["table", "indices"],
        ("assign", _) => &["target", "value"],
        (_, [_]) => &["operand"],
        (_, [_, _]) => &["lhs", "rhs"],
        _ => Op::from_name(op).map_or(&[], |op| op.operands()),
    };
    let operand = |(index, (&expr, dims)): (usize, (&ExprId, &Vec<Size>))| {
        let made = made(graph, expr);
        let name = match &made {
            Made::Input(name) if is_identifier(name) && operands.len() < 3 => name.clone(),
            _ => {
                match op {
                    // Subscripts have no other names for operands.
                    "einsum" => format!("operand {index}").into(),
                    _ => roles.get(index).copied().unwrap_or("operand").into(),
                }
            }
        };
        let (dtype, site) = (Some(graph.dtype(expr)), graph.site(expr));
        Operand { name, dtype, dims: dims.clone(), columns: None, made, site }
    };
    operands.iter().zip(&mistake.dims).enumerate().map(operand).collect()
}

fn made(graph: &Graph, expr: ExprId) -> Made {
    let input_name = |expr: &ExprId| match graph.node(*expr) {
        Node::Input(input) => graph.inputs().get(input.index()).map(|info| info.name.clone()),
        _ => None,
    };
    let alone = |op: &str| Made::Op { op: op.into(), of: None };
    let op = |op: &str, first| Made::Op { op: op.into(), of: input_name(first) };
    // Nodes that functions of other names are made of.
    let own_name = match graph.node(expr) {
        Node::Iota => Some("iota"),
        Node::Concat { .. } => Some("concat"),
        Node::Cast(_) => Some("cast"),
        Node::View { view: view @ (View::Reshape | View::ExpandDims(_) | View::BroadcastTo), .. } => {
            Some(view.name())
        }
        _ => None,
    };
    if let (Some(own_name), Some(call)) = (own_name, graph.call_of(expr)) {
        match call {
            LIST => return Made::List,
            "index" => {}
            call if call == own_name => {}
            call => return alone(call),
        }
    }
    match graph.node(expr) {
        Node::Input(_) => input_name(&expr).map_or_else(|| alone("input"), Made::Input),
        Node::Constant(value) => Made::Constant(*value),
        Node::Elementwise { op, .. } => alone(op.name()),
        Node::Select { .. } => alone("select"),
        Node::Cast(operand) => op("cast", operand),
        Node::Reduce { op: reduce, operand, .. } => op(reduce.name(), operand),
        Node::View { view: View::Permute(axes), operand } if axes.len() == 2 => op("transpose", operand),
        Node::View { view, operand } => op(view.name(), operand),
        Node::Take { table, .. } => op("take", table),
        Node::Compress { operand, .. } => op("compress", operand),
        Node::Iota => alone("iota"),
        Node::Size(_) => alone("size"),
        Node::Concat { .. } => alone("concat"),
        Node::Set { base, .. } => op("set", base),
        Node::Scatter { op: by, base, .. } => op(by.map_or("set", |by| by.name()), base),
        Node::Segment { values, .. } => op("segment", values),
        Node::TopK { operand, topk } => op(topk.name(), operand),
        Node::Sort { operand, sort } => op(sort.name(), operand),
        Node::Search { values, .. } => op(SEARCH, values),
        Node::Scan { op: scanned, operand, .. } => op(scan_name(*scanned), operand),
        Node::Step { name, .. } => Made::Input(name.clone()),
        Node::Loop { .. } => alone("loop"),
        Node::Poison => alone("poison"),
    }
}

/// Returns whether a name can be part of an expression.
fn is_identifier(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_numeric())
        && name.chars().all(|letter| letter == '_' || letter.is_alphanumeric())
}

/// Returns the axes whose inferred sizes are mentioned.
fn inferred(graph: &Graph, inputs: &[InputInfo], problem: &Problem, operands: &[Operand]) -> Vec<Origin> {
    let mut sizes: Vec<&Size> = operands.iter().flat_map(|operand| &operand.dims).collect();
    match problem {
        Problem::Broadcast(conflicts)
        | Problem::Placed { conflicts, .. }
        | Problem::Contraction { conflicts, .. }
        | Problem::Stretch { conflicts, .. } => {
            let steps = conflicts.iter().flat_map(|conflict| &conflict.inferred);
            sizes.extend(steps.flat_map(|step| &*step.sizes));
        }
        Problem::Undecided { sizes: both, .. } => sizes.extend(&**both),
        Problem::Indivisible { have, by, .. } => sizes.extend([have, by]),
        _ => {}
    }
    let mut origins: Vec<Origin> = Vec::new();
    for symbol in sizes.iter().flat_map(|size| size.dim.symbols()) {
        let Some(info) = graph.symbols().get(symbol.index()) else { continue };
        if info.kind != SymbolKind::Flexible || origins.iter().any(|known| known.symbol == info.name) {
            continue;
        }
        if let Some((input, axis)) = origin(inputs, symbol) {
            let of = Decider::Axis { input: input.name.clone(), axis };
            origins.push(Origin { symbol: info.name.clone(), of, site: input.site });
        }
    }
    origins
}

/// Returns the origins of the symbols in clashing sizes, unless the operand with the symbol is an input, which
/// shows it.
fn clashing(
    graph: &Graph,
    inputs: &[InputInfo],
    conflicts: &[Conflict],
    operands: &[Operand],
) -> Vec<Origin> {
    let mut origins: Vec<Origin> = Vec::new();
    for conflict in conflicts {
        for (operand, size) in
            [(conflict.left_operand, &conflict.left), (conflict.right_operand, &conflict.right)]
        {
            if operands.get(operand).is_none_or(|operand| !matches!(operand.made, Made::Op { .. })) {
                continue;
            }
            for symbol in size.dim.symbols() {
                let name: Box<str> = graph.size_as_written(&Dim::symbol(symbol)).text().into();
                let is_inferred = name.starts_with('?');
                if is_inferred || origins.iter().any(|origin| origin.symbol == name) {
                    continue;
                }
                if let Some((input, axis)) = origin(inputs, symbol) {
                    let of = Decider::Axis { input: input.name.clone(), axis };
                    origins.push(Origin { symbol: name, of, site: input.site });
                }
            }
        }
    }
    origins
}

/// Returns what decides the sizes of operands that the data of a run decide.
fn decided(graph: &Graph, operands: &[Operand]) -> Vec<Origin> {
    let mut origins: Vec<Origin> = Vec::new();
    for symbol in operands.iter().flat_map(|operand| &operand.dims).flat_map(|size| size.dim.symbols()) {
        let Some(info) = graph.symbols().get(symbol.index()) else { continue };
        let Some(mut by) = info.kind.decided_by() else { continue };
        while let Node::View { operand, .. } = graph.node(by) {
            by = *operand;
        }
        if origins.iter().any(|known| known.symbol == info.name) {
            continue;
        }
        let call = match made(graph, by) {
            Made::Input(name) => name,
            Made::Op { op, .. } => op,
            Made::List | Made::Constant(_) | Made::Wanted | Made::Result => continue,
        };
        let of = match info.kind {
            SymbolKind::Count(_) => Decider::Mask(call),
            _ => Decider::Number(call),
        };
        origins.push(Origin { symbol: info.name.clone(), of, site: graph.site(by) });
    }
    origins
}

/// A failed op whose operands can be changed and tried again.
struct Rewrite<'a> {
    graph: &'a Graph,
    op: &'a str,
    operands: &'a [Operand],
    dims: Vec<Vec<Dim>>,
    /// Whether the second operand is a requested shape.
    stretches: bool,
}

impl<'a> Rewrite<'a> {
    fn new(graph: &'a Graph, op: &'a str, problem: &Problem, operands: &'a [Operand]) -> Option<Rewrite<'a>> {
        let stretches = match problem {
            Problem::Broadcast(_) | Problem::Pointwise { .. } | Problem::Misaligned { .. } => false,
            Problem::Stretch { .. } => true,
            _ => return None,
        };
        let dims = operands.iter().map(|operand| operand.dims.iter().map(|size| size.dim.clone()).collect());
        Some(Rewrite { graph, op, operands, dims: dims.collect(), stretches })
    }

    /// Returns the shape of the result for changed operands, if they fit.
    fn infer(&self, dims: &[Vec<Dim>]) -> Option<Shape> {
        let facts = |symbol| self.graph.facts(symbol);
        let compare: infer::Compare = &mut |_, (_, left), (_, right)| infer::compare(left, right, &facts);
        if dims.iter().any(|dims| dims.len() > MAX_RANK) {
            return None;
        }
        match (self.stretches, dims) {
            (true, [operand, wanted]) => {
                infer::stretch(operand, wanted, compare).ok()?;
                Some(wanted.clone().into())
            }
            _ => {
                let dims: Vec<&[Dim]> = dims.iter().map(Vec::as_slice).collect();
                infer::broadcast(&dims, compare).ok()
            }
        }
    }

    /// Returns the sides that a rewrite may change, each with the other side: the right one first.
    fn sides(&self) -> &'static [(usize, usize)] {
        match (self.stretches, self.dims.len()) {
            (true, _) => &[(0, 1)],
            (false, 2) => &[(1, 0), (0, 1)],
            (false, _) => &[],
        }
    }

    /// Offers `operand.change` in place of an operand if inference accepts its new sizes.
    fn offer(&self, side: usize, dims: Vec<Dim>, change: &str, text: String, helps: &mut Vec<Help>) -> bool {
        let mut changed = self.dims.clone();
        changed[side] = dims;
        let Some(result) = self.infer(&changed) else { return false };
        let changed = format!("{}{change}", self.operands[side].name);
        let help = self.help(side, &changed, text, &result);
        helps.push(help);
        true
    }

    /// Returns the op with other text for an operand.
    fn help(&self, side: usize, changed: &str, text: String, result: &[Dim]) -> Help {
        let mut names: Vec<&str> = self.operands.iter().map(|operand| &*operand.name).collect();
        names[side] = changed;
        // A requested shape is an argument of `broadcast_to` only; elsewhere the operand alone is to be replaced.
        let code = match self.stretches && !self.op.starts_with("broadcast") {
            true => changed.to_owned(),
            false => call(self.op, names[0], names[1], &self.operands[1]),
        };
        Help {
            text: text.into(),
            code: Some(code.into()),
            result: Some(sizes(self.graph, result)),
            assumes: false,
        }
    }

    /// (a) An operand is a reduction that would fit if its axes were kept.
    fn keep_dims(&self, operands: &[ExprId], helps: &mut Vec<Help>) {
        for &(side, _) in self.sides() {
            let Some(&operand) = operands.get(side) else { continue };
            let Node::Reduce { op, operand: of, axes, keepdims: false } = self.graph.node(operand) else {
                continue;
            };
            let mut dims = self.dims[side].clone();
            axes.iter().for_each(|&axis| dims.insert(axis.min(dims.len()), Dim::ONE));
            let mut changed = self.dims.clone();
            changed[side] = dims;
            let Some(result) = self.infer(&changed) else { continue };
            let of = match made(self.graph, *of) {
                Made::Input(name) if is_identifier(&name) => name,
                _ => "..".into(),
            };
            let axes = match axes.as_slice() {
                [axis] => axis.to_string(),
                axes => format!("{axes:?}"),
            };
            let kept = format!("{of}.{op}_keepdims({axes})");
            helps.push(self.help(side, &kept, "keep the reduced axis with size 1:".to_owned(), &result));
            return;
        }
    }

    /// (b) One operand's sizes are a subsequence of the other's: axes of size 1 align them.
    fn unsqueeze(&self, helps: &mut Vec<Help>) {
        for &(side, other) in self.sides() {
            let Some(places) = subsequence(&self.dims[side], &self.dims[other]) else { continue };
            let Some(&first) = places.first() else { continue };
            let mut dims = Vec::new();
            let mut change = String::new();
            let mut is_trailing = true;
            for place in first..self.dims[other].len() {
                match places.iter().position(|&taken| taken == place) {
                    Some(own) => {
                        is_trailing &= change.is_empty();
                        dims.push(self.dims[side][own].clone());
                    }
                    None => {
                        change += &format!(".unsqueeze({})", dims.len());
                        dims.push(Dim::ONE);
                    }
                }
            }
            let count = dims.len() - self.dims[side].len();
            let text = self.unsqueeze_text(side, other, first, is_trailing.then_some(count));
            if change.is_empty() || !self.offer(side, dims, &change, text, helps) {
                continue;
            }
            let is_together = places.windows(2).all(|pair| pair[0] + 1 == pair[1]);
            if is_trailing && is_together && !self.stretches && has_axis_form(self.op) {
                let (left, right) = (&self.operands[0].name, &self.operands[1].name);
                let code = format!("{left}.{}_axis({right}, {first})", self.op);
                let (text, result) = ("the same, naming the axis:".into(), helps.last());
                let result = result.and_then(|help| help.result.clone());
                helps.push(Help { text, code: Some(code.into()), result, assumes: false });
            }
            return;
        }
    }

    /// `trailing` is the number of new axes if all of them come last.
    fn unsqueeze_text(&self, side: usize, other: usize, place: usize, trailing: Option<usize>) -> String {
        let (own, target) = (&self.operands[side], &self.operands[other]);
        let other = if self.stretches { "the requested shape" } else { &target.name };
        let verb = match self.op {
            "add" => "add",
            "subtract" => "subtract",
            "multiply" => "multiply by",
            "divide" => "divide by",
            _ => "have",
        };
        match (own.dims.as_slice(), trailing) {
            ([size], _) if size.dim.as_symbol().is_some() => {
                format!("`{size}` matches axis {place} of {other}:")
            }
            ([_], Some(1)) if target.dims.len() == 2 => {
                format!("to {verb} one value per row, give {} a trailing axis:", own.name)
            }
            ([size], _) => format!("{size} matches axis {place} of {other}:"),
            (_, Some(1)) => format!("give {} a trailing axis of size 1:", own.name),
            (_, Some(_)) => format!("give {} trailing axes of size 1:", own.name),
            (_, None) => format!("give {} axes of size 1 where {other} has more:", own.name),
        }
    }

    /// (c) The sizes are present in another order.
    fn permute(&self, helps: &mut Vec<Help>) {
        for &(side, other) in self.sides() {
            let (own, target) = (&self.dims[side], &self.dims[other]);
            let Some(target) = target.len().checked_sub(own.len()).and_then(|skip| target.get(skip..)) else {
                continue;
            };
            let mut axes: Vec<usize> = Vec::new();
            for want in target {
                let free = (0..own.len()).find(|axis| own[*axis] == *want && !axes.contains(axis));
                axes.extend(free);
            }
            if axes.len() != own.len() || axes.is_sorted() {
                continue;
            }
            let (change, text) = match axes.as_slice() {
                [_, _] => (".t()".to_owned(), "the sizes match after transposing:"),
                axes => (format!(".permute_dims({axes:?})"), "the sizes match in another order:"),
            };
            if self.offer(side, target.to_vec(), &change, text.to_owned(), helps) {
                return;
            }
        }
    }

    /// (d) The numbers of elements are equal.
    fn reshape(&self, helps: &mut Vec<Help>) {
        for &(side, other) in self.sides() {
            let (own, target) = (&self.dims[side], &self.dims[other]);
            let (Ok(have), Ok(want)) = (Dim::product(own), Dim::product(target)) else { continue };
            if have != want || own.len() > target.len() {
                continue;
            }
            let sizes = &self.operands[other].dims;
            let text = format!("both have {} elements:", quoted(&self.graph.size_as_written(&have)));
            if self.offer(side, target.clone(), &format!(".reshape({sizes:?})"), text, helps) {
                return;
            }
        }
    }

    /// (e) Only the sizes of one axis differ: axes of size 1 separate the operands.
    fn pairs(&self, conflicts: &[Conflict], helps: &mut Vec<Help>) {
        let (&[(_, _), ..], [clash], [left, right]) = (self.sides(), conflicts, self.dims.as_slice()) else {
            return;
        };
        let (rank, axis) = (left.len(), clash.axis);
        // Elements along the last of several axes belong together, such as the coordinates of a point.
        if self.stretches || rank != right.len() || (axis + 1 == rank && rank > 1) {
            return;
        }
        // Sizes such as n + 1 and n are an off-by-one mistake, not two kinds of things.
        let apart = clash.left.dim.sub(&clash.right.dim).ok().and_then(|apart| apart.as_constant());
        if apart.is_some() && clash.left.dim.as_constant().is_none() {
            return;
        }
        let mut dims = [left.clone(), right.clone()];
        dims[0].insert(axis + 1, Dim::ONE);
        dims[1].insert(axis, Dim::ONE);
        let Some(result) = self.infer(&dims) else { return };
        let left = format!("{}.unsqueeze({})", self.operands[0].name, axis + 1);
        // A new leading axis needs no code.
        let right = match axis {
            0 => self.operands[1].name.to_string(),
            axis => format!("{}.unsqueeze({axis})", self.operands[1].name),
        };
        let (one, several) = match (rank, axis) {
            (1, _) => ("element", "elements".to_owned()),
            (_, 0) => ("row", "rows".to_owned()),
            (_, axis) => ("slice", format!("slices along axis {axis}")),
        };
        helps.push(Help {
            text: format!("to combine every pair of {several}:").into(),
            code: Some(call(self.op, &left, &right, &self.operands[1]).into()),
            result: Some(sizes(self.graph, &result)),
            assumes: false,
        });
        if clash.certainty == Certainty::Never {
            let text = format!("to pair {one} with {one}, give both the same number of {several}");
            helps.push(Help { text: text.into(), code: None, result: None, assumes: false });
        }
    }

    /// (f) Use one symbol for both, or the value of a symbol that is always the same.
    fn rename(&self, clash: &Conflict, helps: &mut Vec<Help>) {
        if clash.certainty == Certainty::Never {
            return;
        }
        let (left, right) = (&clash.left, &clash.right);
        let (symbol, old, new) = match (left.dim.as_symbol(), right.dim.as_symbol()) {
            (_, Some(symbol)) => (symbol, right, left),
            (Some(symbol), None) => (symbol, left, right),
            (None, None) => return self.rebind(clash, helps),
        };
        let substitute =
            |dims: &Vec<Dim>| dims.iter().map(|dim| dim.substitute(symbol, &new.dim).ok()).collect();
        let Some(dims) = self.dims.iter().map(substitute).collect::<Option<Vec<Vec<Dim>>>>() else { return };
        let Some(result) = self.infer(&dims) else { return self.rebind(clash, helps) };
        let text = match (new.dim.as_symbol(), new.dim.as_constant()) {
            (Some(_), _) => {
                format!("if `{old}` is always `{new}`, use one symbol, or declare them equal:")
            }
            (None, _) => {
                format!("if `{old}` is always {new}, write that instead of the symbol, or declare it:")
            }
        };
        let code = format!("g.declare_equal({old}, {new})");
        let result = Some(sizes(self.graph, &result));
        helps.push(Help { text: text.into(), code: Some(code.into()), result, assumes: true });
        self.rebind(clash, helps);
        let side =
            if left.dim.as_symbol() == Some(symbol) { clash.left_operand } else { clash.right_operand };
        let operand = &self.operands[side];
        if let (Made::Input(_), Some(_)) = (&operand.made, new.dim.as_symbol()) {
            let text = format!("if that axis of {} may also be 1, declare it as `#{new}`", operand.name);
            helps.push(Help { text: text.into(), code: None, result: None, assumes: true });
        }
    }

    /// States the sizes of one operand at this op.
    fn rebind(&self, clash: &Conflict, helps: &mut Vec<Help>) {
        if self.stretches || self.operands.len() != 2 || clash.certainty == Certainty::Never {
            return;
        }
        let (side, operand) = (clash.right_operand, &self.operands[clash.right_operand]);
        let rank = self.dims.iter().map(Vec::len).max().unwrap_or(0);
        let Some(own) = (clash.axis + operand.dims.len()).checked_sub(rank) else { return };
        let mut dims = self.dims[side].clone();
        let Some(size) = dims.get_mut(own) else { return };
        *size = clash.left.dim.clone();
        let text: Vec<String> = (operand.dims.iter().enumerate())
            .map(|(axis, size)| if axis == own { clash.left.to_string() } else { size.to_string() })
            .collect();
        let change = format!(".rebind(shape![{}])", text.join(", "));
        let text = "to state it only here, checked by each call:".to_owned();
        if self.offer(side, dims, &change, text, helps)
            && let Some(help) = helps.last_mut()
        {
            help.assumes = true;
        }
    }
}

/// Returns a call of an op as it is written.
fn call(op: &str, left: &str, right: &str, second: &Operand) -> String {
    match op {
        "add" => format!("{left} + {right}"),
        "subtract" => format!("{left} - {right}"),
        "multiply" => format!("{left} * {right}"),
        "divide" => format!("{left} / {right}"),
        "broadcast_to" => format!("{left}.broadcast_to({:?})", second.dims),
        op => format!("{left}.{op}({right})"),
    }
}

/// Returns whether a form of the op takes an axis.
fn has_axis_form(op: &str) -> bool {
    Op::from_name(op).is_some_and(|op| PLACED_OPS.contains(&op))
}

/// Returns the operand that is aligned with an axis, and the other operand: for equal ranks the second is aligned.
fn by_rank(operands: &[Operand]) -> Option<[usize; 2]> {
    let [left, right] = operands else { return None };
    Some(if right.dims.len() <= left.dims.len() { [1, 0] } else { [0, 1] })
}

/// Adds the axes at which the aligned operand fits.
fn place(graph: &Graph, op: &str, operands: &[Operand], helps: &mut Vec<Help>) {
    let facts = |symbol| graph.facts(symbol);
    let dims = |operand: &Operand| operand.dims.iter().map(|size| size.dim.clone()).collect::<Vec<Dim>>();
    let (Some(by_rank), [left, right]) = (by_rank(operands), operands) else { return };
    let [mut small, large] = by_rank.map(|operand| dims(&operands[operand]));
    // The alignment that broadcasting uses; trailing literal 1s may be left out or not.
    let default = large.len() - small.len();
    while small.last().is_some_and(Dim::is_one) {
        small.pop();
    }
    for axis in 0..=large.len() - small.len() {
        let mut placed = small.clone();
        placed.resize(large.len() - axis, Dim::ONE);
        let compare: infer::Compare = &mut |_, (_, left), (_, right)| infer::compare(left, right, &facts);
        let Ok(result) = infer::broadcast(&[&large, &placed], compare) else { continue };
        let (left, other) = (&left.name, &right.name);
        let mut code = format!("{left}.{op}_axis({other}, {axis})");
        let mut text = format!("it fits at axis={axis}:");
        if axis == default {
            code = call(op, left, other, right);
            text = format!("it fits at axis={axis}, where plain broadcasting puts it:");
        }
        let result = Some(sizes(graph, &result));
        helps.push(Help { text: text.into(), code: Some(code.into()), result, assumes: false });
    }
}

/// Returns sizes of operands, including everything found about inferred sizes when the mistake was made.
pub(super) fn sizes(graph: &Graph, dims: &[Dim]) -> Vec<Size> {
    dims.iter().map(|dim| graph.size_as_written(dim)).collect()
}

/// Returns the input and axis that explain a symbol: the first axis that is the symbol alone, or else one that
/// mentions it.
fn origin(inputs: &[InputInfo], symbol: SymbolId) -> Option<(&InputInfo, usize)> {
    let mentions = || {
        let axes = inputs.iter().flat_map(|input| (0..input.shape.rank()).map(move |axis| (input, axis)));
        axes.filter(|(input, axis)| input.shape[*axis].symbols().contains(&symbol))
    };
    let alone = mentions().find(|(input, axis)| input.shape[*axis].as_symbol().is_some());
    alone.or_else(|| mentions().next())
}

/// Returns where the sizes of `own` occur in `target`, in order; the last positions if there is a choice.
fn subsequence(own: &[Dim], target: &[Dim]) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    let mut end = target.len();
    for dim in own.iter().rev() {
        end = (0..end).rev().find(|&place| target[place] == *dim || dim.is_one())?;
        places.push(end);
    }
    places.reverse();
    Some(places)
}
