//! Kernels whose machine code is the same.

use super::*;

impl Kernel {
    /// Returns whether the machine code of another kernel computes this one too. Arrays are passed to it, so they may be others,
    /// with other sizes that are passed as well; and it does not know which expressions it computes, except where it reports an
    /// error of one.
    pub fn has_code_of(&self, other: &Kernel) -> bool {
        let Kernel {
            params,
            accesses,
            axes,
            rows,
            values,
            body,
            parallel,
            counted,
            scanned,
            cost: _,
            exprs: _,
        } = self;
        params.len() == other.params.len()
            && (*parallel, counted, *scanned) == (other.parallel, &other.counted, other.scanned)
            && are_alike(accesses, &other.accesses, Access::is_addressed_as)
            && are_alike(axes, &other.axes, Axis::is_stepped_as)
            && *rows == other.rows
            && are_alike(values, &other.values, Value::is_computed_as)
            && *body == other.body
    }
}

impl Access {
    /// Returns whether elements are found from the base pointer in the same way.
    fn is_addressed_as(&self, other: &Access) -> bool {
        let Access { buffer, dtype, offset: _, offset_param, strides, streams } = self;
        (buffer.is_some(), *dtype, *offset_param, *streams)
            == (other.buffer.is_some(), other.dtype, other.offset_param, other.streams)
            && *strides == other.strides
    }
}

impl Axis {
    /// Returns whether all but the names are the same.
    fn is_stepped_as(&self, other: &Axis) -> bool {
        let Axis { name: _, extent, reduction, groups, stretched } = self;
        (*extent, *reduction, groups, *stretched)
            == (other.extent, other.reduction, &other.groups, other.stretched)
    }
}

impl Value {
    fn is_computed_as(&self, other: &Value) -> bool {
        let Value { dtype, def, origin } = self;
        (*dtype, def) == (other.dtype, &other.def) && (*origin == other.origin || !def.is_reported())
    }
}

fn are_alike<T>(own: &[T], others: &[T], is_alike: impl Fn(&T, &T) -> bool) -> bool {
    own.len() == others.len() && own.iter().zip(others).all(|(own, other)| is_alike(own, other))
}
