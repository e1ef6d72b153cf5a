//! Places boxes in rows and routes the wires between them: the layered drawing of Sugiyama, Tagawa and Toda.
//!
//! ```text
//! rows are given ──▶ wires through rows get a place of their own ──▶ order by barycentres ──▶ positions by least squares
//! ```
//!
//! Libraries for this task choose the rows themselves, and would tear kernels apart. Everything is deterministic,
//! and a number of sweeps over all places bounds the work.

use std::collections::HashMap;

/// The least distance between boxes.
const GAP: f64 = 26.0;
/// The least distance between a wire and its neighbours.
const WIRE_GAP: f64 = 15.0;
/// The part of a box's width over which wires end.
pub const PORTS: f64 = 0.9;
/// Sweeps that order the rows.
const ORDER_SWEEPS: usize = 16;
/// Sweeps that exchange neighbours, for drawings with at most [`FEW`] places.
const EXCHANGE_SWEEPS: usize = 10;
/// Places that are worth the work of exchanging neighbours.
const FEW: usize = 4000;
/// Sweeps that move boxes to their neighbours in other rows.
const MOVE_SWEEPS: usize = 12;
/// A box to be placed.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub row: usize,
    pub width: f64,
}

/// A wire from a box to one in a lower row.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    pub from: usize,
    pub to: usize,
    /// How much it matters that the wire is straight.
    pub weight: f64,
}

/// The positions of all boxes and wires.
#[derive(Debug)]
pub struct Layout {
    /// The centre of each box.
    pub centers: Vec<f64>,
    /// The position of each wire in each row that it passes, from its start to its end.
    pub ways: Vec<Vec<f64>>,
    /// The extent of each row, wires included.
    pub spans: Vec<(f64, f64)>,
}

/// A box, or the place of a wire in a row between.
struct Spot {
    row: usize,
    width: f64,
    is_wire: bool,
}

/// Between neighbouring rows, from above to below.
struct Segment {
    above: usize,
    below: usize,
    /// The point where it meets the lower box, relative to the centre.
    port: f64,
    weight: f64,
}

struct Grid {
    spots: Vec<Spot>,
    rows: Vec<Vec<usize>>,
    /// Places in their rows.
    rank: Vec<usize>,
    segments: Vec<Segment>,
    /// Segments by the spot at their lower end, and by that at their upper one.
    up: Vec<Vec<usize>>,
    down: Vec<Vec<usize>>,
}

/// Places boxes. Wires end in lower rows than they begin in; others are left out.
pub fn layout(items: &[Item], wires: &[Wire]) -> Layout {
    let (mut grid, paths) = Grid::new(items, wires);
    grid.order();
    grid.ports(items, &paths);
    let x = grid.positions();
    let mut ways: Vec<Vec<f64>> = Vec::with_capacity(wires.len());
    for path in &paths {
        let mut way: Vec<f64> = path.spots.iter().map(|spot| x[*spot]).collect();
        if let (Some(last), Some(segment)) = (way.last_mut(), path.last) {
            *last += grid.segments[segment].port;
        }
        ways.push(way);
    }
    let span = |row: &Vec<usize>| {
        let half = |spot: &usize| grid.spots[*spot].width / 2.0;
        let left = row.first().map_or(0.0, |spot| x[*spot] - half(spot));
        (left, row.last().map_or(0.0, |spot| x[*spot] + half(spot)))
    };
    Layout { centers: x[..items.len()].to_vec(), ways, spans: grid.rows.iter().map(span).collect() }
}

/// The path of a wire.
struct Path {
    spots: Vec<usize>,
    last: Option<usize>,
}

