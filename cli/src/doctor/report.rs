//! The findings of the checks, as text and as JSON.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::output::{Output, Paint, clean};

/// The verdict of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mark {
    /// As it should be.
    Ok,
    /// Worth knowing, but not a failure.
    Note,
    /// Something does not work.
    Problem,
}

/// One checked subject.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    subject: String,
    verdict: Mark,
    found: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    excerpt: Vec<String>,
    advice: Vec<String>,
    facts: Map<String, Value>,
}

impl Finding {
    pub(super) fn new(verdict: Mark, subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            verdict,
            found: found.into(),
            excerpt: Vec::new(),
            advice: Vec::new(),
            facts: Map::new(),
        }
    }

    pub(super) fn ok(subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Mark::Ok, subject, found)
    }

    pub(super) fn note(subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Mark::Note, subject, found)
    }

    pub(super) fn problem(subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Mark::Problem, subject, found)
    }

    pub(super) fn is_ok(&self) -> bool {
        self.verdict == Mark::Ok
    }

    /// Adds advice.
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }

    /// Adds a fact for the JSON output.
    pub(super) fn fact(mut self, key: &str, value: impl Serialize) -> Self {
        self.facts.insert(key.to_owned(), json!(value));
        self
    }

    /// Adds lines of a file.
    pub(super) fn excerpt(mut self, text: &str) -> Self {
        self.excerpt.extend(text.lines().map(str::to_owned));
        self
    }

    /// Prints it without its advice.
    fn print(&self, width: usize, output: &mut Output) {
        let line = self.verdict.line(width, &self.subject, &self.found, output);
        output.line(line);
        for line in &self.excerpt {
            output.line(format!("{}| {line}", margin(width)));
        }
    }

    /// Returns true if one line of advice does for both.
    fn is_like(&self, other: &Self) -> bool {
        (self.verdict, &self.advice) == (other.verdict, &other.advice)
    }
}

impl Mark {
    fn line(self, width: usize, subject: &str, found: &str, output: &Output) -> String {
        let (paint, word) = match self {
            Self::Ok => (Paint::Good, "ok"),
            Self::Note => (Paint::Mark, "note"),
            Self::Problem => (Paint::Bad, "PROBLEM"),
        };
        let word = output.paint(paint, format!("{word:<7}"));
        let line = format!("  {word}  {:<width$}  {}", clean(subject), clean(found));
        line.trim_end().to_owned()
    }
}

/// The indentation of what belongs to a finding.
fn margin(width: usize) -> String {
    " ".repeat(width + 13)
}

/// Notes with the same advice that are shown at most.
const NOTES: usize = 3;

/// Prints findings with the same verdict and advice, the advice once.
fn print_alike(findings: &[Finding], width: usize, output: &mut Output) {
    let [Finding { verdict, advice, .. }, ..] = findings else { return };
    let is_long = *verdict == Mark::Note && !advice.is_empty() && findings.len() > NOTES + 1;
    let shown = if is_long { NOTES } else { findings.len() };
    findings[..shown].iter().for_each(|finding| finding.print(width, output));
    if is_long {
        let more = format!("and {} more", findings.len() - shown);
        output.line(verdict.line(width, &more, "for similar reasons; --json shows each", output));
    }
    for advice in advice {
        output.line(format!("{}-> {}", margin(width), clean(advice)));
    }
}

/// The findings of one check.
#[derive(Debug)]
pub(super) struct Check {
    /// Its key in the JSON output.
    pub(super) key: &'static str,
    /// Its title.
    pub(super) title: &'static str,
    pub(super) findings: Vec<Finding>,
}

impl Check {
    fn verdict(&self) -> Mark {
        self.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Mark::Ok)
    }
}

/// The number of findings by verdict.
#[derive(Clone, Copy, Debug, Serialize)]
struct Summary {
    ok: usize,
    notes: usize,
    problems: usize,
}

/// All checks in their order.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) checks: Vec<Check>,
}

impl Report {
    /// Returns true if there is no problem.
    pub(super) fn is_fit(&self) -> bool {
        self.summary().problems == 0
    }

    fn summary(&self) -> Summary {
        let findings = || self.checks.iter().flat_map(|check| &check.findings);
        let count = |mark| findings().filter(|finding| finding.verdict == mark).count();
        Summary { ok: count(Mark::Ok), notes: count(Mark::Note), problems: count(Mark::Problem) }
    }

    /// The report as JSON; see docs/doctor.md for the keys.
    pub(super) fn json(&self, root: Option<&std::path::Path>) -> Value {
        let check = |check: &Check| {
            json!({
                "check": check.key,
                "verdict": check.verdict(),
                "findings": check.findings,
            })
        };
        json!({
            "format": 1,
            "fit": self.is_fit(),
            "root": root.map(|root| root.display().to_string()),
            "summary": self.summary(),
            "checks": self.checks.iter().map(check).collect::<Vec<_>>(),
        })
    }

    /// Prints the report as text.
    pub(super) fn print(&self, output: &mut Output) {
        let subjects = self.checks.iter().flat_map(|check| &check.findings);
        let width = subjects.map(|finding| clean(&finding.subject).chars().count()).max();
        for check in &self.checks {
            output.line(output.paint(Paint::Strong, check.title));
            for alike in check.findings.chunk_by(Finding::is_like) {
                print_alike(alike, width.unwrap_or(0), output);
            }
        }
        let Summary { notes, problems, .. } = self.summary();
        let counted = |count, word: &str| format!("{count} {word}{}", plural(count));
        let (paint, verdict) = match problems {
            0 => (Paint::Good, "fit for use".to_owned()),
            count => (Paint::Bad, counted(count, "problem")),
        };
        let end = if notes == 0 { String::new() } else { format!(", {}", counted(notes, "note")) };
        output.line("");
        output.line(format!("{}{end}", output.paint(paint, verdict)));
    }
}

/// The plural ending for a count.
pub(super) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
