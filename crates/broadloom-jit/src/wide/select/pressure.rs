//! Constants that stay in memory because loops lack registers.

use super::*;
use cranelift_codegen::loop_analysis::{Loop, LoopAnalysis};
use std::collections::{BTreeMap, HashSet};

impl Selector<'_> {
    /// Leaves constants of inner loops in memory, where reading them costs no more than reloading a spilled register:
    /// as many as there are values too many for the registers, starting with those that are read least often.
    pub(super) fn leave_constants(&mut self, loops: &LoopAnalysis) {
        let outer: HashSet<Loop> = loops.loops().filter_map(|each| loops.loop_parent(each)).collect();
        for each in loops.loops().filter(|each| !outer.contains(each)) {
            let func = self.func;
            let is_inside = |block| loops.innermost_loop(block) == Some(each);
            let blocks: Vec<ir::Block> = func.layout.blocks().filter(|block| is_inside(*block)).collect();
            let mut invariants: BTreeMap<ir::Value, usize> = BTreeMap::new();
            for inst in blocks.iter().flat_map(|block| func.layout.block_insts(*block)) {
                for value in func.dfg.inst_values(inst).map(|value| self.uncast(value)) {
                    if self.is_held(value) && !self.block_of(value).is_some_and(is_inside) {
                        *invariants.entry(value).or_default() += 1;
                    }
                }
            }
            let mut constants: Vec<(usize, ir::Value)> = invariants
                .iter()
                .filter(|(value, _)| self.constant_lane(**value).is_some())
                .map(|(value, uses)| (*uses, *value))
                .collect();
            if constants.is_empty() {
                continue;
            }
            let alive = blocks.iter().map(|block| self.most_alive(*block, &invariants)).max().unwrap_or(0);
            // One register stays free for temporaries of instructions.
            let excess = (invariants.len() + alive).saturating_sub(self.width.registers() - 1);
            constants.sort_unstable();
            for (_, value) in constants.into_iter().take(excess) {
                self.in_memory[value] = true;
            }
        }
    }

    /// Whether a value needs a vector register: a load for a single instruction does not.
    fn is_held(&self, value: ir::Value) -> bool {
        let is_operand = self.uses[value] == 1 && self.defined_by(value, Opcode::Load).is_some();
        (self.type_of(value).is_vector() || self.type_of(value).is_float()) && !is_operand
    }

    fn block_of(&self, value: ir::Value) -> Option<ir::Block> {
        match self.func.dfg.value_def(value) {
            ir::ValueDef::Result(inst, _) => self.func.layout.inst_block(inst),
            ir::ValueDef::Param(block, _) => Some(block),
            ir::ValueDef::Union(..) => None,
        }
    }

    /// The most values, without invariant ones, that are live at once in a block.
    fn most_alive(&self, block: ir::Block, invariants: &BTreeMap<ir::Value, usize>) -> usize {
        let mut alive: SecondaryMap<ir::Value, bool> = SecondaryMap::new();
        let (mut count, mut most) = (0, 0_usize);
        let insts: Vec<ir::Inst> = self.func.layout.block_insts(block).collect();
        for inst in insts.into_iter().rev() {
            for result in self.func.dfg.inst_results(inst) {
                count -= usize::from(std::mem::take(&mut alive[*result]));
            }
            for value in self.func.dfg.inst_values(inst).map(|value| self.uncast(value)) {
                if self.is_held(value) && !invariants.contains_key(&value) {
                    count += usize::from(!std::mem::replace(&mut alive[value], true));
                }
            }
            most = most.max(count);
        }
        most
    }

    /// Whether a constant stays in memory. All scalar floats do: loops over remainders read them rarely.
    pub(super) fn left_constant(&mut self, value: ir::Value) -> Option<Arg> {
        let value = self.uncast(value);
        if self.type_of(value).is_float() {
            let bytes = self.lane_constant(value)?;
            return Some(Arg::Memory(self.constant(&bytes)));
        }
        let lane = self.constant_lane(value).filter(|_| self.in_memory[value])?;
        Some(self.lanes_constant(&lane))
    }

    /// The lane of a vector constant with the same value in all lanes.
    pub(super) fn constant_lane(&self, vector: ir::Value) -> Option<Vec<u8>> {
        let &[lane] = self.defined_by(vector, Opcode::Splat)? else { return None };
        self.lane_constant(lane)
    }

    /// The bytes of a constant.
    pub(super) fn lane_constant(&self, lane: ir::Value) -> Option<Vec<u8>> {
        if let Some(number) = self.known(lane) {
            return Some(number.to_le_bytes()[..self.type_of(lane).bytes() as usize].to_vec());
        }
        match self.definition(lane)?.1 {
            InstructionData::UnaryIeee32 { imm, .. } => Some(imm.bits().to_le_bytes().to_vec()),
            InstructionData::UnaryIeee64 { imm, .. } => Some(imm.bits().to_le_bytes().to_vec()),
            _ => None,
        }
    }
}
