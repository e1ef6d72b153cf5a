//! Rolled axes.

use crate::dim::Dim;
use crate::dtype::Scalar;
use crate::graph::reduction::resolve_axis;
use crate::graph::{Graph, Site, SymbolKind};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;

impl Graph {
    /// Moves the elements along axes by numbers of places; elements that leave at the end come in at the other.
    /// `None` moves along all elements in row-major order. A symbolic shift, or its negative, is at least 0 and at
    /// most the size.
    pub fn roll(&mut self, operand: ExprId, shifts: &[Dim], axes: Option<&[i64]>, site: Site) -> ExprId {
        let result = self.try_roll(operand, shifts, axes, site);
        self.settle_view(result, "roll", operand, site)
    }

    fn try_roll(
        &mut self,
        operand: ExprId,
        shifts: &[Dim],
        axes: Option<&[i64]>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let shape = self.written(operand).clone();
        if let (None | Some([_]), [first, others @ ..]) = (axes, shifts)
            && !others.is_empty()
        {
            // Along one axis, they add up.
            let sum = others.iter().try_fold(first.clone(), |sum, shift| sum.add(shift));
            return self.try_roll(operand, &[sum.map_err(Problem::Size)?], axes, site);
        }
        let Some(axes) = axes else {
            let all = self.try_reshape(operand, &[None], site)?;
            let rolled = self.try_roll(all, shifts, Some(&[0]), site)?;
            let sizes: Vec<Option<Dim>> = shape.iter().cloned().map(Some).collect();
            return self.try_reshape(rolled, &sizes, site);
        };
        if shifts.len() != axes.len() && shifts.len() != 1 {
            return Err(Problem::Argument("needs one shift, or one for each axis"));
        }
        let mut rolled = operand;
        for (place, &axis) in axes.iter().enumerate() {
            let axis = resolve_axis(axis, shape.rank())?;
            rolled = self.roll_axis(rolled, axis, &shifts[place.min(shifts.len() - 1)], site)?;
        }
        Ok(rolled)
    }

    fn roll_axis(
        &mut self,
        operand: ExprId,
        axis: usize,
        shift: &Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let size = self.written(operand)[axis].clone();
        let shift = match (shift.as_constant(), size.as_constant()) {
            (Some(_), Some(0)) => Dim::ZERO,
            (Some(shift), Some(size)) => Dim::constant(shift.rem_euclid(size)),
            _ => self.symbols.accept(shift, site)?,
        };
        if shift.is_zero() || size.is_one() {
            return Ok(operand);
        }
        let shift = self.wrapped_shift(shift, &size, site)?;
        let is_backwards = shift.interval(&|symbol| self.facts(symbol)).upper <= 0;
        let cut = if is_backwards { shift.neg() } else { size.sub(&shift) }.map_err(Problem::Size)?;
        let after = self.part(operand, axis, Some(cut.clone()), None, 1, site)?;
        let before = self.part(operand, axis, None, Some(cut), 1, site)?;
        self.try_concat(&[after, before], axis as i64, site)
    }

    /// Returns a shift along an axis whose size each run finds out, which may be less than the shift, or 0: the rest of the
    /// division by the size. Along other axes of symbolic size, a call needs as many elements.
    fn wrapped_shift(&mut self, shift: Dim, size: &Dim, site: Site) -> Result<Dim, Problem> {
        let kind = size.as_symbol().and_then(|symbol| self.symbols.kind(symbol));
        if kind.and_then(SymbolKind::decided_by).is_none() {
            return Ok(shift);
        }
        let [shift, size] = [self.try_size(shift, site)?, self.try_size(size.clone(), site)?];
        let one = self.insert_constant(Scalar::I64(1), site)?;
        let size = self.try_elementwise(Op::Maximum, &[size, one], site)?;
        let rest = self.try_elementwise(Op::Remainder, &[shift, size], site)?;
        self.try_size_of_value(rest, site)
    }
}
