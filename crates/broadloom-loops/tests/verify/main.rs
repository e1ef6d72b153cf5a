//! Every promise of a schedule, broken: each kind of fault is found.

mod bands;
mod best;
mod coverage;
#[path = "../../../../tests/cases/expressions.rs"]
mod expressions;
mod order;
mod present;
mod registers;
mod scans;
mod stores;

use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, ReduceOp};
use broadloom_loops::kernel::*;
use broadloom_loops::{Broken, Fault, LowerError, LowerOptions, lower, verify};
use std::collections::BTreeSet;

fn schedule(name: &str) -> Schedule {
    let mut cases = expressions::CASES
        .iter()
        .chain(expressions::JOINS)
        .chain(expressions::BEST)
        .chain(expressions::ORDER)
        .chain(expressions::SCANS)
        .chain(expressions::HALVES)
        .chain(expressions::RESHAPES);
    let (_, build) = cases.find(|(of, _)| *of == name).expect("a case has the name");
    let graph = expressions::graph(*build);
    lower(&graph, &LowerOptions::dense(&graph, true)).unwrap()
}

/// Changes the first body for which that can be done.
fn first(body: &mut Vec<Stmt>, change: &mut dyn FnMut(&mut Vec<Stmt>) -> bool) -> bool {
    change(body)
        || body.iter_mut().any(|stmt| stmt.children_mut().into_iter().any(|inside| first(inside, change)))
}

/// Changes the first statement for which that can be done, in any kernel.
fn change(schedule: &mut Schedule, change: &mut dyn FnMut(&mut Stmt) -> bool) {
    let changed = schedule
        .kernels
        .iter_mut()
        .any(|kernel| first(&mut kernel.body, &mut |body| body.iter_mut().any(&mut *change)));
    assert!(changed, "{schedule}");
}

/// Does something to the body that stores the first output, and to where its first store stands.
fn storing(schedule: &mut Schedule, mut act: impl FnMut(&mut Vec<Stmt>, usize)) {
    let is_store = |stmt: &Stmt| matches!(stmt, Stmt::Store { .. });
    let found = first(&mut schedule.kernels[0].body, &mut |body| match body.iter().position(is_store) {
        Some(place) => {
            act(body, place);
            true
        }
        None => false,
    });
    assert!(found, "{schedule}");
}

fn stored_access(schedule: &mut Schedule) -> AccessId {
    let mut found = AccessId::new(0);
    storing(schedule, |body, place| {
        if let Stmt::Store { access, .. } = body[place] {
            found = access;
        }
    });
    found
}

type Break = fn(&mut Schedule);

