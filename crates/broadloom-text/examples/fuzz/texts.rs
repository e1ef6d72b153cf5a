//! Texts of any kind.

use crate::arrays::Random;
use crate::programs;

/// Pieces of the language that meet each other in any order.
const PIECES: &[&str] = &[
    "x",
    "i",
    "n",
    "m",
    "y",
    "symbols ",
    "symbols n, m\n",
    "assume ",
    "assume n >= 1\n",
    "assume n == 2*m\n",
    "input ",
    "input y: f32[n, _, #m]\n",
    "input z: i8[2*n//3, 4]\n",
    "parameters p\n",
    "let ",
    "let a = ",
    "output ",
    "output b = ",
    "assign ",
    "assign x = ",
    "\n",
    ";",
    "#",
    "# n",
    " ",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "&",
    "|",
    "^",
    "~",
    "<<",
    ">>",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "(",
    ")",
    "[",
    "]",
    "{",
    ",",
    ":",
    "::",
    "::-1",
    ".",
    "...",
    "@",
    "!",
    "0",
    "1",
    "2",
    "-1",
    "3.5",
    "1e308",
    "5e-324",
    "99999999999999999999",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "0x7f",
    "1_000",
    "True",
    "None",
    "inf",
    "nan",
    "pi",
    "f32",
    "u8",
    "bool",
    "f32(",
    "sum(",
    "max(",
    "where(",
    "reshape(",
    "broadcast_to(",
    "concat([",
    "stack([",
    "take(",
    "softmax(",
    "var(",
    "segment_sum(",
    "arange(",
    "linspace(",
    "squeeze(",
    "expand_dims(",
    "clip(",
    "rebind(",
    "permute_dims(",
    "round(",
    "array([",
    "norm(",
    "size(",
    "len(",
    "np.",
    ".T",
    ".at[",
    "].set(",
    "].add(",
    ".sum(",
    ".astype(",
    ".shape",
    ".size",
    ".shape[0]",
    ".ndim",
    "axis=",
    "keepdims=True",
    "initial=",
    "correction=",
    "dtype=",
    "\"a b\"",
    "'",
    "\"",
    "é",
    "日本",
    "\u{202e}",
    "\0",
    "\\\n",
    "and",
    "not",
    "lambda",
    "for",
    "if",
    "_",
    "likely(n)",
    "from_bits(",
    "symbols.",
];

/// Something that is repeated too often.
const REPEATED: &[&str] = &[
    "(", "[", "-", "~", "2**", "x[", "sum(", " + x", ".T", "[None]", "[0]", "1 + ", "a,", ";", "\"", ".x",
    "f(", "x;",
];

pub fn text(random: &mut Random) -> String {
    match random.below(8) {
        0 => bytes(random),
        1 => {
            let repeated = REPEATED[random.below(REPEATED.len())].repeat(random.below(20_000));
            let end = pieces(random);
            format!("{}{repeated}{end}", if random.below(2) == 0 { "x" } else { "" })
        }
        2..=4 => pieces(random),
        _ => damaged(random),
    }
}

fn bytes(random: &mut Random) -> String {
    let count = random.below(120);
    let bytes: Vec<u8> = (0..count).map(|_| random.bits() as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn pieces(random: &mut Random) -> String {
    (0..random.below(40)).map(|_| PIECES[random.below(PIECES.len())]).collect()
}

/// A program of which parts are left out, doubled, moved or replaced.
fn damaged(random: &mut Random) -> String {
    let mut letters: Vec<char> = programs::program(random).chars().collect();
    for _ in 0..1 + random.below(3) {
        let from = random.below(letters.len() + 1);
        let to = (from + random.below(12)).min(letters.len());
        let part: Vec<char> = letters[from..to].to_vec();
        let other = random.below(letters.len() + 1);
        match random.below(4) {
            0 => drop(letters.drain(from..to)),
            1 => drop(letters.splice(other..other, part)),
            2 => drop(letters.splice(from..to, PIECES[random.below(PIECES.len())].chars())),
            _ => drop(letters.splice(from..from, PIECES[random.below(PIECES.len())].chars())),
        }
    }
    letters.into_iter().collect()
}
