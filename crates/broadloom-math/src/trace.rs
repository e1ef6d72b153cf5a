//! Definitions as traces: the operations of a definition, recorded in their order.
//!
//! ```text
//! exp::<Traced, Fused>(x) ──records──▶ Trace: s1 = s0 * c + d, s2 = s1 - d, ..     s0 is the argument
//! ```
//!
//! A definition that takes any [`Value`] runs once on [`Traced`] values, which record what is done with them. Compiled
//! kernels take lanes through the same operations, so the bits of results equal those of scalars and tiles. An
//! operation on known numbers is done at once, one that was recorded before is not recorded again, and operations that
//! the result does not need are dropped.

use crate::float::{Float, Value};
use crate::level::Level;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// A step of a trace. Numbers are the positions of earlier steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// An argument of the function, by its position.
    Argument(usize),
    /// A float of these bits.
    Constant(u64),
    /// The sum.
    Add(usize, usize),
    /// The difference.
    Subtract(usize, usize),
    /// The product.
    Multiply(usize, usize),
    /// The quotient.
    Divide(usize, usize),
    /// The product of the first two plus the third, rounded once.
    Fma(usize, usize, usize),
    /// The float with the other sign.
    Negative(usize),
    /// The square root.
    Sqrt(usize),
    /// The bits that both have.
    And(usize, usize),
    /// The bits that either has.
    Or(usize, usize),
    /// The bits that differ.
    Xor(usize, usize),
    /// The wrapping sum of the bits as integers.
    PlusBits(usize, usize),
    /// The wrapping difference of the bits as integers.
    MinusBits(usize, usize),
    /// The bits moved up.
    ShiftLeft(usize, u32),
    /// The bits moved down, with zeros above.
    ShiftRight(usize, u32),
    /// A mask: whether the first is less than the second.
    Less(usize, usize),
    /// A mask: whether the first is at most the second.
    LessEqual(usize, usize),
    /// A mask: whether both are equal.
    Equal(usize, usize),
    /// A mask: whether it is NaN.
    Unordered(usize),
    /// A mask: whether the sign bit is set.
    HasSign(usize),
    /// A mask: whether both masks hold.
    Both(usize, usize),
    /// A mask: whether either mask holds.
    Either(usize, usize),
    /// A mask: whether the mask does not hold.
    Not(usize),
    /// The second where the mask, the first, holds, else the third.
    Select(usize, usize, usize),
    /// The first times two to the power of the second, which is an integer, rounded once. The third is the same, for machines
    /// without an instruction for that.
    Scaled(usize, usize, usize),
}

impl Step {
    /// The step with other positions.
    fn map(self, mut of: impl FnMut(usize) -> usize) -> Step {
        match self {
            Step::Argument(_) | Step::Constant(_) => self,
            Step::Add(x, y) => Step::Add(of(x), of(y)),
            Step::Subtract(x, y) => Step::Subtract(of(x), of(y)),
            Step::Multiply(x, y) => Step::Multiply(of(x), of(y)),
            Step::Divide(x, y) => Step::Divide(of(x), of(y)),
            Step::Fma(x, y, z) => Step::Fma(of(x), of(y), of(z)),
            Step::Negative(x) => Step::Negative(of(x)),
            Step::Sqrt(x) => Step::Sqrt(of(x)),
            Step::And(x, y) => Step::And(of(x), of(y)),
            Step::Or(x, y) => Step::Or(of(x), of(y)),
            Step::Xor(x, y) => Step::Xor(of(x), of(y)),
            Step::PlusBits(x, y) => Step::PlusBits(of(x), of(y)),
            Step::MinusBits(x, y) => Step::MinusBits(of(x), of(y)),
            Step::ShiftLeft(x, by) => Step::ShiftLeft(of(x), by),
            Step::ShiftRight(x, by) => Step::ShiftRight(of(x), by),
            Step::Less(x, y) => Step::Less(of(x), of(y)),
            Step::LessEqual(x, y) => Step::LessEqual(of(x), of(y)),
            Step::Equal(x, y) => Step::Equal(of(x), of(y)),
            Step::Unordered(x) => Step::Unordered(of(x)),
            Step::HasSign(x) => Step::HasSign(of(x)),
            Step::Both(x, y) => Step::Both(of(x), of(y)),
            Step::Either(x, y) => Step::Either(of(x), of(y)),
            Step::Not(x) => Step::Not(of(x)),
            Step::Select(condition, x, y) => Step::Select(of(condition), of(x), of(y)),
            Step::Scaled(x, n, product) => Step::Scaled(of(x), of(n), of(product)),
        }
    }
}

