//! Decides which tensors are materialised: one plan, made before loops exist.
//!
//! ```text
//! costs, operands first      the cost of an element that is computed where it is read
//! demands, users first       under which index maps a tensor is read, through views and fused ops
//!                            ──▶ Materialise (own kernel, own demands), Unroll, or Inline (demands go on to the operands)
//! ```
//!
//! A tensor is inlined unless that would recompute it repeatedly: under several index maps, or in every step of a
//! loop that it does not depend on. Facts that only the finished loops of a kernel show (their order, their number)
//! extend the plan later, see [`Reason::Loops`] and [`Reason::Large`].

mod axes;
mod estimate;
mod rows;
mod scattered;
mod sections;

use crate::cost;
use crate::flat::{Flat, FlatId, Kind, Replaced, dense_strides};
use crate::kernel::{Assumption, AxisId, BufferId, Specialisation};
use crate::nest::{AffineIndex, AffineMap};
use crate::plan::{Choice, Planned, Reason};
use crate::thresholds::{
    MAX_BROADCAST_MAPS, MAX_CONTRACTED_AGAIN, MAX_CONTRACTED_AGAIN_COST, MAX_KERNEL_VALUES,
    MAX_RECOMPUTED_OUTPUT_COST, MAX_RECOMPUTED_ROW_COST, MAX_UNROLLED_RIGHT_SIDES, MIN_INVARIANT_COST,
    MIN_PACKED_REPETITIONS,
};
use crate::{Layout, LowerError, LowerOptions};
use axes::{PlanAxis, ReductionKey, Space};
use broadloom_ir::dim::Dim;
use estimate::{Estimate, estimates, long_axes};
use rows::Rows;
use sections::Sections;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// The plan of a graph.
#[derive(Debug)]
pub(crate) struct Materialization {
    choices: Vec<Choice>,
    costs: Vec<Estimate>,
    /// The places where a long graph is cut.
    sections: Option<Sections>,
}

impl Materialization {
    /// Makes the plan of a graph, adds copies of arrays to the graph, and returns the assumptions about sizes.
    ///
    /// # Errors
    /// Returns an error if an offset of an index map cannot be represented.
    pub fn new(
        flat: &mut Flat,
        options: &LowerOptions,
    ) -> Result<(Materialization, Vec<Assumption>), LowerError> {
        let of_flat = (Sections::of(flat), rows::rows(flat));
        let mut planner = Planner::new(flat, estimates(flat, &|_, _| false), HashMap::new(), of_flat);
        planner.run()?;
        // Users come first, so each was taken for more expensive than it is if what it reads is stored. Those that are stored for
        // nothing else are computed where they are read.
        let first = &planner.plan;
        let stays = |id: FlatId, cost: &Estimate| match first.reason(id) {
            Some(Reason::Maps { count, .. }) => cost.is_worth_storing(count),
            reason => reason.is_some(),
        };
        let costs = estimates(flat, &stays);
        let stored = first.materialized().filter_map(|id| Some((id, first.reason(id)?)));
        let (kept, left): (Vec<_>, Vec<_>) = stored.partition(|(id, _)| stays(*id, &costs[id.index()]));
        if !left.is_empty() {
            let Planner { plan: Materialization { sections, .. }, rows, .. } = planner;
            planner = Planner::new(flat, costs, kept.into_iter().collect(), (sections, rows));
            planner.run()?;
        }
        let Planner { mut plan, gathered, .. } = planner;
        let mut assumptions = Vec::new();
        if options.pack && options.vectorize {
            for (array, Gathered { axis, reused }) in gathered {
                flat.pack(array, axis);
                plan.choices.push(Choice::Materialise(Reason::Packed));
                plan.costs.push(Estimate {
                    total: cost::LOAD,
                    most: (cost::LOAD, "load"),
                    widest: 0,
                    longest: 0,
                    contracted: false,
                });
                if reused.as_constant().is_none() {
                    let (least, most, of) = (MIN_PACKED_REPETITIONS, i64::MAX, Specialisation::Packing);
                    assumptions.push(Assumption { size: reused, least, most, of });
                }
            }
        }
        Ok((plan, assumptions))
    }

