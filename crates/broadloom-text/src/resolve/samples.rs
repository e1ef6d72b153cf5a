//! Functions of samples, of positions among sorted numbers and of relations between rows; and other names of joins.

use super::call::{Call, concatenated};
use super::{Outcome, Resolver, Value};
use crate::names::{Joined, Sampled};
use crate::syntax::Id;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Literal, LiteralRole, NO_TENSORS, Overlap, Site, Sliding, Spacing};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

impl Resolver<'_> {
    pub(super) fn sampled(&mut self, function: Sampled, call: &Call) -> Outcome<Option<ExprId>> {
        match function {
            Sampled::Trapezoid => self.trapezoid(call),
            Sampled::Slide(sliding) => self.slide(sliding, call),
            Sampled::Polyval => self
                .of_both(call, ["p", "x"], LiteralRole::Own, |graph, [p, x], site| graph.polyval(p, x, site)),
            Sampled::Digitize => {
                let right = self.flag(call, "right")?;
                self.of_both(call, ["x", "bins"], LiteralRole::Searched, |graph, [x, bins], site| {
                    graph.digitize(x, bins, right, site)
                })
            }
            Sampled::Interp => self.interp(call),
            Sampled::IsIn => {
                let invert = self.flag(call, "invert")?;
                self.encode_compared(call, ["x", "values"])?;
                self.of_both(call, ["x", "values"], LiteralRole::Searched, |graph, [x, values], site| {
                    let isin = graph.isin(x, values, site);
                    if invert { graph.elementwise(Op::LogicalNot, &[isin], site) } else { isin }
                })
            }
            Sampled::Cov | Sampled::Corrcoef => self.cov(function, call),
            Sampled::Cross => {
                let axis = self.axis(call)?.unwrap_or(-1);
                self.of_both(call, ["x", "y"], LiteralRole::Value, |graph, operands, site| {
                    graph.cross(operands, axis, site)
                })
            }
            Sampled::Diag => {
                let offset = self.integer(call, "k", 0)?;
                let Some(x) = self.operand(call, "x")? else { return Ok(None) };
                let is_matrix = self.graph.shape(x).rank() >= 2;
                let made = self.build(call.span, |graph, site| match is_matrix {
                    true => graph.diagonal(x, offset, [0, 1], site),
                    false => graph.diag(x, offset, site),
                });
                made.map(Some)
            }
            Sampled::Bincount => self.bincount(call),
            Sampled::ArrayEqual => self.array_equal(call),
        }
    }

    /// Replaces texts that a call compares with a column of text by codes.
    fn encode_compared(&mut self, call: &Call, names: [&'static str; 2]) -> Outcome<()> {
        match names.map(|name| call.get(name)) {
            [Some(x), Some(y)] => self.encode_texts([x, y]),
            _ => Ok(()),
        }
    }

    /// Calls the builder with two operands, each of its own dtype; a number has the role beside the other operand.
    fn of_both(
        &mut self,
        call: &Call,
        names: [&'static str; 2],
        role: LiteralRole,
        make: impl FnOnce(&mut Graph, [ExprId; 2], Site) -> ExprId,
    ) -> Outcome<Option<ExprId>> {
        let operands = [call.all(names[0]), call.all(names[1])].concat();
        let Some(exprs) = self.operands_by(|_| role, &operands)? else { return Ok(None) };
        let [x, y] = exprs[..] else { return call.refuse("takes two operands") };
        self.build(call.span, |graph, site| make(graph, [x, y], site)).map(Some)
    }

    fn trapezoid(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let axis = self.one_axis(call, -1)?;
        let spacing = match self.given(call, "x") {
            Some(id) => match self.tensor(id, DType::F64)? {
                Some(places) => Spacing::At(places),
                None => return Ok(None),
            },
            None if call.get("dx").is_some() => Spacing::Step(self.number(call, "dx")?),
            None => Spacing::Step(1.0),
        };
        let Some(y) = self.operand(call, "y")? else { return Ok(None) };
        self.build(call.span, |graph, site| graph.trapezoid(y, spacing, axis, site)).map(Some)
    }

    fn slide(&mut self, sliding: Sliding, call: &Call) -> Outcome<Option<ExprId>> {
        let modes = [("full", Overlap::Full), ("same", Overlap::Same), ("valid", Overlap::Valid)];
        let overlap = self.meaning_of(call, "mode", modes)?.unwrap_or(match sliding {
            Sliding::Convolve => Overlap::Full,
            Sliding::Correlate => Overlap::Valid,
        });
        self.of_both(call, ["x", "y"], LiteralRole::Value, |graph, vectors, site| {
            graph.slide(sliding, vectors, overlap, site)
        })
    }

    fn interp(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let mut beyond = [None; 2];
        for (side, name) in beyond.iter_mut().zip(["left", "right"]) {
            if self.given(call, name).is_some() {
                *side = Some(self.number(call, name)?);
            }
        }
        let mut operands = Vec::with_capacity(3);
        for name in ["x", "xp", "fp"] {
            let Some(id) = call.get(name) else { return call.refuse(format!("needs `{name}`")) };
            let Some(expr) = self.tensor(id, DType::F64)? else { return Ok(None) };
            operands.push(expr);
        }
        let [x, places, values] = operands[..] else { return Ok(None) };
        self.build(call.span, |graph, site| graph.interp(x, [places, values], beyond, site)).map(Some)
    }

    fn cov(&mut self, function: Sampled, call: &Call) -> Outcome<Option<ExprId>> {
        let in_rows = call.get("rowvar").is_none() || self.flag(call, "rowvar")?;
        let otherwise = if self.flag(call, "bias")? { 0.0 } else { 1.0 };
        let correction = match self.given(call, "correction") {
            Some(_) => self.number(call, "correction")?,
            None => otherwise,
        };
        let Some(mut x) = self.operand(call, "x")? else { return Ok(None) };
        let (span, mut in_rows) = (call.span, in_rows);
        if let Some(y) = self.given(call, "y") {
            let Some(y) = self.tensor(y, DType::F64)? else { return Ok(None) };
            let name = if function == Sampled::Cov { "cov" } else { "corrcoef" };
            x = self.build(span, |graph, site| graph.variables_of_both(name, [x, y], in_rows, site))?;
            in_rows = true;
        }
        let made = self.build(span, |graph, site| match function {
            Sampled::Cov => graph.cov(x, in_rows, correction, site),
            _ => graph.corrcoef(x, in_rows, site),
        });
        made.map(Some)
    }

    /// The counts of the numbers from 0 to before `minlength`, or the sums of their weights in `f64`.
    fn bincount(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let count = self.given(call, "minlength").map(|count| self.size(count)).transpose()?;
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let weights = match self.given(call, "weights") {
            Some(weights) => match self.tensor(weights, DType::F64)? {
                Some(weights) => Some(weights),
                None => return Ok(None),
            },
            None => None,
        };
        let counts = self.build(call.span, |graph, site| match count {
            Some(count) => graph.bincount(x, weights, count, site),
            None => graph.bincount_all(x, weights, 0, site),
        });
        counts.map(Some)
    }

    /// Whether both have the same shape and elements: false for different constant sizes; other sizes must be equal.
    fn array_equal(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        self.encode_compared(call, ["x", "y"])?;
        let Some(exprs) = self.compared(&[call.all("x"), call.all("y")].concat())? else { return Ok(None) };
        let [x, y] = exprs[..] else { return call.refuse("takes two operands") };
        let [left, right] = [x, y].map(|of| self.graph.shape(of));
        let differs = |(left, right): (&Dim, &Dim)| {
            left.as_constant().zip(right.as_constant()).is_some_and(|(left, right)| left != right)
        };
        if left.rank() != right.rank() || left.iter().zip(right.iter()).any(differs) {
            return self
                .build(call.span, |graph, site| graph.literal(Literal::Bool(false), DType::Bool, site))
                .map(Some);
        }
        let made = self.build(call.span, |graph, site| {
            let equal = graph.elementwise(Op::Equal, &[x, y], site);
            graph.reduce(ReduceOp::All, equal, None, false, site)
        });
        made.map(Some)
    }

    /// The tensors of a list, or the results of a call with several.
    pub(super) fn listed(&mut self, call: &Call) -> Outcome<Option<Vec<ExprId>>> {
        let arrays = call.all("arrays");
        let ids: Vec<Id> = match arrays.first().map(|id| self.value(*id)) {
            Some(Value::Several(results)) => return Ok(Some(results.clone())),
            Some(Value::List(_)) => self.flattened(arrays),
            _ => return call.refuse("takes a list of tensors: `[a, b]`"),
        };
        if ids.is_empty() {
            return call.refuse(NO_TENSORS);
        }
        self.tensors(&ids)
    }

    /// `vstack([a, b])` and similar calls.
    pub(super) fn joined(&mut self, joined: Joined, call: &Call) -> Outcome<Option<ExprId>> {
        let span = call.span;
        if joined == Joined::Append {
            let axis = self.axis(call)?;
            return self.of_both(call, ["x", "values"], LiteralRole::Own, |graph, both, site| match axis {
                Some(axis) => graph.concat(&both, axis, site),
                None => concatenated(graph, &both, site),
            });
        }
        let Some(exprs) = self.listed(call)? else { return Ok(None) };
        let rank = exprs.first().map_or(0, |first| self.graph.shape(*first).rank());
        let (least, axis) = match joined {
            Joined::Rows => (2, 0),
            Joined::Depth => (3, 2),
            Joined::Columns => (2, 1),
            Joined::Horizontal | Joined::Append => (1, usize::from(rank > 1)),
        };
        let mut parts = Vec::with_capacity(exprs.len());
        for part in exprs {
            // A vector becomes a column.
            let is_column = joined == Joined::Columns && self.graph.shape(part).rank() == 1;
            parts.push(self.build(span, |graph, site| match is_column {
                true => graph.expand_dims(part, &[1], site),
                false => graph.atleast(part, least, site),
            })?);
        }
        self.build(span, |graph, site| graph.concat(&parts, axis as i64, site)).map(Some)
    }
}
