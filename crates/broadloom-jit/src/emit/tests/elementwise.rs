//! Ops, casts and selections.

use super::super::{Emitter, LaneStride, Val};
use super::harness::{BackEnd, Case, Code, Target, check, corners, pairs};
use super::lanes;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_math::{Trace, trace};
use std::collections::BTreeSet;

/// A case whose lanes are independent; operands of one lane are used for all.
pub(super) fn elementwise(
    name: String,
    operands: Vec<(DType, usize)>,
    tuples: Vec<Vec<Scalar>>,
    emit: impl Fn(&mut Emitter<'_, '_>, &[Val]) -> Val + 'static,
    expect: impl Fn(&[Scalar]) -> Scalar + 'static,
) -> Case {
    let lanes = operands.iter().map(|(_, lanes)| *lanes).max().unwrap_or(1);
    let expect = move |values: &[Vec<Scalar>]| {
        let element =
            |index: usize| values.iter().map(|lanes| lanes[index.min(lanes.len() - 1)]).collect::<Vec<_>>();
        (0..lanes).map(|index| expect(&element(index))).collect()
    };
    Case { name, operands, mask_width: 1, emit: Box::new(emit), expect: Box::new(expect), tuples }
}

/// Every op on every dtype that it accepts.
pub(super) fn rows() -> impl Iterator<Item = (Op, DType)> {
    Op::ALL
        .iter()
        .flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype)))
        .filter(|(op, dtype)| op.operand_dtype(&vec![*dtype; op.arity()]) == Some(*dtype))
}

/// Every third of some values, and the last.
fn some_of(values: &[Scalar]) -> Vec<Scalar> {
    values.iter().step_by(3).chain(values.last()).copied().collect()
}

/// Tuples of corner values; triples of some of them.
fn tuples(dtype: DType, arity: usize) -> Vec<Vec<Scalar>> {
    let values = corners(dtype);
    match arity {
        1 => values.into_iter().map(|x| vec![x]).collect(),
        2 => pairs(&values, &values),
        _ => {
            let some = some_of(&some_of(&values));
            let pairs = pairs(&some, &some);
            pairs.iter().flat_map(|pair| some.iter().map(|z| [&pair[..], &[*z]].concat())).collect()
        }
    }
}

/// Whether the op is a function without known operations, or with rare lanes where only the wide back end computes them
/// apart: loops call its tile function, and only leftovers its row.
fn is_only_called(op: Op, dtype: DType, target: Target) -> bool {
    let is_wide = matches!(target.back_end, BackEnd::Wide(_));
    let is_computed = |trace: &Trace| is_wide || trace.rare().is_none();
    let tile = op.tile(dtype.arithmetic());
    tile.is_some_and(|(function, precision)| {
        !trace(function, precision, target.fused).is_some_and(is_computed)
    })
}

fn op_case(target: Target, op: Op, operands: Vec<(DType, usize)>) -> Case {
    let dtype = operands[0].0;
    let tuples = match operands.len() {
        // The same code on both sides of the comparison.
        2 if is_only_called(op, dtype, target) => {
            let some = some_of(&corners(dtype));
            pairs(&some, &some)
        }
        arity => tuples(dtype, arity),
    };
    elementwise(
        format!("{op} of {operands:?}"),
        operands,
        tuples,
        move |emitter, args| emitter.op(op, args),
        move |args| op.evaluate(target.fused, args).expect("operands that the row accepts"),
    )
}

/// The grid of ops and dtypes is complete: it has every dtype at which a row has a function.
#[test]
fn every_row_is_tested() {
    let tested: BTreeSet<(Op, DType)> = rows().collect();
    for (op, dtype) in Op::ALL.iter().flat_map(|op| DType::ALL.iter().map(move |dtype| (*op, *dtype))) {
        for fused in [false, true] {
            assert_eq!(
                op.reference_fn(fused, dtype).is_some(),
                tested.contains(&(op, dtype)),
                "{op} of {dtype}"
            );
        }
        let least = match dtype.class() {
            Class::Bool => 2,
            Class::Int => 25,
            Class::Float => 50,
        };
        assert!(corners(dtype).len() >= least, "{dtype} has {} corners", corners(dtype).len());
    }
}

#[test]
fn ops_are_those_of_the_table() {
    check(|target| {
        let cases = |(op, dtype): (Op, DType)| {
            lanes(&[dtype]).iter().map(move |lanes| op_case(target, op, vec![(dtype, *lanes); op.arity()]))
        };
        rows().flat_map(cases).collect()
    });
}