impl Grid {
    fn new(items: &[Item], wires: &[Wire]) -> (Grid, Vec<Path>) {
        let mut spots: Vec<Spot> =
            items.iter().map(|item| Spot { row: item.row, width: item.width, is_wire: false }).collect();
        let mut segments: Vec<Segment> = Vec::new();
        let mut paths = Vec::with_capacity(wires.len());
        // Wires from one box share their path as long as possible.
        let mut passing: HashMap<(usize, usize), usize> = HashMap::new();
        for wire in wires {
            let (first, last) = (items[wire.from].row, items[wire.to].row);
            let mut path = Path { spots: vec![wire.from], last: None };
            let mut above = wire.from;
            for row in first + 1..last {
                let spot = *passing.entry((wire.from, row)).or_insert_with(|| {
                    spots.push(Spot { row, width: 2.0, is_wire: true });
                    let below = spots.len() - 1;
                    segments.push(Segment { above, below, port: 0.0, weight: wire.weight });
                    spots.len() - 1
                });
                path.spots.push(spot);
                above = spot;
            }
            if first < last {
                path.spots.push(wire.to);
                path.last = Some(segments.len());
                segments.push(Segment { above, below: wire.to, port: 0.0, weight: wire.weight });
            }
            paths.push(path);
        }
        let mut rows = vec![Vec::new(); spots.iter().map(|spot| spot.row + 1).max().unwrap_or(0)];
        let mut rank = vec![0; spots.len()];
        for (index, spot) in spots.iter().enumerate() {
            rank[index] = rows[spot.row].len();
            rows[spot.row].push(index);
        }
        let (mut up, mut down) = (vec![Vec::new(); spots.len()], vec![Vec::new(); spots.len()]);
        for (index, segment) in segments.iter().enumerate() {
            up[segment.below].push(index);
            down[segment.above].push(index);
        }
        (Grid { spots, rows, rank, segments, up, down }, paths)
    }

    fn neighbour(&self, segment: usize, is_up: bool) -> usize {
        if is_up { self.segments[segment].above } else { self.segments[segment].below }
    }

