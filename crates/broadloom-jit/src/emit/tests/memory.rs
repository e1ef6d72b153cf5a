//! Loads, stores, and vectors made of scalars.

use super::super::{Emitter, LaneStride, Val};
use super::harness::{ARRAY, Case, Code, SKEW, Target, check, corners, get, put};
use super::lanes;
use broadloom_ir::dtype::{DType, Scalar};
use cranelift_codegen::ir::InstBuilder;

/// Distances of lanes, in elements.
pub(super) const STRIDES: [i64; 7] = [1, -1, 0, 2, -3, 5, 7];

/// Every kind of stride with the same distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unit,
    Bytes,
    Dynamic,
}

/// Loads of a distance stored as neighbours, and neighbours stored at a distance.
#[test]
fn strides_address_the_same_elements() {
    const MIDDLE: usize = 512;
    for target in Target::all() {
        let mut code = Code::new(target);
        let mut cases = Vec::new();
        for dtype in DType::ALL.iter().copied() {
            for (lanes, stride) in
                lanes(&[dtype]).iter().flat_map(|&lanes| STRIDES.map(|stride| (lanes, stride)))
            {
                for (kind, scatter) in [Kind::Unit, Kind::Bytes, Kind::Dynamic]
                    .into_iter()
                    .flat_map(|kind| [(kind, false), (kind, true)])
                {
                    if kind == Kind::Unit && stride != 1 {
                        continue;
                    }
                    let bytes = stride * dtype.size() as i64;
                    let offset = (MIDDLE * dtype.size()) as i32;
                    let function = code.add("stride", |emitter, params| {
                        let strided = match kind {
                            Kind::Unit => LaneStride::Unit,
                            Kind::Bytes => LaneStride::Bytes(bytes),
                            Kind::Dynamic => LaneStride::Dynamic(params.number),
                        };
                        let (from, to) =
                            if scatter { (LaneStride::Unit, strided) } else { (strided, LaneStride::Unit) };
                        let value = emitter.load(params.source, offset, dtype, lanes, from);
                        emitter.store(params.target, offset, &value, to);
                    });
                    cases.push((function, dtype, lanes, stride, scatter));
                }
            }
        }
        code.finish();
        cases.retain(|(function, ..)| code.runs(*function));
        for (function, dtype, lanes, stride, scatter) in cases {
            let values = corners(dtype);
            let mut source = vec![0; SKEW + 4 * MIDDLE * 8];
            for index in 0..2 * MIDDLE {
                put(&mut source[SKEW..], index, values[index * 5 % values.len()]);
            }
            let mut expected = vec![0; source.len()];
            for lane in 0..lanes as i64 {
                let far = (MIDDLE as i64 + lane * stride) as usize;
                let near = MIDDLE + lane as usize;
                let (from, to) = if scatter { (near, far) } else { (far, near) };
                put(&mut expected[SKEW..], to, get(&source[SKEW..], from, dtype));
            }
            let mut result = vec![0; source.len()];
            let number = stride * dtype.size() as i64;
            code.call(function, &source[SKEW..], &mut result[SKEW..], number, move |result| {
                assert_eq!(
                    result,
                    &expected[SKEW..],
                    "{target:?}: {dtype}, {lanes} lanes, stride {stride}, scatter {scatter}"
                );
            });
        }
        code.check_all();
    }
}

#[test]
fn far_offsets_do_not_wrap() {
    for target in Target::all() {
        let mut code = Code::new(target);
        let function = code.add("far", |emitter, params| {
            let before = emitter.builder.ins().iadd(params.source, params.number);
            // The second register's offset does not fit the instruction any more.
            let from = emitter.load(before, i32::MAX, DType::F64, 4, LaneStride::Unit);
            emitter.store(params.target, 0, &from, LaneStride::Unit);
        });
        code.finish();
        if !code.runs(function) {
            continue;
        }
        let mut source = vec![0; ARRAY];
        let values: Vec<Scalar> = (0..4).map(|value| Scalar::F64(f64::from(value) + 0.5)).collect();
        for (index, value) in values.iter().enumerate() {
            put(&mut source, index, *value);
        }
        let mut result = vec![0; ARRAY];
        code.call(function, &source, &mut result, -i64::from(i32::MAX), move |result| {
            for (index, value) in values.iter().enumerate() {
                assert_eq!(get(result, index, DType::F64), *value, "{target:?}");
            }
        });
        code.check_all();
    }
}

