//! Quotients of `f64` by one number, which are products with its reciprocal in long loops: the bits of Rust's division, with any NaN
//! for a NaN.

use broadloom::prelude::*;

/// Random numbers by their bits (Marsaglia's xorshift), so that all exponents occur.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number between 1 and 2.
    fn fraction(&mut self) -> f64 {
        f64::from_bits(self.bits() >> 12 | 1f64.to_bits())
    }
}

fn neighbours(x: f64) -> [f64; 3] {
    [x.next_down(), x, x.next_up()]
}

fn divisors(random: &mut Random) -> Vec<f64> {
    let special =
        [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, f64::MAX];
    // Around the bounds of what is divided by products, and fractions of one bit and of all bits.
    let bounds = [-1022, -961, -500, -1, 0, 1, 500, 960, 1023].map(|exponent| 2f64.powi(exponent));
    let bounds = bounds.into_iter().flat_map(neighbours).flat_map(|x| [x, -x]);
    let fractions = (0..400).map(|_| random.fraction()).collect::<Vec<_>>();
    let any = (0..100).map(|_| f64::from_bits(random.bits())).collect::<Vec<_>>();
    special.into_iter().chain(bounds).chain(fractions).chain(any).collect()
}

/// Numbers whose quotients are as close to the middle between two numbers as there are: with `y` and `m` the odd integers of the
/// divisor (53 bits) and of the middle (54 bits), `m y` is a multiple of 2^54 but for a small `rest`, and the multiple is the
/// dividend.
fn between_numbers(divisor: f64) -> Vec<f64> {
    let y = u128::from(divisor.to_bits() << 12 >> 12 | 1 << 52);
    if !divisor.is_normal() || y.is_multiple_of(2) {
        return Vec::new();
    }
    // Newton's iteration for the inverse of an odd number: each step doubles the bits that are right, of which it has three.
    let inverse =
        (0..5).fold(y, |inverse, _| inverse.wrapping_mul(2u128.wrapping_sub(y.wrapping_mul(inverse))));
    let of_rest = |rest: i128| {
        let middle = inverse.wrapping_mul(rest as u128) % (1 << 54);
        let dividend = (y * middle).wrapping_sub(rest as u128) >> 54;
        (middle >= 1 << 53).then_some(dividend as f64)
    };
    (-200..200).map(|half| 2 * half + 1).filter_map(of_rest).collect()
}

/// Numbers whose quotients are close to a number or to the middle between two; numbers of any exponent, of which few are beside each
/// other; and numbers around bounds of dividends and of quotients.
fn dividends(random: &mut Random, divisor: f64) -> Vec<f64> {
    let mut dividends = Vec::new();
    dividends.extend((0..40).flat_map(|_| neighbours(random.fraction() * divisor)));
    dividends.extend(between_numbers(divisor));
    let bounds = [-1074, -1022, -960, -900, 0, 1020, 1022, 1023].map(|exponent| 2f64.powi(exponent));
    for bound in bounds.into_iter().chain(bounds.map(|bound| bound * divisor)) {
        dividends.extend(neighbours(bound).into_iter().flat_map(|x| [x, -x, random.fraction()]));
    }
    dividends.extend([0.0, -0.0, 1.0, f64::INFINITY, 1.0, f64::NAN, -0.0, f64::NEG_INFINITY, f64::MAX, 1.0]);
    // Registers of usual numbers, and such as have one zero, run without the CPU's division.
    dividends.extend((0..64).map(|at| if at % 11 == 3 { -0.0 } else { random.fraction() }));
    dividends.extend((0..64).map(|_| f64::from_bits(random.bits())));
    dividends
}

#[test]
fn by_one_number() {
    let random = &mut Random(0x2545_f491_4f6c_dd1d);
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let kernel = (x / g.input::<f64>("y", shape![])).compile().unwrap();
    for divisor in divisors(random) {
        let x = dividends(random, divisor);
        let quotients: Vec<f64> =
            kernel.run(inputs! { "x" => &x, "y" => divisor }).unwrap().try_into().unwrap();
        for (x, got) in x.into_iter().zip(quotients) {
            let want = x / divisor;
            let is_same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(is_same, "{x:e} / {divisor:e} is {want:e} and not {got:e}\n{}", kernel.explain());
        }
    }
}

/// A divisor for each row, and other operations around the quotient.
#[test]
fn by_a_number_for_each_row() {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let [x, y] = [("x", shape![n, m]), ("y", shape![n, 1])].map(|(name, shape)| g.input::<f64>(name, shape));
    let kernel = ((x - 0.5) / y + 1).compile().unwrap();
    for columns in [1, 7, 8, 64, 333] {
        let y: Vec<f64> =
            [3.0, -0.0, 1e-300, f64::NAN].into_iter().chain((0..20).map(|_| random.fraction())).collect();
        let x: Vec<f64> =
            (0..y.len() * columns).map(|at| if at % 37 == 5 { 0.5 } else { random.fraction() }).collect();
        let [x_view, y_view] = [(&x, [y.len(), columns]), (&y, [y.len(), 1])]
            .map(|(elements, shape)| ArrayView::new(elements, &shape).unwrap());
        let inputs = inputs! { "x" => x_view, "y" => y_view };
        let got: Vec<f64> = kernel.run(inputs).unwrap().try_into().unwrap();
        for (at, got) in got.into_iter().enumerate() {
            let want = (x[at] - 0.5) / y[at / columns] + 1.0;
            assert!(got == want || got.is_nan() && want.is_nan(), "{at} of {columns}: {want} and not {got}");
        }
    }
}
