//! Rearrangements of elements, and tensors filled with one value.

use super::call::Call;
use super::{Outcome, Resolver, Value, as_size};
use crate::names::{Arrange, Filled};
use crate::syntax::Id;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Literal, Pad, Triangle};

impl Resolver<'_> {
    pub(super) fn arrange(&mut self, arrange: Arrange, x: ExprId, call: &Call) -> Outcome<Option<ExprId>> {
        let span = call.span;
        let made = match arrange {
            Arrange::Flip => {
                let axes = self.axes(call)?;
                self.build(span, |graph, site| graph.flip(x, axes.as_deref(), site))
            }
            Arrange::FlipAxis(axis) => self.build(span, |graph, site| graph.flip(x, Some(&[axis]), site)),
            Arrange::SwapAxes => {
                let (first, second) = (self.integer(call, "axis1", 0)?, self.integer(call, "axis2", 1)?);
                self.build(span, |graph, site| graph.swapaxes(x, first, second, site))
            }
            Arrange::MoveAxis => {
                let (from, to) =
                    (self.integers(call.all("source"))?, self.integers(call.all("destination"))?);
                self.build(span, |graph, site| graph.moveaxis(x, &from, &to, site))
            }
            Arrange::Rot90 => {
                let quarters = self.integer(call, "k", 1)?;
                let axes =
                    if call.get("axes").is_some() { self.integers(call.all("axes"))? } else { vec![0, 1] };
                let [first, second] = axes[..] else {
                    return call.refuse("rotates in the plane of two axes");
                };
                self.build(span, |graph, site| graph.rot90(x, quarters, [first, second], site))
            }
            Arrange::Roll => {
                let (shifts, axes) = (self.sizes(call.all("shift"))?, self.axes(call)?);
                self.build(span, |graph, site| graph.roll(x, &shifts, axes.as_deref(), site))
            }
            Arrange::Repeat => return self.repeat(x, call),
            Arrange::Tile => {
                let times = self.sizes(call.all("reps"))?;
                self.build(span, |graph, site| graph.tile(x, &times, site))
            }
            Arrange::Pad => return self.pad(x, call),
            Arrange::AtLeast(rank) => self.build(span, |graph, site| graph.atleast(x, rank, site)),
            Arrange::Diagonal | Arrange::Trace => {
                let offset = self.integer(call, "offset", 0)?;
                let axes = [self.integer(call, "axis1", 0)?, self.integer(call, "axis2", 1)?];
                self.build(span, |graph, site| match arrange {
                    Arrange::Trace => graph.trace(x, offset, axes, site),
                    _ => graph.diagonal(x, offset, axes, site),
                })
            }
            Arrange::Triangle(triangle) => {
                let offset = self.integer(call, "k", 0)?;
                self.build(span, |graph, site| graph.triangle(x, triangle, offset, site))
            }
            Arrange::Vander => {
                let length = self.graph.shape(x).first().and_then(Dim::as_constant);
                let count = match (call.get("n"), length) {
                    (None, Some(length)) => length,
                    (None, None) => return call.refuse("needs `n`, the number of columns"),
                    (Some(_), _) => self.integer(call, "n", 0)?,
                };
                let increasing = self.flag(call, "increasing")?;
                self.build(span, |graph, site| graph.vander(x, count, increasing, site))
            }
            Arrange::Windows => {
                let widths = self.sizes(call.all("window_shape"))?;
                let rank = self.graph.shape(x).rank() as i64;
                let axes = self.axes(call)?.unwrap_or_else(|| (0..rank).collect());
                if axes.len() != widths.len() {
                    return call.refuse(
                        "needs one window width for each axis; pass `axis` to slide along fewer axes",
                    );
                }
                // Each window adds an axis at the end, which shifts axes counted from there.
                let own = |axis: i64| if axis < 0 { axis.saturating_add(rank) } else { axis };
                self.build(span, |graph, site| {
                    let windows = axes.iter().zip(widths);
                    windows.fold(x, |x, (&axis, width)| graph.windows(x, width, own(axis), site))
                })
            }
            Arrange::Unfold => {
                let (width, step) = (self.required_size(call, "size")?, self.integer(call, "step", 1)?);
                let Some(axis) = self.axis(call)? else { return call.refuse("takes one axis") };
                self.build(span, |graph, site| graph.unfold(x, width, axis, step, site))
            }
        };
        made.map(Some)
    }

    /// `repeat(x, 2)`, `repeat(x, [1, 2, 3], axis=0)`.
    fn repeat(&mut self, x: ExprId, call: &Call) -> Outcome<Option<ExprId>> {
        let (axis, span) = (self.axis(call)?, call.span);
        let Some(repeats) = call.get("repeats") else { return call.refuse("needs `repeats`") };
        let made = match self.value(repeats) {
            Value::List(_) => match self.integers(&[repeats])?[..] {
                [times] => self.build(span, |graph, site| graph.repeat(x, Dim::constant(times), axis, site)),
                ref counts => self.build(span, |graph, site| graph.repeat_each(x, counts, axis, site)),
            },
            Value::Tensor(counts) if self.graph.shape(*counts).rank() > 0 => {
                let counts = *counts;
                self.build(span, |graph, site| graph.repeat_counted(x, counts, axis, site))
            }
            _ => {
                let times = self.size(repeats)?;
                self.build(span, |graph, site| graph.repeat(x, times, axis, site))
            }
        };
        made.map(Some)
    }

    /// `pad(x, 1)`, `pad(x, (1, 2))`, `pad(x, ((1, 2), (0, 3)), 'edge')`.
    fn pad(&mut self, x: ExprId, call: &Call) -> Outcome<Option<ExprId>> {
        let modes = [
            ("constant", None),
            ("edge", Some(Pad::Edge)),
            ("reflect", Some(Pad::Reflect)),
            ("symmetric", Some(Pad::Symmetric)),
            ("wrap", Some(Pad::Wrap)),
        ];
        let mode = self.meaning_of(call, "mode", modes)?.flatten();
        let rank = self.graph.shape(x).rank();
        let given = self.flattened(call.all("pad_width"));
        let is_list = |id: &Id| matches!(self.value(*id), Value::List(_));
        let pairs: Vec<Vec<Id>> = match given.iter().all(is_list) && !given.is_empty() {
            true => given.iter().map(|pair| self.flattened(&[*pair])).collect(),
            false => vec![given],
        };
        let mut widths: Vec<[Dim; 2]> = Vec::with_capacity(rank);
        for pair in pairs {
            widths.push(match pair[..] {
                [both] => [self.size(both)?, self.size(both)?],
                [before, after] => [self.size(before)?, self.size(after)?],
                _ => return call.refuse("takes widths as 1, (1, 2), or one pair for each axis"),
            });
        }
        if let [pair] = &widths[..] {
            widths = vec![pair.clone(); rank];
        }
        let mode = match mode {
            Some(mode) => mode,
            None => {
                let meets = self.graph.dtype(x);
                let value = match call.get("constant_values") {
                    Some(value) => self.tensor(value, meets)?,
                    None => Some(
                        self.build(call.span, |graph, site| graph.literal(Literal::Int(0), meets, site))?,
                    ),
                };
                let Some(value) = value else { return Ok(None) };
                Pad::Constant(value)
            }
        };
        self.build(call.span, |graph, site| graph.pad(x, &widths, mode, site)).map(Some)
    }

    /// `full((n, 3), 1.5)`, `zeros_like(x)`.
    pub(super) fn filled(&mut self, filled: Filled, call: &Call) -> Outcome<Option<ExprId>> {
        let mut dtype = self.dtype(call)?;
        let (shape, number) = match filled {
            Filled::Shape(number) => {
                dtype = dtype.or(number.map(|_| DType::F64));
                (self.shape_of(call)?, number)
            }
            Filled::Like(number) => {
                let Some(x) = self.operand(call, "x")? else { return Ok(None) };
                dtype = dtype.or(Some(self.graph.dtype(x)));
                (self.graph.measure(x).to_vec(), number)
            }
        };
        let span = call.span;
        let value = match (number, call.get("fill_value")) {
            (Some(number), _) => {
                let literal = Literal::Int(number.into());
                let meets = dtype.unwrap_or(DType::F64);
                Some(self.build(span, |graph, site| graph.literal(literal, meets, site))?)
            }
            (None, Some(value)) => self.tensor(value, dtype.unwrap_or(DType::Bool))?,
            (None, None) => return call.refuse("needs `fill_value`"),
        };
        let Some(value) = value else { return Ok(None) };
        let value = self.cast_to(value, dtype, span)?;
        self.build(span, |graph, site| graph.filled(&call.function, value, shape.into(), site)).map(Some)
    }

    /// The sizes of a shape, given as a shape, a tuple or one size.
    fn shape_of(&mut self, call: &Call) -> Outcome<Vec<Dim>> {
        match call.get("shape").map(|id| self.value(id)) {
            Some(Value::Sizes(sizes)) => Ok(sizes.clone()),
            _ => self.sizes(call.all("shape")),
        }
    }

    /// Ones on a diagonal; by default `f64`.
    pub(super) fn eye(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let rows = self.required_size(call, "n")?;
        let columns = self.given(call, "m").map_or(Ok(rows.clone()), |columns| self.size(columns))?;
        let (offset, dtype) = (self.integer(call, "k", 0)?, self.dtype(call)?.unwrap_or(DType::F64));
        let eye = self.build(call.span, |graph, site| graph.eye([rows, columns], offset, dtype, site));
        eye.map(Some)
    }

    /// Ones on and below a diagonal; by default `f64`.
    pub(super) fn triangular(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let rows = self.required_size(call, "n")?;
        let columns = self.given(call, "m").map_or(Ok(rows.clone()), |columns| self.size(columns))?;
        let (offset, dtype) = (self.integer(call, "k", 0)?, self.dtype(call)?.unwrap_or(DType::F64));
        let made = self.build(call.span, |graph, site| {
            let one = graph.literal(Literal::Int(1), dtype, site);
            let ones = graph.broadcast_to(one, [rows, columns].into_iter().collect(), site);
            graph.triangle(ones, Triangle::Lower, offset, site)
        });
        made.map(Some)
    }

    /// The arguments as sizes, or the sizes in a list that is the only argument.
    pub(super) fn sizes(&mut self, ids: &[Id]) -> Outcome<Vec<Dim>> {
        self.flattened(ids).into_iter().map(|id| self.size(id)).collect()
    }

    /// One integer.
    pub(super) fn integer(&self, call: &Call, parameter: &str, otherwise: i64) -> Outcome<i64> {
        match call.get(parameter) {
            None => Ok(otherwise),
            Some(id) => match as_size(self.value(id)).and_then(|size| size.as_constant()) {
                Some(value) => Ok(value),
                None => call.refuse(format!("takes one integer as `{parameter}`")),
            },
        }
    }
}
