//! Indices that hold tensors of integers: NumPy's `x[i, 1:, j]`, as elements to read and to change.

use super::assign::is_same_kind;
use super::derive::Rule;
use super::views::{inverse, signed};
use super::{Graph, Node, Operands, Site, SliceSpec};
use crate::dim::Dim;
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// An item of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexItem {
    /// A part of an axis, one element of it, or a new axis.
    Slice(SliceSpec),
    /// All axes without an item of their own; at most once.
    Rest,
    /// Positions along an axis: a tensor of integers. Negative ones count from the end; one outside of the axis is reported
    /// at run time. Several such tensors stretch to a common shape.
    Positions(ExprId),
    /// Positions along an axis that are known, at least one: as many slices, whose bounds are checked with the shapes.
    Picked(Vec<Dim>),
}

/// An index as slices and what chooses among their elements.
struct Chosen {
    /// The slices. The axes of positions are whole.
    slices: Vec<SliceSpec>,
    /// The positions, and their axes in the slice.
    positions: Vec<(usize, Positions)>,
    /// The number of other axes in front of those of the positions, in the result.
    place: usize,
}

/// The first tensors of positions in messages, if there are more than two.
const ROLES: [&str; 8] =
    ["index 0", "index 1", "index 2", "index 3", "index 4", "index 5", "index 6", "index 7"];

/// Positions along an axis.
enum Positions {
    Tensor(ExprId),
    Known(Vec<Dim>),
}

/// A tensor as rows that positions choose.
struct Rows {
    /// The rows, along the leading axis; the others are those without positions.
    table: ExprId,
    /// The order of the axes that brings those of the positions to the front.
    order: Vec<usize>,
    /// The sizes of all axes in this order.
    sizes: Vec<Dim>,
    /// The numbers of the chosen rows, in the shape of the positions.
    ids: ExprId,
}

impl Chosen {
    /// The tensors of a call.
    fn operands(&self, sliced: ExprId) -> Operands {
        let tensors = self.positions.iter().filter_map(|(_, positions)| match positions {
            Positions::Tensor(positions) => Some(*positions),
            Positions::Known(_) => None,
        });
        std::iter::once(sliced).chain(tensors).collect()
    }
}

/// Returns NumPy's reading of an index of a tensor of this rank: beside positions, integers count as positions too; the
/// axes of the positions go where these are if they are adjacent, and in front otherwise.
fn chosen(rank: usize, items: &[IndexItem]) -> Result<Chosen, Problem> {
    let takes_axis =
        |item: &&IndexItem| !matches!(item, IndexItem::Rest | IndexItem::Slice(SliceSpec::NewAxis));
    let given = items.iter().filter(takes_axis).count();
    let rest = rank.checked_sub(given).ok_or(Problem::TooManyIndices { given, rank })?;
    let mut all = Chosen { slices: Vec::new(), positions: Vec::new(), place: 0 };
    // The number of axes of the slice so far, and of those without positions; the places of what counts as positions.
    let (mut axis, mut others, mut places) = (0, 0, Vec::new());
    for (number, item) in items.iter().enumerate() {
        let (axes, is_position) = match item {
            IndexItem::Slice(SliceSpec::At(_)) => (0, true),
            IndexItem::Slice(_) => (1, false),
            IndexItem::Rest => (rest, false),
            IndexItem::Positions(_) | IndexItem::Picked(_) => (1, true),
        };
        if !is_position {
            others += axes;
        } else {
            if places.is_empty() {
                all.place = others;
            }
            places.push(number);
        }
        match item {
            IndexItem::Slice(slice) => all.slices.push(slice.clone()),
            _ => all.slices.extend(std::iter::repeat_n(SliceSpec::All, axes)),
        }
        match item {
            IndexItem::Positions(positions) => all.positions.push((axis, Positions::Tensor(*positions))),
            IndexItem::Picked(known) => all.positions.push((axis, Positions::Known(known.clone()))),
            IndexItem::Slice(_) | IndexItem::Rest => {}
        }
        axis += axes;
    }
    if places.first().zip(places.last()).is_some_and(|(first, last)| last - first >= places.len()) {
        all.place = 0;
    }
    Ok(all)
}

impl Graph {
    /// Returns the elements that an index chooses: NumPy's `x[items]`. Messages name the function that the user called:
    /// `slice`, `slice_axis` or `index`; for positions, `take`.
    pub fn index_as(&mut self, name: &str, operand: ExprId, items: &[IndexItem], site: Site) -> ExprId {
        let chosen = match chosen(self.written(operand).rank(), items) {
            Ok(chosen) => chosen,
            Err(_) if self.is_poisoned(operand) => return operand,
            Err(problem) => return self.settle(Err(problem), name, &[operand], site),
        };
        let sliced = self.slice_as(name, operand, &chosen.slices, site);
        if chosen.positions.is_empty() {
            return sliced;
        }
        let operands = chosen.operands(sliced);
        if self.any_poisoned(&operands) {
            return self.poison();
        }
        let result = self.try_chosen(operand, sliced, &chosen, site);
        let name = if matches!(*chosen.positions, [(_, Positions::Known(_))]) { name } else { "take" };
        self.settle(result, name, &operands, site)
    }