/// Functions whose operations are emitted have the bits of their definitions, also far from the corners.
#[test]
fn functions_are_their_definitions() {
    check(|target| {
        let mut cases = Vec::new();
        for (op, dtype) in rows().filter(|(_, dtype)| matches!(dtype, DType::F32 | DType::F64)) {
            if op.tile(dtype).is_none() || is_only_called(op, dtype, target) {
                continue;
            }
            let mut state = 7u64;
            let mut random = move || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            // Small ones around the middle of the range of most functions, and some of any exponent.
            let mut number = move || match random() {
                far if far < 0.1 => (random() - 0.5) * 2f64.powf(200.0 * (random() - 0.5)),
                _ => 40.0 * (random() - 0.5),
            };
            let mut tuple = || (0..op.arity()).map(|_| Scalar::F64(number()).cast(dtype)).collect();
            let tuples: Vec<Vec<Scalar>> = (0..1600).map(|_| tuple()).collect();
            for lanes in [1, 4, 16] {
                let case = op_case(target, op, vec![(dtype, lanes); op.arity()]);
                cases.push(Case { tuples: tuples.clone(), ..case });
            }
        }
        cases
    });
}

#[test]
fn scalars_and_vectors_mix() {
    check(|target| {
        let binary = rows().filter(|(op, _)| op.arity() == 2);
        binary
            .flat_map(|(op, dtype)| {
                [(4, 1), (1, 4), (1, 16)].map(|(x, y)| op_case(target, op, vec![(dtype, x), (dtype, y)]))
            })
            .collect()
    });
}

#[test]
fn masks_of_every_width_meet() {
    check(|target| {
        let mut cases = Vec::new();
        for (op, dtype) in rows().filter(|(_, dtype)| *dtype == DType::Bool) {
            for (lanes, width) in
                [4, 8, 16].into_iter().flat_map(|lanes| [1, 2, 4, 8].map(|width| (lanes, width)))
            {
                let case = op_case(target, op, vec![(dtype, lanes); op.arity()]);
                cases.push(Case { mask_width: width, ..case });
                if op.arity() == 2 {
                    let mixed = elementwise(
                        format!("{op} of masks of {width} bytes and another width, {lanes} lanes"),
                        vec![(dtype, lanes); 2],
                        tuples(dtype, 2),
                        move |emitter, args| {
                            let other = emitter.resize_mask(&args[1], if width == 1 { 8 } else { width / 2 });
                            emitter.op(op, &[args[0].clone(), other])
                        },
                        move |args| op.evaluate(target.fused, args).expect("bools"),
                    );
                    cases.push(Case { mask_width: width, ..mixed });
                }
            }
        }
        cases
    });
}

#[test]
fn casts_convert_as_scalars_do() {
    check(|_| {
        let all = DType::ALL.iter().flat_map(|from| DType::ALL.iter().map(move |to| (*from, *to)));
        all.flat_map(|(from, to)| {
            lanes(&[from, to]).iter().flat_map(move |&lanes| {
                let widths = if from == DType::Bool { &[1, 2, 4, 8][..] } else { &[1] };
                widths.iter().map(move |width| {
                    let case = elementwise(
                        format!("cast of {from}, mask {width} to {to}, {lanes} lanes"),
                        vec![(from, lanes)],
                        tuples(from, 1),
                        move |emitter, args| emitter.cast(&args[0], to),
                        move |args| args[0].cast(to),
                    );
                    Case { mask_width: *width, ..case }
                })
            })
        })
        .collect()
    });
}

#[test]
fn select_takes_masks_and_scalars() {
    check(|_| {
        let mut cases = Vec::new();
        for dtype in DType::ALL.iter().copied() {
            let values = corners(dtype);
            let tuples: Vec<Vec<Scalar>> = (0..2 * values.len())
                .map(|at| {
                    let c = Scalar::Bool(at % 3 == 0);
                    vec![c, values[at % values.len()], values[(at * 7 + 3) % values.len()]]
                })
                .collect();
            for width in [1, 2, 4, 8] {
                for (c, t, f) in lanes(&[dtype]).iter().map(|&lanes| (lanes, lanes, lanes)).chain([
                    (1, 4, 4),
                    (4, 1, 4),
                    (4, 4, 1),
                    (8, 1, 1),
                    (16, 1, 1),
                    (1, 16, 1),
                ]) {
                    let case = elementwise(
                        format!("select of {dtype}, lanes {c}, {t}, {f}, mask {width}"),
                        vec![(DType::Bool, c), (dtype, t), (dtype, f)],
                        tuples.clone(),
                        |emitter, args| emitter.select(&args[0], &args[1], &args[2]),
                        |args| if args[0] == Scalar::Bool(true) { args[1] } else { args[2] },
                    );
                    cases.push(Case { mask_width: width, ..case });
                }
            }
        }
        cases
    });
}

/// Two operands, or the second of them first.
fn in_order<T>(swap: bool, x: T, y: T) -> [T; 2] {
    if swap { [y, x] } else { [x, y] }
}

