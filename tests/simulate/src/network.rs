//! The network of the simulated machines, and the provider whose adapters are on it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use dat_core::provider::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{
    Adapter, Description, DiscoveredAdapter, LocalCause, OpenRequest, Provider, Reach,
};
use dat_provider_kit::engine::{
    self, Acceptor, Attempt, ConnectError, Connected, Identity, SimulatedThread, Transport,
};
use dat_provider_kit::handshake::Secret;
use dat_provider_kit::link::{Reader, Writer};
use dat_provider_kit::parameters::Limits;
use dat_sync::epoll::EventFlags;
use dat_sync::epoll::simulated::{self, Descriptor};
use fastrand::Rng;

use crate::ring::{self, Bells, Ring};
use crate::stream::{self, Carrier};

/// How a network behaves, as the seed says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// Links are rings, not streams.
    pub(crate) are_rings: bool,
    pub(crate) has_doorbells: bool,
    pub(crate) has_secret: bool,
    /// Rings permit access to the memory of the peer.
    pub(crate) is_direct: bool,
    /// Readers of rings map their memory late.
    pub(crate) is_late: bool,
    /// Bytes that a link holds.
    pub(crate) capacity: usize,
}

/// The halves of the link of a process.
pub(crate) type Halves = (Box<dyn Reader>, Box<dyn Writer>);

/// A link, as the network has it.
pub(crate) enum Link {
    Stream(Carrier),
    Ring(Ring),
}

impl Link {
    /// If a process has not read all that has arrived in a direction: how many bytes it has read.
    pub(crate) fn unread(&self, direction: usize) -> Option<u64> {
        match self {
            Self::Stream(stream) => stream.unread(direction),
            Self::Ring(ring) => ring.unread(direction),
        }
    }

    /// The number of bytes that were read.
    pub(crate) fn read_bytes(&self) -> u64 {
        match self {
            Self::Stream(stream) => stream.read_bytes(),
            Self::Ring(ring) => ring.read_bytes(),
        }
    }

    /// If nothing is on its way or unread: the number of bytes that were read.
    pub(crate) fn idle(&self) -> Option<u64> {
        match self {
            Self::Stream(stream) => stream.idle(),
            Self::Ring(ring) => ring.idle(),
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Stream(stream) => stream.describe(),
            Self::Ring(ring) => format!("unread {:?}", [0, 1].map(|one| ring.unread(one))),
        }
    }

    pub(crate) fn cut(&mut self) {
        match self {
            Self::Stream(stream) => stream.cut(),
            Self::Ring(ring) => ring.cut(),
        }
    }
}

/// A listener, as peers find it.
struct Port {
    process: usize,
    waiting: Mutex<Vec<Connected>>,
    bell: Descriptor,
}

/// What the simulated machines share.
pub(crate) struct Network {
    habits: Habits,
    ports: HashMap<(IpAddr, u64), Arc<Port>>,
    next_port: u64,
    /// The links, with the processes at their ends.
    pub(crate) links: Vec<([usize; 2], Link)>,
    bells: Vec<Arc<Bells>>,
    random: Rng,
    /// The threads of the adapters that were opened, by process.
    pub(crate) threads: Vec<Option<(usize, SimulatedThread)>>,
}

thread_local! {
    static NETWORK: RefCell<Option<Network>> = const { RefCell::new(None) };
}

/// Calls a function with the network of this thread.
pub(crate) fn with<T>(act: impl FnOnce(&mut Network) -> T) -> T {
    NETWORK.with_borrow_mut(|network| act(network.as_mut().expect("a simulation")))
}

/// Begins with an empty network.
pub(crate) fn begin(habits: Habits, processes: usize, mut random: Rng, is_simulated: bool) {
    if is_simulated {
        simulated::begin(random.usize(..));
    } else {
        simulated::end();
    }
    let network = Network {
        habits,
        ports: HashMap::new(),
        next_port: 1,
        links: Vec::new(),
        random,
        bells: (0..processes).map(|_| Bells::new()).collect(),
        threads: Vec::new(),
    };
    NETWORK.set(Some(network));
}

/// Ends the network and what is left on it.
pub(crate) fn end() {
    NETWORK.set(None);
}

/// Lets the readers whose memory is mapped now see what has arrived.
pub(crate) fn map_memory() {
    with(|network| {
        if network.habits.is_late {
            for (_, link) in &mut network.links {
                if let Link::Ring(ring) = link {
                    ring.map_memory();
                }
            }
        }
    });
}

/// Delivers some bytes of a link, which the random numbers choose.
pub(crate) fn deliver(random: &mut Rng) {
    with(|network| {
        if network.links.is_empty() {
            return;
        }
        let index = random.usize(0..network.links.len());
        let most = [1, 60, 5_000, 1 << 20][random.usize(0..4)];
        if let (_, Link::Stream(stream)) = &network.links[index] {
            stream.deliver(random.usize(0..2), most);
        }
    });
}