    fn try_chosen(
        &mut self,
        operand: ExprId,
        sliced: ExprId,
        chosen: &Chosen,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if let Some((merged, chosen)) = self.try_merge(operand, chosen, site)? {
            let sliced = self.slice_as("take", merged, &chosen.slices, site);
            return self.try_chosen(merged, sliced, &chosen, site);
        }
        let (taken, at, count) = match &*chosen.positions {
            [(axis, Positions::Tensor(positions))] => {
                let count = self.written(*positions).rank();
                (self.try_take(sliced, *positions, *axis as i64, site)?, *axis, count)
            }
            [(axis, Positions::Known(known))] => (self.picked(sliced, *axis, known, site)?, *axis, 1),
            _ => {
                let rows = self.rows(sliced, chosen, site)?;
                let count = self.written(rows.ids).rank();
                (self.try_take(rows.table, rows.ids, 0, site)?, 0, count)
            }
        };
        self.with_axes_moved(taken, at, count, chosen.place, site)
    }

    /// Returns the elements of an axis at known positions: one slice each.
    fn picked(&mut self, operand: ExprId, axis: usize, known: &[Dim], site: Site) -> Result<ExprId, Problem> {
        let mut elements = Operands::new();
        for position in known {
            let past_end = position.add(&Dim::ONE).map_err(Problem::Size)?;
            let stop = (!past_end.is_zero()).then_some(past_end);
            elements.push(self.part(operand, axis, Some(position.clone()), stop, 1, site)?);
        }
        self.try_concat(&elements, axis as i64, site)
    }

    /// Returns positions along an axis of this size, counted from its beginning (`i64`).
    fn places(&mut self, positions: &Positions, size: &Dim, site: Site) -> Result<ExprId, Problem> {
        match positions {
            Positions::Tensor(positions) => self.counted_from_start(*positions, size, site),
            Positions::Known(known) => {
                let along = self.try_iota(size.clone(), site)?;
                self.picked(along, 0, known, site)
            }
        }
    }

    /// Returns positions along an axis of this size (`i64`). They are taken from all of them, so that one outside of the axis is
    /// reported as the user gave it, and a negative one counts from the end.
    pub(super) fn counted_from_start(
        &mut self,
        positions: ExprId,
        size: &Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let index = self.as_index(positions, site)?;
        let along = self.try_iota(size.clone(), site)?;
        self.try_take(along, index, 0, site)
    }

    /// Returns `base` with the elements that an index chooses replaced: NumPy's `base[items] = value`, as a new tensor. Of
    /// equal positions, the last in row-major order counts.
    pub fn set_index(&mut self, base: ExprId, items: &[IndexItem], value: ExprId, site: Site) -> ExprId {
        self.change_index(None, base, items, value, site)
    }

    /// Returns `base` with the elements that an index chooses replaced by the result of a binary op on them and another
    /// operand. Each of equal positions counts, in row-major order of the positions, as in NumPy's `add.at`.
    pub fn set_op_index(
        &mut self,
        op: Op,
        base: ExprId,
        items: &[IndexItem],
        other: ExprId,
        site: Site,
    ) -> ExprId {
        self.change_index(Some(op), base, items, other, site)
    }

    fn change_index(
        &mut self,
        op: Option<Op>,
        base: ExprId,
        items: &[IndexItem],
        value: ExprId,
        site: Site,
    ) -> ExprId {
        let name = op.map_or("set", |op| op.name());
        let chosen = match chosen(self.written(base).rank(), items) {
            Ok(chosen) => chosen,
            Err(_) if self.is_poisoned(base) => return base,
            Err(problem) => return self.settle(Err(problem), name, &[base], site),
        };
        if chosen.positions.is_empty() {
            return match op {
                Some(op) => self.set_op(op, base, &chosen.slices, value, site),
                None => self.set(base, &chosen.slices, value, site),
            };
        }
        let sliced = self.slice_as(name, base, &chosen.slices, site);
        let operands = chosen.operands(sliced);
        if self.any_poisoned(&operands) || self.is_poisoned(value) {
            return self.poison();
        }
        let (whole, sliced, chosen) = match self.try_merge(base, &chosen, site) {
            Ok(Some((merged, chosen))) => (merged, self.slice_as(name, merged, &chosen.slices, site), chosen),
            Ok(None) => (base, sliced, chosen),
            Err(problem) => return self.settle(Err(problem), name, &operands, site),
        };
        let rows = match self.rows(sliced, &chosen, site) {
            Ok(rows) => rows,
            Err(problem) => return self.settle(Err(problem), name, &operands, site),
        };
        let sizes: Vec<Option<Dim>> = self.written(base).iter().cloned().map(Some).collect();
        let changed = self.try_change_rows(op, &rows, chosen.place, value, site).and_then(|rows| {
            // The slice may have fewer axes than the base, which the change of a region puts back.
            let changed = self.try_set(whole, &chosen.slices, rows, site)?;
            self.try_reshape(changed, &sizes, site)
        });
        self.settle_change(changed, name, [base, value], site)
    }