    /// Returns the tensors to materialise, operands first.
    pub fn materialized(&self) -> impl Iterator<Item = FlatId> {
        let of = self.choices.iter().enumerate();
        of.filter(|(_, choice)| matches!(choice, Choice::Materialise(_))).map(|(index, _)| FlatId::new(index))
    }

    /// Materialises a tensor for a reason that only its loops show.
    pub fn add(&mut self, node: FlatId, reason: Reason) {
        if !matches!(self.choices[node.index()], Choice::Materialise(_)) {
            self.choices[node.index()] = Choice::Materialise(reason);
        }
    }

    /// Returns whether a tensor is a table of pairs that reductions of its rows recompute if loops are
    /// contractions.
    pub fn is_contracted(&self, node: FlatId) -> bool {
        self.costs[node.index()].contracted
    }

    /// Returns why a tensor is materialised, if it is.
    pub fn reason(&self, node: FlatId) -> Option<Reason> {
        match self.choices[node.index()] {
            Choice::Materialise(reason) => Some(reason),
            Choice::Inline | Choice::Unroll => None,
        }
    }

    /// Returns the section of many ops that computes a tensor, if it is in one; tensors of one section share a kernel.
    pub fn section(&self, node: FlatId) -> Option<usize> {
        self.sections.as_ref().and_then(|sections| sections.section(node))
    }

    /// Returns the phase of a tensor, which is not less than that of any it is computed from; 0 without sections.
    pub fn phase(&self, node: FlatId) -> usize {
        self.sections.as_ref().map_or(0, |sections| sections.phase(node))
    }

    /// Cuts a section that is too large for a kernel in two, if it has many tensors, and materialises what crosses the cut. Returns
    /// these tensors.
    pub fn halve(&mut self, flat: &Flat, section: usize) -> Vec<FlatId> {
        let crosses = self.sections.as_mut().map(|sections| sections.halve(flat, section));
        let crosses = crosses.unwrap_or_default();
        crosses.iter().for_each(|node| self.add(*node, Reason::Large));
        crosses
    }

    /// Lets the tensors of a section have kernels of their own: one for all of them cannot be made.
    pub fn dissolve(&mut self, section: usize) {
        if let Some(sections) = &mut self.sections {
            sections.dissolve(section);
        }
    }

    /// Returns the plan for people: the computed tensors, in order.
    pub fn planned(&self, flat: &Flat) -> Vec<Planned> {
        let computed = |kind: &Kind| !matches!(kind, Kind::Buffer(_) | Kind::Constant(_) | Kind::Size(_));
        let nodes = flat.nodes.iter().zip(&self.choices).zip(&self.costs);
        let nodes = nodes.filter(|((node, _), _)| computed(&node.kind));
        nodes
            .map(|((node, choice), cost)| Planned { expr: node.origin, choice: *choice, cost: cost.total })
            .collect()
    }
}

struct Planner<'f> {
    flat: &'f Flat,
    plan: Materialization,
    axes: Vec<PlanAxis>,
    /// The outermost axis of each space.
    spaces: HashMap<(Space, Dim), AxisId>,
    /// Free axes by the axis around them and their extent.
    inner: HashMap<(AxisId, Dim), AxisId>,
    /// Classes by the class of the axis around and the extent.
    classes: HashMap<(usize, Dim), usize>,
    next_class: usize,
    reductions: HashMap<ReductionKey, AxisId>,
    /// The maps of nodes that have not been visited yet.
    demands: BTreeMap<FlatId, HashSet<AffineMap>>,
    /// For each axis, the sizes of the space that it belongs to.
    sizes: Vec<Rc<[Dim]>>,
    /// Arrays whose elements an innermost loop would gather each time it repeats.
    gathered: BTreeMap<FlatId, Gathered>,
    rows: Rows,
    /// Tensors that are materialised if anything reads them.
    kept: HashMap<FlatId, Reason>,
}

