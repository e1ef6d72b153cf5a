//! Aggregates of many groups at once.
//!
//! ```text
//! batch ──▶ rows: what the totals add up ──▶ the totals of each group ──▶ finish: a row for each group
//! ```
//!
//! One kernel computes the rows of a batch, whatever their groups are; a loop adds them to the registers of their groups.
//! Floats accumulate in `f64`, in the order of the rows.

use crate::centred::found;
use crate::column::{Column, column_of};
use crate::error::ColumnError;
use crate::graph::RowGraph;
use crate::kernel::run;
use arrow_array::{Array as _, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use broadloom::{AnyArray, Array, CompileOptions, DType, Executable};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Axes, Node, Site};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::transform::Rewriter;
use std::collections::HashMap;

/// An aggregate that is computed for many groups at once: one whose results are computed element by element from totals
/// of numbers over the rows.
#[derive(Debug)]
pub struct Grouping {
    columns: Vec<String>,
    constants: Vec<(String, AnyArray)>,
    /// Computes for each row what the totals add up, in the order of the totals; `None` if there are only counts.
    rows: Option<Executable>,
    totals: Vec<Total>,
    /// Computes the results from inputs with an element for each group.
    finish: Executable,
    /// What the names of these inputs start with; a number follows, or nothing for the number of rows.
    mark: String,
}

/// A total over the rows of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Total {
    Sum(Class),
    Product(Class),
    Least(Class),
    Greatest(Class),
    /// The sum of `(a - mean(a)) * (b - mean(b))`: four registers for the number of rows, the sum and the means.
    Centred {
        is_mean: bool,
    },
}

/// How a total accumulates.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Class {
    Float,
    Signed,
    /// Unsigned integers and truth values.
    Unsigned,
}

impl Class {
    fn of(dtype: DType) -> Class {
        match dtype {
            float if float.is_float() => Class::Float,
            signed if signed.is_signed_integer() => Class::Signed,
            _ => Class::Unsigned,
        }
    }

    fn dtype(self) -> DType {
        match self {
            Class::Float => DType::F64,
            Class::Signed => DType::I64,
            Class::Unsigned => DType::U64,
        }
    }
}

/// The totals of many groups, by the numbers of the groups.
#[derive(Debug, Clone, Default)]
pub struct GroupStates {
    rows: Vec<u64>,
    /// The registers of all totals, one after the other. Each is the bits of a number.
    registers: Vec<Vec<u64>>,
}

impl GroupStates {
    /// Returns the memory that the states hold, in bytes.
    pub fn bytes(&self) -> usize {
        let registers: usize = self.registers.iter().map(Vec::capacity).sum();
        size_of::<GroupStates>() + 8 * (self.rows.capacity() + registers)
    }

    /// Removes the first groups, and returns them; those behind them get their numbers.
    #[must_use]
    pub fn take(&mut self, groups: usize) -> GroupStates {
        let first = |values: &mut Vec<u64>| {
            let rest = values.split_off(groups.min(values.len()));
            std::mem::replace(values, rest)
        };
        GroupStates { rows: first(&mut self.rows), registers: self.registers.iter_mut().map(first).collect() }
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.rows.len()
    }
}

impl Total {
    /// Returns the total of a reduction; `None` for one that has an index.
    fn of(op: ReduceOp, operand: DType) -> Option<Total> {
        let class = Class::of(op.accumulator(operand));
        Some(match op {
            ReduceOp::Sum | ReduceOp::Mean => Total::Sum(class),
            ReduceOp::Prod => Total::Product(class),
            ReduceOp::Min | ReduceOp::All => Total::Least(class),
            ReduceOp::Max | ReduceOp::Any => Total::Greatest(class),
            ReduceOp::ArgMin | ReduceOp::ArgMax => return None,
        })
    }

    fn class(self) -> Class {
        match self {
            Total::Sum(class) | Total::Product(class) | Total::Least(class) | Total::Greatest(class) => class,
            Total::Centred { .. } => Class::Float,
        }
    }

