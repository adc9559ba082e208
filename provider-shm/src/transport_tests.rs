use std::net::Ipv6Addr;
use std::sync::atomic::Ordering;

use dat_provider::{SharedWord, SleepTarget};
use dat_provider_kit::engine::{Connected, ConnectorEvent};
use dat_provider_kit::frame::{Body, Frame};
use dat_provider_kit::link::{
    Armed, Budget, Destinations, End, FrameSink, Progress, Refused, WriteResult,
};
use dat_sync::futex;

use super::*;
use crate::kept_segments::{ClaimedSegment, OwnSegment};
use crate::listener::socket;

const LO: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
fn rings() -> Rings {
    Rings::open("").expect("the defaults").0
}

/// Connects to a listener whose backlog is not full, if there is one.
fn connect(
    rings: &Rings,
    to: IpAddr,
    qualifier: u64,
) -> std::result::Result<Connected, ConnectError> {
    match rings.connect(to, qualifier)? {
        Attempt::Connected(link) => Ok(link),
        Attempt::Pending(_) => panic!("the backlog is full"),
    }
}

#[derive(Default)]
struct Kept(Vec<Body>);

impl FrameSink for Kept {
    fn begin(&mut self, frame: &Frame) -> std::result::Result<(), Refused> {
        self.0.push(frame.body);
        Ok(())
    }

    fn destinations(&mut self, _: u64, _: &mut Destinations) {}

    fn end(&mut self) -> std::result::Result<(), Refused> {
        Ok(())
    }
}

fn pair() -> (Connected, Connected) {
    let mut acceptor = rings().listen(None).expect("a free qualifier");
    let active = connect(&rings(), LO, acceptor.qualifier()).expect("it listens");
    let passive = acceptor.accept().expect("it has connected");
    (active, passive)
}

fn ended(link: &mut Connected, kept: &mut Kept) -> End {
    loop {
        if let Err(end) = link.reader.read(kept, Budget::default()) {
            return end;
        }
    }
}