/// An axis of an array whose neighbours are strided, and how often surrounding loops walk it.
struct Gathered {
    axis: usize,
    reused: Dim,
}

impl<'f> Planner<'f> {
    fn new(
        flat: &'f Flat,
        costs: Vec<Estimate>,
        kept: HashMap<FlatId, Reason>,
        (sections, rows): (Option<Sections>, Rows),
    ) -> Planner<'f> {
        let choices = vec![Choice::Inline; flat.nodes.len()];
        Planner {
            flat,
            plan: Materialization { choices, costs, sections },
            axes: Vec::new(),
            spaces: HashMap::new(),
            inner: HashMap::new(),
            classes: HashMap::new(),
            next_class: 0,
            reductions: HashMap::new(),
            demands: BTreeMap::new(),
            sizes: Vec::new(),
            gathered: BTreeMap::new(),
            rows,
            kept,
        }
    }

    fn run(&mut self) -> Result<(), LowerError> {
        for output in self.flat.outputs.clone() {
            self.demands.entry(output).or_default();
        }
        for node in self.flat.stored.iter() {
            self.demands.entry(node).or_default();
        }
        while let Some((node, maps)) = self.demands.pop_last() {
            self.visit(node, &maps)?;
        }
        Ok(())
    }

    fn visit(&mut self, id: FlatId, maps: &HashSet<AffineMap>) -> Result<(), LowerError> {
        let flat = self.flat;
        if let Kind::Reduce(reduction) = &flat.node(id).kind
            && flat.unrolls(reduction)
        {
            self.plan.choices[id.index()] = Choice::Unroll;
        }
        let is_output = flat.outputs.contains(&id);
        let reason = match self.plan.reason(id).or_else(|| self.kept.get(&id).copied()) {
            Some(reason) => Some(reason),
            None => match &flat.node(id).kind {
                // What reads only the base or only the value does not read the change.
                Kind::Set { region, .. } => {
                    let mut both = HashSet::new();
                    for map in maps {
                        let read = flat.replaced_at(region, map, &|axis| self.extent(axis))?;
                        if matches!(read, Replaced::Unknown) {
                            both.insert(map.clone());
                        }
                    }
                    self.reason(id, &both, is_output)
                }
                _ => self.reason(id, maps, is_output),
            },
        };
        if let Some(reason) = reason {
            self.plan.choices[id.index()] = Choice::Materialise(reason);
        }
        if reason.is_some() || is_output {
            self.root(id)?;
        }
        if reason.is_some() || matches!(flat.node(id).kind, Kind::Buffer(_)) {
            for map in maps {
                self.note_gathered(id, map)?;
            }
        }
        if reason.is_none() {
            for map in maps {
                self.propagate(id, map)?;
            }
        }
        Ok(())
    }

    /// Returns why a tensor that is read under these maps is materialised, if it is.
    fn reason(&self, id: FlatId, maps: &HashSet<AffineMap>, is_output: bool) -> Option<Reason> {
        let flat = self.flat;
        let node = flat.node(id);
        if flat.stored.contains(id) {
            return Some(match &node.kind {
                Kind::Scatter { .. } => Reason::Scattered,
                Kind::Segment { .. } => Reason::Partials,
                Kind::TopK { .. } => Reason::Best,
                Kind::Sort { .. } => Reason::Sorted,
                Kind::Reduce(reduction) if reduction.group.is_some() => Reason::Partials,
                Kind::Take { table, .. } if matches!(flat.node(*table).kind, Kind::Iota) => Reason::Checked,
                _ if flat.replacements.contains(&id) => Reason::Replaces,
                _ if flat.overwritten.contains_key(&id) => Reason::Overwritten,
                _ => Reason::Nested,
            });
        }
        if !is_output && self.is_part_of_rows(id, maps) {
            return Some(Reason::Rows);
        }
        let is_op = matches!(node.kind, Kind::Op { .. } | Kind::Select(_) | Kind::Cast(_));
        // Under each map, a kernel computes another value of the tensor, and of its operands. Several kernels may read it; and
        // below reshapes and joins, one map stands for many: a nest that becomes too large stores what it reads often.
        let fills_a_kernel = 2 * maps.len() > MAX_KERNEL_VALUES;
        let crosses = || self.plan.sections.as_ref().is_some_and(|sections| sections.crosses(id));
        if is_op && (fills_a_kernel || crosses()) {
            return Some(Reason::Large);
        }
        let cost = self.plan.costs[id.index()];
        let Estimate { total, most: (most, name), widest, longest, contracted } = cost;
        let is_array = matches!(node.kind, Kind::Buffer(_) | Kind::Constant(_) | Kind::Size(_) | Kind::Iota);
        let is_view = matches!(node.kind, Kind::Reindex { .. } | Kind::Slice { .. } | Kind::Windows { .. });
        if is_array || is_view && !is_output {
            return None;
        }
        let is_scan = matches!(node.kind, Kind::Scan { .. });
        if is_scan && !is_output {
            let is_followed = maps.len() == 1 && maps.iter().all(|map| self.is_whole(id, map));
            return (!is_followed).then_some(Reason::Scanned);
        }
        if is_output {
            // The kernel of an output computes other outputs of the same sizes.
            let shared = |map: &&AffineMap| !self.is_whole(id, map);
            let others = maps.iter().filter(shared).count();
            // If the layout of the caller's array is not that of arrays between kernels, it cannot be read: the
            // tensor gets another array.
            let is_dense = |buffer: &BufferId| flat.layouts[buffer.index()] == Layout::Dense;
            let worth = match flat.output_buffers(id).iter().any(is_dense) {
                true => MAX_RECOMPUTED_OUTPUT_COST,
                false => cost::MATERIALISE,
            };
            return (others > 0 && (total > worth || node.nested > 0 || is_scan))
                .then_some(Reason::Shared { op: name, cost: most });
        }
        let invariant = maps.iter().any(|map| self.is_repeated(map));
        if invariant && total >= MIN_INVARIANT_COST + cost::LOAD && !node.kind.is_join() {
            return Some(Reason::Invariant { op: name, cost: most });
        }
        let by_class = total <= MAX_RECOMPUTED_ROW_COST;
        let instances: HashSet<Vec<(usize, i64, &Dim)>> =
            maps.iter().map(|map| self.moving(map, by_class)).collect();
        // A broadcast that no array holds may be larger than all arrays: never store it just to save a few
        // repetitions.
        let expands = self.axes_of(id) > widest;
        if expands && instances.len() <= MAX_BROADCAST_MAPS {
            return None;
        }
        // So may a table of pairs of rows: `n x m` beside arrays `n x 3` and `m x 3`. One that is read by rows everywhere is
        // held row by row.
        let is_longer = long_axes(&node.shape) > longest && !maps.iter().all(|map| self.is_by_rows(map));
        if is_longer && total <= MAX_CONTRACTED_AGAIN_COST && instances.len() <= MAX_BROADCAST_MAPS {
            return None;
        }
        if contracted && total <= MAX_CONTRACTED_AGAIN_COST && self.is_reduced_twice(maps) {
            return None;
        }
        let count = instances.len();
        cost.is_worth_storing(count).then_some(Reason::Maps { count, op: name, cost: most })
    }

    /// Returns whether only reductions of its rows read a table, one after another: the maximum, and a sum that
    /// needs it.
    fn is_reduced_twice(&self, maps: &HashSet<AffineMap>) -> bool {
        let last = |map: &AffineMap| {
            let axes: Vec<AxisId> = map.iter().filter_map(|index| index.axis).collect();
            let axis = self.deepest(&axes)?;
            let PlanAxis { parent, reduction, class, .. } = &self.axes[axis.index()];
            reduction.then_some((*parent, *class))
        };
        let mut reductions = maps.iter().map(last);
        let first = reductions.next().flatten();
        maps.len() <= MAX_CONTRACTED_AGAIN && first.is_some() && reductions.all(|other| other == first)
    }

    /// Records that the innermost free loop gathers elements of an array, again for each step of a loop around it.
    fn note_gathered(&mut self, id: FlatId, map: &AffineMap) -> Result<(), LowerError> {
        let flat = self.flat;
        let strides = match flat.node(id).kind {
            Kind::Buffer(buffer) if self.plan.reason(id).is_none() => flat.strides(buffer)?,
            _ => dense_strides(&flat.node(id).shape)?,
        };
        let read: Vec<AxisId> = map.iter().filter_map(|index| index.axis).collect();
        let is_innermost = |axis: &AxisId| {
            !self.axes[axis.index()].reduction && !self.inner.keys().any(|(around, _)| around == axis)
        };
        let Some(vector) = self.deepest(&read).filter(is_innermost) else { return Ok(()) };
        let along = |index: &AffineIndex| index.axis == Some(vector);
        let Some(axis) = map.iter().position(along) else { return Ok(()) };
        let is_side_by_side =
            map.iter().zip(&strides).any(|(index, stride)| index.axis.is_some() && stride.is_one());
        let is_plain = map[axis].step == 1 && map.iter().filter(|index| along(index)).count() == 1;
        if is_side_by_side || !is_plain {
            return Ok(());
        }
        let around = self.path(vector).filter(|axis| !read.contains(axis));
        let around: Vec<&Dim> = around.map(|axis| &self.axes[axis.index()].extent).collect();
        if around.is_empty() {
            return Ok(());
        }
        let reused = Dim::product(around)?;
        if reused.as_constant().is_none_or(|reused| reused >= MIN_PACKED_REPETITIONS) {
            self.gathered.entry(id).or_insert(Gathered { axis, reused });
        }
        Ok(())
    }

    /// Returns the number of axes of a node that are not a literal 1.
    fn axes_of(&self, id: FlatId) -> usize {
        self.flat.node(id).shape.iter().filter(|dim| !dim.is_one()).count()
    }

    /// Adds the loops of a tensor that has a kernel, and the demands of what it reads in them.
    fn root(&mut self, id: FlatId) -> Result<(), LowerError> {
        let flat = self.flat;
        let node = flat.node(id);
        let sizes = wide(&node.shape);
        let space = match node.kind {
            Kind::Segment { ids, .. } => Space::Segments(ids),
            Kind::Scatter { .. } => Space::Temporary(id),
            _ if let Some(section) = self.plan.section(id) => Space::Section(section),
            _ if flat.outputs.contains(&id) => Space::Outputs(sizes.clone()),
            _ => Space::Temporary(id),
        };
        if let Some((operand, topk)) = flat.walk(id) {
            // The walk is inside the loops over the other axes.
            let space = Space::Best(operand, topk);
            let mut dims = flat.node(operand).shape.to_vec();
            let length = dims.remove(topk.axis);
            dims.push(length);
            let mut map = self.chain(&space, None, &dims, &sizes);
            if let Some(along) = map.pop() {
                map.insert(topk.axis, along);
            }
            self.demand(operand, map);
            return Ok(());
        }
        if let Kind::Sort { operand, .. } = node.kind {
            return self.demand_array(operand, Reason::Sorted);
        }
        let Some(scattered) = flat.scattered(id) else {
            let map = self.chain(&space, None, &node.shape, &sizes);
            let is_unrolled =
                |size: &Dim| size.as_constant().is_some_and(|size| size <= MAX_UNROLLED_RIGHT_SIDES);
            // A stored reduction counts as an array to its readers; its own loops are these.
            let reduces = node.nested > 0 || matches!(node.kind, Kind::Reduce(_));
            if let Some(last) = self.deepest(&map.iter().filter_map(|index| index.axis).collect::<Vec<_>>())
                && reduces
                && sizes.len() > 1
                && sizes.last().is_some_and(is_unrolled)
            {
                self.axes[last.index()].unrolled = true;
            }
            return self.propagate(id, &map);
        };
        self.demand_scattered(id, &scattered, &space, &sizes)
    }

    /// Passes the demand for a node on to its operands.
    fn propagate(&mut self, id: FlatId, map: &AffineMap) -> Result<(), LowerError> {
        let flat = self.flat;
        let node = flat.node(id);
        let mut terms = Vec::new();
        match &node.kind {
            // The operand depends on the piece, so this map stands for the maps of all operands.
            Kind::Concat { operands, .. } => {
                for operand in operands {
                    self.demand(*operand, map.clone());
                }
                return Ok(());
            }
            Kind::Set { base, value, region } => {
                match flat.replaced_at(region, map, &|axis| self.extent(axis))? {
                    Replaced::Base => {
                        self.demand(*base, map.clone());
                        return Ok(());
                    }
                    Replaced::Value(inside) => {
                        self.demand(*value, *inside);
                        return Ok(());
                    }
                    Replaced::Unknown => self.demand(*base, map.clone()),
                }
                // The value has loops of its own, over the region.
                let shape = &flat.node(*value).shape;
                let map = match self.is_repeated(map) {
                    true => map
                        .iter()
                        .zip(region)
                        .map(|(index, replaced)| match replaced {
                            Some(replaced) if replaced.length.is_one() => AffineIndex::at(0),
                            _ => index.clone(),
                        })
                        .collect(),
                    false => self.chain(&Space::Temporary(*value), None, shape, &wide(shape)),
                };
                self.demand(*value, map);
                return Ok(());
            }
            Kind::Reshape(operand) => {
                // An output can be read from its array. Otherwise the loops decide whether it is stored first,
                // because they may run along its axes: here these represent them.
                if flat.outputs.contains(operand) {
                    self.demand_array(*operand, Reason::Reshaped)?;
                } else if !flat.is_dense(*operand) {
                    let shape = &flat.node(*operand).shape;
                    let map = self.chain(&Space::Temporary(*operand), None, shape, &wide(shape));
                    self.demand(*operand, map);
                }
                return Ok(());
            }
            // Positions along an axis are not read, but checked.
            Kind::Take { table, .. } if matches!(flat.node(*table).kind, Kind::Iota) => {}
            Kind::Take { table, .. } | Kind::Search { table, .. } => self.demand_table(*table)?,
            Kind::Reduce(reduction) if flat.unrolls(reduction) => terms.push(AffineIndex::at(0)),
            Kind::Reduce(reduction) => {
                terms.push(AffineIndex::along(self.reduction_axis(id, reduction, map)))
            }
            _ => {}
        }
        let is_array = |node: FlatId| {
            self.plan.reason(node).is_some() || flat.outputs.contains(&node) || flat.stored.contains(node)
        };
        let reads = flat.reads(id, map, &terms, &|axis| self.extent(axis), &is_array)?;
        for (operand, map) in reads {
            self.demand(operand, map);
        }
        Ok(())
    }

    fn demand(&mut self, id: FlatId, map: AffineMap) {
        self.demands.entry(id).or_default().insert(map);
    }

    /// Demands a node as a dense array.
    fn demand_array(&mut self, id: FlatId, reason: Reason) -> Result<(), LowerError> {
        if !self.flat.is_dense(id) {
            self.plan.choices[id.index()] = Choice::Materialise(reason);
            self.demands.entry(id).or_default();
        }
        Ok(())
    }

    /// Demands a node that is read at indices given by data: an array, or a view of one.
    fn demand_table(&mut self, table: FlatId) -> Result<(), LowerError> {
        let mut id = table;
        loop {
            match &self.flat.node(id).kind {
                Kind::Reindex { operand, .. } | Kind::Slice { operand, .. } => id = *operand,
                Kind::Buffer(_) => return Ok(()),
                Kind::Reshape(operand) => return self.demand_array(*operand, Reason::Reshaped),
                _ => {
                    if !self.flat.stored.contains(id) {
                        self.plan.choices[table.index()] = Choice::Materialise(Reason::Table);
                        self.demands.entry(table).or_default();
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// Returns the sizes that are not a literal 1.
fn wide(shape: &[Dim]) -> Rc<[Dim]> {
    shape.iter().filter(|dim| !dim.is_one()).cloned().collect()
}
