//! The grammar of a line, and the word that was probably meant.

use super::super::{
    ConfigItem, Configuration, ConsumerSpace, Line, LineVersion, ProviderVersion, nearest,
};

const GOOD: &str = r#"ofa-ib0 u2.0 threadsafe default libx.so.2 dapl.2.1 "ib0 0" """#;

fn fields(text: impl AsRef<[u8]>) -> Line {
    let text = text.as_ref();
    let shown = String::from_utf8_lossy(text).into_owned();
    Line::parse(1, text).unwrap_or_else(|error| panic!("{error}\n{shown}")).expect("a line")
}

#[test]
fn a_line_has_eight_fields() {
    let expected = Line {
        name: "ofa-ib0".to_owned(),
        api_version: LineVersion { space: ConsumerSpace::User, major: 2, minor: 0 },
        thread_safe: true,
        is_default: true,
        library: "libx.so.2".to_owned(),
        provider_version: ProviderVersion { id: "dapl".to_owned(), major: 2, minor: 1 },
        parameters: "ib0 0".to_owned(),
        platform_parameters: String::new(),
    };
    assert_eq!(fields(GOOD), expected);
    assert_eq!(expected.to_string(), GOOD);
    let other = fields("a k1.2 nonthreadsafe nondefault lib a.b.1.2 x y");
    assert_eq!(other.api_version.space, ConsumerSpace::Kernel);
    assert_eq!((other.thread_safe, other.is_default), (false, false));
    assert_eq!((other.provider_version.id.as_str(), other.provider_version.major), ("a.b", 1));
}

#[test]
fn blank_lines_and_comments_are_skipped() {
    for text in ["", " ", "\t \t", "#", "# a comment", "  #a b c", "# with a return\r", "#\"\\"] {
        assert_eq!(Line::parse(1, text.as_bytes()), Ok(None), "{text:?}");
    }
}

