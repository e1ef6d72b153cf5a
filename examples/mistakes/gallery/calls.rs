use super::{Mistake, called};
use broadloom::prelude::*;

pub const MISTAKES: &[Mistake] = &[
    called("One symbol, two sizes", "To add tables of as many rows.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n, 2]);
        let y = g.input::<f32>("y", shape![n, 2]);
        let kernel = (x + y).compile()?;
        let (three, four) = ([1.0f32; 6], [1.0f32; 8]);
        let (three, four) = (ArrayView::new(&three, &[3, 2])?, ArrayView::new(&four, &[4, 2])?);
        Ok(kernel.run(inputs! { "x" => three, "y" => four })?)
    }),
    called("A constant size", "To pass points in space.", |g| {
        let points = g.input::<f32>("points", shape![g.symbol("n"), 3]);
        let kernel = points.norm(Norm::Two, 1).compile()?;
        Ok(kernel.run(ArrayView::new(&[1.0f32; 8], &[4, 2])?)?)
    }),
    called("An impossible size", "To pass pairs.", |g| {
        let pairs = g.input::<f32>("pairs", shape![2 * g.symbol("n")]);
        let kernel = pairs.sum(0).compile()?;
        Ok(kernel.run(&[1.0f32, 2.0, 3.0])?)
    }),
    called("A size outside its range", "To pass at least one number.", |g| {
        let n = g.symbol("n").range(1..=4096);
        let kernel = g.input::<f32>("x", shape![n]).max(0).compile()?;
        Ok(kernel.run(&Vec::<f32>::new())?)
    }),
    called("An inferred size", "To weight three numbers.", |g| {
        let x = g.input::<f32>("x", shape![3]);
        let w = g.input::<f32>("w", shape![_]);
        let kernel = (x * w).compile()?;
        Ok(kernel.run((&[1.0f32; 3], &[1.0f32; 4]))?)
    }),
    called("An axis that may be 1", "To scale all numbers by one factor, or each by its own.", |g| {
        let n = g.symbol("n");
        let x = g.input::<f32>("x", shape![n]);
        let scale = g.input::<f32>("scale", shape![#n]);
        let kernel = (x * scale).compile()?;
        Ok(kernel.run((&[1.0f32; 3], &[1.0f32; 2]))?)
    }),
    called("A slice of an empty array", "To take differences of neighbours.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        let differences = x.slice(slice![1..]) - x.slice(slice![..-1]);
        let kernel = differences.compile()?;
        Ok(kernel.run(&Vec::<f32>::new())?)
    }),
    called("The maximum of zero elements", "To find the maximum of each column.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 2]);
        let kernel = x.max(0).compile()?;
        Ok(kernel.run(ArrayView::new(&[0.0f32; 0], &[0, 2])?)?)
    }),
    called("`topk` of too few elements", "To find the three greatest elements of each row.", |g| {
        let x = g.input::<f32>("x", shape![2, g.symbol("n")]);
        let kernel = x.topk(3, 1).0.compile()?;
        Ok(kernel.run(ArrayView::new(&[1.0f32; 4], &[2, 2])?)?)
    }),
    called("A rebound size", "To add two rows, when x should have two.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 2]);
        let y = g.input::<f32>("y", shape![2, 2]);
        let kernel = (x.rebind(shape![2, _]) + y).compile()?;
        let (six, four) = ([1.0f32; 6], [1.0f32; 4]);
        Ok(kernel.run((ArrayView::new(&six, &[3, 2])?, ArrayView::new(&four, &[2, 2])?))?)
    }),
    called("A declared equality", "To pass a square number of elements.", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        g.declare_equal(n * n, 4 * m);
        let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![m]));
        let kernel = (x.sum(0) + y.sum(0)).compile()?;
        Ok(kernel.run((&[1.0f32; 4], &[1.0f32; 5]))?)
    }),
    called("A size by name that contradicts the arrays", "To state the number of rows.", |g| {
        let n = g.symbol("n");
        let kernel = g.input::<f32>("x", shape![n]).sum(0).compile()?;
        Ok(kernel.run(inputs! { "x" => &[1.0f32, 2.0, 3.0] }.with_size("n", 4))?)
    }),
    called("A parameter that is not given", "To repeat x as many times as the call says.", |g| {
        let [n, k] = [g.symbol("n"), g.parameter("k")];
        let x = g.input::<f32>("x", shape![n]);
        let kernel = x.unsqueeze(0).broadcast_to(shape![k, n]).compile()?;
        Ok(kernel.run(&[1.0f32, 2.0])?)
    }),
    called("A typo in the name of a parameter", "To give the number of copies.", |g| {
        let [n, copies] = [g.symbol("n"), g.parameter("copies")];
        let x = g.input::<f32>("x", shape![n]);
        let kernel = x.unsqueeze(0).broadcast_to(shape![copies, n]).compile()?;
        Ok(kernel.run(inputs! { "x" => &[1.0f32, 2.0] }.with_size("copys", 3))?)
    }),
    called("An impossible value of a parameter", "To count up to a multiple of 8.", |g| {
        let kernel = g.iota(g.parameter("k").multiple_of(8)).compile()?;
        Ok(kernel.run(inputs![].with_size("k", 12))?)
    }),
    called("A missing array", "To add two vectors.", |g| {
        let n = g.symbol("n");
        let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
        let kernel = (x + y).compile()?;
        Ok(kernel.run(inputs! { "x" => &[1.0f32, 2.0] })?)
    }),
    called("A typo in a name", "To pass points and weights.", |g| {
        let n = g.symbol("n");
        let points = g.input::<f32>("points", shape![n]);
        let weights = g.input::<f32>("weights", shape![n]);
        let kernel = (points * weights).compile()?;
        Ok(kernel.run(inputs! { "points" => &[1.0f32, 2.0], "wieghts" => &[3.0f32, 4.0] })?)
    }),
    called("The wrong dtype", "To pass f32.", |g| {
        let kernel = g.input::<f32>("x", shape![g.symbol("n")]).exp().compile()?;
        Ok(kernel.run(&[1.0f64, 2.0])?)
    }),
    called("The wrong rank", "To pass rows of three.", |g| {
        let kernel = g.input::<f32>("x", shape![g.symbol("n"), 3]).sum(1).compile()?;
        Ok(kernel.run(&[1.0f32; 6])?)
    }),
    called("The wrong number of arrays", "To pass one array.", |g| {
        let kernel = g.input::<f32>("x", shape![g.symbol("n")]).exp().compile()?;
        Ok(kernel.run((&[1.0f32; 2], &[1.0f32; 2]))?)
    }),
    called("An array that the kernel writes to", "To update x.", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        x.add_(1);
        Ok(g.compile([])?.run(&[1.0f32, 2.0])?)
    }),
    called("An empty table", "To look up rows of an empty table.", |g| {
        let table = g.input::<f32>("table", shape![g.symbol("rows")]);
        let at = g.input::<i64>("at", shape![g.symbol("n")]);
        let kernel = table.take(at, 0).compile()?;
        Ok(kernel.run((&Vec::<f32>::new(), &[0i64, 1]))?)
    }),
    called("An index out of range", "To look up rows of a table.", |g| {
        let table = g.input::<f32>("table", shape![g.symbol("rows")]);
        let at = g.input::<i64>("at", shape![g.symbol("n")]);
        let kernel = table.take(at, 0).compile()?;
        Ok(kernel.run((&[0.0f32; 4], &[0i64, -1, 9, 7]))?)
    }),
    called("A negative power", "To raise integers to powers.", |g| {
        let n = g.symbol("n");
        let (base, exponent) = (g.input::<i32>("base", shape![n]), g.input::<i32>("exponent", shape![n]));
        let kernel = base.pow(exponent).compile()?;
        Ok(kernel.run((&[2i32, 3], &[3i32, -1]))?)
    }),
    called("A segment that does not exist", "To sum rows by their group.", |g| {
        let n = g.symbol("n");
        let (rows, groups) = (g.input::<f32>("rows", shape![n]), g.input::<i64>("groups", shape![n]));
        let kernel = rows.segment_sum(groups, 3).compile()?;
        Ok(kernel.run((&[1.0f32; 4], &[0i64, 2, 3, 1]))?)
    }),
];
