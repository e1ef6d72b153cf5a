//! Operators, precedence and associativity against Python: the values were computed by it.

use crate::support::run;
use broadloom_ir::interp::Array;

/// With a = 7, b = 3, c = 2, d = 5.
#[rustfmt::skip]
const VALUES: &[(&str, f64)] = &[
    ("-a ** c", -49.0),
    ("c ** -b", 0.125),
    ("c ** b ** c", 512.0),
    ("-c ** -c", -0.25),
    ("a - b - c", 2.0),
    ("a / b / c", 1.1666666666666667),
    ("a // b * c", 4.0),
    ("a * b // c", 10.0),
    ("a % b * c", 2.0),
    ("-a // b", -3.0),
    ("-a % b", 2.0),
    ("a // -b", -3.0),
    ("a % -b", -2.0),
    ("a & b == c", 0.0),
    ("a | b & c ^ d", 7.0),
    ("a ^ b | c", 6.0),
    ("a + b << c", 40.0),
    ("a << b + c", 224.0),
    ("a >> c & d", 1.0),
    ("~a + b", -5.0),
    ("-~a", 8.0),
    ("~-a", 6.0),
    ("a < b | c", 0.0),
    ("a & b < c", 0.0),
    ("a - -b", 10.0),
    ("a ** c * b", 147.0),
    ("a * b ** c", 63.0),
    ("-a ** c // b", -17.0),
    ("(a + b) * c", 20.0),
    ("(a < b) | (c < d)", 1.0),
    ("a + b > c", 1.0),
    ("a == b + c + c", 1.0),
    ("a != b ^ c", 1.0),
    ("a <= b << c", 1.0),
    ("2 * a ** 2 - 3 * a + 1", 78.0),
    ("~c > d & ~a % c", 0.0),
    ("+b == -a & b + b + a", 0.0),
    ("-d // a + b", 2.0),
    ("+b ^ b >= ~b", 1.0),
    ("~b == a >> b", 0.0),
    ("a << a << c", 3584.0),
    ("+c <= ~c % d % c", 0.0),
    ("~c == d", 0.0),
    ("a < b ** b + c", 1.0),
    ("c | ~a ^ ~c ^ a", 2.0),
    ("~c <= a * -d", 0.0),
    ("c | d", 7.0),
    ("a <= b // ~b", 0.0),
    ("b != b - +d ^ d % -d", 1.0),
    ("~c <= c + b / b + +c", 1.0),
    ("d | -c * +c", -3.0),
    ("c != b + c + b", 1.0),
    ("+c <= a + d", 1.0),
    ("-c + b < -b & +b", 0.0),
    ("b % b", 0.0),
    ("b <= a", 1.0),
    ("c == ~a ** c + d | +d", 0.0),
    ("~c - -c", -1.0),
    ("c ^ b", 1.0),
    ("c < b + -d ** a >> +a", 0.0),
    ("c >= c + d & c + ~d", 0.0),
    ("+b | ~c <= d + c + b", 1.0),
    ("a < c - +b + d + -c", 0.0),
    ("a & c // ~c", 7.0),
    ("d > ~a + +b ^ c", 1.0),
    ("~a < c // a | -d", 1.0),
    ("~b + d", 1.0),
    ("+d <= b ^ a ^ +a + -c", 0.0),
    ("a & -a", 1.0),
    ("d // b != +b", 1.0),
    ("-b - -a", 4.0),
    ("c - c // -c >= -b | b", 1.0),
    ("+c > b >> d % a", 1.0),
    ("a * +a > -d & d", 1.0),
    ("a > d - +b + ~b / d", 1.0),
    ("d >> +b ^ c", 2.0),
    ("a % b", 1.0),
    ("d >> d", 0.0),
    ("a >> +c", 1.0),
    ("b + -b * -d", 18.0),
    ("~c % c ^ d % +b", 3.0),
    ("~b - ~d | d", 7.0),
    ("d % a", 5.0),
    ("a & +d * a & ~a", 0.0),
    ("a - d < a - b + ~d", 0.0),
    ("-b * a * -b", 63.0),
    ("+b + c", 5.0),
    ("d > ~b + +c + +b + b", 1.0),
    ("a | +d << b >= d", 1.0),
    ("~a != -b | d", 1.0),
    ("b ^ a * c", 13.0),
    ("+a ^ ~b + b + ~a != a", 1.0),
    ("-b << c % c <= ~c ^ a", 0.0),
    ("a - c", 5.0),
    ("b // d", 0.0),
    ("c << b < -d % a % -d", 0.0),
    ("-a / d - a - -b <= ~c", 1.0),
    ("b ** b ^ -c & c & +a", 25.0),
    ("c // b <= a / d / +c", 1.0),
    ("+c <= ~d + -a", 0.0),
    ("a / -b == c", 0.0),
    ("-c > d", 0.0),
    ("+c != a", 1.0),
    ("~b * a ^ b <= -a", 1.0),
    ("c >= d", 0.0),
    ("~d == b", 0.0),
    ("a != +b", 1.0),
    ("~a >= ~d + d", 0.0),
    ("-b ^ c * -c % a // c", -4.0),
    ("b > c", 1.0),
    ("+d == d / b", 0.0),
    ("+b >= -a >> a ** c", 1.0),
    ("d * d >= d + c", 1.0),
    ("~a <= c * c", 1.0),
    ("d >> +b", 0.0),
    ("b != c * c / -d + d", 1.0),
    ("d >> a + +b", 0.0),
    ("+a + d == +a - b", 0.0),
    ("d > c + -a - d + a", 1.0),
    ("d != +d + b", 1.0),
    ("c ** a >> d != c", 1.0),
    ("c ^ a % +d", 0.0),
    ("d - b", 2.0),
    ("~a <= d // b", 1.0),
    ("a + d", 12.0),
    ("b >> b", 0.0),
    ("a ^ a == c", 0.0),
    ("d & -b | a == b", 0.0),
    ("~a + b != b ^ b - ~d", 1.0),
    ("c % -a < b + -d / -c", 1.0),
    ("+d // c * a ** -d", 0.00011899803653239721),
    ("a / b", 2.3333333333333335),
    ("b | -d % -b - ~c >= a", 0.0),
    ("d ^ ~a", -3.0),
    ("b <= d >> b", 0.0),
    ("d > -b + b + -c << a", 1.0),
    ("d >> +c <= ~a", 0.0),
    ("~a << a", -1024.0),
    ("+b - +d % ~c | d", 5.0),
    ("c * c != +d * c", 1.0),
    ("a / +d", 1.4),
    ("d * d", 25.0),
    ("-c / ~c", 0.6666666666666666),
    ("d == b & a * ~d", 0.0),
    ("c ^ -d != b + d % c", 1.0),
    ("c - +d", -3.0),
    ("c ^ c < d / b", 1.0),
    ("~a < b & a + d % +d", 1.0),
    ("d % d", 0.0),
];