#[test]
fn blanks_quotes_and_comments_bound_the_fields() {
    for (field, value) in [
        ("word", "word"),
        ("a#b", "a#b"),
        ("a\"b\"", "a\"b\""),
        ("a\\\\b", "a\\\\b"),
        ("\"\"", ""),
        ("\"a b\tc\"", "a b\tc"),
        ("\"# no comment\"", "# no comment"),
        (r#""a\"b\\c""#, r#"a"b\c"#),
        (r#""a\b""#, r"a\b"),
        (r#""\\""#, r"\"),
        ("\u{fc}", "\u{fc}"),
        ("\u{b}\u{c}", "\u{b}\u{c}"),
    ] {
        for after in ["x", "\tx  ", "\"x\" # c", " x #", "x\t#\r"] {
            let line = format!("\ta  u1.2\tthreadsafe default l p.1.2 {field} {after}");
            let line = fields(line);
            assert_eq!((line.parameters.as_str(), line.platform_parameters.as_str()), (value, "x"));
        }
    }
    let quoted = r#""my name" "u1.2" "threadsafe" "default" "a lib" "p.1.2" "" """#;
    assert_eq!(fields(quoted).name, "my name");
}

#[test]
fn each_error_names_the_column_and_what_was_expected() {
    for (text, column, message, hint) in [
        ("a", 2, "an API version (field 2 of 8), found the end of the line", "eight fields"),
        ("a  # c", 4, "an API version (field 2 of 8), found the end", "eight fields"),
        ("a u2.0 threadsafe default l p.1.2 x", 36, "the platform parameters (field 8", "\"\""),
        ("a u2.0 threadsafe default l p.1.2", 34, "the IA parameters (field 7 of 8)", "\"\""),
        ("a 1.2", 3, "such as \"u1.2\" or \"u2.0\", found \"1.2\"", "did you mean \"u1.2\"?"),
        ("a U2.0", 3, "found \"U2.0\"", "did you mean \"u2.0\"?"),
        ("a u2", 3, "an API version", ""),
        ("a u2.0.1", 3, "an API version", ""),
        ("a u+2.0", 3, "an API version", ""),
        ("a u.0", 3, "an API version", ""),
        ("a u2.4294967296", 3, "an API version", ""),
        (
            "a u2.0 threadSafe",
            8,
            "expected \"threadsafe\" or \"nonthreadsafe\", found \"threadSafe\"",
            "did you mean \"threadsafe\"?",
        ),
        ("a u2.0 nothreadsafe", 8, "found \"nothreadsafe\"", "did you mean \"nonthreadsafe\"?"),
        ("a u2.0 x", 8, "found \"x\"", ""),
        (
            "a u2.0 threadsafe Default",
            19,
            "expected \"default\" or \"nondefault\", found \"Default\"",
            "did you mean \"default\"?",
        ),
        ("a u2.0 threadsafe default \"\"", 27, "the file name of a library, found an empty", ""),
        ("a u2.0 threadsafe default l p.1", 29, "a provider version such as", ""),
        ("a u2.0 threadsafe default l .1.2", 29, "found \".1.2\"", ""),
        ("a u2.0 threadsafe default l p.1.-2", 29, "found \"p.1.-2\"", ""),
        ("a u2.0 threadsafe default l p.1.2 x y z", 39, "eight fields, found \"z\"", "quotes"),
        ("a u2.0 threadsafe default l p.1.2 \"x y", 35, "a closing quote", "\\\""),
        ("a u2.0 threadsafe default l p.1.2 \"x\\\"", 35, "a closing quote", "\\\""),
        ("a u2.0 threadsafe default l p.1.2 \"\\\\\\", 35, "a closing quote", "\\\""),
        ("a u2.0 threadsafe default l p.1.2 \"x\"y z", 38, "a blank or a tab", ""),
        ("a u2.0 threadsafe default l p.1.2 x y\r", 38, "carriage return", "Unix line endings"),
        ("a u2.0 threadsafe default l p.1.2 x \"y\"\r", 40, "carriage return", "Unix line endings"),
        ("a u2.0 threadsafe default l p.1.2 x y \r", 39, "carriage return", "Unix line endings"),
        ("a u2.0 threadsafe default l p.1.2 x \"\ry\"", 38, "carriage return", "Unix line endings"),
        ("\r", 1, "carriage return", "Unix line endings"),
        ("\"\"", 1, "an IA name, found an empty field", ""),
    ] {
        let error = Line::parse(7, text.as_bytes()).expect_err(text);
        assert_eq!((error.line(), error.column()), (7, column), "{text:?}: {error}");
        super::assert_contains(&error.message(), &[message]);
        super::assert_contains(error.hint().unwrap_or_default(), &[hint]);
        assert_eq!(hint.is_empty(), error.hint().is_none(), "{text:?}: {error}");
        super::assert_contains(&error.to_string(), &["line 7, column ", message, hint]);
        let name = if text.starts_with('a') { Some("a") } else { None };
        assert_eq!(error.name(), name, "{text:?}");
    }
}

#[test]
fn invalid_utf_8_is_an_error_where_it_matters() {
    let rest = "u2.0 threadsafe default l p.1.2";
    for (line, column) in [
        (b"n\xff x".to_vec(), 2),
        (b"\"a \\\"\xc3\" x".to_vec(), 6),
        ([b"a ", rest.as_bytes(), b" \xe9 y"].concat(), 35),
        (b"a u2.0 threadsafe default l\xfc".to_vec(), 28),
        (b"a u2\xff".to_vec(), 5),
    ] {
        let error = Line::parse(1, &line).expect_err("not UTF-8");
        assert_eq!(error.column(), column, "{error}");
        super::assert_contains(&error.message(), &["UTF-8 text, found the byte 0x"]);
        assert!(error.text().contains('\u{fffd}'));
    }
    let line = fields([b"a ", rest.as_bytes(), b" x \xe9"].concat());
    assert_eq!(line.platform_parameters, "\u{fffd}");
}

#[test]
fn a_name_has_at_most_255_bytes() {
    let line =
        |length: usize| format!("{} u2.0 threadsafe default l p.1.2 x y", "n".repeat(length));
    assert_eq!(fields(line(255)).name.len(), 255);
    let error = Line::parse(1, line(256).as_bytes()).expect_err("too long");
    assert_eq!(error.column(), 1);
    super::assert_contains(&error.message(), &["at most 255 bytes", "256"]);
}

#[test]
fn the_caret_is_below_the_column() {
    for (text, caret) in [
        (&b"a\tu2.0 x"[..], "a\tu2.0 x\n \t     ^"),
        (b"a", "a\n ^"),
        (b"\r", "\u{240d}\n^"),
        ("\u{fc} 2".as_bytes(), "\u{fc} 2\n  ^"),
        (b"\x1b[2J\xff x", "\u{241b}[2J\u{fffd} x\n    ^"),
    ] {
        let error = Line::parse(1, text).expect_err("an error");
        assert_eq!(error.caret(), caret);
    }
    let long = format!("a {}", "x".repeat(1000));
    let error = Line::parse(1, long.as_bytes()).expect_err("an error");
    assert!(error.message().len() < 200, "{error}");
}

#[test]
fn a_line_in_error_hides_no_other() {
    let text = format!("# head\n{GOOD}\n\nbad line\r\n  \n{}", GOOD.replace("ib0", "ib1"));
    let configuration = Configuration::from_text("conf", text);
    let seen: Vec<(usize, String)> = configuration
        .items()
        .iter()
        .map(|item| match item {
            ConfigItem::Line { file, number, content } => {
                assert_eq!(file.to_str(), Some("conf"));
                let name = content.as_ref().map(|line| line.name.clone());
                (*number, name.unwrap_or_else(|error| error.text()))
            }
            ConfigItem::File { reason, .. } => panic!("{reason}"),
        })
        .collect();
    let expected = [(2, "ofa-ib0"), (4, "bad line\u{240d}"), (6, "ofa-ib1")];
    assert_eq!(seen, expected.map(|(number, text)| (number, text.to_owned())));
}

#[test]
fn the_nearest_word_is_given_when_it_is_near() {
    let known = ["loopback", "ib0", "ofa-v2-mlx5_0-1", "ofa-v2-mlx5_0-10"];
    for (wanted, expected) in [
        ("lopback", Some("loopback")),
        ("Loopback", Some("loopback")),
        ("loopbakc", Some("loopback")),
        ("sibling", None),
        ("loopback0", Some("loopback")),
        ("ib1", Some("ib0")),
        ("mlx5_0", Some("ofa-v2-mlx5_0-1")),
        ("ofa-v2-mlx5_0-2", Some("ofa-v2-mlx5_0-1")),
        ("ethernet", None),
        ("x", None),
        ("", None),
    ] {
        assert_eq!(nearest(wanted, known), expected, "{wanted}");
    }
    assert_eq!(nearest("loopback", []), None);
}
