//! The view as a table.

use std::time::Duration;

use dat_core::monitor::{ConnectionView, ProcessView, TrafficView};

use crate::output::{Align, Output, Paint, Table, clean};
use crate::units;

const COLUMNS: [(&str, Align); 16] = [
    ("PROCESS", Align::Right),
    ("PROGRAM", Align::Left),
    ("ADAPTER", Align::Left),
    ("PEER", Align::Left),
    ("LINK", Align::Left),
    ("READER", Align::Left),
    ("STATE", Align::Left),
    ("REQ", Align::Right),
    ("RECV", Align::Right),
    ("CRED", Align::Right),
    ("DONE", Align::Right),
    ("OUT/s", Align::Right),
    ("IN/s", Align::Right),
    ("REQ/s", Align::Right),
    ("AGE", Align::Right),
    ("WAITS FOR", Align::Left),
];

/// The text of a cell of which nothing is known.
const NOTHING: &str = "-";
/// A sample of this age shows that the process does not run.
const LATE: Duration = Duration::from_secs(2);

pub(super) fn print(processes: &[ProcessView], output: &mut Output) {
    if processes.is_empty() {
        output.line("no process has an open adapter");
        return;
    }
    let mut table = Table::new(&COLUMNS);
    for process in processes {
        for adapter in &process.adapters {
            let own = |connection: &&ConnectionView| connection.ia == adapter.ia;
            let mut is_idle = true;
            for connection in process.connections.iter().filter(own) {
                is_idle = false;
                table.row(row(process, &adapter.name, connection));
            }
            if is_idle {
                let mut cells = head(process, &adapter.name);
                cells.resize(COLUMNS.len(), NOTHING.to_owned());
                cells[COLUMNS.len() - 1] = endpoints(adapter.endpoints);
                table.row(cells);
            }
        }
    }
    table.print("", output);
    for process in processes {
        let (number, command) = (process.process, &process.command);
        for adapter in process.adapters.iter().filter(|adapter| !adapter.trouble.is_empty()) {
            let text =
                format!("process {number} ({command}): {}: {}", adapter.name, adapter.trouble);
            output.line(output.paint(Paint::Mark, clean(&text)));
        }
        if process.is_stopped {
            let text = format!("process {number} ({command}) is stopped");
            output.line(output.paint(Paint::Mark, clean(&text)));
        } else if process.sample_age > LATE {
            let age = process.sample_age.as_secs();
            let text = format!("process {number} ({command}) has not answered for {age} s");
            output.line(output.paint(Paint::Mark, clean(&text)));
        }
        if process.omitted > 0 {
            output.line(format!("process {number}: {} more are not shown", process.omitted));
        }
    }
}

fn endpoints(count: u64) -> String {
    match count {
        0 => "no endpoint".to_owned(),
        1 => "1 endpoint, not connected".to_owned(),
        count => format!("{count} endpoints, none connected"),
    }
}

fn head(process: &ProcessView, adapter: &str) -> Vec<String> {
    vec![process.process.to_string(), process.command.clone(), adapter.to_owned()]
}

fn row(process: &ProcessView, adapter: &str, connection: &ConnectionView) -> Vec<String> {
    let known = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let word = |text: &str| known(Some(text.to_owned()).filter(|text| !text.is_empty()));
    let bytes = |traffic: &TrafficView| known(traffic.bytes_per_second.map(units::with_prefix));
    let requests = |traffic: &TrafficView| traffic.requests_per_second;
    let both = requests(&connection.sent).zip(requests(&connection.received));
    let mut cells = head(process, adapter);
    cells.extend([
        word(&connection.peer),
        word(&connection.transport),
        word(&connection.reader),
        connection.state.map_or_else(|| "?".to_owned(), |state| state.name().to_owned()),
        connection.requests.to_string(),
        connection.receives.to_string(),
        known(connection.credits.map(|credits| credits.to_string())),
        connection.completions.to_string(),
        bytes(&connection.sent),
        bytes(&connection.received),
        known(both.map(|(sent, received)| units::with_prefix(sent + received))),
        age(connection.age),
        waits_for(connection),
    ]);
    cells
}

fn waits_for(connection: &ConnectionView) -> String {
    connection.waits_for.map_or_else(String::new, |cause| cause.clause().to_owned())
}

/// An age in seconds, or in minutes and hours; nothing while it is short.
fn age(age: Duration) -> String {
    match age.as_secs() {
        0 => String::new(),
        seconds @ 1..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        for (seconds, expected) in [(0, ""), (59, "59 s"), (61, "1 min"), (7200, "2 h")] {
            assert_eq!(age(Duration::from_secs(seconds)), expected);
        }
    }
}
