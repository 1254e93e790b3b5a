//! Simulation of candidates, an API server, and a network that loses and delays requests.

use proptest::prelude::*;

use super::*;

/// Maximum clock drift in per mille. The default durations allow 12 %: 137 s against 107 s.
const DRIFT: i64 = 100;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A candidate sends its next request, or processes a response.
    Proceed,
    /// A request reaches the server.
    Arrive,
    /// A request times out. It may still arrive.
    GiveUp,
    /// A candidate restarts with the same or another identity.
    Restart { renamed: bool },
    /// A leader releases the Lease.
    Release,
    /// A request that timed out reaches the server.
    ArriveLate(prop::sample::Index),
    /// Another client changes something else, such as a label.
    Touch,
}

fn events() -> impl Strategy<Value = Vec<(u8, Event, u64)>> {
    let event = prop_oneof![
        12 => Just(Event::Proceed),
        8 => Just(Event::Arrive),
        2 => Just(Event::GiveUp),
        1 => any::<bool>().prop_map(|renamed| Event::Restart { renamed }),
        1 => Just(Event::Release),
        2 => any::<prop::sample::Index>().prop_map(Event::ArriveLate),
        1 => Just(Event::Touch),
    ];
    // Mostly short times, sometimes a lease duration.
    let pause = prop_oneof![6 => 0_u64..2_000, 3 => 0_u64..30_000, 1 => 0_u64..150_000];
    prop::collection::vec((0_u8..3, event, pause), 1..400)
}

/// A write in flight: its holder, and the revision that it replaces.
#[derive(Clone)]
struct Write {
    holder: String,
    over: Option<u64>,
}

struct Server {
    revision: u64,
    lease: Option<(u64, String)>,
}

impl Server {
    fn record(&self) -> Option<LeaseRecord> {
        self.lease.as_ref().map(|(revision, holder)| record(&revision.to_string(), holder))
    }

    fn write(&mut self, write: Write) -> LeaseResponse {
        if self.lease.as_ref().map(|(revision, _)| *revision) != write.over {
            return LeaseResponse::Conflict;
        }
        self.revision += 1;
        self.lease = Some((self.revision, write.holder));
        LeaseResponse::Claimed(self.record().expect("just written"))
    }
}

enum Request {
    Read,
    Write(Write),
}

/// State of a candidate's request.
enum InFlight {
    None,
    Sent(Instant, Request),
    Answered(Instant, LeaseResponse),
}

struct SimulatedCandidate {
    candidate: Candidate,
    names: u32,
    in_flight: InFlight,
    /// The revision that the process has seen last.
    last: Option<u64>,
    start: Instant,
    per_mille: i64,
}

impl SimulatedCandidate {
    fn new(start: Instant, per_mille: i64, name: &str) -> Self {
        let candidate = Candidate::new(name.to_owned(), Timing::default(), start);
        Self { candidate, names: 0, in_flight: InFlight::None, last: None, start, per_mille }
    }

    /// Time of its own clock.
    fn now(&self, milliseconds: u64) -> Instant {
        let speed = u64::try_from(1_000 + self.per_mille).expect("clocks go forward");
        self.start + Duration::from_millis(milliseconds * speed / 1_000)
    }

    fn leads(&self, milliseconds: u64) -> bool {
        self.candidate
            .lease_deadline()
            .is_some_and(|lease_deadline| self.now(milliseconds) < lease_deadline)
    }

    fn proceed(&mut self, now: Instant) {
        match std::mem::replace(&mut self.in_flight, InFlight::None) {
            InFlight::Answered(sent_at, answer) => {
                if let LeaseResponse::Seen(Some(record)) | LeaseResponse::Claimed(record) = &answer
                {
                    self.last = Some(record.revision.parse().expect("our revisions"));
                } else if answer == LeaseResponse::Seen(None) {
                    self.last = None;
                }
                self.candidate.process(answer, sent_at, now);
            }
            sent @ InFlight::Sent(..) => self.in_flight = sent,
            InFlight::None => match self.candidate.next(now) {
                NextAction::Wait(_) => {}
                NextAction::Read => self.in_flight = InFlight::Sent(now, Request::Read),
                NextAction::Claim => {
                    let holder = self.candidate.identity().to_owned();
                    let write = Write { holder, over: self.last };
                    self.in_flight = InFlight::Sent(now, Request::Write(write));
                }
            },
        }
    }

