//! The loops of well-known expressions, as snapshots, and that every schedule keeps its promises.

#[path = "../../../tests/cases/expressions.rs"]
mod expressions;

use broadloom_loops::{IndexWidth, Layout, LowerOptions, lower, verify};

#[test]
fn loops_of_well_known_expressions() {
    for (name, build) in expressions::CASES {
        let graph = expressions::graph(*build);
        let schedule = lower(&graph, &LowerOptions::dense(&graph, true)).unwrap();
        insta::assert_snapshot!(name.replace([' ', ','], "_"), schedule);
    }
}

#[test]
fn schedules_keep_their_promises_in_every_layout() {
    for (name, build) in expressions::CASES {
        let graph = expressions::graph(*build);
        let ranks: Vec<usize> = graph.inputs().iter().map(|input| input.shape.rank()).collect();
        for unit in [None, Some(0), Some(1)] {
            let strided = |rank: usize| Layout::Strided { unit: unit.filter(|unit| *unit < rank) };
            for index_width in [IndexWidth::Narrow, IndexWidth::Wide] {
                for vectorize in [true, false] {
                    let options = LowerOptions {
                        inputs: ranks.iter().map(|rank| strided(*rank)).collect(),
                        outputs: graph
                            .outputs()
                            .iter()
                            .map(|output| strided(graph.shape(output.expr).rank()))
                            .collect(),
                        index_width,
                        vectorize,
                        fused: vectorize,
                    };
                    let schedule = lower(&graph, &options).unwrap();
                    assert_eq!(verify(&schedule), Ok(()), "{name}\n{schedule}");
                }
            }
        }
    }
}
