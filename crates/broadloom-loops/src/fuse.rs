//! Decides which expressions are computed together.
//!
//! ```text
//! outputs ──▶ one kernel per group of equal shapes, fused up to the inputs
//!    ▲                 │
//!    └── stored nodes ◀┘  what a kernel would compute again and again, and what has to lie in memory
//! ```
//!
//! Fusion is the rule and a stored array the exception. Each stored array has one of two reasons: computing its
//! elements where they are used would cost more than storing them once, or its consumer indexes it freely.

mod group;
mod order;
mod update;

use crate::flat::{Flat, FlatId, Kind};
use crate::kernel::*;
use crate::make::{make, sort_rows};
use crate::materialize::Materialization;
use crate::nest::{Nest, Pairs, Short, Target};
use crate::pieces::Piece;
use crate::place::Placement;
use crate::plan::Reason;
use crate::rows::near_bytes;
use crate::thresholds::{MAX_KERNEL_REDUCTIONS, MAX_KERNEL_VALUES};
use crate::update::{Updated, Updates};
use crate::verify::{Broken, Fault};
use crate::{IndexWidth, Layout, LowerError, LowerOptions};
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{CheckedGraph, Sort, SymbolInfo};
use order::assigned;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use update::{InPart, Pieces};

/// Returns the schedule of a graph: the kernels that compute its outputs, in launch order.
///
/// # Errors
/// Returns an error if an offset or a stride of the graph cannot be expressed.
pub fn lower(graph: &CheckedGraph, options: &LowerOptions) -> Result<Schedule, LowerError> {
    let graph = &graph.with_sizes(&options.sizes)?;
    let mut updates = Updates::new();
    loop {
        let (schedule, nodes) = scheduled(graph, options, &mut updates)?;
        if !updates.defer_all(&schedule, &nodes)? {
            return Ok(schedule);
        }
    }
}

/// Returns the schedule of a graph that updates arrays in certain ways, and the nodes of the arrays that start as others.
fn scheduled(
    graph: &CheckedGraph,
    options: &LowerOptions,
    updates: &mut Updates,
) -> Result<(Schedule, BTreeMap<BufferId, Updated>), LowerError> {
    let mut flat = Flat::new(graph, options)?;
    let updated = flat.updated(&assigned(graph, &flat.buffers), updates);
    flat.store_replacements(updates);
    let (plan, assumptions) = Materialization::new(&mut flat, options)?;
    let (stored, kernels, partial) = (HashMap::new(), Vec::new(), Vec::new());
    let (holders, next, made, cut) = (HashMap::new(), HashMap::new(), Vec::new(), RefCell::default());
    let mut fusion = Fusion {
        flat,
        plan,
        stored,
        holders,
        updates,
        updated,
        partial,
        next,
        kernels,
        made,
        assumptions,
        cut,
    };
    for node in fusion.plan.materialized().collect::<Vec<_>>() {
        fusion.store(node);
    }
    for node in fusion.updates.in_turn().collect::<Vec<_>>() {
        let changes =
            std::iter::successors(fusion.change_before(node), |change| fusion.change_before(*change));
        for change in changes.collect::<Vec<_>>() {
            fusion.plan.add(change, Reason::Changed);
            fusion.store(change);
        }
    }
    fusion.run(graph, options)?;
    let (mut schedule, nodes) = fusion.finish(graph)?;
    crate::index::remove_checks(&mut schedule);
    schedule.kernels.iter_mut().for_each(crate::registers::decide);
    crate::streamed::stream(&mut schedule, &options.streamed);
    crate::verify(&schedule)?;
    Ok((schedule, nodes))
}

/// The outcome of an attempt to make a kernel.
enum Attempt {
    /// The kernel and its assumptions.
    Made(Box<Kernel>, Vec<Assumption>),
    /// Nodes that have to be stored first, with the reasons.
    Wants(Vec<(FlatId, Reason)>),
    /// Too large for one kernel: use fewer pieces or roots, or else store these nodes.
    Large(Vec<FlatId>),
}