#[test]
fn numbers_alone_are_pythons() {
    for (expression, value) in VALUES {
        let mut text = (*expression).to_owned();
        for (name, number) in [("a", "7"), ("b", "3"), ("c", "2"), ("d", "5")] {
            text = text.replace(name, number);
        }
        assert_eq!(run(&format!("y = {text}"), &[]), [*value], "{expression}");
    }
}

#[test]
fn tensors_follow_the_same_precedence() {
    let arrays = [7_i64, 3, 2, 5].map(|number| Array::new(&[], &[number]));
    let mut tried = 0;
    for (expression, value) in VALUES {
        // Integer tensors have no negative powers.
        if expression.contains("** -") || expression.contains("** ~") {
            continue;
        }
        tried += 1;
        let text = format!("input a: i64\ninput b: i64\ninput c: i64\ninput d: i64\noutput y = {expression}");
        assert_eq!(run(&text, &arrays), [*value], "{expression}");
    }
    assert!(tried > 80, "{tried}");
}

#[test]
fn a_sign_is_below_a_power_and_above_a_product() {
    for (text, value) in
        [("-2 ** 2", -4.0), ("2 ** -1", 0.5), ("2 ** 3 ** 2", 512.0), ("-7 // 2", -4.0), ("-7 % 3", 2.0)]
    {
        assert_eq!(run(text, &[]), [value], "{text}");
    }
}

/// `@` binds like `*`, and both associate to the left; the programs of each pair are one graph.
#[test]
fn matrix_products_bind_like_products() {
    for (text, grouped) in [
        ("a @ b @ c", "(a @ b) @ c"),
        ("a @ b * c", "(a @ b) * c"),
        ("a * b @ c", "(a * b) @ c"),
        ("a + b @ c", "a + (b @ c)"),
        ("a @ b + c", "(a @ b) + c"),
        ("-a @ b", "(-a) @ b"),
        ("a @ -b", "a @ (-b)"),
        ("a @ b ** 2", "a @ (b ** 2)"),
        ("a @ b.T", "a @ (b.T)"),
        ("a / b @ c // b", "((a / b) @ c) // b"),
        ("a @ b < c", "(a @ b) < c"),
        ("a @ b << c @ c", "(a @ b) << (c @ c)"),
    ] {
        assert_eq!(of_matrices(text), of_matrices(grouped), "{text}");
    }
    assert_ne!(of_matrices("a @ b @ c"), of_matrices("a @ (b @ c)"));
}

/// The graph of an expression of square matrices.
fn of_matrices(expression: &str) -> String {
    let dtype = if expression.contains("<<") { "i32" } else { "f64" };
    let inputs = ["a", "b", "c"].map(|name| format!("input {name}: {dtype}[n, n]"));
    crate::support::graph(&format!("{}\n{expression}", inputs.join("\n"))).to_string()
}
