//! The counters of a port, which the kernel shows as files.
//!
//! The names in `counters` are those of InfiniBand, for every device. Those in `hw_counters` are the driver's: of mlx4,
//! which are the origin of the diagnostic counters of DAT, of mlx5, of bnxt_re and of soft-RoCE.

use std::path::{Path, PathBuf};

use dat_provider::DeviceCounters;

use crate::sysfs::port_folder;

/// Where a counter is, the first file that exists: names in the folders `counters` and `hw_counters` of the port, and in
/// `hw_counters` of the device.
type Names = &'static [&'static str];

/// The field of a counter.
type Place = fn(&mut DeviceCounters) -> &mut u64;

/// The counters, and where each of them is.
const COUNTERS: [(Place, Names); 18] = [
    (|it| &mut it.dropped_datagrams, &["rq_num_udsdprd"]),
    (|it| &mut it.receive_errors, &["port_rcv_errors"]),
    (|it| &mut it.transmit_discards, &["port_xmit_discards"]),
    (|it| &mut it.remote_physical_errors, &["port_rcv_remote_physical_errors"]),
    (|it| &mut it.receive_constraint_errors, &["port_rcv_constraint_errors"]),
    (|it| &mut it.transmit_constraint_errors, &["port_xmit_constraint_errors"]),
    (|it| &mut it.integrity_errors, &["local_link_integrity_errors"]),
    (|it| &mut it.buffer_overruns, &["excessive_buffer_overrun_errors"]),
    (|it| &mut it.switch_relay_errors, &["port_rcv_switch_relay_errors"]),
    (|it| &mut it.transmit_waits, &["port_xmit_wait"]),
    (|it| &mut it.responder_access_errors, &["rq_num_rae", "resp_remote_access_errors"]),
    (|it| &mut it.responder_out_of_sequence, {
        &["rq_num_oos", "out_of_sequence", "out_of_seq_request", "oos_drop_count"]
    }),
    (|it| &mut it.responder_invalid_requests, &["rq_num_rire"]),
    (|it| &mut it.requester_access_errors, &["sq_num_rae", "req_remote_access_errors"]),
    (|it| &mut it.requester_out_of_sequence, &["sq_num_oos", "packet_seq_err", "rcvd_seq_err"]),
    (|it| &mut it.requester_invalid_requests, &["sq_num_rire", "req_remote_invalid_request"]),
    (|it| &mut it.receiver_retries_exceeded, {
        &["sq_num_rree", "req_rnr_retries_exceeded", "retry_rnr_exceeded_err"]
    }),
    (|it| &mut it.transport_retries_exceeded, {
        &[
            "sq_num_tree",
            "req_transport_retries_exceeded",
            "retry_exceeded_err",
            "max_retry_exceeded",
        ]
    }),
];

/// How often the peer of any queue pair of the port had no receive (RNR NAK).
const NO_RECEIVE: Names = &["sq_num_rnr", "rnr_nak_retry_err", "rcvd_rnr_err", "rnr_naks_rcvd"];

/// The folder of a port.
#[derive(Debug)]
pub(crate) struct PortCounters(PathBuf);

impl PortCounters {
    pub(crate) fn of(device: &str, port: u8) -> Self {
        Self(port_folder(device, port))
    }

    /// The counts of the port, for all programs. What the device does not count is 0.
    pub(crate) fn read(&self) -> DeviceCounters {
        let mut counters = DeviceCounters::default();
        for (place, names) in COUNTERS {
            *place(&mut counters) = self.first(names).unwrap_or(0);
        }
        counters
    }

    /// How often any peer had no receive for a message; `None` if the device does not count that.
    pub(crate) fn without_receive(&self) -> Option<u64> {
        self.first(NO_RECEIVE)
    }

    fn first(&self, names: Names) -> Option<u64> {
        let Self(port) = self;
        let folders =
            [port.join("counters"), port.join("hw_counters"), port.join("../../hw_counters")];
        let paths =
            names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        paths.into_iter().find_map(|path| number(&path))
    }
}

/// The number in a file. Other text, such as `N/A`, counts as absent.
fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn counters_come_from_the_first_file_that_has_a_number() {
        let device = std::env::temp_dir().join(format!("dat-port-{}", std::process::id()));
        let port = device.join("ports/1");
        let files = [
            ("ports/1/counters/port_rcv_errors", "3\n"),
            ("ports/1/counters/port_xmit_wait", "18446744073709551615\n"),
            ("ports/1/counters/port_xmit_discards", "N/A\n"),
            ("ports/1/hw_counters/out_of_seq_request", "5\n"),
            ("ports/1/hw_counters/rcvd_rnr_err", "7\n"),
            ("hw_counters/sq_num_tree", "9\n"),
            ("ports/1/hw_counters/retry_exceeded_err", "11\n"),
        ];
        for (name, text) in files {
            let path = device.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let counters = PortCounters(port);
        let expected = DeviceCounters {
            receive_errors: 3,
            transmit_waits: u64::MAX,
            responder_out_of_sequence: 5,
            transport_retries_exceeded: 9,
            ..DeviceCounters::default()
        };
        assert_eq!(counters.read(), expected);
        assert_eq!(counters.without_receive(), Some(7));
        fs::remove_dir_all(device).expect("it exists");
        assert_eq!(
            (counters.read(), counters.without_receive()),
            (DeviceCounters::default(), None)
        );
    }
}
