//! An example for the documentation of each method that comes from a table: inputs and the result. Each runs as a
//! documentation test; a row of the op table without an example does not compile.

/// Returns the text of an example. Inexact numbers are compared to four decimals.
macro_rules! example_text {
    ($name:ident($($args:literal)?) [$x:literal] $how:ident $t:ident $y:literal) => {
        example_text!(@ concat!("&", $x), "x", concat!($($args)?), $name $how $t $y)
    };
    ($name:ident() [$x:literal, $y:literal] $how:ident $t:ident $result:literal) => {
        example_text!(@ concat!("(&", $x, ", &", $y, ")"), "(x, y)", "y", $name $how $t $result)
    };
    ($name:ident() [$x:literal, $y:literal, $z:literal] $how:ident $t:ident $result:literal) => {
        example_text!(@ concat!("(&", $x, ", &", $y, ", &", $z, ")"), "(x, y, z)", "y, z", $name $how $t $result)
    };
    (@ $arrays:expr, $tensors:literal, $args:expr, $name:ident $how:ident $t:ident $y:literal) => {
        concat!(
            "\n```\n# use broadloom::prelude::*;\n",
            "let result: Vec<", stringify!($t), "> = eval(", $arrays, ", |", $tensors, "| x.",
            stringify!($name), "(", $args, "))?;\n",
            example_text!(@check $how $y),
            "# Ok::<(), broadloom::EvalError>(())\n```"
        )
    };
    (@check exact $y:literal) => { concat!("assert_eq!(result, ", $y, ");\n") };
    (@check near $y:literal) => { concat!("assert_eq!(format!(\"{result:.4?}\"), \"", $y, "\");\n") };
}

/// Defines `example!(name)`, which returns the text for the method of that name.
macro_rules! examples {
    ($($name:ident $(($args:literal))?: $($x:literal),+ => $how:ident $t:ident $y:literal;)*) => {
        macro_rules! example {
            $(($name) => { example_text!($name($($args)?) [$($x),+] $how $t $y) };)*
        }
    };
}

