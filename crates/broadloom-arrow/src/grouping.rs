//! Aggregates of many groups at once.
//!
//! ```text
//! batch ──▶ rows: what the totals add up ──▶ the totals of each group ──▶ finish: a row for each group
//! ```
//!
//! One kernel computes the rows of a batch, whatever their groups are; a loop adds them to the registers of their groups.
//! Floats accumulate in `f64`, in the order of the rows.

mod total;

use self::total::Total;
use crate::centred::found;
use crate::column::{Column, column_of};
use crate::error::ColumnError;
use crate::graph::RowGraph;
use crate::kernel::run;
use arrow_array::{Array as _, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use broadloom::{AnyArray, Array, CompileOptions, DType, Executable, Explanation};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Axes, Node, Site};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::transform::Rewriter;
use std::collections::HashMap;
use std::slice::ChunksExact;

/// The number of rows that are added at a time.
const BLOCK: usize = 256;

/// An aggregate that is computed for many groups at once: one whose results are computed element by element from totals
/// of numbers over the rows.
#[derive(Debug)]
pub struct Grouping {
    columns: Vec<String>,
    constants: Vec<(String, AnyArray)>,
    /// Computes for each row what the totals add up, in the order of the totals; `None` if there are only counts.
    rows: Option<Executable>,
    /// Each total, with the places of its values among what a row gives.
    totals: Vec<(Total, Vec<usize>)>,
    /// The words of the record of a group without rows.
    empty: Vec<u64>,
    /// Computes the results from inputs with an element for each group.
    finish: Executable,
    /// What the names of these inputs start with; a number follows, or nothing for the number of rows.
    mark: String,
}

/// The totals of many groups, by the numbers of the groups.
#[derive(Debug, Clone, Default)]
pub struct GroupStates {
    /// A record for each group: its number of rows and the registers of all totals, each as the bits of a number. Rows come
    /// in any order of groups, so what a row changes lies together.
    words: Vec<u64>,
    /// The number of words of a record; 0 before there are groups.
    width: usize,
}

