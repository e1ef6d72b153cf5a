//! A gallery of mistakes, and what Broadloom says about them: while an expression is written, when arrays are
//! passed, and when a kernel meets data that have no result. docs/errors.md is the same as a page.
//!
//! ```text
//! cargo run --example mistakes
//! ```
#![allow(clippy::print_stdout, reason = "the gallery is printed")]

mod gallery;

use std::io::IsTerminal;

fn main() {
    // Colours are for terminals, unless their user wants none (<https://no-color.org>).
    let is_colored = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    for section in gallery::GALLERY {
        println!("\n==== {}\n{}", section.title, section.about);
        for mistake in section.mistakes {
            let (title, meant, site) = (mistake.title, mistake.meant, mistake.site);
            println!("\n---- {title} ({site})\n{meant}\n");
            match mistake.make() {
                Some(caught) => println!("{}", caught.text(is_colored)),
                None => println!("no mistake"),
            }
        }
    }
}
