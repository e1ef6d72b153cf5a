//! Compiled lanes against `Op::evaluate` and `Scalar::cast`, bit for bit.
