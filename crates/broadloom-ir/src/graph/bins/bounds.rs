//! The order of bounds, which a search relies on. It is data: constants are checked when they are given, and other
//! bounds once in each run, apart from the elements between them.

use super::HISTOGRAM;
use crate::dim::Dim;
use crate::dtype::{AnyNumber, Class, DType, Scalar};
use crate::graph::reduction::Empty;
use crate::graph::{CheckedGraph, Graph, Node, Site, SliceSpec, View};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use std::fmt;

/// Why bounds are not those of bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundsFault {
    /// Bounds that must increase hold a bound that is less than the one before it, or NaN.
    Decrease,
    /// Bounds that may increase or decrease do neither.
    Unordered,
    /// Bounds that were computed for bins of equal width are equal: the dtype holds no numbers between them.
    TooClose,
}

impl BoundsFault {
    const ALL: [BoundsFault; 3] = [BoundsFault::Decrease, BoundsFault::Unordered, BoundsFault::TooClose];

    /// The index that stands for the first of the faults: those before it stand for values without bins.
    const FIRST: i64 = 16;

    /// Returns what to do.
    pub fn help(self) -> &'static str {
        match self {
            BoundsFault::Decrease => "sort the bounds first, and leave out nan: `sort(bins)`",
            BoundsFault::Unordered => "sort the bounds first: `sort(bins)`",
            BoundsFault::TooClose => "ask for fewer bins, or give a wider `range`",
        }
    }
}

impl fmt::Display for BoundsFault {
    /// Prints what is wrong with the bound at a position, which comes before.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BoundsFault::Decrease => "is less than the one before it, or nan",
            BoundsFault::Unordered => {
                "breaks the order of the ones before it: they neither increase nor decrease"
            }
            BoundsFault::TooClose => {
                "equals the one before it: there are too many bins for the range of the data"
            }
        })
    }
}

impl CheckedGraph {
    /// Returns the fault of bounds, where `expr` is the expression that checks them, and `index` is out of range there;
    /// `None` for other expressions. The fault is between the bound at the position of the index and the next one.
    pub fn fault_of_bounds(&self, expr: ExprId, index: i64) -> Option<BoundsFault> {
        let is_check = [HISTOGRAM, "digitize"].contains(&self.call(expr))
            && matches!(self.node(expr), Node::Take { .. });
        let place = usize::try_from(index.checked_sub(BoundsFault::FIRST)?).ok()?;
        BoundsFault::ALL.get(place).copied().filter(|_| is_check)
    }
}

/// The order of bounds.
pub(super) enum Order {
    /// Known to be right.
    Right,
    /// Zero (`i64`, without axes) in a run in which it is right; otherwise the run is an error.
    Zero(ExprId),
}

impl Graph {
    /// Returns an expression that each run can only compute if bounds do not decrease.
    pub(super) fn check_increase(&mut self, edges: ExprId, site: Site) -> Result<Order, Problem> {
        if let Some(known) = self.constants_of(edges) {
            let is_right =
                known.is_sorted_by(|one, next| order(*one, *next, true)) && !known.iter().any(is_nan);
            return match is_right {
                true => Ok(Order::Right),
                false => Err(Problem::Argument("takes bounds that do not decrease: `[0, 1, 2]`")),
            };
        }
        let [later, earlier] = self.neighbours(edges, 0, site)?;
        let is_right = self.try_elementwise(Op::LessEqual, &[earlier, later], site)?;
        self.zero_where(is_right, BoundsFault::Decrease, site).map(Order::Zero)
    }

    /// Returns an expression that each run can only compute if each bound is less than the next one.
    pub(super) fn check_distinct(&mut self, edges: ExprId, site: Site) -> Result<ExprId, Problem> {
        let [later, earlier] = self.neighbours(edges, 0, site)?;
        let is_right = self.try_elementwise(Op::Less, &[earlier, later], site)?;
        self.zero_where(is_right, BoundsFault::TooClose, site)
    }

