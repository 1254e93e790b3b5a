//! A run that is in the cluster: it is watched, and what it writes is read.

use std::sync::Arc;
use std::time::Duration;

use fairway_api::reason::preflight_failed;
use fairway_findings::{Document, Expected, Reading, labels};
use fairway_release::Release;
use fairway_release::inclusion::Filter;
use jiff::Timestamp;
use tokio::time::Instant;

use super::course::{Course, Patience, Verdict};
use super::deployment::Run;
use super::desk::Desk;
use super::diagnosis::{Seen, Trouble};
use super::results::{Excess, RESULT, ReadError, RunDirectory, Stamp};
use super::standing::Site;
use crate::cluster::{Objects, PreflightSight};
use crate::text;

/// How often it is looked whether the run has written something: people wait for it, and a look
/// costs next to nothing.
const LOOKS: Duration = Duration::from_millis(500);

/// A run that is in the cluster.
pub(super) struct Active {
    pub(super) run: Run,
    sight: PreflightSight,
    directory: RunDirectory,
    desk: Desk,
    course: Course,
    /// Which content of the file was read last.
    read: Option<Stamp>,
    /// When to look at it next.
    look: Instant,
}

impl Active {
    pub(super) fn new(
        run: Run,
        directory: RunDirectory,
        patience: Patience,
        Site { place, settings, hands }: &Site,
    ) -> Self {
        let labelled = labels::selector(run.id.as_str());
        let sight = PreflightSight::open(&hands.client, &place.namespace, &labelled);
        let desk = Desk::open(&run, settings, hands, &directory);
        let course = Course::begin(patience, fairway_clock::now());
        Self { run, sight, directory, desk, course, read: None, look: Instant::now() }
    }

    pub(super) fn course(&self) -> &Course {
        &self.course
    }

    /// What it says, if it was not told before.
    pub(super) fn news(&mut self) -> Option<Document> {
        let mut document = self.course.news(fairway_clock::now())?;
        self.desk.add_to(&mut document);
        Some(document)
    }

    /// Says what of its release this cluster would get. Whether that is new.
    pub(super) fn vouch(&mut self, release: &Release, filter: &Filter) -> bool {
        let is_new = self.desk.vouch(release, filter);
        if is_new {
            self.repeat_news();
        }
        is_new
    }

    /// What it says is to be told once more.
    pub(super) fn repeat_news(&mut self) {
        self.course.repeat_news();
    }

    /// How long it may take, for those who have waited since then.
    pub(super) fn expect(&mut self, patience: Patience, since: Timestamp) {
        self.course.expect(patience, since);
    }

    pub(super) fn verdict(&self, is_rehearsed: bool) -> Verdict {
        self.course.verdict(fairway_clock::now(), is_rehearsed)
    }

    /// Waits for something new about it.
    pub(super) async fn changed(&mut self) {
        loop {
            let deadline = fairway_clock::instant_of(self.course.deadline());
            tokio::select! {
                () = self.sight.changed() => {
                    self.see();
                    return;
                }
                () = fairway_clock::sleep_until(Some(deadline)) => return,
                () = self.desk.work() => self.desk.answer(&self.directory),
                () = fairway_clock::sleep_until(Some(self.look)) => {
                    self.look = Instant::now() + LOOKS;
                    self.desk.look(&self.directory);
                    if self.read_results() {
                        return;
                    }
                }
            }
        }
    }

    fn see(&mut self) {
        let deployments = values(self.sight.deployments.borrow_and_update().as_ref());
        let events = values(self.sight.events.borrow_and_update().as_ref());
        let seen = Seen {
            deployment: deployments.into_iter().flatten().next(),
            pods: values(self.sight.pods.borrow_and_update().as_ref()),
            events: events.unwrap_or_default(),
        };
        self.course.see(seen, fairway_clock::now());
    }

    /// Reads what the run has written, if that is new.
    fn read_results(&mut self) -> bool {
        if let Ok(Some(excess)) = self.directory.excess() {
            self.course.read(Err(too_much(&excess)), fairway_clock::now());
            return true;
        }
        let stamp = self.directory.stamp(RESULT);
        if stamp == self.read {
            return false;
        }
        self.read = stamp;
        let said = match self.directory.read(RESULT) {
            Ok(None) => return false,
            Ok(Some(bytes)) => understood(&bytes, &self.run),
            Err(error) => Err(refused(&error)),
        };
        self.course.read(said, fairway_clock::now());
        true
    }
}

/// What was seen; nothing before it was looked.
fn values<K>(seen: Option<&Objects<K>>) -> Option<Vec<Arc<K>>> {
    seen.map(|objects| objects.values().cloned().collect())
}

/// What the run says, if it is this run, about this release.
fn understood(bytes: &[u8], run: &Run) -> Result<Reading, Trouble> {
    let expected =
        Expected { run: run.id.as_str(), target_version: &run.version, target_image: &run.image };
    Document::read(bytes, &expected).map_err(|error| {
        let reason = match error {
            fairway_findings::ReadError::TooLarge(_) => preflight_failed::RESULTS_TOO_LARGE,
            fairway_findings::ReadError::UnknownFormat(_) => preflight_failed::UNKNOWN_FORMAT,
            fairway_findings::ReadError::Invalid(_) => preflight_failed::INVALID_RESULTS,
            fairway_findings::ReadError::Mismatch { .. } => preflight_failed::RESULTS_MISMATCH,
        };
        Trouble::passing(reason, text::chain(&error))
    })
}

/// A run that fills the disk of its node is ended: it takes others with it.
fn too_much(excess: &Excess) -> Trouble {
    let reason = match excess {
        Excess::Files | Excess::OnDisk | Excess::Disk => preflight_failed::RESULTS_TOO_LARGE,
        Excess::Directory | Excess::Shut => preflight_failed::RESULTS_REFUSED,
    };
    Trouble::lasting(reason, excess.to_string())
}

fn refused(error: &ReadError) -> Trouble {
    let reason = match error {
        ReadError::Refused { .. } => preflight_failed::RESULTS_REFUSED,
        ReadError::TooLarge { .. } => preflight_failed::RESULTS_TOO_LARGE,
        ReadError::Unreadable { .. } => preflight_failed::RESULTS_UNREADABLE,
    };
    Trouble::passing(reason, text::chain(error))
}