/// The operations of a function at one precision and level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    steps: Vec<Step>,
    result: usize,
    rare: Option<usize>,
}

impl Trace {
    /// Records a definition of one or two arguments: its result, and the mask of rare lanes, in which the result is not
    /// that of the function.
    pub(crate) fn record<F: Float>(
        define: impl for<'r> FnOnce(Traced<'r, F>, Traced<'r, F>) -> (Traced<'r, F>, Option<TracedMask<'r>>),
    ) -> Trace {
        let recorder = Recorder::default();
        let [first, second] =
            [0, 1].map(|position| Traced::Step(&recorder, recorder.step(Step::Argument(position))));
        let (result, rare) = define(first, second);
        let result = recorder.of(result);
        let rare = rare.and_then(|rare| match rare {
            TracedMask::Known(_) => None,
            TracedMask::Step(_, position) => Some(position),
        });
        let steps = recorder.steps.into_inner();
        // What the results need, in order.
        let mut needed = vec![false; steps.len()];
        [Some(result), rare].into_iter().flatten().for_each(|at| needed[at] = true);
        for at in (0..steps.len()).rev() {
            if needed[at] {
                steps[at].map(|operand| {
                    needed[operand] = true;
                    operand
                });
            }
        }
        let mut places = vec![0; steps.len()];
        let mut kept = Vec::new();
        for at in (0..steps.len()).filter(|at| needed[*at]) {
            places[at] = kept.len();
            kept.push(steps[at].map(|operand| places[operand]));
        }
        Trace { steps: kept, result: places[result], rare: rare.map(|at| places[at]) }
    }

    /// Returns the number of steps that compute something.
    pub fn operations(&self) -> usize {
        self.steps.iter().filter(|step| !matches!(step, Step::Argument(_) | Step::Constant(_))).count()
    }

    /// Returns the steps. Each reads only steps before it.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the position of the result.
    pub fn result(&self) -> usize {
        self.result
    }

    /// Returns the position of a mask of rare lanes, if there can be any: there, the result is not that of the function,
    /// which its [tile](crate::tile_function) computes.
    pub fn rare(&self) -> Option<usize> {
        self.rare
    }
}

/// What was done so far.
#[derive(Default)]
pub(crate) struct Recorder {
    steps: RefCell<Vec<Step>>,
    known: RefCell<HashMap<Step, usize>>,
}

impl Recorder {
    /// The position of a step, which is added if it is new.
    fn step(&self, step: Step) -> usize {
        let mut steps = self.steps.borrow_mut();
        *self.known.borrow_mut().entry(step).or_insert_with(|| {
            steps.push(step);
            steps.len() - 1
        })
    }

    /// The position of a value.
    fn of<F: Float>(&self, value: Traced<'_, F>) -> usize {
        match value {
            Traced::Known(number) => self.step(Step::Constant(number.bits())),
            Traced::Step(_, position) => position,
        }
    }

    fn at(&self, position: usize) -> Step {
        self.steps.borrow()[position]
    }
}

/// A value in a trace that is recorded.
#[derive(Clone, Copy)]
pub(crate) enum Traced<'r, F> {
    /// A number that does not depend on arguments.
    Known(F),
    /// The result of a step.
    Step(&'r Recorder, usize),
}

/// A truth value in a trace that is recorded.
#[derive(Clone, Copy)]
pub(crate) enum TracedMask<'r> {
    Known(bool),
    Step(&'r Recorder, usize),
}

impl<'r, F: Float> Traced<'r, F> {
    /// Records a step, unless all operands are known: then the result is `known`.
    fn record<const N: usize>(
        operands: [Self; N],
        known: impl FnOnce([F; N]) -> F,
        step: impl FnOnce([usize; N]) -> Step,
    ) -> Self {
        match Self::recorded(operands, step) {
            Some((recorder, position)) => Traced::Step(recorder, position),
            None => Traced::Known(known(operands.map(Self::number))),
        }
    }

