//! The loops of a kernel on one line.

use crate::kernel::*;
use std::fmt::Write as _;

/// A loop with its contents.
struct Outlined {
    axis: AxisId,
    /// `for`, `reduce`, ..
    verb: &'static str,
    lanes: usize,
    strip: Option<usize>,
    inside: Vec<Outlined>,
}

impl Kernel {
    /// Returns the loops, without the values they compute: `for n (threads) for m (4 lanes)`, `for n (threads) {
    /// reduce m (16 lanes); for m (4 lanes) }`, or `once`.
    ///
    /// A loop that is cut into strips and stages counts as one loop here, and so do successive loops over one axis.
    pub fn outline(&self) -> String {
        let loops = loops(&self.body);
        if loops.is_empty() {
            return "once".to_string();
        }
        let mut text = String::new();
        self.write_loops(&mut text, &loops);
        text
    }

    fn write_loops(&self, text: &mut String, loops: &[Outlined]) {
        for (index, each) in loops.iter().enumerate() {
            let name = &self.axes[each.axis.index()].name;
            let mut facts = Vec::new();
            if self.shares(each.axis) {
                facts.push("threads".to_string());
            }
            facts.extend(each.strip.map(|length| format!("strips of {length}")));
            if each.lanes > 1 {
                facts.push(format!("{} lanes", each.lanes));
            }
            text.push_str(if index == 0 { "" } else { "; " });
            // Writing to a string cannot fail.
            let verb = if self.scanned == Some(each.axis) { "scan" } else { each.verb };
            let _ = write!(text, "{verb} {name}");
            if !facts.is_empty() {
                let _ = write!(text, " ({})", facts.join(", "));
            }
            match each.inside.as_slice() {
                [] => {}
                [_] if loops.len() == 1 => {
                    text.push(' ');
                    self.write_loops(text, &each.inside);
                }
                inside => {
                    text.push_str(" { ");
                    self.write_loops(text, inside);
                    text.push_str(" }");
                }
            }
        }
    }
}

/// Returns the axis of a statement that is shown as one loop, whatever its loops are, and the verb.
fn shown_whole(stmt: &Stmt) -> Option<(AxisId, &'static str)> {
    match stmt {
        Stmt::Sort(SortRow { axis, .. }) => Some((*axis, "sort")),
        Stmt::Contract(Contract { axis, .. }) => Some((*axis, "contract")),
        Stmt::FoldRows(FoldRows { axis, .. }) => Some((*axis, "reduce")),
        Stmt::Best(Best { axis, .. }) | Stmt::BestRows(BestRows { axis, .. }) => {
            Some((*axis, "find the best over"))
        }
        _ => None,
    }
}

/// Returns the loops among statements. The recursion is as deep as the loops are nested, which is not deep.
fn loops(body: &[Stmt]) -> Vec<Outlined> {
    let mut found: Vec<Outlined> = Vec::new();
    for stmt in body {
        if let Some((axis, verb)) = shown_whole(stmt) {
            let (lanes, inside) = match stmt {
                // What it packs is a part of it.
                Stmt::Contract(contract) => (contract.lanes, Vec::new()),
                _ => {
                    // Rows over a strip are filled along the axis itself.
                    let inside = stmt.children().into_iter().flat_map(loops);
                    let (along, inside): (Vec<_>, Vec<_>) = inside.partition(|part| part.axis == axis);
                    (along.iter().map(|part| part.lanes).max().unwrap_or(1), inside)
                }
            };
            add(&mut found, Outlined { axis, verb, lanes, strip: None, inside });
            continue;
        }
        let Some(each) = stmt.as_loop() else { continue };
        let walk = each.innermost();
        let (mut lanes, strip) = match walk.turn {
            Turn::Steps(lanes) => (lanes, None),
            Turn::Strip(length) | Turn::Part(length) => (1, Some(length)),
        };
        let mut inside = Vec::new();
        for part in stmt.children().into_iter().flat_map(loops) {
            // The walk along the strip is this loop itself.
            if strip.is_some() && part.axis == each.axis {
                lanes = lanes.max(part.lanes);
                part.inside.into_iter().for_each(|each| add(&mut inside, each));
            } else {
                add(&mut inside, part);
            }
        }
        let reduces = matches!(stmt, Stmt::Reduce(_) | Stmt::Stream(_));
        if reduces {
            // Rows over a block or a strip are filled along the axis itself.
            inside.retain(|part| part.axis != walk.axis);
        }
        let verb = match stmt {
            _ if reduces => "reduce",
            Stmt::Repeat(_) => "repeat",
            _ => "for",
        };
        add(&mut found, Outlined { axis: each.axis, verb, lanes, strip, inside });
    }
    found
}

/// Adds a loop, or extends the previous one if it is over the same axis for the same purpose.
fn add(loops: &mut Vec<Outlined>, next: Outlined) {
    match loops.last_mut() {
        Some(last) if last.axis == next.axis && last.verb == next.verb => {
            last.lanes = last.lanes.max(next.lanes);
            last.strip = last.strip.max(next.strip);
            next.inside.into_iter().for_each(|each| add(&mut last.inside, each));
        }
        _ => loops.push(next),
    }
}
