//! Blocks, the edges between them, and what is passed along these.

use super::*;

/// The terminator of a block.
enum Exit {
    Jump(ir::BlockCall),
    Branch([ir::BlockCall; 2]),
    Return,
}

/// The values that are passed to a block, with its parameters.
fn arguments<'f>(
    func: &'f ir::Function,
    call: &ir::BlockCall,
) -> impl Iterator<Item = (ir::Value, ir::Value)> + use<'f> {
    let params = func.dfg.block_params(call.block(&func.dfg.value_lists));
    let values: Vec<Option<ir::Value>> = call.args(&func.dfg.value_lists).map(|arg| arg.as_value()).collect();
    values.into_iter().zip(params).filter_map(|(value, param)| Some((value?, *param)))
}

/// The parameters of blocks that instructions read, or that are passed to such parameters.
pub(super) fn live_params(func: &ir::Function) -> SecondaryMap<ir::Value, bool> {
    let mut live: SecondaryMap<ir::Value, bool> = SecondaryMap::new();
    let mut sources: SecondaryMap<ir::Value, Vec<ir::Value>> = SecondaryMap::new();
    let mut found: Vec<ir::Value> = Vec::new();
    for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
        found.extend(func.dfg.inst_args(inst));
        for call in func.dfg.insts[inst].branch_destination(&func.dfg.jump_tables, &func.dfg.exception_tables)
        {
            arguments(func, call).for_each(|(value, param)| sources[param].push(value));
        }
    }
    while let Some(value) = found.pop() {
        if !std::mem::replace(&mut live[value], true) {
            found.extend(std::mem::take(&mut sources[value]));
        }
    }
    live
}

impl<'f> Selector<'f> {
    /// The terminator of a block.
    fn exit(&self, block: ir::Block) -> Exit {
        let last = self.func.layout.last_inst(block);
        match last.map(|inst| &self.func.dfg.insts[inst]) {
            Some(InstructionData::Jump { destination, .. }) => Exit::Jump(*destination),
            Some(InstructionData::Brif { blocks, .. }) => Exit::Branch(*blocks),
            _ => Exit::Return,
        }
    }

    /// The values that are passed to parameters in use.
    fn passed_values(&self, call: &ir::BlockCall) -> impl Iterator<Item = ir::Value> + use<'_, 'f> {
        arguments(self.func, call).filter(|(_, param)| self.live[*param]).map(|(value, _)| value)
    }

    /// The registers of what is passed to a block, and the instructions that materialise constants for it: a constant that all
    /// loops begin with would be alive throughout the function.
    fn passed(&mut self, call: &ir::BlockCall) -> (Vec<VReg>, Vec<Inst>) {
        let values: Vec<ir::Value> = self.passed_values(call).map(|value| self.uncast(value)).collect();
        let mut constants: HashMap<ir::Value, VReg> = HashMap::new();
        let mut passed = Vec::new();
        for value in values {
            let reg = match constants.get(&value) {
                Some(reg) => *reg,
                None if self.is_constant(value) => {
                    let reg = self.materialised(value);
                    constants.insert(value, reg);
                    reg
                }
                None => self.reg_of(value),
            };
            passed.push(reg);
        }
        (passed, std::mem::take(&mut self.made))
    }

    fn is_constant(&self, value: ir::Value) -> bool {
        self.lane_constant(value).is_some() || self.constant_lane(value).is_some()
    }

    /// A new register with a constant.
    fn materialised(&mut self, value: ir::Value) -> VReg {
        match self.constant_lane(value) {
            Some(lane) => {
                let constant = self.lanes_constant(&lane);
                self.compute(Code::VEX_Vmovups_ymm_ymmm256, &[constant])
            }
            None => self.get(value),
        }
    }

    /// Whether an edge from a block with several successors needs a block of its own.
    fn needs_own(&self, call: &ir::BlockCall, cfg: &ControlFlowGraph) -> bool {
        let target = call.block(&self.func.dfg.value_lists);
        cfg.pred_iter(target).count() > 1 || self.passed_values(call).next().is_some()
    }

    /// Blocks in order, with a block on every edge from one with several successors to one with several
    /// predecessors, or to which something is passed.
    pub(super) fn connect(
        &mut self,
        order: &[ir::Block],
        mut bodies: HashMap<ir::Block, Vec<Inst>>,
        cfg: &ControlFlowGraph,
    ) -> Vec<Block> {
        let pool = &self.func.dfg.value_lists;
        // Number the blocks; a block on an edge follows the block that it leaves.
        let mut numbers: HashMap<ir::Block, usize> = HashMap::new();
        let mut count = 0;
        for &block in order {
            numbers.insert(block, count);
            count += 1;
            if let Exit::Branch(calls) = self.exit(block) {
                count += calls.iter().filter(|call| self.needs_own(call, cfg)).count();
            }
        }
        let mut blocks: Vec<Block> = Vec::new();
        for &block in order {
            let params = self.func.dfg.block_params(block).iter().copied();
            let params: Vec<ir::Value> = params.filter(|param| self.live[*param]).collect();
            let params = match blocks.is_empty() {
                true => Vec::new(),
                false => params.into_iter().map(|param| self.reg_of(param)).collect(),
            };
            let mut insts = bodies.remove(&block).unwrap_or_default();
            let number = blocks.len();
            let (mut successors, mut edges) = (Vec::new(), Vec::new());
            match self.exit(block) {
                Exit::Return => {}
                Exit::Jump(call) => {
                    let (passed, made) = self.passed(&call);
                    let jump = insts.len() - 1;
                    insts.splice(jump..jump, made);
                    successors.push((numbers[&call.block(pool)], passed));
                }
                Exit::Branch(calls) => {
                    for call in calls {
                        let target = numbers[&call.block(pool)];
                        if self.needs_own(&call, cfg) {
                            successors.push((number + 1 + edges.len(), Vec::new()));
                            let (passed, mut insts) = self.passed(&call);
                            insts.push(Inst::new(Kind::Jump, &[]));
                            let successors = vec![(target, passed)];
                            edges.push(Block { source: None, insts, params: Vec::new(), successors });
                        } else {
                            successors.push((target, Vec::new()));
                        }
                    }
                }
            }
            blocks.push(Block { source: Some(block), insts, params, successors });
            blocks.extend(edges);
        }
        blocks
    }

    pub(super) fn need_passed(&mut self, call: &ir::BlockCall) {
        let values: Vec<ir::Value> = self.passed_values(call).collect();
        for value in values {
            if !self.is_constant(self.uncast(value)) {
                self.need(value);
            }
        }
    }
}