    /// Orders rows so that few wires cross.
    fn order(&mut self) {
        let mut best = (self.crossings(), self.rows.clone());
        for sweep in 0..ORDER_SWEEPS {
            if best.0 == 0 {
                break;
            }
            let is_up = sweep % 2 == 0;
            let count = self.rows.len();
            for index in 0..count {
                self.sort_row(if is_up { index } else { count - 1 - index }, is_up);
            }
            if self.spots.len() <= FEW {
                self.exchange();
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
        for row in 0..self.rows.len() {
            self.number(row);
        }
    }

    fn number(&mut self, row: usize) {
        for (rank, &spot) in self.rows[row].iter().enumerate() {
            self.rank[spot] = rank;
        }
    }

    /// Sorts a row by the mean places of neighbours in the row above or below.
    fn sort_row(&mut self, row: usize, is_up: bool) {
        let mut keyed: Vec<(f64, usize)> = Vec::with_capacity(self.rows[row].len());
        for &spot in &self.rows[row] {
            let segments = if is_up { &self.up[spot] } else { &self.down[spot] };
            let sum: usize = segments.iter().map(|segment| self.rank[self.neighbour(*segment, is_up)]).sum();
            let key = match segments.len() {
                0 => self.rank[spot] as f64,
                count => sum as f64 / count as f64,
            };
            keyed.push((key, spot));
        }
        keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.rows[row] = keyed.into_iter().map(|(_, spot)| spot).collect();
        self.number(row);
    }

    /// Exchanges neighbours if their wires then cross less often.
    fn exchange(&mut self) {
        for _ in 0..EXCHANGE_SWEEPS {
            let mut is_better = false;
            for row in 0..self.rows.len() {
                for left in 1..self.rows[row].len() {
                    let (one, other) = (self.rows[row][left - 1], self.rows[row][left]);
                    let cost = |one, other| {
                        self.pair_crossings(one, other, true) + self.pair_crossings(one, other, false)
                    };
                    if cost(other, one) < cost(one, other) {
                        self.rows[row].swap(left - 1, left);
                        (self.rank[one], self.rank[other]) = (left, left - 1);
                        is_better = true;
                    }
                }
            }
            if !is_better {
                break;
            }
        }
    }

    /// Counts the crossings of the wires of two spots of a row; `one` is on the left.
    fn pair_crossings(&self, one: usize, other: usize, is_up: bool) -> usize {
        let ranks = |spot: usize| -> Vec<usize> {
            let segments = if is_up { &self.up[spot] } else { &self.down[spot] };
            let mut ranks: Vec<usize> =
                segments.iter().map(|segment| self.rank[self.neighbour(*segment, is_up)]).collect();
            ranks.sort_unstable();
            ranks
        };
        let (one, other) = (ranks(one), ranks(other));
        one.iter().map(|rank| other.partition_point(|other| other < rank)).sum()
    }

    /// Counts the crossings of all wires.
    fn crossings(&self) -> usize {
        let mut total = 0;
        for (row, spots) in self.rows.iter().enumerate() {
            let below = self.rows.get(row + 1).map_or(0, Vec::len);
            // Counts by place in the row below, as a binary indexed tree.
            let mut tree = vec![0usize; below + 1];
            let mut seen = 0;
            for &spot in spots {
                let mut ranks: Vec<usize> = self.down[spot]
                    .iter()
                    .map(|segment| self.rank[self.neighbour(*segment, false)])
                    .collect();
                ranks.sort_unstable();
                for &rank in &ranks {
                    let mut at = rank + 1;
                    let mut up_to = 0;
                    while at > 0 {
                        up_to += tree[at];
                        at &= at - 1;
                    }
                    total += seen - up_to;
                }
                for rank in ranks {
                    let mut at = rank + 1;
                    while at <= below {
                        tree[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                    seen += 1;
                }
            }
        }
        total
    }

    /// Spreads the wires that end at a box over its upper side, in their order.
    fn ports(&mut self, items: &[Item], paths: &[Path]) {
        let mut ending: Vec<Vec<(usize, usize)>> = vec![Vec::new(); items.len()];
        for path in paths {
            if let Some(last) = path.last {
                let segment = &self.segments[last];
                ending[segment.below].push((self.rank[segment.above], last));
            }
        }
        for (item, mut ending) in items.iter().zip(ending) {
            ending.sort_unstable();
            let count = ending.len() as f64;
            for (index, (_, segment)) in ending.into_iter().enumerate() {
                self.segments[segment].port = item.width * PORTS * ((index as f64 + 0.5) / count - 0.5);
            }
        }
    }

    /// Finds positions with short wires and without overlaps.
    fn positions(&self) -> Vec<f64> {
        let mut x = vec![0.0; self.spots.len()];
        for row in &self.rows {
            let mut right = 0.0;
            for (index, &spot) in row.iter().enumerate() {
                right += if index == 0 { 0.0 } else { self.distance(row[index - 1], spot) };
                x[spot] = right;
            }
            row.iter().for_each(|spot| x[*spot] -= right / 2.0);
        }
        let count = self.rows.len();
        for _ in 0..MOVE_SWEEPS {
            (0..count).for_each(|row| self.pull(&mut x, row, true, true));
            (0..count).rev().for_each(|row| self.pull(&mut x, row, true, true));
        }
        // A box with one neighbour above goes right below it, so that most wires are straight.
        (0..count).rev().for_each(|row| self.pull(&mut x, row, false, true));
        (0..count).for_each(|row| self.pull(&mut x, row, true, false));
        x
    }

    fn distance(&self, left: usize, right: usize) -> f64 {
        let (left, right) = (&self.spots[left], &self.spots[right]);
        let gap = if left.is_wire || right.is_wire { WIRE_GAP } else { GAP };
        (left.width + right.width) / 2.0 + gap
    }

    /// Moves a row towards its neighbours above, below or both; boxes without a neighbour above always move towards
    /// those below. Minimises the sum of squared distances while keeping order and distances, by pooling adjacent
    /// violators.
    fn pull(&self, x: &mut [f64], row: usize, from_above: bool, from_below: bool) {
        /// Spots that move as one: their number, their best position, and its weight.
        struct Pool {
            count: usize,
            mean: f64,
            weight: f64,
        }
        let spots = &self.rows[row];
        let mut pools: Vec<Pool> = Vec::with_capacity(spots.len());
        let mut shifts = Vec::with_capacity(spots.len());
        let mut shift = 0.0;
        for (index, &spot) in spots.iter().enumerate() {
            shift += if index == 0 { 0.0 } else { self.distance(spots[index - 1], spot) };
            shifts.push(shift);
            // A spot without neighbours moves only if others need the space.
            let (mut sum, mut weight) = (x[spot] * 1e-3, 1e-3);
            let is_top = self.up[spot].is_empty();
            for segment in self.up[spot].iter().filter(|_| from_above).map(|index| &self.segments[*index]) {
                sum += segment.weight * x[segment.above];
                weight += segment.weight;
            }
            let down = self.down[spot].iter().filter(|_| from_below || is_top);
            for segment in down.map(|index| &self.segments[*index]) {
                sum += segment.weight * x[segment.below];
                weight += segment.weight;
            }
            let mut pool = Pool { count: 1, mean: sum / weight - shift, weight };
            while let Some(last) = pools.pop_if(|last| last.mean > pool.mean) {
                let weight = last.weight + pool.weight;
                let mean = (last.mean * last.weight + pool.mean * pool.weight) / weight;
                pool = Pool { count: last.count + pool.count, mean, weight };
            }
            pools.push(pool);
        }
        let means = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean, pool.count));
        for ((&spot, shift), mean) in spots.iter().zip(shifts).zip(means) {
            x[spot] = mean + shift;
        }
    }
}
