//! Watches as streams of events, one line of JSON each.
//!
//! Nothing is kept for a client: events are read from the store when the client can take them.

use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::audit::Ending;
use super::shape::Shape;
use crate::api::{Api, Query, Refusal};
use crate::store::{WatchEnd, WatchEvent, Watcher};

/// As often as the API server sends them.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);

/// A watch that does not say how long lasts between this and twice as long, as on the API server,
/// so that not all of them end at once.
const SHORTEST: Duration = Duration::from_mins(30);

/// Longer than any watch makes sense; also keeps the arithmetic of times sound.
const LONGEST: Duration = Duration::from_hours(24);

/// Events that are there already are sent together, up to about this size.
const PIECE: usize = 64 << 10;

const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What a client wants of a watch, beside the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wishes {
    bookmarks: bool,
    /// Say when everything that was there at the beginning is told.
    mark_initial: bool,
    lasting: Duration,
}

impl Wishes {
    pub(super) fn parse(query: &Query) -> Self {
        let flag = |name: &str| matches!(query.get(name), Some("true" | "1" | ""));
        let seconds = query.get("timeoutSeconds").and_then(|text| text.parse().ok());
        let lasting = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        Self {
            bookmarks: flag("allowWatchBookmarks"),
            mark_initial: flag("sendInitialEvents"),
            lasting: lasting.unwrap_or_else(some_while).min(LONGEST),
        }
    }
}

fn some_while() -> Duration {
    let mut bytes = [0; 2];
    // Without randomness all watches last equally long, which is no reason to refuse them.
    let _ = SystemRandom::new().fill(&mut bytes);
    let fraction = f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX);
    SHORTEST + SHORTEST.mul_f64(fraction)
}

/// The parameters of a watch that begins with everything, or with nothing, if they say which: what
/// is left are those that every watch has.
pub(super) fn plain_query(query: &Query, newest: u64) -> Result<Query, Refusal> {
    let Some(word) = query.get("sendInitialEvents") else { return Ok(query.clone()) };
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    if matching != "NotOlderThan" {
        let message = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        return Err(Refusal::new(422, "Invalid", message));
    }
    let version = query.get("resourceVersion").unwrap_or_default();
    let from = match (word, version) {
        ("true" | "1" | "", _) => String::new(),
        (_, "" | "0") => newest.to_string(),
        (_, version) => version.to_owned(),
    };
    let kept = ["labelSelector", "fieldSelector", "timeoutSeconds", "allowWatchBookmarks"];
    let kept = kept.into_iter().filter_map(|name| Some((name, query.get(name)?)));
    let plain = Query::default().with("watch", "true").with("resourceVersion", &from);
    Ok(kept.fold(plain, |plain, (name, value)| plain.with(name, value)))
}

/// A watch that is being sent.
pub(super) struct Stream {
    pub(super) api: Api,
    pub(super) watcher: Watcher,
    pub(super) shape: Shape,
    pub(super) wishes: Wishes,
    /// Breaks it.
    pub(super) cut: CancellationToken,
    /// Breaks it after so many events.
    pub(super) cut_after: Option<usize>,
    /// One of the watches that there may be, and what logs its end: both go with it.
    pub(super) _held: (OwnedSemaphorePermit, Ending),
}

struct State {
    stream: Stream,
    sent: usize,
    next_bookmark: Instant,
    deadline: Instant,
    ended: bool,
}

impl Stream {
    pub(super) fn body(self) -> Body {
        let now = Instant::now();
        let (next_bookmark, deadline) = (now + BOOKMARK_INTERVAL, now + self.wishes.lasting);
        let state = State { stream: self, sent: 0, next_bookmark, deadline, ended: false };
        Body::from_stream(stream::unfold(state, |mut state| async move {
            let piece = state.piece().await?;
            Some((piece, state))
        }))
    }
}

/// What wakes a watch that has nothing to send.
enum Wake {
    Event(Option<WatchEvent>),
    Bookmark,
    Deadline,
    Cut,
}

