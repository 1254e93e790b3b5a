//! Candidates, a server and a network that loses and delays whatever it wants.

use proptest::prelude::*;

use super::*;

/// Clocks run at most so many per mille too fast or too slow. (The numbers of the election allow
/// 12 %: 137 s against 107 s.)
const DRIFT: i64 = 100;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A candidate does what comes next: it begins a request, or learns what came of one.
    Proceed,
    /// Its request reaches the server.
    Arrive,
    /// It gives up waiting for an answer. The request may arrive later.
    GiveUp,
    /// It ends, and starts again under its own name or under another.
    Restart { renamed: bool },
    /// It releases the lease.
    Release,
    /// A request that nobody waits for any more reaches the server.
    ArriveLate(prop::sample::Index),
    /// Somebody else writes something beside the holder, such as a label.
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
    // Mostly moments, sometimes as long as a lease lasts.
    let pause = prop_oneof![6 => 0_u64..2_000, 3 => 0_u64..30_000, 1 => 0_u64..150_000];
    prop::collection::vec((0_u8..3, event, pause), 1..400)
}

/// A write that is on its way: the holder it names, and the revision it is to replace.
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
    fn record(&self) -> Option<Record> {
        self.lease.as_ref().map(|(revision, holder)| record(&revision.to_string(), holder))
    }

    fn write(&mut self, write: Write) -> Answer {
        if self.lease.as_ref().map(|(revision, _)| *revision) != write.over {
            return Answer::Outrun;
        }
        self.revision += 1;
        self.lease = Some((self.revision, write.holder));
        Answer::Claimed(self.record().expect("just written"))
    }
}

enum Request {
    Look,
    Write(Write),
}

/// Where a candidate's request is.
enum Mail {
    None,
    Sent(Instant, Request),
    Answered(Instant, Answer),
}

struct Player {
    candidate: Candidate,
    names: u32,
    mail: Mail,
    /// What the process remembers of the lease.
    last: Option<u64>,
    start: Instant,
    per_mille: i64,
}

impl Player {
    fn new(start: Instant, per_mille: i64, name: &str) -> Self {
        let candidate = Candidate::new(name.to_owned(), Timing::default(), start);
        Self { candidate, names: 0, mail: Mail::None, last: None, start, per_mille }
    }

    /// What its own clock says.
    fn now(&self, milliseconds: u64) -> Instant {
        let speed = u64::try_from(1_000 + self.per_mille).expect("clocks go forward");
        self.start + Duration::from_millis(milliseconds * speed / 1_000)
    }

    fn leads(&self, milliseconds: u64) -> bool {
        self.candidate.term().is_some_and(|term| self.now(milliseconds) < term)
    }

    fn proceed(&mut self, now: Instant) {
        match std::mem::replace(&mut self.mail, Mail::None) {
            Mail::Answered(asked, answer) => {
                if let Answer::Seen(Some(record)) | Answer::Claimed(record) = &answer {
                    self.last = Some(record.revision.parse().expect("our revisions"));
                } else if answer == Answer::Seen(None) {
                    self.last = None;
                }
                self.candidate.learn(answer, asked, now);
            }
            sent @ Mail::Sent(..) => self.mail = sent,
            Mail::None => match self.candidate.next(now) {
                Step::Wait(_) => {}
                Step::Look => self.mail = Mail::Sent(now, Request::Look),
                Step::Claim => {
                    let holder = self.candidate.identity().to_owned();
                    let write = Write { holder, over: self.last };
                    self.mail = Mail::Sent(now, Request::Write(write));
                }
            },
        }
    }

    fn restart(&mut self, now: Instant, name: String) {
        self.candidate = Candidate::new(name, Timing::default(), now);
        self.last = None;
    }

    /// What it gave up, if that was a write.
    fn abandon(&mut self) -> Option<Write> {
        match std::mem::replace(&mut self.mail, Mail::None) {
            Mail::Sent(_, Request::Write(write)) => Some(write),
            _ => None,
        }
    }
}

fn play(mut players: Vec<Player>, events: Vec<(u8, Event, u64)>) -> Result<(), TestCaseError> {
    let mut server = Server { revision: 0, lease: None };
    let mut late: Vec<Write> = Vec::new();
    let mut time = 0;
    for (who, event, pause) in events {
        time += pause;
        let who = usize::from(who) % players.len();
        let now = players[who].now(time);
        let player = &mut players[who];
        match event {
            Event::Proceed => player.proceed(now),
            Event::Arrive => {
                if let Mail::Sent(asked, request) = &player.mail {
                    let answer = match request {
                        Request::Look => Answer::Seen(server.record()),
                        Request::Write(write) => server.write(write.clone()),
                    };
                    player.mail = Mail::Answered(*asked, answer);
                }
            }
            Event::GiveUp => {
                if let Mail::Sent(asked, _) | Mail::Answered(asked, _) = &player.mail {
                    let asked = *asked;
                    late.extend(player.abandon());
                    player.candidate.learn(Answer::Failed, asked, now);
                }
            }
            Event::Restart { renamed } => {
                late.extend(player.abandon());
                player.names += u32::from(renamed);
                let name = format!("{who}-{}", player.names);
                player.restart(now, name);
            }
            Event::Release => {
                let over = player.last;
                if player.leads(time) {
                    late.extend(player.abandon());
                    let name = player.candidate.identity().to_owned();
                    player.restart(now, name);
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
        let leaders = players.iter().filter(|player| player.leads(time)).count();
        prop_assert!(leaders <= 1, "{leaders} lead at {time} ms, after {event:?} of {who}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn two_never_lead_at_once(
        clocks in prop::collection::vec((0_u64..1_000_000, -DRIFT..=DRIFT), 2..=3),
        events in events(),
    ) {
        let base = Instant::now();
        let players = clocks.into_iter().enumerate().map(|(who, (skew, drift))| {
            Player::new(base + Duration::from_secs(skew), drift, &format!("{who}-0"))
        });
        play(players.collect(), events)?;
    }

    /// Whatever happened before: once the network works again, somebody leads within the time that
    /// a lease lasts and a few requests take.
    #[test]
    fn somebody_leads_in_the_end(holder in "(0|1|gone|)", head_start in 0_u64..200_000) {
        let base = Instant::now();
        let mut players = [Player::new(base, 0, "0"), Player::new(base, 0, "1")];
        let mut server = Server { revision: 1, lease: Some((1, holder)) };
        let mut requests = 0;
        let end = head_start + u64::try_from((LEASE + RETRY).as_millis()).unwrap();
        for time in (head_start..end).step_by(100) {
            for player in &mut players {
                let now = player.now(time);
                player.proceed(now);
                if let Mail::Sent(asked, request) = &player.mail {
                    requests += 1;
                    let answer = match request {
                        Request::Look => Answer::Seen(server.record()),
                        Request::Write(write) => server.write(write.clone()),
                    };
                    player.mail = Mail::Answered(*asked, answer);
                    player.proceed(now);
                }
            }
        }
        prop_assert_eq!(players.iter().filter(|player| player.leads(end)).count(), 1);
        prop_assert!(requests < 30, "{} requests", requests);
    }
}
