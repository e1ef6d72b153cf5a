//! Assigns the nodes of a drawing to rows: kernels one below the other, arrays between them, and within a kernel
//! each expression below its operands.

use crate::drawing::{Drawing, DrawnNode, Edge, Kind, Place};
use std::collections::{BTreeMap, HashMap};

/// An edge through more rows ends at a reference to the node instead.
const MAX_SPAN: usize = 10;

/// Rows of a drawing, from the top.
#[derive(Debug)]
pub struct Layers {
    /// The row of each node.
    pub of: Vec<usize>,
    /// The place of each row's nodes.
    pub places: Vec<Place>,
}

/// Assigns rows to a drawing, and replaces its long edges by references.
pub fn layers(drawing: &mut Drawing) -> Layers {
    refer_to_arrays(drawing);
    let mut ranks = ranks(drawing);
    refer_within_kernels(drawing, &mut ranks);
    let mut rows: BTreeMap<(Place, usize), usize> = BTreeMap::new();
    let position = |place: Place| match place {
        Place::Above(kernel) => (kernel, false),
        Place::In(kernel) => (kernel, true),
    };
    let keys: Vec<(Place, usize)> =
        drawing.nodes.iter().zip(&ranks).map(|(node, rank)| (node.place, *rank)).collect();
    let mut sorted = keys.clone();
    sorted.sort_by_key(|(place, rank)| (position(*place), *rank));
    sorted.dedup();
    let places = sorted.iter().map(|(place, _)| *place).collect();
    rows.extend(sorted.into_iter().enumerate().map(|(row, key)| (key, row)));
    let of = keys.iter().map(|key| rows.get(key).copied().unwrap_or_default()).collect();
    Layers { of, places }
}

fn reference(drawing: &mut Drawing, text: String, place: Place) -> usize {
    drawing.nodes.push(DrawnNode { kind: Kind::Reference, lines: vec![text], place, expr: None });
    drawing.nodes.len() - 1
}

fn caption(node: &DrawnNode) -> String {
    node.lines.first().cloned().unwrap_or_default()
}

/// Adds references to arrays that are not next to the kernel that reads or writes them.
fn refer_to_arrays(drawing: &mut Drawing) {
    let mut known: HashMap<(usize, Place), usize> = HashMap::new();
    for index in 0..drawing.edges.len() {
        let Edge { from, to, .. } = drawing.edges[index];
        let (array, expected, reads) = match (drawing.nodes[from].place, drawing.nodes[to].place) {
            (Place::Above(_), Place::In(kernel)) => (from, Place::Above(kernel), true),
            (Place::In(kernel), Place::Above(_)) => (to, Place::Above(kernel + 1), false),
            (Place::Above(_), Place::Above(_)) | (Place::In(_), Place::In(_)) => continue,
        };
        if drawing.nodes[array].place == expected {
            continue;
        }
        let text = caption(&drawing.nodes[array]);
        let node = *known.entry((array, expected)).or_insert_with(|| reference(drawing, text, expected));
        let edge = &mut drawing.edges[index];
        *(if reads { &mut edge.from } else { &mut edge.to }) = node;
    }
}

/// The depth of each node in its kernel: as high as its operands allow, but next to its users if they are not fewer
/// than its operands.
fn ranks(drawing: &Drawing) -> Vec<usize> {
    let count = drawing.nodes.len();
    let (mut above, mut below) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for edge in &drawing.edges {
        let (from, to) = (drawing.nodes[edge.from].place, drawing.nodes[edge.to].place);
        if from == to {
            above[edge.to].push(edge.from);
            below[edge.from].push(edge.to);
        }
    }
    let mut missing: Vec<usize> = above.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..count).filter(|node| missing[*node] == 0).collect();
    let mut ranks = vec![0usize; count];
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        for &user in &below[node] {
            ranks[user] = ranks[user].max(ranks[node] + 1);
            missing[user] -= 1;
            if missing[user] == 0 {
                order.push(user);
            }
        }
    }
    let mut degrees: Vec<(usize, usize)> = vec![(0, 0); count];
    for edge in &drawing.edges {
        degrees[edge.from].1 += 1;
        degrees[edge.to].0 += 1;
    }
    for &node in order.iter().rev() {
        let (operands, users) = degrees[node];
        let lowest = below[node].iter().map(|user| ranks[*user].saturating_sub(1)).min();
        if let Some(lowest) = lowest.filter(|_| users >= operands && below[node].len() == users) {
            ranks[node] = lowest;
        }
    }
    ranks
}

/// Numbers expressions that are used far below in their kernel, and refers to them.
fn refer_within_kernels(drawing: &mut Drawing, ranks: &mut Vec<usize>) {
    let mut numbers: HashMap<usize, String> = HashMap::new();
    let mut known: HashMap<(usize, usize), usize> = HashMap::new();
    for index in 0..drawing.edges.len() {
        let Edge { from, to, .. } = drawing.edges[index];
        let (source, target) = (drawing.nodes[from].place, drawing.nodes[to].place);
        let start = match (source, target) {
            (Place::In(_), Place::In(_)) => ranks[from],
            (Place::Above(_), Place::In(_)) => 0,
            (_, Place::Above(_)) => continue,
        };
        if ranks[to] - start.min(ranks[to]) <= MAX_SPAN {
            continue;
        }
        let text = if source == target {
            let next = numbers.len() + 1;
            numbers
                .entry(from)
                .or_insert_with(|| {
                    let number = format!("#{next}");
                    if let Some(line) = drawing.nodes[from].lines.first_mut() {
                        line.push_str(&format!("  {number}"));
                    }
                    number
                })
                .clone()
        } else {
            caption(&drawing.nodes[from])
        };
        let rank = ranks[to].saturating_sub(1);
        let node = *known.entry((from, to)).or_insert_with(|| {
            ranks.push(rank);
            reference(drawing, text, target)
        });
        drawing.edges[index].from = node;
    }
}
