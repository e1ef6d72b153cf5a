//! Searches in a sorted table without branches, some values together; interpolation by them.

/// The values that are searched together.
const TOGETHER: usize = 8;

/// Writes for each value how many elements of the table are less than it.
pub fn places(table: &[f64], values: &[f64], out: &mut [i64]) {
    for (values, out) in values.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
        let mut first = [0_usize; TOGETHER];
        let mut left = table.len();
        while left > 1 {
            let half = left / 2;
            for (value, first) in values.iter().zip(&mut first) {
                *first += if table[*first + half - 1] < *value { half } else { 0 };
            }
            left -= half;
        }
        for ((value, first), out) in values.iter().zip(first).zip(out) {
            *out = (first + usize::from(left == 1 && table[first] < *value)) as i64;
        }
    }
}

/// Writes for each value what a line between its neighbours in an ascending table has there.
pub fn interpolated(table: &[f64], heights: &[f64], values: &[f64], out: &mut [f64]) {
    let mut found = [0; TOGETHER];
    for (values, out) in values.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
        places(table, values, &mut found[..values.len()]);
        for ((value, place), out) in values.iter().zip(found).zip(out) {
            let at = (place as usize).clamp(1, table.len() - 1);
            let [left, right] = [table[at - 1], table[at]];
            let slope = (heights[at] - heights[at - 1]) / (right - left);
            let value = value.clamp(table[0], table[table.len() - 1]);
            *out = heights[at - 1] + slope * (value - left);
        }
    }
}