    /// Merges axes with positions that are neighbours: positions along the axis that they are together choose the same
    /// elements, and leave all other axes where they are. Returns `None` if there are no such axes.
    fn try_merge(
        &mut self,
        operand: ExprId,
        chosen: &Chosen,
        site: Site,
    ) -> Result<Option<(ExprId, Chosen)>, Problem> {
        let [(axis, _), _, ..] = *chosen.positions else { return Ok(None) };
        // For each axis of the slice, its number among the slices, and among the axes of the operand.
        let mut next = 0;
        let mut axes: Vec<Option<(usize, usize)>> = Vec::new();
        for (number, slice) in chosen.slices.iter().enumerate() {
            let of = (!matches!(slice, SliceSpec::NewAxis)).then(|| {
                next += 1;
                (number, next - 1)
            });
            if !matches!(slice, SliceSpec::At(_)) {
                axes.push(of);
            }
        }
        let Some(Some((number, first))) = axes.get(axis).copied() else { return Ok(None) };
        let count = chosen.positions.len();
        let are_neighbours = |(index, (axis, _)): (usize, &(usize, Positions))| {
            axes.get(*axis) == Some(&Some((number + index, first + index)))
        };
        if !chosen.positions.iter().enumerate().all(are_neighbours) {
            return Ok(None);
        }
        let mut sizes = self.written(operand).to_vec();
        let merged = sizes[first..first + count].to_vec();
        let ids = self.ids(&chosen.positions, &merged, site)?;
        sizes.splice(first..first + count, [Dim::product(&merged).map_err(Problem::Size)?]);
        let sizes: Vec<Option<Dim>> = sizes.into_iter().map(Some).collect();
        let mut slices = chosen.slices.clone();
        slices.splice(number..number + count, [SliceSpec::All]);
        let positions = vec![(axis, Positions::Tensor(ids))];
        let merged = self.try_reshape(operand, &sizes, site)?;
        Ok(Some((merged, Chosen { slices, positions, place: chosen.place })))
    }

    /// Returns a tensor as rows, and those that positions choose: counted from the first one, where several axes have positions,
    /// and as they were given otherwise.
    fn rows(&mut self, sliced: ExprId, chosen: &Chosen, site: Site) -> Result<Rows, Problem> {
        let shape = self.written(sliced).clone();
        let is_chosen = |axis: &usize| chosen.positions.iter().any(|(chosen, _)| chosen == axis);
        let indexed = chosen.positions.iter().map(|(axis, _)| *axis);
        let order: Vec<usize> = indexed.chain((0..shape.rank()).filter(|axis| !is_chosen(axis))).collect();
        let sizes: Vec<Dim> = order.iter().map(|axis| shape[*axis].clone()).collect();
        let (indexed, others) = sizes.split_at(chosen.positions.len());
        let count = Dim::product(indexed).map_err(Problem::Size)?;
        let ids = self.ids(&chosen.positions, indexed, site)?;
        let permuted = self.try_permute(sliced, &signed(&order), site)?;
        let flat: Vec<Option<Dim>> = std::iter::once(&count).chain(others).cloned().map(Some).collect();
        let table = self.try_reshape(permuted, &flat, site)?;
        Ok(Rows { table, order, sizes, ids })
    }

    /// Returns the numbers of elements of some axes, whose sizes are given, in row-major order.
    fn ids(
        &mut self,
        positions: &[(usize, Positions)],
        sizes: &[Dim],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let mut places = Vec::new();
        for ((_, positions), size) in positions.iter().zip(sizes) {
            places.push(match positions {
                Positions::Tensor(given) if sizes.len() == 1 => self.as_index(*given, site)?,
                _ => self.places(positions, size, site)?,
            });
        }
        self.broadcast("take", &places, &ROLES[..places.len().min(ROLES.len())], site)?;
        let mut ids = None;
        for (place, size) in places.into_iter().zip(sizes) {
            ids = Some(match ids {
                None => place,
                Some(before) => {
                    let size = self.try_size(size.clone(), site)?;
                    let before = self.try_elementwise(Op::Multiply, &[before, size], site)?;
                    self.try_elementwise(Op::Add, &[before, place], site)?
                }
            });
        }
        ids.ok_or(Problem::Arity { expected: 1, given: 0 })
    }

