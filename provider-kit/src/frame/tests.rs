use proptest::prelude::*;

use super::*;

/// Number of random inputs: a million in CI, and any other with `FRAME_INPUTS`, for example
/// `FRAME_INPUTS=100000000 cargo test --release -p dat-provider-kit random_bytes`.
fn inputs() -> u64 {
    let number = std::env::var("FRAME_INPUTS").ok().and_then(|text| text.parse().ok());
    number.unwrap_or(1_000_000)
}

/// Decodes, and checks that what was accepted is what the encoder makes of it.
fn judge(bytes: &[u8]) -> bool {
    let Ok(Some((frame, length))) = decode(bytes) else { return false };
    assert_eq!(*frame.encode(), bytes[..length], "{frame:?}");
    assert!(frame.payload() <= MAX_NEXT_PIECE, "{frame:?}");
    true
}

#[test]
fn random_bytes_are_refused_or_encode_to_themselves() {
    let mut random = fastrand::Rng::with_seed(18);
    let mut accepted = 0_u64;
    for _ in 0..inputs() {
        let mut bytes = [0; MAX_HEAD + 8];
        random.fill(&mut bytes);
        // Half of the inputs are almost frames, so that the later checks are reached too.
        if random.bool() {
            bytes[0] = random.u8(0..32);
            bytes[1] &= 7;
            bytes[16 + random.usize(0..=4)..24].fill(0);
            if random.bool() {
                bytes[12..16].fill(0);
                bytes[28..32].fill(0);
                bytes[28] = random.u8(0..4);
            }
        }
        let length = random.usize(0..=bytes.len());
        accepted += u64::from(judge(&bytes[..length]));
    }
    assert!(accepted > inputs() / 200, "only {accepted} of {} inputs were frames", inputs());
}

fn remote() -> impl Strategy<Value = Remote> {
    (any::<u32>(), any::<u64>()).prop_map(|(context, address)| Remote { context, address })
}

fn extra() -> impl Strategy<Value = Extra> {
    prop_oneof![
        Just(Extra::None),
        any::<u32>().prop_map(Extra::Invalidate),
        any::<u32>().prop_map(Extra::Immediate),
    ]
}

fn body() -> impl Strategy<Value = Body> {
    let (length, piece, hand) = (0..=MAX_TRANSFER, 1..=MAX_NEXT_PIECE, 0..=MAX_HANDSHAKE);
    let reply = prop_oneof![
        Just(ConnectReply::Accepted),
        Just(ConnectReply::Rejected),
        Just(ConnectReply::Refused(Refusal::NoListener)),
        Just(ConnectReply::Refused(Refusal::Version)),
        Just(ConnectReply::Refused(Refusal::Secret)),
        Just(ConnectReply::Refused(Refusal::Malformed)),
    ];
    let failures: Vec<_> = DtoStatus::all().filter(|one| *one != DtoStatus::Success).collect();
    let reason = prop_oneof![
        Just(Reason::Graceful),
        Just(Reason::Abrupt),
        (any::<u32>(), proptest::sample::select(failures))
            .prop_map(|(request, status)| Reason::Broken { request, status }),
    ];
    prop_oneof![
        (any::<u8>(), hand.clone()).prop_map(|(version, length)| Body::Hello { version, length }),
        hand.clone().prop_map(|length| Body::Challenge { length }),
        hand.clone().prop_map(|length| Body::Proof { length }),
        (reply, hand).prop_map(|(reply, length)| Body::Answer { reply, length }),
        Just(Body::Ready),
        (length.clone(), any::<bool>(), extra())
            .prop_map(|(length, solicited, extra)| Body::Send { length, solicited, extra }),
        (length.clone(), remote()).prop_map(|(length, remote)| Body::Write { length, remote }),
        (length.clone(), remote(), any::<u32>(), any::<bool>()).prop_map(
            |(length, remote, immediate, solicited)| Body::WriteImmediate {
                length,
                remote,
                immediate,
                solicited
            }
        ),
        (length.clone(), remote()).prop_map(|(length, remote)| Body::Read { length, remote }),
        (remote(), any::<u64>()).prop_map(|(remote, add)| Body::FetchAdd { remote, add }),
        (remote(), any::<u64>(), any::<u64>())
            .prop_map(|(remote, compare, swap)| Body::CompareSwap { remote, compare, swap }),
        (0..=MAX_NEXT_PIECE, any::<bool>())
            .prop_map(|(length, last)| Body::Data { length, last: last || length == 0 }),
        (piece, any::<bool>()).prop_map(|(length, last)| Body::More { length, last }),
        length.prop_map(|length| Body::Rts { length }),
        Just(Body::Cts),
        Just(Body::NoReceive),
        any::<u32>().prop_map(|request| Body::Withdraw { request }),
        (1..=MAX_TRANSFER, any::<bool>(), 1..=MAX_EXTENTS, any::<u64>()).prop_map(
            |(length, solicited, extents, epoch)| Body::Offer { length, solicited, extents, epoch }
        ),
        Just(Body::Ack),
        reason.prop_map(|reason| Body::End { reason }),
    ]
}

