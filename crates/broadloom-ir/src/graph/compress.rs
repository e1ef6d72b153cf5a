//! Elements that a mask selects, and sizes that computed numbers decide: `x[x > 0]`, `nonzero`, `repeat`.
//!
//! The size of such an axis is a symbol of its own: one for each mask, so that what the same mask selects fits together. A
//! reduction or a scan along the axis reads the elements left out as its neutral element, so nothing is stored for it; its
//! order is that of all positions.

use super::infer;
use super::reduction::{Empty, resolve_axis};
use super::{Graph, Node, Operands, Site, SymbolKind, View};
use crate::dim::Dim;
use crate::dtype::{Class, DType, Scalar};
use crate::ids::{ExprId, SymbolId};
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use crate::shape::Shape;
use std::collections::HashMap;

/// The most operations between a computed size and sizes that are known.
const MAX_TERMS: usize = 4;

/// An expression whose axis a mask selects from, and the axis.
type OfAxis = (ExprId, usize);

impl Graph {
    /// Returns the elements along an axis at which a mask with one axis holds: NumPy's `compress`. Without an axis, the
    /// elements in row-major order.
    pub fn compress(&mut self, operand: ExprId, mask: ExprId, axis: Option<i64>, site: Site) -> ExprId {
        let result = self.try_compress(operand, mask, axis, site);
        self.settle(result, "compress", &[operand, mask], site)
    }

