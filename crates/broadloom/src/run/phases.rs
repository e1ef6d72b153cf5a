//! Runs graphs whose data decide sizes: the parts of the phases, and between them the moves of selected elements.

use super::compress::{Selected, compress, count, whole_number};
use super::strips::Stripped;
use super::{Outputs, RunError, RunOptions, run_ordered};
use crate::array::{AnyArray, Argument, ArrayView, ArrayViewMut, Geometry, IntoArrayView};
use crate::bind::{Binding, Fit, Given, Ordered, Values, check_decided_output, check_known_outputs};
use crate::compiled::Inner;
use crate::phased::{CompiledPhase, PhasePart, Phased, Strips};
use broadloom_ir::SymbolId;
use broadloom_ir::phases::{Decided, Destination, Source};
use smallvec::SmallVec;
use std::sync::Arc;

/// Computes the outputs into new arrays, which it puts into `outputs`. Where these will be copied to `targets`, it checks that
/// they fit before it writes to an input.
pub(super) fn run_phases(
    inner: &Inner,
    phased: &Phased,
    binding: &Binding,
    inputs: &Ordered<'_>,
    options: &RunOptions,
    targets: Option<(&[ArrayViewMut<'_>], Fit)>,
    outputs: &mut Outputs,
) -> Result<(), RunError> {
    let stretched = inner.rules.stretched(&inner.graph, &geometries(inputs), &binding.values);
    let stretched = stretched.map_err(RunError::of_size)?;
    let inputs = inputs.iter().zip(stretched).map(|(input, stretched)| {
        let Argument { view, is_exclusive } = input.clone()?;
        let view = stretched.map_or_else(|| view.clone(), |geometry| view.stretched(geometry));
        Some(Argument { view, is_exclusive })
    });
    let inputs: Ordered<'_> = inputs.collect();
    let mut running = Running {
        inner,
        inputs: &inputs,
        options,
        values: binding.values.clone(),
        slots: vec![None; phased.slots.len()],
        results: vec![None; inner.graph.results().len()],
    };
    let (mut number, count) = (0, phased.phases.len());
    for phase in &phased.phases {
        options.check()?;
        running.check_conditions(&phased.conditions, number)?;
        running.check_results()?;
        number += 1;
        if number == count
            && let Some((targets, fit)) = targets
        {
            running.check_targets(targets, fit)?;
        }
        running.run(phase)?;
        for (slot, info) in running.slots.iter_mut().zip(&phased.slots) {
            if info.last < number {
                *slot = None;
            }
        }
    }
    running.check_conditions(&phased.conditions, count)?;
    running.finish(phased, outputs);
    Ok(())
}

fn geometries<'i>(inputs: &'i Ordered<'_>) -> SmallVec<[Option<&'i Geometry>; 4]> {
    inputs.iter().map(|input| input.as_ref().map(|input| input.view.geometry())).collect()
}

struct Running<'r, 'a> {
    inner: &'r Inner,
    inputs: &'r Ordered<'a>,
    options: &'r RunOptions,
    /// The sizes that are known.
    values: Values,
    slots: Vec<Option<AnyArray>>,
    results: Vec<Option<AnyArray>>,
}

impl Running<'_, '_> {
    /// Checks the conditions on sizes that are known since a phase has ended. The call has checked the first ones.
    fn check_conditions(&self, conditions: &[Vec<usize>], phase: usize) -> Result<(), RunError> {
        let Some(numbers) = conditions.get(phase).filter(|numbers| phase > 0 && !numbers.is_empty()) else {
            return Ok(());
        };
        let geometries = geometries(self.inputs);
        let Inner { graph, rules, .. } = self.inner;
        rules.check_obligations(graph, &geometries, &self.values, numbers).map_err(RunError::of_size)
    }

    /// Checks the limit of the results whose sizes are known.
    fn check_results(&self) -> Result<(), RunError> {
        check_known_outputs(self.inner, &self.values).map_err(RunError::of_size)
    }

    fn check_targets(&self, targets: &[ArrayViewMut<'_>], fit: Fit) -> Result<(), RunError> {
        let geometries = geometries(self.inputs);
        for (output, target) in self.inner.graph.results().iter().zip(targets) {
            check_decided_output(self.inner, &geometries, &self.values, output, target.geometry(), fit)
                .map_err(RunError::of_size)?;
        }
        Ok(())
    }

    fn run(&mut self, phase: &CompiledPhase) -> Result<(), RunError> {
        if let (Some(strips), Some(part)) = (&phase.strips, &phase.part) {
            return self.run_strips(phase, part, strips);
        }
        if let Some(part) = &phase.part {
            self.run_part(part)?;
        }
        for decided in &phase.decided {
            self.decide(decided)?;
        }
        self.check_results()?;
        for moved in &phase.moves {
            let selected = Selected {
                mask: self.view(moved.mask)?,
                operand: moved.operand.map(|operand| self.view(operand)).transpose()?,
                axis: moved.axis,
            };
            let made = compress(&selected, &self.inner.options, self.options)?;
            self.slots[moved.slot] = Some(made);
        }
        Ok(())
    }

    fn run_strips(
        &mut self,
        phase: &CompiledPhase,
        part: &PhasePart,
        strips: &Strips,
    ) -> Result<(), RunError> {
        let rows = self.values[strips.rows.index()].and_then(|rows| usize::try_from(rows).ok());
        let stripped = Stripped {
            whole: self.inner,
            phase,
            part,
            strips,
            inputs: self.inputs,
            given: &self.given(),
            options: self.options,
            rows: rows.ok_or(RunError::MissingArray)?,
        };
        let made = stripped.run()?;
        for (moved, (array, count)) in phase.moves.iter().zip(made) {
            self.slots[moved.slot] = Some(array);
            for decided in phase.decided.iter().filter(|decided| decided.by == moved.mask) {
                self.values[decided.symbol.index()] = Some(count as i64);
            }
        }
        Ok(())
    }

    /// Returns the sizes that are known.
    fn given(&self) -> Given {
        let known = self.values.iter().enumerate();
        known.filter_map(|(symbol, value)| Some((SymbolId::new(symbol), (*value)?))).collect()
    }

    fn run_part(&mut self, part: &PhasePart) -> Result<(), RunError> {
        let inputs = part.inputs.iter().map(|source| match source {
            Source::Array(input) => self.inputs.get(input.index()).cloned().flatten(),
            Source::Slot(_) => {
                let view = self.view(*source).ok()?;
                Some(Argument { view, is_exclusive: false })
            }
        });
        let inputs: Ordered<'_> = inputs.collect();
        let given = self.given();
        let mut made = Outputs::none();
        let result = run_ordered(&part.inner, &inputs, &given, self.options, &mut made);
        drop(inputs);
        result.map_err(|error| RunError::of_call(error.of_part(&part.origins)))?;
        for (destination, array) in part.outputs.iter().zip(made.into_arrays()) {
            match destination {
                Destination::Output(number) => self.results[*number] = Some(array),
                Destination::Slot(slot) => self.slots[*slot] = Some(array),
            }
        }
        Ok(())
    }

    fn decide(&mut self, decided: &Decided) -> Result<(), RunError> {
        let view = self.view(decided.by)?;
        let size = if decided.counts { count(&view, self.options)? } else { whole_number(&view) };
        if size < 0 {
            return Err(RunError::negative_size(&self.inner.graph, decided.expr, size));
        }
        self.values[decided.symbol.index()] = Some(size);
        Ok(())
    }

    /// Returns an array that is there.
    fn view(&self, source: Source) -> Result<ArrayView<'_>, RunError> {
        let view = match source {
            Source::Array(input) => {
                self.inputs.get(input.index()).and_then(Option::as_ref).map(|input| input.view.clone())
            }
            Source::Slot(slot) => self.slots[slot].as_ref().map(IntoArrayView::into_array_view),
        };
        view.ok_or(RunError::MissingArray)
    }

    /// Hands out the results.
    fn finish(mut self, phased: &Phased, outputs: &mut Outputs) {
        for (number, output) in self.inner.graph.results().iter().enumerate() {
            let array = match phased.outputs[number] {
                Some(slot) => {
                    let again = phased.outputs[number + 1..].contains(&Some(slot));
                    if again { self.slots[slot].clone() } else { self.slots[slot].take() }
                }
                None => self.results[number].take(),
            };
            if let Some(array) = array {
                outputs.arrays.push((Arc::from(&*output.name), array));
            }
        }
    }
}