impl Attempt {
    /// Returns whether nothing but the size of the kernel is in the way.
    fn is_large(&self) -> bool {
        match self {
            Attempt::Made(..) => false,
            Attempt::Wants(nodes) => {
                !nodes.is_empty() && nodes.iter().all(|(_, reason)| *reason == Reason::Large)
            }
            Attempt::Large(_) => true,
        }
    }
}

struct Fusion<'u> {
    flat: Flat,
    plan: Materialization,
    stored: HashMap<FlatId, BufferId>,
    /// The nodes of the arrays of `stored`.
    holders: HashMap<BufferId, FlatId>,
    updates: &'u mut Updates,
    /// The inputs whose elements outputs have where these do not change.
    updated: BTreeMap<FlatId, BufferId>,
    /// The nodes with kernels that are written in part.
    partial: Vec<InPart>,
    /// For each array that another starts as, the node of that one, and the last version in its memory.
    next: HashMap<BufferId, (FlatId, BufferId)>,
    kernels: Vec<Kernel>,
    assumptions: Vec<Assumption>,
    /// The assumptions of the kernels made so far.
    made: Vec<Assumption>,
    /// The pieces of nodes, as long as no more nodes are stored.
    cut: RefCell<HashMap<FlatId, Rc<Pieces>>>,
}

