//! The template of a page.

const TEMPLATE: &str = include_str!("template.html");

/// Returns the template with values for the names in `{{ }}`. Values are not read again, so that a text in braces stays as it is.
pub fn filled(values: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        page += before;
        let Some((name, after)) = after.split_once("}}") else { break };
        page += values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        rest = after;
    }
    page + rest
}
