//! One request, from the moment it is made until it is over or withdrawn.

use std::time::Duration;

use fairway_api::cluster_version::Release;
use fairway_api::reason::preflight_failed;
use fairway_backoff::Backoff;
use jiff::Timestamp;
use tokio::time::Instant;

use super::course::{Patience, Verdict};
use super::deployment::Run;
use super::diagnosis::Trouble;
use super::request::Wanted;
use super::run_id::RunId;
use super::standing::{Site, Standing};
use crate::own_release::OwnRelease;
use crate::settings::{OnUpdate, PreflightSettings};
use crate::stage::updates::same_content;

/// How long an update waits for an opinion that is merely recorded.
const REPORT: Duration = Duration::from_mins(5);

/// The delay after a run that could not be created.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(5), max: Duration::from_mins(2) };

/// A request, and what became of it so far.
pub(super) struct Attempt {
    pub(super) wanted: Wanted,
    pub(super) began: Timestamp,
    /// The release, as far as anybody has said what it is.
    pub(super) release: Option<Release>,
    /// Why its run could not be created.
    pub(super) failure: Option<Trouble>,
    failures: u32,
    /// Nothing is begun before that.
    not_before: Option<Instant>,
    /// Whether it begins anew because the operator moved.
    pub(super) moved: bool,
    /// How it ended.
    pub(super) end: Option<End>,
}

/// How a request ended that still stands.
pub(super) enum End {
    /// What it was for is known.
    Done,
    /// It was given up.
    GivenUp(Trouble),
}

impl Attempt {
    pub(super) fn new(wanted: Wanted, began: Timestamp) -> Self {
        let (release, failure, not_before, end) = (None, None, None, None);
        Self { wanted, began, release, failure, failures: 0, not_before, moved: false, end }
    }

    /// How long its run may take. Who waits for it to end waits for it to begin, too.
    pub(super) fn patience(&self, settings: &PreflightSettings) -> Patience {
        let silence = settings.timeout;
        let whole = match settings.on_update {
            OnUpdate::Report => silence.min(REPORT),
            OnUpdate::Off | OnUpdate::Require => silence,
        };
        Patience { silence, whole: self.wanted.implicit.then_some(whole) }
    }

    /// The release that was asked before an update to it, once it has said what it has to say.
    pub(super) fn answered(&self) -> Option<&str> {
        (self.wanted.implicit && self.end.is_some()).then_some(self.wanted.image.as_str())
    }

    /// Whether that run is what it asks for. Whoever wants a signature does not take what somebody
    /// has started without one.
    pub(super) fn wants(&self, run: &Run) -> bool {
        same_content(&run.image, &self.wanted.image) && (self.wanted.forced || !run.forced)
    }

    /// Whether it was waited long enough for it to begin.
    fn is_late(&self, settings: &PreflightSettings, now: Timestamp) -> bool {
        let Patience { silence, whole } = self.patience(settings);
        let spent = Duration::try_from(now.duration_since(self.began)).unwrap_or_default();
        spent >= whole.unwrap_or(silence)
    }

    /// Its release cannot be started, and that is why. What may pass is waited for: as long as for a
    /// run, and before an update as long as that itself waits for the release.
    pub(super) fn is_not_ready(
        &mut self,
        trouble: &Trouble,
        settings: &PreflightSettings,
        now: Timestamp,
    ) {
        let is_over = !self.wanted.implicit && self.is_late(settings, now);
        if trouble.is_final || is_over {
            self.end = Some(End::GivenUp(trouble.clone()));
        }
    }

    /// Its run is in the cluster, and that is to become of it.
    pub(super) fn is_under_way(&mut self, verdict: Verdict) {
        (self.failure, self.moved) = (None, false);
        self.end = match verdict {
            Verdict::GoesOn => None,
            Verdict::Done => Some(End::Done),
            Verdict::GivenUp(trouble) => Some(End::GivenUp(trouble)),
        };
    }

    /// Its run could not be created: it is tried again later.
    pub(super) fn has_failed(&mut self, trouble: Trouble, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(now + RETRY_BACKOFF.after(self.failures));
        self.failure = Some(trouble);
    }