proptest! {
    #[test]
    fn a_frame_comes_back_as_it_was(
        body in body(), number: u16, done: u32, posted: u32, quiet: bool, cut in 0..MAX_HEAD,
    ) {
        let may_be_quiet =
            matches!(body, Body::Send { .. } | Body::Write { .. } | Body::WriteImmediate { .. });
        let frame = Frame { body, number, done, posted, quiet: quiet && may_be_quiet };
        let head = frame.encode();
        prop_assert!([24, 40, 56].contains(&head.len()));
        prop_assert_eq!(decode(&head), Ok(Some((frame, head.len()))));
        let [first, second, third, ..] = head.words();
        let message = MessageHead::of([first, second, third]);
        let plain = matches!(body, Body::Send { extra: Extra::None, .. }) && !frame.quiet;
        let unnumbered = Frame { number: 0, ..frame };
        prop_assert_eq!(message.map(|message| message.frame()), plain.then_some(unnumbered));
        if let Some(message) = message {
            let words = unnumbered.encode().words();
            prop_assert_eq!(&message.words()[..], &words[..3]);
        }
        let ack = AckHead::of([first, second, third]);
        let is_ack = matches!(body, Body::Ack);
        prop_assert_eq!(ack.map(|ack| ack.frame()), is_ack.then_some(unnumbered));
        if let Some(ack) = ack {
            let words = unnumbered.encode().words();
            prop_assert_eq!(&ack.words()[..], &words[..3]);
        }
        let part = &head[..cut.min(head.len() - 1)];
        prop_assert_eq!(decode(part), Ok(None), "a part of a head");
    }
}

#[test]
fn the_layout_is_as_documented() {
    let remote = Remote { context: 0x1122_3344, address: 0x5566_7788_99aa_bbcc };
    let body = Body::WriteImmediate { length: 7, remote, immediate: 0xdead_beef, solicited: true };
    let counts = Frame { done: 0x0304_0506, posted: 0x0708_090a, ..Frame::new(body) };
    let head = Frame { number: 0x0102, quiet: true, ..counts }.encode();
    let expected = [
        19, 5, 2, 1, 6, 5, 4, 3, 0x0a, 9, 8, 7, 0xef, 0xbe, 0xad, 0xde, 7, 0, 0, 0, 0, 0, 0, 0,
        0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0xcc, 0xbb, 0xaa, 0x99, 0x88, 0x77, 0x66, 0x55,
    ];
    assert_eq!(*head, expected);
    let send = Body::Send { length: 9, solicited: true, extra: Extra::Immediate(0xdead_beef) };
    let head = Frame { number: 0x0102, ..Frame::new(send) }.encode();
    let expected =
        [29, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xef, 0xbe, 0xad, 0xde, 9, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(*head, expected);
    assert_eq!(&Frame::hello(0).encode()[12..16], [VERSION, b'D', b'A', b'T']);
}

#[test]
fn each_wrong_byte_is_named() {
    let with = |frame: Frame, at: usize, byte: u8| {
        let mut bytes = frame.encode().to_vec();
        bytes[at] = byte;
        decode(&bytes)
    };
    let ack = Frame::new(Body::Ack);
    assert_eq!(with(ack, 0, 0), Err(FrameError::Kind(0)));
    assert_eq!(decode(b"GET / HTTP/1.1"), Err(FrameError::Kind(b'G')));
    assert_eq!(with(ack, 1, 1), Err(FrameError::Field(26)));
    assert_eq!(with(ack, 12, 1), Err(FrameError::Field(26)));
    assert_eq!(with(ack, 16, 1), Err(FrameError::Length(26)));
    assert_eq!(with(Frame::hello(0), 13, b'X'), Err(FrameError::Magic));
    let send =
        Frame::new(Body::Send { length: MAX_TRANSFER, solicited: false, extra: Extra::None });
    assert_eq!(with(send, 19, 0x80), Err(FrameError::Length(16)));
    assert_eq!(with(send, 1, LAST_FLAG), Err(FrameError::Field(16)));
    let more = Frame::new(Body::More { length: 1, last: true });
    assert_eq!(with(more, 16, 0), Err(FrameError::Length(23)), "an empty piece");
    let end = Frame::new(Body::End { reason: Reason::Abrupt });
    assert_eq!(with(end, 12, 2), Err(FrameError::Field(27)), "broken by a success");
}

const LAST_FLAG: u8 = 2;