    /// Returns the tensor of the rows with chosen ones changed. `place` is the place of the positions' axes in the shape to
    /// which the value is stretched.
    fn try_change_rows(
        &mut self,
        op: Option<Op>,
        rows: &Rows,
        place: usize,
        value: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let chosen = self.written(rows.ids).clone();
        let others = self.written(rows.table)[1..].to_vec();
        let dtype = self.dtype(rows.table);
        // What one op accepts and results in, it does of several rows too.
        let value = match op {
            None => self.as_element(value, dtype, site)?,
            Some(op) => {
                if !op.accumulates() {
                    return Err(Problem::Argument(
                        "cannot be accumulated at positions: only `add`, `subtract`, `multiply`, `divide`, `minimum` and `maximum`",
                    ));
                }
                let dtypes = [dtype, self.dtype(value)];
                let Some(work) = op.operand_dtype(&dtypes) else {
                    return Err(Problem::NotDefined { dtypes: dtypes.to_vec() });
                };
                let made = op.result_dtype(work);
                if !is_same_kind(made, dtype) {
                    return Err(Problem::OtherKind { value: made, target: dtype });
                }
                self.convert(value, work, site)?
            }
        };
        let (before, after) = (&others[..place], &others[place..]);
        let wanted: Shape = before.iter().chain(&chosen).chain(after).cloned().collect();
        let value = self.without_leading_ones(value, wanted.rank(), site)?;
        let stretched = self.try_broadcast_to(value, wanted, site)?;
        let values = self.with_axes_moved(stretched, place, chosen.rank(), 0, site)?;
        // Floats of 16 bits are combined as the others are computed, and rounded once.
        let work = self.dtype(values).arithmetic();
        let (table, values) = match op {
            Some(_) => (self.convert(rows.table, work, site)?, self.convert(values, work, site)?),
            None => (rows.table, values),
        };
        let node = Node::Scatter { op, base: table, indices: rows.ids, values };
        let shape = self.written(table).clone();
        let alike = match op.filter(|_| work.is_float()) {
            Some(op) => Some(self.combined_rows(op, [table, values, rows.ids], site)?),
            None => None,
        };
        let changed = self.insert(node, self.dtype(table), shape, Vec::new(), site)?;
        if let Some(alike) = alike {
            self.derives_by(changed, Rule::As(alike));
        }
        let changed = self.convert(changed, dtype, site)?;
        let sizes: Vec<Option<Dim>> = rows.sizes.iter().cloned().map(Some).collect();
        let unfolded = self.try_reshape(changed, &sizes, site)?;
        let back = inverse(&rows.order);
        self.try_permute(unfolded, &back, site)
    }

    /// Returns the rows combined with all values for each at once, by which accumulation derives.
    fn combined_rows(
        &mut self,
        op: Op,
        [table, values, ids]: [ExprId; 3],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let reduction = match op {
            Op::Multiply | Op::Divide => ReduceOp::Prod,
            Op::Minimum => ReduceOp::Min,
            Op::Maximum => ReduceOp::Max,
            _ => ReduceOp::Sum,
        };
        let rows = self.written(table)[0].clone();
        let rest = self.written(table)[1..].to_vec();
        let ids = self.counted_from_start(ids, &rows, site)?;
        let count = Dim::product(self.written(ids).iter()).map_err(Problem::Size)?;
        let ids = self.try_reshape(ids, &[Some(count.clone())], site)?;
        let flat: Vec<Option<Dim>> = std::iter::once(count).chain(rest).map(Some).collect();
        let values = self.try_reshape(values, &flat, site)?;
        let total = self.segment_total(reduction, values, ids, rows, site)?;
        let total = self.convert(total, self.dtype(table), site)?;
        self.try_elementwise(op, &[table, total], site)
    }

    /// Moves `count` adjacent axes from one place to another among the other axes.
    pub(super) fn with_axes_moved(
        &mut self,
        operand: ExprId,
        from: usize,
        count: usize,
        to: usize,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let moved = from..from + count;
        let mut order: Vec<i64> = (0..self.written(operand).rank())
            .filter(|axis| !moved.contains(axis))
            .map(|axis| axis as i64)
            .collect();
        order.splice(to..to, moved.map(|axis| axis as i64));
        self.try_permute(operand, &order, site)
    }
}
