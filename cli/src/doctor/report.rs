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

    /// Prints it, without advice that the next finding repeats.
    fn print(&self, width: usize, next: Option<&[String]>, output: &mut Output) {
        let (paint, word) = match self.verdict {
            Mark::Ok => (Paint::Good, "ok"),
            Mark::Note => (Paint::Mark, "note"),
            Mark::Problem => (Paint::Bad, "PROBLEM"),
        };
        let word = output.paint(paint, format!("{word:<7}"));
        let subject = clean(&self.subject);
        let line = format!("  {word}  {subject:<width$}  {}", clean(&self.found));
        output.line(line.trim_end());
        let margin = " ".repeat(width + 13);
        for line in &self.excerpt {
            output.line(format!("{margin}| {line}"));
        }
        let advice = if next == Some(&self.advice) { &[] } else { self.advice.as_slice() };
        for advice in advice {
            output.line(format!("{margin}-> {}", clean(advice)));
        }
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
    /// Whether there is no problem.
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
            for (index, finding) in check.findings.iter().enumerate() {
                let next = check.findings.get(index + 1).map(|next| next.advice.as_slice());
                finding.print(width.unwrap_or(0), next, output);
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
