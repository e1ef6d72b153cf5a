//! `broadloom explain --html`: pages whose links lead somewhere, that show names as text, and that a browser can use.

use broadloom_text::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The page of a program, and a folder that has it as `page.html`.
fn page(program: &str) -> (String, TempDir) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("page.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom"));
    let command = command.args(["explain", "--color", "never", "-f", "-", "--html"]).arg(&file);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "{program}");
    (std::fs::read_to_string(file).unwrap(), folder)
}

/// The part of a page from the element with an id to the end of its section.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let start = page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    let end = page[start..].find("</section>").unwrap();
    &page[start..start + end]
}

/// The words in all attributes of a name.
fn words<'p>(html: &'p str, attribute: &str) -> BTreeSet<&'p str> {
    let begin = format!(" {attribute}=\"");
    html.split(&begin).skip(1).flat_map(|part| part.split('"').next().unwrap().split(' ')).collect()
}

const NORM: &str = "input x: f32[n]\ninput y: f32[n]\nsqrt(x*x + y*y) - mean(x)";

const PROGRAMS: &[&str] = &[
    NORM,
    // Several kernels, and an array between them.
    "input x: f32[n]\ninput y: f32[m]\nx[:, None] + y**2.7",
    "input obs: f32[n, 3]\ninput codes: f32[k, 3]\nargmin(sum((codes[None] - obs[:, None])**2, axis=-1), axis=1)",
    // Phases: the data decide a size.
    "input x: f64[n]\nx[x > 0] * 2",
    "input x: f64[n]\nlet y = x[x > 0]\noutput s = sort(y)[::-1]\noutput m = mean(y)",
    // A loop in time.
    "input u0: f64[n]\nfor t in range(9) with u = u0\n  next u = u + 0.1 * (roll(u, 1, axis=0) - u)\nend\noutput u = u",
    "input u0: f64[n]\nwhile max(u) > 1 with u = u0\n  next u = 0.5 * u\nend\noutput u = u",
    // A table, segments, scans, sorts.
    "input t: f32[k]\ninput i: i64[n]\noutput a = take(t, i)\noutput b = segment_sum(a, i, 4)\noutput c = cumsum(a)",
    "input x: f32[n, 70]\noutput a = sort(x, axis=1)\noutput b = softmax(x, axis=1)",
    // Elements that are replaced.
    "input x: f64[n]\nx.at[1:].set(x[1:] * 2)",
    // Nothing but copies, and constants.
    "input x: f32[n]\noutput a = x\noutput b = f32(2)",
    "f32(2)",
];

#[test]
fn links_lead_to_lines() {
    for program in PROGRAMS {
        let (page, _folder) = page(program);
        let count = match Program::parse("program", program).unwrap().resolve() {
            Ok(graph) => graph.len(),
            Err(mistakes) => panic!("{mistakes}"),
        };
        let [in_program, loops, code] = ["program", "loops", "code"].map(|id| section(&page, id));
        let exprs = words(in_program, "data-e");
        for expr in words(&page, "data-e").into_iter().chain(words(&page, "data-in")) {
            assert!(expr.parse::<usize>().unwrap() < count, "{expr}\n{program}");
        }
        for expr in words(loops, "data-e") {
            assert!(exprs.contains(expr), "{expr} is in the loops only\n{program}");
        }
        let statements = words(loops, "data-s");
        for statement in words(code, "data-s") {
            assert!(statements.contains(statement), "{statement} is in the code only\n{program}");
        }
        assert_eq!(code.contains("data-s"), cfg!(target_arch = "x86_64"), "{program}");
        // It needs nothing else, and is complete.
        assert!(!page.contains("{{"), "{program}");
        assert!(!page.contains("src=") && !page.contains("href=") && !page.contains("url("), "{program}");
        assert_eq!(open_elements(&page), Vec::<String>::new(), "{program}");
    }
}

/// The elements that are not closed, or closed in another order.
fn open_elements(page: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((tag, after)) = after.split_once('>') else { break };
        rest = after;
        let name: String = tag.trim_start_matches('/').chars().take_while(|c| c.is_alphanumeric()).collect();
        if tag.starts_with('!') || ["meta", "input"].contains(&&*name) || tag.ends_with('/') {
            continue;
        }
        if tag.starts_with('/') {
            let before = open.pop();
            if before.as_ref() != Some(&name) {
                open.extend(before);
                open.push(format!("/{name}"));
                return open;
            }
            continue;
        }
        // Scripts and styles are not elements.
        if ["script", "style"].contains(&&*name) {
            rest = rest.split_once(&format!("</{name}>")).map_or("", |(_, after)| after);
            continue;
        }
        open.push(name);
    }
    open
}

#[test]
fn a_program_without_kernels_has_a_page() {
    // Only elements are moved.
    let (page, _folder) = page("input x: f64[n]\ninput m: bool[n]\nx[m]");
    for id in ["loops", "code", "arrays", "costs", "graph"] {
        assert!(section(&page, id).contains("There are no kernels"), "{id}\n{page}");
    }
    assert!(section(&page, "costs").contains("selected elements are moved"), "{page}");
}