    /// Goes on with what an operator before this one has begun, if it is just what is asked for, and
    /// if its results come here.
    pub(super) fn go_on(&mut self, site: &Site, own: &OwnRelease, run: &Run) -> Standing {
        let is_asked_for = self.wants(run) && run.source == own.release.version;
        self.moved = is_asked_for && run.node != site.place.node;
        if !is_asked_for || self.moved {
            return site.clear();
        }
        let patience = self.patience(&site.settings);
        site.adopt(run.clone(), patience).unwrap_or_else(|_| site.clear())
    }

    /// Begins its run, unless one could not be created just before.
    pub(super) fn begin(
        &mut self,
        site: &Site,
        own: &OwnRelease,
        version: &str,
    ) -> Option<Standing> {
        let patience = self.patience(&site.settings);
        let is_late = self.is_late(&site.settings, fairway_clock::now());
        if let Some(failure) = self.failure.clone().filter(|_| is_late) {
            self.end = Some(End::GivenUp(failure));
            return None;
        }
        if self.not_before.is_some_and(|time| Instant::now() < time) {
            return Some(Standing::Clear { not_before: self.not_before });
        }
        let id = match RunId::random() {
            Ok(id) => id,
            Err(error) => {
                let message = format!("cannot generate a run ID: {error}");
                let reason = preflight_failed::DEPLOYMENT_FAILED;
                self.has_failed(Trouble::passing(reason, message), Instant::now());
                return Some(Standing::Clear { not_before: self.not_before });
            }
        };
        let run = Run {
            id,
            image: self.wanted.image.clone(),
            version: version.to_owned(),
            source: own.release.version.clone(),
            node: site.place.node.clone(),
            forced: self.wanted.forced,
        };
        Some(site.start(run, patience))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    #[test]
    fn only_who_was_asked_before_an_update_and_is_done_has_answered_it() {
        let given_up = || Trouble::lasting(preflight_failed::OOM_KILLED, "too big".to_owned());
        for (implicit, verdict, has_answered) in [
            (true, Verdict::GoesOn, false),
            (true, Verdict::Done, true),
            (true, Verdict::GivenUp(given_up()), true),
            (false, Verdict::GoesOn, false),
            (false, Verdict::GivenUp(given_up()), false),
        ] {
            let mut attempt = Attempt::new(Wanted { implicit, ..Wanted::default() }, at(0));
            assert_eq!(attempt.answered(), None);
            attempt.is_under_way(verdict.clone());
            assert_eq!(attempt.answered().is_some(), has_answered, "{implicit} {verdict:?}");
        }
    }

    #[test]
    fn whoever_wants_a_signature_does_not_take_a_run_without_one() {
        let image = |digit: &str| format!("registry.example/release@sha256:{}", digit.repeat(64));
        for (wanted_digit, wanted_forced, run_forced, is_it) in [
            ("a", false, false, true),
            ("a", true, true, true),
            ("a", true, false, true),
            ("a", false, true, false),
            ("b", true, true, false),
        ] {
            let run = Run {
                id: RunId::random().unwrap(),
                image: image("a"),
                version: "5.2.0".to_owned(),
                source: "5.0.0".to_owned(),
                node: "node-1".to_owned(),
                forced: run_forced,
            };
            let (image, forced) = (image(wanted_digit), wanted_forced);
            let attempt = Attempt::new(Wanted { image, forced, ..Wanted::default() }, at(0));
            assert_eq!(attempt.wants(&run), is_it, "{wanted_digit} {forced} {run_forced}");
        }
    }

    #[test]
    fn a_release_that_cannot_be_started_is_not_waited_for_without_end() {
        let passing = Trouble::passing(preflight_failed::RETRIEVE_PAYLOAD, "down".to_owned());
        let other = Trouble::lasting(preflight_failed::VERIFY_PAYLOAD_VERSION, "5.7".to_owned());
        let settings = PreflightSettings::default();
        for (trouble, implicit, minute, is_given_up) in [
            (&passing, false, 59, false),
            (&passing, false, 60, true),
            // An update that cannot be fetched does not begin, and says so.
            (&passing, true, 60, false),
            (&other, false, 0, true),
            (&other, true, 0, true),
        ] {
            let mut attempt = Attempt::new(Wanted { implicit, ..Wanted::default() }, at(0));
            attempt.is_not_ready(trouble, &settings, at(minute));
            let given_up = matches!(&attempt.end, Some(End::GivenUp(why)) if why == trouble);
            assert_eq!(given_up, is_given_up, "{trouble:?} {implicit} {minute}");
        }
    }
}
