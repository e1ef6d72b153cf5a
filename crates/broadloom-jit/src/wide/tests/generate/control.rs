//! Branches and loops.

use super::*;

impl Generator<'_, '_> {
    fn statements(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(8) {
            if self.budget > 0 {
                self.statement(depth + 1);
            }
        }
    }

    /// Values of the given types, as arguments of a block.
    fn passed(&mut self, types: &[Type]) -> Vec<BlockArg> {
        types.iter().map(|ty| BlockArg::Value(self.value(*ty))).collect()
    }

    fn types(&mut self, most: usize) -> Vec<Type> {
        let some: Vec<Type> = (0..self.random.below(most)).map(|_| self.any_type()).collect();
        // Some in pairs, which are swapped.
        some.iter().flat_map(|ty| [*ty; 2]).take(most).collect()
    }

    pub(super) fn branch(&mut self, depth: usize) {
        let types = self.types(4);
        let [yes, no, after] = [0; 3].map(|_| self.emitter.builder.create_block());
        let params: Vec<Value> =
            types.iter().map(|ty| self.emitter.builder.append_block_param(after, *ty)).collect();
        let inner = self.types(3);
        let inner: Vec<(Type, Value)> =
            inner.iter().map(|ty| (*ty, self.emitter.builder.append_block_param(yes, *ty))).collect();
        let inner_types: Vec<Type> = inner.iter().map(|(ty, _)| *ty).collect();
        let condition = match self.kinds.vectors && self.random.in_hundred(30) {
            true => self.any_lane(),
            false => self.condition(),
        };
        let to_yes = self.passed(&inner_types);
        // Jump past the second block, or through it.
        let skips = self.random.in_hundred(40);
        let to_no = if skips { self.passed(&types) } else { Vec::new() };
        let [mut first, mut second] = [(yes, &to_yes), (if skips { after } else { no }, &to_no)];
        if self.random.in_hundred(50) {
            std::mem::swap(&mut first, &mut second);
        }
        self.ins().brif(condition, first.0, first.1, second.0, second.1);
        let before = self.pool.len();
        self.emitter.builder.switch_to_block(yes);
        self.pool.extend(inner.iter().map(|(_, value)| *value));
        self.statements(depth);
        let args = self.passed(&types);
        self.ins().jump(after, &args);
        self.pool.truncate(before);
        if !skips {
            self.emitter.builder.switch_to_block(no);
            self.statements(depth);
            let args = self.passed(&types);
            self.ins().jump(after, &args);
            self.pool.truncate(before);
        }
        self.emitter.builder.switch_to_block(after);
        self.pool.extend(params);
    }

    /// Whether a condition holds in any lane, or a few do.
    fn any_lane(&mut self) -> Value {
        let ty = self.random.one_of(&integer_vectors(self.kinds.width));
        let mut lanes = self.lane_condition(ty);
        for _ in 0..self.random.below(4) {
            let other = self.lane_condition(ty);
            lanes = self.ins().band(lanes, other);
        }
        self.ins().vany_true(lanes)
    }

    /// A loop with its test before or after each iteration.
    pub(super) fn repeat(&mut self, depth: usize) {
        let types = self.types(6);
        let [header, after] = [0; 2].map(|_| self.emitter.builder.create_block());
        let counter = self.emitter.builder.append_block_param(header, types::I64);
        let params: Vec<Value> =
            types.iter().map(|ty| self.emitter.builder.append_block_param(header, *ty)).collect();
        let left = self.types(3);
        let results: Vec<Value> =
            left.iter().map(|ty| self.emitter.builder.append_block_param(after, *ty)).collect();
        let count = if self.random.in_hundred(50) {
            let count = 1 + self.random.below(3) as i64;
            self.number(types::I64, count)
        } else {
            let (some, two) = (self.value(types::I64), self.number(types::I64, 2));
            let rounds = self.binary(Opcode::Band, some, two);
            let one = self.number(types::I64, 1);
            self.binary(Opcode::Iadd, rounds, one)
        };
        let zero = self.number(types::I64, 0);
        let mut args = vec![BlockArg::Value(zero)];
        args.extend(self.passed(&types));
        self.ins().jump(header, &args);
        self.emitter.builder.switch_to_block(header);
        let before = self.pool.len();
        self.pool.push(counter);
        self.pool.extend(&params);
        let inside = self.pool.len();
        let is_tested_before = self.random.in_hundred(50);
        if is_tested_before {
            let body = self.emitter.builder.create_block();
            let goes_on = self.ins().icmp(IntCC::SignedLessThan, counter, count);
            let out = self.passed(&left);
            self.ins().brif(goes_on, body, &[], after, &out);
            self.emitter.builder.switch_to_block(body);
        }
        self.statements(depth);
        let one = self.number(types::I64, 1);
        let next = self.binary(Opcode::Iadd, counter, one);
        let mut again = vec![BlockArg::Value(next)];
        for (at, ty) in types.iter().enumerate() {
            // The neighbour's value, as a swap, or another one.
            let neighbour = params.get(at ^ 1).copied().filter(|value| self.type_of(*value) == *ty);
            let swapped = neighbour.filter(|_| self.random.in_hundred(50));
            again.push(BlockArg::Value(swapped.unwrap_or_else(|| self.value(*ty))));
        }
        if is_tested_before {
            self.ins().jump(header, &again);
            self.pool.truncate(inside);
        } else {
            let goes_on = self.ins().icmp(IntCC::UnsignedLessThan, next, count);
            let out = self.passed(&left);
            self.ins().brif(goes_on, header, &again, after, &out);
        }
        self.emitter.builder.switch_to_block(after);
        if self.random.in_hundred(30) {
            self.pool.truncate(before);
        }
        self.pool.extend(results);
    }
}