#[test]
fn names_are_text() {
    let name = "</script><b onclick=alert(1)>&amp;{{script}}'\u{202e}";
    let (page, _folder) = page(&format!("input \"{name}\": f64[n]\noutput \"<i>\" = \"{name}\" * 2"));
    assert!(!page.contains("<b onclick") && !page.contains("<i>"), "{page}");
    assert!(page.contains("&lt;b onclick=alert(1)&gt;&amp;amp;{{script}}&#39;"), "{page}");
    assert!(!page.contains('\u{202e}'), "{page}");
    assert_eq!(page.matches("</script>").count(), 1);
    assert_eq!(open_elements(&page), Vec::<String>::new());
}

#[test]
fn a_program_of_many_parts_has_a_page() {
    let sum: Vec<String> = (0..2000).map(|number| format!("x*{number}.5")).collect();
    let (page, _folder) = page(&format!("input x: f64[n]\n{}", sum.join(" + ")));
    assert!(page.len() < 20_000_000, "{}", page.len());
}

/// A browser, if there is one.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let path = std::env::var_os("PATH")?;
    let files = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    files.into_iter().find(|file| file.is_file())
}

/// Runs a script in a page, and returns what it puts into the attribute `data-result` of the body.
fn in_browser(browser: &Path, page: &str, folder: &Path, script: &str) -> String {
    let end = format!("<script>document.body.dataset.result = (() => {{ {script} }})();</script>\n</body>");
    let file = folder.join("scripted.html");
    std::fs::write(&file, page.replace("</body>", &end)).unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--window-size=1400,700", "--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8(output.stdout).unwrap();
    let result = dom.split_once("data-result=\"").map(|(_, rest)| rest.split('"').next().unwrap_or_default());
    let result = result.unwrap_or_else(|| panic!("{dom}\n{}", String::from_utf8_lossy(&output.stderr)));
    result.replace("&quot;", "\"").replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
}

/// What is in all scripts: the texts of the lines that are marked, by column, and keys.
const TOOLS: &str = "\
const line = (id, text) => [...document.querySelectorAll(`#${id} .line`)].find((each) => each.textContent.includes(text));\n\
const marked = (id) => [...document.querySelectorAll(`#${id} .marked`)].map((each) => each.textContent);\n\
const shown = () => ['program', 'loops', 'code'].map((id) => `${id}: ${marked(id).join(' | ')}`).join('\\n');\n\
const key = (key) => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));\n\
const isSeen = (element) => {\n\
  const [inner, outer] = [element, element.closest('.column')].map((each) => each.getBoundingClientRect());\n\
  return inner.top >= outer.top && inner.bottom <= outer.bottom;\n\
};\n";

#[test]
fn a_click_marks_the_lines_that_belong_together() {
    let Some(browser) = browser() else {
        eprintln!("NOT RUN: pages in a browser, because chromium is not installed");
        return;
    };
    let (page, folder) = page(NORM);
    let run = |script: &str| {
        let result = in_browser(&browser, &page, folder.path(), &format!("{TOOLS}{script}"));
        let columns = result.lines().filter_map(|line| line.split_once(": "));
        columns.map(|(id, texts)| (id.to_owned(), texts.to_owned())).collect::<BTreeMap<String, String>>()
    };
    // A statement of the loops.
    let marked = run("line('loops', '= add ').click(); return shown();");
    assert!(marked["program"].starts_with("x*x |  +  | y*y | "), "{marked:?}");
    assert!(marked["program"].contains("add(%"), "{marked:?}");
    assert!(!marked["program"].contains("sqrt"), "{marked:?}");
    assert!(marked["loops"].contains("= add ") && !marked["loops"].contains(" | "), "{marked:?}");
    if cfg!(target_arch = "x86_64") {
        let own: Vec<&str> = marked["code"].split(" | ").collect();
        assert!(own.iter().any(|text| text.contains("add")), "{marked:?}");
        assert!(!own.iter().any(|text| text.contains("sqrt")), "{marked:?}");
        // An instruction, and the way back.
        let back = run("line('code', 'sqrt').click(); return shown();");
        assert!(back["program"].contains("sqrt(%") && back["loops"].contains("= sqrt "), "{back:?}");
        // What is marked elsewhere is scrolled into view.
        let seen = run(
            "line('loops', '= add ').click(); return `seen: ${isSeen(document.querySelector('#code .marked'))}`;",
        );
        assert_eq!(seen["seen"], "true");
    }
    // A part of the text.
    let of_text = run(
        "[...document.querySelectorAll('.part')].find((part) => part.textContent === 'x*x' || part.textContent === '*')\
         .click(); return shown();",
    );
    assert!(of_text["loops"].contains("= multiply "), "{of_text:?}");
    // Keys: to the next column, down and up; and back to nothing.
    let followed =
        run("line('program', 'add(').click(); key('ArrowRight'); key('ArrowDown'); return shown();");
    assert!(followed["loops"].contains("= sqrt ") && followed["program"].contains("sqrt(%"), "{followed:?}");
    let ended = run("line('loops', '= add ').click(); key('Escape'); return shown();");
    assert_eq!(ended["loops"], "", "{ended:?}");
    // Search.
    let found = run("const search = document.getElementById('search'); search.value = 'SQRT v'; \
         search.dispatchEvent(new Event('input')); \
         return `found: ${[...document.querySelectorAll('.found')].map((each) => each.textContent).join(' | ')}`;");
    assert!(found["found"].contains("= sqrt v") && !found["found"].contains(" | "), "{found:?}");
}