    fn restart(&mut self, now: Instant, name: String) {
        self.candidate = Candidate::new(name, Timing::default(), now);
        self.last = None;
    }

    /// Drops its request; returns it if it is a write.
    fn abandon(&mut self) -> Option<Write> {
        match std::mem::replace(&mut self.in_flight, InFlight::None) {
            InFlight::Sent(_, Request::Write(write)) => Some(write),
            _ => None,
        }
    }
}

fn simulate(
    mut processes: Vec<SimulatedCandidate>,
    events: Vec<(u8, Event, u64)>,
) -> Result<(), TestCaseError> {
    let mut server = Server { revision: 0, lease: None };
    let mut late: Vec<Write> = Vec::new();
    let mut time = 0;
    for (who, event, pause) in events {
        time += pause;
        let who = usize::from(who) % processes.len();
        let now = processes[who].now(time);
        let candidate_process = &mut processes[who];
        match event {
            Event::Proceed => candidate_process.proceed(now),
            Event::Arrive => {
                if let InFlight::Sent(sent_at, request) = &candidate_process.in_flight {
                    let answer = match request {
                        Request::Read => LeaseResponse::Seen(server.record()),
                        Request::Write(write) => server.write(write.clone()),
                    };
                    candidate_process.in_flight = InFlight::Answered(*sent_at, answer);
                }
            }
            Event::GiveUp => {
                if let InFlight::Sent(sent_at, _) | InFlight::Answered(sent_at, _) =
                    &candidate_process.in_flight
                {
                    let sent_at = *sent_at;
                    late.extend(candidate_process.abandon());
                    candidate_process.candidate.process(LeaseResponse::Failed, sent_at, now);
                }
            }
            Event::Restart { renamed } => {
                late.extend(candidate_process.abandon());
                candidate_process.names += u32::from(renamed);
                let name = format!("{who}-{}", candidate_process.names);
                candidate_process.restart(now, name);
            }
            Event::Release => {
                let over = candidate_process.last;
                if candidate_process.leads(time) {
                    late.extend(candidate_process.abandon());
                    let name = candidate_process.candidate.identity().to_owned();
                    candidate_process.restart(now, name);
                    let _ = server.write(Write { holder: String::new(), over });
                }
            }
            Event::ArriveLate(which) => {
                if !late.is_empty() {
                    let _ = server.write(late.swap_remove(which.index(late.len())));
                }
            }
            Event::Touch => {
                if let Some((revision, _)) = &mut server.lease {
                    server.revision += 1;
                    *revision = server.revision;
                }
            }
        }
        let leaders =
            processes.iter().filter(|candidate_process| candidate_process.leads(time)).count();
        prop_assert!(leaders <= 1, "{leaders} lead at {time} ms, after {event:?} of {who}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn candidates_never_lead_at_once(
        clocks in prop::collection::vec((0_u64..1_000_000, -DRIFT..=DRIFT), 2..=3),
        events in events(),
    ) {
        let base = Instant::now();
        let processes = clocks.into_iter().enumerate().map(|(who, (skew, drift))| {
            SimulatedCandidate::new(base + Duration::from_secs(skew), drift, &format!("{who}-0"))
        });
        simulate(processes.collect(), events)?;
    }

    /// Once the network works, one candidate leads within the lease duration and a few requests.
    #[test]
    fn one_candidate_leads_eventually(holder in "(0|1|gone|)", head_start in 0_u64..200_000) {
        let base = Instant::now();
        let mut processes = [SimulatedCandidate::new(base, 0, "0"), SimulatedCandidate::new(base, 0, "1")];
        let mut server = Server { revision: 1, lease: Some((1, holder)) };
        let mut requests = 0;
        let end = head_start + u64::try_from((LEASE + RETRY).as_millis()).unwrap();
        for time in (head_start..end).step_by(100) {
            for candidate_process in &mut processes {
                let now = candidate_process.now(time);
                candidate_process.proceed(now);
                if let InFlight::Sent(sent_at, request) = &candidate_process.in_flight {
                    requests += 1;
                    let answer = match request {
                        Request::Read => LeaseResponse::Seen(server.record()),
                        Request::Write(write) => server.write(write.clone()),
                    };
                    candidate_process.in_flight = InFlight::Answered(*sent_at, answer);
                    candidate_process.proceed(now);
                }
            }
        }
        prop_assert_eq!(processes.iter().filter(|candidate_process| candidate_process.leads(end)).count(), 1);
        prop_assert!(requests < 30, "{} requests", requests);
    }
}
