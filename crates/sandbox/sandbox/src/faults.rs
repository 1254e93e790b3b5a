//! Fault injection for tests of clients: errors, delays, missing responses, broken watches and
//! connections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::api::{StatusDetails, StatusError};

/// The faults of a sandbox. Clones share them.
#[derive(Clone, Default)]
pub struct Faults {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Number of faults, so that requests take the lock only if there are any. It is stored under
    /// the lock; a request that reads it concurrently with `add` counts as earlier.
    count: AtomicUsize,
    faults: Mutex<Vec<Fault>>,
}

/// A fault, the requests it applies to, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    action: FaultAction,
    verb: Option<String>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    user_agent: Option<String>,
    /// Whether it applies only to the later pages of lists.
    only_continued: bool,
    /// Remaining number of times; `None` for always.
    times: Option<usize>,
}

/// The effect of a fault.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FaultAction {
    /// Refuse the request.
    Refuse(StatusError),
    /// Handle the request, then report an error.
    RefuseAfter(StatusError),
    /// Delay the request.
    Delay(Duration),
    /// Close the connection instead of responding.
    Drop,
    /// Never respond, and keep the connection open.
    Hang,
    /// Break the watch after this many events.
    CutWatch(usize),
    /// Send nothing more after this many events, and keep the connection open.
    HangWatch(usize),
}

/// Attributes of a request that faults match. Missing ones are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FaultTarget<'a> {
    pub(crate) verb: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) user_agent: &'a str,
    /// Whether it is a list with a `continue` token.
    pub(crate) is_continued: bool,
}

impl Fault {
    /// Refuses requests with this HTTP status.
    pub fn refuse(code: u16) -> Self {
        Self::new(FaultAction::Refuse(status_error(code)))
    }

    /// Handles requests, then reports this HTTP status.
    pub fn refuse_after(code: u16) -> Self {
        Self::new(FaultAction::RefuseAfter(status_error(code)))
    }

    /// Delays requests.
    pub fn delay(duration: Duration) -> Self {
        Self::new(FaultAction::Delay(duration))
    }

    /// Closes the connection instead of responding.
    pub fn drop_connection() -> Self {
        Self::new(FaultAction::Drop)
    }

    /// Accepts requests and never responds, with an open connection: a load balancer that loses its
    /// server after it has forwarded the request.
    pub fn hang() -> Self {
        Self::new(FaultAction::Hang)
    }

    /// Breaks new watches after this many events.
    pub fn cut_watch(events: usize) -> Self {
        Self { verb: Some("watch".to_owned()), ..Self::new(FaultAction::CutWatch(events)) }
    }

    /// Starts new watches and sends nothing after this many events: no event, no bookmark, and no end.
    pub fn hang_watch(events: usize) -> Self {
        Self { verb: Some("watch".to_owned()), ..Self::new(FaultAction::HangWatch(events)) }
    }

    fn new(action: FaultAction) -> Self {
        Self {
            action,
            verb: None,
            resource: None,
            namespace: None,
            name: None,
            user_agent: None,
            only_continued: false,
            times: None,
        }
    }

    /// Only for requests with this verb, such as `update`.
    #[must_use]
    pub fn verb(self, verb: &str) -> Self {
        Self { verb: Some(verb.to_owned()), ..self }
    }

    /// Only for this resource, such as `configmaps`, or `pods/status` for a subresource.
    #[must_use]
    pub fn resource(self, plural: &str) -> Self {
        Self { resource: Some(plural.to_owned()), ..self }
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Only for the object with this name.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Only for user agents that contain this.
    #[must_use]
    pub fn user_agent(self, part: &str) -> Self {
        Self { user_agent: Some(part.to_owned()), ..self }
    }

    /// Only for the later pages of lists, which have a `continue` token.
    #[must_use]
    pub fn continued(self) -> Self {
        Self { only_continued: true, ..self }
    }

    /// Only this many times.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times: Some(times), ..self }
    }

