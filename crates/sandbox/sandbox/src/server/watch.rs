//! Watches as streams of events, one line of JSON each.
//!
//! There is no buffer per client: events are read from the store when the client can receive them.

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

use super::audit::CompletionGuard;
use super::response::ObjectRenderer;
use crate::api::{Api, ApiResult, QueryParams, StatusError};
use crate::store::{WatchEnd, WatchEvent, Watcher};

/// Interval of bookmark events, as in the API server.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);

/// Minimum duration of a watch without `timeoutSeconds`. The maximum is twice as long, as in the
/// API server, so that watches do not end at the same time.
const MIN_DURATION: Duration = Duration::from_mins(30);

/// Maximum of `timeoutSeconds`, which also prevents overflows.
const MAX_DURATION: Duration = Duration::from_hours(24);

/// Pending events are sent in chunks of about this size.
const CHUNK_BYTES: usize = 64 << 10;

const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Options of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchOptions {
    bookmarks: bool,
    /// Whether a bookmark marks the end of the initial events.
    mark_initial: bool,
    duration: Duration,
}

impl WatchOptions {
    pub(super) fn parse(query: &QueryParams) -> Self {
        let flag = |name: &str| matches!(query.get(name), Some("true" | "1" | ""));
        let seconds = query.get("timeoutSeconds").and_then(|text| text.parse().ok());
        let duration = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        Self {
            bookmarks: flag("allowWatchBookmarks"),
            mark_initial: flag("sendInitialEvents"),
            duration: duration.unwrap_or_else(random_duration).min(MAX_DURATION),
        }
    }
}

fn random_duration() -> Duration {
    let mut bytes = [0; 2];
    // Without randomness all watches last equally long, which is acceptable.
    let _ = SystemRandom::new().fill(&mut bytes);
    let fraction = f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX);
    MIN_DURATION + MIN_DURATION.mul_f64(fraction)
}

/// Translates `sendInitialEvents` (KEP-3157) to parameters of a plain watch. `newest` is the
/// current revision.
pub(super) fn without_initial_events(query: &QueryParams, newest: u64) -> ApiResult<QueryParams> {
    let Some(word) = query.get("sendInitialEvents") else { return Ok(query.clone()) };
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    if matching != "NotOlderThan" {
        let message = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        return Err(StatusError::new(422, "Invalid", message));
    }
    let version = query.get("resourceVersion").unwrap_or_default();
    let from = match (word, version) {
        ("true" | "1" | "", _) => String::new(),
        (_, "" | "0") => newest.to_string(),
        (_, version) => version.to_owned(),
    };
    let kept = ["labelSelector", "fieldSelector", "timeoutSeconds", "allowWatchBookmarks"];
    let kept = kept.into_iter().filter_map(|name| Some((name, query.get(name)?)));
    let plain = QueryParams::default().with("watch", "true").with("resourceVersion", &from);
    Ok(kept.fold(plain, |plain, (name, value)| plain.with(name, value)))
}

/// A watch response.
pub(super) struct WatchStream {
    pub(super) api: Api,
    pub(super) watcher: Watcher,
    pub(super) renderer: ObjectRenderer,
    pub(super) options: WatchOptions,
    /// Cancelled to break the watch.
    pub(super) close: CancellationToken,
    /// Breaks the watch after this many events.
    pub(super) break_after: Option<usize>,
    /// Sends nothing more after this many events.
    pub(super) hang_after: Option<usize>,
    /// Permit and audit guard, which are released when the watch ends.
    pub(super) _held: (OwnedSemaphorePermit, CompletionGuard),
}

struct WatchState {
    stream: WatchStream,
    sent: usize,
    next_bookmark: Instant,
    deadline: Instant,
    ended: bool,
}

impl WatchStream {
    pub(super) fn body(self) -> Body {
        let now = Instant::now();
        let (next_bookmark, deadline) = (now + BOOKMARK_INTERVAL, now + self.options.duration);
        let state = WatchState { stream: self, sent: 0, next_bookmark, deadline, ended: false };
        Body::from_stream(stream::unfold(state, |mut state| async move {
            let chunk = state.chunk().await?;
            Some((chunk, state))
        }))
    }
}

/// Reasons to wake up an idle watch.
enum WakeReason {
    Event(Option<WatchEvent>),
    Bookmark,
    Deadline,
    Closed,
}

