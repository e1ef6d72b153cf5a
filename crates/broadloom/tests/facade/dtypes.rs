//! Every dtype goes in and comes out: as arrays, views, numbers and literals.

use broadloom::prelude::*;
use broadloom::{AnyArray, Array, Operand, Scalar};
use broadloom_ir::for_each_dtype;

/// Values of a type, of which 0 and 1 are in every dtype.
fn values<T: Element>() -> Vec<T> {
    let number = |value: i64| T::from_scalar(Scalar::I64(value).cast(T::DTYPE)).unwrap();
    [0, 1, 2, 5, 100, -1].map(number).to_vec()
}

fn comes_back<T>() -> Result<(), Box<dyn std::error::Error>>
where
    T: Element + Into<Operand> + for<'a> broadloom::IntoArrayView<'a>,
    Vec<T>: TryFrom<broadloom::Outputs, Error = broadloom::OutputError>,
    for<'a> &'a mut T: broadloom::IntoInput<'a>,
{
    let data = values::<T>();
    let backwards: Vec<T> = data.iter().rev().copied().collect();
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, s) = (g.input::<T>("x", shape![n]), g.input::<T>("s", shape![]));
    assert_eq!(x.dtype(), Some(T::DTYPE));
    let both = select(g.iota(n).lt(3), x, s);
    let kernel = g.compile([("flipped", x.flip(0)), ("both", both), ("cast", x.cast::<T>())])?;
    let mut outputs = kernel.run(inputs! { "x" => &data, "s" => data[1] })?;
    assert_eq!(outputs.get("flipped").map(AnyArray::dtype), Some(T::DTYPE));
    assert_eq!(outputs.take::<Vec<T>>("flipped")?, backwards);
    let both: Array<T> = outputs.take("both")?;
    assert_eq!(both.as_slice()[..3], data[..3]);
    assert_eq!(both.as_slice()[3..], [data[1]; 3]);
    assert!(outputs.take::<Vec<T>>("cast")? == data);

    // Strided views, outputs of the caller, and updates in place.
    let spread: Vec<T> = data.iter().flat_map(|value| [*value, data[0]]).collect();
    let mut result = vec![data[0]; data.len()];
    let flip = x.flip(0).compile()?;
    flip.run_into(ArrayView::strided(&spread, 0, &[data.len()], &[2])?, &mut result)?;
    assert!(result == backwards);
    x.assign(x.flip(0));
    s.assign(x.index(0, -1));
    let mut last = data[0];
    g.compile([])?.run((&mut result, &mut last))?;
    assert!(result == data && last == data[0]);

    // A literal of the type is weak: beside its own dtype it is of that.
    assert_eq!(x.equal(data[1]).dtype(), Some(DType::Bool));
    assert_eq!(select(x.equal(x), x, data[1]).dtype(), Some(T::DTYPE));
    let ones: Vec<bool> = eval(&data, |x| x.equal(Into::<Operand>::into(values::<T>()[1])))?;
    assert_eq!(
        ones.iter().filter(|one| **one).count(),
        data.iter().filter(|value| **value == data[1]).count()
    );

    let error = kernel.run(inputs! { "x" => &[0i64; 0][..], "s" => data[1] });
    match T::DTYPE {
        DType::I64 => assert!(error.is_ok()),
        dtype => {
            let text = format!("input \"x\" has dtype i64, but should have {dtype}");
            assert_eq!(error.unwrap_err().to_string(), text);
        }
    }
    Ok(())
}

macro_rules! every_dtype {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        #[test]
        fn every_dtype_comes_back() -> Result<(), Box<dyn std::error::Error>> {
            $(comes_back::<$rust>().map_err(|error| format!("{}: {error}", $name))?;)*
            Ok(())
        }
    };
}
for_each_dtype!(every_dtype);

#[cfg(feature = "ndarray")]
#[test]
fn ndarrays_of_small_floats() -> Result<(), Box<dyn std::error::Error>> {
    let x = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]];
    let halves = x.mapv(f16::from_f32);
    let doubled: ndarray::Array2<f16> = eval(halves.t(), |x| x * 2)?;
    assert_eq!(doubled.mapv(f32::from), ndarray::array![[2.0, 6.0], [4.0, 8.0]]);
    let mut brains = x.mapv(bf16::from_f32);
    let g = Graph::new();
    g.input::<bf16>("x", shape![2, 2]).add_(1);
    let kernel = g.compile([])?;
    kernel.run(&mut brains)?;
    kernel.run(brains.view_mut().reversed_axes())?;
    assert_eq!(brains.mapv(f32::from), ndarray::array![[3.0, 4.0], [5.0, 6.0]]);
    Ok(())
}
