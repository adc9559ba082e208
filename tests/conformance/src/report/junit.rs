//! The report as JUnit XML.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::runner::{Outcome, Verdict};

/// The whole run as one JUnit test suite, with the nouns as classes.
#[must_use]
pub fn junit(adapter: &str, verdicts: &[Verdict]) -> String {
    let name = format!("DAT conformance of {adapter}");
    let mut suite = TestSuite::new(name.clone());
    suite.add_test_cases(verdicts.iter().map(case));
    suite.set_time(verdicts.iter().map(|verdict| verdict.time).sum::<Duration>());
    let mut report = Report::new(name);
    report.add_test_suite(suite);
    report.to_string().unwrap_or_else(|error| format!("<!-- {error} -->\n"))
}

fn case(verdict: &Verdict) -> TestCase {
    let name = verdict.case.short_name();
    let (class, rule) = name.split_once("::").unwrap_or(("", name));
    let mut status = match verdict.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed(_) | Outcome::Hung(_) => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        Outcome::Skipped(_) | Outcome::Excluded(_) => TestCaseStatus::skipped(),
    };
    match &verdict.outcome {
        Outcome::Passed => {}
        Outcome::Failed(why) | Outcome::Hung(why) => {
            status.set_message(format!("a rule of {}", verdict.case.source));
            status.set_description(why.as_str());
        }
        Outcome::Skipped(why) | Outcome::Excluded(why) => {
            status.set_message(why.as_str());
        }
    }
    let mut case = TestCase::new(rule, status);
    case.set_classname(class).set_time(verdict.time);
    case
}