impl WatchState {
    /// The next chunk; `None` at the end.
    async fn chunk(&mut self) -> Option<io::Result<Bytes>> {
        if self.ended {
            return None;
        }
        if self.is_broken() {
            return Some(self.connection_reset());
        }
        if self.is_hung() {
            self.stream.close.cancelled().await;
            return Some(self.connection_reset());
        }
        let mut chunk = self.ready();
        if chunk.is_empty() {
            match self.wake().await {
                WakeReason::Event(Some(event)) => self.append(&mut chunk, &event),
                WakeReason::Event(None) => self.finish(&mut chunk),
                WakeReason::Bookmark => self.bookmark(&mut chunk),
                WakeReason::Deadline => {
                    self.ended = true;
                    self.bookmark(&mut chunk);
                }
                WakeReason::Closed => return Some(self.connection_reset()),
            }
        }
        (!chunk.is_empty() || !self.ended).then(|| Ok(Bytes::from(chunk)))
    }

    /// The pending events.
    fn ready(&mut self) -> Vec<u8> {
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK_BYTES
            && !self.is_broken()
            && !self.is_hung()
            && let Some(event) = self.stream.watcher.try_next()
        {
            self.append(&mut chunk, &event);
        }
        if self.stream.options.mark_initial
            && !self.is_hung()
            && let Some(revision) = self.stream.watcher.bookmark()
        {
            self.stream.options.mark_initial = false;
            let annotations = json!({ INITIAL_EVENTS_END: "true" });
            let bookmark = self.stream.renderer.bookmark(revision, Some(annotations));
            write_event(&mut chunk, "BOOKMARK", bookmark.to_string().as_bytes());
        }
        chunk
    }

    async fn wake(&mut self) -> WakeReason {
        let Self { stream, next_bookmark, deadline, .. } = self;
        // `Watcher::next` is cancel safe, so the other branches lose no event. `biased` lets a closed
        // connection win over further events.
        tokio::select! {
            biased;
            () = stream.close.cancelled() => WakeReason::Closed,
            event = stream.watcher.next() => WakeReason::Event(event),
            () = sleep_until(*deadline) => WakeReason::Deadline,
            () = sleep_until(*next_bookmark), if stream.options.bookmarks => WakeReason::Bookmark,
        }
    }

    fn append(&mut self, chunk: &mut Vec<u8>, event: &WatchEvent) {
        let now = self.stream.api.now();
        // Stored objects are JSON, so they can be serialized.
        if let Ok(object) = self.stream.renderer.event(&event.object, self.sent == 0, now) {
            write_event(chunk, event.kind.as_str(), &object);
        }
        self.sent += 1;
    }

    fn bookmark(&mut self, chunk: &mut Vec<u8>) {
        self.next_bookmark = Instant::now() + BOOKMARK_INTERVAL;
        if self.stream.options.bookmarks
            && let Some(revision) = self.stream.watcher.bookmark()
        {
            let bookmark = self.stream.renderer.bookmark(revision, None);
            write_event(chunk, "BOOKMARK", bookmark.to_string().as_bytes());
        }
    }

    fn finish(&mut self, chunk: &mut Vec<u8>) {
        self.ended = true;
        if self.stream.watcher.end() == Some(WatchEnd::Compacted) {
            let message = "The resourceVersion for the provided watch is too old.";
            error_event(chunk, &StatusError::new(410, "Expired", message));
        }
    }

    fn is_broken(&self) -> bool {
        self.stream.break_after.is_some_and(|limit| self.sent >= limit)
            || self.stream.close.is_cancelled()
    }

    fn is_hung(&self) -> bool {
        self.stream.hang_after.is_some_and(|limit| self.sent >= limit)
    }

    fn connection_reset(&mut self) -> io::Result<Bytes> {
        self.ended = true;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

/// A watch response with a single error event.
pub(super) fn error_body(error: &StatusError) -> Body {
    let mut text = Vec::new();
    error_event(&mut text, error);
    Body::from(text)
}

fn error_event(chunk: &mut Vec<u8>, error: &StatusError) {
    let status: Value = error.to_status();
    write_event(chunk, "ERROR", status.to_string().as_bytes());
}

fn write_event(chunk: &mut Vec<u8>, kind: &str, object: &[u8]) {
    chunk.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
    chunk.extend_from_slice(object);
    chunk.extend_from_slice(b"}\n");
}
