//! Instruction counts of each operation and call, and the table of their bounds.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::end::Failure;
use crate::native::Native;
use crate::operation::Operation;
use crate::profile::{Edge, Profile};
use crate::shared::{Name, Shared};

/// By how many instructions a count may exceed the table besides [`Operation::slack_percent`].
const SLACK: u64 = 2;

/// Runs every operation, in Rust and through a C library; to be run under callgrind.
pub(crate) fn run(folder: &Path, name: Name) -> Result<(), Failure> {
    let native = Native::open()?;
    let shared = Shared::open(folder, name)?;
    for operation in Operation::ALL {
        let (runs, times) = operation.counted_runs();
        if operation.is_in_rust() {
            native.run(operation, times)?;
        }
        shared.prepare(operation);
        for _ in 0..runs {
            shared.repeat(operation)?(times);
        }
    }
    shared.close()
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Rust,
    C(Name),
}

impl Way {
    const ALL: [Self; 3] = [Self::Rust, Self::C(Name::Dat), Self::C(Name::Dat2)];

    const fn text(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::C(name) => name.text(),
        }
    }
}

/// Instructions by operation, call (none for the whole operation with its loop) and column.
type Counts = BTreeMap<(String, String), BTreeMap<&'static str, u64>>;

/// The counts from the profiles. callgrind writes several for a library, one for each run.
fn counts(profiles: &[(Name, Vec<Profile>)]) -> Result<Counts, Failure> {
    let mut counts = Counts::new();
    let mut set = |operation: Operation, call: &str, way: Way, value| {
        let key = (operation.name().to_owned(), call.to_owned());
        counts.entry(key).or_default().insert(way.text(), value);
    };
    for (name, profiles) in profiles {
        for operation in Operation::ALL {
            let (function, (runs, times)) = (operation.name(), operation.counted_runs());
            let min = |what, edge: &dyn Fn(&Profile) -> Edge, times| {
                min_of_each(profiles.iter().map(edge), runs, times).ok_or_else(|| {
                    format!("{what} is not {runs} times in the profiles: are the symbols there?")
                })
            };
            if operation.is_in_rust() {
                let native = |it: &Profile| it.calls_of(|it| is_native(it, operation));
                set(operation, "", Way::Rust, min(function, &native, Some(times))?);
            }
            let shared = |it: &Profile| it.calls_of(|it| it == function);
            set(operation, "", Way::C(*name), min(function, &shared, Some(times))?);
            for call in operation.calls() {
                let edge = |it: &Profile| it.between(function, call);
                set(operation, call, Way::C(*name), min(call, &edge, None)?);
            }
        }
    }
    Ok(counts)
}

/// Returns true if this is the function of an operation in `native.rs`.
fn is_native(function: &str, operation: Operation) -> bool {
    function.contains("native::") && function.split("::").any(|part| part == operation.name())
}

/// The minimum of the runs: instructions per call, or per repetition if `times` is given. None unless
/// exactly `runs` of the edges have calls.
fn min_of_each(edges: impl Iterator<Item = Edge>, runs: usize, times: Option<u64>) -> Option<u64> {
    let each = |it: Edge| {
        let times = times.unwrap_or(it.calls);
        (it.instructions + times / 2) / times
    };
    let each: Vec<u64> = edges.filter(|it| it.calls > 0).map(each).collect();
    each.iter().copied().min().filter(|_| each.len() == runs)
}

const HEAD: &str = "operation,call,rust,dat,dat2";

fn write(counts: &Counts) -> String {
    let mut text = format!("{HEAD}\n");
    for operation in Operation::ALL {
        for ((_, call), ways) in counts.iter().filter(|((name, _), _)| *name == operation.name()) {
            let column = |way: Way| ways.get(way.text()).map_or(String::new(), u64::to_string);
            let columns = Way::ALL.map(column).join(",");
            let _ = writeln!(text, "{},{call},{columns}", operation.name());
        }
    }
    text
}