examples! {
    add: "[1, 2]", "[10, 20]" => exact i32 "[11, 22]";
    subtract: "[10, 20]", "[1, 2]" => exact i32 "[9, 18]";
    multiply: "[2, 3]", "[10, 20]" => exact i32 "[20, 60]";
    divide: "[1, 3]", "[2, 2]" => exact f64 "[0.5, 1.5]";
    floor_divide: "[7, -7, 7]", "[2, 2, 0]" => exact i32 "[3, -4, 0]";
    remainder: "[7, -7, 7]", "[3, 3, -3]" => exact i32 "[1, 2, -2]";
    fmod: "[7, -7, 7]", "[3, 3, -3]" => exact i32 "[1, -1, 1]";
    negative: "[1, -2]" => exact i32 "[-1, 2]";
    stop_gradient: "[1, -2]" => exact i32 "[1, -2]";
    with_gradient: "[1.5f64, -2.5]", "[0.0f64, 0.0]" => exact f64 "[1.5, -2.5]";
    positive: "[1, -2]" => exact i32 "[1, -2]";
    abs: "[1, -2]" => exact i32 "[1, 2]";
    sign: "[-3, 0, 5]" => exact i32 "[-1, 0, 1]";
    square: "[3, -4]" => exact i32 "[9, 16]";
    sqrt: "[4.0f64, 9.0]" => exact f64 "[2.0, 3.0]";
    rsqrt: "[4.0f64, 0.25]" => exact f64 "[0.5, 2.0]";
    cbrt: "[27.0f64, 2.0]" => near f64 "[3.0000, 1.2599]";
    reciprocal: "[2.0f64, 4.0]" => exact f64 "[0.5, 0.25]";
    exp: "[0.0f64, 1.0]" => near f64 "[1.0000, 2.7183]";
    exp2: "[3.0f64, 0.5]" => near f64 "[8.0000, 1.4142]";
    expm1: "[0.0f64, 1.0]" => near f64 "[0.0000, 1.7183]";
    log: "[1.0f64, 10.0]" => near f64 "[0.0000, 2.3026]";
    log2: "[8.0f64, 10.0]" => near f64 "[3.0000, 3.3219]";
    log10: "[1000.0f64, 2.0]" => near f64 "[3.0000, 0.3010]";
    log1p: "[0.0f64, 1.0]" => near f64 "[0.0000, 0.6931]";
    logaddexp: "[0.0f64, 1000.0]", "[0.0f64, 1000.0]" => near f64 "[0.6931, 1000.6931]";
    sin: "[0.0f64, 1.0]" => near f64 "[0.0000, 0.8415]";
    cos: "[0.0f64, 1.0]" => near f64 "[1.0000, 0.5403]";
    tan: "[0.0f64, 1.0]" => near f64 "[0.0000, 1.5574]";
    asin: "[0.0f64, 1.0]" => near f64 "[0.0000, 1.5708]";
    acos: "[1.0f64, 0.0]" => near f64 "[0.0000, 1.5708]";
    atan: "[0.0f64, 1.0]" => near f64 "[0.0000, 0.7854]";
    atan2: "[1.0f64, -1.0]", "[1.0f64, 1.0]" => near f64 "[0.7854, -0.7854]";
    sinh: "[0.0f64, 1.0]" => near f64 "[0.0000, 1.1752]";
    cosh: "[0.0f64, 1.0]" => near f64 "[1.0000, 1.5431]";
    tanh: "[0.0f64, 1.0]" => near f64 "[0.0000, 0.7616]";
    asinh: "[0.0f64, 1.0]" => near f64 "[0.0000, 0.8814]";
    acosh: "[1.0f64, 2.0]" => near f64 "[0.0000, 1.3170]";
    atanh: "[0.0f64, 0.5]" => near f64 "[0.0000, 0.5493]";
    hypot: "[3.0f64, 1.0]", "[4.0f64, 1.0]" => near f64 "[5.0000, 1.4142]";
    erf: "[0.0f64, 1.0]" => near f64 "[0.0000, 0.8427]";
    erfc: "[0.0f64, 1.0]" => near f64 "[1.0000, 0.1573]";
    sigmoid: "[0.0f64, 2.0]" => near f64 "[0.5000, 0.8808]";
    softplus: "[0.0f64, 2.0]" => near f64 "[0.6931, 2.1269]";
    relu: "[-1.5f64, 2.5]" => exact f64 "[0.0, 2.5]";
    gelu: "[1.0f64, -1.0]" => near f64 "[0.8413, -0.1587]";
    gelu_tanh: "[1.0f64, -1.0]" => near f64 "[0.8412, -0.1588]";
    silu: "[1.0f64, -1.0]" => near f64 "[0.7311, -0.2689]";
    maximum: "[1.0f64, f64::NAN]", "[2.0f64, 2.0]" => near f64 "[2.0000, NaN]";
    minimum: "[1.0f64, f64::NAN]", "[2.0f64, 2.0]" => near f64 "[1.0000, NaN]";
    fmax: "[1.0f64, f64::NAN]", "[2.0f64, 2.0]" => near f64 "[2.0000, 2.0000]";
    fmin: "[1.0f64, f64::NAN]", "[2.0f64, 2.0]" => near f64 "[1.0000, 2.0000]";
    clip("0, 5"): "[-5, 3, 9]" => exact i32 "[0, 3, 5]";
    pow: "[2.0f64, 9.0]", "[3.0f64, 0.5]" => near f64 "[8.0000, 3.0000]";
    floor: "[-1.5f64, 2.5]" => exact f64 "[-2.0, 2.0]";
    ceil: "[-1.5f64, 2.5]" => exact f64 "[-1.0, 3.0]";
    trunc: "[-1.5f64, 2.5]" => exact f64 "[-1.0, 2.0]";
    round: "[0.5f64, 1.5, 2.6]" => exact f64 "[0.0, 2.0, 3.0]";
    fma: "[2.0f64, 3.0]", "[10.0f64, 10.0]", "[1.0f64, 2.0]" => exact f64 "[21.0, 32.0]";
    copysign: "[1.0f64, 2.0]", "[-5.0f64, 5.0]" => exact f64 "[-1.0, 2.0]";
    nextafter: "[1.0f64]", "[2.0f64]" => exact f64 "[1.0000000000000002]";
    deg2rad: "[180.0f64, 90.0]" => near f64 "[3.1416, 1.5708]";
    rad2deg: "[1.0f64, 0.0]" => near f64 "[57.2958, 0.0000]";
    bitwise_and: "[0b1100, 0b1010]", "[0b1010, 0b0011]" => exact i32 "[0b1000, 0b0010]";
    bitwise_or: "[0b1100, 0b1010]", "[0b1010, 0b0011]" => exact i32 "[0b1110, 0b1011]";
    bitwise_xor: "[0b1100, 0b1010]", "[0b1010, 0b0011]" => exact i32 "[0b0110, 0b1001]";
    bitwise_invert: "[0, 5]" => exact i32 "[-1, -6]";
    bitwise_left_shift: "[1, 3, 3]", "[4, 1, 32]" => exact i32 "[16, 6, 0]";
    bitwise_right_shift: "[16, -16, -16]", "[2, 2, 32]" => exact i32 "[4, -4, -1]";
    count_ones: "[7, 8]" => exact u8 "[3, 1]";
    leading_zeros: "[1, 256]" => exact u8 "[31, 23]";
    isnan: "[1.0f64, f64::NAN]" => exact bool "[false, true]";
    isinf: "[1.0f64, f64::INFINITY]" => exact bool "[false, true]";
    isfinite: "[1.0f64, f64::INFINITY]" => exact bool "[true, false]";
    signbit: "[1.0f64, -0.0]" => exact bool "[false, true]";
    equal: "[1, 2, 3]", "[2, 2, 2]" => exact bool "[false, true, false]";
    not_equal: "[1, 2, 3]", "[2, 2, 2]" => exact bool "[true, false, true]";
    less: "[1, 2, 3]", "[2, 2, 2]" => exact bool "[true, false, false]";
    less_equal: "[1, 2, 3]", "[2, 2, 2]" => exact bool "[true, true, false]";
    greater: "[1, 2, 3]", "[2, 2, 2]" => exact bool "[false, false, true]";
    greater_equal: "[1, 2, 3]", "[2, 2, 2]" => exact bool "[false, true, true]";
    eq("2"): "[1, 2, 3]" => exact bool "[false, true, false]";
    ne("2"): "[1, 2, 3]" => exact bool "[true, false, true]";
    lt("2"): "[1, 2, 3]" => exact bool "[true, false, false]";
    le("2"): "[1, 2, 3]" => exact bool "[true, true, false]";
    gt("2"): "[1, 2, 3]" => exact bool "[false, false, true]";
    ge("2"): "[1, 2, 3]" => exact bool "[false, true, true]";
    logical_and: "[true, true]", "[true, false]" => exact bool "[true, false]";
    logical_or: "[true, false]", "[false, false]" => exact bool "[true, false]";
    logical_xor: "[true, true]", "[true, false]" => exact bool "[false, true]";
    logical_not: "[true, false]" => exact bool "[false, true]";
    gcd: "[12, -8, 0]", "[18, 12, 5]" => exact i32 "[6, 4, 5]";
    lcm: "[4, -3, 0]", "[6, 5, 5]" => exact i32 "[12, 15, 0]";
    isposinf: "[f64::INFINITY, 1.0]" => exact bool "[true, false]";
    isneginf: "[-f64::INFINITY, -1.0]" => exact bool "[true, false]";
    sinc: "[0.0, 0.5]" => near f64 "[1.0000, 0.6366]";
    ndtr: "[0.0, 1.0]" => near f64 "[0.5000, 0.8413]";
    fabs: "[-2, 3]" => exact f64 "[2.0, 3.0]";
    rint: "[-2, 3]" => exact f64 "[-2.0, 3.0]";
    logaddexp2: "[0.0, 1000.0]", "[0.0, 1000.0]" => exact f64 "[1.0, 1001.0]";
    float_power: "[2, 4]", "[-1, 2]" => exact f64 "[0.5, 16.0]";
    heaviside: "[-2.0, 0.0, 3.0]", "[0.5, 0.5, 0.5]" => exact f64 "[0.0, 0.5, 1.0]";
    spacing: "[1.0, -4.0]" => exact f64 "[2.220446049250313e-16, -8.881784197001252e-16]";
    ldexp: "[1.5, 3.0]", "[4, -1]" => exact f64 "[24.0, 1.5]";
    saturating_add: "[100i8, -100]", "[100i8, -100]" => exact i8 "[127, -128]";
    saturating_subtract: "[1u8, 200]", "[2u8, 100]" => exact u8 "[0, 100]";
}
