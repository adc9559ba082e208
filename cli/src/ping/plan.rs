//! The steps, in their order.

use super::local::{LONGEST, Local};
use super::runner::{Act, Done, Stage, Step};
use crate::units;

/// The sizes of messages.
const SIZES: [u64; 5] = [0, 1, 64, 4 << 10, LONGEST];

pub(super) fn step<S>(
    name: &str,
    needs: &'static [Stage],
    gives: Option<Stage>,
    act: Act<S>,
) -> Step<S> {
    Step { name: name.to_owned(), needs, gives, act }
}

/// The first step; the adapter's limits then decide on the others.
pub(super) fn open() -> Step<Local> {
    step("open", &[], Some(Stage::Adapter), Box::new(Local::open))
}

/// All other steps.
pub(super) fn rest(local: &Local) -> Vec<Step<Local>> {
    use Stage::{Adapter, Connection, Listener, Memory, Objects, RmrSteps};
    const DATA: &[Stage] = &[Connection, Memory];
    let mut steps = vec![
        step("create objects", &[Adapter], Some(Objects), Box::new(Local::make_objects)),
        step("register memory", &[Objects], Some(Memory), Box::new(Local::register)),
        step("listen", &[Objects], Some(Listener), Box::new(Local::listen)),
        step("connect", &[Listener], Some(Connection), Box::new(Local::connect)),
        step("private data", &[Connection], None, Box::new(Local::check_private_data)),
    ];
    let limit = local.ia.as_ref().map_or(u64::MAX, |ia| ia.attributes().max_message_size);
    for size in sizes(limit) {
        steps.push(Step {
            name: format!("send {}", units::bytes(size)),
            needs: DATA,
            gives: None,
            act: Box::new(move |local| {
                if size > limit {
                    let limit = units::bytes(limit);
                    return Ok(Done::LeftOut(format!("max_message_size is {limit}")));
                }
                local.send_both_ways(size)
            }),
        });
    }
    let needs_window: &[Stage] = &[RmrSteps, Connection, Memory];
    steps.extend([
        step(
            "send in segments",
            DATA,
            None,
            Box::new(|local: &mut Local| local.send_in_segments()),
        ),
        step("RDMA write", DATA, None, Box::new(|local: &mut Local| local.rdma_writes())),
        step("RDMA read", DATA, None, Box::new(|local: &mut Local| local.rdma_reads())),
        step("bind", DATA, Some(RmrSteps), Box::new(Local::bind)),
        step("access via bind", needs_window, None, Box::new(|local: &mut Local| local.use_rmr())),
        step(
            "stale bind is refused",
            needs_window,
            None,
            Box::new(|local: &mut Local| local.rebind()),
        ),
        step("disconnect", DATA, None, Box::new(Local::disconnect)),
        step("close", &[Adapter], None, Box::new(Local::close)),
    ]);
    steps
}

/// The sizes to test, including the limit itself if it is lower.
pub(super) fn sizes(limit: u64) -> Vec<u64> {
    let mut sizes = SIZES.to_vec();
    if limit < LONGEST {
        sizes.push(limit);
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
