//! The tutorial is true: its listings are those of the programs, and the programs work as two
//! processes.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn every_listing_is_a_part_of_a_program() {
    let read = |path: &str| {
        let path = Path::new(FOLDER).join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let sources = |names: &[&str]| names.iter().map(|name| read(name)).collect::<Vec<_>>();
    let c = sources(&["tutorial.h", "server.c", "client.c"]);
    let rust = sources(&["src/lib.rs", "src/bin/server.rs", "src/bin/client.rs"]);
    let text = read("../../tutorial.md");
    let mut listings = 0;
    for block in text.split("\n```").skip(1).step_by(2) {
        let (language, listing) = block.split_once('\n').expect("a listing");
        let programs = match language {
            "c" => &c,
            "rust" => &rust,
            _ => continue,
        };
        // A listing may leave out the indentation that all of its lines have.
        let lines: Vec<&str> = listing.lines().collect();
        let is_part = |program: &String| {
            let all: Vec<&str> = program.lines().collect();
            all.windows(lines.len()).any(|part| {
                let indent = part[0].len() - part[0].trim_start().len();
                part.iter().zip(&lines).all(|(of_program, of_text)| {
                    of_program.get(indent..).unwrap_or_default() == *of_text
                })
            })
        };
        assert!(programs.iter().any(is_part), "no program has the listing:\n{listing}");
        listings += 1;
    }
    assert!(listings > 8, "{listings} listings");
}

#[test]
fn two_processes_exchange_a_message() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_server"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut output = BufReader::new(server.stdout.take().expect("piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("text");
    assert_eq!(line, "listening\n");
    let client =
        Command::new(env!("CARGO_BIN_EXE_client")).arg("127.0.0.1").output().expect("it runs");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert!(server.wait().expect("it ends").success(), "{rest}");
    assert!(client.status.success(), "{}", String::from_utf8_lossy(&client.stderr));
    assert_eq!(String::from_utf8_lossy(&client.stdout), "written\n");
    assert_eq!(rest, "the client wrote: hello, server\n");
}
