//! Reads the facade's tables of examples, which are macros there, as text.

use std::collections::BTreeMap;

/// Operands and result of an op.
pub struct Example {
    args: Option<String>,
    operands: Vec<String>,
    result: String,
}

impl Example {
    /// In a line.
    pub fn text(&self) -> String {
        let names = ["x", "y", "z"];
        let operands: Vec<String> = (names.iter().zip(&self.operands))
            .map(|(name, operand)| format!("`{name} = {}`", clean(operand)))
            .collect();
        let args = self.args.as_ref().map_or(String::new(), |args| format!(" with `({args})`"));
        format!("{}{args}: `{}`", operands.join(", "), clean(&self.result))
    }
}

/// Without the suffixes of numbers, that say only how the example is compiled.
fn clean(text: &str) -> String {
    text.replace("f64::INFINITY", "inf").replace("f64::NAN", "NaN").replace("f64", "").replace("f32", "")
}

/// Rows `name: "[1, 2]", "[3, 4]" => exact i32 "[4, 6]";`, or with arguments in parentheses after the name.
pub fn examples(source: &str) -> BTreeMap<String, Example> {
    let mut examples = BTreeMap::new();
    for line in source.lines() {
        let Some((head, tail)) = line.trim().split_once(" => ") else { continue };
        let strings = quoted(head);
        let Some(end) = head.find([':', '(']).filter(|_| !strings.is_empty()) else { continue };
        let has_args = head[end..].starts_with('(');
        let (args, operands) = match strings.split_first() {
            Some((args, operands)) if has_args => (Some(args.clone()), operands.to_vec()),
            _ => (None, strings.clone()),
        };
        if let [result] = &quoted(tail)[..] {
            examples.insert(head[..end].to_string(), Example { args, operands, result: result.clone() });
        }
    }
    examples
}

/// A reduction with its documentation.
pub struct Row {
    pub name: String,
    pub doc: String,
    pub operand: String,
    pub result: String,
}

/// Rows `name, name_keepdims: "[3, 1]" => i64 "4" = ..` after lines of documentation.
pub fn reductions(source: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            doc.push(text);
            continue;
        }
        let said = std::mem::take(&mut doc).join(" ");
        let Some((name, rest)) = line.split_once(", ") else { continue };
        if !rest.starts_with(&format!("{name}_keepdims: \"")) {
            continue;
        }
        if let [operand, result, ..] = &quoted(rest)[..] {
            // Links of rustdoc lead nowhere on a page.
            let doc = said.replace("[`Tensor::", "`").replace("`]", "`");
            let doc = doc.split(" See `").next().unwrap_or_default().to_string();
            rows.push(Row { name: name.into(), doc, operand: clean(operand), result: clean(result) });
        }
    }
    rows
}

/// The string literals of a line.
fn quoted(line: &str) -> Vec<String> {
    line.split('"').skip(1).step_by(2).map(str::to_string).collect()
}
