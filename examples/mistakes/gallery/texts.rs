use super::{Mistake, read};

pub const MISTAKES: &[Mistake] = &[
    read("A bracket that is not closed", "To sum rows.", "input x: f32[n, 3]\noutput y = x.sum(axis=1"),
    read(
        "Python's `and`",
        "To choose what is between 0 and 1.",
        "input x: f32[n]\noutput y = x > 0 and x < 1",
    ),
    read(
        "A number with too many digits",
        "To write a constant exactly.",
        "output y = 0.1111111111111111111111111111111111111111111111111111111111111111111",
    ),
    read("A calculation without a result", "To divide two numbers.", "output y = 1 / 0"),
    read("An unknown name", "To add two inputs.", "input codes: f32[k, 3]\noutput y = cods + 1"),
    read("A misspelled function", "To turn values into shares.", "input x: f32[n]\noutput y = sofmax(x)"),
    read(
        "A function that does not exist",
        "To keep the elements that pass.",
        "input x: f32[n, 3]\noutput c = np.compress(x[:, 0] > 0, x)",
    ),
    read("A random number", "To start from a random point.", "output y = np.random.rand(3)"),
    read(
        "A name that is already taken",
        "To name two values.",
        "input x: f32[n]\nlet y = x + 1\nlet y = x + 2\noutput z = y",
    ),
    read(
        "An argument that a function does not take",
        "To sum without an axis.",
        "input x: f32[n]\noutput y = x.sum(0, 1, 2, 3, 4, 5, 6)",
    ),
    read("A list where a tensor is wanted", "To sum two tensors.", "input x: f32[n]\noutput y = sum([x, x])"),
    read(
        "Elements by two conditions",
        "To subtract the small elements from the large ones.",
        "input x: f32[n]\noutput y = x[x > 1] - x[x < 0]",
    ),
    read(
        "An input beside selected elements",
        "To add one number for each element above 0.",
        "input x: f32[n]\ninput y: f32[_]\noutput z = x[x > 0] + y",
    ),
    read(
        "A loop whose steps select",
        "To add the smallest positive element, ten times.",
        "input x: i64[n]\nfor i in range(10) with y = x\n  next y = y + sort(y[y > 0])[0]\nend\noutput z = y",
    ),
    read("Two results without names", "To print the sum and the mean.", "input x: f32[n]\nsum(x)\nmean(x)"),
    read(
        "All pairs, in a text",
        "To compare every code with every observation.",
        "input codes: f32[17, 3]\ninput obs: f32[1000, 3]\noutput d = codes - obs",
    ),
];
