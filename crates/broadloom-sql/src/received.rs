//! Plans as a scheduler gets them, from clients whom it does not trust.
//!
//! A client sends what it planned, so nothing of it was checked. What is deep is refused before a plan is built: that takes time that
//! grows with the square of the depth, and what is optimized and dropped by recursion needs a stack as deep.

use crate::depth;
use crate::stage::STACK_BYTES;
use bytes::BufMut;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion_proto::logical_plan::{AsLogicalPlan, LogicalExtensionCodec};
use datafusion_proto::protobuf::LogicalPlanNode;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most bytes of a plan that is built on the stack of the caller, which may be that of any thread.
const SHORT: usize = 1 << 10;
/// The bytes of stack for each byte of a longer plan, all of which may be depth: a term takes some ten, and six KiB of stack to
/// write its name.
const STACK_OF_BYTE: usize = 2 << 10;

/// A plan that is not deep.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    plan: LogicalPlanNode,
    bytes: usize,
}

impl AsLogicalPlan for Received {
    fn try_decode(bytes: &[u8]) -> Result<Self> {
        let plan = LogicalPlanNode::try_decode(bytes)?;
        // Written again, each field stands once: a message may be cut into several that are merged.
        let mut whole = Vec::with_capacity(bytes.len());
        plan.try_encode(&mut whole)?;
        depth::check_bytes(&whole)?;
        Ok(Received { plan, bytes: bytes.len() })
    }

    fn try_encode<B: BufMut>(&self, buffer: &mut B) -> Result<()> {
        self.plan.try_encode(buffer)
    }

    fn try_into_logical_plan(
        &self,
        context: &TaskContext,
        codec: &dyn LogicalExtensionCodec,
    ) -> Result<LogicalPlan> {
        // A plan that is refused is dropped where there is a stack for it.
        let built = || {
            let plan = self.plan.try_into_logical_plan(context, codec)?;
            depth::check_plan(&plan)?;
            Ok(plan)
        };
        let wrong = || exec_datafusion_err!("a plan is damaged");
        if self.bytes <= SHORT {
            // What reads plans trusts some of their numbers, such as how many columns a table of values has.
            return catch_unwind(AssertUnwindSafe(built)).unwrap_or_else(|_| Err(wrong()));
        }
        let stack = STACK_BYTES.saturating_add(self.bytes.saturating_mul(STACK_OF_BYTE));
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, built);
            let thread =
                thread.map_err(|error| exec_datafusion_err!("a plan is too long to be read: {error}"))?;
            thread.join().unwrap_or_else(|_| Err(wrong()))
        })
    }

    fn try_from_logical_plan(plan: &LogicalPlan, codec: &dyn LogicalExtensionCodec) -> Result<Self> {
        Ok(Received { plan: LogicalPlanNode::try_from_logical_plan(plan, codec)?, bytes: 0 })
    }
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::LogicalCodec;
    use datafusion::logical_expr::{LogicalPlanBuilder, lit};
    use datafusion::prelude::SessionContext;
    use datafusion_proto::protobuf::{
        BinaryExprNode, LogicalExprNode, logical_expr_node::ExprType, logical_plan_node::LogicalPlanType,
    };

    /// A plan of a sum of so many terms, as a hostile client writes it: without planning it.
    fn sum(terms: usize) -> Vec<u8> {
        let plan = LogicalPlanBuilder::empty(true).project([lit(1) + lit(2)]).unwrap().build().unwrap();
        let mut plan = LogicalPlanNode::try_from_logical_plan(&plan, &LogicalCodec::default()).unwrap();
        let Some(LogicalPlanType::Projection(projection)) = &mut plan.logical_plan_type else {
            panic!("{plan:?}")
        };
        let Some(ExprType::BinaryExpr(BinaryExprNode { operands, .. })) = &mut projection.expr[0].expr_type
        else {
            panic!("{projection:?}")
        };
        let term: LogicalExprNode = operands[0].clone();
        *operands = vec![term; terms];
        let mut bytes = Vec::new();
        plan.try_encode(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn deep_plans_are_refused_and_end_no_process() {
        let context = SessionContext::new().task_ctx();
        let read = |bytes: &[u8]| {
            Received::try_decode(bytes)?.try_into_logical_plan(&context, &LogicalCodec::default())
        };
        assert!(read(&sum(500)).is_ok());
        let start = std::time::Instant::now();
        for terms in [2_200, 200_000] {
            let error = read(&sum(terms)).err().map(|error| error.strip_backtrace()).unwrap_or_default();
            assert!(error.contains("levels deep"), "{error}");
        }
        // Built, the longer one takes hours.
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    /// The operator and its operands come in two messages, which are merged.
    #[test]
    fn deep_plans_in_pieces_are_refused() {
        let plan = LogicalPlanBuilder::empty(true).filter(lit(1).eq(lit(2))).unwrap().build().unwrap();
        let plan = LogicalPlanNode::try_from_logical_plan(&plan, &LogicalCodec::default()).unwrap();
        let piece = |change: &dyn Fn(&mut BinaryExprNode)| {
            let mut plan = plan.clone();
            let Some(LogicalPlanType::Selection(selection)) = &mut plan.logical_plan_type else {
                panic!("{plan:?}")
            };
            let Some(ExprType::BinaryExpr(binary)) =
                selection.expr.as_mut().and_then(|expr| expr.expr_type.as_mut())
            else {
                panic!("{selection:?}")
            };
            change(binary);
            let mut bytes = Vec::new();
            plan.try_encode(&mut bytes).unwrap();
            bytes
        };
        let operator = piece(&|binary| binary.operands.clear());
        let operands = piece(&|binary| {
            binary.op.clear();
            binary.operands = vec![binary.operands[0].clone(); 1100];
        });
        let read = |pieces: &[&[u8]]| Received::try_decode(&pieces.concat()).map(drop);
        assert!(read(&[&operator, &operands]).is_ok());
        let error = read(&[&operator, &operands, &operands]).unwrap_err().strip_backtrace();
        assert!(error.contains("2200 levels deep"), "{error}");
    }

    #[test]
    fn damaged_plans_are_read_or_refused() {
        let context = SessionContext::new().task_ctx();
        let values =
            LogicalPlanBuilder::values(vec![vec![lit(1), lit("a")], vec![lit(2), lit("b")]]).unwrap();
        let plan = values.filter(lit(1).eq(lit(2))).unwrap().limit(0, Some(3)).unwrap().build().unwrap();
        let mut good = Vec::new();
        let sent = LogicalPlanNode::try_from_logical_plan(&plan, &LogicalCodec::default()).unwrap();
        sent.try_encode(&mut good).unwrap();
        let (mut read, mut refused) = (0, 0);
        for position in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[position] ^= 1 << bit;
                let plan = Received::try_decode(&bytes)
                    .and_then(|plan| plan.try_into_logical_plan(&context, &LogicalCodec::default()));
                match plan {
                    Ok(_) => read += 1,
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(read > 0 && refused > good.len(), "{read} {refused}");
    }
}
