//! Arrays between inaccessible pages: code that reads or writes outside the array ends the process.
#![allow(unsafe_code, reason = "pages are protected, and arrays on them made by hand")]

use super::super::{LaneStride, Val};
use super::harness::{Code, Params, Target};
use super::lanes;
use super::memory::STRIDES;
use crate::emit::Emitter;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;

/// A page of zeros between two others.
struct Guarded {
    pages: region::Allocation,
}

impl Guarded {
    fn new() -> Guarded {
        let page = region::page::size();
        let pages = region::alloc(3 * page, region::Protection::READ_WRITE).expect("pages");
        for index in [0, 2] {
            // SAFETY: the pages are this one's own, and nothing is on them.
            unsafe {
                let guard = pages.as_ptr::<u8>().add(index * page);
                region::protect(guard, page, region::Protection::NONE).expect("protection");
            }
        }
        Guarded { pages }
    }

    /// The bytes that begin or end where the page does.
    fn bytes(&mut self, count: usize, at_end: bool) -> &mut [u8] {
        let page = region::page::size();
        assert!(count <= page);
        let start = page + if at_end { page - count } else { 0 };
        // SAFETY: the bytes are on the page between the guards, which is readable and writable and holds zeros.
        unsafe { std::slice::from_raw_parts_mut(self.pages.as_mut_ptr::<u8>().add(start), count) }
    }
}

/// A function, and the numbers of bytes that it reads and writes.
struct Case {
    name: String,
    function: usize,
    read: usize,
    written: usize,
    /// The stride in bytes, for functions that take one as an argument.
    number: i64,
}

struct Cases {
    code: Code<'static>,
    all: Vec<Case>,
}

impl Cases {
    fn add(
        &mut self,
        name: String,
        [read, written]: [usize; 2],
        number: i64,
        emit: impl FnOnce(&mut Emitter<'_, '_>, Params),
    ) {
        let function = self.code.add(&name, emit);
        self.all.push(Case { name, function, read, written, number });
    }

    /// Operands one after the other, and one value of them.
    fn value(
        &mut self,
        name: String,
        operands: &[DType],
        lanes: usize,
        to: DType,
        emit: impl FnOnce(&mut Emitter<'_, '_>, &[Val]) -> Val,
    ) {
        let read: usize = operands.iter().map(|dtype| dtype.size() * lanes).sum();
        self.add(name, [read, to.size() * lanes], 0, |emitter, params| {
            let mut offset = 0;
            let mut values = Vec::new();
            for dtype in operands {
                values.push(emitter.load(params.source, offset, *dtype, lanes, LaneStride::Unit));
                offset += (dtype.size() * lanes) as i32;
            }
            let result = emit(emitter, &values);
            emitter.store(params.target, 0, &result, LaneStride::Unit);
        });
    }

    /// Strided lanes on one side, and neighbours on the other.
    fn strided(&mut self, dtype: DType, lanes: usize, stride: i64, is_known: bool, scatters: bool) {
        let size = dtype.size();
        let bytes = stride * size as i64;
        let near = size * lanes;
        let far = size * (stride.unsigned_abs() as usize * (lanes - 1) + 1);
        // Lanes in falling order begin at the last one.
        let first = if stride < 0 { (far - size) as i32 } else { 0 };
        let sizes = if scatters { [near, far] } else { [far, near] };
        let name = format!("{lanes} lanes of {dtype} at {stride}, known: {is_known}, stored: {scatters}");
        self.add(name, sizes, bytes, |emitter, params| {
            let distance =
                if is_known { LaneStride::Bytes(bytes) } else { LaneStride::Dynamic(params.number) };
            let [source, target] = match scatters {
                true => [(0, LaneStride::Unit), (first, distance)],
                false => [(first, distance), (0, LaneStride::Unit)],
            };
            let value = emitter.load(params.source, source.0, dtype, lanes, source.1);
            emitter.store(params.target, target.0, &value, target.1);
        });
    }

    fn run(mut self) {
        self.code.finish();
        let [mut source, mut target] = [(); 2].map(|()| Guarded::new());
        for Case { name, function, read, written, number } in &self.all {
            for at_end in [false, true] {
                let source = source.bytes(*read, at_end);
                let target = target.bytes(*written, at_end);
                self.code.call(*function, source, target, *number, |_| ());
                assert!(source.iter().all(|byte| *byte == 0), "{name}: its operands are overwritten");
                target.fill(0);
            }
        }
    }
}

#[test]
fn nothing_beyond_an_array_is_touched() {
    for target in Target::wide() {
        check(target);
    }
}

fn check(target: Target) {
    let mut cases = Cases { code: Code::new(target), all: Vec::new() };
    let of_dtype = |dtype: DType| lanes(&[dtype]).iter().map(move |lanes| (dtype, *lanes));
    for (dtype, lanes) in DType::ALL.iter().copied().flat_map(of_dtype) {
        for to in DType::ALL.iter().copied() {
            let name = format!("{lanes} lanes of {dtype} as {to}");
            cases.value(name, &[dtype], lanes, to, |emitter, args| emitter.cast(&args[0], to));
        }
        for op in [Op::Add, Op::Maximum, Op::Equal] {
            if op.operand_dtype(&[dtype; 2]) != Some(dtype) {
                continue;
            }
            let to = op.result_dtype(dtype);
            let name = format!("{op} of {lanes} lanes of {dtype}");
            cases.value(name, &[dtype; 2], lanes, to, |emitter, args| emitter.op(op, args));
        }
        for (stride, is_known, scatters) in STRIDES
            .into_iter()
            .flat_map(|stride| [(stride, true), (stride, false)])
            .flat_map(|(stride, is_known)| [(stride, is_known, false), (stride, is_known, true)])
        {
            cases.strided(dtype, lanes, stride, is_known, scatters);
        }
    }
    cases.run();
}