    /// Returns the registers of a group without rows.
    fn empty(self) -> &'static [u64] {
        const ONE: u64 = 1f64.to_bits();
        const INFINITY: u64 = f64::INFINITY.to_bits();
        const NEGATIVE: u64 = f64::NEG_INFINITY.to_bits();
        match (self, self.class()) {
            (Total::Sum(_), _) => &[0],
            (Total::Product(_), Class::Float) => &[ONE],
            (Total::Product(_), _) => &[1],
            (Total::Least(_), Class::Float) => &[INFINITY],
            (Total::Least(_), Class::Signed) => &[i64::MAX as u64],
            (Total::Least(_), Class::Unsigned) => &[u64::MAX],
            (Total::Greatest(_), Class::Float) => &[NEGATIVE],
            (Total::Greatest(_), Class::Signed) => &[i64::MIN as u64],
            (Total::Greatest(_), Class::Unsigned) => &[0],
            (Total::Centred { .. }, _) => &[0; 4],
        }
    }

    /// Combines two registers, as bits.
    fn combine(self) -> fn(u64, u64) -> u64 {
        match (self, self.class()) {
            (Total::Sum(_), Class::Float) => |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
            // Integers wrap around, signed ones with the same bits.
            (Total::Sum(_), _) => u64::wrapping_add,
            (Total::Product(_), Class::Float) => |a, b| (f64::from_bits(a) * f64::from_bits(b)).to_bits(),
            (Total::Product(_), _) => u64::wrapping_mul,
            // A NaN stays.
            (Total::Least(_), Class::Float) => |a, b| {
                let (left, right) = (f64::from_bits(a), f64::from_bits(b));
                if right < left || right.is_nan() { b } else { a }
            },
            (Total::Greatest(_), Class::Float) => |a, b| {
                let (left, right) = (f64::from_bits(a), f64::from_bits(b));
                if right > left || right.is_nan() { b } else { a }
            },
            (Total::Least(_), Class::Signed) => |a, b| (a as i64).min(b as i64) as u64,
            (Total::Greatest(_), Class::Signed) => |a, b| (a as i64).max(b as i64) as u64,
            (Total::Least(_), Class::Unsigned) => u64::min,
            (Total::Greatest(_), Class::Unsigned) => u64::max,
            (Total::Centred { .. }, _) => |a, _| a,
        }
    }

    /// Returns the number of values that a row gives.
    fn values(self) -> usize {
        if matches!(self, Total::Centred { .. }) { 2 } else { 1 }
    }

    /// Adds the values of rows to their groups.
    fn add(self, registers: &mut [Vec<u64>], groups: &[usize], values: &[Vec<u64>]) {
        match (self, registers, values) {
            (Total::Centred { .. }, [count, sum, mean_a, mean_b], [a, b]) => {
                for ((group, a), b) in groups.iter().zip(a).zip(b) {
                    let [a, b] = [a, b].map(|bits| f64::from_bits(*bits));
                    let [n, s, ma, mb] =
                        [&count, &sum, &mean_a, &mean_b].map(|of| f64::from_bits(of[*group]));
                    let (n, da, db) = (n + 1.0, a - ma, b - mb);
                    let mb = mb + db / n;
                    for (register, value) in
                        [(&mut *count, n), (sum, s + da * (b - mb)), (mean_a, ma + da / n), (mean_b, mb)]
                    {
                        register[*group] = value.to_bits();
                    }
                }
            }
            (_, [register], [values]) => {
                let combine = self.combine();
                for (group, value) in groups.iter().zip(values) {
                    register[*group] = combine(register[*group], *value);
                }
            }
            _ => {}
        }
    }

    /// Adds the registers of a group of another state to those of a group.
    fn merge(self, registers: &mut [Vec<u64>], group: usize, other: &[u64]) {
        match (self, registers, other) {
            (Total::Centred { .. }, [count, sum, mean_a, mean_b], [n, s, a, b]) => {
                let [n, s, a, b] = [n, s, a, b].map(|bits| f64::from_bits(*bits));
                let mut all = [count, sum, mean_a, mean_b];
                let [count, sum, mean_a, mean_b] =
                    [0, 1, 2, 3].map(|index: usize| f64::from_bits(all[index][group]));
                let whole = count + n;
                if n > 0.0 {
                    let (da, db, share) = (a - mean_a, b - mean_b, n / whole);
                    let merged =
                        [whole, sum + s + da * db * count * share, mean_a + da * share, mean_b + db * share];
                    all.iter_mut()
                        .zip(merged)
                        .for_each(|(register, value)| register[group] = value.to_bits());
                }
            }
            (_, [register], [other]) => register[group] = self.combine()(register[group], *other),
            _ => {}
        }
    }

    /// Returns the total of each group as an array.
    fn finished(self, registers: &[Vec<u64>]) -> Result<AnyArray, ColumnError> {
        let float = |bits: &u64| f64::from_bits(*bits);
        let shape = [registers.first().map_or(0, Vec::len)];
        Ok(match (self, registers) {
            (Total::Centred { is_mean }, [count, sum, ..]) => {
                let divisor = |count: &u64| if is_mean { float(count) } else { 1.0 };
                let values = sum.iter().zip(count).map(|(sum, count)| float(sum) / divisor(count));
                Array::new(values.collect::<Vec<f64>>(), &shape)?.into()
            }
            (_, [register, ..]) => match self.class() {
                Class::Float => Array::new(register.iter().map(float).collect::<Vec<f64>>(), &shape)?.into(),
                Class::Signed => {
                    Array::new(register.iter().map(|bits| *bits as i64).collect::<Vec<i64>>(), &shape)?.into()
                }
                Class::Unsigned => Array::new(register.clone(), &shape)?.into(),
            },
            (_, []) => return Err(ColumnError::State { what: "it lacks a partial result" }),
        })
    }
}

