//! Slots of connections: limits in total and for each peer, and the choice of the connection that is
//! closed when they are reached.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Maximum number of connections of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    pub(crate) total: usize,
    pub(crate) per_peer: usize,
}

/// State of a connection. The order is that of eviction: a client loses least if its connection has
/// not been used yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConnectionState {
    /// No request yet: TLS handshake, or headers of the first request.
    Opening,
    /// The body of a request is being received.
    Receiving,
    /// Idle after a response.
    KeptAlive,
    /// The request is complete, and its response is being computed.
    Handling,
}

/// Identifies the sender of a connection. An IPv6 host owns a network of 64 bits at least, so one
/// network is one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peer(IpAddr);

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

struct Entry {
    peer: Peer,
    state: ConnectionState,
    /// Start of the state. Bytes of an incomplete request do not change it.
    since: Instant,
    evicted: CancellationToken,
}

/// Open connections of a listener.
struct ConnectionTable {
    limits: ConnectionLimits,
    next_id: u64,
    entries: BTreeMap<u64, Entry>,
}

impl ConnectionTable {
    /// Adds a connection, and evicts another one if a limit is reached. `None` refuses it: all
    /// connections of the peer wait for their response.
    fn admit(&mut self, peer: Peer, now: Instant) -> Option<(u64, CancellationToken)> {
        let own = self.count(peer);
        if own >= self.limits.per_peer {
            let idlest = self.victim(|entry| {
                (entry.peer == peer && entry.state < ConnectionState::Handling)
                    .then_some((entry.state, entry.since))
            })?;
            self.evict(idlest);
        } else if self.entries.len() >= self.limits.total {
            // The peer with the most connections loses one, so that a flood evicts itself.
            let idlest = self.victim(|entry| {
                let is_handling = entry.state == ConnectionState::Handling;
                let count = self.count(entry.peer);
                (!is_handling || count > own + 1).then_some((
                    is_handling,
                    Reverse(count),
                    entry.state,
                    entry.since,
                ))
            })?;
            self.evict(idlest);
        }
        let (id, evicted) = (self.next_id, CancellationToken::new());
        self.next_id += 1;
        let entry =
            Entry { peer, state: ConnectionState::Opening, since: now, evicted: evicted.clone() };
        self.entries.insert(id, entry);
        Some((id, evicted))
    }

    fn count(&self, peer: Peer) -> usize {
        self.entries.values().filter(|entry| entry.peer == peer).count()
    }

    /// The connection with the lowest rank.
    fn victim<R: Ord>(&self, rank: impl Fn(&Entry) -> Option<R>) -> Option<u64> {
        let ranked = self.entries.iter().filter_map(|(id, entry)| Some((rank(entry)?, *id)));
        ranked.min().map(|(_, id)| id)
    }

    fn evict(&mut self, id: u64) {
        if let Some(entry) = self.entries.remove(&id) {
            entry.evicted.cancel();
        }
    }
}

/// Slots of a listener.
#[derive(Clone)]
pub(crate) struct ConnectionSlots(Arc<Mutex<ConnectionTable>>);

impl ConnectionSlots {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        let entries = BTreeMap::new();
        Self(Arc::new(Mutex::new(ConnectionTable { limits, next_id: 0, entries })))
    }

    /// Takes a slot for a connection; `None` refuses the connection.
    pub(crate) fn admit(&self, peer: IpAddr) -> Option<ConnectionSlot> {
        let (id, evicted) = self.table().admit(peer.into(), Instant::now())?;
        Some(ConnectionSlot { id, evicted, slots: self.clone() })
    }

    /// The table. Its entries are never half-changed, so a poisoned lock is safe to use.
    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Slot of a connection, free again when it is dropped.
pub(crate) struct ConnectionSlot {
    id: u64,
    /// Cancelled when another connection takes the slot.
    pub(crate) evicted: CancellationToken,
    slots: ConnectionSlots,
}