/// Constant zeros and compared numbers have code of their own.
#[test]
fn constants_are_chosen_and_compared() {
    check(|target| {
        let mut cases = Vec::new();
        for dtype in DType::ALL.iter().copied() {
            for (&lanes, number) in
                lanes(&[dtype]).iter().flat_map(|lanes| [-0.0, 0.0, 100.0].map(|number| (lanes, number)))
            {
                let number = Scalar::F64(number).cast(dtype);
                for (op, swap) in
                    [Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual, Op::Equal, Op::NotEqual]
                        .into_iter()
                        .flat_map(|op| [(op, false), (op, true)])
                {
                    cases.push(elementwise(
                        format!("{op} of {lanes} {dtype} and {number:?}, or {number:?}: {swap}"),
                        vec![(dtype, lanes); 2],
                        tuples(dtype, 2),
                        move |emitter, args| {
                            let number = emitter.constant(number);
                            let compared = in_order(swap, args[0].clone(), number.clone());
                            let holds = emitter.op(op, &compared);
                            let [yes, no] = in_order(swap, args[1].clone(), number);
                            emitter.select(&holds, &yes, &no)
                        },
                        move |args| {
                            let compared = in_order(swap, args[0], number);
                            let holds = op.evaluate(target.fused, &compared) == Some(Scalar::Bool(true));
                            let [yes, no] = in_order(swap, args[1], number);
                            if holds { yes } else { no }
                        },
                    ));
                }
            }
        }
        cases
    });
}

/// The upper bits of the register of an 8-bit product must not reach the function.
#[test]
fn functions_get_whole_bytes() {
    check(|target| {
        let cases = lanes(&[DType::U8]).iter().map(|&lanes| {
            elementwise(
                format!("power of products of {lanes} bytes"),
                vec![(DType::U8, lanes); 2],
                tuples(DType::U8, 2),
                |emitter, args| {
                    let product = emitter.op(Op::Multiply, args);
                    emitter.op(Op::Pow, &[product.clone(), product])
                },
                move |args| {
                    let product = Op::Multiply.evaluate(target.fused, args).expect("bytes");
                    Op::Pow.evaluate(target.fused, &[product, product]).expect("bytes")
                },
            )
        });
        cases.collect()
    });
}

/// Only these rows cost a call per element, which is recorded for `explain()`.
#[test]
fn few_rows_are_called() {
    for target in Target::all() {
        let mut code = Code::new(target);
        for (op, dtype) in rows() {
            code.add(op.name(), |emitter, params| {
                let x = emitter.load(params.source, 0, dtype, 4, LaneStride::Unit);
                emitter.op(op, &vec![x; op.arity()]);
            });
        }
        let lacks_rounding =
            cfg!(target_arch = "x86_64") && target.back_end == BackEnd::Own && target.features == Some(&[]);
        let called = |op: Op, dtype: DType| match op {
            _ if is_only_called(op, dtype, target) => true,
            // Its operations are known.
            _ if op.tile(dtype.arithmetic()).is_some() => false,
            // As many products as the exponent has bits.
            Op::Pow => true,
            // Steps that depend on the elements.
            Op::Gcd | Op::Lcm => true,
            // One instruction where the level has it, else in software.
            Op::Fma => !target.fused,
            // Without the instruction they are long, and CPUs without it are old.
            Op::Floor | Op::Ceil | Op::Trunc | Op::Round => lacks_rounding && dtype.is_float(),
            _ => false,
        };
        assert_eq!(
            code.notes.called(),
            rows()
                .filter(|(op, dtype)| called(*op, *dtype))
                // Floats of 16 bits call the row of `f32`.
                .map(|(op, dtype)| (op, dtype.arithmetic()))
                .collect(),
            "{target:?}"
        );
    }
}

#[test]
fn selecting_by_a_comparison_is_no_other_minimum() {
    check(|target| {
        let mut cases = Vec::new();
        for (op, dtype, lanes) in [Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual]
            .into_iter()
            .flat_map(|op| DType::ALL.iter().map(move |dtype| (op, *dtype)))
            .flat_map(|(op, dtype)| lanes(&[dtype]).iter().map(move |lanes| (op, dtype, *lanes)))
        {
            for swap in [false, true] {
                cases.push(elementwise(
                    format!("select by {op} of {dtype}, {lanes} lanes"),
                    vec![(dtype, lanes); 2],
                    tuples(dtype, 2),
                    move |emitter, args| {
                        let holds = emitter.op(op, args);
                        let (t, f) = if swap { (&args[1], &args[0]) } else { (&args[0], &args[1]) };
                        emitter.select(&holds, t, f)
                    },
                    move |args| {
                        let holds = op.evaluate(target.fused, args) == Some(Scalar::Bool(true));
                        let (t, f) = if swap { (args[1], args[0]) } else { (args[0], args[1]) };
                        if holds { t } else { f }
                    },
                ));
            }
        }
        cases
    });
}

