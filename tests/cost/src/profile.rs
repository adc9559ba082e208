//! A profile of callgrind: which function called which, how often, and the instructions inside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::end::Failure;

/// Calls of one function by another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) calls: u64,
    /// Instructions of the callee, including those of the functions that it called.
    pub(crate) instructions: u64,
}

/// All calls of a run, by caller and callee.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    edges: BTreeMap<(String, String), Edge>,
}

impl Profile {
    /// The parts of a run. callgrind writes the last one to the file itself, and the others to
    /// files of that name with ".1", ".2", and so on.
    pub(crate) fn read_parts(last: &Path) -> Result<Vec<Self>, Failure> {
        let part = |at: usize| {
            let mut name = last.as_os_str().to_owned();
            name.push(format!(".{at}"));
            PathBuf::from(name)
        };
        let parts = (1..).map(part).take_while(|it| it.exists());
        let parts = parts.chain([last.to_owned()]);
        parts.map(|it| Self::parse(&std::fs::read_to_string(it)?)).collect()
    }

    /// Parses the file format of callgrind (section "Callgrind Format Specification" of its
    /// manual). Only the lines about calls matter here.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let mut names = BTreeMap::new();
        let mut profile = Self::default();
        let (mut caller, mut callee) = (String::new(), String::new());
        let mut calls: Option<u64> = None;
        for line in text.lines() {
            if let Some(count) = calls.take() {
                let cost = line.split_whitespace().nth(1).and_then(|word| word.parse().ok());
                let cost: u64 = cost.ok_or_else(|| format!("{line:?} is not a cost of a call"))?;
                let edge = profile.edges.entry((caller.clone(), callee.clone())).or_default();
                edge.calls += count;
                edge.instructions += cost;
            } else if let Some(name) = line.strip_prefix("fn=") {
                caller = function(&mut names, name)?;
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = function(&mut names, name)?;
            } else if let Some(rest) = line.strip_prefix("calls=") {
                let count = rest.split_whitespace().next().and_then(|word| word.parse().ok());
                calls = Some(count.ok_or_else(|| format!("{line:?} has no count"))?);
            }
        }
        Ok(profile)
    }

    /// The calls of a function, from all callers.
    pub(crate) fn calls_of(&self, is_it: impl Fn(&str) -> bool) -> Edge {
        self.sum(|_, callee| is_it(callee))
    }

    /// The calls of one function by another.
    pub(crate) fn between(&self, caller: &str, callee: &str) -> Edge {
        self.sum(|from, to| from == caller && to == callee)
    }

    fn sum(&self, wanted: impl Fn(&str, &str) -> bool) -> Edge {
        let edges = self.edges.iter().filter(|((caller, callee), _)| wanted(caller, callee));
        edges.fold(Edge::default(), |sum, (_, edge)| Edge {
            calls: sum.calls + edge.calls,
            instructions: sum.instructions + edge.instructions,
        })
    }
}

/// A function, which has its name only the first time, and its number later. The symbol version is
/// not part of the name.
fn function(names: &mut BTreeMap<String, String>, text: &str) -> Result<String, Failure> {
    let (number, name) =
        text.split_once(')').ok_or_else(|| format!("{text:?} is not a function"))?;
    let name = name.trim();
    if name.is_empty() {
        return names.get(number).cloned().ok_or_else(|| format!("{text:?} has no name").into());
    }
    let name = name.split('@').next().unwrap_or(name).to_owned();
    names.insert(number.to_owned(), name.clone());
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::{Edge, Profile};

    /// The example in the manual, with compressed names.
    const FILE: &str = "\
events: Ir

fl=(1) file1.c
fn=(1) main
16 20
cfn=(2) func1
calls=1 50
16 400
cfi=(2) file2.c
cfn=(3) func2@@V1
calls=3 20
16 400

fn=(2)
51 100
cfi=(2)
cfn=(3)
calls=2 20
51 300

fn=(3)
20 700
";

    #[test]
    fn calls_are_summed_by_caller_and_callee() {
        let profile = Profile::parse(FILE).unwrap();
        assert_eq!(profile.between("main", "func1"), Edge { calls: 1, instructions: 400 });
        assert_eq!(profile.between("func1", "func2"), Edge { calls: 2, instructions: 300 });
        assert_eq!(profile.calls_of(|name| name == "func2"), Edge { calls: 5, instructions: 700 });
        assert_eq!(profile.between("func2", "main"), Edge::default());
    }

    #[test]
    fn a_file_that_ends_early_is_refused() {
        assert!(Profile::parse("fn=(1)\n").is_err());
        assert!(Profile::parse("fn=(1) a\ncfn=(2) b\ncalls=1 2\nhello\n").is_err());
    }
}