/// What is broken, of which expression, and how.
const CASES: &[(&str, &str, Break)] = &[
    ("Missing", "bias", |schedule| {
        storing(schedule, |body, place| {
            if let Stmt::Store { value, .. } = &mut body[place] {
                *value = ValueId::new(1000);
            }
        });
    }),
    ("Undefined", "bias", |schedule| {
        storing(schedule, |body, _| {
            let place = body.iter().position(|stmt| matches!(stmt, Stmt::Let(_))).unwrap();
            body.remove(place);
        });
    }),
    ("Twice", "bias", |schedule| {
        storing(schedule, |body, _| {
            let place = body.iter().position(|stmt| matches!(stmt, Stmt::Let(_))).unwrap();
            body.insert(place, body[place].clone());
        });
    }),
    ("Nested", "bias", |schedule| {
        let kernel = &mut schedule.kernels[0];
        let axis = kernel.parallel.unwrap();
        let body = std::mem::take(&mut kernel.body);
        kernel.body = vec![Stmt::For { axis, lanes: 1, body }];
    }),
    ("Row", "tile call", |schedule| {
        first(&mut schedule.kernels[0].body, &mut |body| {
            let puts = body.len();
            body.retain(|stmt| !matches!(stmt, Stmt::Put { .. } | Stmt::Call { .. }));
            body.len() < puts
        });
    }),
    ("Row", "bias", |schedule| {
        // The strip of the axis along which elements recur is no place to write them in.
        change(schedule, &mut |stmt| match stmt {
            Stmt::Strip { axis, body, .. } => {
                let row = RowId::new(0);
                let value = ValueId::new(1);
                body.push(Stmt::Put { row, part: 0, axis: *axis, value });
                true
            }
            _ => false,
        });
    }),
    ("Short", "bias", |schedule| {
        schedule.kernels[0].rows.iter_mut().for_each(|row| row.length -= 1);
    }),
    ("Row", "sum with a transpose", |schedule| {
        // A block is written row by row, in the loop over its rows.
        let kernel = &mut schedule.kernels[0];
        let (value, row, part, axis) = (ValueId::new(kernel.values.len()), RowId::new(0), 0, AxisId::new(1));
        let zero = Value { def: Def::Constant(Scalar::F32(0.0)), ..kernel.values[0].clone() };
        kernel.values.push(zero);
        let body = vec![Stmt::Let(value), Stmt::Put { row, part, axis, value }];
        let filling = Stmt::For { axis, lanes: 1, body };
        change(schedule, &mut |stmt| match stmt {
            Stmt::Strip { axis: of, body, .. } if *of == axis => {
                body.insert(0, filling.clone());
                true
            }
            _ => false,
        });
    }),
    ("Row", "tile call", |schedule| {
        // The row is filled in one walk over strips, and read in another.
        let body = &mut schedule.kernels[0].body;
        body.push(body[0].clone());
        let [Stmt::Strip { body: filling, .. }, Stmt::Strip { body: reading, .. }] = body.as_mut_slice()
        else {
            panic!("two walks over strips")
        };
        filling.truncate(1);
        reading.remove(0);
    }),
    ("Row", "bias", |schedule| {
        // The row is filled for the strips of a loop around, not for those that read it.
        let body = &mut schedule.kernels[0].body;
        let filling = body.remove(0);
        let Stmt::Strip { body, .. } = &mut body[0] else { panic!("a strip reads the row") };
        body.insert(0, filling);
    }),
    ("Row", "sum with a transpose", |schedule| {
        // Fewer rows than steps of the strip.
        schedule.kernels[0].rows.iter_mut().for_each(|row| row.count -= 1);
    }),
    ("Row", "sum with a transpose", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Transpose { rows, axis, .. } => {
                std::mem::swap(rows, axis);
                true
            }
            _ => false,
        });
    }),
    ("Row", "products of computed operands", |schedule| {
        // What is copied by lanes is not what was computed for the step, but a row that holds nothing.
        let other = RowId::new(schedule.kernels[0].rows.len());
        let row = schedule.kernels[0].rows.iter().find(|row| row.span == Span::Strip).unwrap().clone();
        schedule.kernels[0].rows.push(row);
        change(schedule, &mut |stmt| match stmt {
            Stmt::Deinterleave { source, .. } => {
                *source = other;
                true
            }
            _ => false,
        });
    }),
    ("Form", "products of computed operands", |schedule| {
        // The rows that tiles read are not filled, but copied from.
        change(schedule, &mut |stmt| match stmt {
            Stmt::Deinterleave { row, source, .. } => {
                std::mem::swap(row, source);
                true
            }
            _ => false,
        });
    }),
    ("Form", "products of computed operands", |schedule| {
        // Packed rows are kept for the strip, though what they are computed from changes within it.
        let kernel = &mut schedule.kernels[0];
        let scales = kernel.accesses.iter().position(|access| access.strides.len() == 1).unwrap();
        let axis = AxisId::new(kernel.accesses[scales].strides[0].0.index());
        let index = ValueId::new(kernel.values.len());
        kernel.values.push(Value { dtype: DType::I64, def: Def::Index(axis), ..kernel.values[0].clone() });
        change(schedule, &mut |stmt| match stmt {
            Stmt::Contract(contract) if !contract.prologue.is_empty() => {
                contract.prologue.insert(0, Stmt::Let(index));
                contract.rows == axis
            }
            _ => false,
        });
    }),
    ("Short", "tile call", |schedule| {
        schedule.kernels[0].rows.iter_mut().for_each(|row| row.length = 4);
    }),
    ("Overwritten", "pairs of other kinds", |schedule| {
        // The kernels of pairs keep rows of the left side beside others.
        schedule.kernels.iter_mut().flat_map(|kernel| &mut kernel.rows).for_each(|row| row.offset = 0);
    }),
    ("Moved", "bias", |schedule| {
        let access = stored_access(schedule);
        let kernel = &mut schedule.kernels[0];
        let axis = AxisId::new(kernel.axes.len());
        kernel.axes.push(kernel.axes[0].clone());
        kernel.accesses[access.index()].strides.push((axis, Stride::Constant(1)));
    }),
    ("Buffer", "bias", |schedule| {
        let access = stored_access(schedule);
        schedule.kernels[0].accesses[access.index()].buffer = Some(BufferId::new(0));
    }),
    // A function that writes to what it reads.
    ("Buffer", "tile call", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Call { target, args, .. } => {
                *target = args[0];
                true
            }
            _ => false,
        });
    }),
    ("Dtype", "bias", |schedule| {
        let mut values = schedule.kernels[0].values.iter_mut();
        values.find(|value| matches!(value.def, Def::Op { .. })).unwrap().dtype = DType::F64;
    }),
    // A function of floats writes to where others are expected.
    ("Buffer", "tile call", |schedule| {
        let called = schedule.kernels[0].statements().find_map(|stmt| match stmt {
            Stmt::Call { target, .. } => target.row(),
            _ => None,
        });
        schedule.kernels[0].rows[called.unwrap().index()].dtype = DType::F64;
    }),
    // What is folded is not what a step leaves.
    ("Form", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, _| fold.folded[0].from = fold.folded[0].target);
    }),
    // There is nothing that leaves results.
    ("Form", "sums of sums over pairs", |schedule| folding(schedule, |fold, _| fold.body.clear())),
    // The steps of another strip are folded.
    ("Form", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, _| std::mem::swap(&mut fold.rows, &mut fold.strip));
    }),
    // More steps than may be added in index order.
    ("Order", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, axes| axes[fold.axis.index()].extent = Extent::Constant(65));
    }),
    // Sums of floats in any order.
    ("Order", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, _| fold.order = Order::Free);
    }),
    // The tree without rows for its lanes.
    ("Order", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, _| fold.order = Order::Tree);
    }),
    // The lanes of the tree in rows of the results.
    ("RowDtype", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, _| {
            fold.order = Order::Tree;
            fold.folded[0].lanes = Some(fold.folded[0].target);
        });
    }),
    // Several blocks of the tree.
    ("Form", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, axes| {
            fold.order = Order::Tree;
            axes[fold.axis.index()].extent = Extent::Constant(1025);
        });
    }),
    // Elements at positions are not compared.
    ("Combined", "positions", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Scatter { op, .. } => {
                *op = Some(Op::Less);
                true
            }
            _ => false,
        });
    }),
    // Indices are not combined so.
    ("Order", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, _| fold.folded[0].op = ReduceOp::ArgMax);
    }),
    // Another dtype than that of the rows.
    ("RowDtype", "sums of sums over pairs", |schedule| {
        folding(schedule, |fold, _| fold.folded[0].dtype = DType::F64);
    }),
    // Rows of results that are as long as others.
    ("RowDtype", "sums of sums over pairs", |schedule| {
        let mut from = None;
        folding(schedule, |fold, _| from = Some(fold.folded[0].from));
        schedule.kernels[0].rows[from.unwrap().index()].length += 16;
    }),
    // Fewer rows than tiles write.
    ("RowDtype", "sums of sums over pairs", |schedule| {
        let mut target = None;
        folding(schedule, |fold, _| target = Some(fold.folded[0].target));
        schedule.kernels[0].rows[target.unwrap().index()].count -= 1;
    }),
    // In a strip of its axis, each would begin anew.
    ("Form", "sums of sums over pairs", |schedule| {
        change(schedule, &mut |stmt| {
            let Stmt::FoldRows(fold) = stmt else { return false };
            let axis = fold.axis;
            let fold = std::mem::replace(stmt, Stmt::Strip { axis, length: 2, body: Vec::new() });
            let Stmt::Strip { body, .. } = stmt else { return false };
            body.push(fold);
            true
        });
    }),
    // Counts of 8 times 40 elements do not fit in bytes.
    ("Form", "sums of sums over pairs", |schedule| {
        contract(schedule, |contract, _| {
            let Accumulator { dtype, operand, .. } = &mut contract.accumulators[0].accumulator;
            *dtype = DType::U8;
            *operand = Contribution::Count(ValueId::new(0));
        });
        folding(schedule, |fold, axes| axes[fold.axis.index()].extent = Extent::Constant(8));
    }),
    // The row of an index.
    ("RowDtype", "nearest code", |schedule| {
        let indices = schedule.kernels[0].statements().find_map(|stmt| match stmt {
            Stmt::Stream(stream) => {
                let mut entries = stream.accumulators.iter();
                entries.find(|entry| entry.accumulator.op.is_arg()).map(|entry| entry.target)
            }
            _ => None,
        });
        schedule.kernels[0].rows[indices.unwrap().index()].dtype = DType::F32;
    }),
    ("NoTile", "tile call", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Call { op, .. } => {
                *op = Op::Abs;
                true
            }
            _ => false,
        });
    }),
    ("Form", "bias", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::For { lanes, .. } => {
                *lanes = 3;
                true
            }
            _ => false,
        });
    }),
    ("Form", "standardised columns", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Stream(stream) => {
                stream.order = Order::Counter;
                true
            }
            _ => false,
        });
    }),
    ("Row", "functions of what short rows gather", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Gather { steps, .. } => {
                *steps = Extent::Constant(0);
                true
            }
            _ => false,
        });
    }),
    // The elements of an array that a function reads lie apart.
    ("Moved", "tile call", |schedule| {
        let read = schedule.kernels[0].statements().find_map(|stmt| match stmt {
            Stmt::Call { args, axis, .. } => Some((args[0].array()?.0, *axis)),
            _ => None,
        });
        let (access, axis) = read.unwrap();
        let strides = &mut schedule.kernels[0].accesses[access.index()].strides;
        strides.iter_mut().find(|(of, _)| *of == axis).unwrap().1 = Stride::Constant(2);
    }),
    ("Form", "rows, columns, all", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Stream(stream) => {
                stream.dense = true;
                true
            }
            _ => false,
        });
    }),
    ("Order", "rows, columns, all", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Reduce(reduce) if reduce.order == Order::Tree => {
                reduce.order = Order::Free;
                true
            }
            _ => false,
        });
    }),
    // The rows of the tree are missing.
    ("Order", "standardised columns", |schedule| {
        change(schedule, &mut |stmt| match stmt {
            Stmt::Stream(stream) => stream.accumulators[0].tree.take().is_some(),
            _ => false,
        });
    }),
    // Every step of the loop that threads share writes the same elements.
    ("Shared", "bias", |schedule| {
        let access = stored_access(schedule);
        let kernel = &mut schedule.kernels[0];
        let parallel = kernel.parallel;
        kernel.accesses[access.index()].strides.retain(|(axis, _)| Some(*axis) != parallel);
    }),
    // The loop that threads share is not around the store.
    ("Shared", "bias", |schedule| {
        let kernel = &mut schedule.kernels[0];
        kernel.axes.push(kernel.axes[0].clone());
        kernel.parallel = Some(AxisId::new(kernel.axes.len() - 1));
    }),
    ("Count", "nearest code", |schedule| schedule.assumptions.clear()),
    ("Form", "nearest code, long", |schedule| stream(schedule, |stream| stream.dense = true)),
    // The contraction would be computed for each step.
    ("Form", "nearest code, long", |schedule| {
        stream(schedule, |stream| stream.per_step.append(&mut stream.ahead));
    }),
    // What the steps read is never computed.
    ("Row", "nearest code, long", |schedule| stream(schedule, |stream| stream.ahead.clear())),
    ("Form", PRODUCT, |schedule| contract(schedule, |contract, _| contract.order = Order::Counter)),
    ("Form", PRODUCT, |schedule| contract(schedule, |contract, _| contract.rows = contract.strip)),
    // The last vector would go on behind the end of the rows.
    ("Form", PRODUCT, |schedule| contract(schedule, |contract, _| contract.lanes = 24)),
    ("Form", PRODUCT, |schedule| contract(schedule, |contract, _| contract.lanes = 1)),
    ("Form", PRODUCT, |schedule| contract(schedule, |contract, _| contract.accumulators.clear())),
    ("Form", PRODUCT, |schedule| {
        // What is filled once would be filled for each step of the other axis.
        contract(schedule, |contract, _| {
            let rows = contract.rows;
            contract.prologue =
                vec![Stmt::For { axis: rows, lanes: 1, body: std::mem::take(&mut contract.prologue) }];
        });
    }),
    ("Overwritten", PRODUCT, |schedule| {
        contract(schedule, |contract, _| contract.prologue.extend(contract.prologue.clone()));
    }),
    ("Overwritten", PRODUCT, |schedule| {
        contract(schedule, |contract, _| contract.accumulators.push(contract.accumulators[0].clone()));
    }),
    ("Form", "contractions of other kinds", |schedule| {
        // What the strip moves is read behind its end.
        contract(schedule, |contract, accesses| {
            for access in accesses {
                access.strides.push((contract.strip, Stride::Constant(1)));
            }
        });
    }),
    ("Moved", PRODUCT, |schedule| {
        // What is packed for the whole strip moves with it.
        contract(schedule, |contract, accesses| {
            let strides = &mut accesses[0].strides;
            strides.push((contract.strip, Stride::Constant(1)));
        });
    }),
    ("Form", PRODUCT, |schedule| {
        // More steps than rows of results.
        change(schedule, &mut |stmt| {
            let is_stripped = stmt.stripped().is_some();
            let Stmt::Strip { length, .. } = stmt else { return false };
            *length += usize::from(is_stripped);
            is_stripped
        });
    }),
    ("Form", PRODUCT, |schedule| {
        // The strip is not cut for this contraction alone, so that code would not leave rows for the ranks.
        change(schedule, &mut |stmt| {
            let before =
                stmt.stripped().map(|found| Stmt::For { axis: found.strip, lanes: 1, body: Vec::new() });
            let (Some(before), Stmt::Strip { body, .. }) = (before, stmt) else { return false };
            body.insert(0, before);
            true
        });
    }),
    ("Order", PRODUCT, |schedule| {
        contract(schedule, |contract, _| contract.order = Order::Free);
        change(schedule, &mut |stmt| {
            let is_stripped = stmt.stripped().is_some();
            let Stmt::Strip { length, .. } = stmt else { return false };
            if is_stripped {
                *length = CONTRACTED_ROWS;
            }
            is_stripped
        });
    }),
    ("RowDtype", PRODUCT, |schedule| {
        // No rows for the ranks.
        let results = CONTRACTED_ROWS * (1 + CONTRACTED_RANKS);
        let row = schedule.kernels.last_mut().unwrap().rows.iter_mut().find(|row| row.count == results);
        row.unwrap().count -= 1;
    }),
    ("Form", PRODUCT, |schedule| contract(schedule, |contract, _| contract.prologue.clear())),
    ("Form", PRODUCT, |schedule| contract(schedule, |contract, _| contract.rows_prologue.clear())),
    ("Row", PRODUCT, |schedule| {
        // Fewer rows than steps of a part.
        part(schedule).count -= 1;
    }),
    ("Short", PRODUCT, |schedule| {
        // No room for the last step of the last lane.
        part(schedule).length = BLOCK - 1;
    }),
    ("Overwritten", PRODUCT, |schedule| {
        // What is filled once lies where results are left.
        let rows = &mut schedule.kernels.last_mut().unwrap().rows;
        rows[0].offset = rows[1].offset;
    }),
];