    /// Returns whether bounds increase (bool, without axes), which each run can only compute if they increase or
    /// decrease. As in a sort, NaN is greater than all numbers.
    pub(super) fn increases(&mut self, edges: ExprId, site: Site) -> Result<ExprId, Problem> {
        if let Some(known) = self.constants_of(edges) {
            let rises = known.is_sorted_by(|one, next| order(*one, *next, true));
            if !rises && !known.is_sorted_by(|one, next| order(*one, *next, false)) {
                return Err(Problem::Argument("takes bounds that increase or decrease: `[0, 1, 2]`"));
            }
            return self.insert_constant(Scalar::Bool(rises), site);
        }
        let [first, last] =
            [0, -1].map(|at| self.try_slice(edges, &[SliceSpec::At(Dim::constant(at))], site));
        let rises = self.at_most([first?, last?], site)?;
        let [later, earlier] = self.neighbours(edges, 0, site)?;
        let goes_up = self.at_most([earlier, later], site)?;
        let goes_down = self.at_most([later, earlier], site)?;
        let is_right = self.try_select([rises, goes_up, goes_down], site)?;
        let zero = self.zero_where(is_right, BoundsFault::Unordered, site)?;
        let rises = self.convert(rises, DType::I64, site)?;
        self.try_elementwise(Op::Less, &[zero, rises], site)
    }

    /// Returns whether one number is at most another, or the other is NaN.
    fn at_most(&mut self, [left, right]: [ExprId; 2], site: Site) -> Result<ExprId, Problem> {
        let is_at_most = self.try_elementwise(Op::LessEqual, &[left, right], site)?;
        if self.dtype(right).class() != Class::Float {
            return Ok(is_at_most);
        }
        let is_last = self.try_elementwise(Op::Isnan, &[right], site)?;
        self.try_elementwise(Op::LogicalOr, &[is_at_most, is_last], site)
    }

    /// Returns zero (`i64`, without axes): the sum of zeros that are taken from a table, one for each two neighbours. If
    /// they are not right, the index is not in the table, and says what is wrong.
    fn zero_where(&mut self, is_right: ExprId, fault: BoundsFault, site: Site) -> Result<ExprId, Problem> {
        let number =
            BoundsFault::FIRST + BoundsFault::ALL.iter().position(|one| *one == fault).unwrap_or(0) as i64;
        let [zero, number] = [0, number].map(|value| self.insert_constant(Scalar::I64(value), site));
        let zero = zero?;
        let index = self.try_select([is_right, zero, number?], site)?;
        let table = self.try_broadcast_to(zero, [Dim::ONE].into_iter().collect(), site)?;
        let zeros = self.try_take(table, index, 0, site)?;
        self.try_reduce(ReduceOp::Sum, zeros, None, false, Empty::Refused, site)
    }

    /// Returns the elements of a vector that was made of constants.
    fn constants_of(&self, vector: ExprId) -> Option<Vec<AnyNumber>> {
        let Node::Concat { operands, .. } = self.node(vector) else { return None };
        let constant = |part: &ExprId| match self.node(*part) {
            Node::View { view: View::ExpandDims(_), operand } => match self.node(*operand) {
                Node::Constant(value) => Some(value.number()),
                _ => None,
            },
            _ => None,
        };
        operands.iter().map(constant).collect()
    }
}

/// Returns whether two neighbours are in ascending or descending order, in which NaN is the greatest.
fn order(one: AnyNumber, next: AnyNumber, ascending: bool) -> bool {
    let (low, high) = if ascending { (one, next) } else { (next, one) };
    match (low, high) {
        (AnyNumber::Int(low), AnyNumber::Int(high)) => low <= high,
        (AnyNumber::Float(low), AnyNumber::Float(high)) => low <= high || high.is_nan(),
        _ => false,
    }
}

fn is_nan(number: &AnyNumber) -> bool {
    matches!(number, AnyNumber::Float(float) if float.is_nan())
}
