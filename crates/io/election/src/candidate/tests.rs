//! Actions of a candidate in each case, and a simulation that never has two leaders.

mod simulation;

use super::*;

const LEASE: Duration = Duration::from_secs(137);
const ALMOST_LEASE: Duration = Duration::from_secs(136);
const RENEW: Duration = Duration::from_secs(107);
const RETRY: Duration = Duration::from_secs(26);

/// A candidate with the identity `me`, and its clock.
struct TestCandidate {
    candidate: Candidate,
    now: Instant,
}

impl TestCandidate {
    fn begin() -> Self {
        let now = Instant::now();
        Self { candidate: Candidate::new("me".into(), Timing::default(), now), now }
    }

    fn after(mut self, time: Duration) -> Self {
        self.now += time;
        self
    }

    fn process(mut self, answer: LeaseResponse) -> Self {
        self.candidate.process(answer, self.now, self.now);
        self
    }

    fn sees(self, revision: &str, holder: &str) -> Self {
        self.process(LeaseResponse::Seen(Some(record(revision, holder))))
    }

    fn leads() -> Self {
        let test = Self::begin().process(LeaseResponse::Seen(None));
        assert_eq!(test.step(), NextAction::Claim);
        test.process(LeaseResponse::Claimed(record("1", "me")))
    }

    fn step(&self) -> NextAction {
        self.candidate.next(self.now)
    }

    /// The time until the next request.
    fn wait(&self) -> Duration {
        match self.step() {
            NextAction::Wait(until) => until - self.now,
            step => panic!("{step:?}"),
        }
    }

    fn leading_for(&self) -> Option<Duration> {
        self.candidate.lease_deadline().map(|lease_deadline| lease_deadline - self.now)
    }
}

fn record(revision: &str, holder: &str) -> LeaseRecord {
    LeaseRecord { revision: revision.into(), holder: holder.into(), lasts: Some(LEASE) }
}

#[test]
fn next_with_free_lease_is_claim() {
    assert_eq!(TestCandidate::begin().step(), NextAction::Read);
    assert_eq!(TestCandidate::begin().process(LeaseResponse::Seen(None)).step(), NextAction::Claim);
    assert_eq!(TestCandidate::begin().sees("7", "").step(), NextAction::Claim);
}

#[test]
fn next_with_own_lease_is_claim() {
    assert_eq!(TestCandidate::begin().sees("7", "me").step(), NextAction::Claim);
}

#[test]
fn next_with_foreign_lease_waits_until_expiry() {
    let test = TestCandidate::begin().sees("7", "you");
    assert_eq!((test.wait(), test.candidate.other_holder()), (RETRY, Some("you")));
    let test = test.after(ALMOST_LEASE).sees("7", "you");
    assert_eq!(test.wait(), Duration::from_secs(1));
    assert_eq!(test.after(Duration::from_secs(1)).step(), NextAction::Claim);
}

#[test]
fn next_after_renewal_by_holder_waits_again() {
    let test = TestCandidate::begin().sees("7", "you").after(ALMOST_LEASE);
    let test = test.sees("8", "you").after(ALMOST_LEASE);
    assert_eq!(test.step(), NextAction::Read);
}

#[test]
fn next_after_failed_request_reads_lease_first() {
    let test = TestCandidate::begin().sees("7", "you").after(LEASE).process(LeaseResponse::Failed);
    assert_eq!(test.wait(), RETRY);
    let test = test.after(RETRY);
    assert_eq!(test.step(), NextAction::Read);
    assert_eq!(test.sees("7", "you").step(), NextAction::Claim);
}

#[test]
fn next_uses_duration_of_the_lease() {
    let lasts = |lasts| LeaseRecord { lasts, ..record("7", "you") };
    let short = LeaseResponse::Seen(Some(lasts(Some(Duration::from_secs(5)))));
    assert_eq!(
        TestCandidate::begin().process(short).after(Duration::from_secs(5)).step(),
        NextAction::Claim
    );
    let silent = || TestCandidate::begin().process(LeaseResponse::Seen(Some(lasts(None))));
    assert_eq!(silent().after(ALMOST_LEASE).step(), NextAction::Read);
    assert_eq!(silent().after(LEASE).step(), NextAction::Claim);
}

#[test]
fn next_of_leader_renews_without_reading() {
    let test = TestCandidate::leads();
    assert_eq!((test.leading_for(), test.wait()), (Some(RENEW), RETRY));
    let test = test.after(RETRY);
    assert_eq!(test.step(), NextAction::Claim);
    assert_eq!(test.process(LeaseResponse::Claimed(record("2", "me"))).leading_for(), Some(RENEW));
}

#[test]
fn deadline_counts_from_before_the_request() {
    let mut test = TestCandidate::begin().process(LeaseResponse::Seen(None));
    let sent_at = test.now;
    test = test.after(Duration::from_secs(10));
    test.candidate.process(LeaseResponse::Claimed(record("1", "me")), sent_at, test.now);
    assert_eq!(test.leading_for(), Some(Duration::from_secs(97)));
}

#[test]
fn leader_after_failed_renewal_reads_lease_first() {
    let test = TestCandidate::leads().after(RETRY).process(LeaseResponse::Failed);
    assert_eq!((test.leading_for(), test.wait()), (Some(Duration::from_secs(81)), RETRY));
    let test = test.after(RETRY);
    assert_eq!(test.step(), NextAction::Read);
    // The write had reached the server.
    assert_eq!(test.sees("2", "me").step(), NextAction::Claim);
}

#[test]
fn leader_after_conflict_leads_only_with_own_lease() {
    let conflict = || TestCandidate::leads().after(RETRY).process(LeaseResponse::Conflict);
    assert_eq!(conflict().wait(), RETRY / CONFLICT_RETRY_DIVISOR);
    assert_eq!(conflict().after(RETRY / CONFLICT_RETRY_DIVISOR).step(), NextAction::Read);
    assert!(conflict().sees("2", "me").leading_for().is_some());
    let lost = conflict().sees("2", "you");
    assert_eq!((lost.leading_for(), lost.candidate.other_holder()), (None, Some("you")));
}

#[test]
fn leader_of_deleted_lease_creates_it() {
    let test = TestCandidate::leads()
        .after(RETRY)
        .process(LeaseResponse::Conflict)
        .process(LeaseResponse::Seen(None));
    assert_eq!(test.step(), NextAction::Claim);
}

#[test]
fn leader_stops_after_restore_of_etcd() {
    let leader = || {
        let test = TestCandidate::leads().after(RETRY);
        let test = test.process(LeaseResponse::Claimed(record("12", "me"))).after(RETRY);
        assert!(test.leading_for().is_some() && !test.candidate.is_restored());
        test.process(LeaseResponse::Conflict)
    };
    // The restored Lease is an earlier one of its own.
    let seen = leader().sees("8", "me");
    assert_eq!((seen.leading_for(), seen.candidate.is_restored()), (None, true));
    assert_eq!(seen.step(), NextAction::Claim);
    let again = seen.process(LeaseResponse::Claimed(record("9", "me")));
    assert_eq!((again.leading_for(), again.candidate.is_restored()), (Some(RENEW), false));
    // The Lease is newer than the backup.
    let created = leader().process(LeaseResponse::Seen(None));
    let created = created.process(LeaseResponse::Claimed(record("9", "me")));
    assert_eq!((created.leading_for(), created.candidate.is_restored()), (None, true));
    // Versions that are no numbers have no order.
    let unordered = leader().sees("b", "me").sees("a", "me");
    assert!(!unordered.candidate.is_restored());
}
