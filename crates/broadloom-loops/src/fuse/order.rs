//! The schedule of kernels: their launch order, and the arrays that are left.

use super::{Fusion, InPart};
use crate::LowerError;
use crate::band::{Finder, Known, count_together, turn, turn_contractions};
use crate::fails::failing;
use crate::kernel::*;
use crate::update::Updated;
use crate::verify::{Broken, Fault, has_examples};
use broadloom_ir::SymbolId;
use broadloom_ir::graph::CheckedGraph;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{BTreeMap, BTreeSet, HashMap};

impl Fusion<'_> {
    /// Returns the schedule in launch order, without arrays that turned out to be unnecessary.
    pub(super) fn finish(
        mut self,
        graph: &CheckedGraph,
    ) -> Result<(Schedule, BTreeMap<BufferId, Updated>), LowerError> {
        // Inputs and outputs keep their numbers below: they come before all other arrays.
        for InPart { array, before, .. } in &self.partial {
            self.flat.buffers[array.index()].starts_as = Some(*before);
        }
        let plan = self.plan.planned(&self.flat);
        let mut dag: DiGraph<usize, BufferId> = DiGraph::new();
        let nodes: Vec<NodeIndex> = (0..self.kernels.len()).map(|kernel| dag.add_node(kernel)).collect();
        let mut writers: HashMap<BufferId, BTreeSet<usize>> = HashMap::new();
        let mut users: HashMap<BufferId, BTreeSet<usize>> = HashMap::new();
        for (index, kernel) in self.kernels.iter().enumerate() {
            for buffer in kernel.written() {
                writers.entry(buffer).or_default().insert(index);
            }
            for buffer in kernel.accesses.iter().filter_map(|access| access.buffer) {
                users.entry(buffer).or_default().insert(index);
            }
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            let used: BTreeSet<BufferId> =
                kernel.accesses.iter().filter_map(|access| access.buffer).collect();
            for buffer in used {
                // Kernels that write pieces of one array do not wait for each other.
                // Writers of a version wait for those of the one before, see below.
                let written =
                    self.versions(buffer).find_map(|version| Some((version, writers.get(&version)?)));
                let from = written.filter(|(_, writers)| !writers.contains(&index));
                for (version, from) in
                    from.into_iter().flat_map(|(of, from)| from.iter().map(move |from| (of, *from)))
                {
                    dag.add_edge(nodes[from], nodes[index], version);
                }
            }
        }
        // A version of an array is written after the one before it, and after this has been read, if possible.
        let written = |array: &BufferId| writers.get(array).into_iter().flatten().copied();
        for InPart { array, before, .. } in &self.partial {
            for (from, to) in written(before).flat_map(|from| written(array).map(move |to| (from, to))) {
                dag.add_edge(nodes[from], nodes[to], *before);
            }
        }
        let mut waiting = Waiting::new(dag);
        for InPart { array, before, .. } in &self.partial {
            for from in users.get(before).into_iter().flatten().copied() {
                for to in written(array).filter(|to| *to != from) {
                    waiting.add(nodes[from], nodes[to], *before);
                }
            }
        }
        // An assigned input is overwritten after it has been read, and after all that can fail, if possible.
        let assigned_to = assigned(graph, &self.flat.buffers);
        let fails = match assigned_to.is_empty() {
            true => vec![false; nodes.len()],
            false => failing(&self.kernels, &self.flat.buffers),
        };
        for (input, written) in assigned_to {
            // Versions are written one after the other.
            let to = self.versions(written).filter_map(|version| writers.get(&version)).last();
            for (to, from) in to.into_iter().flatten().flat_map(|to| (0..nodes.len()).map(|from| (*to, from)))
            {
                let reads = users.get(&input).is_some_and(|users| users.contains(&from));
                let comes_first = reads || fails[from];
                let (to, from) = (nodes[to], nodes[from]);
                if comes_first && to != from {
                    waiting.add(from, to, input);
                }
            }
        }
        let dag = waiting.dag;
        let order = petgraph::algo::toposort(&dag, None)
            .map_err(|cycle| Broken { kernel: KernelId::new(dag[cycle.node_id()]), fault: Fault::Waits })?;
        let conditions = self.flat.conditions.clone();
        let order: Vec<usize> = order.into_iter().map(|node| dag[node]).collect();
        let known = Known::new(&self.flat.symbols, &conditions);
        turn(&mut self.kernels, &self.flat.buffers, known);
        turn_contractions(&mut self.kernels, &self.flat.buffers, &self.flat.by_columns);
        count_together(&mut self.kernels, &self.flat.buffers, known);
        let edges = dag.raw_edges().iter().map(|edge| (dag[edge.source()], dag[edge.target()]));
        let temporaries = self
            .partial
            .iter()
            .filter(|update| self.flat.buffers[update.before.index()].role == Role::Temporary);
        let versions: BTreeSet<BufferId> =
            temporaries.flat_map(|update| [update.array, update.before]).collect();
        let finder = Finder {
            kernels: &self.kernels,
            buffers: &self.flat.buffers,
            known,
            edges: &edges.collect::<Vec<_>>(),
            assigned: &assigned(graph, &self.flat.buffers),
            versions: &versions,
        };
        let (together, order) = finder.find(order);
        let mut renumbered: BTreeMap<BufferId, BufferId> = BTreeMap::new();
        let mut buffers = Vec::new();
        let updated: Vec<(BufferId, Updated)> = self
            .partial
            .iter()
            .map(|InPart { node, array, .. }| {
                (*array, Updated { node: *node, has_changes: self.change_before(*node).is_some() })
            })
            .collect();
        for (index, buffer) in self.flat.buffers.into_iter().enumerate() {
            let id = BufferId::new(index);
            if buffer.role != Role::Temporary || writers.contains_key(&id) || buffer.starts_as.is_some() {
                renumbered.insert(id, BufferId::new(buffers.len()));
                buffers.push(buffer);
            }
        }
        for buffer in &mut buffers {
            buffer.starts_as = buffer.starts_as.map(|array| renumbered[&array]);
        }
        let nodes_of = updated.into_iter().map(|(array, node)| (renumbered[&array], node)).collect();
        for kernel in &mut self.kernels {
            for access in &mut kernel.accesses {
                access.buffer = access.buffer.map(|buffer| renumbered[&buffer]);
            }
        }
        let place: HashMap<usize, usize> =
            order.iter().enumerate().map(|(place, kernel)| (*kernel, place)).collect();
        let launched = |node: NodeIndex| KernelId::new(place[&dag[node]]);
        let waits = dag.raw_edges().iter().map(|edge| Wait {
            kernel: launched(edge.target()),
            before: launched(edge.source()),
            array: renumbered[&edge.weight],
        });
        let waits = waits.collect();
        let mut kernels: Vec<Option<Kernel>> = self.kernels.into_iter().map(Some).collect();
        let kernels = order.iter().filter_map(|kernel| kernels[*kernel].take()).collect();
        self.assumptions.append(&mut self.made);
        self.assumptions.sort();
        self.assumptions.dedup();
        let mut schedule = Schedule {
            symbols: self.flat.symbols,
            host_symbols: self.flat.host_symbols,
            buffers,
            kernels,
            assumptions: self.assumptions,
            conditions,
            groups: self.flat.groups,
            bands: Vec::new(),
            plan,
            waits,
        };
        // What cannot be verified is not done.
        if !together.is_empty() && has_examples(&schedule) {
            for each in together {
                let rows = SymbolId::new(schedule.symbols.len() + schedule.host_symbols.len());
                schedule.host_symbols.push(HostSymbol::Rows(schedule.bands.len()));
                let band = each.band(rows, &order, &renumbered, &mut schedule.buffers);
                schedule.bands.push(band);
            }
        }
        Ok((schedule, nodes_of))
    }

    /// Returns an array and what it starts as, and so on.
    fn versions(&self, buffer: BufferId) -> impl Iterator<Item = BufferId> + '_ {
        std::iter::successors(Some(buffer), |version| self.flat.buffers[version.index()].starts_as)
    }
}