    /// Records a step with a truth value as its result, unless all operands are known: then the result is `known`.
    fn record_mask<const N: usize>(
        operands: [Self; N],
        known: impl FnOnce([F; N]) -> bool,
        step: impl FnOnce([usize; N]) -> Step,
    ) -> TracedMask<'r> {
        match Self::recorded(operands, step) {
            Some((recorder, position)) => TracedMask::Step(recorder, position),
            None => TracedMask::Known(known(operands.map(Self::number))),
        }
    }

    fn recorded<const N: usize>(
        operands: [Self; N],
        step: impl FnOnce([usize; N]) -> Step,
    ) -> Option<(&'r Recorder, usize)> {
        let recorder = operands.iter().find_map(|operand| match operand {
            Traced::Step(recorder, _) => Some(*recorder),
            Traced::Known(_) => None,
        })?;
        Some((recorder, recorder.step(step(operands.map(|operand| recorder.of(operand))))))
    }

    /// The number of a known value; NaN for others.
    fn number(self) -> F {
        match self {
            Traced::Known(number) => number,
            Traced::Step(..) => F::NAN,
        }
    }

    /// Factors without the sign of the first, if the other is known and takes it: the product is the same.
    fn signed_by_known(self, other: Self) -> (Self, Self) {
        if let (Traced::Step(recorder, position), Traced::Known(number)) = (self, other)
            && let Step::Negative(inner) = recorder.at(position)
        {
            return (Traced::Step(recorder, inner), Traced::Known(-number));
        }
        (self, other)
    }
}

impl<F: Float> From<F> for Traced<'_, F> {
    fn from(number: F) -> Self {
        Traced::Known(number)
    }
}

impl<F: Float> Add for Traced<'_, F> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::record([self, other], |[x, y]| x + y, |[x, y]| Step::Add(x, y))
    }
}

impl<F: Float> Sub for Traced<'_, F> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::record([self, other], |[x, y]| x - y, |[x, y]| Step::Subtract(x, y))
    }
}

impl<F: Float> Mul for Traced<'_, F> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let (x, y) = self.signed_by_known(other);
        Self::record([x, y], |[x, y]| x * y, |[x, y]| Step::Multiply(x, y))
    }
}

impl<F: Float> Div for Traced<'_, F> {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        Self::record([self, other], |[x, y]| x / y, |[x, y]| Step::Divide(x, y))
    }
}

impl<F: Float> Neg for Traced<'_, F> {
    type Output = Self;

    fn neg(self) -> Self {
        Self::record([self], |[x]| -x, |[x]| Step::Negative(x))
    }
}

impl<'r, F: Float> Value for Traced<'r, F> {
    type Format = F;
    type Mask = TracedMask<'r>;

    const ZERO: Self = Traced::Known(F::ZERO);
    const HALF: Self = Traced::Known(F::HALF);
    const ONE: Self = Traced::Known(F::ONE);
    const TWO: Self = Traced::Known(F::TWO);
    const INFINITY: Self = Traced::Known(F::INFINITY);
    const NAN: Self = Traced::Known(F::NAN);
    const MIN_POSITIVE: Self = Traced::Known(F::MIN_POSITIVE);
    const ROUND: Self = Traced::Known(F::ROUND);
    const BIAS: Self = Traced::Known(F::BIAS);
    const INTEGERS_FROM: Self = Traced::Known(F::INTEGERS_FROM);
    const LIFT: Self = Traced::Known(F::LIFT);
    const LIFT_EXPONENT: Self = Traced::Known(F::LIFT_EXPONENT);
    const LEAST: Self = Traced::Known(F::LEAST);
    const SQRT_HALF: Self = Traced::Known(F::SQRT_HALF);

    fn madd<L: Level>(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
        let (b, c) = (b.into(), c.into());
        if !L::FUSED {
            return self * b + c;
        }
        let (a, b) = self.signed_by_known(b);
        Self::record([a, b, c], |[a, b, c]| a.madd::<L>(b, c), |[a, b, c]| Step::Fma(a, b, c))
    }

