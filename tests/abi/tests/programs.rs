//! Programs and a provider in the style of those for other DAT libraries compile, for DAT 1.2 and
//! 2.0, with functions and with redirection macros.

use std::fs;
use std::path::Path;

use dat_abi::cc::{self, Language};

/// The languages in which the program compiles with its original headers.
const C: &[Language] = &[Language::Gnu89, Language::C11];
const C_AND_CXX: &[Language] = &[Language::Gnu89, Language::C11, Language::Cxx17];

fn compiles(name: &str, languages: &[Language]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name);
    let source = fs::read_to_string(&path).unwrap();
    // They use POSIX functions beyond ISO C, like every program with sockets.
    let source = format!("#define _DEFAULT_SOURCE 1\n#line 1 \"{name}\"\n{source}");
    for language in languages {
        if let Err(messages) = cc::check(*language, &source) {
            panic!("{name} as {language:?}:\n{messages}");
        }
    }
}

#[test]
fn a_client_of_dat_1_2() {
    compiles("v1_functions.c", C);
}

#[test]
fn a_server_of_dat_1_2_that_goes_straight_to_its_provider() {
    compiles("v1_macros.c", C_AND_CXX);
}

#[test]
fn a_message_layer_over_dat_2_0() {
    compiles("v2_functions.c", C);
}

#[test]
fn a_provider_of_dat_2_0() {
    compiles("v2_macros.c", C_AND_CXX);
}

#[test]
fn a_user_of_the_extensions() {
    compiles("v2_extensions.c", C_AND_CXX);
}