/// What kernels wait for each other.
struct Waiting {
    dag: DiGraph<usize, BufferId>,
    /// Whether all kernels wait only for kernels that were made after them.
    is_reversed: bool,
}

impl Waiting {
    fn new(dag: DiGraph<usize, BufferId>) -> Waiting {
        let is_reversed = dag.raw_edges().iter().all(|edge| edge.source() > edge.target());
        Waiting { dag, is_reversed }
    }

    /// Lets `to` wait for `from`, unless that one waits for it.
    fn add(&mut self, from: NodeIndex, to: NodeIndex, array: BufferId) {
        let is_later = self.is_reversed && from > to;
        if is_later || !petgraph::algo::has_path_connecting(&self.dag, to, from, None) {
            self.dag.add_edge(from, to, array);
            self.is_reversed = is_later;
        }
    }
}

/// Returns the inputs that are assigned to, each with the output that replaces it.
pub(super) fn assigned(graph: &CheckedGraph, buffers: &[Buffer]) -> Vec<(BufferId, BufferId)> {
    let written = |index| buffers.iter().position(|buffer| buffer.role == Role::Output(index));
    let outputs = graph.outputs().iter().enumerate();
    let pairs = outputs.filter_map(|(index, output)| {
        Some((BufferId::new(output.assigned?.index()), BufferId::new(written(index)?)))
    });
    pairs.collect()
}