fn read(text: &str) -> Result<Counts, Failure> {
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!("the table does not begin with {HEAD}").into());
    }
    let mut counts = Counts::new();
    for line in lines {
        let fields: Vec<_> = line.split(',').collect();
        let [operation, call, columns @ ..] = fields.as_slice() else {
            return Err(format!("{line:?} is not a row of the table").into());
        };
        let row = counts.entry(((*operation).to_owned(), (*call).to_owned())).or_default();
        for (way, value) in Way::ALL.into_iter().zip(columns).filter(|(_, it)| !it.is_empty()) {
            let value = value.parse().map_err(|error| format!("{line:?}: {error}"))?;
            row.insert(way.text(), value);
        }
    }
    Ok(counts)
}

/// Compares profiles with the table and prints all counts. Returns whether every count is within
/// its bound. Blessing writes the table instead.
pub(crate) fn check(
    profiles: &[(Name, std::path::PathBuf)],
    table: &Path,
    bless: bool,
) -> Result<bool, Failure> {
    let profiles = profiles
        .iter()
        .map(|(name, path)| Ok((*name, Profile::read_parts(path)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let counts = counts(&profiles)?;
    if bless {
        std::fs::write(table, write(&counts))?;
        println!("{} is written", table.display());
        return Ok(true);
    }
    let blessed = read(&std::fs::read_to_string(table)?)?;
    println!("instructions of one operation, or of a call in it, and of the table (in brackets)");
    let mut good = true;
    for ((operation, call), ways) in &counts {
        let slack_percent = Operation::ALL
            .into_iter()
            .find(|it| it.name() == operation)
            .map_or(0, Operation::slack_percent);
        let what = format!("{operation} {call}");
        print!("{what:<38}");
        let mut beyond = Vec::new();
        for way in Way::ALL {
            let Some(found) = ways.get(way.text()) else {
                print!("{:20}", "");
                continue;
            };
            let key = (operation.clone(), call.clone());
            let wanted = blessed.get(&key).and_then(|row| row.get(way.text())).copied();
            let shown = wanted.map_or("none".to_owned(), |it| it.to_string());
            print!("{:>5}{found:>7} {:<7}", way.text(), format!("({shown})"));
            let bound = |it| it + it * slack_percent / 100 + SLACK;
            if wanted.is_none_or(|it| *found > bound(it)) {
                beyond.push(way.text());
            }
        }
        println!();
        if !beyond.is_empty() {
            println!("    NOT OK: beyond the table: {}", beyond.join(", "));
            good = false;
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::{Counts, min_of_each, read, write};
    use crate::operation::Operation;
    use crate::profile::Edge;

    #[test]
    fn the_minimum_leaves_out_profiles_without_the_call() {
        let edge = |calls, instructions| Edge { calls, instructions };
        let edges = [edge(10, 950), edge(0, 0), edge(10, 500), edge(10, 520)];
        assert_eq!(min_of_each(edges.into_iter(), 3, None), Some(50));
        assert_eq!(min_of_each(edges.into_iter(), 3, Some(5)), Some(100));
        assert_eq!(min_of_each(edges.into_iter(), 1, None), None);
    }

    #[test]
    fn the_table_is_read_as_it_is_written() {
        let mut counts = Counts::new();
        let name = Operation::RdmaWrite.name().to_owned();
        counts.insert((name.clone(), String::new()), [("rust", 90), ("dat2", 200)].into());
        counts.insert((name, "dat_evd_dequeue".to_owned()), [("dat", 7)].into());
        assert_eq!(read(&write(&counts)).unwrap(), counts);
    }

    #[test]
    fn a_file_other_than_a_table_is_refused() {
        assert!(read("").is_err());
        assert!(read("operation,call,rust,dat,dat2\nsend_cycle,,many,,\n").is_err());
    }
}