/// A product of matrices.
const PRODUCT: &str = "columns of functions, matrix product";

/// Changes the first stream.
fn stream(schedule: &mut Schedule, act: impl Fn(&mut Stream)) {
    change(schedule, &mut |stmt| match stmt {
        Stmt::Stream(stream) => {
            act(stream);
            true
        }
        _ => false,
    });
}

/// The rows over the block of the contraction of the last kernel, for the steps of a part.
fn part(schedule: &mut Schedule) -> &mut Row {
    let rows = &mut schedule.kernels.last_mut().unwrap().rows;
    rows.iter_mut().find(|row| matches!(row.span, Span::Part { .. })).unwrap()
}

/// Changes the contraction of the last kernel.
fn contract(schedule: &mut Schedule, act: impl Fn(&mut Contract, &mut [Access])) {
    let kernel = schedule.kernels.last_mut().unwrap();
    let Kernel { body, accesses, .. } = kernel;
    let found = first(body, &mut |body| {
        body.iter_mut().any(|stmt| match stmt {
            Stmt::Contract(contract) => {
                act(contract, accesses);
                true
            }
            _ => false,
        })
    });
    assert!(found, "{schedule}");
}

/// Changes the first fold of the results of contractions.
fn folding(schedule: &mut Schedule, mut act: impl FnMut(&mut FoldRows, &mut [Axis])) {
    let Kernel { body, axes, .. } = &mut schedule.kernels[0];
    let found = first(body, &mut |body| {
        body.iter_mut().any(|stmt| match stmt {
            Stmt::FoldRows(fold) => {
                act(fold, axes);
                true
            }
            _ => false,
        })
    });
    assert!(found, "{schedule}");
}

