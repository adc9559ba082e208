//! The counters that are started, and the sizes of operations.

use dat_core::counters::{CounterId, Sizes};
use dat_core::monitor::{ProcessView, SizesView};

use crate::output::{Align, Output, Table, clean};

const COLUMNS: [(&str, Align); 4] = [
    ("PROCESS", Align::Right),
    ("OBJECT", Align::Left),
    ("COUNTER", Align::Left),
    ("VALUE", Align::Right),
];

pub(super) fn print(processes: &[ProcessView], output: &mut Output) {
    let mut table = Table::new(&COLUMNS);
    let mut is_empty = true;
    for process in processes {
        let mut add = |object: String, counter: String, value: u64| {
            is_empty = false;
            let process = process.process.to_string();
            table.row(vec![process, object, counter, value.to_string()]);
        };
        for adapter in &process.adapters {
            let object = clean(&format!("adapter {}", adapter.name)).to_string();
            each(&adapter.counters, |counter, value| add(object.clone(), counter, value));
        }
        for connection in &process.connections {
            let object = format!("endpoint {}", connection.ep);
            each(&connection.counters, |counter, value| add(object.clone(), counter, value));
            for sizes in &connection.sizes {
                for (bucket, count) in &sizes.counts {
                    add(object.clone(), size(sizes, *bucket), *count);
                }
            }
        }
        for dispatcher in &process.dispatchers {
            let object = format!("dispatcher {}", dispatcher.evd);
            each(&dispatcher.counters, |counter, value| add(object.clone(), counter, value));
        }
    }
    output.line("");
    if is_empty {
        output.line("no counters are started");
    } else {
        table.print("", output);
    }
}

fn each<C: CounterId>(counters: &[(C, u64)], mut add: impl FnMut(String, u64)) {
    counters.iter().for_each(|(counter, value)| add(counter.name().to_owned(), *value));
}

/// The operation, and the sizes that a bucket counts.
fn size(sizes: &SizesView, bucket: usize) -> String {
    let operation = sizes.operation.name();
    match Sizes::limit(bucket) {
        Some(limit) => format!("{operation} of up to {limit} bytes"),
        None => format!("{operation} of more bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dat_core::counters::SizedOperation;

    #[test]
    fn buckets_are_named_by_their_limits() {
        let sizes = SizesView { operation: SizedOperation::RdmaRead, counts: Vec::new() };
        assert_eq!(size(&sizes, Sizes::bucket(4000)), "rdma_read of up to 4096 bytes");
        assert_eq!(size(&sizes, Sizes::BUCKETS - 1), "rdma_read of more bytes");
    }
}