/// The number of bytes that were read from all links.
pub(crate) fn read_bytes() -> u64 {
    with(|network| network.links.iter().map(|(_, link)| link.read_bytes()).sum())
}

/// Delivers everything that is on its way.
pub(crate) fn deliver_all() {
    with(|network| {
        for (_, link) in &mut network.links {
            if let Link::Stream(stream) = link {
                while stream.deliver(0, 1 << 20) | stream.deliver(1, 1 << 20) {}
            }
        }
    });
}

/// The address of the machine of a process.
pub(crate) fn address(process: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, process as u8 + 1).into()
}

/// The provider of the simulated adapters, which are named by their processes.
pub(crate) struct Simulated;

impl Provider for Simulated {
    fn describe(&self) -> Description {
        Description { name: "simulated", vendor: "tests", version: (1, 0), reach: Reach::Process }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter {
            name: "simulated".to_owned(),
            summary: String::new(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let process: usize = request.parameters.parse().expect("a process");
        let identity = Identity::new(request.name, self.describe(), Vec::new());
        let transport = Box::new(Machine { process });
        let limits = Limits::default();
        engine::open(identity, address(process), limits, transport, request.sink)
    }
}

/// The machine of a process.
struct Machine {
    process: usize,
}

impl Transport for Machine {
    fn connect(
        &self,
        address: IpAddr,
        qualifier: u64,
    ) -> std::result::Result<Attempt, ConnectError> {
        with(|network| {
            let port = network.ports.get(&(address, qualifier)).ok_or(ConnectError::Refused)?;
            let port = Arc::clone(port);
            let (from, to) = (self.process, port.process);
            let habits @ Habits { are_rings, has_doorbells, capacity, .. } = network.habits;
            let made = if are_rings {
                let bells = |process: usize| has_doorbells.then(|| &network.bells[process]);
                let made = ring::connect(habits, [bells(from), bells(to)], &mut network.random);
                made.map(|(halves, ring)| (halves, Link::Ring(ring)))
            } else {
                stream::connect(capacity).map(|(halves, stream)| (halves, Link::Stream(stream)))
            };
            let (halves, link) = made.map_err(|errno| {
                let (what, errno) = ("create a link", errno.raw_os_error());
                ConnectError::Local(LocalCause { what, errno })
            })?;
            network.links.push(([from, to], link));
            network.next_port += 1;
            let local_port = network.next_port;
            let [near, far] = halves;
            let connected = |(reader, writer), address, local_port| Connected {
                reader,
                writer,
                address,
                local_port,
                datagrams: None,
            };
            let mut waiting = port.waiting.lock().expect("one thread");
            waiting.push(connected(far, crate::network::address(from), qualifier));
            port.bell.set_ready(EventFlags::IN);
            Ok(Attempt::Connected(connected(near, address, local_port)))
        })
    }

    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>> {
        with(|network| {
            network.next_port += 1;
            let qualifier = qualifier.unwrap_or(network.next_port);
            let bell = Descriptor::new().map_err(|errno| {
                let (what, errno) = ("listen", errno.raw_os_error());
                LocalCause { what, errno }.error(Subtype::NoSubtype)
            })?;
            let (process, waiting) = (self.process, Mutex::default());
            let port = Arc::new(Port { process, waiting, bell });
            let key = (address(self.process), qualifier);
            if network.ports.contains_key(&key) {
                return Err(Error::new(ReturnType::ConnQualInUse, Subtype::NoSubtype));
            }
            network.ports.insert(key, Arc::clone(&port));
            Ok(Box::new(Listening { key, port }) as _)
        })
    }

    fn secret(&self) -> Option<Secret> {
        with(|network| network.habits.has_secret)
            .then(|| Secret::new(b"of all simulated machines").expect("long enough"))
    }
}

struct Listening {
    key: (IpAddr, u64),
    port: Arc<Port>,
}

impl Acceptor for Listening {
    fn qualifier(&self) -> u64 {
        self.key.1
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.port.bell.as_fd()
    }

    fn is_there(&self) -> bool {
        true
    }

    fn accept(&mut self) -> Option<Connected> {
        let mut waiting = self.port.waiting.lock().expect("one thread");
        if waiting.is_empty() {
            self.port.bell.set_ready(EventFlags::empty());
            return None;
        }
        Some(waiting.remove(0))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // The network may be gone at the end of the thread.
        NETWORK.with_borrow_mut(|network| {
            network.as_mut().and_then(|network| network.ports.remove(&self.key))
        });
    }
}
