//! The kernel of a sort: one statement per row of an array.

use crate::kernel::*;
use crate::{LowerError, cost};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Sort;
use smallvec::{SmallVec, smallvec};

/// Makes the kernel that sorts the rows of a dense array, along its last axis, into another dense array.
pub(crate) fn sort_rows(
    shape: &[Dim],
    [source, target]: [(BufferId, DType); 2],
    sort: Sort,
    origin: ExprId,
    axis_names: &dyn Fn(&Dim) -> String,
) -> Result<Kernel, LowerError> {
    let mut kernel = Kernel::default();
    let Some((length, around)) = shape.split_last() else { return Ok(kernel) };
    let rows = Dim::product(around)?;
    let mut add = |size: &Dim| {
        let mut name = axis_names(size);
        while kernel.axes.iter().any(|other| other.name == name) {
            name.push('\'');
        }
        let extent = match size.as_constant() {
            Some(extent) => Extent::Constant(extent),
            None => {
                kernel.params.push(size.clone());
                Extent::Param(ParamId::new(kernel.params.len() - 1))
            }
        };
        kernel.axes.push(Axis { name, extent, reduction: false, groups: SmallVec::new(), stretched: None });
        AxisId::new(kernel.axes.len() - 1)
    };
    let axis = add(length);
    let over_rows = (!rows.is_one()).then(|| add(&rows));
    let apart = match kernel.axes[axis.index()].extent {
        Extent::Constant(length) => Stride::Constant(length),
        Extent::Param(length) => Stride::Param(length),
    };
    let mut strides: SmallVec<[(AxisId, Stride); 4]> = smallvec![(axis, Stride::Constant(1))];
    // Empty rows have no distance between them.
    strides.extend(over_rows.filter(|_| apart != Stride::Constant(0)).map(|rows| (rows, apart)));
    for (buffer, dtype) in [source, target] {
        let (buffer, offset, strides) = (Some(buffer), Dim::ZERO, strides.clone());
        kernel.accesses.push(Access { buffer, dtype, offset, offset_param: None, strides, streams: false });
    }
    let [source_access, target_access] = [0, 1].map(AccessId::new);
    let Sort { indices, descending, .. } = sort;
    let row = Stmt::Sort(SortRow { axis, source: source_access, target: target_access, indices, descending });
    kernel.body = match over_rows {
        None => vec![row],
        Some(rows) => vec![Stmt::For { axis: rows, lanes: 1, body: vec![row] }],
    };
    kernel.parallel = over_rows;
    let bytes = source.1.size() + target.1.size();
    // An estimate may leave out a factor that is too large to represent.
    let times = |count: i64| length.scale(count).unwrap_or_else(|_| length.clone());
    kernel.cost.step = Work { bytes: times(bytes as i64), operations: times(cost::SORT.into()) };
    kernel.exprs = vec![origin];
    Ok(kernel)
}
