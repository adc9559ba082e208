//! Each header compiles alone, all compile together in any order, and system headers may come
//! before or after them.

use std::fs;

use dat_abi::cc::{self, Language};
use dat_abi::{VERSIONS, include};

const LANGUAGES: [Language; 3] = [Language::C89, Language::C11, Language::Cxx17];
const SYSTEM: &str = "#include <netinet/in.h>\n#include <pthread.h>\n#include <stdint.h>\n\
                      #include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                      #include <sys/socket.h>\n#include <sys/time.h>\n#include <unistd.h>\n";

fn headers() -> Vec<Vec<String>> {
    VERSIONS
        .iter()
        .map(|version| {
            let folder = include().join(version.folder());
            let entries = fs::read_dir(&folder).unwrap();
            let mut names: Vec<String> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .map(|name| format!("#include <{}/{name}>\n", version.folder()))
                .collect();
            names.sort();
            assert!(names.len() > 10, "{}: only {names:?}", folder.display());
            names
        })
        .collect()
}

fn compiles(source: &str) {
    for language in LANGUAGES {
        // ISO C does not allow an empty translation unit.
        let source = format!("{source}extern int something;\n");
        if let Err(messages) = cc::check(language, &source) {
            panic!("as {language:?}:\n{source}\n{messages}");
        }
    }
}

#[test]
fn each_header_compiles_alone_and_twice() {
    for header in headers().concat() {
        compiles(&format!("{header}{header}"));
    }
}

#[test]
fn all_headers_of_a_version_compile_together_in_any_order() {
    for mut headers in headers() {
        compiles(&headers.concat());
        headers.reverse();
        compiles(&headers.concat());
        for _ in 1..headers.len() {
            headers.rotate_left(1);
            compiles(&headers.concat());
        }
    }
}

#[test]
fn system_headers_may_come_before_and_after() {
    for headers in headers() {
        let headers = headers.concat();
        compiles(&format!("{SYSTEM}{headers}"));
        compiles(&format!("{headers}{SYSTEM}"));
    }
}
