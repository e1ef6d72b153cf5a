//! The sessions of docs/data.md, typed into a shell. `UPDATE_DOCS=1` writes what the commands print.

mod common;

use common::{PROGRAM, Process};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const ADDRESS: &str = "127.0.0.1:50050";

/// A shell in a directory of its own, with servers in the background.
struct Shell {
    directory: tempfile::TempDir,
    servers: Vec<Process>,
    /// The address of the scheduler, whose port is a free one.
    address: String,
}

impl Shell {
    /// Runs a command, and returns what it prints.
    fn run(&mut self, command: &str) -> String {
        let command = command.replace(ADDRESS, &self.address);
        let path = Path::new(PROGRAM).parent().unwrap().display();
        let mut shell = Command::new("sh");
        // Servers are killed at the end, and what they keep goes with the directory.
        shell.current_dir(&self.directory).env("TMPDIR", self.directory.path());
        shell.env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()));
        let Some(server) = command.strip_suffix(" &") else {
            let output = shell.args(["-c", &command]).output().unwrap();
            return String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        };
        let server = server.replace("sql scheduler", "sql scheduler --port 0");
        let mut server =
            shell.args(["-c", &format!("exec {server}")]).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
        self.servers.push(Process(server));
        if let Some(address) = line.trim().strip_prefix("scheduler listening on ") {
            self.address = address.to_owned();
        }
        line.replace(&self.address, ADDRESS)
    }
}

#[test]
fn the_page_prints_what_its_commands_print() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Shell { directory, servers: Vec::new(), address: ADDRESS.to_owned() };
    let mut typed = String::new();
    let mut is_console = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
        }
        match line.strip_prefix("$ ") {
            Some(command) if is_console => {
                typed += &format!("{line}\n");
                typed += &shell.run(command);
            }
            // What commands print is replaced by what they print now.
            None if is_console && line != "```console" => {}
            _ => typed += &format!("{line}\n"),
        }
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, typed).unwrap();
    } else {
        assert!(page == typed, "docs/data.md is old: UPDATE_DOCS=1 writes it anew\n{typed}");
    }
}
