//! Compares with the output of NumPy, numpy.txt, which generate.py writes.

use crate::io::argument::raw_layout;
use crate::io::memory::{Array, Memory, Owned};

#[test]
fn arrays_look_as_numpy_prints_them() {
    let mut lines = include_str!("numpy.txt").lines().filter(|line| !line.starts_with('#'));
    let (mut cases, mut wrong) = (0, Vec::new());
    while let Some(head) = lines.next() {
        let (layout, data) = head.rsplit_once(' ').unwrap();
        let (dtype, shape) = raw_layout(layout).unwrap();
        let shape: Vec<usize> = shape.into_iter().map(Option::unwrap).collect();
        let bytes: Vec<u8> = (0..data.len() / 2)
            .map(|at| u8::from_str_radix(&data[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let owned = Owned::read(bytes.as_slice(), bytes.len()).unwrap();
        let array = Array::new(dtype, shape, false, Memory::owned(owned), 0).unwrap();
        let expected: Vec<&str> = lines.by_ref().take_while(|line| *line != "==").collect();
        let (expected, mut printed) = (expected.join("\n"), Vec::new());
        super::array(&mut printed, &array.view().unwrap(), false, None).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        cases += 1;
        if printed != expected {
            wrong.push(format!("{layout}\nNumPy:\n{expected}\nhere:\n{printed}\n"));
        }
    }
    assert!(cases > 190, "{cases}");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}
