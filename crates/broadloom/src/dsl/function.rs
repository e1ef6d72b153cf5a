//! Functions of tensors in graphs that other front ends build.

use super::registry::{self, GraphKey};
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{Graph, Site};

/// Makes a function of tensors one that builds expressions in a graph of another front end, such as the text language of the
/// crate `broadloom-text`, whose `Functions` name it.
///
/// The tensors belong to the graph of the call; those of another graph give a mistake in it.
///
/// ```
/// use broadloom::{function, prelude::*};
/// use broadloom_text::{Formula, Functions};
/// let functions = Functions::new().add("rms", ["x"], function(|[x]| (x * x).mean(..).sqrt()))?;
/// let graph = Formula::new("rms(x - 1)").with_functions(&functions).column("x", "x", DType::F64).resolve()?;
/// let kernel = Executable::compile(&graph, &CompileOptions::default())?;
/// let result: f64 = kernel.run(&[4.0, -3.0, 1.0, 1.0])?.try_into()?;
/// assert_eq!(result, 2.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn function<const N: usize>(
    of_tensors: impl Fn([Tensor; N]) -> Tensor,
) -> impl Fn(&mut Graph, [ExprId; N], Site) -> ExprId {
    move |graph, operands, site| {
        let lent = Lent::new(graph, site);
        let result = of_tensors(operands.map(|expr| Tensor { graph: lent.key, expr }));
        registry::build(lent.key, &[result], &[], site, |_, _| result.expr).expr
    }
}

/// A graph that tensors can be made in. It goes back when this is dropped, after a panic too.
struct Lent<'a> {
    graph: &'a mut Graph,
    key: GraphKey,
}

impl Lent<'_> {
    fn new(graph: &mut Graph, site: Site) -> Lent<'_> {
        let key = registry::insert(std::mem::take(graph), site);
        Lent { graph, key }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(graph) = registry::take(self.key) {
            *self.graph = graph;
        }
    }
}
