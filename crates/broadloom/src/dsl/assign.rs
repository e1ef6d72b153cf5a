//! Inputs as destinations: values that a run writes back to the arrays that were passed.

use super::graph::Graph;
use super::operand::Operand;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::graph::Site;
use broadloom_ir::ops::Op;

/// Assignment to inputs: a run writes them.
impl Graph {
    /// Like [`Tensor::assign`], with the input first: the array passed for `target` will hold `value`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
    /// // Both read the values before the call.
    /// g.assign(x, y);
    /// g.assign(y, x);
    /// let swap = g.compile([])?;
    /// let (mut a, mut b) = ([1.0f32, 2.0], [3.0f32, 4.0]);
    /// swap.run(inputs! { "x" => &mut a, "y" => &mut b })?;
    /// assert_eq!((a, b), ([3.0, 4.0], [1.0, 2.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn assign(&self, target: Tensor, value: impl Into<Operand>) -> Tensor {
        assign(target, value.into(), Site::caller(), None)
    }
}

/// Assignment to inputs: a run writes them.
impl Tensor {
    /// Makes this input the destination of a value: a run writes the value to the array that is passed for the
    /// input as `&mut`. Returns the value.
    ///
    /// Every read of the input anywhere in the graph, before or after this line, means its value at the call. Each
    /// input can be assigned to once. The value broadcasts to the shape of the input, which never grows. The value
    /// is converted to the dtype of the input within the same kind (integers to integers, integers to floats, and
    /// so on); other conversions need a [cast](Tensor::cast).
    ///
    /// Every kernel of the graph compiled from now on writes to the input, whatever its outputs are. An error that
    /// depends on data (an index out of range) leaves the array unchanged.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// x.assign(x - x.mean(0));
    /// let center = g.compile([("mean", x.mean(0))])?;
    /// let mut data = [1.0f32, 2.0, 6.0];
    /// let mean: f32 = center.run(&mut data)?.try_into()?;
    /// assert_eq!((mean, data), (3.0, [-2.0, -1.0, 3.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn assign(self, value: impl Into<Operand>) -> Tensor {
        assign(self, value.into(), Site::caller(), None)
    }
}

fn assign(target: Tensor, value: Operand, site: Site, op: Option<Op>) -> Tensor {
    let mut tensors = vec![target];
    tensors.extend(value.as_tensor());
    registry::build(registry::home(&tensors), &tensors, &[], site, |graph, _| {
        let value = value.beside(graph, target.expr, site);
        match op {
            Some(op) => graph.assign_op(op, target.expr, value, site),
            None => graph.assign(target.expr, value, site),
        }
    })
}

macro_rules! updates {
    ($($name:ident = $op:ident $method:literal $other:literal => $result:literal;)*) => {
        /// In-place updates of an input: [`Tensor::assign`] with the result of an op on the input and another
        /// operand.
        impl Tensor {
            $(
                #[doc = concat!(
                    "`x.assign(x.", $method, "(other))`: a run writes the result into the array of the input `x`.\n\n",
                    "```\n# use broadloom::prelude::*;\nlet g = Graph::new();\n",
                    "let x = g.input::<i32>(\"x\", shape![g.symbol(\"n\")]);\n",
                    "x.", stringify!($name), "(", $other, ");\n",
                    "let mut data = [1, -6, 7];\n",
                    "g.compile([])?.run(&mut data)?;\n",
                    "assert_eq!(data, ", $result, ");\n",
                    "# Ok::<(), Box<dyn std::error::Error>>(())\n```"
                )]
                #[track_caller]
                pub fn $name(self, other: impl Into<Operand>) -> Tensor {
                    assign(self, other.into(), Site::caller(), Some(Op::$op))
                }
            )*
        }
    };
}
updates! {
    add_ = Add "add" "10" => "[11, 4, 17]";
    subtract_ = Subtract "subtract" "10" => "[-9, -16, -3]";
    multiply_ = Multiply "multiply" "x" => "[1, 36, 49]";
    floor_divide_ = FloorDivide "floor_divide" "2" => "[0, -3, 3]";
    remainder_ = Remainder "remainder" "4" => "[1, 2, 3]";
    pow_ = Pow "pow" "3" => "[1, -216, 343]";
    maximum_ = Maximum "maximum" "0" => "[1, 0, 7]";
    minimum_ = Minimum "minimum" "0" => "[0, -6, 0]";
    bitwise_and_ = BitwiseAnd "bitwise_and" "3" => "[1, 2, 3]";
    bitwise_or_ = BitwiseOr "bitwise_or" "8" => "[9, -6, 15]";
    bitwise_xor_ = BitwiseXor "bitwise_xor" "1" => "[0, -5, 6]";
    bitwise_left_shift_ = BitwiseLeftShift "bitwise_left_shift" "1" => "[2, -12, 14]";
    bitwise_right_shift_ = BitwiseRightShift "bitwise_right_shift" "1" => "[0, -3, 3]";
}

/// Division in place.
impl Tensor {
    /// Same as `x.assign(x / other)`: a run writes the quotient to the array of the input `x`, which holds floats.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// x.divide_(x.norm(Norm::Two, 0));
    /// let mut data = [3.0f32, -4.0];
    /// g.compile([])?.run(&mut data)?;
    /// assert_eq!(data, [0.6, -0.8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn divide_(self, other: impl Into<Operand>) -> Tensor {
        assign(self, other.into(), Site::caller(), Some(Op::Divide))
    }
}