fn case(
    name: String,
    operands: Vec<(DType, usize)>,
    emit: impl Fn(&mut Emitter<'_, '_>, &[Val]) -> Val + 'static,
    expect: impl Fn(&[Vec<Scalar>]) -> Vec<Scalar> + 'static,
) -> Case {
    let values: Vec<Vec<Scalar>> = operands.iter().map(|(dtype, _)| corners(*dtype)).collect();
    let tuples = (0..32usize)
        .map(|at| {
            (3..).zip(&values).map(|(step, values)| values[(at * step + at / 5) % values.len()]).collect()
        })
        .collect();
    Case { name, operands, mask_width: 1, emit: Box::new(emit), expect: Box::new(expect), tuples }
}

#[test]
fn lanes_come_apart_and_together() {
    check(|_| {
        let mut cases = Vec::new();
        for dtype in DType::ALL.iter().copied() {
            let widths = if dtype == DType::Bool { &[1, 2, 4, 8][..] } else { &[1] };
            for width in widths.iter().copied() {
                let mut push = |case: Case| cases.push(Case { mask_width: width, ..case });
                for lanes in [4, 8, 16] {
                    push(case(
                        format!("lanes of {dtype}, {lanes}, reversed"),
                        vec![(dtype, lanes)],
                        move |emitter, args| {
                            let parts: Vec<_> =
                                (0..lanes).rev().map(|at| emitter.lane(&args[0], at)).collect();
                            emitter.from_lanes(dtype, &parts)
                        },
                        |values| values[0].iter().rev().copied().collect(),
                    ));
                    push(case(
                        format!("splat of {dtype}, {lanes}"),
                        vec![(dtype, 1)],
                        move |emitter, args| emitter.splat(&args[0], lanes),
                        move |values| vec![values[0][0]; lanes],
                    ));
                }
                for (lanes, first, count) in [
                    (16, 8, 8),
                    (16, 0, 4),
                    (16, 4, 4),
                    (16, 12, 4),
                    (16, 6, 8),
                    (8, 4, 4),
                    (8, 1, 4),
                    (4, 0, 4),
                    (8, 5, 1),
                ] {
                    push(case(
                        format!("{count} lanes of {dtype} from {first} of {lanes}, mask {width}"),
                        vec![(dtype, lanes)],
                        move |emitter, args| emitter.lanes_slice(&args[0], first, count),
                        move |values| values[0][first..first + count].to_vec(),
                    ));
                }
                for parts in
                    [&[4, 4][..], &[8, 8], &[4, 4, 4, 4], &[8, 4, 4], &[4, 8, 4], &[1, 1, 1, 1], &[16]]
                {
                    push(case(
                        format!("{parts:?} lanes of {dtype} together, mask {width}"),
                        parts.iter().map(|lanes| (dtype, *lanes)).collect(),
                        |emitter, args| emitter.concat(args),
                        |values| values.concat(),
                    ));
                }
            }
        }
        cases
    });
}

#[test]
fn iota_counts() {
    check(|_| {
        let mut cases = Vec::new();
        for (dtype, lanes) in [DType::I64, DType::I32]
            .into_iter()
            .flat_map(|dtype| lanes(&[dtype]).iter().map(move |lanes| (dtype, *lanes)))
        {
            cases.push(case(
                format!("iota of {dtype}, {lanes}"),
                vec![(DType::I64, 1)],
                move |emitter, args| emitter.iota(args[0].regs[0], lanes, dtype),
                move |values| {
                    let first = i64::from_ne_bytes(values[0][0].bits().to_ne_bytes());
                    (0..lanes as i64).map(|lane| Scalar::I64(first.wrapping_add(lane)).cast(dtype)).collect()
                },
            ));
        }
        cases
    });
}
