//! Which argument stands for which name.

use datafusion_common::{Result, plan_err};

/// Returns names as a sentence lists them: `x, y and z`.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [name] => name.clone(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}

/// Returns the name that each argument stands for: its own, if the arguments are columns with exactly the names that
/// are wanted; otherwise the names in order.
///
/// An argument with the name of another place is refused, because it is more likely a mistake than meant.
pub(crate) fn ordered(what: &str, names: &[&str], arguments: &[&str]) -> Result<Vec<String>> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    if names.len() != arguments.len() {
        let (plural, columns) = (if names.len() == 1 { "" } else { "s" }, arguments.len());
        let (is, columns_plural) = if columns == 1 { ("was", "") } else { ("were", "s") };
        return plan_err!(
            "{what} has the name{plural} {}, but {columns} column{columns_plural} {is} passed: pass one column for each name",
            listed(names.iter().copied())
        );
    }
    let is_permutation = names.iter().all(|name| arguments.contains(name));
    if is_permutation {
        return Ok(owned(arguments));
    }
    for (argument, name) in arguments.iter().zip(names) {
        if argument != name && names.contains(argument) {
            return plan_err!(
                "the column `{argument}` would stand for `{name}` in {what}, which also has the name `{argument}`: \
                 name the columns in the expression, or use other names there"
            );
        }
    }
    Ok(owned(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_for_their_names_or_in_order() {
        let ordered = |names: &[&str], arguments: &[&str]| ordered("the expression", names, arguments);
        assert_eq!(ordered(&["x", "y"], &["x", "y"]).unwrap(), ["x", "y"]);
        assert_eq!(ordered(&["y", "x"], &["x", "y"]).unwrap(), ["x", "y"]);
        assert_eq!(ordered(&["x", "y"], &["lon", "lat"]).unwrap(), ["x", "y"]);
        assert_eq!(ordered(&["x", "y"], &["x", "lat"]).unwrap(), ["x", "y"]);
        assert!(
            ordered(&["x", "y"], &["y", "lat"]).unwrap_err().to_string().contains("`y` would stand for `x`")
        );
        assert!(ordered(&["x", "y"], &["x", "x"]).is_err());
        let few = ordered(&["x", "y"], &["x"]).unwrap_err().to_string();
        assert!(few.contains("has the names `x` and `y`, but 1 column was passed"), "{few}");
    }
}
