//! Calls of tile functions for rare lanes.
//!
//! ```text
//! test mask ──no lane──▶ next instruction ◀───────────────────────────────────────┐
//!     └──any lane──▶ after all other code: save registers ──▶ call ──▶ restore them ─┘
//! ```
//!
//! To the allocator, this is one instruction, so that loops keep their values in registers. The code at the end saves
//! every register in use that the convention does not. Operands and the result then are in memory, where the function
//! takes and leaves them.

use super::*;
use crate::wide::machine::{INTEGER_ARGUMENTS, RAX, Tile};

/// A call to write at the end.
pub(super) struct Call {
    tile: Tile,
    /// The offset of the distance of the branch to it.
    branch: usize,
    /// The offset of the instruction after that.
    back: usize,
    result: Place,
    args: SmallVec<[Place; 2]>,
    location: SourceLoc,
}

impl Writer {
    /// The test, and a branch if a lane is set. The places are those of the result twice, of the mask, and of arguments.
    pub(super) fn cold_call(&mut self, tile: Tile, places: &[Place]) -> Result<(), Unsupported> {
        let (&[_, result, mask], args) = places.split_first_chunk().ok_or_else(lost)?;
        let [view, _] = self.views(tile.test)[..] else { return Err(lost()) };
        let mask = register(mask.as_reg().ok_or_else(lost)?, view);
        self.write(&simple(tile.test, &[mask, mask]))?;
        let branch = self.open_branch(conditional(Condition::NotEqual))?;
        let args = SmallVec::from_slice(args);
        let location = self.locations.last().map_or(SourceLoc::default(), |(_, location)| *location);
        self.cold.push(Call { tile, branch, back: self.bytes.len(), result, args, location });
        Ok(())
    }

    pub(super) fn cold_calls(&mut self) -> Result<(), Unsupported> {
        let around = self.frame.around_calls.clone();
        for Call { tile, branch, back, result, args, location } in std::mem::take(&mut self.cold) {
            self.locate(location);
            self.close_branch(branch, self.bytes.len());
            for (reg, slot) in &around {
                self.transfer(Place::reg(*reg), Place::stack(*slot))?;
            }
            let first = *args.first().ok_or_else(lost)?;
            let places = [result, first, args.get(1).copied().unwrap_or(first)];
            for (place, argument) in places.into_iter().zip(INTEGER_ARGUMENTS) {
                let slot = match place.as_reg() {
                    Some(reg) => around.iter().find(|(known, _)| *known == reg).map(|(_, slot)| *slot),
                    None => place.as_stack(),
                };
                let mut address = simple(Encoding::Lea_r64_m, &[register(argument, View::Bits(64))]);
                self.set_spilled(&mut address, 1, slot.ok_or_else(lost)?);
                self.write(&address)?;
            }
            self.load_number(INTEGER_ARGUMENTS[3], tile.lanes.into())?;
            self.load_number(RAX, tile.address)?;
            self.clear_upper_halves()?;
            self.write(&simple(Encoding::Call_rm64, &[Register::RAX]))?;
            for (reg, slot) in &around {
                self.transfer(Place::stack(*slot), Place::reg(*reg))?;
            }
            let end = self.open_branch(Encoding::Jmp_rel32_64)?;
            self.close_branch(end, back);
        }
        Ok(())
    }

    fn load_number(&mut self, reg: PReg, number: u64) -> Result<(), Unsupported> {
        let mut instruction = simple(Encoding::Mov_r64_imm64, &[register(reg, View::Bits(64))]);
        set_immediate(&mut instruction, 1, View::Immediate(OpKind::Immediate64), number.cast_signed());
        self.write(&instruction).map(|_| ())
    }
}

/// The error of a value that is in no place.
fn lost() -> Unsupported {
    Unsupported("an operand without a place".to_string())
}
