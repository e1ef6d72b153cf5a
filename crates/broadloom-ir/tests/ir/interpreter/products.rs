//! Sums of products: values worked out by hand, or by plain loops.

use super::*;
use broadloom_ir::graph::{Pairs, Product};
use half::f16;

/// A product of two arrays, declared with their sizes as numbers.
fn product(product: Product, left: &Array, right: &Array) -> Result<Array, InterpretError> {
    let dims =
        [left, right].map(|array| array.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
    let inputs = [(&*dims[0], left.clone()), (&*dims[1], right.clone())];
    evaluate(&inputs, true, |graph, x| graph.product(&product, [x[0], x[1]], here()))
}

/// The integers from 1 on.
fn counted(shape: &[usize]) -> Array {
    let elements: Vec<i64> = (1..=shape.iter().product::<usize>() as i64).collect();
    Array::new(shape, &elements)
}

#[test]
fn matrices_and_vectors() {
    let (matrix, vector, row) = (counted(&[2, 3]), counted(&[3]), counted(&[2]));
    expect(product(Product::Matmul, &matrix, &counted(&[3, 2])), &[2, 2], &[22_i64, 28, 49, 64]);
    expect(product(Product::Matmul, &matrix, &vector), &[2], &[14_i64, 32]);
    expect(product(Product::Matmul, &row, &matrix), &[3], &[9_i64, 12, 15]);
    expect(product(Product::Matmul, &vector, &vector), &[], &[14_i64]);
    expect(product(Product::Dot, &matrix, &vector), &[2], &[14_i64, 32]);
    expect(product(Product::Inner, &matrix, &matrix), &[2, 2], &[14_i64, 32, 32, 77]);
    expect(product(Product::Vdot, &matrix, &counted(&[3, 2])), &[], &[91_i64]);
    expect(product(Product::Outer, &row, &vector), &[2, 3], &[1_i64, 2, 3, 2, 4, 6]);
    expect(product(Product::Vecdot(-1), &matrix, &vector), &[2], &[14_i64, 32]);
    expect(product(Product::Vecdot(0), &matrix, &counted(&[2])), &[3], &[9_i64, 12, 15]);
    expect(product(Product::Kron, &row, &counted(&[2, 2])), &[2, 4], &[1_i64, 2, 2, 4, 3, 4, 6, 8]);
    let pairs = |left: &[i64], right: &[i64]| Product::Tensordot(Pairs::Axes(left.to_vec(), right.to_vec()));
    expect(product(pairs(&[1, 0], &[0, 1]), &matrix, &counted(&[3, 2])), &[], &[86_i64]);
    expect(product(pairs(&[-1], &[-1]), &matrix, &vector), &[2], &[14_i64, 32]);
    expect(product(Product::Tensordot(Pairs::Adjacent(0)), &row, &row), &[2, 2], &[1_i64, 2, 2, 4]);
}

#[test]
fn batch_axes_broadcast() {
    let (left, right) = (counted(&[2, 1, 1, 2]), counted(&[3, 2, 1]));
    expect(product(Product::Matmul, &left, &right), &[2, 3, 1, 1], &[5_i64, 11, 17, 11, 25, 39]);
    // A vector has none.
    expect(product(Product::Matmul, &counted(&[2]), &right), &[3, 1], &[5_i64, 11, 17]);
    let vectors = counted(&[2, 2]);
    expect(
        product(Product::Vecdot(-1), &counted(&[3, 1, 2]), &vectors),
        &[3, 2],
        &[5_i64, 11, 11, 25, 17, 39],
    );
}

#[test]
fn operands_of_rank_0_scale() {
    let three = counted(&[]);
    for op in [Product::Dot, Product::Inner, Product::Kron, Product::Tensordot(Pairs::Adjacent(0))] {
        expect(product(op, &three, &counted(&[2])), &[2], &[1_i64, 2]);
    }
    expect(product(Product::Outer, &three, &counted(&[2])), &[1, 2], &[1_i64, 2]);
    expect(product(Product::Vdot, &three, &counted(&[1])), &[], &[1_i64]);
}

#[test]
fn dtypes_are_numpys() {
    // Integers wrap in their own dtype, unlike those of a sum.
    let small = Array::new(&[2], &[100_i8, 100]);
    expect(product(Product::Matmul, &small, &small), &[], &[32_i8]);
    let wide = Array::new(&[2], &[1_i16, -1]);
    expect(product(Product::Matmul, &small, &wide), &[], &[0_i16]);
    let large = Array::new(&[2], &[u64::MAX, 2]);
    expect(product(Product::Dot, &large, &large), &[], &[5_u64]);
    // Bool is `or` of `and`.
    let left = Array::new(&[2, 2], &[true, true, false, true]);
    let right = Array::new(&[2, 2], &[true, false, true, false]);
    expect(product(Product::Matmul, &left, &right), &[2, 2], &[true, false, true, false]);
    let halves = Array::new(&[2], &[1.5, 2.0].map(f16::from_f64));
    expect(product(Product::Matmul, &halves, &halves), &[], &[f16::from_f64(6.25)]);
    expect(product(Product::Matmul, &small, &Array::new(&[2], &[0.5, 0.25])), &[], &[75.0]);
}

#[test]
fn nothing_to_sum_is_zero() {
    let none = Array::new::<f32>(&[2, 0], &[]);
    expect(product(Product::Matmul, &none, &Array::new::<f32>(&[0, 1], &[])), &[2, 1], &[0_f32; 2]);
    let none = Array::new::<bool>(&[0], &[]);
    expect(product(Product::Vdot, &none, &none), &[], &[false]);
    let none = Array::new::<i8>(&[0, 3], &[]);
    expect(product(Product::Matmul, &none, &Array::new(&[3], &[1_i8, 2, 3])), &[0], &[0_i8; 0]);
}

/// Whether an operand wraps or rounds is the same in any order, so that loops of `i64` are a reference.
fn by_loops(subscripts: &str, arrays: &[Array]) -> Array {
    let (inputs, result) = subscripts.split_once("->").unwrap();
    let inputs: Vec<&str> = inputs.split(',').collect();
    let mut letters: Vec<char> = inputs.concat().chars().collect();
    letters.sort_unstable();
    letters.dedup();
    let size = |letter: char| {
        let sizes = inputs.iter().zip(arrays).flat_map(|(own, array)| own.chars().zip(&array.shape));
        sizes
            .filter(|(own, _)| *own == letter)
            .map(|(_, size)| *size)
            .max_by_key(|size| usize::from(*size != 1))
            .unwrap()
    };
    let sizes: Vec<usize> = letters.iter().map(|&letter| size(letter)).collect();
    let shape: Vec<usize> = result.chars().map(size).collect();
    let mut total = vec![0_i64; shape.iter().product()];
    for count in 0..sizes.iter().product() {
        let mut rest: usize = count;
        let index: Vec<usize> = sizes
            .iter()
            .map(|&size| {
                let own = rest % size;
                rest /= size;
                own
            })
            .collect();
        let at = |own: &str, shape: &[usize]| {
            own.chars().zip(shape).fold(0, |at, (letter, &size)| {
                let own = index[letters.iter().position(|known| *known == letter).unwrap()];
                at * size + if size == 1 { 0 } else { own }
            })
        };
        let factors =
            inputs.iter().zip(arrays).map(|(own, array)| match array.elements[at(own, &array.shape)] {
                Scalar::I64(value) => value,
                other => panic!("{other:?}"),
            });
        let product: i64 = factors.product();
        total[at(result, &shape)] += product;
    }
    Array::new(&shape, &total)
}

#[test]
fn random_subscripts_are_loop_nests() {
    let mut random = fastrand(7);
    let mut below = move |count: usize| random() % count;
    for round in 0..400 {
        let letters: Vec<char> = "abcde".chars().take(1 + below(5)).collect();
        let sizes: Vec<usize> = letters.iter().map(|_| [0, 1, 2, 3, 4][below(5)]).collect();
        let mut terms: Vec<String> = Vec::new();
        let mut arrays = Vec::new();
        for _ in 0..1 + below(3) {
            let own: Vec<usize> = (0..below(4)).map(|_| below(letters.len())).collect();
            let shape: Vec<usize> = own
                .iter()
                .map(|at| {
                    // Only what stands once in an operand stretches.
                    let is_single = own.iter().filter(|other| *other == at).count() == 1;
                    if is_single && below(6) == 0 { 1 } else { sizes[*at] }
                })
                .collect();
            let elements: Vec<i64> = (0..shape.iter().product()).map(|_| below(19) as i64 - 9).collect();
            arrays.push(Array::new(&shape, &elements));
            terms.push(own.iter().map(|at| letters[*at]).collect());
        }
        let used: Vec<char> =
            letters.iter().copied().filter(|letter| terms.concat().contains(*letter)).collect();
        let mut result: Vec<char> = used.into_iter().filter(|_| below(2) == 0).collect();
        if below(2) == 0 {
            result.reverse();
        }
        let subscripts = format!("{}->{}", terms.join(","), result.into_iter().collect::<String>());
        let dims: Vec<String> = arrays
            .iter()
            .map(|array| array.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" "))
            .collect();
        let inputs: Vec<(&str, Array)> = dims.iter().map(String::as_str).zip(arrays.clone()).collect();
        let found = evaluate(&inputs, true, |graph, x| graph.einsum(&subscripts, x, here())).unwrap();
        let expected = by_loops(&subscripts, &arrays);
        assert_eq!(
            (&found.shape, &found.elements),
            (&expected.shape, &expected.elements),
            "{round}: {subscripts} of {dims:?}"
        );
    }
}

