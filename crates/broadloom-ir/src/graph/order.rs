//! Sorting, and binary search in sorted tables.
//!
//! Ascending order puts -0 before +0, and NaNs, which are all equal, after all numbers. Indices are those of a
//! stable sort in which zeros are equal, as they are in a search. Descending order is the reverse, with NaNs first,
//! except that among equal elements the lower index still comes first.

use super::elementwise::mixes_u64;
use super::reduction::resolve_axis;
use super::{Graph, Node, Site};
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;

/// The result of a sort, and its axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The axis of the operand.
    pub axis: usize,
    /// Whether the result is the indices (i64) of the elements instead of the elements.
    pub indices: bool,
    /// Whether the greatest element comes first.
    pub descending: bool,
}

impl Sort {
    /// Returns the name in the text language, in dumps and in messages.
    pub fn name(self) -> &'static str {
        if self.indices { "argsort" } else { "sort" }
    }
}

/// The name of [`Node::Search`] in the text language, in dumps and in messages.
pub const SEARCH: &str = "searchsorted";

impl Graph {
    /// Sorts the elements along an axis in ascending or descending order; `None` sorts all of them along one axis.
    pub fn sort(&mut self, operand: ExprId, axis: Option<i64>, descending: bool, site: Site) -> ExprId {
        self.in_order(operand, axis, false, descending, site)
    }

    /// Returns the indices (i64) along the axis that sort the elements, with the lower index first among equal
    /// ones; `None` means indices in row-major order.
    pub fn argsort(&mut self, operand: ExprId, axis: Option<i64>, descending: bool, site: Site) -> ExprId {
        self.in_order(operand, axis, true, descending, site)
    }

    /// Returns the positions of values in an ascending table with one axis: the number of its elements that are
    /// less than each value, or with `right` not greater (i64). Zeros are equal, and a NaN is greater than all
    /// numbers. Both operands are converted to their common dtype; integers compare exactly.
    ///
    /// The search halves an interval of positions from `first` to `last`, initially 0 and the size of the table:
    /// the element at `first + (last - first) / 2`, rounded down, decides in which half the position is. So an
    /// unsorted table has well-defined positions too, the same on every run.
    pub fn searchsorted(&mut self, table: ExprId, values: ExprId, right: bool, site: Site) -> ExprId {
        let result = self.try_searchsorted(table, values, right, site);
        self.settle(result, SEARCH, &[table, values], site)
    }

    fn in_order(
        &mut self,
        operand: ExprId,
        axis: Option<i64>,
        indices: bool,
        descending: bool,
        site: Site,
    ) -> ExprId {
        let name = if indices { "argsort" } else { "sort" };
        let result = self.try_sort(operand, axis, indices, descending, site);
        self.settle(result, name, &[operand], site)
    }

    pub(super) fn try_sort(
        &mut self,
        operand: ExprId,
        axis: Option<i64>,
        indices: bool,
        descending: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let (operand, axis) = match axis {
            // NumPy sorts no tensor without axes, but has an order of its only element.
            Some(axis) if indices => self.along(operand, axis, site)?,
            Some(axis) => (operand, resolve_axis(axis, self.written(operand).rank())?),
            None => (self.try_reshape(operand, &[None], site)?, 0),
        };
        self.insert_sort(operand, Sort { axis, indices, descending }, site)
    }

    pub(super) fn insert_sort(&mut self, operand: ExprId, sort: Sort, site: Site) -> Result<ExprId, Problem> {
        let dtype = if sort.indices { DType::I64 } else { self.dtype(operand) };
        let shape = self.written(operand).clone();
        self.insert(Node::Sort { operand, sort }, dtype, shape, Vec::new(), site)
    }

    pub(super) fn try_searchsorted(
        &mut self,
        table: ExprId,
        values: ExprId,
        right: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[table, values]) {
            return Ok(self.poison());
        }
        let length = self.length_of(table, "the sorted table")?;
        let dtypes = [table, values].map(|operand| self.dtype(operand));
        if mixes_u64(dtypes[0], dtypes[1]) {
            return self.search_mixed(table, values, length, right, site);
        }
        let common = dtypes[0].promote(dtypes[1]);
        let [table, values] = [self.convert(table, common, site)?, self.convert(values, common, site)?];
        self.insert_search(table, values, right, site)
    }

    fn insert_search(
        &mut self,
        table: ExprId,
        values: ExprId,
        right: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let shape = self.written(values).clone();
        self.insert(Node::Search { table, values, right }, DType::I64, shape, Vec::new(), site)
    }

    /// Searches where one operand is `u64` and the other signed: in the dtype of the table, for the values that it
    /// holds. All other values lie before or behind the whole table.
    fn search_mixed(
        &mut self,
        table: ExprId,
        values: ExprId,
        length: Dim,
        right: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let (op, limit, place) = match self.dtype(table) {
            DType::U64 => (Op::Less, 0, Dim::ZERO),
            _ => (Op::Greater, i64::MAX, length),
        };
        let own = if op == Op::Less { DType::U64 } else { DType::I64 };
        let limit = self.insert_constant(Scalar::I64(limit).cast(self.dtype(values)), site)?;
        let is_outside = self.try_elementwise(op, &[values, limit], site)?;
        let place = self.try_size(place, site)?;
        let [table, values] = [self.convert(table, own, site)?, self.convert(values, own, site)?];
        let found = self.insert_search(table, values, right, site)?;
        self.try_select([is_outside, place, found], site)
    }
}