    fn matches(&self, target: &FaultTarget<'_>) -> bool {
        let is = |wanted: &Option<String>, actual: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == actual)
        };
        is(&self.verb, target.verb)
            && is(&self.resource, target.resource)
            && is(&self.namespace, target.namespace)
            && is(&self.name, target.name)
            && (!self.only_continued || target.is_continued)
            && self.user_agent.as_ref().is_none_or(|part| target.user_agent.contains(part))
    }
}

impl Faults {
    /// Adds a fault. If several match a request, the oldest applies.
    pub fn add(&self, fault: Fault) {
        let mut faults = self.shared.lock();
        faults.push(fault);
        self.shared.count.store(faults.len(), Ordering::Release);
    }

    /// Removes all faults.
    pub fn clear(&self) {
        let mut faults = self.shared.lock();
        faults.clear();
        self.shared.count.store(0, Ordering::Release);
    }

    /// Number of faults that still apply.
    pub fn len(&self) -> usize {
        self.shared.count.load(Ordering::Acquire)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the effect of the fault that applies to a request.
    pub(crate) fn take(&self, target: &FaultTarget<'_>) -> Option<FaultAction> {
        if self.is_empty() {
            return None;
        }
        let mut faults = self.shared.lock();
        let index = faults.iter().position(|fault| fault.matches(target))?;
        let fault = &mut faults[index];
        let action = fault.action.clone();
        fault.times = fault.times.map(|times| times.saturating_sub(1));
        if fault.times == Some(0) {
            faults.remove(index);
        }
        self.shared.count.store(faults.len(), Ordering::Release);
        Some(action)
    }
}

impl Shared {
    /// No foreign code runs under the lock, so a poisoned lock is safe to use.
    fn lock(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status_error(code: u16) -> StatusError {
    let (reason, message) = match code {
        400 => ("BadRequest", "fault injected by the sandbox"),
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "forbidden by a fault injected by the sandbox"),
        404 => ("NotFound", "the server could not find the requested resource"),
        409 => (
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
        ),
        410 => ("Expired", "too old resource version"),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => ("Timeout", "Timeout: request did not complete within the allotted timeout"),
        _ => ("InternalError", "Internal error occurred: fault injected by the sandbox"),
    };
    let error = StatusError::new(code, reason, message);
    match code {
        429 | 503 => error.with_details(StatusDetails {
            retry_after_seconds: Some(1),
            ..StatusDetails::default()
        }),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update<'a>(name: &'a str, user_agent: &'a str) -> FaultTarget<'a> {
        FaultTarget {
            verb: "update",
            resource: "configmaps",
            namespace: "a",
            name,
            user_agent,
            is_continued: false,
        }
    }

    #[test]
    fn fault_applies_to_matching_requests() {
        let any = Fault::refuse(500);
        for (fault, applied) in [
            (any.clone(), true),
            (any.clone().verb("update").resource("configmaps").namespace("a").name("x"), true),
            (any.clone().verb("create"), false),
            (any.clone().resource("secrets"), false),
            (any.clone().namespace("b"), false),
            (any.clone().name("y"), false),
            (any.clone().user_agent("fair"), true),
            (any.clone().user_agent("kubectl"), false),
            (any.clone().continued(), false),
            (Fault::hang(), true),
            (Fault::cut_watch(0), false),
            (Fault::hang_watch(0), false),
        ] {
            let faults = Faults::default();
            faults.add(fault.clone());
            assert_eq!(faults.take(&update("x", "fairway/1")).is_some(), applied, "{fault:?}");
        }
    }

    #[test]
    fn fault_applies_given_number_of_times() {
        let faults = Faults::default();
        assert_eq!(faults.take(&update("x", "")), None);
        faults.add(Fault::refuse(409).times(2));
        faults.add(Fault::delay(Duration::from_secs(1)).times(1));
        let applied: Vec<_> = (0..4).map(|_| faults.take(&update("x", ""))).collect();
        assert!(matches!(applied[0], Some(FaultAction::Refuse(_))));
        assert!(matches!(applied[1], Some(FaultAction::Refuse(_))));
        assert!(matches!(applied[2], Some(FaultAction::Delay(_))));
        assert_eq!(applied[3], None);
        assert!(faults.is_empty());
        faults.add(Fault::drop_connection());
        faults.clear();
        assert_eq!(faults.take(&update("x", "")), None);
    }
}
