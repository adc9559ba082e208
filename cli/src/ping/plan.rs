//! Which steps there are, in their order.

use super::bench::{Bench, LONGEST};
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

/// The first step: the limits of the adapter decide over the others.
pub(super) fn open() -> Step<Bench> {
    step("open", &[], Some(Stage::Adapter), Box::new(Bench::open))
}

/// All other steps.
pub(super) fn rest(bench: &Bench) -> Vec<Step<Bench>> {
    use Stage::{Adapter, Connection, Listener, Memory, Objects, Window};
    const DATA: &[Stage] = &[Connection, Memory];
    let mut steps = vec![
        step("make objects", &[Adapter], Some(Objects), Box::new(Bench::make_objects)),
        step("register memory", &[Objects], Some(Memory), Box::new(Bench::register)),
        step("listen", &[Objects], Some(Listener), Box::new(Bench::listen)),
        step("connect", &[Listener], Some(Connection), Box::new(Bench::connect)),
        step("private data", &[Connection], None, Box::new(Bench::check_private_data)),
    ];
    let limit = bench.ia.as_ref().map_or(u64::MAX, |ia| ia.attributes().max_message_size);
    for size in sizes(limit) {
        steps.push(Step {
            name: format!("send {}", units::bytes(size)),
            needs: DATA,
            gives: None,
            act: Box::new(move |bench| {
                if size > limit {
                    let limit = units::bytes(limit);
                    return Ok(Done::LeftOut(format!("max_message_size is {limit}")));
                }
                bench.send_both_ways(size)
            }),
        });
    }
    let needs_window: &[Stage] = &[Window, Connection, Memory];
    steps.extend([
        step(
            "send in segments",
            DATA,
            None,
            Box::new(|bench: &mut Bench| bench.send_in_segments()),
        ),
        step("RDMA write", DATA, None, Box::new(|bench: &mut Bench| bench.rdma_writes())),
        step("RDMA read", DATA, None, Box::new(|bench: &mut Bench| bench.rdma_reads())),
        step("bind", DATA, Some(Window), Box::new(Bench::bind)),
        step(
            "access by the bind",
            needs_window,
            None,
            Box::new(|bench: &mut Bench| bench.use_window()),
        ),
        step(
            "old bind is refused",
            needs_window,
            None,
            Box::new(|bench: &mut Bench| bench.rebind()),
        ),
        step("disconnect", DATA, None, Box::new(Bench::disconnect)),
        step("close", &[Adapter], None, Box::new(Bench::close)),
    ]);
    steps
}

/// The sizes to try, among them the limit itself where that is lower.
pub(super) fn sizes(limit: u64) -> Vec<u64> {
    let mut sizes = SIZES.to_vec();
    if limit < LONGEST {
        sizes.push(limit);
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
