//! Plans as a scheduler gets them, from clients whom it does not trust.
//!
//! A client sends what it planned, so nothing of it was checked. The parts of a plan are counted before anything is built
//! from them: what is built, optimized and dropped by recursion is as deep as a plan has parts.

use bytes::BufMut;
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion_proto::logical_plan::{AsLogicalPlan, LogicalExtensionCodec};
use datafusion_proto::protobuf::LogicalPlanNode;

/// A plan that is small enough to be planned.
#[derive(Debug, Clone)]
pub(crate) struct Received(LogicalPlanNode);

impl AsLogicalPlan for Received {
    fn try_decode(bytes: &[u8]) -> Result<Self> {
        LogicalPlanNode::try_decode(bytes).map(Received)
    }

    fn try_encode<B: BufMut>(&self, buffer: &mut B) -> Result<()> {
        self.0.try_encode(buffer)
    }

    fn try_into_logical_plan(
        &self,
        context: &TaskContext,
        codec: &dyn LogicalExtensionCodec,
    ) -> Result<LogicalPlan> {
        self.0.try_into_logical_plan(context, codec)
    }

    fn try_from_logical_plan(plan: &LogicalPlan, codec: &dyn LogicalExtensionCodec) -> Result<Self> {
        LogicalPlanNode::try_from_logical_plan(plan, codec).map(Received)
    }
}
