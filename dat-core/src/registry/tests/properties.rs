//! Properties that hold for every input.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{
    ApiVersion, ConfigItem, Configuration, ConsumerSpace, Line, LineVersion, ProviderVersion,
    Registry, nearest,
};
use super::{Fake, registry};

/// Bytes, many of which have a meaning in the grammar.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "a",
        "u2.0",
        "k1.2",
        "threadsafe",
        "nonthreadsafe",
        "default",
        "nondefault",
        "fake",
        "p.1.2",
        "\"",
        "\\",
        "#",
        " ",
        "\t",
        "\r",
        "\n",
        "\"\"",
        "?",
        "\u{fc}",
    ];
    let word = prop::sample::select(words.to_vec()).prop_map(|word: &str| word.as_bytes().to_vec());
    let word = (word, prop::bool::weighted(0.7)).prop_map(|(mut word, blank)| {
        word.extend(blank.then_some(b' '));
        word
    });
    vec(prop_oneof![4 => word, 1 => vec(any::<u8>(), 0..4)], 0..40).prop_map(|parts| parts.concat())
}

/// Text without line breaks, with many quotes, blanks and backslashes.
fn text(least: usize) -> impl Strategy<Value = String> {
    let c = prop_oneof![any::<char>(), prop::sample::select(&['"', '\\', '#', ' ', '\t', 'a'][..])];
    let c = c.prop_filter("no line break", |c| !matches!(c, '\r' | '\n'));
    vec(c, least..12).prop_map(|letters| letters.into_iter().collect())
}

prop_compose! {
    fn line()(
        name in text(1),
        kernel in any::<bool>(),
        (major, minor) in any::<(u32, u32)>(),
        (thread_safe, is_default) in any::<(bool, bool)>(),
        library in text(1),
        id in text(1),
        numbers in any::<(u32, u32)>(),
        parameters in text(0),
        platform_parameters in text(0),
    ) -> Line {
        let space = if kernel { ConsumerSpace::Kernel } else { ConsumerSpace::User };
        Line {
            name,
            api_version: LineVersion { space, major, minor },
            thread_safe,
            is_default,
            library,
            provider_version: ProviderVersion { id, major: numbers.0, minor: numbers.1 },
            parameters,
            platform_parameters,
        }
    }
}

proptest! {
    #[test]
    fn reading_never_panics(bytes in prop_oneof![bytes(), vec(any::<u8>(), 0..200)]) {
        let configuration = Configuration::from_text("conf", &bytes);
        for item in configuration.items() {
            let ConfigItem::Line { number, content, .. } = item else { continue };
            let line = bytes.split(|&byte| byte == b'\n').nth(number - 1).expect("that line");
            if let Err(error) = content {
                prop_assert_eq!(error.line(), *number);
                prop_assert!((1..=line.len() + 1).contains(&error.column()), "{}", error);
                prop_assert!(!error.caret().contains('\r'));
            }
        }
        // Whatever is listed can be written, looked up and explained.
        let registry = Registry::with_configuration(configuration);
        for entry in registry.list() {
            if let Some(line) = entry.to_line() {
                prop_assert_eq!(Line::parse(1, line.to_string().as_bytes()), Ok(Some(line)));
            }
            prop_assert!(registry.resolve(&entry.name, ApiVersion::ANY).is_err());
        }
    }

    #[test]
    fn a_line_that_is_written_reads_the_same(line in line()) {
        let written = line.to_string();
        prop_assert_eq!(Line::parse(1, written.as_bytes()), Ok(Some(line)), "{}", written);
    }

    #[test]
    fn a_line_break_in_a_field_keeps_the_line_whole(mut line in line(), at in any::<bool>()) {
        line.parameters.push(if at { '\n' } else { '\r' });
        let read = Line::parse(1, line.to_string().as_bytes()).expect("the form").expect("a line");
        line.parameters.pop();
        line.parameters.push(' ');
        prop_assert_eq!(read, line);
    }

    #[test]
    fn what_is_listed_as_usable_is_what_is_tried(
        lines in vec((0..3usize, 0..2usize, any::<bool>(), 0..2usize), 0..8),
        found in vec(0..4usize, 0..4),
    ) {
        let names = ["a", "b", "c", "d"];
        let text: String = lines
            .iter()
            .map(|&(name, version, default, library)| {
                let (name, version) = (names[name], ["u1.2", "u2.0"][version]);
                let default = if default { "default" } else { "nondefault" };
                let library = ["fake", "libx.so"][library];
                format!("{name} {version} threadsafe {default} {library} p.1.2 \"\" \"\"\n")
            })
            .collect();
        let found: Vec<&str> = found.into_iter().map(|name| names[name]).collect();
        let registry = registry(text, &[Fake::new("fake", &found)]);
        let entries = registry.list();
        prop_assert_eq!(entries.len(), lines.len() + found.len());
        for name in names {
            let usable = entries.iter().filter(|it| it.name == name && it.status.is_usable());
            let usable: Vec<_> = usable.map(|entry| entry.origin.clone()).collect();
            let tried = registry.resolve(name, ApiVersion::ANY).unwrap_or_default();
            let tried: Vec<_> = tried.into_iter().map(|candidate| candidate.origin).collect();
            prop_assert_eq!(usable, tried);
        }
    }

    #[test]
    fn a_known_word_is_nearest_to_itself(words in vec("[a-z]{2,8}", 1..8), wanted in any::<String>()) {
        let known = || words.iter().map(String::as_str);
        for word in known() {
            prop_assert_eq!(nearest(word, known()), Some(word));
        }
        let near = nearest(&wanted, known());
        prop_assert!(near.is_none_or(|near| words.iter().any(|word| word == near)));
    }
}