impl GroupStates {
    /// Returns the memory that the states hold, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<GroupStates>() + 8 * self.words.capacity()
    }

    /// Removes the first groups, and returns them; those behind them get their numbers.
    #[must_use]
    pub fn take(&mut self, groups: usize) -> GroupStates {
        let rest = self.words.split_off(groups.min(self.groups()) * self.width);
        GroupStates { words: std::mem::replace(&mut self.words, rest), width: self.width }
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.words.len().checked_div(self.width).unwrap_or(0)
    }

    fn records(&self) -> ChunksExact<'_, u64> {
        self.words.chunks_exact(self.width.max(1))
    }

    /// Returns the numbers of rows.
    fn counts(&self) -> impl Iterator<Item = u64> {
        self.records().filter_map(|record| record.first()).copied()
    }

    /// Returns some words of a group.
    fn registers<const COUNT: usize>(&mut self, group: usize, at: usize) -> Option<&mut [u64; COUNT]> {
        self.words.get_mut(group * self.width + at..)?.first_chunk_mut()
    }

    /// Returns the groups as bytes for another process, one after the other, each of [`GroupStates::record_bytes`].
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 * self.words.len());
        self.words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes
    }

    /// Returns the number of bytes of a group for another process.
    pub fn record_bytes(&self) -> usize {
        8 * self.width
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
        // What several totals add up is computed once.
        let mut values: Vec<(ExprId, DType)> = Vec::new();
        let totals = totals.into_iter().map(|(total, added)| {
            let places = added.into_iter().map(|value| {
                let value = (value, total.class().dtype());
                let known = values.iter().position(|known| *known == value);
                known.unwrap_or_else(|| {
                    values.push(value);
                    values.len() - 1
                })
            });
            (total, places.collect())
        });
        let totals: Vec<(Total, Vec<usize>)> = totals.collect();
        let mut named = Vec::new();
        for (value, dtype) in &values {
            let (image, site) = (rows.image(*value), graph.graph().site(*value));
            // Equal outputs are one expression, but each has its name.
            named.push((format!("{}", named.len()), rows.builder().cast(image, *dtype, site)));
        }
        let named: Vec<(&str, ExprId)> = named.iter().map(|(name, wide)| (name.as_str(), *wide)).collect();
        let rows = match named.is_empty() {
            true => None,
            false => {
                let rows = rows.finish_part(&named, |symbol| symbol != graph.rows)?;
                Some(Executable::compile(&rows, options)?)
            }
        };
        let registers = totals.iter().flat_map(|(total, _)| total.empty());
        let empty = std::iter::once(&0).chain(registers).copied().collect();
        Ok(Some(Grouping { columns, constants, rows, totals, empty, finish, mark }))
    }

    /// Returns the size of the machine code, in bytes.
    pub fn code_bytes(&self) -> usize {
        self.rows.iter().chain([&self.finish]).map(|executable| executable.explain().code_bytes()).sum()
    }

    /// Explains the kernels, each with what it does.
    pub fn explain(&self) -> Vec<(&'static str, Explanation)> {
        let rows =
            self.rows.iter().map(|rows| ("rows to what the totals of their groups add up", rows.explain()));
        rows.chain([("totals of all groups to results", self.finish.explain())]).collect()
    }

    /// Returns the states of no groups.
    pub fn states(&self) -> GroupStates {
        GroupStates { words: Vec::new(), width: self.empty.len() }
    }

    /// Makes room for groups. Refuses the states of another aggregate.
    fn resize(&self, states: &mut GroupStates, groups: usize) -> Result<(), ColumnError> {
        if states.width != self.empty.len() && !states.words.is_empty() {
            return Err(ColumnError::State { what: "it has other totals" });
        }
        states.width = self.empty.len();
        let more = groups.saturating_sub(states.groups());
        states.words.reserve(more * self.empty.len());
        (0..more).for_each(|_| states.words.extend_from_slice(&self.empty));
        Ok(())
    }

    /// Adds rows to their groups, whose numbers are below `count`. Rows that `filter` does not keep, or that have a null in
    /// any column, are left out.
    ///
    /// # Errors
    /// Returns an error if the columns, the groups and the filter have different numbers of rows, if a row belongs to a group
    /// that does not exist, if the states are those of another aggregate, or if the data have no result.
    pub fn update(
        &self,
        states: &mut GroupStates,
        columns: &[(String, Column)],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<(), ColumnError> {
        self.resize(states, count)?;
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
        // The records of a block of rows stay in the nearest cache while all totals are added.
        let mut counts = Vec::with_capacity(BLOCK);
        for (groups, start) in groups.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            counts.clear();
            for group in groups {
                let Some([count]) = states.registers(*group, 0) else { continue };
                *count = count.wrapping_add(1);
                counts.push(*count as f64);
            }
            let mut at = 1;
            for (total, places) in &self.totals {
                let mut of_block: [&[u64]; 2] = [&[]; 2];
                for (of_block, place) in of_block.iter_mut().zip(places) {
                    *of_block = values.get(*place).and_then(|values| values.get(start..)).unwrap_or_default();
                }
                total.add(states, at, groups, &counts, of_block);
                at += total.empty().len();
            }
        }
        Ok(())
    }

    /// Returns the results, a row for each group; null for groups without rows.
    ///
    /// # Errors
    /// Returns an error if the states are those of another aggregate, or if there is not enough memory.
    pub fn finish(&self, states: &GroupStates) -> Result<Vec<ArrayRef>, ColumnError> {
        if states.width != self.empty.len() {
            return Err(ColumnError::State { what: "it has other totals" });
        }
        let counts = states.counts().map(|rows| rows as i64).collect::<Vec<i64>>();
        let there: BooleanBuffer = counts.iter().map(|rows| *rows > 0).collect();
        let mut inputs = vec![(self.mark.clone(), AnyArray::from(Array::new(counts, &[states.groups()])?))];
        let mut at = 1;
        for (number, (total, _)) in self.totals.iter().enumerate() {
            inputs.push((format!("{} {number}", self.mark), total.finished(states, at)?));
            at += total.empty().len();
        }
        inputs.extend(self.constants.iter().cloned());
        let nulls = Some(NullBuffer::new(there)).filter(|nulls| nulls.null_count() > 0);
        let results = run(&self.finish, &[], &inputs, &[])?.into_iter();
        results.map(|(name, array)| column_of(&name, array, true, nulls.clone())).collect()
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
        self.resize(states, count)?;
        let count = states.groups();
        let Some(own) = states.words.chunks_exact_mut(states.width).nth(group) else {
            return Err(ColumnError::Group { group, count });
        };
        let (words, rest) = bytes.as_chunks::<8>();
        if words.len() != own.len() || !rest.is_empty() {
            return Err(ColumnError::State { what: "it does not have the totals of a group" });
        }
        let mut records = own.iter_mut().zip(words.iter().map(|word| u64::from_le_bytes(*word)));
        let Some((rows, more)) = records.next() else { return Ok(()) };
        let counts = [*rows, more].map(|rows| rows as f64);
        *rows = rows.wrapping_add(more);
        self.totals.iter().for_each(|(total, _)| total.merge(&mut records, counts));
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
            let is_mean = found.is_mean;
            let total = match found.values {
                [a, b] if a == b => self.total(Total::Squares { is_mean }, vec![a], site),
                values => self.total(Total::Products { is_mean }, values.to_vec(), site),
            };
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
