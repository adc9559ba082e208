//! The prototypes of the calls, as the headers of both versions have them.

use crate::Call;

/// A prototype in one version of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// The declaration on one line, with its semicolon.
    pub text: String,
}

impl Prototype {
    /// The text before the argument list: result and name.
    #[must_use]
    pub fn head(&self) -> &str {
        self.text.split_once('(').map_or(&self.text, |(head, _)| head)
    }

    /// The arguments as they are declared.
    #[must_use]
    pub fn arguments(&self) -> Vec<&str> {
        let Some((_, rest)) = self.text.split_once('(') else { return Vec::new() };
        let inside = rest.rsplit_once(')').map_or(rest, |(inside, _)| inside);
        inside.split(',').map(str::trim).filter(|text| !matches!(*text, "" | "void")).collect()
    }

    /// The position of an argument, from 1, by its name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.arguments().iter().position(|text| split(text).1 == name).map(|index| index + 1)
    }

    /// The type of an argument, without qualifiers and asterisks.
    #[must_use]
    pub fn type_of(&self, name: &str) -> Option<&str> {
        let of_name = self.arguments().into_iter().find(|text| split(text).1 == name)?;
        Some(split(of_name).0)
    }
}

/// The type and the name of an argument.
fn split(argument: &str) -> (&str, &str) {
    let (of, name) = argument.rsplit_once([' ', '*']).unwrap_or(("", argument));
    (of.trim_end_matches([' ', '*']).trim_start_matches("const "), name)
}

/// The prototypes of both versions.
#[derive(Clone, Debug, Default)]
pub struct Prototypes {
    lines: Vec<(String, String)>,
}

impl Prototypes {
    /// The prototypes of the headers in include/.
    #[must_use]
    pub fn committed() -> Self {
        Self::parse(include_str!("../prototypes.txt"))
    }

    /// Reads lines of a version, a space and a prototype.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        Self { lines: lines.map(|(of, text)| (of.to_owned(), text.to_owned())).collect() }
    }

    /// The prototype of a call in a version (1 or 2), if the version has it.
    #[must_use]
    pub fn of(&self, call: &Call, name: &str, version: u32) -> Option<Prototype> {
        let own = if version == 1 { &call.synopsis1 } else { &call.synopsis2 };
        if let (Some(text), true) = (own, name == call.name) {
            return Some(Prototype { text: text.clone() });
        }
        let version = if version == 1 { "1.2" } else { "2.0" };
        let found = self.lines.iter().find(|(of, text)| {
            let head = text.split('(').next().unwrap_or_default();
            of == version && head.rsplit([' ', '*']).next() == Some(name)
        });
        found.map(|(_, text)| Prototype { text: text.clone() })
    }

    /// The names of all calls in a version.
    pub fn names(&self, version: &str) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(move |(of, _)| of == version).map(|(_, text)| {
            let head = text.split('(').next().unwrap_or_default();
            head.rsplit([' ', '*']).next().unwrap_or_default()
        })
    }
}

/// The prototypes in the text of a header: functions, and macros over them as
/// `#define NAME(ARGUMENTS)`, one on each line.
#[must_use]
pub fn in_header(header: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut declaration = String::new();
    let mut head = String::new();
    for line in header.lines() {
        let starts = ["DAT_RETURN dat", "const char *dat"].iter().any(|it| line.starts_with(it));
        if line.starts_with("#define dat_") || !head.is_empty() {
            head.push_str(line.trim().trim_end_matches('\\'));
            // A macro without arguments is another name for a call.
            match (head.split_once('('), head.split_once(')')) {
                (Some(_), Some((start, _))) => found.push(format!("{start})")),
                (Some(_), None) => continue,
                (None, _) => {}
            }
            head.clear();
        } else if starts || !declaration.is_empty() {
            declaration.push_str(line.trim());
            declaration.push(' ');
            if line.ends_with(';') {
                found.push(std::mem::take(&mut declaration).trim_end().to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prototype_on_several_lines_is_read_with_its_arguments() {
        let header = "/* A comment. */\nDAT_RETURN dat_x(DAT_EP_HANDLE ep,\n        const DAT_EVENT *event);\n\
             #define dat_y(a, \\\n        b) \\\n    dat_x((a), (b))\n#define dat_old dat_x\n";
        let found = in_header(header);
        assert_eq!(
            found,
            ["DAT_RETURN dat_x(DAT_EP_HANDLE ep, const DAT_EVENT *event);", "#define dat_y(a, b)"]
        );
        let prototype = Prototype { text: found[0].clone() };
        assert_eq!(prototype.head(), "DAT_RETURN dat_x");
        assert_eq!(prototype.position("event"), Some(2));
        assert_eq!(prototype.type_of("event"), Some("DAT_EVENT"));
        assert_eq!(prototype.type_of("ep"), Some("DAT_EP_HANDLE"));
    }
}