    fn try_compress(
        &mut self,
        operand: ExprId,
        mask: ExprId,
        axis: Option<i64>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[operand, mask]) {
            return Ok(self.poison());
        }
        let is_flat = axis.is_none() && self.written(operand).rank() > 1;
        let (operand, axis) = match axis {
            Some(axis) => (operand, resolve_axis(axis, self.written(operand).rank())?),
            None => (self.try_reshape(operand, &[None], site)?, 0),
        };
        if self.written(mask).rank() != 1 {
            return Err(Problem::Rank {
                name: "the condition".into(),
                expected: 1,
                rank: self.written(mask).rank(),
            });
        }
        match self.compressed(operand, mask, axis, site) {
            Err(Problem::Unequal { .. }) if is_flat => Err(Problem::Argument(
                "without `axis` selects among all elements in row-major order: to select rows, pass `axis=0`",
            )),
            made => made,
        }
    }

    /// Returns the elements at which a mask holds: NumPy's `x[mask]`. The mask has the leading axes of the operand, in whose
    /// place the result has one.
    pub fn masked_elements(&mut self, operand: ExprId, mask: ExprId, site: Site) -> ExprId {
        let result = self.try_masked_elements(operand, mask, site);
        self.settle(result, "index", &[operand, mask], site)
    }

    pub(super) fn try_masked_elements(
        &mut self,
        operand: ExprId,
        mask: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[operand, mask]) {
            return Ok(self.poison());
        }
        let (source, rank) = (self.written(operand).clone(), self.written(mask).rank());
        if rank > source.rank() {
            return Err(Problem::TooManyIndices { given: rank, rank: source.rank() });
        }
        if rank == 1 {
            return self.compressed(operand, mask, 0, site);
        }
        self.check_mask("index", operand, mask, 0, site)?;
        let leading = Dim::product(&source[..rank]).map_err(Problem::Size)?;
        let flat: Vec<Option<Dim>> =
            std::iter::once(leading).chain(source[rank..].iter().cloned()).map(Some).collect();
        let operand = self.try_reshape(operand, &flat, site)?;
        let mask = self.try_reshape(mask, &flat[..1], site)?;
        self.compressed(operand, mask, 0, site)
    }

    /// Checks that a mask is bool, and has the sizes of the operand's axes from one on.
    pub(super) fn check_mask(
        &mut self,
        call: &'static str,
        operand: ExprId,
        mask: ExprId,
        first: usize,
        site: Site,
    ) -> Result<(), Problem> {
        if self.dtype(mask) != DType::Bool {
            return Err(Problem::ConditionNotBool { dtype: self.dtype(mask) });
        }
        let (source, given) = (self.written(operand).clone(), self.written(mask).clone());
        let clash = self.comparing(call, &[operand, mask], site, |compare| {
            let mut axes = source[first..].iter().zip(&given).enumerate();
            axes.try_for_each(|(axis, (left, right))| infer::equal(compare, axis, (0, left), (1, right)))
        });
        clash.map_err(|clash| self.unequal(&clash, ["the tensor".into(), "the mask".into()]))
    }

    pub(super) fn compressed(
        &mut self,
        operand: ExprId,
        mask: ExprId,
        axis: usize,
        site: Site,
    ) -> Result<ExprId, Problem> {
        self.check_mask("index", operand, mask, axis, site)?;
        let size = self.count_of(mask, site)?;
        // A mask of elements that another mask has selected selects among all elements.
        let (operand, mask) = match (self.whole((operand, axis), site)?, self.whole((mask, 0), site)?) {
            (Some(whole), Some(_)) => (whole, self.root_mask(mask, site)?),
            _ => (operand, mask),
        };
        let mut shape = self.written(operand).to_vec();
        shape[axis] = size;
        let dtype = self.dtype(operand);
        self.insert(Node::Compress { operand, mask, axis }, dtype, shape.into(), Vec::new(), site)
    }

    /// Returns how many elements a mask selects, as a size.
    fn count_of(&mut self, mask: ExprId, site: Site) -> Result<Dim, Problem> {
        let root = self.root_mask(mask, site)?;
        if self.symbols.is_full() {
            return Err(Problem::TooLarge);
        }
        Ok(Dim::symbol(self.symbols.decided(SymbolKind::Count(root), root, site)))
    }

    /// Returns the mask that selects the same elements before others were left out.
    fn root_mask(&mut self, mask: ExprId, site: Site) -> Result<ExprId, Problem> {
        let Some(whole) = self.whole((mask, 0), site)? else { return Ok(mask) };
        let Some(outer) = self.mask_of((mask, 0)) else { return Ok(mask) };
        self.try_elementwise(Op::LogicalAnd, &[outer, whole], site)
    }

    /// Returns the symbol of an axis whose size a mask decides, and that mask.
    fn counted(&self, (expr, axis): OfAxis) -> Option<(SymbolId, ExprId)> {
        let symbol = self.written(expr).get(axis)?.as_symbol()?;
        match self.symbols.kind(symbol)? {
            SymbolKind::Count(mask) => Some((symbol, mask)),
            _ => None,
        }
    }

    /// Returns the mask that decides the size of an axis.
    fn mask_of(&self, of: OfAxis) -> Option<ExprId> {
        self.counted(of).map(|(_, mask)| mask)
    }

    /// Returns the expression of which the mask of an axis selects just the elements of another one, where it is composed of
    /// selected elements without an op that could fail on others, and without one that makes more elements.
    fn whole(&mut self, of: OfAxis, site: Site) -> Result<Option<ExprId>, Problem> {
        let Some((symbol, mask)) = self.counted(of) else { return Ok(None) };
        let mut open = vec![of];
        while let Some(&(expr, axis)) = open.last() {
            if self.wholes.contains_key(&(expr, axis)) {
                open.pop();
                continue;
            }
            let needed = self.parts_along((expr, axis), symbol);
            let missing: Vec<OfAxis> = match &needed {
                Some(parts) => {
                    parts.iter().flatten().copied().filter(|part| !self.wholes.contains_key(part)).collect()
                }
                None => Vec::new(),
            };
            if !missing.is_empty() {
                open.extend(missing);
                continue;
            }
            open.pop();
            let made = match needed {
                Some(parts) => self.whole_of((expr, axis), mask, &parts, site)?,
                None => None,
            };
            self.wholes.insert((expr, axis), made);
        }
        Ok(self.wholes.get(&of).copied().flatten())
    }

    /// Returns, for each operand, the axis from which the mask has selected; `None` if the expression cannot be computed of
    /// all elements instead.
    fn parts_along(&self, (expr, axis): OfAxis, symbol: SymbolId) -> Option<Vec<Option<OfAxis>>> {
        let node = self.node(expr);
        let shape = self.written(expr);
        if node.can_fail(|operand| self.dtype(operand)) {
            return None;
        }
        match node {
            Node::Compress { axis: own, .. } if *own == axis => Some(Vec::new()),
            Node::Compress { operand, .. } => Some(vec![Some((*operand, axis))]),
            Node::Elementwise { .. } | Node::Select { .. } | Node::Cast(_) => {
                let operands = node.operands();
                let mut has_all = false;
                let mut parts = Vec::with_capacity(operands.len());
                for operand in operands {
                    let own = self.written(operand);
                    let aligned = (axis + own.rank()).checked_sub(shape.rank());
                    parts.push(match aligned.map(|at| (at, &own[at])) {
                        Some((at, size)) if size.as_symbol() == Some(symbol) => {
                            has_all |= own == shape;
                            Some((operand, at))
                        }
                        Some((_, size)) if !size.is_one() => return None,
                        _ => None,
                    });
                }
                has_all.then_some(parts)
            }
            Node::View { view, operand } => {
                let at = match view {
                    View::Permute(permutation) => permutation[axis],
                    View::ExpandDims(axes) => axis - axes.iter().filter(|new| **new < axis).count(),
                    View::Squeeze(axes) => axes.iter().fold(axis, |at, gone| at + usize::from(*gone <= at)),
                    _ => return None,
                };
                Some(vec![Some((*operand, at))])
            }
            Node::Reduce { op, operand, axes, keepdims } if !op.needs_elements() => {
                let at = match keepdims {
                    true => axis,
                    false => axes.iter().fold(axis, |at, gone| at + usize::from(*gone <= at)),
                };
                Some(vec![Some((*operand, at))])
            }
            _ => None,
        }
    }

    /// Returns an expression of all elements, whose operands are known.
    fn whole_of(
        &mut self,
        (expr, axis): OfAxis,
        mask: ExprId,
        parts: &[Option<OfAxis>],
        site: Site,
    ) -> Result<Option<ExprId>, Problem> {
        let node = self.node(expr).clone();
        if let Node::Compress { operand, axis: own, mask: by } = node
            && own == axis
        {
            // If not, it selects from what another mask has selected.
            return Ok((by == mask).then_some(operand));
        }
        let mut images: HashMap<ExprId, ExprId> = HashMap::new();
        for part in parts.iter().flatten() {
            match self.wholes.get(part).copied().flatten() {
                Some(whole) => drop(images.insert(part.0, whole)),
                None => return Ok(None),
            }
        }
        let image = |operand: ExprId| images.get(&operand).copied().unwrap_or(operand);
        let operands: Operands = node.operands().into_iter().map(image).collect();
        let (dtype, mut shape) = (self.dtype(expr), self.written(expr).to_vec());
        shape[axis] = self.written(mask)[0].clone();
        let node = match node {
            // The condition of a mask is not along this axis.
            Node::Compress { mask, axis, .. } => Node::Compress { operand: operands[0], mask, axis },
            mut node => {
                node.renumber(image);
                node
            }
        };
        self.insert(node, dtype, shape.into(), Vec::new(), site).map(Some)
    }

    /// Returns the operand of all elements, and the mask in its rank, if a mask has selected those along an axis.
    fn unselected(&mut self, of: OfAxis, site: Site) -> Result<Option<[ExprId; 2]>, Problem> {
        let (Some(whole), Some(mask)) = (self.whole(of, site)?, self.mask_of(of)) else { return Ok(None) };
        let rank = self.written(whole).rank();
        let others: Vec<i64> = (0..rank).filter(|axis| *axis != of.1).map(|axis| axis as i64).collect();
        let mask = self.try_expand_dims(mask, &others, site)?;
        let mask = self.try_broadcast_to(mask, self.written(whole).clone(), site)?;
        Ok(Some([whole, mask]))
    }

    /// Reduces along axes of which a mask has selected the elements of one: all its elements are read, those left out as
    /// the neutral element. `None` if there is no such axis, or if the elements have to be stored first.
    pub(super) fn reduce_selected(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        axes: &[usize],
        keepdims: bool,
        site: Site,
    ) -> Result<Option<ExprId>, Problem> {
        if op.is_arg() || !self.symbols.has_decided() {
            return Ok(None);
        }
        for &axis in axes {
            let Some([whole, mask]) = self.unselected((operand, axis), site)? else { continue };
            let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
            let reduced =
                self.reduce_filtered(op, whole, Some(mask), Some(&axes), keepdims, Empty::Identity, site)?;
            return Ok(Some(reduced));
        }
        Ok(None)
    }

    /// Scans along an axis of which a mask has selected the elements, as [`Graph::reduce_selected`] reduces.
    pub(super) fn scan_selected(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        axis: usize,
        site: Site,
    ) -> Result<Option<ExprId>, Problem> {
        if !self.symbols.has_decided() {
            return Ok(None);
        }
        let Some([whole, mask]) = self.unselected((operand, axis), site)? else { return Ok(None) };
        let Some(selecting) = self.mask_of((operand, axis)) else { return Ok(None) };
        let neutral = self.insert_constant(op.identity(self.dtype(whole)), site)?;
        let read = self.try_select([mask, whole, neutral], site)?;
        let scanned = self.try_scan(op, read, axis, None, site)?;
        self.compressed(scanned, selecting, axis, site).map(Some)
    }

    /// Returns the tensor with those elements replaced at which a mask holds, by as many: NumPy's `x[mask] = values`. `None` if
    /// the values have no axis along which this mask selects.
    pub(super) fn set_selected(
        &mut self,
        base: ExprId,
        mask: ExprId,
        values: ExprId,
        site: Site,
    ) -> Result<Option<ExprId>, Problem> {
        if !self.symbols.has_decided() || self.any_poisoned(&[base, mask, values]) {
            return Ok(None);
        }
        let (shape, rank) = (self.written(base).clone(), self.written(mask).rank());
        if rank > shape.rank() || self.written(values).rank() != shape.rank() + 1 - rank {
            return Ok(None);
        }
        let flat = match rank {
            1 => mask,
            _ => self.try_reshape(mask, &[None], site)?,
        };
        let count = self.count_of(flat, site)?;
        if self.written(values)[0] != count {
            return Ok(None);
        }
        let values = self.as_element(values, self.dtype(base), site)?;
        let others: Vec<Dim> = shape[rank..].to_vec();
        let rows: Shape = std::iter::once(count).chain(others.iter().cloned()).collect();
        let values = self.try_broadcast_to(values, rows, site)?;
        let leading = Dim::product(&shape[..rank]).map_err(Problem::Size)?;
        // If not, the tensor is itself what a mask has selected.
        if let Some(whole) = self.whole((values, 0), site)?
            && self.written(whole)[0] == leading
        {
            let sizes: Vec<Option<Dim>> = shape.iter().cloned().map(Some).collect();
            let whole = self.try_reshape(whole, &sizes, site)?;
            let after: Vec<i64> = (rank..shape.rank()).map(|axis| axis as i64).collect();
            let chosen = self.try_expand_dims(mask, &after, site)?;
            return self.try_select([chosen, whole, base], site).map(Some);
        }
        let table: Vec<Option<Dim>> = std::iter::once(leading).chain(others).map(Some).collect();
        let table = self.try_reshape(base, &table, site)?;
        let indices = self.try_flatnonzero(flat, site)?;
        let (dtype, rows) = (self.dtype(table), self.written(table).clone());
        let node = Node::Scatter { op: None, base: table, indices, values };
        let changed = self.insert(node, dtype, rows, Vec::new(), site)?;
        let sizes: Vec<Option<Dim>> = shape.iter().cloned().map(Some).collect();
        self.try_reshape(changed, &sizes, site).map(Some)
    }

    /// Returns whether the first axis of a tensor has a size that data decide, so that it may be what a mask selects.
    pub(super) fn is_selected_by(&self, values: ExprId, mask: ExprId) -> bool {
        let of_values = self.mask_of((values, 0));
        of_values.is_some() && !self.is_poisoned(mask)
    }

    /// Returns the positions of the elements of a mask along each of its axes, which are those of the operand from `first` on.
    pub fn positions_of_mask(
        &mut self,
        operand: ExprId,
        mask: ExprId,
        first: usize,
        site: Site,
    ) -> Vec<ExprId> {
        let rank = self.written(mask).rank();
        let checked = match first + rank > self.written(operand).rank() {
            true => Err(Problem::TooManyIndices { given: first + rank, rank: self.written(operand).rank() }),
            false => self.check_mask("index", operand, mask, first, site),
        };
        match checked.and_then(|()| self.try_nonzero(mask, site)) {
            Ok(positions) => positions
                .into_iter()
                .map(|each| self.settle(Ok(each), "index", &[operand, mask], site))
                .collect(),
            Err(problem) => vec![self.settle(Err(problem), "index", &[operand, mask], site); rank.max(1)],
        }
    }

    /// Returns how many elements a mask selects (`i64`), if this is just that size.
    pub(super) fn counted_value(&mut self, size: &Dim, site: Site) -> Result<Option<ExprId>, Problem> {
        let Some(symbol) = size.as_symbol() else { return Ok(None) };
        match self.symbols.kind(symbol) {
            Some(SymbolKind::Count(mask)) => {
                self.try_reduce(ReduceOp::Sum, mask, None, false, Empty::Refused, site).map(Some)
            }
            Some(SymbolKind::Computed(value)) => self.convert(value, DType::I64, site).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns a computed integer without axes as a size. Each run finds it out; a negative one is an error of the run.
    pub fn size_of_value(&mut self, value: ExprId, site: Site) -> Dim {
        match self.try_size_of_value(value, site) {
            Ok(size) => {
                self.settle(Ok(value), "size", &[value], site);
                size
            }
            Err(problem) => {
                self.settle(Err(problem), "size", &[value], site);
                Dim::ZERO
            }
        }
    }

    pub(super) fn try_size_of_value(&mut self, value: ExprId, site: Site) -> Result<Dim, Problem> {
        if self.is_poisoned(value) {
            return Ok(Dim::ZERO);
        }
        if self.dtype(value).class() != Class::Int {
            return Err(Problem::SizeNotInteger { dtype: self.dtype(value) });
        }
        if self.written(value).rank() != 0 {
            return Err(Problem::Rank {
                name: "the size".into(),
                expected: 0,
                rank: self.written(value).rank(),
            });
        }
        let value = self.convert(value, DType::I64, site)?;
        if let Node::Constant(Scalar::I64(number @ ..0)) = self.node(value) {
            return Err(Problem::NegativeSize { axis: 0, size: self.size(&Dim::constant(*number)) });
        }
        if let Some(size) = self.as_known_size(value, MAX_TERMS, site)? {
            return Ok(size);
        }
        if self.symbols.is_full() {
            return Err(Problem::TooLarge);
        }
        Ok(Dim::symbol(self.symbols.decided(SymbolKind::Computed(value), value, site)))
    }

    /// Returns a computed integer as an expression of sizes that have symbols already, so that `arange(m.sum() + 1)` fits what m
    /// selects. `most` bounds the number of operations.
    fn as_known_size(&mut self, value: ExprId, most: usize, site: Site) -> Result<Option<Dim>, Problem> {
        Ok(match self.node(value) {
            Node::Size(size) => Some(size.clone()),
            Node::Constant(Scalar::I64(number)) => Some(Dim::constant(*number)),
            // As many as a mask selects.
            Node::Reduce { op: ReduceOp::Sum, operand, axes, .. }
                if self.dtype(*operand) == DType::Bool && axes.len() == self.written(*operand).rank() =>
            {
                let mask = self.try_reshape(*operand, &[None], site)?;
                Some(self.count_of(mask, site)?)
            }
            Node::Elementwise { op, operands } if most > 0 && operands.len() == 2 => {
                let (op, left, right) = (*op, operands[0], operands[1]);
                if !matches!(op, Op::Add | Op::Subtract | Op::Maximum) {
                    return Ok(None);
                }
                let Some(left) = self.as_known_size(left, most - 1, site)? else { return Ok(None) };
                let Some(right) = self.as_known_size(right, most - 1, site)? else { return Ok(None) };
                // What would overflow is computed in the run.
                match op {
                    Op::Add => left.add(&right).ok(),
                    Op::Subtract => left.sub(&right).ok(),
                    // A symbol is 0 or more.
                    _ if left.as_symbol().is_some()
                        && right.as_constant().is_some_and(|least| least <= 0) =>
                    {
                        Some(left)
                    }
                    _ => None,
                }
            }
            _ => None,
        })
    }

    /// Returns the positions of the elements that are not zero, along each axis: NumPy's `nonzero`.
    pub fn nonzero(&mut self, operand: ExprId, site: Site) -> Vec<ExprId> {
        let rank = self.written(operand).rank().max(1);
        match self.try_nonzero(operand, site) {
            Ok(positions) => {
                positions.into_iter().map(|each| self.settle(Ok(each), "nonzero", &[operand], site)).collect()
            }
            Err(problem) => {
                let poison = self.settle(Err(problem), "nonzero", &[operand], site);
                vec![poison; rank]
            }
        }
    }

    pub(super) fn try_nonzero(&mut self, operand: ExprId, site: Site) -> Result<Vec<ExprId>, Problem> {
        let shape = self.written(operand).clone();
        if self.is_poisoned(operand) {
            return Ok(vec![operand]);
        }
        if shape.rank() == 0 {
            return Err(Problem::Rank { name: "the operand".into(), expected: 1, rank: 0 });
        }
        let flat = self.try_flatnonzero(operand, site)?;
        // The position in row-major order, cut into those along the axes from the last one on.
        let mut rest = flat;
        let mut positions = Vec::with_capacity(shape.rank());
        for size in shape[1..].iter().rev() {
            let size = self.try_size(size.clone(), site)?;
            positions.push(self.try_elementwise(Op::Remainder, &[rest, size], site)?);
            rest = self.try_elementwise(Op::FloorDivide, &[rest, size], site)?;
        }
        positions.push(rest);
        positions.reverse();
        Ok(positions)
    }

    /// Returns the positions in row-major order of the elements that are not zero: NumPy's `flatnonzero`.
    pub fn flatnonzero(&mut self, operand: ExprId, site: Site) -> ExprId {
        let result = self.try_flatnonzero(operand, site);
        self.settle(result, "flatnonzero", &[operand], site)
    }

    pub(super) fn try_flatnonzero(&mut self, operand: ExprId, site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let mask = self.convert(operand, DType::Bool, site)?;
        let mask = self.try_reshape(mask, &[None], site)?;
        let positions = self.try_iota(self.written(mask)[0].clone(), site)?;
        self.compressed(positions, mask, 0, site)
    }

    /// Returns a row of positions for each element that is not zero: NumPy's `argwhere`.
    pub fn argwhere(&mut self, operand: ExprId, site: Site) -> ExprId {
        let result =
            self.try_nonzero(operand, site).and_then(|positions| match self.any_poisoned(&positions) {
                true => Ok(self.poison()),
                false => self.try_stack(&positions, 1, site),
            });
        self.settle(result, "argwhere", &[operand], site)
    }

    /// Returns each element as often as a vector of counts says, along an axis: NumPy's `repeat` with an array. Without an
    /// axis, the elements in row-major order.
    pub fn repeat_counted(
        &mut self,
        operand: ExprId,
        counts: ExprId,
        axis: Option<i64>,
        site: Site,
    ) -> ExprId {
        let result = self.try_repeat_counted(operand, counts, axis, site);
        self.settle(result, "repeat", &[operand, counts], site)
    }

    fn try_repeat_counted(
        &mut self,
        operand: ExprId,
        counts: ExprId,
        axis: Option<i64>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[operand, counts]) {
            return Ok(self.poison());
        }
        let (operand, axis) = match axis {
            Some(axis) => self.along(operand, axis, site)?,
            None => (self.try_reshape(operand, &[None], site)?, 0),
        };
        if self.dtype(counts).class() != Class::Int {
            return Err(Problem::Argument("needs integers as counts: convert them, `counts.astype(i64)`"));
        }
        let counts = self.as_index(counts, site)?;
        let size = Shape::from_iter([self.written(operand)[axis].clone()]);
        let counts = self.try_broadcast_to(counts, size, site)?;
        // A negative count makes the total one, which the run refuses.
        let least = self.try_reduce(ReduceOp::Min, counts, None, false, Empty::Identity, site)?;
        let zero = self.number(0.0, DType::I64, site)?;
        let least = self.try_elementwise(Op::Minimum, &[least, zero], site)?;
        let ends = self.try_scan(ReduceOp::Sum, counts, 0, None, site)?;
        let total = self.try_reduce(ReduceOp::Sum, counts, None, false, Empty::Refused, site)?;
        let is_valid = self.try_elementwise(Op::GreaterEqual, &[least, zero], site)?;
        let total = self.try_select([is_valid, total, least], site)?;
        let total = self.try_size_of_value(total, site)?;
        let places = self.try_iota(total, site)?;
        let source = self.try_searchsorted(ends, places, true, site)?;
        self.try_take(operand, source, axis as i64, site)
    }
}