    fn below(self, other: impl Into<Self>) -> TracedMask<'r> {
        Self::record_mask([self, other.into()], |[x, y]| x < y, |[x, y]| Step::Less(x, y))
    }

    fn below_or_equal(self, other: impl Into<Self>) -> TracedMask<'r> {
        Self::record_mask([self, other.into()], |[x, y]| x <= y, |[x, y]| Step::LessEqual(x, y))
    }

    fn equals(self, other: impl Into<Self>) -> TracedMask<'r> {
        Self::record_mask([self, other.into()], |[x, y]| x == y, |[x, y]| Step::Equal(x, y))
    }

    fn select(condition: TracedMask<'r>, then: impl Into<Self>, otherwise: impl Into<Self>) -> Self {
        let (then, otherwise) = (then.into(), otherwise.into());
        match condition {
            TracedMask::Known(true) => then,
            TracedMask::Known(false) => otherwise,
            TracedMask::Step(recorder, condition) => {
                let step = Step::Select(condition, recorder.of(then), recorder.of(otherwise));
                Traced::Step(recorder, recorder.step(step))
            }
        }
    }

    fn sqrt(self) -> Self {
        Self::record([self], |[x]| x.sqrt(), |[x]| Step::Sqrt(x))
    }

    fn unordered(self) -> TracedMask<'r> {
        Self::record_mask([self], |[x]| x.unordered(), |[x]| Step::Unordered(x))
    }

    fn has_sign(self) -> TracedMask<'r> {
        Self::record_mask([self], |[x]| x.has_sign(), |[x]| Step::HasSign(x))
    }

    fn and_bits(self, other: impl Into<Self>) -> Self {
        Self::record([self, other.into()], |[x, y]| x.and_bits(y), |[x, y]| Step::And(x, y))
    }

    fn or_bits(self, other: impl Into<Self>) -> Self {
        Self::record([self, other.into()], |[x, y]| x.or_bits(y), |[x, y]| Step::Or(x, y))
    }

    fn xor_bits(self, other: impl Into<Self>) -> Self {
        Self::record([self, other.into()], |[x, y]| x.xor_bits(y), |[x, y]| Step::Xor(x, y))
    }

    fn plus_bits(self, other: impl Into<Self>) -> Self {
        Self::record([self, other.into()], |[x, y]| x.plus_bits(y), |[x, y]| Step::PlusBits(x, y))
    }

    fn minus_bits(self, other: impl Into<Self>) -> Self {
        Self::record([self, other.into()], |[x, y]| x.minus_bits(y), |[x, y]| Step::MinusBits(x, y))
    }

    fn shifted_left(self, by: u32) -> Self {
        Self::record([self], |[x]| x.shifted_left(by), |[x]| Step::ShiftLeft(x, by))
    }

    fn shifted_right(self, by: u32) -> Self {
        Self::record([self], |[x]| x.shifted_right(by), |[x]| Step::ShiftRight(x, by))
    }

    fn times_two_to(self, exponent: Self) -> Self {
        let (first, second) = exponent.two_to_in_halves();
        let product = self * first * second;
        let n = exponent - (Self::ROUND + (Self::BIAS + Self::BIAS));
        let step = |[x, n, product]: [usize; 3]| Step::Scaled(x, n, product);
        Self::record([self, n, product], |[_, _, product]| product, step)
    }
}

impl<'r> TracedMask<'r> {
    /// Combines two truth values: what a known one makes of the other, or a step.
    fn combined(
        self,
        other: Self,
        known: impl Fn(bool, Self) -> Self,
        step: impl Fn(usize, usize) -> Step,
    ) -> Self {
        match (self, other) {
            (TracedMask::Known(truth), mask) | (mask, TracedMask::Known(truth)) => known(truth, mask),
            (TracedMask::Step(recorder, x), TracedMask::Step(_, y)) => {
                TracedMask::Step(recorder, recorder.step(step(x, y)))
            }
        }
    }
}

impl BitAnd for TracedMask<'_> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.combined(other, |truth, mask| if truth { mask } else { TracedMask::Known(false) }, Step::Both)
    }
}

impl BitOr for TracedMask<'_> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.combined(other, |truth, mask| if truth { TracedMask::Known(true) } else { mask }, Step::Either)
    }
}

impl Not for TracedMask<'_> {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            TracedMask::Known(truth) => TracedMask::Known(!truth),
            TracedMask::Step(recorder, x) => TracedMask::Step(recorder, recorder.step(Step::Not(x))),
        }
    }
}