impl ConnectionSlot {
    /// Records the state of the connection.
    pub(crate) fn set(&self, state: ConnectionState) {
        if let Some(entry) = self.slots.table().entries.get_mut(&self.id) {
            (entry.state, entry.since) = (state, Instant::now());
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.table().entries.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A table with four slots, two for each peer.
    struct Table {
        inner: ConnectionTable,
        now: Instant,
        opened: Vec<(u64, CancellationToken)>,
    }

    impl Table {
        fn new() -> Self {
            let limits = ConnectionLimits { total: 4, per_peer: 2 };
            let inner = ConnectionTable { limits, next_id: 0, entries: BTreeMap::new() };
            Self { inner, now: Instant::now(), opened: Vec::new() }
        }

        /// Opens a connection of the host with this last byte, a second after the previous one.
        fn open(&mut self, host: u8) -> bool {
            self.now += Duration::from_secs(1);
            let peer = Peer::from(IpAddr::from([10, 0, 0, host]));
            let admitted = self.inner.admit(peer, self.now);
            let is_admitted = admitted.is_some();
            self.opened.extend(admitted);
            is_admitted
        }

        fn set(&mut self, index: usize, state: ConnectionState) {
            self.now += Duration::from_secs(1);
            let entry = self.inner.entries.get_mut(&self.opened[index].0).unwrap();
            (entry.state, entry.since) = (state, self.now);
        }

        /// Indexes of evicted connections, in the order in which they were opened.
        fn evicted(&self) -> Vec<usize> {
            let evicted = self.opened.iter().enumerate().filter(|(_, it)| it.1.is_cancelled());
            evicted.map(|(index, _)| index).collect()
        }
    }

    #[test]
    fn admit_of_flooding_peer_evicts_its_own_idlest_connection() {
        let mut table = Table::new();
        assert!(table.open(1));
        for _ in 0..500 {
            assert!(table.open(2));
        }
        assert_eq!(table.inner.entries.len(), 3);
        assert_eq!(table.evicted(), (1..499).collect::<Vec<_>>());
    }

    #[test]
    fn admit_of_peer_that_waits_for_responses_is_refused() {
        let mut table = Table::new();
        assert!(table.open(1) && table.open(1));
        table.set(0, ConnectionState::Handling);
        table.set(1, ConnectionState::Handling);
        assert!(!table.open(1));
        assert!(table.open(2));
        assert!(table.evicted().is_empty());
        table.set(0, ConnectionState::Receiving);
        assert!(table.open(1));
        assert_eq!(table.evicted(), [0]);
    }

    #[test]
    fn admit_to_full_table_evicts_from_peer_with_most_connections() {
        let mut table = Table::new();
        assert!([1, 2, 2, 3].into_iter().all(|host| table.open(host)));
        assert!(table.open(4));
        // The connections of the hosts 1 and 3 are older or as old, and alone.
        assert_eq!(table.evicted(), [1]);
    }

    #[test]
    fn admit_to_full_table_prefers_unused_connections() {
        let mut table = Table::new();
        assert!([1, 2, 3, 4].into_iter().all(|host| table.open(host)));
        table.set(0, ConnectionState::KeptAlive);
        table.set(1, ConnectionState::Handling);
        table.set(2, ConnectionState::Receiving);
        assert!(table.open(5));
        assert_eq!(table.evicted(), [3]);
        table.set(4, ConnectionState::Handling);
        assert!(table.open(6) && table.open(7) && table.open(8));
        assert_eq!(table.evicted(), [2, 3, 5, 6]);
    }

    #[test]
    fn admit_to_table_of_busy_connections_keeps_fair_shares() {
        let mut table = Table::new();
        assert!([1, 1, 2, 2].into_iter().all(|host| table.open(host)));
        (0..4).for_each(|index| table.set(index, ConnectionState::Handling));
        assert!(table.open(3));
        assert_eq!(table.evicted(), [0]);
        table.set(4, ConnectionState::Handling);
        assert!(table.open(4));
        assert_eq!(table.evicted(), [0, 2]);
        table.set(5, ConnectionState::Handling);
        assert!(!table.open(5), "every peer has one connection");
    }

    #[test]
    fn slot_that_is_dropped_is_free() {
        let slots = ConnectionSlots::new(ConnectionLimits { total: 1, per_peer: 1 });
        let peer = IpAddr::from([127, 0, 0, 1]);
        let slot = slots.admit(peer).unwrap();
        slot.set(ConnectionState::Handling);
        assert!(slots.admit(peer).is_none());
        drop(slot);
        assert!(slots.admit(peer).is_some());
    }

    #[test]
    fn peer_of_ipv6_address_is_its_network() {
        let peer = |text: &str| Peer::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:1"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.2"), peer("10.0.0.1"));
    }
}