impl State {
    /// What is sent next; `None` at the end.
    async fn piece(&mut self) -> Option<io::Result<Bytes>> {
        if self.ended {
            return None;
        }
        if self.is_cut() {
            return Some(self.broken());
        }
        let mut piece = self.ready();
        if piece.is_empty() {
            match self.wake().await {
                Wake::Event(Some(event)) => self.write(&mut piece, &event),
                Wake::Event(None) => self.finish(&mut piece),
                Wake::Bookmark => self.bookmark(&mut piece),
                Wake::Deadline => {
                    self.ended = true;
                    self.bookmark(&mut piece);
                }
                Wake::Cut => return Some(self.broken()),
            }
        }
        (!piece.is_empty() || !self.ended).then(|| Ok(Bytes::from(piece)))
    }

    /// The events that are there already.
    fn ready(&mut self) -> Vec<u8> {
        let mut piece = Vec::new();
        while piece.len() < PIECE
            && !self.is_cut()
            && let Some(event) = self.stream.watcher.try_next()
        {
            self.write(&mut piece, &event);
        }
        if self.stream.wishes.mark_initial
            && let Some(revision) = self.stream.watcher.bookmark()
        {
            self.stream.wishes.mark_initial = false;
            let annotations = json!({ INITIAL_EVENTS_END: "true" });
            let bookmark = self.stream.shape.bookmark(revision, Some(annotations));
            line(&mut piece, "BOOKMARK", bookmark.to_string().as_bytes());
        }
        piece
    }

    async fn wake(&mut self) -> Wake {
        let Self { stream, next_bookmark, deadline, .. } = self;
        tokio::select! {
            biased;
            () = stream.cut.cancelled() => Wake::Cut,
            event = stream.watcher.next() => Wake::Event(event),
            () = sleep_until(*deadline) => Wake::Deadline,
            () = sleep_until(*next_bookmark), if stream.wishes.bookmarks => Wake::Bookmark,
        }
    }

    fn write(&mut self, piece: &mut Vec<u8>, event: &WatchEvent) {
        let now = self.stream.api.now();
        // Objects were JSON when they came, so they can be written as JSON.
        if let Ok(object) = self.stream.shape.event(&event.object, self.sent == 0, now) {
            line(piece, event.kind.as_str(), &object);
        }
        self.sent += 1;
    }

    fn bookmark(&mut self, piece: &mut Vec<u8>) {
        self.next_bookmark = Instant::now() + BOOKMARK_INTERVAL;
        if self.stream.wishes.bookmarks
            && let Some(revision) = self.stream.watcher.bookmark()
        {
            let bookmark = self.stream.shape.bookmark(revision, None);
            line(piece, "BOOKMARK", bookmark.to_string().as_bytes());
        }
    }

    fn finish(&mut self, piece: &mut Vec<u8>) {
        self.ended = true;
        if self.stream.watcher.end() == Some(WatchEnd::Compacted) {
            let message = "The resourceVersion for the provided watch is too old.";
            error_event(piece, &Refusal::new(410, "Expired", message));
        }
    }

    fn is_cut(&self) -> bool {
        self.stream.cut_after.is_some_and(|limit| self.sent >= limit)
            || self.stream.cut.is_cancelled()
    }

    fn broken(&mut self) -> io::Result<Bytes> {
        self.ended = true;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

/// A watch that only says why it cannot begin.
pub(super) fn refused(refusal: &Refusal) -> Body {
    let mut text = Vec::new();
    error_event(&mut text, refusal);
    Body::from(text)
}

fn error_event(piece: &mut Vec<u8>, refusal: &Refusal) {
    let status: Value = refusal.body();
    line(piece, "ERROR", status.to_string().as_bytes());
}

fn line(piece: &mut Vec<u8>, kind: &str, object: &[u8]) {
    piece.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
    piece.extend_from_slice(object);
    piece.extend_from_slice(b"}\n");
}