impl Grouping {
    /// Compiles an aggregate over columns of numbers; `None` if it needs the rows of each group by themselves.
    ///
    /// # Errors
    /// Returns an error for whatever the compiler does not support.
    pub fn new(
        graph: &RowGraph,
        columns: Vec<String>,
        constants: Vec<(String, AnyArray)>,
        options: &CompileOptions,
    ) -> Result<Option<Grouping>, ColumnError> {
        let mark = graph.unused_name("%total");
        let mut finish = Finish::new(graph, &mark);
        let mut outputs = Vec::new();
        for output in graph.graph().outputs() {
            match finish.image(output.expr) {
                // A result that depends on no rows has no value for each group.
                Some(image) if finish.graph.graph().shape(image).rank() == 1 => {
                    outputs.push((&*output.name, image))
                }
                _ => return Ok(None),
            }
        }
        let Finish { graph: rewriter, totals, .. } = finish;
        let finish = rewriter.finish_with(&outputs)?.0;
        // Groups without rows are computed too, and thrown away.
        if finish.exprs().any(|expr| finish.node(expr).can_fail(|operand| finish.dtype(operand))) {
            return Ok(None);
        }
        let finish = Executable::compile(&finish, options)?;
        let mut rows = Rewriter::new(graph.graph());
        for expr in graph.graph().exprs() {
            let image = rows.copy(expr);
            rows.replace(expr, image);
        }
        let mut named = Vec::new();
        for (total, values) in &totals {
            for value in values {
                let (image, site) = (rows.image(*value), graph.graph().site(*value));
                let wide = rows.builder().cast(image, total.class().dtype(), site);
                // Equal outputs are one expression, but each has its name.
                named.push((format!("{}", named.len()), wide));
            }
        }
        let named: Vec<(&str, ExprId)> = named.iter().map(|(name, wide)| (name.as_str(), *wide)).collect();
        let rows = match named.is_empty() {
            true => None,
            false => Some(Executable::compile(&rows.finish_with(&named)?.0, options)?),
        };
        let totals = totals.into_iter().map(|(total, _)| total).collect();
        Ok(Some(Grouping { columns, constants, rows, totals, finish, mark }))
    }