/// Numbers that look random: xorshift.
fn fastrand(seed: u64) -> impl FnMut() -> usize {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize
    }
}

#[test]
fn implicit_results_and_ellipses() {
    let einsum = |subscripts: &'static str, arrays: &[Array]| {
        let dims: Vec<String> = arrays
            .iter()
            .map(|array| array.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" "))
            .collect();
        let inputs: Vec<(&str, Array)> = dims.iter().map(String::as_str).zip(arrays.to_vec()).collect();
        evaluate(&inputs, true, |graph, x| graph.einsum(subscripts, x, here()))
    };
    let table = || counted(&[2, 3]);
    expect(einsum("ba", &[table()]), &[3, 2], &[1_i64, 4, 2, 5, 3, 6]);
    expect(einsum("bA", &[table()]), &[3, 2], &[1_i64, 4, 2, 5, 3, 6]);
    expect(einsum("i...", &[table()]), &[3, 2], &[1_i64, 4, 2, 5, 3, 6]);
    expect(einsum(" i j , j k ", &[table(), counted(&[3, 1])]), &[2, 1], &[14_i64, 32]);
    expect(einsum("ii", &[counted(&[3, 3])]), &[], &[15_i64]);
    expect(einsum("...ij->...ji", &[table()]), &[3, 2], &[1_i64, 4, 2, 5, 3, 6]);
    expect(einsum("...i->...", &[table()]), &[2], &[6_i64, 15]);
    expect(einsum("ij,...->...", &[table(), counted(&[2])]), &[2], &[21_i64, 42]);
    expect(einsum("...,...", &[table(), counted(&[3])]), &[2, 3], &[1_i64, 4, 9, 4, 10, 18]);
    expect(einsum("", &[counted(&[])]), &[], &[1_i64]);
    expect(einsum(",->", &[counted(&[]), counted(&[])]), &[], &[1_i64]);
    // The sum of small integers keeps their dtype, unlike `sum`.
    expect(einsum("i->", &[Array::new(&[2], &[100_i8, 100])]), &[], &[-56_i8]);
    expect(einsum("i->", &[Array::new(&[2], &[false, true])]), &[], &[true]);
    // A diagonal is the elements themselves.
    let special = Array::new(&[2, 2], &[-0.0, f64::NAN, f64::INFINITY, 1.0]);
    expect(einsum("ii->i", &[special]), &[2], &[-0.0, 1.0]);
}
