//! The costs of tensors that are computed where they are read.

use crate::cost;
use crate::flat::{Flat, FlatId, Kind};
use crate::thresholds::LIKELY_EXTENT;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{SEARCH, scan_name};

/// The cost per element of computing a tensor where it is read, as a saturating estimate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub total: u32,
    /// The most expensive part, and its own cost.
    pub most: (u32, &'static str),
    /// The most axes of an array below: a tensor with more axes is a broadcast that no array holds.
    pub widest: usize,
    /// The most long axes of an array below.
    pub longest: usize,
    /// Whether it is computed from a reduction of such a broadcast, and has no more axes than an array.
    pub contracted: bool,
}

impl Estimate {
    /// Returns whether computing an element under so many index maps takes longer than storing it and reading it back.
    pub fn is_worth_storing(&self, maps: usize) -> bool {
        let again = (maps as u32).saturating_sub(1);
        self.total.saturating_mul(again) > cost::MATERIALISE
    }
}

/// Returns the number of axes that may be long: those whose size is a symbol, or a constant that is not small.
pub(super) fn long_axes(shape: &[Dim]) -> usize {
    shape.iter().filter(|dim| dim.as_constant().is_none_or(|size| size > i64::from(LIKELY_EXTENT))).count()
}

/// Returns the costs of all nodes, operands first. The users of nodes that `is_stored` accepts by their costs read arrays.
pub(super) fn estimates(flat: &Flat, is_stored: &dyn Fn(FlatId, &Estimate) -> bool) -> Vec<Estimate> {
    let mut costs: Vec<Estimate> = Vec::with_capacity(flat.nodes.len());
    let mut read: Vec<Estimate> = Vec::with_capacity(flat.nodes.len());
    for (index, node) in flat.nodes.iter().enumerate() {
        let operands = node.kind.operands();
        // Operands with fewer axes are computed outside the innermost loop, or stored.
        let axes = |id: FlatId| flat.node(id).shape.iter().filter(|dim| !dim.is_one()).count();
        let own_axes = node.shape.iter().filter(|dim| !dim.is_one()).count();
        let mut below = Estimate { total: 0, most: (0, ""), widest: 0, longest: 0, contracted: false };
        for (position, operand) in operands.iter().enumerate() {
            let cost = read[operand.index()];
            below.widest = below.widest.max(cost.widest);
            below.longest = below.longest.max(cost.longest);
            below.contracted |= cost.contracted;
            if operands[..position].contains(operand) || axes(*operand) < own_axes {
                continue;
            }
            below.total = match node.kind.is_join() {
                true => below.total.max(cost.total),
                false => below.total.saturating_add(cost.total),
            };
            below.most = below.most.max(cost.most);
        }
        let own = |cost: u32, name: &'static str| Estimate {
            total: below.total.saturating_add(cost),
            most: below.most.max((cost, name)),
            ..below
        };
        let array = Estimate {
            total: cost::LOAD,
            most: (cost::LOAD, "load"),
            widest: own_axes,
            longest: long_axes(&node.shape),
            contracted: false,
        };
        let operand_dtype = || operands.first().map_or(node.dtype, |operand| flat.node(*operand).dtype);
        let id = FlatId::new(index);
        let cost = match &node.kind {
            _ if flat.stored.contains(id) => array,
            Kind::Buffer(_) => array,
            Kind::Constant(_) | Kind::Size(_) => own(0, ""),
            Kind::Iota => own(1, "iota"),
            Kind::Op { op, .. } => own(cost::op(*op, operand_dtype()), op.name()),
            Kind::Select(_) => own(cost::SELECT, "where"),
            Kind::Cast(_) => own(cost::SELECT, "cast"),
            // Neighbours that are contiguous neither forwards nor in reverse are gathered.
            Kind::Slice { axes, .. } if axes.last().is_some_and(|(_, step)| *step != 1) => {
                own(cost::GATHER, "slice")
            }
            Kind::Reindex { .. } | Kind::Slice { .. } | Kind::Windows { .. } | Kind::Reshape(_) => below,
            Kind::Take { .. } => own(cost::GATHER, "take"),
            Kind::Concat { .. } => own(cost::SELECT, "concat"),
            Kind::Set { .. } => own(cost::SELECT, "set"),
            Kind::Scatter { .. } => own(cost::GATHER, "scatter"),
            Kind::Segment { op, .. } => own(cost::REDUCTION, op.name()),
            Kind::Sort { sort, .. } => own(cost::REDUCTION, sort.name()),
            Kind::Search { .. } => own(cost::SEARCH, SEARCH),
            Kind::Scan { op, .. } => own(cost::REDUCTION, scan_name(*op)),
            Kind::TopK { topk, .. } => own(cost::REDUCTION, topk.name()),
            Kind::Reduce(reduction) => {
                let extent = flat.node(reduction.operand).shape[reduction.axis].as_constant();
                let extent = extent.map_or(LIKELY_EXTENT, |extent| u32::try_from(extent).unwrap_or(u32::MAX));
                let element = below.total.max(1);
                let cost = element.saturating_mul(extent.max(1)).max(match flat.unrolls(reduction) {
                    true => 1,
                    false => cost::REDUCTION,
                });
                let contracted = axes(reduction.operand) == below.widest + 1;
                Estimate { total: cost, most: (cost, reduction.op.name()), contracted, ..below }
            }
        };
        read.push(if is_stored(id, &cost) { array } else { cost });
        costs.push(cost);
    }
    costs
}
