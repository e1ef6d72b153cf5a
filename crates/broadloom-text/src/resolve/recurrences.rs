//! Recurrences along an axis: `ewm_mean(x, 0.1)`, `lfilter([0.1], [1, -0.9], x)`.

use super::call::Call;
use super::{Outcome, Resolver};
use crate::names::Recurrence;
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Ewm, EwmOf};

impl Resolver<'_> {
    pub(super) fn recurrence(&mut self, of: Recurrence, call: &Call) -> Outcome<Option<ExprId>> {
        let Some(x) = self.operand(call, "x")? else { return Ok(None) };
        let axis = self.one_axis(call, if of.is_of_series() { 0 } else { -1 })?;
        let meets = self.graph.dtype(x).fractional();
        let made = match of {
            Recurrence::EwmMean | Recurrence::EwmVar | Recurrence::EwmStd => {
                let Some(alpha) = self.numbered(call, "alpha", meets)? else { return Ok(None) };
                let bias = self.flag(call, "bias")?;
                let of = match of {
                    Recurrence::EwmMean => EwmOf::Mean,
                    Recurrence::EwmVar => EwmOf::Var { bias },
                    _ => EwmOf::Std { bias },
                };
                let adjust = call.get("adjust").is_none() || self.flag(call, "adjust")?;
                let ewm = Ewm { of, adjust, ignore_na: self.flag(call, "ignore_na")? };
                self.build(call.span, |graph, site| graph.ewm(ewm, x, alpha, axis, site))
            }
            Recurrence::Filter => {
                let (Some(b), Some(a)) = (self.numbered(call, "b", meets)?, self.numbered(call, "a", meets)?)
                else {
                    return Ok(None);
                };
                self.build(call.span, |graph, site| graph.lfilter([b, a, x], axis, site))
            }
            Recurrence::Linear => {
                let Some(a) = self.numbered(call, "a", meets)? else { return Ok(None) };
                let initial = match call.get("initial") {
                    Some(id) => match self.tensor(id, meets)? {
                        Some(initial) => Some(initial),
                        None => return Ok(None),
                    },
                    None => None,
                };
                self.build(call.span, |graph, site| graph.linear_recurrence([a, x], initial, axis, site))
            }
            Recurrence::LogSumExp => {
                self.build(call.span, |graph, site| graph.cumulative_logsumexp(x, axis, site))
            }
            Recurrence::Drawdown => self.build(call.span, |graph, site| graph.drawdown(x, axis, site)),
        };
        made.map(Some)
    }

    /// An argument that must be there; numbers take a dtype of floats.
    fn numbered(&mut self, call: &Call, parameter: &'static str, meets: DType) -> Outcome<Option<ExprId>> {
        match call.get(parameter) {
            Some(id) => self.tensor(id, meets),
            None => call.refuse(format!("needs `{parameter}`")),
        }
    }
}