    /// Returns the size of the machine code, in bytes.
    pub fn code_bytes(&self) -> usize {
        self.rows.iter().chain([&self.finish]).map(|executable| executable.explain().code_bytes()).sum()
    }

    /// Returns the states of no groups.
    pub fn states(&self) -> GroupStates {
        let mut states = GroupStates::default();
        self.resize(&mut states, 0);
        states
    }

    /// Makes room for groups.
    fn resize(&self, states: &mut GroupStates, groups: usize) {
        let groups = groups.max(states.groups());
        states.rows.resize(groups, 0);
        let empty = self.totals.iter().flat_map(|total| total.empty());
        states.registers.resize(empty.clone().count(), Vec::new());
        states.registers.iter_mut().zip(empty).for_each(|(register, empty)| register.resize(groups, *empty));
    }

    /// Adds rows to their groups, whose numbers are below `count`. Rows that `filter` does not keep, or that have a null in
    /// any column, are left out.
    ///
    /// # Errors
    /// Returns an error if the columns, the groups and the filter have different numbers of rows, if a row belongs to a group
    /// that does not exist, or if the data have no result.
    pub fn update(
        &self,
        states: &mut GroupStates,
        columns: &[(String, Column)],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<(), ColumnError> {
        self.resize(states, count);
        let count = states.groups();
        if let Some(group) = groups.iter().copied().find(|group| *group >= count) {
            return Err(ColumnError::Group { group, count });
        }
        if let Some(filter) = filter.filter(|filter| filter.len() != groups.len()) {
            let (wanted, found) = (groups.len(), filter.len());
            return Err(ColumnError::Rows { column: "filter".to_owned(), wanted, found });
        }
        let mut mask = filter.map(|filter| match filter.nulls() {
            Some(nulls) => filter.values() & nulls.inner(),
            None => filter.values().clone(),
        });
        for name in &self.columns {
            let Some((_, column)) = columns.iter().find(|(known, _)| known == name) else {
                let known = columns.iter().map(|(name, _)| name.clone()).collect();
                return Err(ColumnError::Missing { input: name.clone(), known });
            };
            if column.rows() != groups.len() {
                let (wanted, found) = (groups.len(), column.rows());
                return Err(ColumnError::Rows { column: name.clone(), wanted, found });
            }
            if let Some(nulls) = column.nulls() {
                mask = Some(mask.map_or_else(|| nulls.inner().clone(), |mask| &mask & nulls.inner()));
            }
        }
        let Some(mask) = mask.filter(|mask| mask.count_set_bits() < mask.len()) else {
            return self.add(states, columns, groups);
        };
        let groups: Vec<usize> = mask.set_indices().filter_map(|row| groups.get(row).copied()).collect();
        let mask = BooleanArray::new(mask, None);
        let kept = columns.iter().map(|(name, column)| Ok((name.clone(), column.kept(&mask, groups.len())?)));
        self.add(states, &kept.collect::<Result<Vec<_>, ColumnError>>()?, &groups)
    }

    fn add(
        &self,
        states: &mut GroupStates,
        columns: &[(String, Column)],
        groups: &[usize],
    ) -> Result<(), ColumnError> {
        if groups.is_empty() {
            return Ok(());
        }
        let mut values = Vec::new();
        if let Some(rows) = &self.rows {
            values
                .extend(run(rows, columns, &self.constants, &[])?.into_iter().map(|(_, array)| bits(&array)));
        }
        groups.iter().for_each(|group| states.rows[*group] += 1);
        let (mut registers, mut values) = (states.registers.as_mut_slice(), values.as_slice());
        for total in &self.totals {
            let (own, others) = registers.split_at_mut(total.empty().len());
            let (of_rows, more) = values.split_at(total.values());
            total.add(own, groups, of_rows);
            (registers, values) = (others, more);
        }
        Ok(())
    }

    /// Returns the results, a row for each group; null for groups without rows.
    ///
    /// # Errors
    /// Returns an error if the states are those of another aggregate, or if there is not enough memory.
    pub fn finish(&self, states: &GroupStates) -> Result<Vec<ArrayRef>, ColumnError> {
        if states.registers.len() != self.totals.iter().map(|total| total.empty().len()).sum::<usize>() {
            return Err(ColumnError::State { what: "it has other totals" });
        }
        let counts = states.rows.iter().map(|rows| *rows as i64).collect::<Vec<i64>>();
        let mut inputs = vec![(self.mark.clone(), AnyArray::from(Array::new(counts, &[states.groups()])?))];
        let mut registers = states.registers.as_slice();
        for (number, total) in self.totals.iter().enumerate() {
            let (own, others) = registers.split_at(total.empty().len());
            inputs.push((format!("{} {number}", self.mark), total.finished(own)?));
            registers = others;
        }
        inputs.extend(self.constants.iter().cloned());
        let there = BooleanBuffer::collect_bool(states.groups(), |group| states.rows[group] > 0);
        let nulls = Some(NullBuffer::new(there)).filter(|nulls| nulls.null_count() > 0);
        let results = run(&self.finish, &[], &inputs, &[])?.into_iter();
        results.map(|(name, array)| column_of(&name, array, true, nulls.clone())).collect()
    }

    /// Returns each group as bytes for another process. All have the same number of bytes.
    pub fn write(&self, states: &GroupStates) -> impl Iterator<Item = Vec<u8>> {
        (0..states.groups()).map(|group| {
            let numbers =
                std::iter::once(&states.rows).chain(&states.registers).map(|numbers| numbers[group]);
            numbers.flat_map(u64::to_le_bytes).collect()
        })
    }

    /// Adds a group of another process, as bytes, to a group whose number is below `count`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those of a group of this aggregate, or if there is no such group.
    pub fn merge(
        &self,
        states: &mut GroupStates,
        group: usize,
        bytes: &[u8],
        count: usize,
    ) -> Result<(), ColumnError> {
        self.resize(states, count);
        let count = states.groups();
        if group >= count {
            return Err(ColumnError::Group { group, count });
        }
        let (words, rest) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let rows = words.next();
        let registers: Vec<u64> = words.collect();
        let (Some(rows), true, []) = (rows, registers.len() == states.registers.len(), rest) else {
            return Err(ColumnError::State { what: "it does not have the totals of a group" });
        };
        states.rows[group] = states.rows[group].wrapping_add(rows);
        let (mut own, mut other) = (states.registers.as_mut_slice(), registers.as_slice());
        for total in &self.totals {
            let count = total.empty().len();
            let (these, more) = own.split_at_mut(count);
            total.merge(these, group, &other[..count]);
            (own, other) = (more, &other[count..]);
        }
        Ok(())
    }
}

/// Returns the elements of a wide array as bits.
fn bits(array: &AnyArray) -> Vec<u64> {
    if let Some(floats) = array.as_slice::<f64>() {
        return floats.iter().map(|value| value.to_bits()).collect();
    }
    match array.as_slice::<i64>() {
        Some(integers) => integers.iter().map(|value| *value as u64).collect(),
        None => array.as_slice::<u64>().unwrap_or_default().to_vec(),
    }
}

/// The graph that computes results from totals, as it is built.
struct Finish<'g> {
    of: &'g RowGraph,
    graph: Rewriter<'g>,
    images: Vec<Option<ExprId>>,
    /// The size of its inputs.
    groups: Dim,
    mark: String,
    /// Each total with the values of the rows that it adds up.
    totals: Vec<(Total, Vec<ExprId>)>,
    /// The inputs by their names.
    inputs: HashMap<String, ExprId>,
}