#[test]
fn constants_fold_to_the_same_bits() {
    check(|target| {
        let mut cases = Vec::new();
        let is_called = |op: Op, dtype: DType| op.tile(dtype.arithmetic()).is_some() || op == Op::Pow;
        for (op, dtype) in rows().filter(|(op, dtype)| op.arity() == 2 && !is_called(*op, *dtype)) {
            for constant in some_of(&corners(dtype)) {
                cases.push(elementwise(
                    format!("{op} of {dtype} and {constant}"),
                    vec![(dtype, 4)],
                    tuples(dtype, 1),
                    move |emitter, args| {
                        let constant = emitter.constant(constant);
                        emitter.op(op, &[args[0].clone(), constant])
                    },
                    move |args| op.evaluate(target.fused, &[args[0], constant]).expect("operands"),
                ));
            }
        }
        cases
    });
}

/// Bits of numbers of any length.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = (self.0 >> 58) as u32;
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 32) >> bits
    }
}

/// Products of a divisor, and their neighbours.
fn near_multiples(dtype: DType, divisor: u64, factors: &[u64]) -> Vec<Scalar> {
    let products = factors.iter().map(|factor| factor.wrapping_mul(divisor));
    let all = products.flat_map(|product| [u64::MAX, 0, 1].map(|more| product.wrapping_add(more)));
    all.map(|bits| Scalar::U64(bits).cast(dtype)).collect()
}

const QUOTIENTS: [Op; 3] = [Op::FloorDivide, Op::Remainder, Op::Fmod];
const LONG: [DType; 2] = [DType::I64, DType::U64];

#[test]
fn long_integers_are_divided_by_constants() {
    const DIVISORS: [u64; 22] = [
        1,
        2,
        3,
        5,
        6,
        7,
        10,
        11,
        25,
        60,
        64,
        100,
        641,
        1000,
        65_535,
        86_400,
        1 << 31,
        0xffff_ffff,
        0x1_0000_0001,
        6_700_417,
        1_000_000_007,
        1 << 62,
    ];
    const LARGE: [u64; 6] = [1 << 63, (1 << 63) + 1, (1 << 63) - 1, u64::MAX - 1, 0xfedc_ba98_7654_3210, 0];
    let mut numbers = Numbers(3);
    let random = std::array::from_fn::<u64, 40, _>(|_| numbers.next());
    let divisors: Vec<u64> = DIVISORS
        .into_iter()
        .flat_map(|divisor| [divisor, divisor.wrapping_neg()])
        .chain(LARGE)
        .chain(random)
        .collect();
    check(|target| {
        let mut cases = Vec::new();
        for (dtype, op) in LONG.into_iter().flat_map(|dtype| QUOTIENTS.map(|op| (dtype, op))) {
            for &divisor in &divisors {
                let constant = Scalar::U64(divisor).cast(dtype);
                let factors =
                    [0, 1, 2, 3, u64::MAX, u64::MAX / divisor.max(1), i64::MAX as u64 / divisor.max(1)];
                let dividends = corners(dtype).into_iter().chain(near_multiples(dtype, divisor, &factors));
                cases.push(elementwise(
                    format!("{op} of {dtype} and {constant}"),
                    vec![(dtype, 8)],
                    dividends.map(|x| vec![x]).collect(),
                    move |emitter, args| {
                        let constant = emitter.constant(constant);
                        emitter.op(op, &[args[0].clone(), constant])
                    },
                    move |args| op.evaluate(target.fused, &[args[0], constant]).expect("integers"),
                ));
            }
        }
        cases
    });
}

#[test]
fn long_integers_are_divided() {
    let mut numbers = Numbers(5);
    let divisors: Vec<u64> = (0..400).map(|_| numbers.next()).flat_map(|x| [x, x.wrapping_neg()]).collect();
    check(|target| {
        let mut cases = Vec::new();
        for (dtype, op) in LONG.into_iter().flat_map(|dtype| QUOTIENTS.map(|op| (dtype, op))) {
            let mut numbers = Numbers(7);
            let tuples: Vec<Vec<Scalar>> = divisors
                .iter()
                .flat_map(|divisor| {
                    let factors = [numbers.next(), numbers.next(), numbers.next() >> 12];
                    let y = Scalar::U64(*divisor).cast(dtype);
                    near_multiples(dtype, *divisor, &factors).into_iter().map(move |x| vec![x, y])
                })
                .collect();
            for operands in [[(dtype, 4), (dtype, 4)], [(dtype, 8), (dtype, 1)]] {
                let case = op_case(target, op, operands.to_vec());
                cases.push(Case { tuples: tuples.clone(), ..case });
            }
        }
        cases
    });
}
