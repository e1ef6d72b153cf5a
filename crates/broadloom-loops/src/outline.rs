//! The loops of a kernel in one line.

use crate::kernel::*;
use std::fmt::Write as _;

/// A loop with what stands in it.
struct Loop {
    axis: AxisId,
    /// `for`, `reduce`, ..
    verb: &'static str,
    lanes: usize,
    strip: Option<usize>,
    inside: Vec<Loop>,
}

impl Kernel {
    /// The loops, without what they compute: `for n (threads) for m (4 lanes)`,
    /// `for n (threads) { reduce m (16 lanes); for m (4 lanes) }`, or `once`.
    ///
    /// A loop that is cut into strips and segments is one loop here, and segments that follow each other as well.
    pub fn outline(&self) -> String {
        let loops = loops(&self.body);
        if loops.is_empty() {
            return "once".to_string();
        }
        let mut text = String::new();
        self.write_loops(&mut text, &loops);
        text
    }

    fn write_loops(&self, text: &mut String, loops: &[Loop]) {
        for (index, each) in loops.iter().enumerate() {
            let name = &self.axes[each.axis.index()].name;
            let mut facts = Vec::new();
            if self.parallel == Some(each.axis) {
                facts.push("threads".to_string());
            }
            facts.extend(each.strip.map(|length| format!("strips of {length}")));
            if each.lanes > 1 {
                facts.push(format!("{} lanes", each.lanes));
            }
            text.push_str(if index == 0 { "" } else { "; " });
            // Writing to a string cannot fail.
            let _ = write!(text, "{} {name}", each.verb);
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

/// The loops among statements. They nest as deep as loops do, of which there are few.
fn loops(body: &[Stmt]) -> Vec<Loop> {
    let mut found: Vec<Loop> = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::For { axis, lanes, body } => {
                add(
                    &mut found,
                    Loop { axis: *axis, verb: "for", lanes: *lanes, strip: None, inside: loops(body) },
                );
            }
            Stmt::Strip { axis, length, body } => {
                let mut whole =
                    Loop { axis: *axis, verb: "for", lanes: 1, strip: Some(*length), inside: Vec::new() };
                for segment in loops(body) {
                    if segment.axis == *axis && segment.verb == "for" {
                        whole.lanes = whole.lanes.max(segment.lanes);
                        segment.inside.into_iter().for_each(|each| add(&mut whole.inside, each));
                    } else {
                        add(&mut whole.inside, segment);
                    }
                }
                add(&mut found, whole);
            }
            Stmt::Reduce(reduce) => {
                let mut inside = loops(&reduce.prologue);
                loops(&reduce.body).into_iter().for_each(|each| add(&mut inside, each));
                // Rows over a block of the axis are filled along the axis itself.
                inside.retain(|each| each.axis != reduce.axis);
                add(
                    &mut found,
                    Loop { axis: reduce.axis, verb: "reduce", lanes: reduce.lanes, strip: None, inside },
                );
            }
            Stmt::Stream(stream) => {
                let mut inside = Vec::new();
                for part in [&stream.per_step, &stream.prologue, &stream.body] {
                    loops(part).into_iter().for_each(|each| add(&mut inside, each));
                }
                inside.retain(|each| each.axis != stream.strip);
                let lanes = stream.lanes;
                add(&mut found, Loop { axis: stream.axis, verb: "reduce", lanes, strip: None, inside });
            }
            Stmt::Pairs(pairs) => {
                let verb = "reduce pairs over";
                add(&mut found, Loop { axis: pairs.axis, verb, lanes: 1, strip: None, inside: Vec::new() });
            }
            Stmt::Let(_)
            | Stmt::Store { .. }
            | Stmt::Scatter { .. }
            | Stmt::Put { .. }
            | Stmt::Call { .. }
            | Stmt::Transpose { .. }
            | Stmt::Gather { .. } => {}
        }
    }
    found
}

/// Adds a loop, as part of the one before if that is over the same axis for the same purpose.
fn add(loops: &mut Vec<Loop>, next: Loop) {
    match loops.last_mut() {
        Some(last) if last.axis == next.axis && last.verb == next.verb => {
            last.lanes = last.lanes.max(next.lanes);
            last.strip = last.strip.max(next.strip);
            next.inside.into_iter().for_each(|each| add(&mut last.inside, each));
        }
        _ => loops.push(next),
    }
}
