//! Functions as bytes: they come back, and no bytes of other processes cause a panic.

mod common;

use broadloom::Array;
use broadloom_datafusion::{Argument, Broadloom, TensorAggregate, TensorFunction, wire};
use broadloom_text::Program;
use common::session;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::{AggregateUDF, ReturnFieldArgs, ScalarUDF};
use datafusion::prelude::*;
use std::sync::Arc;

fn nearest() -> TensorFunction {
    let program = "input v: f32[n, 3]; input codes: f32[k, 3]
        argmin(sum((v[:, None] - codes) ** 2, axis=-1), axis=1)";
    let program = Program::parse("nearest", program).unwrap().resolve().unwrap();
    let codes = Array::new(vec![0.0f32, 1.0, -2.0, 900.0, 1.0, -2.0], &[2, 3]).unwrap();
    TensorFunction::new("nearest", &program).unwrap().with_constant("codes", codes).unwrap()
}

fn scalars() -> Vec<ScalarUDF> {
    let argument = |name: &str, row: &[usize]| Argument { name: name.to_owned(), row: row.to_vec() };
    vec![
        nearest().into(),
        Broadloom::default().into(),
        Broadloom::with_arguments(vec![argument("x", &[]), argument("é", &[1, 1])]).into(),
        Broadloom::with_arguments(Vec::new()).into(),
    ]
}

fn aggregates() -> Vec<AggregateUDF> {
    let program = Program::parse("spread", "input x: f64[n]; input w: f64[]; (max(x) - min(x)) * w");
    let spread = TensorAggregate::new("spread", &program.unwrap().resolve().unwrap()).unwrap();
    let spread = spread.with_constant("w", Array::new(vec![2.0f64], &[]).unwrap()).unwrap();
    vec![spread.into(), TensorAggregate::expression("mean(x) / std(x)").into()]
}

fn scalar_bytes(function: &ScalarUDF) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::write_scalar(function, &mut bytes);
    bytes
}

fn aggregate_bytes(aggregate: &AggregateUDF) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::write_aggregate(aggregate, &mut bytes);
    bytes
}

#[test]
fn functions_come_back_as_they_were() -> Result<()> {
    for function in scalars() {
        assert_eq!(wire::read_scalar(function.name(), &scalar_bytes(&function))?, function);
    }
    for aggregate in aggregates() {
        assert_eq!(wire::read_aggregate(aggregate.name(), &aggregate_bytes(&aggregate))?, aggregate);
    }
    // Functions of others have no bytes, so that a registry finds them by name.
    assert!(scalar_bytes(&datafusion::functions::core::coalesce()).is_empty());
    assert!(aggregate_bytes(&datafusion::functions_aggregate::sum::sum_udaf()).is_empty());
    assert!(wire::read_scalar("sqrt", &[]).is_err());
    // What has only names is not an aggregate.
    assert!(wire::read_aggregate("broadloom", &scalar_bytes(&Broadloom::default().into())).is_err());
    Ok(())
}

#[tokio::test]
async fn functions_that_came_back_compute_the_same() -> Result<()> {
    let context = session()?;
    let again = wire::read_scalar("nearest", &scalar_bytes(&nearest().into()))?;
    let both = vec![nearest().call(vec![col("v")]).alias("a"), again.call(vec![col("v")]).alias("b")];
    let differing = context.table("t").await?.select(both)?.filter(col("a").not_eq(col("b")))?;
    assert_eq!(differing.count().await?, 0);
    Ok(())
}

/// Plans a function for columns of every shape that the valid ones take. The result does not matter: it must return.
fn plan(function: &ScalarUDF) {
    let x: FieldRef = Arc::new(Field::new("x", DataType::Float64, true));
    let v = DataType::new_fixed_size_list(DataType::Float32, 3, true);
    let v: FieldRef = Arc::new(Field::new("v", v, true));
    let text: FieldRef = Arc::new(Field::new("text", DataType::Utf8, false));
    let expression = "x - é".into();
    for (fields, scalars) in
        [(vec![v], vec![None]), (vec![text, x.clone(), x], vec![Some(&expression), None, None])]
    {
        let args = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &scalars };
        let _ = function.return_field_from_args(args);
    }
}

/// A small generator (xorshift), so that a failure comes back.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Bytes that differ from valid ones in a few places, or in their length.
fn mutated(good: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..1 + random.below(4) {
        // The version stays, so that readers go on; that it is checked is another test.
        let position = 8 + random.below(bytes.len() - 8);
        match random.below(5) {
            0 => bytes[position] ^= 1 << random.below(8),
            1 => bytes[position] = [0, 1, 0x7f, 0x80, 0xff, b'(', b'n', b'\n'][random.below(8)],
            2 => bytes.truncate(position.max(9)),
            3 => bytes.insert(position, random.below(256) as u8),
            _ => {
                let from = 8 + random.below(bytes.len() - 8);
                let length = random.below(bytes.len() - from.max(position)).min(16);
                bytes.copy_within(from..from + length, position);
            }
        }
    }
    bytes
}

#[test]
fn no_bytes_cause_a_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    let scalars = scalars().into_iter().map(|function| scalar_bytes(&function));
    let aggregates = aggregates().into_iter().map(|aggregate| aggregate_bytes(&aggregate));
    for good in scalars.chain(aggregates) {
        for end in 0..good.len() {
            assert!(wire::read_scalar("f", &good[..end]).is_err(), "{end} bytes");
            assert!(wire::read_aggregate("f", &good[..end]).is_err(), "{end} bytes");
        }
        for _ in 0..2000 {
            let bytes = mutated(&good, &mut random);
            if let Ok(function) = wire::read_scalar("f", &bytes) {
                accepted += 1;
                plan(&function);
            }
            let _ = wire::read_aggregate("f", &bytes);
        }
    }
    // Changes of text and elements give other valid functions, which were planned too.
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn another_version_is_named() {
    let mut bytes = scalar_bytes(&nearest().into());
    bytes[7] += 1;
    for error in [wire::read_scalar("f", &bytes).unwrap_err(), wire::read_aggregate("f", &bytes).unwrap_err()]
    {
        assert!(error.to_string().contains("another version of Broadloom"), "{error}");
    }
}