impl Fusion<'_> {
    /// Gives a node an array: that of an output, if its layout is that of arrays between kernels.
    fn store(&mut self, node: FlatId) {
        if self.stored.contains_key(&node) {
            return;
        }
        let output = self
            .flat
            .output_buffers(node)
            .into_iter()
            .find(|b| self.flat.layouts[b.index()] == Layout::Dense);
        let buffer = output.unwrap_or_else(|| {
            let entry = self.flat.node(node).clone();
            let name = format!("t{}", self.stored.len());
            let buffer = self.flat.buffer(&name, Role::Temporary, entry.dtype, entry.shape, Layout::Dense);
            self.flat.buffers[buffer.index()].holds = Some(entry.origin);
            buffer
        });
        self.flat.buffers[buffer.index()].reason = self.plan.reason(node);
        self.stored.insert(node, buffer);
        self.holders.insert(buffer, node);
        self.cut.borrow_mut().clear();
    }

    /// Returns everything that a kernel of a node writes.
    fn targets(&self, node: FlatId) -> Vec<BufferId> {
        let mut targets = self.flat.output_buffers(node);
        if let Some(&buffer) = self.stored.get(&node)
            && !targets.contains(&buffer)
        {
            targets.push(buffer);
        }
        targets
    }

    fn sizes(&self, node: FlatId) -> Vec<Dim> {
        self.flat.node(node).shape.iter().filter(|dim| !dim.is_one()).cloned().collect()
    }

    fn run(&mut self, graph: &CheckedGraph, options: &LowerOptions) -> Result<(), LowerError> {
        let name = |dim: &Dim| axis_name(dim, graph);
        let outputs: BTreeSet<FlatId> = self.flat.outputs.iter().copied().collect();
        let mut pending = outputs.clone();
        let mut computed: BTreeSet<FlatId> = BTreeSet::new();
        let mut most_roots = usize::MAX;
        while let Some(last) = self.next(&pending) {
            let roots = self.group(last, &pending, most_roots)?;
            let mut waiting = self.pieces_by_kernel(last)?;
            let mut kernels = Vec::new();
            let mut refused =
                self.missing_base(&roots).map(|base| Attempt::Wants(vec![(base, Reason::Overwritten)]));
            while refused.is_none()
                && let Some(pieces) = waiting.pop()
            {
                match self.kernel(&roots, &pieces, options, &name)? {
                    Attempt::Made(kernel, assumptions) => {
                        self.made.extend(assumptions);
                        kernels.push(*kernel);
                    }
                    Attempt::Large(_) if pieces.len() > 1 => {
                        let (first, second) = pieces.split_at(pieces.len() / 2);
                        waiting.extend([first.to_vec(), second.to_vec()]);
                    }
                    attempt => refused = Some(attempt),
                }
            }
            if let Some(attempt) = &refused
                && let Some(section) = self.plan.section(last)
            {
                match attempt.is_large() {
                    true => {
                        let crosses = self.plan.halve(&self.flat, section);
                        crosses.into_iter().for_each(|node| self.store(node));
                    }
                    false => self.plan.dissolve(section),
                }
                continue;
            }
            let updates = if refused.is_none() { self.in_part(&roots)? } else { Vec::new() };
            if let Some(update) = updates.iter().find(|update| self.overwrites(&kernels, update)) {
                match self.change_before(update.node) {
                    Some(change) => refused = Some(Attempt::Wants(vec![(change, Reason::Changed)])),
                    None => {
                        let node = Updated { node: update.node, has_changes: false };
                        if !self.updates.defer(node, None) {
                            let fault = Fault::Start(update.array);
                            return Err(Broken { kernel: KernelId::new(0), fault }.into());
                        }
                        self.cut.borrow_mut().clear();
                        continue;
                    }
                }
            }
            match refused {
                Some(Attempt::Large(_)) if roots.len() > 1 => {
                    most_roots = roots.len() / 2;
                    continue;
                }
                Some(Attempt::Large(nodes)) if nodes.is_empty() => return Err(LowerError::TooManyAxes),
                Some(attempt @ (Attempt::Large(_) | Attempt::Wants(_))) => {
                    let nodes = match attempt {
                        Attempt::Large(nodes) => {
                            nodes.into_iter().map(|node| (node, Reason::Large)).collect()
                        }
                        Attempt::Wants(nodes) => nodes,
                        Attempt::Made(..) => Vec::new(),
                    };
                    // A stored node is read from its array except in the kernel that makes it, where only a join
                    // that is not cut into pieces asks for itself.
                    if nodes.iter().all(|(node, _)| self.stored.contains_key(node)) {
                        return Err(LowerError::UndecidedJoin);
                    }
                    // An earlier kernel computed this output beside others. A reader of the array would wait for
                    // that kernel, which may in turn wait for the reader, and the output would be computed twice.
                    // So start again with the output stored, at most once for each output.
                    if nodes
                        .iter()
                        .any(|(node, _)| computed.contains(node) && !self.stored.contains_key(node))
                    {
                        self.kernels.clear();
                        self.made.clear();
                        self.partial.clear();
                        self.next.clear();
                        pending.clone_from(&outputs);
                        computed.clear();
                    }
                    for (node, reason) in nodes {
                        self.plan.add(node, reason);
                        self.store(node);
                    }
                    continue;
                }
                Some(Attempt::Made(..)) | None => {}
            }
            // Other groups may have room for more.
            most_roots = most_roots.saturating_mul(2);
            roots.iter().for_each(|root| _ = pending.remove(root));
            computed.extend(&roots);
            let accesses = kernels.iter().flat_map(|kernel| &kernel.accesses);
            let mut read: BTreeSet<BufferId> = accesses.filter_map(|access| access.buffer).collect();
            for update @ InPart { node, array, before } in updates {
                read.insert(before);
                self.partial.push(update);
                let last = self.next.get(&array).map_or(array, |(_, last)| *last);
                self.next.insert(before, (node, last));
                // Another change cannot start as the same array.
                self.cut.borrow_mut().clear();
            }
            // All readers of an array are made before the kernels that write it, so no cycle can arise.
            let needed = read.iter().filter_map(|buffer| self.holders.get(buffer).copied());
            let needed = needed.filter(|node| !roots.contains(node));
            // Copies of arrays are an exception: everything they need exists, so they can be made at any time.
            pending.extend(needed.filter(|node| !(self.flat.is_pack(*node) && computed.contains(node))));
            self.kernels.extend(kernels);
        }
        Ok(())
    }

    /// Returns the kernel that computes some pieces of the roots, or what has to be stored or cut first.
    fn kernel(
        &self,
        roots: &[FlatId],
        pieces: &[Piece],
        options: &LowerOptions,
        name: &dyn Fn(&Dim) -> String,
    ) -> Result<Attempt, LowerError> {
        if let Kind::Sort { operand, sort } = self.flat.node(roots[0]).kind {
            return self.sorting(roots[0], operand, sort, name);
        }
        let mut across = Vec::new();
        for root in roots {
            across.extend(self.against(*root)?.into_iter().map(|node| (node, Reason::Across)));
        }
        if !across.is_empty() {
            return Ok(Attempt::Wants(across));
        }
        let targets: Vec<Target> = roots.iter().map(|root| (*root, self.targets(*root))).collect();
        let mut nest = match self.nest(&targets, pieces, options) {
            Err(LowerError::TooManyAxes) => return Ok(Attempt::Large(self.reductions_below(roots))),
            nest => nest?,
        };
        let crowded = nest.values.len() > MAX_KERNEL_VALUES || nest.reductions.len() > MAX_KERNEL_REDUCTIONS;
        let divisible = roots.len() > 1 || pieces.len() > 1;
        if crowded && divisible {
            return Ok(Attempt::Large(Vec::new()));
        }
        let mut wanted = std::mem::take(&mut nest.wanted);
        if wanted.is_empty() {
            let placement = Placement::new(&nest, options);
            wanted = placement.recomputed().into_iter().map(|node| (node, Reason::Loops)).collect();
            wanted.extend(placement.short_calls());
            wanted.extend(placement.rows_of_contractions().map(|node| (node, Reason::Contracted)));
            let again = placement.reduced_again().filter(|node| self.plan.is_contracted(*node));
            wanted.extend(again.map(|node| (node, Reason::Loops)));
            if crowded {
                wanted.extend(self.cut(&nest, roots).map(|node| (node, Reason::Large)));
            }
            wanted.retain(|(node, _)| !roots.contains(node) && !self.stored.contains_key(node));
            if wanted.is_empty() {
                let kernel = make(&placement, name)?;
                let too_much = near_bytes(&kernel, &options.target) > options.target.scratch_bytes();
                let Some(node) = self.cut(&nest, roots).filter(|_| too_much) else {
                    return Ok(Attempt::Made(Box::new(kernel), placement.assumptions()));
                };
                if divisible {
                    return Ok(Attempt::Large(vec![node]));
                }
                wanted.push((node, Reason::Large));
            }
        }
        Ok(Attempt::Wants(wanted))
    }

    /// Builds the values of some pieces over axes that are ordered and merged. A short last axis that does not
    /// become part of a longer loop is unrolled. So is a short axis around reductions, unless these walk over
    /// several rows of a table at once: their loops read once what all of it needs. Short reductions over pairs that are
    /// not contractions are unrolled too.
    fn nest(
        &self,
        targets: &[Target],
        pieces: &[Piece],
        options: &LowerOptions,
    ) -> Result<Nest<'_>, LowerError> {
        let narrow = options.index_width == IndexWidth::Narrow;
        if pieces.is_empty() {
            let nest = match self.flat.walk(targets[0].0) {
                Some(_) => Nest::of_best(&self.flat, &self.stored, targets, narrow)?,
                None => Nest::of_scattered(&self.flat, &self.stored, targets, narrow)?,
            };
            return nest.arranged(options.long_rows);
        }
        let new = |last, pairs| {
            Nest::new(&self.flat, &self.stored, targets, pieces, narrow, last, pairs)?
                .arranged(options.long_rows)
        };
        let mut nest = new(Short::Looped, Pairs::LastLooped)?;
        let is_better = match pieces.iter().any(|piece| piece.reduces) {
            _ if !nest.has_short_axis && !nest.has_right_sides => true,
            true if nest.has_short_axis => {
                nest.wanted.is_empty() && {
                    let placement = Placement::new(&nest, options);
                    placement.is_over_dense_rows() || placement.has_products_of_short_rows()
                }
            }
            // If the loop over right-hand sides is unrolled, values that it would recompute for each are computed
            // once.
            true => !nest.wanted.is_empty() || Placement::new(&nest, options).recomputed().is_empty(),
            false => !nest.has_short_loops() || nest.runs_across(),
        };
        let last = if is_better { Short::Looped } else { Short::Unrolled };
        if last == Short::Unrolled {
            nest = new(last, Pairs::LastLooped)?;
        }
        let leaves_pairs = |nest: &Nest<'_>| {
            nest.wanted.is_empty()
                && !nest.looped_pairs.is_empty()
                && Placement::new(nest, options).leaves_pairs()
        };
        if !leaves_pairs(&nest) {
            return Ok(nest);
        }
        if nest.unrolls_results_of_pairs {
            let nested = new(last, Pairs::AllLooped)?;
            if !leaves_pairs(&nested) {
                return Ok(nested);
            }
        }
        new(last, Pairs::Unrolled)
    }

    /// Returns a node in the middle of a kernel that is too large: a computed node that is not stored yet.
    fn cut(&self, nest: &Nest<'_>, roots: &[FlatId]) -> Option<FlatId> {
        let middle = nest.values.len() / 2;
        let computed = |index: &usize| match &nest.values[*index].def {
            Def::Op { .. } | Def::Select(_) | Def::Cast(_) | Def::Reduced => {
                let node = nest.nodes[*index];
                !roots.contains(&node) && !self.stored.contains_key(&node)
            }
            Def::Constant(_)
            | Def::Param(_)
            | Def::Index(_)
            | Def::Load { .. }
            | Def::Row(..)
            | Def::Checked { .. }
            | Def::Search { .. }
            | Def::Take { .. } => false,
        };
        let nearest = (0..nest.values.len()).filter(computed).min_by_key(|index| index.abs_diff(middle));
        nearest.map(|index| nest.nodes[index])
    }

    /// Returns the kernel that sorts an array, or what has to be stored first.
    fn sorting(
        &self,
        root: FlatId,
        operand: FlatId,
        sort: Sort,
        name: &dyn Fn(&Dim) -> String,
    ) -> Result<Attempt, LowerError> {
        let source = match (self.stored.get(&operand), &self.flat.node(operand).kind) {
            (Some(&buffer), _) => buffer,
            (None, Kind::Buffer(buffer)) if self.flat.is_dense(operand) => *buffer,
            (None, _) => return Ok(Attempt::Wants(vec![(operand, Reason::Sorted)])),
        };
        let node = self.flat.node(root);
        let arrays = [(source, self.flat.node(operand).dtype), (self.stored[&root], node.dtype)];
        let kernel = sort_rows(&node.shape, arrays, sort, node.origin, name)?;
        Ok(Attempt::Made(Box::new(kernel), Vec::new()))
    }

    /// Returns the reductions that a kernel of these roots would run as loops.
    fn reductions_below(&self, roots: &[FlatId]) -> Vec<FlatId> {
        let below = self.flat.below(roots.iter().copied());
        let is_loop = |node: &FlatId| {
            let kind = &self.flat.node(*node).kind;
            matches!(kind, Kind::Reduce(reduction) if !self.flat.unrolls(reduction))
        };
        let fused = |node: &FlatId| is_loop(node) && !self.stored.contains_key(node) && !roots.contains(node);
        below.iter().filter(fused).collect()
    }
}

/// Returns a name for an axis: its size if that is short, as in `n`, `n*m`, `64`.
fn axis_name(dim: &Dim, graph: &CheckedGraph) -> String {
    let symbols = graph.symbols();
    dim.display(&|symbol| symbols.get(symbol.index()).map_or("groups".into(), SymbolInfo::named)).to_string()
}
