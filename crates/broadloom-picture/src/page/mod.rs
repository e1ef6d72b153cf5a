//! Explanations as a page: one file that needs no other, with text that is readable without its script.
//!
//! ```text
//! Listing, CheckedGraph, ProgramText ──▶ columns: program | loops | machine code ──▶ template.html
//!                                                                                      ▲
//!                                                                      page.css, page.js, SVG
//! ```
//!
//! The columns are linked by attributes that `page.js` reads: `data-e` has the expressions of a line, `data-s` the statement that
//! it is a part of.

mod loops;
mod program;
mod template;

pub use program::ProgramText;

use crate::drawing::Drawing;
use crate::label::{Escaped, visible};
use crate::svg;
use broadloom::{CompileError, Explanation, Listing};
use broadloom_ir::ExprId;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::ops::Range;

/// The number of colours of the bars beside lines.
const COLORS: usize = 8;

/// What stands where kernels would stand.
const NO_KERNELS: &str = "<p class=\"empty\">There are no kernels: nothing is computed in loops.</p>\n";

/// The parts of a page share these.
struct Page<'a> {
    explanation: &'a Explanation,
    listing: &'a Listing,
    program: Option<&'a ProgramText>,
    /// Where expressions were written.
    spans: HashMap<ExprId, Range<usize>>,
    /// The colours of the expressions that have lines in loops.
    colors: BTreeMap<ExprId, usize>,
}

/// Returns the page of an explanation, and of the text of the program, if it has one.
///
/// # Errors
/// Returns an error if compiling the kernels once more fails.
pub fn page(explanation: &Explanation, program: Option<&ProgramText>) -> Result<String, CompileError> {
    let listing = explanation.listing()?;
    let computed = listing.parts.iter().flat_map(|part| &part.kernels).flat_map(|kernel| &kernel.loops);
    let mut colors: BTreeMap<ExprId, usize> = BTreeMap::new();
    for expr in computed.flat_map(|line| &line.exprs) {
        let next = colors.len() % COLORS;
        colors.entry(*expr).or_insert(next);
    }
    let spans = program.map(|program| program.spans.iter().cloned().collect()).unwrap_or_default();
    let page = Page { explanation, listing: &listing, program, spans, colors };
    let title = match program {
        Some(program) => format!("broadloom explain: {}", visible(&program.name)),
        None => "broadloom explain".to_string(),
    };
    let drawing = Drawing::new(explanation);
    let chips = items(&[drawing.summary.clone(), listing.compiled.clone()]);
    let graph = match explanation.kernels() {
        0 => NO_KERNELS.to_string(),
        _ => svg::svg(drawing),
    };
    Ok(template::filled(&[
        ("title", &Escaped(&title).to_string()),
        ("style", include_str!("page.css")),
        ("script", include_str!("page.js")),
        ("chips", &chips),
        ("program", &page.program()),
        ("loops", &page.loops()),
        ("code", &page.code()),
        ("arrays", &page.arrays()),
        ("notes", &page.notes()),
        ("costs", &page.costs()),
        ("graph", &graph),
    ]))
}

impl Page<'_> {
    /// Facts about the whole, beside its costs.
    fn notes(&self) -> String {
        match self.listing.notes.as_slice() {
            [] => String::new(),
            notes => format!("<ul>{}</ul>\n", items(notes)),
        }
    }

    /// The class of a line that stands for some expressions: the colour of the last one, which reads the others.
    fn color(&self, exprs: &[ExprId]) -> String {
        let color = exprs.iter().rev().find_map(|expr| self.colors.get(expr));
        color.map(|color| format!(" h{color}")).unwrap_or_default()
    }

    /// The table of the arrays of each part.
    fn arrays(&self) -> String {
        let mut html = String::new();
        for part in &self.listing.parts {
            html += &heading(part.heading.as_deref());
            html += "<div class=\"table\"><table><thead><tr><th>Role</th><th>Name</th><th>Type</th><th>Bytes</th>\
                     <th>Why it is stored</th></tr></thead><tbody>\n";
            for array in &part.arrays {
                let type_ = format!("{}[{}]", array.dtype, array.sizes.join(", "));
                let reason = match (array.role, &array.reason) {
                    ("held", Some(reason)) => format!("{reason}; it has room for some rows at a time"),
                    (_, Some(reason)) => reason.clone(),
                    (_, None) => String::new(),
                };
                let exprs: Vec<ExprId> = array.expr.into_iter().collect();
                let _ = writeln!(
                    html,
                    "<tr{}><td>{}</td><td><code>{}</code></td><td><code>{}</code></td><td><code>{}</code></td>\
                     <td>{}</td></tr>",
                    links(&exprs, None),
                    array.role,
                    text(&array.name),
                    text(&type_),
                    text(&array.bytes.to_string()),
                    text(&reason),
                );
            }
            html += "</tbody></table></div>\n";
            for note in &part.notes {
                let _ = writeln!(html, "<p>{}</p>", text(note));
            }
        }
        if html.is_empty() { NO_KERNELS.to_string() } else { html }
    }

    /// The costs of each kernel, and what is known of its loops.
    fn costs(&self) -> String {
        let mut html = String::new();
        for part in &self.listing.parts {
            html += &heading(part.heading.as_deref());
            for kernel in &part.kernels {
                let (name, outline) = (text(&kernel.name), text(&kernel.outline));
                let facts = items(&kernel.facts);
                let _ = writeln!(html, "<h3><code>{name}</code> {outline}</h3>\n<ul>{facts}</ul>");
            }
        }
        if html.is_empty() { NO_KERNELS.to_string() } else { html }
    }
}

/// The heading of a part, if there are several.
fn heading(heading: Option<&str>) -> String {
    heading.map(|heading| format!("<h3>{}</h3>\n", text(heading))).unwrap_or_default()
}

/// Texts as the items of a list.
fn items(texts: &[String]) -> String {
    texts.iter().map(|item| format!("<li>{}</li>", text(item))).collect()
}

/// A text in which nothing is hidden, for HTML.
fn text(text: &str) -> String {
    Escaped(&visible(text)).to_string()
}

/// The attributes that link a line to others.
fn links(exprs: &[ExprId], statement: Option<(usize, usize)>) -> String {
    let mut attributes = String::new();
    if !exprs.is_empty() {
        let _ = write!(attributes, " data-e=\"{}\"", numbers(exprs));
    }
    if let Some((kernel, statement)) = statement {
        let _ = write!(attributes, " data-s=\"{kernel}.{statement}\"");
    }
    attributes
}

fn numbers(exprs: &[ExprId]) -> String {
    let numbers: Vec<String> = exprs.iter().map(|expr| expr.index().to_string()).collect();
    numbers.join(" ")
}
