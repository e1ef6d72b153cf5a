//! The pages as a book: the summary lists all of them, links lead to chapters and headings, and mdBook makes a site of them that
//! can be searched, where it is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const SUMMARY: &str = include_str!("../../book/SUMMARY.md");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The chapters: the paths of pages in the repository, with their titles.
fn chapters() -> BTreeMap<String, String> {
    let entries = SUMMARY.lines().filter_map(|line| {
        let (title, path) = line.trim_start_matches("- ").strip_prefix('[')?.split_once("](")?;
        Some((path.strip_suffix(')')?.to_owned(), title.to_owned()))
    });
    let chapters: Vec<(String, String)> = entries.collect();
    let unique: BTreeMap<String, String> = chapters.iter().cloned().collect();
    assert_eq!(chapters.len(), unique.len(), "the summary lists a page twice");
    unique
}

/// The lines of a page that are not code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The ids that a page's headings have on the site, which are those of GitHub too.
fn ids(page: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for heading in prose(page).filter(|line| line.starts_with('#')) {
        let words = heading.trim_start_matches('#').trim().chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter if letter.is_alphanumeric() => Some(letter),
            _ => None,
        });
        let id: String = words.flat_map(char::to_lowercase).collect();
        let numbered = (1..).map(|number| format!("{id}-{number}"));
        let free = std::iter::once(id.clone()).chain(numbered).find(|id| !ids.contains(id));
        ids.extend(free);
    }
    ids
}

/// The targets of the links and pictures of a page that are not addresses on the web.
fn links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(page) {
        // Code in a line has brackets of its own.
        let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = outside.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        links.extend(targets.filter(|link| !link.starts_with("http")).map(str::to_owned));
    }
    links
}

/// The path that a link of a page means, in the repository.
fn target(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.extend(part.to_str()),
            _ => {}
        }
    }
    parts.join("/")
}

#[test]
fn the_summary_lists_all_pages_by_their_titles() {
    let mut pages: BTreeSet<String> = BTreeSet::new();
    for folder in ["", "docs", "examples"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") && !name.starts_with("LICENSE") {
                pages.insert(Path::new(folder).join(name).to_string_lossy().replace('\\', "/"));
            }
        }
    }
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        pages.insert(format!("crates/{}/README.md", entry.unwrap().file_name().to_string_lossy()));
    }
    let chapters = chapters();
    assert_eq!(chapters.keys().cloned().collect::<BTreeSet<_>>(), pages);
    for (path, title) in &chapters {
        assert!(read(path).starts_with(&format!("# {title}\n")), "{path} has another title than {title:?}");
        // The book has the file itself, not a copy.
        let in_book = root()
            .join("book")
            .join(path)
            .canonicalize()
            .unwrap_or_else(|error| panic!("book/{path}: {error}"));
        assert_eq!(in_book, root().join(path).canonicalize().unwrap());
    }
}

#[test]
fn links_lead_to_chapters_and_headings() {
    let chapters = chapters();
    let mut checked = 0;
    for page in chapters.keys() {
        let text = read(page);
        for link in links(&text) {
            checked += 1;
            let (file, id) = link.split_once('#').unwrap_or((&link, ""));
            let path = if file.is_empty() { page.clone() } else { target(page, file) };
            match path.ends_with(".md") {
                true => {
                    assert!(chapters.contains_key(&path), "{page} links to {link}, which is not a chapter")
                }
                false => assert!(
                    root().join("book").join(&path).is_file(),
                    "{page} links to {link}, which is not in the book"
                ),
            }
            assert!(
                id.is_empty() || ids(&read(&path)).contains(id),
                "{page} links to {link}, and {path} has no such heading"
            );
        }
    }
    assert!(checked > 80, "{checked}");
}

/// The gallery has all pictures that examples draw of data of their own, scaled down, so that a clone stays small.
#[test]
fn the_gallery_shows_what_examples_draw() {
    let page = read("docs/gallery.md");
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let main = path.join("main.rs");
        let file = if main.is_file() { main } else { path.clone() };
        if file.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            sources.push((name, std::fs::read_to_string(file).unwrap()));
        }
    }
    let mut pictures = BTreeSet::new();
    for (name, source) in sources {
        let Some((_, files)) = source.split_once("output: \"where to write ") else { continue };
        let files = files.split('"').next().unwrap().split(" and ").filter(|file| file.ends_with(".png"));
        let files: Vec<&str> = files.collect();
        if files.is_empty() {
            continue;
        }
        let shown = files.iter().filter(|file| page.contains(&format!("## `{name}`: {file}\n\n![")));
        assert!(shown.count() > 0, "docs/gallery.md shows none of the pictures of {name}: {files:?}");
        pictures.extend(files.into_iter().map(str::to_owned));
    }
    let mut bytes = 0;
    for entry in std::fs::read_dir(root().join("docs/gallery")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(
            pictures.contains(&name) && page.contains(&format!("gallery/{name})")),
            "{name} is no picture of an example"
        );
        bytes += entry.metadata().unwrap().len();
    }
    assert!(bytes < 500_000, "the pictures have {bytes} bytes");
}

/// A program on the path, if there is one.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let files: Vec<PathBuf> = std::env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .collect();
    files.into_iter().find(|file| file.is_file())
}

#[test]
fn the_book_is_a_site_with_a_search_box() {
    let Some(mdbook) = program(&["mdbook"]) else {
        eprintln!("NOT RUN: the pages as a book, because mdbook is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site");
    let built = Command::new(mdbook).arg("build").arg(root()).arg("--dest-dir").arg(&site).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for page in chapters().keys() {
        let html = page.replace(".md", ".html");
        let text =
            std::fs::read_to_string(site.join(&html)).unwrap_or_else(|error| panic!("{html}: {error}"));
        assert!(text.contains("searchbar\""), "{html} has no search box");
        // What mdBook made of the links.
        let main = text
            .split_once("<main>")
            .and_then(|(_, main)| main.split_once("</main>"))
            .map_or("", |(main, _)| main);
        let links = [" href=\"", " src=\""].into_iter().flat_map(|attribute| main.split(attribute).skip(1));
        for link in links.filter_map(|rest| rest.split('"').next()) {
            let (file, id) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") || link.starts_with("data:") {
                continue;
            }
            let path = if file.is_empty() { html.clone() } else { target(&html, file) };
            assert!(site.join(&path).is_file(), "{html} links to {link}");
            let there = std::fs::read_to_string(site.join(&path)).unwrap_or_default();
            assert!(
                id.is_empty() || there.contains(&format!("id=\"{id}\"")),
                "{html} links to {link}, where no such id is"
            );
        }
    }
    let Some(browser) = program(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
    else {
        eprintln!("NOT RUN: the book in a browser, because chromium is not installed");
        return;
    };
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--window-size=1400,900", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}?search=unsqueeze", site.join("index.html").display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let results = dom.split_once("searchresults\"").map_or("", |(_, rest)| rest);
    assert!(
        results.contains("docs/language.html?highlight=unsqueeze#functions"),
        "the search finds nothing:\n{results:.2000}"
    );
}