#[test]
fn frames_cross_and_the_end_follows_them() {
    let (mut active, mut passive) = pair();
    assert_eq!((passive.address, active.address), (LO, LO));
    for _ in 0..1000 {
        assert_eq!(active.writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
    }
    active.writer.shut_down().expect("alive");
    let mut kept = Kept::default();
    assert_eq!(ended(&mut passive, &mut kept), End::Closed);
    assert_eq!(kept.0, [Body::Ack; 1000]);
}

/// The word of a waiter that sleeps on it, and the value with which it sleeps; whether there is a frame already.
fn word(link: &mut Connected) -> (Arc<dyn SharedWord>, u32, bool) {
    match link.reader.begin_sleep() {
        Some((SleepTarget::Word { word, seen }, has_frame)) => (word, seen, has_frame),
        other => panic!("no word: {other:?}"),
    }
}

#[test]
fn the_first_frame_after_the_start_of_a_sleep_changes_its_word() {
    if !futex::is_available() {
        return println!("NOT RUN: the system has no futex_waitv(2)");
    }
    let (mut active, mut passive) = pair();
    let mut kept = Kept::default();
    assert!(passive.reader.read(&mut kept, Budget::default()).is_ok());
    let write = |link: &mut Connected| {
        assert_eq!(link.writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
    };
    for round in 0..3 {
        // A waiter that something else woke sleeps again in the same way.
        let ends = [(); 2].map(|()| word(&mut passive));
        let [(shared, seen, false), (_, again, false)] = ends else { panic!("there is a frame") };
        assert_eq!((seen, again), (round, round));
        let now = || shared.word().load(Ordering::Relaxed);
        assert_eq!(now(), seen);
        for _ in 0..2 {
            write(&mut active);
            assert_eq!(now(), seen + 1, "the second frame wakes no thread");
        }
        assert!(passive.reader.read(&mut kept, Budget::default()).is_ok());
        // The driver reads the link again.
        assert!(!passive.reader.arm(Armed::Descriptor));
        write(&mut active);
        assert_eq!(now(), seen + 1, "the socket wakes the driver");
        let (_, next, has_frame) = word(&mut passive);
        assert_eq!((next, has_frame), (seen + 1, true), "the frame came before");
        assert!(passive.reader.read(&mut kept, Budget::default()).is_ok());
    }
    assert_eq!(kept.0, [Body::Ack; 9]);
}

#[test]
fn frames_of_a_peer_that_is_gone_are_read() {
    let (mut active, mut passive) = pair();
    let mut kept = Kept::default();
    assert!(passive.reader.read(&mut kept, Budget::default()).is_ok());
    assert_eq!(passive.writer.write(&Frame::new(Body::Cts), &[]), Ok(WriteResult::Taken));
    drop(passive);
    assert_eq!(ended(&mut active, &mut kept), End::Closed);
    assert_eq!(kept.0, [Body::Cts]);
    assert!(active.writer.write(&Frame::new(Body::Ack), &[]).is_err());
}

/// Connects, moves a frame in each direction, and ends the connection on both sides.
fn use_once(near: &Rings, acceptor: &mut Box<dyn Acceptor>) {
    let mut active = connect(near, LO, acceptor.qualifier()).expect("it listens");
    let mut passive = acceptor.accept().expect("it has connected");
    for (from, to, body) in [(0, 1, Body::Ack), (1, 0, Body::Cts)] {
        let links = [&mut active, &mut passive];
        assert_eq!(links[from].writer.write(&Frame::new(body), &[]), Ok(WriteResult::Taken));
        let mut kept = Kept::default();
        // A peer that does not know the segment first requests the file.
        for _ in 0..100 {
            links[0].reader.note_readable();
            let _ = links[from].reader.read(&mut Kept::default(), Budget::default());
            assert!(links[to].reader.read(&mut kept, Budget::default()).is_ok());
        }
        assert_eq!(kept.0, [body]);
    }
    drop((passive, active));
}

/// Takes a segment that was used with a listener and kept.
fn take_own(near: &Rings, qualifier: u64) -> Option<OwnSegment> {
    near.options.kept.claim(qualifier).and_then(ClaimedSegment::into_own)
}

#[test]
fn connections_one_after_the_other_use_the_same_memory() {
    let near = rings();
    let mut acceptor = rings().listen(None).expect("a free qualifier");
    (0..5).for_each(|_| use_once(&near, &mut acceptor));
    let take = || take_own(&near, acceptor.qualifier());
    assert!(take().is_some() && take().is_none(), "each would otherwise have left its own");
}

#[test]
fn a_listener_that_has_not_kept_the_memory_receives_other_memory() {
    let near = rings();
    let mut acceptor = rings().listen(None).expect("a free qualifier");
    use_once(&near, &mut acceptor);
    let qualifier = acceptor.qualifier();
    drop(acceptor);
    let mut acceptor = rings().listen(Some(qualifier)).expect("it is free again");
    use_once(&near, &mut acceptor);
    use_once(&near, &mut acceptor);
    let take = || take_own(&near, qualifier);
    assert!(take().is_some() && take().is_none(), "the other memory is kept");
}

#[test]
fn memory_for_an_attempt_that_fails_is_used_by_the_next_one() {
    let (near, far) = (rings(), rings());
    let mut acceptor = far.listen(None).expect("a free qualifier");
    use_once(&near, &mut acceptor);
    let qualifier = acceptor.qualifier();
    drop(acceptor);
    assert_eq!(connect(&near, LO, qualifier).err(), Some(ConnectError::Refused));
    let mut acceptor = far.listen(Some(qualifier)).expect("it is free again");
    use_once(&near, &mut acceptor);
    let take = || take_own(&near, qualifier);
    assert!(take().is_some() && take().is_none(), "there was one segment");
}

#[test]
fn memory_beyond_the_first_page_is_not_kept() {
    let near = rings();
    let mut acceptor = rings().listen(None).expect("a free qualifier");
    let mut active = connect(&near, LO, acceptor.qualifier()).expect("it listens");
    let mut passive = acceptor.accept().expect("it has connected");
    let mut kept = Kept::default();
    for _ in 0..50 {
        assert_eq!(active.writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
        assert!(passive.reader.read(&mut kept, Budget::default()).is_ok());
    }
    drop((passive, active));
    assert!(take_own(&near, acceptor.qualifier()).is_none());
}

/// A poll is a load, not a system call.
#[test]
fn a_read_leaves_the_descriptor_alone_until_it_is_readable() {
    let (mut active, mut passive) = pair();
    assert_eq!(active.writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
    let mut kept = Kept::default();
    let mut read = |passive: &mut Connected| passive.reader.read(&mut kept, Budget::default());
    assert_eq!(read(&mut passive), Ok(Progress::Drained(true)));
    active.writer.shut_down().expect("alive");
    assert_eq!(read(&mut passive), Ok(Progress::Drained(false)));
    passive.reader.note_readable();
    assert_eq!(read(&mut passive), Err(End::Closed));
}

#[test]
fn a_full_link_takes_more_when_its_descriptor_says_so() {
    let (mut active, mut passive) = pair();
    let mut written = 0;
    while active.writer.write(&Frame::new(Body::Ack), &[]) == Ok(WriteResult::Taken) {
        written += 1;
    }
    assert_eq!(active.writer.flush(), Ok(true));
    let mut kept = Kept::default();
    while kept.0.len() < written {
        assert!(passive.reader.read(&mut kept, Budget::default()).is_ok());
    }
    let descriptor = active.reader.descriptor().expect("the socket");
    let mut polled =
        [rustix::event::PollFd::from_borrowed_fd(descriptor, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut polled, Some(&limit)), Ok(1));
    assert_eq!(active.writer.flush(), Ok(false));
}

#[test]
fn a_qualifier_is_listened_on_once_and_is_free_again_afterwards() {
    const QUALIFIER: u64 = 0x1234_5678_9abc_def0;
    let first = rings().listen(Some(QUALIFIER)).expect("free");
    let error = rings().listen(Some(QUALIFIER)).err().expect("in use");
    assert_eq!(error.return_type(), dat_provider::error::ReturnType::ConnQualInUse);
    drop(first);
    drop(rings().listen(Some(QUALIFIER)).expect("free again"));
    let failure = connect(&rings(), LO, QUALIFIER).err();
    assert_eq!(failure, Some(ConnectError::Refused));
}

#[test]
fn an_attempt_waits_for_a_listener_whose_backlog_is_full() {
    const QUALIFIER: u64 = 0x1234_5678_9abc_def1;
    let listener = socket().expect("a descriptor");
    let name = rings().space.listener(None, LO, QUALIFIER).expect("short enough");
    rustix::net::bind(&listener, &name).expect("free");
    rustix::net::listen(&listener, 0).expect("bound");
    let _first = connect(&rings(), LO, QUALIFIER).expect("the backlog takes one");
    let mut attempt = rings().connect(LO, QUALIFIER);
    for _ in 0..3 {
        let Ok(Attempt::Pending(dial)) = attempt else { panic!("the backlog is not full") };
        assert!(matches!(dial.awaits(), ConnectorEvent::Time(_)));
        attempt = dial.advance();
    }
    drop(rustix::net::accept(&listener).expect("the first"));
    let Ok(Attempt::Pending(dial)) = attempt else { panic!("it was not continued") };
    assert!(matches!(dial.advance(), Ok(Attempt::Connected(_))));
    drop(listener);
    assert_eq!(connect(&rings(), LO, QUALIFIER).err(), Some(ConnectError::Refused));
}

#[test]
fn a_file_that_a_killed_process_left_does_not_block_its_qualifier() {
    let folder = std::env::temp_dir().join(format!("dat-shm-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (rings, _) = Rings::open(&format!("dir={}", folder.display())).expect("a folder");
    let left = socket().expect("a descriptor");
    let name = rings.space.listener(Some(&folder), rings.address, 9).expect("short enough");
    rustix::net::bind(&left, &name).expect("a free name");
    drop(left);
    let mut acceptor = rings.listen(Some(9)).expect("no process listens there");
    assert!(rings.listen(Some(9)).is_err(), "now one does");
    let _active = connect(&rings, LO, 9).expect("it listens");
    // The check whether a process listens has connected and closed before.
    let accepted = std::iter::from_fn(|| acceptor.accept()).count();
    assert!(accepted >= 1, "{accepted}");
    drop(acceptor);
    std::fs::remove_dir(&folder).expect("nothing is left in it");
}

/// Does something in a thread that has the rights of another user. Only root can.
fn as_other_user<T: Send>(act: impl FnOnce() -> T + Send) -> Option<T> {
    const OTHER: libc::c_long = 65_534;
    if !rustix::process::geteuid().is_root() {
        println!("NOT RUN: only root can take the rights of another user");
        return None;
    }
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let same: libc::c_long = -1;
            // SAFETY: the system call changes the rights of this thread, which ends soon.
            let changed = unsafe { libc::syscall(libc::SYS_setresuid, same, OTHER, same) };
            assert_eq!(changed, 0);
            act()
        });
        Some(thread.join().expect("no panic"))
    })
}

#[test]
fn peers_of_other_users_are_refused_unless_any_is_allowed() {
    for (parameters, is_accepted) in [("", false), ("users=any", true)] {
        let (rings, _) = Rings::open(parameters).expect("valid");
        let mut acceptor = rings.listen(None).expect("a free qualifier");
        let qualifier = acceptor.qualifier();
        let dial = || connect(&rings, LO, qualifier);
        // Its listener belongs to root, so the active side goes on.
        let Some(dialled) = as_other_user(dial) else { return };
        let mut active = dialled.expect("it listens");
        assert_eq!(acceptor.accept().is_some(), is_accepted, "{parameters:?}");
        if !is_accepted {
            assert_eq!(ended(&mut active, &mut Kept::default()), End::Closed);
        }
    }
    // The other way: a stranger took the qualifier.
    let listen = || rings().listen(None).expect("a free qualifier");
    let Some(acceptor) = as_other_user(listen) else { return };
    let refused = connect(&rings(), LO, acceptor.qualifier());
    assert_eq!(refused.err(), Some(ConnectError::OtherUser));
}

#[test]
fn memory_of_a_peer_of_another_user_is_not_used_again() {
    let (rings, _) = Rings::open("users=any").expect("valid");
    let mut acceptor = rings.listen(None).expect("a free qualifier");
    let qualifier = acceptor.qualifier();
    let Some(dialled) = as_other_user(|| connect(&rings, LO, qualifier)) else { return };
    let active = dialled.expect("it listens");
    let mut passive = acceptor.accept().expect("it has connected");
    let kept = &mut Kept::default();
    assert!(passive.reader.read(kept, Budget::default()).is_ok(), "it maps the memory");
    drop((passive, active));
    assert!(rings.options.kept.claim(qualifier).is_none());
}

#[test]
fn a_listener_next_to_tcp_is_found_by_its_address_and_space_only() {
    let beside = |last| rings().beside_tcp([127, 0, 0, last].into());
    let (near, far) = (beside(8), beside(9));
    let mut acceptor = far.listen(None).expect("a free qualifier");
    let (address, qualifier) = (far.address(), acceptor.qualifier());
    let dial = |rings: &Rings, to| connect(rings, to, qualifier);
    for refused in [dial(&rings(), address), dial(&near, near.address()), dial(&near, LO)] {
        assert_eq!(refused.err(), Some(ConnectError::Refused));
    }
    let _active = dial(&near, address).expect("it listens");
    let passive = acceptor.accept().expect("it has connected");
    assert_eq!(passive.address, near.address());
    drop(rings().listen(Some(qualifier)).expect("the name of adapters `shm` is free"));
}

#[test]
fn a_listener_next_to_tcp_at_the_unspecified_address_is_found_by_each_address() {
    let everywhere = rings().beside_tcp(Ipv6Addr::UNSPECIFIED.into());
    let near = rings().beside_tcp([127, 0, 0, 8].into());
    let mut acceptor = everywhere.listen(None).expect("a free qualifier");
    for to in [LO, [127, 0, 0, 8].into(), Ipv6Addr::LOCALHOST.into()] {
        let active = connect(&near, to, acceptor.qualifier()).expect("it listens");
        let passive = acceptor.accept().expect("it has connected");
        assert_eq!((active.address, passive.address), (to, near.address()));
    }
}
