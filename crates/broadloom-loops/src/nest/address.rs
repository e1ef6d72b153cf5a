//! Accesses: the positions of array elements, as strides along loop axes.

use super::maps::Term;
use super::{AffineIndex, AffineMap, MAX_AXES, Nest, NestAccess};
use crate::LowerError;
use crate::flat::{FlatId, Kind, dense_strides};
use crate::kernel::*;
use crate::plan::Reason;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::shape::Shape;
use smallvec::{SmallVec, smallvec};

impl Nest<'_> {
    /// Returns the array of a node whose elements are in row-major order.
    pub(super) fn dense(&self, node: FlatId) -> Option<BufferId> {
        let buffer = match self.stored.get(&node) {
            Some(buffer) => *buffer,
            None => match self.flat.node(node).kind {
                Kind::Buffer(buffer) => buffer,
                _ => return None,
            },
        };
        (self.flat.layouts[buffer.index()] == crate::Layout::Dense).then_some(buffer)
    }

    pub(super) fn load(
        &mut self,
        buffer: BufferId,
        map: &AffineMap,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        if map.iter().any(AffineIndex::has_values) {
            let strides = self.flat.strides(buffer)?;
            let shape = self.flat.buffers[buffer.index()].shape.clone();
            return self.gather(buffer, &strides, &shape, map, node);
        }
        let (access, delta) = self.address(buffer, map)?;
        Ok(self.load_value(access, delta, node))
    }

    /// Loads from an array, or from its copy if neighbours along the innermost loop are contiguous there.
    pub(super) fn load_packed(
        &mut self,
        buffer: BufferId,
        map: &AffineMap,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let makes = |of: FlatId| self.roots.contains(&of);
        let Some(pack) = self.flat.packs.get(&node).filter(|pack| !makes(pack.copy) && !makes(node)) else {
            return self.load(buffer, map, node);
        };
        if map.iter().any(|index| !index.more.is_empty()) {
            return self.load(buffer, map, node);
        }
        // Along the innermost loop, or along a reduction of the same row.
        let walk = |axis: AxisId| (&self.axes[axis.index()].parent, &self.axes[axis.index()].extent);
        match (map[pack.axis].axis, self.innermost) {
            (Some(axis), Some(innermost)) if walk(axis) == walk(innermost) => {}
            _ => return self.load(buffer, map, node),
        }
        let mut packed = map.clone();
        let last = packed.remove(pack.axis);
        packed.push(last);
        self.load(self.stored[&pack.copy], &packed, node)
    }

    /// Loads elements whose indices include values.
    fn gather(
        &mut self,
        buffer: BufferId,
        strides: &[Dim],
        shape: &[Dim],
        map: &AffineMap,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let moving: Vec<usize> = (0..map.len()).filter(|axis| map[*axis].has_values()).collect();
        let (index, stride, size) = match moving.as_slice() {
            // The strides of an array that is not dense may be negative; an index that is not checked may not.
            &[axis] => {
                (self.whole([(&map[axis], Dim::ONE)], node)?, strides[axis].clone(), shape[axis].clone())
            }
            _ if self.flat.layouts[buffer.index()] == crate::Layout::Dense => {
                let parts = moving.iter().map(|axis| (&map[*axis], strides[*axis].clone()));
                (self.whole(parts, node)?, Dim::ONE, Dim::product(shape)?)
            }
            _ => return Ok(self.want(node, Reason::Reshaped, node)),
        };
        let dtype = self.flat.buffers[buffer.index()].dtype;
        let mut still = map.clone();
        moving.iter().for_each(|axis| still[*axis] = AffineIndex::at(0));
        let access = located(Some(buffer), dtype, strides, &still)?;
        let access = self.interned(access);
        // No index is out of range, so no report needs a position.
        let position = self.position(&Shape::default(), &AffineMap::new())?;
        Ok(self.taken(access, index, &stride, &size, position, dtype, node))
    }

    /// Returns the whole sum of indices: the part that values give may be negative alone, which would count from the end.
    fn whole<'i>(
        &mut self,
        parts: impl IntoIterator<Item = (&'i AffineIndex, Dim)>,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let sum = AffineIndex::sum(parts)?;
        Ok(self.iota(&sum, node))
    }

    /// Loads from a dense buffer in another shape with the same number of elements.
    pub(super) fn load_as(
        &mut self,
        buffer: BufferId,
        shape: &Shape,
        map: &AffineMap,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let strides = dense_strides(shape)?;
        if map.iter().any(AffineIndex::has_values) {
            return self.gather(buffer, &strides, shape, map, node);
        }
        let dtype = self.flat.buffers[buffer.index()].dtype;
        let (access, delta) = self.access(Some(buffer), dtype, &strides, map)?;
        Ok(self.load_value(access, delta, node))
    }

    pub(super) fn load_value(&mut self, access: AccessId, delta: i64, node: FlatId) -> ValueId {
        let NestAccess { dtype, .. } = self.accesses[access.index()];
        let depends = self.accesses[access.index()].axes();
        self.value(Def::Load { access, delta }, dtype, depends, node)
    }

    pub(super) fn address(
        &mut self,
        buffer: BufferId,
        map: &AffineMap,
    ) -> Result<(AccessId, i64), LowerError> {
        let strides = self.flat.strides(buffer)?;
        let dtype = self.flat.buffers[buffer.index()].dtype;
        self.access(Some(buffer), dtype, &strides, map)
    }

    /// Returns the access of an array with these strides under a map, and the constant part of its offset, if it is
    /// short.
    pub(super) fn access(
        &mut self,
        buffer: Option<BufferId>,
        dtype: DType,
        strides: &[Dim],
        map: &AffineMap,
    ) -> Result<(AccessId, i64), LowerError> {
        let mut access = located(buffer, dtype, strides, map)?;
        let short = |delta: &i64| buffer.is_some() && i32::try_from(delta.saturating_mul(8)).is_ok();
        let delta = access.offset.as_constant().filter(short).unwrap_or(0);
        if delta != 0 {
            access.offset = Dim::ZERO;
        }
        Ok((self.interned(access), delta))
    }

    fn interned(&mut self, access: NestAccess) -> AccessId {
        let found = self.accesses.iter().position(|other| *other == access);
        AccessId::new(found.unwrap_or_else(|| {
            self.accesses.push(access);
            self.accesses.len() - 1
        }))
    }

    /// Returns the row-major position in a tensor of a shape, for error reports.
    pub(super) fn position(&mut self, shape: &Shape, map: &AffineMap) -> Result<AccessId, LowerError> {
        let strides = dense_strides(shape)?;
        Ok(self.access(None, DType::I64, &strides, map)?.0)
    }

    pub(super) fn take(
        &mut self,
        table: FlatId,
        indices: FlatId,
        axis: usize,
        map: &AffineMap,
        index: ValueId,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let flat = self.flat;
        let rank = flat.node(indices).shape.rank();
        // The table's axis moves along a separate axis, whose stride is taken out of the access again.
        let data = AxisId::new(MAX_AXES);
        let mut table_map: AffineMap = map[..axis].into();
        table_map.push(AffineIndex::along(data));
        table_map.extend(map[axis + rank..].iter().cloned());
        let size = flat.node(table).shape[axis].clone();
        let indices_map: AffineMap = map[axis..axis + rank].into();
        let shape = flat.node(indices).shape.clone();
        if matches!(flat.node(table).kind, Kind::Iota) {
            let position = self.position(&shape, &indices_map)?;
            let size = self.extent(&size);
            let depends = self.depends[index.index()] | self.accesses[position.index()].axes();
            let def = Def::Checked { index, size, wraps: true, position: Some(position) };
            return Ok(self.value(def, DType::I64, depends, node));
        }
        let Some((access, along)) = self.table(table, table_map, data)? else {
            return Ok(self.want(table, Reason::Table, node));
        };
        let dtype = flat.node(table).dtype;
        let position = self.position(&shape, &indices_map)?;
        Ok(self.taken(access, index, &along, &size, position, dtype, node))
    }

    /// Returns the position of a value in a sorted table.
    pub(super) fn search(
        &mut self,
        table: FlatId,
        value: ValueId,
        right: bool,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let data = AxisId::new(MAX_AXES);
        let map = std::iter::once(AffineIndex::along(data)).collect();
        let Some((access, along)) = self.table(table, map, data)? else {
            return Ok(self.want(table, Reason::Table, node));
        };
        let (stride, size) = (self.stride(&along), self.extent(&self.flat.node(table).shape[0].clone()));
        let depends = self.depends[value.index()] | self.accesses[access.index()].axes();
        let def = Def::Search { access, value, stride, size, right };
        Ok(self.value(def, DType::I64, depends, node))
    }

    /// Returns the access of a table without the axis that data index, and the stride along that axis; `None` if
    /// the table has no array.
    fn table(
        &mut self,
        table: FlatId,
        map: AffineMap,
        data: AxisId,
    ) -> Result<Option<(AccessId, Dim)>, LowerError> {
        let flat = self.flat;
        let Some((buffer, shape, map)) = self.resolve(table, map)? else { return Ok(None) };
        let strides = match shape {
            Some(shape) => dense_strides(&shape)?,
            None => flat.strides(buffer)?,
        };
        let dtype = flat.buffers[buffer.index()].dtype;
        let mut access = located(Some(buffer), dtype, &strides, &map)?;
        let along = access.stride(data);
        access.strides.retain(|(of, _)| *of != data);
        Ok(Some((self.interned(access), along)))
    }

    /// Returns the element of an access at an index.
    #[allow(clippy::too_many_arguments, reason = "the fields of one value")]
    fn taken(
        &mut self,
        access: AccessId,
        index: ValueId,
        stride: &Dim,
        size: &Dim,
        position: AccessId,
        dtype: DType,
        node: FlatId,
    ) -> ValueId {
        let stride = self.stride(stride);
        let size = self.extent(size);
        let depends = self.depends[index.index()]
            | self.accesses[access.index()].axes()
            | self.accesses[position.index()].axes();
        self.value(Def::Take { access, index, stride, size, position: Some(position) }, dtype, depends, node)
    }

    /// Returns the array behind a chain of views, with the combined map, and the shape if the array is read in
    /// another one.
    #[allow(clippy::type_complexity, reason = "three parts of one address")]
    pub(super) fn resolve(
        &mut self,
        node: FlatId,
        map: AffineMap,
    ) -> Result<Option<(BufferId, Option<Shape>, AffineMap)>, LowerError> {
        let (mut node, mut map) = (node, map);
        loop {
            if self.is_loaded(node) {
                return Ok(Some((self.stored[&node], None, map)));
            }
            match &self.flat.node(node).kind {
                Kind::Buffer(buffer) => return Ok(Some((*buffer, None, map))),
                Kind::Reshape(operand) => {
                    let shape = self.flat.node(node).shape.clone();
                    return Ok(self.dense(*operand).map(|buffer| (buffer, Some(shape), map)));
                }
                Kind::Reindex { .. } | Kind::Slice { .. } | Kind::Windows { .. } => {
                    let operand = self.operands(node, &map)?.remove(0);
                    (node, map) = operand;
                }
                Kind::Constant(_)
                | Kind::Size(_)
                | Kind::Op { .. }
                | Kind::Select(_)
                | Kind::Cast(_)
                | Kind::Reduce(_)
                | Kind::Take { .. }
                | Kind::Iota
                | Kind::Concat { .. }
                | Kind::Set { .. }
                | Kind::TopK { .. }
                | Kind::Sort { .. }
                | Kind::Search { .. }
                | Kind::Scan { .. }
                | Kind::Scatter { .. }
                | Kind::Segment { .. } => return Ok(None),
            }
        }
    }
}

/// Returns the access of an array with these strides under a map.
fn located(
    buffer: Option<BufferId>,
    dtype: DType,
    strides: &[Dim],
    map: &AffineMap,
) -> Result<NestAccess, LowerError> {
    let mut offset = Dim::ZERO;
    let mut by_axis: SmallVec<[(AxisId, Dim); 4]> = smallvec![];
    for (index, stride) in map.iter().zip(strides) {
        offset = offset.add(&index.start.mul(stride)?)?;
        for (term, step) in index.terms() {
            // The index of a gather covers the axes that values move, see `Nest::gather`.
            let Term::Axis(axis) = term else { continue };
            let stride = stride.mul(&step)?;
            match by_axis.iter_mut().find(|(of, _)| *of == axis) {
                Some((_, sum)) => *sum = sum.add(&stride)?,
                None => by_axis.push((axis, stride)),
            }
        }
    }
    by_axis.retain(|(_, stride)| !stride.is_zero());
    by_axis.sort_by_key(|(axis, _)| *axis);
    Ok(NestAccess { buffer, dtype, offset, strides: by_axis, gathered: None })
}
