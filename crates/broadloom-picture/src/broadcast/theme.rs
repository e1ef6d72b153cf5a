//! Colours for light and dark pages.

/// The number of colours of operands.
const COLOURS: usize = 3;

/// Returns the class of the operand at a position.
pub fn operand(index: usize) -> String {
    format!("operand{}", index % COLOURS)
}

/// Returns the class of texts about the operand at a position.
pub fn ink(index: usize) -> String {
    format!("ink{}", index % COLOURS)
}

/// The class of results.
pub const RESULT: &str = "result";

/// The style sheet. Selectors begin with the class of the picture, because a page that contains it shares its styles;
/// and they use no variables, which some viewers lack.
pub const STYLE: &str = "\
.broadcast .page{fill:#ffffff;stroke:#d5dbe4}
.broadcast .rule{fill:none;stroke:#b9c4d4}
.broadcast path{stroke-width:1.2}
.broadcast text{fill:#1f2733}
.broadcast .pale{fill:#5b677a}
.broadcast .line{fill:none;stroke:#8a96a8}
.broadcast .operand0 .cell{fill:#d6e8ff;stroke:#3b7dd8}
.broadcast .operand1 .cell{fill:#ffe6c9;stroke:#d27a16}
.broadcast .operand2 .cell{fill:#eadfff;stroke:#7f56c9}
.broadcast .result .cell{fill:#daf3e0;stroke:#2c9a50}
.broadcast .operand0 .top{fill:#c3dcfb}
.broadcast .operand1 .top{fill:#fbd9b1}
.broadcast .operand2 .top{fill:#decffb}
.broadcast .result .top{fill:#c7ead0}
.broadcast .operand0 .side{fill:#b0cff5}
.broadcast .operand1 .side{fill:#f3ca99}
.broadcast .operand2 .side{fill:#d1bef5}
.broadcast .result .side{fill:#b3dfbf}
.broadcast .cell.ghost{fill-opacity:.3;stroke-opacity:.55;stroke-dasharray:2.5 2.5}
.broadcast .cell.gap{fill-opacity:.15;stroke:none}
.broadcast .cell.empty{fill-opacity:0;stroke-dasharray:2 3}
.broadcast text.ghost{fill-opacity:.5}
.broadcast .ink0{fill:#1d58ab}
.broadcast .ink1{fill:#994f00}
.broadcast .ink2{fill:#5f35ad}
.broadcast .cell.unmatched{fill:#ffd5d5;stroke:#d32f2f}
.broadcast .cell.gap.unmatched{stroke:none}
.broadcast .dot{fill:#5b677a}
.broadcast .cross{fill:none;stroke:#d32f2f;stroke-width:5;stroke-linecap:round}
.broadcast .hint{fill:#ffd5d5;fill-opacity:.6}
.broadcast text.clash{fill:#c62828}
.broadcast .line.clash{stroke:#d32f2f}
.broadcast text.code{fill:#1c7a3c}
@media (prefers-color-scheme:dark){
.broadcast .page{fill:#12161d;stroke:#2c3644}
.broadcast .rule{stroke:#3b4757}
.broadcast text{fill:#e6ebf2}
.broadcast .pale{fill:#9aa7b8}
.broadcast .line{stroke:#728095}
.broadcast .operand0 .cell{fill:#1d3f6e;stroke:#6fb0ff}
.broadcast .operand1 .cell{fill:#5e3c12;stroke:#f0a04a}
.broadcast .operand2 .cell{fill:#43307a;stroke:#b79bf5}
.broadcast .result .cell{fill:#1b4d2c;stroke:#5fd088}
.broadcast .operand0 .top{fill:#24507f}
.broadcast .operand1 .top{fill:#6e481a}
.broadcast .operand2 .top{fill:#50398f}
.broadcast .result .top{fill:#226038}
.broadcast .operand0 .side{fill:#163257}
.broadcast .operand1 .side{fill:#4a2f0d}
.broadcast .operand2 .side{fill:#362664}
.broadcast .result .side{fill:#143b22}
.broadcast .ink0{fill:#a9d0ff}
.broadcast .ink1{fill:#ffc888}
.broadcast .ink2{fill:#d6c6ff}
.broadcast .cell.unmatched{fill:#6b2222;stroke:#ff7b7b}
.broadcast .cell.gap.unmatched{stroke:none}
.broadcast .dot{fill:#9aa7b8}
.broadcast .cross{stroke:#ff7b7b}
.broadcast .hint{fill:#6b2222;fill-opacity:.6}
.broadcast text.clash{fill:#ff8f8f}
.broadcast .line.clash{stroke:#ff7b7b}
.broadcast text.code{fill:#7fdc9d}
}";
