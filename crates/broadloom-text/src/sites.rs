//! Maps places in a text to the places that the graph knows.
//!
//! Each part of a text that the graph hears of has a number, and this table maps the number to the part. In this
//! way the graph carries places in a text through inference, to mistakes found only at the end, and to errors of
//! calls.

use crate::source::{Source, Span, Written};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Places;
use broadloom_ir::graph::{CheckedGraph, Site, SiteId};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The parts of a text that have sites.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sites {
    /// The parts, by id.
    spans: Vec<Span>,
    ids: HashMap<Span, SiteId>,
}

impl Sites {
    /// Returns the site of a part of the text.
    pub(crate) fn site(&mut self, span: Span) -> Site {
        let id = *self.ids.entry(span).or_insert_with(|| {
            self.spans.push(span);
            SiteId::new(self.spans.len() - 1)
        });
        Site::Listed(id)
    }

    /// Returns the part of the text that has this site.
    pub(crate) fn span(&self, site: Site) -> Option<Span> {
        self.spans.get(site.id()?.index()).copied()
    }
}

/// Places in a text, for errors of graphs and calls: pass it to their `display_at` to point at the text.
#[derive(Clone, PartialEq)]
pub struct TextPlaces {
    pub(crate) source: Arc<Source>,
    pub(crate) sites: Sites,
}

impl TextPlaces {
    /// Points at the places from which a front end took lines of the text: `written` maps the number of a line,
    /// counted from 1, to its place.
    #[must_use]
    pub fn written_at(mut self, written: impl Fn(usize) -> Option<Written>) -> TextPlaces {
        let lines = 1..=self.source.text.lines().count();
        let found = lines.filter_map(|line| Some((line, written(line)?))).collect();
        Arc::make_mut(&mut self.source).written = found;
        self
    }

    /// Returns the name of the text in messages, such as that of a file.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Returns the text, after declarations that were given beside it.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// Returns the places from which a front end took lines of the text, by the numbers of the lines, counted from 1.
    pub fn written(&self) -> impl Iterator<Item = (usize, &Written)> {
        self.source.written.iter().map(|(line, written)| (*line, written))
    }

    /// Returns the parts of the text, as byte positions, that the expressions of its graph were written as. A part has several
    /// expressions if a function is composed of others.
    ///
    /// ```
    /// let program = broadloom_text::Program::parse("example", "input x: f32[n]; sqrt(x*x)")?;
    /// let resolved = program.resolve_in_full(&[])?;
    /// let spans = resolved.places.spans(&resolved.graph);
    /// let written: Vec<&str> = spans.into_iter().map(|(_, span)| &resolved.places.text()[span]).collect();
    /// assert!(written.contains(&"x*x") && written.contains(&"sqrt(x*x)"));
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    pub fn spans(&self, graph: &CheckedGraph) -> Vec<(ExprId, Range<usize>)> {
        let span = |expr: ExprId| Some((expr, self.sites.span(graph.site(expr))?));
        graph.exprs().filter_map(span).map(|(expr, Span { start, end })| (expr, start..end)).collect()
    }
}

impl Places for TextPlaces {
    fn place(&self, site: Site) -> Option<String> {
        self.sites.span(site).map(|span| self.source.place(span))
    }

    fn lines(&self, site: Site) -> Vec<String> {
        self.sites.span(site).map_or_else(Vec::new, |span| self.source.point_at(span))
    }

    fn expression(&self, site: Site) -> Option<String> {
        let text = self.source.slice(self.sites.span(site)?);
        // Lines that were taken from elsewhere are not what the user wrote.
        let is_own = self.source.written.is_empty() && !text.is_empty();
        is_own.then(|| text.to_owned())
    }
}

impl fmt::Debug for TextPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextPlaces({:?})", self.source.name)
    }
}