impl<'g> Finish<'g> {
    fn new(of: &'g RowGraph, mark: &str) -> Finish<'g> {
        let mut graph = Rewriter::without_inputs(of.graph());
        let mut name = "groups".to_owned();
        while of.graph().symbols().iter().any(|symbol| *symbol.name == *name) {
            name.push('_');
        }
        let groups = Dim::symbol(graph.builder().symbol(&name, Site::Nowhere));
        let images = vec![None; of.graph().len()];
        Finish {
            of,
            graph,
            images,
            groups,
            mark: mark.to_owned(),
            totals: Vec::new(),
            inputs: HashMap::new(),
        }
    }

    /// Returns what computes a value for each group; `None` if it is not computed element by element from totals.
    fn image(&mut self, expr: ExprId) -> Option<ExprId> {
        if let Some(image) = self.images[expr.index()] {
            return Some(image);
        }
        let image = self.made(expr)?;
        self.images[expr.index()] = Some(image);
        Some(image)
    }

    fn made(&mut self, expr: ExprId) -> Option<ExprId> {
        let whole = self.of.graph();
        let (dtype, site) = (whole.dtype(expr), whole.site(expr));
        if whole.shape(expr).rank() > 0 {
            return None;
        }
        if let Some(split) = self.of.split.as_ref().ok()
            && let Some(found) = found(self.of, split, expr)
            && found.values.iter().all(|value| self.is_row(*value))
        {
            let total = self.total(Total::Centred { is_mean: found.is_mean }, found.values.to_vec(), site);
            return Some(self.graph.builder().cast(total, dtype, site));
        }
        match whole.node(expr) {
            Node::Reduce { op, operand, axes, .. }
                if *axes == Axes::from_elem(0, 1) && self.is_row(*operand) =>
            {
                let total = Total::of(*op, whole.dtype(*operand))?;
                let mut image = self.total(total, vec![*operand], site);
                if *op == ReduceOp::Mean {
                    let count = self.count();
                    let graph = self.graph.builder();
                    let count = graph.cast(count, DType::F64, site);
                    image = graph.elementwise(Op::Divide, &[image, count], site);
                }
                Some(self.graph.builder().cast(image, dtype, site))
            }
            Node::Size(size) if size.as_symbol() == Some(self.of.rows) => Some(self.count()),
            Node::Constant(scalar) => Some(self.graph.builder().constant(*scalar, site)),
            Node::Input(input) => {
                let input = &whole.inputs()[input.index()];
                Some(self.graph.builder().input(&input.name, dtype, Shape::default(), site))
            }
            Node::Cast(operand) => {
                let image = self.image(*operand)?;
                Some(self.graph.builder().cast(image, dtype, site))
            }
            Node::Elementwise { op, operands } => {
                let images =
                    operands.iter().map(|operand| self.image(*operand)).collect::<Option<Vec<_>>>()?;
                Some(self.graph.builder().elementwise(*op, &images, site))
            }
            Node::Select { condition, on_true, on_false } => {
                let [condition, on_true, on_false] =
                    [*condition, *on_true, *on_false].map(|of| self.image(of));
                Some(self.graph.builder().select(condition?, on_true?, on_false?, site))
            }
            _ => None,
        }
    }

    /// Returns an input for a total.
    fn total(&mut self, total: Total, values: Vec<ExprId>, site: Site) -> ExprId {
        let known = self.totals.iter().position(|known| *known == (total, values.clone()));
        let number = known.unwrap_or(self.totals.len());
        if known.is_none() {
            self.totals.push((total, values));
        }
        self.input(format!("{} {number}", self.mark), total.class().dtype(), site)
    }

    fn count(&mut self) -> ExprId {
        self.input(self.mark.clone(), DType::I64, Site::Nowhere)
    }

    /// Returns the input of a name, with an element for each group.
    fn input(&mut self, name: String, dtype: DType, site: Site) -> ExprId {
        let shape: Shape = std::iter::once(self.groups.clone()).collect();
        let graph = self.graph.builder();
        *self.inputs.entry(name).or_insert_with_key(|name| graph.input(name, dtype, shape, site))
    }

    /// Returns whether an expression has a number for each row, which depends on no other row.
    fn is_row(&self, expr: ExprId) -> bool {
        let whole = self.of.graph();
        let shape = whole.shape(expr);
        shape.rank() == 1
            && shape.first().and_then(Dim::as_symbol) == Some(self.of.rows)
            && !self.of.mixes_below(expr)
    }
}
