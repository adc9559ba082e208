//! The report as JUnit XML.

use super::Totals;
use crate::runner::{Outcome, Verdict};

/// The whole run as one JUnit test suite; classes are the nouns.
#[must_use]
pub fn junit(adapter: &str, verdicts: &[Verdict]) -> String {
    let totals = Totals::of(verdicts);
    let seconds: f64 = verdicts.iter().map(|verdict| verdict.time.as_secs_f64()).sum();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"DAT conformance of {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" \
         time=\"{seconds:.3}\">\n",
        escape(adapter),
        verdicts.len(),
        totals.failed,
        totals.skipped + totals.excluded,
    );
    for verdict in verdicts {
        let name = verdict.case.short_name();
        let (class, rule) = name.split_once("::").unwrap_or(("", name));
        text += &format!(
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escape(class),
            escape(rule),
            verdict.time.as_secs_f64()
        );
        text += &match &verdict.outcome {
            Outcome::Passed => "/>\n".to_owned(),
            Outcome::Failed(why) | Outcome::Hung(why) => format!(
                "><failure message=\"a rule of {}\">{}</failure></testcase>\n",
                escape(verdict.case.source),
                escape(why)
            ),
            Outcome::Skipped(why) | Outcome::Excluded(why) => {
                format!("><skipped message=\"{}\"/></testcase>\n", escape(why))
            }
        };
    }
    text + "</testsuite>\n"
}

/// Text as XML can carry it.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped.push(character),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b>&\"c\"\u{1}\n"), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}\n");
    }
}
