//! The positions along each axis of a drawn array: a few cells, and a gap for the others.

use super::{Broadcast, Fit, Operand, OperandAxis, Size};
use crate::label::columns;

/// How many positions along an axis have cells.
#[derive(Debug, Clone, Copy)]
struct Few {
    /// The most positions if none is left out.
    most: u64,
    /// Those before the ones that are left out.
    first: u64,
}

impl Few {
    fn of(rank: usize, axis: usize) -> Few {
        match rank {
            0..=2 => Few { most: 6, first: 2 },
            4 if axis == 0 => Few { most: 3, first: 1 },
            _ => Few { most: 4, first: 2 },
        }
    }
}

/// A position along an axis, or those that are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub kind: SlotKind,
    /// Whether the element there is a repeated one.
    pub is_ghost: bool,
    /// Whether there is no such position in another operand.
    pub is_unmatched: bool,
    /// The position as a text.
    pub index: String,
}

/// Kinds of slots; of slots that meet, the greatest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotKind {
    Cell,
    /// Positions that are left out.
    Gap,
    /// All there is along an axis of size 0.
    Empty,
}

/// An array as it is drawn.
#[derive(Debug)]
pub struct Array {
    /// For each axis of the result.
    pub axes: Vec<DrawnAxis>,
    /// The operands whose elements a cell shows.
    pub shown: Vec<Shown>,
    /// What is written between these elements.
    pub separator: &'static str,
}

#[derive(Debug)]
pub struct DrawnAxis {
    pub slots: Vec<Slot>,
    /// The size, or how it is stretched: `1 → 3`.
    pub label: String,
    pub fit: Fit,
}

/// An operand, and the axes along which its elements differ.
#[derive(Debug)]
pub struct Shown {
    pub operand: usize,
    axes: Vec<usize>,
}

impl Array {
    /// Returns the number of columns of the longest text in a cell of the front.
    pub fn text_columns(&self) -> usize {
        let rank = self.axes.len();
        let longest = |axis: &usize| {
            let slots = self.axes.get(*axis).map_or(&[][..], |axis| &axis.slots);
            // Of the axis that leads to the back, the front shows the first position.
            let seen = if axis + 3 == rank { 1 } else { slots.len() };
            slots.iter().take(seen).map(|slot| columns(&slot.index)).max().unwrap_or(0)
        };
        let of = |shown: &Shown| {
            let indices: usize = shown.axes.iter().map(longest).sum();
            (indices + shown.axes.len().saturating_sub(1)).max(1)
        };
        let separators = columns(self.separator) * self.shown.len().saturating_sub(1);
        self.shown.iter().map(of).sum::<usize>() + separators
    }
}

impl Shown {
    /// Returns the position of the element in the operand.
    pub fn position(&self, slots: &[&Slot]) -> String {
        let indices: Vec<&str> =
            (self.axes.iter()).filter_map(|axis| slots.get(*axis).map(|slot| slot.index.as_str())).collect();
        if indices.is_empty() { "•".to_owned() } else { indices.join(",") }
    }
}

/// Returns an operand at the size of the result.
pub fn operand(broadcast: &Broadcast, index: usize, operand: &Operand) -> Array {
    let axes = operand.axes.iter().zip(&broadcast.sizes).enumerate();
    let axes = axes.map(|(axis, (OperandAxis { own, fit }, size))| {
        let few = Few::of(broadcast.rank(), axis);
        let own_text = own.as_ref().map_or("·", |own| &own.text);
        let (slots, label) = match fit {
            Fit::Equal => {
                let one = Size { text: "1".to_owned(), count: Some(1) };
                (slots(own.as_ref().unwrap_or(&one), few), own_text.to_owned())
            }
            Fit::Stretched => (stretched(size, few), format!("{own_text} → {}", size.text)),
            Fit::Clash => {
                let least = least(broadcast, axis);
                let mut slots = own.as_ref().map_or_else(Vec::new, |own| slots(own, few));
                slots.iter_mut().enumerate().for_each(|(at, slot)| slot.is_unmatched = at >= least);
                (slots, own_text.to_owned())
            }
        };
        DrawnAxis { slots, label, fit: *fit }
    });
    Array { axes: axes.collect(), shown: vec![shown(index, operand)], separator: "" }
}

/// Returns the result.
pub fn result(broadcast: &Broadcast) -> Array {
    let axis = |(axis, size): (usize, &Size)| DrawnAxis {
        slots: slots(size, Few::of(broadcast.rank(), axis)),
        label: size.text.clone(),
        fit: Fit::Equal,
    };
    Array {
        axes: broadcast.sizes.iter().enumerate().map(axis).collect(),
        shown: broadcast.operands.iter().enumerate().map(|(index, operand)| shown(index, operand)).collect(),
        separator: broadcast.operator.separator(),
    }
}

fn shown(index: usize, operand: &Operand) -> Shown {
    let varies =
        |(_, OperandAxis { own, .. }): &(usize, &OperandAxis)| own.as_ref().is_some_and(|own| !own.is_one());
    let axes = operand.axes.iter().enumerate().filter(varies).map(|(axis, _)| axis);
    Shown { operand: index, axes: axes.collect() }
}

/// Returns the number of positions along an axis that all clashing operands have. Of sizes that are not known, none
/// is certain.
fn least(broadcast: &Broadcast, axis: usize) -> usize {
    let sizes = broadcast.operands.iter().filter_map(|operand| operand.axes.get(axis));
    let clashing = sizes.filter(|axis| axis.fit == Fit::Clash).map(|axis| axis.own.as_ref()?.count);
    let least = clashing.min().flatten().unwrap_or(0);
    usize::try_from(least).unwrap_or(usize::MAX)
}

/// Returns the positions along an axis of this size.
fn slots(size: &Size, few: Few) -> Vec<Slot> {
    let slot = |kind, index: String| Slot { kind, is_ghost: false, is_unmatched: false, index };
    match size.count {
        Some(0) => vec![slot(SlotKind::Empty, String::new())],
        Some(count) if count <= few.most => {
            (0..count).map(|index| slot(SlotKind::Cell, index.to_string())).collect()
        }
        count => {
            let last = match count {
                Some(count) => (count - 1).to_string(),
                None if size.text.chars().all(|letter| letter == '_' || letter.is_alphanumeric()) => {
                    format!("{}−1", size.text)
                }
                // In Python, the last position of any axis.
                None => "−1".to_owned(),
            };
            let mut slots: Vec<Slot> =
                (0..few.first).map(|index| slot(SlotKind::Cell, index.to_string())).collect();
            slots.extend([slot(SlotKind::Gap, String::new()), slot(SlotKind::Cell, last)]);
            slots
        }
    }
}

/// Returns the positions along an axis of size 1 that is stretched to a size: the element, and its repetitions.
fn stretched(size: &Size, few: Few) -> Vec<Slot> {
    let mut slots = slots(size, few);
    if size.count == Some(0) {
        // The element is there, but the result does not use it.
        slots = self::slots(&Size { text: "1".to_owned(), count: Some(1) }, few);
    }
    slots.iter_mut().skip(1).for_each(|slot| slot.is_ghost = true);
    slots
}