fn kind(fault: &Fault) -> &'static str {
    match fault {
        Fault::Missing(..) => "Missing",
        Fault::Undefined(_) => "Undefined",
        Fault::Twice(_) => "Twice",
        Fault::Nested(_) => "Nested",
        Fault::Row(_) => "Row",
        Fault::Short(_) => "Short",
        Fault::Overwritten(_) => "Overwritten",
        Fault::Moved(_) => "Moved",
        Fault::Buffer(_) => "Buffer",
        Fault::Dtype(_) => "Dtype",
        Fault::RowDtype(_) => "RowDtype",
        Fault::NoTile(..) => "NoTile",
        Fault::Form(_) => "Form",
        Fault::Order(_) => "Order",
        Fault::Combined(_) => "Combined",
        Fault::Shared(_) => "Shared",
        Fault::Count(_) => "Count",
        Fault::Empty(_) => "Empty",
        Fault::Coverage(_) => "Coverage",
        Fault::Index(_) => "Index",
        Fault::Streams(_) => "Streams",
        Fault::Start(_) => "Start",
        Fault::Together => "Together",
        Fault::Rows(_) => "Rows",
        Fault::Waits => "Waits",
    }
}

#[test]
fn every_broken_promise_is_found() {
    let others = [
        best::BEST,
        best::BEST_ROWS,
        order::ORDER,
        scans::SCANS,
        present::PRESENT,
        bands::BANDS,
        coverage::COVERAGE,
        stores::STORES,
        registers::REGISTERS,
    ];
    let cases = CASES.iter().chain(others.into_iter().flatten());
    let mut found = BTreeSet::new();
    for (expected, name, break_it) in cases {
        let mut broken = schedule(name);
        assert_eq!(verify(&broken), Ok(()), "{name}");
        break_it(&mut broken);
        let fault = verify(&broken).map_err(|broken| kind(&broken.fault));
        assert_eq!(fault, Err(*expected), "{name}\n{broken}");
        found.insert(*expected);
    }
    // One more kind, one more arm of `kind`.
    assert_eq!(found.len(), 25);
}

#[test]
fn a_broken_promise_is_a_bug_to_report() {
    let fault = Fault::NoTile(Op::Abs, DType::F32);
    let error = LowerError::from(Broken { kernel: KernelId::new(2), fault });
    assert_eq!(
        error.to_string(),
        "the loops of the expression are wrong; this is a bug in Broadloom, please report it with the program: kernel k2: abs has no tile function for f32"
    );
}
