//! What a candidate does in every case, and that two never lead at once.

mod simulation;

use super::*;

const LEASE: Duration = Duration::from_secs(137);
const ALMOST_LEASE: Duration = Duration::from_secs(136);
const RENEW: Duration = Duration::from_secs(107);
const RETRY: Duration = Duration::from_secs(26);

/// A candidate called `me`, and its clock.
struct Story {
    candidate: Candidate,
    now: Instant,
}

impl Story {
    fn begin() -> Self {
        let now = Instant::now();
        Self { candidate: Candidate::new("me".into(), Timing::default(), now), now }
    }

    fn after(mut self, time: Duration) -> Self {
        self.now += time;
        self
    }

    fn learn(mut self, answer: Answer) -> Self {
        self.candidate.learn(answer, self.now, self.now);
        self
    }

    fn sees(self, revision: &str, holder: &str) -> Self {
        self.learn(Answer::Seen(Some(record(revision, holder))))
    }

    fn leads() -> Self {
        let story = Self::begin().learn(Answer::Seen(None));
        assert_eq!(story.step(), Step::Claim);
        story.learn(Answer::Claimed(record("1", "me")))
    }

    fn step(&self) -> Step {
        self.candidate.next(self.now)
    }

    /// The time until the next request.
    fn wait(&self) -> Duration {
        match self.step() {
            Step::Wait(until) => until - self.now,
            step => panic!("{step:?}"),
        }
    }

    fn leading_for(&self) -> Option<Duration> {
        self.candidate.term().map(|term| term - self.now)
    }
}

fn record(revision: &str, holder: &str) -> Record {
    Record { revision: revision.into(), holder: holder.into(), lasts: Some(LEASE) }
}

#[test]
fn a_lease_that_nobody_holds_is_claimed_at_once() {
    assert_eq!(Story::begin().step(), Step::Look);
    assert_eq!(Story::begin().learn(Answer::Seen(None)).step(), Step::Claim);
    assert_eq!(Story::begin().sees("7", "").step(), Step::Claim);
}

#[test]
fn a_restarted_process_resumes_its_own_lease() {
    assert_eq!(Story::begin().sees("7", "me").step(), Step::Claim);
}

#[test]
fn a_foreign_lease_is_left_alone_until_its_holder_gave_no_sign_for_as_long_as_it_lasts() {
    let story = Story::begin().sees("7", "you");
    assert_eq!((story.wait(), story.candidate.rival()), (RETRY, Some("you")));
    let story = story.after(ALMOST_LEASE).sees("7", "you");
    assert_eq!(story.wait(), Duration::from_secs(1));
    assert_eq!(story.after(Duration::from_secs(1)).step(), Step::Claim);
}

#[test]
fn a_sign_of_life_is_waited_for_anew() {
    let story = Story::begin().sees("7", "you").after(ALMOST_LEASE);
    let story = story.sees("8", "you").after(ALMOST_LEASE);
    assert_eq!(story.step(), Step::Look);
}

#[test]
fn what_was_seen_is_not_forgotten_when_the_server_is_away() {
    let story = Story::begin().sees("7", "you").after(LEASE).learn(Answer::Failed);
    assert_eq!(story.wait(), RETRY);
    let story = story.after(RETRY);
    assert_eq!(story.step(), Step::Look);
    assert_eq!(story.sees("7", "you").step(), Step::Claim);
}

#[test]
fn a_lease_says_itself_how_long_it_lasts() {
    let lasts = |lasts| Record { lasts, ..record("7", "you") };
    let short = Answer::Seen(Some(lasts(Some(Duration::from_secs(5)))));
    assert_eq!(Story::begin().learn(short).after(Duration::from_secs(5)).step(), Step::Claim);
    let silent = || Story::begin().learn(Answer::Seen(Some(lasts(None))));
    assert_eq!(silent().after(ALMOST_LEASE).step(), Step::Look);
    assert_eq!(silent().after(LEASE).step(), Step::Claim);
}

#[test]
fn a_leader_renews_without_looking() {
    let story = Story::leads();
    assert_eq!((story.leading_for(), story.wait()), (Some(RENEW), RETRY));
    let story = story.after(RETRY);
    assert_eq!(story.step(), Step::Claim);
    assert_eq!(story.learn(Answer::Claimed(record("2", "me"))).leading_for(), Some(RENEW));
}

#[test]
fn a_term_counts_from_before_the_request() {
    let mut story = Story::begin().learn(Answer::Seen(None));
    let asked = story.now;
    story = story.after(Duration::from_secs(10));
    story.candidate.learn(Answer::Claimed(record("1", "me")), asked, story.now);
    assert_eq!(story.leading_for(), Some(Duration::from_secs(97)));
}

#[test]
fn a_leader_that_gets_no_answer_asks_again_and_looks_first() {
    let story = Story::leads().after(RETRY).learn(Answer::Failed);
    assert_eq!((story.leading_for(), story.wait()), (Some(Duration::from_secs(81)), RETRY));
    let story = story.after(RETRY);
    assert_eq!(story.step(), Step::Look);
    // The write had reached the server after all.
    assert_eq!(story.sees("2", "me").step(), Step::Claim);
}

#[test]
fn a_leader_that_was_outrun_leads_on_only_if_the_lease_is_still_its_own() {
    let outrun = || Story::leads().after(RETRY).learn(Answer::Outrun);
    assert_eq!(outrun().wait(), RETRY / HASTE);
    assert_eq!(outrun().after(RETRY / HASTE).step(), Step::Look);
    assert!(outrun().sees("2", "me").leading_for().is_some());
    let lost = outrun().sees("2", "you");
    assert_eq!((lost.leading_for(), lost.candidate.rival()), (None, Some("you")));
}

#[test]
fn a_lease_that_was_removed_is_made_again() {
    let story = Story::leads().after(RETRY).learn(Answer::Outrun).learn(Answer::Seen(None));
    assert_eq!(story.step(), Step::Claim);
}
