//! Faults on demand, for tests of clients: refusals, delays, watches and connections that break.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::api::{Details, Refusal};

/// The faults of a sandbox. Clones are handles to the same faults; there are none at first.
#[derive(Clone, Default)]
pub struct Faults {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// How many there are, so that requests look no further where there are none.
    count: AtomicUsize,
    faults: Mutex<Vec<Fault>>,
}

/// What goes wrong, for which requests, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    action: Action,
    verb: Option<String>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    user_agent: Option<String>,
    /// How often it happens from now on; `None` for always.
    times: Option<usize>,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// The request is refused and nothing is done.
    Refuse(Refusal),
    /// What was asked for is done, but the client is told otherwise.
    RefuseAfter(Refusal),
    /// The request waits.
    Delay(Duration),
    /// The connection breaks instead of an answer.
    Drop,
    /// The watch breaks after so many events.
    CutWatch(usize),
}

/// What faults know of a request; what is not said is empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Subject<'a> {
    pub(crate) verb: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) user_agent: &'a str,
}

impl Fault {
    /// Requests are refused with this HTTP status, and nothing is done.
    pub fn refuse(code: u16) -> Self {
        Self::of(Action::Refuse(refusal(code)))
    }

    /// What was asked for is done, but the client is told that it was refused.
    pub fn refuse_after(code: u16) -> Self {
        Self::of(Action::RefuseAfter(refusal(code)))
    }

    /// Requests wait before something is done.
    pub fn delay(duration: Duration) -> Self {
        Self::of(Action::Delay(duration))
    }

    /// The connection breaks instead of an answer.
    pub fn drop_connection() -> Self {
        Self::of(Action::Drop)
    }

    /// Watches that begin from now on break after so many events.
    pub fn cut_watch(events: usize) -> Self {
        Self { verb: Some("watch".to_owned()), ..Self::of(Action::CutWatch(events)) }
    }

    fn of(action: Action) -> Self {
        Self {
            action,
            verb: None,
            resource: None,
            namespace: None,
            name: None,
            user_agent: None,
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

    /// Only for the object of this name.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Only for programs that have this in their name.
    #[must_use]
    pub fn user_agent(self, part: &str) -> Self {
        Self { user_agent: Some(part.to_owned()), ..self }
    }

    /// Only so many times.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times: Some(times), ..self }
    }

    fn matches(&self, subject: &Subject<'_>) -> bool {
        let is = |wanted: &Option<String>, actual: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == actual)
        };
        is(&self.verb, subject.verb)
            && is(&self.resource, subject.resource)
            && is(&self.namespace, subject.namespace)
            && is(&self.name, subject.name)
            && self.user_agent.as_ref().is_none_or(|part| subject.user_agent.contains(part))
    }
}

impl Faults {
    /// From now on this goes wrong. Of several faults that match a request the oldest happens.
    pub fn add(&self, fault: Fault) {
        let mut faults = self.shared.lock();
        faults.push(fault);
        self.shared.count.store(faults.len(), Ordering::Release);
    }

    /// From now on nothing goes wrong.
    pub fn clear(&self) {
        let mut faults = self.shared.lock();
        faults.clear();
        self.shared.count.store(0, Ordering::Release);
    }

    /// How many faults there are that have not happened as often as they should.
    pub fn len(&self) -> usize {
        self.shared.count.load(Ordering::Acquire)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What goes wrong with this request, which is one time less to come.
    pub(crate) fn strike(&self, subject: &Subject<'_>) -> Option<Action> {
        if self.is_empty() {
            return None;
        }
        let mut faults = self.shared.lock();
        let index = faults.iter().position(|fault| fault.matches(subject))?;
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
    /// No code of others runs under the lock, so a poisoned one guards a whole list.
    fn lock(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal(code: u16) -> Refusal {
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
    let refusal = Refusal::new(code, reason, message);
    match code {
        429 | 503 => refusal.about(Details { retry_after_seconds: Some(1), ..Details::default() }),
        _ => refusal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update<'a>(name: &'a str, user_agent: &'a str) -> Subject<'a> {
        Subject { verb: "update", resource: "configmaps", namespace: "a", name, user_agent }
    }

    #[test]
    fn a_fault_happens_to_what_it_matches() {
        let any = Fault::refuse(500);
        for (fault, struck) in [
            (any.clone(), true),
            (any.clone().verb("update").resource("configmaps").namespace("a").name("x"), true),
            (any.clone().verb("create"), false),
            (any.clone().resource("secrets"), false),
            (any.clone().namespace("b"), false),
            (any.clone().name("y"), false),
            (any.clone().user_agent("fair"), true),
            (any.clone().user_agent("kubectl"), false),
            (Fault::cut_watch(0), false),
        ] {
            let faults = Faults::default();
            faults.add(fault.clone());
            assert_eq!(faults.strike(&update("x", "fairway/1")).is_some(), struck, "{fault:?}");
        }
    }

    #[test]
    fn a_fault_happens_so_many_times() {
        let faults = Faults::default();
        assert_eq!(faults.strike(&update("x", "")), None);
        faults.add(Fault::refuse(409).times(2));
        faults.add(Fault::delay(Duration::from_secs(1)).times(1));
        let struck: Vec<_> = (0..4).map(|_| faults.strike(&update("x", ""))).collect();
        assert!(matches!(struck[0], Some(Action::Refuse(_))));
        assert!(matches!(struck[1], Some(Action::Refuse(_))));
        assert!(matches!(struck[2], Some(Action::Delay(_))));
        assert_eq!(struck[3], None);
        assert!(faults.is_empty());
        faults.add(Fault::drop_connection());
        faults.clear();
        assert_eq!(faults.strike(&update("x", "")), None);
    }
}
