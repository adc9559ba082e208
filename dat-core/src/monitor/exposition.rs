//! Metrics in the text format of Prometheus, version 0.0.4.
//!
//! Names end in the unit, and those of counters in `_total`. All samples of a name follow its `HELP` and `TYPE`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::layout::{AdapterRecord, ConnectionRecord, Counted, CountersRecord, Record};
use crate::counters::{CounterId, EpCounter, EvdCounter, IaCounter, Sizes};

/// The value of a sample.
enum Value {
    Count(u64),
    Seconds(f64),
}

/// A metric of a connection: its name, its type, its help, and its value.
type Metric = (&'static str, &'static str, &'static str, fn(&ConnectionRecord) -> Option<Value>);

/// 1 while the oldest operation of a connection waits; the label `cause` says for what.
const STALLED: &str = "dat_stalled";

const METRICS: [Metric; 10] = [
    ("dat_requests", "gauge", "Requests that are not complete.", |it| {
        Some(Value::Count(it.requests.into()))
    }),
    ("dat_receives", "gauge", "Receives that no message has consumed.", |it| {
        Some(Value::Count(it.receives.into()))
    }),
    ("dat_credits", "gauge", "Messages for which the peer has receives.", |it| {
        it.credits.map(|credits| Value::Count(credits.into()))
    }),
    ("dat_completions", "gauge", "Completions that the consumer has not taken.", |it| {
        Some(Value::Count(it.completions.into()))
    }),
    ("dat_sent_requests_total", "counter", "Requests that were posted.", |it| {
        Some(Value::Count(it.sent.requests))
    }),
    ("dat_received_requests_total", "counter", "Requests of the peer that were executed.", |it| {
        Some(Value::Count(it.received.requests))
    }),
    ("dat_sent_bytes_total", "counter", "Bytes that were moved to the peer.", |it| {
        it.sent.bytes.map(Value::Count)
    }),
    ("dat_received_bytes_total", "counter", "Bytes that were moved from the peer.", |it| {
        it.received.bytes.map(Value::Count)
    }),
    ("dat_oldest_operation_seconds", "gauge", "Time without progress of the oldest operation.", {
        |it| Some(Value::Seconds(it.age as f64 / 1e9))
    }),
    (STALLED, "gauge", "1 if the oldest operation waits for more than a second.", |it| {
        Some(Value::Count(it.waits_for.is_some().into()))
    }),
];

/// Writing to a string does not fail.
macro_rules! put {
    ($to:expr, $($format:tt)+) => {{
        let _ = writeln!($to, $($format)+);
    }};
}

/// The metrics of the records of a sample.
pub(super) fn text(records: &[&Record]) -> String {
    let mut text = String::new();
    head(&mut text, "dat_endpoints", "gauge", "Endpoints of an adapter.");
    let mut adapters = BTreeMap::new();
    for record in records {
        let Record::Adapter(AdapterRecord { ia, name, endpoints, .. }) = record else { continue };
        let name = label(name);
        put!(text, "dat_endpoints{{adapter=\"{name}\",ia=\"{ia}\"}} {endpoints}");
        adapters.insert(*ia, name);
    }
    for (name, kind, help, value) in METRICS {
        head(&mut text, name, kind, help);
        for record in records {
            let Record::Connection(connection) = record else { continue };
            let Some(value) = value(connection) else { continue };
            let adapter = adapters.get(&connection.ia).map_or("", String::as_str);
            let mut labels = labels(adapter, connection);
            if let Some(cause) = connection.waits_for.filter(|_| name == STALLED) {
                let _ = write!(labels, ",cause=\"{}\"", label(cause.clause()));
            }
            match value {
                Value::Count(count) => put!(text, "{name}{{{labels}}} {count}"),
                Value::Seconds(seconds) => put!(text, "{name}{{{labels}}} {seconds}"),
            }
        }
    }
    let counters: Vec<&CountersRecord> = records
        .iter()
        .filter_map(|record| match record {
            Record::Counters(counters) => Some(counters),
            _ => None,
        })
        .collect();
    put_counters::<IaCounter>(
        &mut text,
        &counters,
        ("dat_adapter_counter_total", "an adapter"),
        |counted| match counted {
            Counted::Ia => Some(String::new()),
            _ => None,
        },
    );
    put_counters::<EpCounter>(
        &mut text,
        &counters,
        ("dat_endpoint_counter_total", "an endpoint"),
        |counted| match counted {
            Counted::Ep(ep) => Some(format!("endpoint=\"{ep}\",")),
            _ => None,
        },
    );
    put_counters::<EvdCounter>(
        &mut text,
        &counters,
        ("dat_dispatcher_counter_total", "a dispatcher"),
        |counted| match counted {
            Counted::Evd(evd) => Some(format!("dispatcher=\"{evd}\",")),
            _ => None,
        },
    );
    put_sizes(&mut text, &counters);
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    put!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// The counters of one kind of object. `label_of` returns the label of an object of that kind.
fn put_counters<C: CounterId>(
    text: &mut String,
    counters: &[&CountersRecord],
    (name, object): (&str, &str),
    label_of: impl Fn(Counted) -> Option<String>,
) {
    let help = format!("Counters of {object}, by their names in DAT, while they are started.");
    head(text, name, "counter", &help);
    for CountersRecord { ia, counted, first, values } in counters {
        let Some(object) = label_of(*counted) else { continue };
        for (counter, value) in C::ALL.iter().skip(*first).zip(values) {
            let counter = counter.name();
            put!(text, "{name}{{ia=\"{ia}\",{object}counter=\"{counter}\"}} {value}");
        }
    }
}

/// The histograms of the sizes of operations.
fn put_sizes(text: &mut String, counters: &[&CountersRecord]) {
    const NAME: &str = "dat_operation_size_bytes";
    head(text, NAME, "histogram", "Sizes of operations of an endpoint whose counters are started.");
    let mut bytes = BTreeMap::<_, u64>::new();
    let mut sizes = BTreeMap::new();
    for CountersRecord { ia, counted, first, values } in counters {
        match counted {
            Counted::Ep(ep) => {
                for (counter, value) in EpCounter::ALL.iter().skip(*first).zip(values) {
                    if let Some(operation) = counter.sized_operation() {
                        *bytes.entry((*ia, *ep, operation)).or_default() += value;
                    }
                }
            }
            Counted::Sizes(ep, operation) => {
                let all = sizes.entry((*ia, *ep, *operation)).or_insert([0_u64; Sizes::BUCKETS]);
                for (bucket, value) in all.iter_mut().skip(*first).zip(values) {
                    *bucket = *value;
                }
            }
            Counted::Ia | Counted::Evd(_) => {}
        }
    }
    for (key @ (ia, ep, operation), all) in &sizes {
        let operation = operation.name();
        let labels = format!("ia=\"{ia}\",endpoint=\"{ep}\",operation=\"{operation}\"");
        let mut total = 0_u64;
        for (bucket, count) in all.iter().enumerate() {
            total += count;
            let limit = Sizes::limit(bucket).map_or_else(|| "+Inf".to_owned(), |it| it.to_string());
            put!(text, "{NAME}_bucket{{{labels},le=\"{limit}\"}} {total}");
        }
        let sum = bytes.get(key).copied().unwrap_or(0);
        put!(text, "{NAME}_sum{{{labels}}} {sum}\n{NAME}_count{{{labels}}} {total}");
    }
}

fn labels(adapter: &str, connection: &ConnectionRecord) -> String {
    let ConnectionRecord { ia, ep, transport, peer, .. } = connection;
    let (peer, link) = (label(peer), label(transport));
    format!("adapter=\"{adapter}\",ia=\"{ia}\",endpoint=\"{ep}\",peer=\"{peer}\",link=\"{link}\"")
}

/// The value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::super::layout::Totals;
    use super::*;
    use crate::counters::SizedOperation;
    use crate::ep::EpState;
    use crate::provider::WaitCause;

    #[test]
    fn labels_are_quoted() {
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    /// An adapter with an unusual name, a stalled connection, and counters of every kind.
    fn records() -> Vec<Record> {
        let name = "a\"b\\c".to_owned();
        let adapter = AdapterRecord { ia: 1, name, endpoints: 2, trouble: String::new() };
        let connection = ConnectionRecord {
            ia: 1,
            ep: 2,
            state: Some(EpState::Connected),
            transport: "tcp".to_owned(),
            reader: String::new(),
            peer: "::1 47".to_owned(),
            requests: 1,
            receives: 0,
            credits: None,
            completions: 0,
            sent: Totals { requests: u64::MAX, bytes: Some(1) },
            received: Totals::default(),
            age: 1_500_000_000,
            waits_for: Some(WaitCause::NoReceive),
        };
        let mut sizes = vec![0; Sizes::BUCKETS];
        (sizes[0], sizes[1], sizes[Sizes::BUCKETS - 1]) = (1, 2, 3);
        let counted = [
            (Counted::Ia, vec![1; IaCounter::ALL.len()]),
            (Counted::Ep(2), vec![2; EpCounter::ALL.len()]),
            (Counted::Evd(3), vec![3; EvdCounter::ALL.len()]),
            (Counted::Sizes(2, SizedOperation::Send), sizes),
        ];
        let counters = counted.iter().flat_map(|(counted, values)| {
            CountersRecord::rows(1, *counted, values).map(Record::Counters)
        });
        [Record::Adapter(adapter), Record::Connection(connection)]
            .into_iter()
            .chain(counters)
            .collect()
    }

    /// The rules of `promtool check metrics` and of the text format.
    #[test]
    fn names_types_and_samples_follow_the_rules_of_the_format() {
        let records = records();
        let text = text(&records.iter().collect::<Vec<_>>());
        assert!(text.ends_with('\n'));
        let mut family = ("", "");
        let (mut families, mut samples) = (BTreeSet::new(), BTreeSet::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').expect("a help");
                assert!(!help.is_empty() && !help.contains('\\'), "{line}");
                let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
                let (of, kind) = kind.expect("its type").split_once(' ').expect("a type");
                assert_eq!(of, name);
                assert!(families.insert(name), "{name} is in one group");
                assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
                assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
                assert!(!["_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end)));
                family = (name, kind);
                continue;
            }
            let (name, rest) = line.split_once('{').expect("labels");
            let (labels, value) = rest.rsplit_once("} ").expect("a value");
            match family {
                (of, "histogram") => {
                    let part = name.strip_prefix(of).expect("its family");
                    assert!(["_bucket", "_sum", "_count"].contains(&part), "{line}");
                    assert_eq!(part == "_bucket", labels.contains("le=\""), "{line}");
                }
                (of, _) => assert_eq!(name, of),
            }
            assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
            assert!(samples.insert((name, labels)), "{line} is there once");
        }
        assert!(text.contains("adapter=\"a\\\"b\\\\c\",ia=\"1\""));
        assert!(text.contains(&format!(" {}\n", u64::MAX)), "counters are exact");
        assert!(text.contains("cause=\"no receive is posted at the peer\"} 1\n"));
    }

    #[test]
    fn histograms_are_cumulative_with_a_sum_and_a_count() {
        let records = records();
        let text = text(&records.iter().collect::<Vec<_>>());
        let of_sends = |line: &&str| line.contains("operation=\"send\"");
        let lines: Vec<&str> = text.lines().filter(of_sends).collect();
        assert_eq!(lines.len(), Sizes::BUCKETS + 2);
        assert!(lines[0].ends_with("le=\"0\"} 1") && lines[1].ends_with("le=\"1\"} 3"));
        assert!(lines[Sizes::BUCKETS - 1].ends_with("le=\"+Inf\"} 6"));
        assert!(lines[Sizes::BUCKETS].ends_with("} 4"), "two counters of bytes");
        assert!(lines[Sizes::BUCKETS + 1].ends_with("} 6"));
    }
}
