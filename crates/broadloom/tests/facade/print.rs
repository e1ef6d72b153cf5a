//! Arrays as text: compared with the output of NumPy, print/numpy.txt, which print/generate.py writes. And conversion of results,
//! compared with Rust's `as`.

use broadloom::{AnyArray, Array, ArrayView, DType, IntoArrayView, Scalar, bf16, f16};
use broadloom_ir::dtype::Element;
use broadloom_ir::for_each_dtype;

/// The array of elements as bytes, little end first.
fn array_of(dtype: DType, shape: &[usize], bytes: &[u8]) -> AnyArray {
    fn of<T: Element>(shape: &[usize], bytes: &[u8]) -> AnyArray {
        let element = |bytes: &[u8]| {
            let bits = bytes.iter().rev().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
            Scalar::from_bits(T::DTYPE, bits).and_then(T::from_scalar).unwrap()
        };
        Array::new(bytes.chunks(T::DTYPE.size()).map(element).collect(), shape).unwrap().into()
    }
    macro_rules! typed {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match dtype { $(DType::$variant => of::<$rust>(shape, bytes),)* }
        };
    }
    for_each_dtype!(typed)
}

#[test]
fn arrays_look_as_numpy_prints_them() {
    let mut lines = include_str!("print/numpy.txt").lines().filter(|line| !line.starts_with('#'));
    let (mut cases, mut wrong) = (0, Vec::new());
    while let Some(head) = lines.next() {
        let (layout, data) = head.rsplit_once(' ').unwrap();
        let (name, sizes) = layout.split_once('[').unwrap();
        let dtype = DType::ALL.iter().copied().find(|dtype| dtype.name() == name).unwrap();
        let sizes = sizes.trim_end_matches(']').split(", ").filter(|size| !size.is_empty());
        let shape: Vec<usize> = sizes.map(|size| size.parse().unwrap()).collect();
        let bytes: Vec<u8> = (0..data.len() / 2)
            .map(|at| u8::from_str_radix(&data[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let expected: Vec<&str> = lines.by_ref().take_while(|line| *line != "==").collect();
        let (expected, printed) = (expected.join("\n"), array_of(dtype, &shape, &bytes).to_string());
        cases += 1;
        if printed != expected {
            wrong.push(format!("{layout}\nNumPy:\n{expected}\nhere:\n{printed}\n"));
        }
    }
    assert!(cases > 190, "{cases}");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What `numpy.array2string` prints with `threshold=sys.maxsize`, and for views that are not dense.
#[test]
fn all_elements_and_views() {
    let many = AnyArray::from(Array::new((0..1001).collect::<Vec<i16>>(), &[1001]).unwrap());
    assert_eq!(many.to_string(), "[   0    1    2 ...  998  999 1000]");
    let all = format!("{many:#}");
    assert!(all.starts_with("[   0    1    2    3"), "{all:.40}");
    assert_eq!(
        all.split_whitespace().filter(|word| word.trim_matches(['[', ']']).parse::<i16>().is_ok()).count(),
        1001
    );
    assert_eq!(all.lines().count(), 72);
    let data = [1.5, 2.0, f64::INFINITY, f64::NAN];
    let transposed = ArrayView::strided(&data, 0, &[2, 2], &[1, 2]).unwrap();
    assert_eq!(transposed.to_string(), "[[1.5 inf]\n [2.  nan]]");
    let backwards = ArrayView::strided(&data, 1, &[2], &[-1]).unwrap();
    assert_eq!(backwards.to_string(), "[2.  1.5]");
    let repeated = ArrayView::strided(&data, 0, &[1 << 40], &[0]).unwrap();
    assert_eq!(repeated.to_string(), "[1.5 1.5 1.5 ... 1.5 1.5 1.5]");
    assert_eq!(ArrayView::scalar(bf16::from_f32(0.1)).to_string(), "0.1");
    assert_eq!(ArrayView::new(&[0u8; 0], &[3, 0]).unwrap().to_string(), "[]");
}

#[test]
fn results_convert_as_rust_converts() {
    fn check<S: Element, T: Element>(from: &[S], to: &[T]) {
        let array = AnyArray::from(Array::new(from.to_vec(), &[from.len(), 1]).unwrap());
        let cast = array.cast::<T>().unwrap();
        assert_eq!((cast.as_slice(), cast.shape()), (to, &[from.len(), 1][..]));
        let any = array.cast_to(T::DTYPE).unwrap();
        assert_eq!((any.as_slice::<T>(), any.shape()), (Some(to), &[from.len(), 1][..]));
    }
    let floats = [0.5f64, -1.9, 300.0, f64::NAN, f64::INFINITY, -1e300, 1e10];
    check(&floats, &floats.map(|x| x as i32));
    check(&floats, &floats.map(|x| x as u8));
    check(&floats, &floats.map(|x| x != 0.0));
    check(&floats[..3], &[0.5f32, -1.9, 300.0]);
    let integers = [0i64, -1, 300, i64::MAX, i64::MIN];
    check(&integers, &integers.map(|x| x as u8));
    check(&integers, &integers.map(|x| x as f32));
    check(&integers, &integers.map(|x| f16::from_f64(x as f64)));
    check(&integers, &integers.map(|x| x != 0));
    check(&[true, false], &[1u64, 0]);
    check::<f32, i8>(&[], &[]);
    let none = AnyArray::from(Array::new(Vec::<f32>::new(), &[0, 4]).unwrap());
    assert_eq!(none.cast::<u8>().unwrap().shape(), [0, 4]);
    assert_eq!(none.into_array_view().to_string(), "[]");
}
