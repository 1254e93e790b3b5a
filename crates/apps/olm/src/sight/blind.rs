//! Watches that see nothing any more.
//!
//! A watch that failed and works again says nothing until something changes. So after some patience
//! it begins anew with a list, and if that fails too, what it saw before does not count any more.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The watches that see nothing, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blind(BTreeMap<Subject, String>);

/// What a watch is about: objects of a kind, or the definition of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Objects(&'static str),
    Definition(&'static str),
}

impl Blind {
    /// Nothing is seen of that kind.
    #[cfg(test)]
    pub(crate) fn to(kind: &'static str, why: &str) -> Self {
        Self([(Subject::Objects(kind), why.to_owned())].into())
    }

    /// Why nothing is seen of a kind, if nothing is.
    pub(crate) fn why(&self, kind: &'static str) -> Option<&str> {
        let why = |subject| self.0.get(&subject).map(String::as_str);
        why(Subject::Objects(kind)).or_else(|| why(Subject::Definition(kind)))
    }
}

/// Gives every watch an eye, and tells which of them are blind.
#[derive(Clone)]
pub(super) struct Lookout {
    blind: watch::Sender<Blind>,
    patience: Duration,
}

impl Lookout {
    pub(super) fn new(patience: Duration) -> (Self, watch::Receiver<Blind>) {
        let (blind, receiver) = watch::channel(Blind::default());
        (Self { blind, patience }, receiver)
    }

    /// For a watch of the objects of a kind.
    pub(super) fn on_objects(&self, kind: &'static str) -> Eye {
        Eye::new(self.clone(), Subject::Objects(kind))
    }

    /// For a watch of the definition of a kind.
    pub(super) fn on_definition(&self, kind: &'static str) -> Eye {
        Eye::new(self.clone(), Subject::Definition(kind))
    }
}

/// Of one watch, whether it sees.
pub(super) struct Eye {
    lookout: Lookout,
    subject: Subject,
    has_seen: bool,
    failing: Option<Failing>,
}

/// A watch that fails.
struct Failing {
    why: String,
    /// When it begins anew.
    anew_at: Instant,
    has_begun_anew: bool,
}

impl Eye {
    fn new(lookout: Lookout, subject: Subject) -> Self {
        Self { lookout, subject, has_seen: false, failing: None }
    }

    /// What it looks at.
    pub(super) fn kind(&self) -> &'static str {
        let (Subject::Objects(kind) | Subject::Definition(kind)) = self.subject;
        kind
    }

    /// When the watch has to begin anew, if nothing is seen until then.
    pub(super) fn anew_at(&self) -> Option<Instant> {
        self.failing.as_ref().map(|failing| failing.anew_at)
    }

    /// The watch has failed.
    pub(super) fn fails(&mut self, why: String, now: Instant) {
        let anew_at = now + self.lookout.patience;
        let first = Failing { why: String::new(), anew_at, has_begun_anew: false };
        let failing = self.failing.get_or_insert(first);
        failing.why = why;
        // What was never seen is not known, and neither is what a new list does not show.
        if !self.has_seen || failing.has_begun_anew {
            self.go_blind();
        }
    }

    /// The watch begins anew.
    pub(super) fn begins_anew(&mut self, now: Instant) {
        let Some(failing) = &mut self.failing else { return };
        failing.anew_at = now + self.lookout.patience;
        let was_in_vain = std::mem::replace(&mut failing.has_begun_anew, true);
        if was_in_vain {
            self.go_blind();
        }
    }

    /// The watch has shown something.
    pub(super) fn sees(&mut self) {
        self.has_seen = true;
        self.failing = None;
        self.lookout.blind.send_if_modified(|blind| blind.0.remove(&self.subject).is_some());
    }

    /// The reason stays: what is said should not change with every try.
    fn go_blind(&self) {
        let Some(failing) = &self.failing else { return };
        self.lookout.blind.send_if_modified(|blind| {
            let before = blind.0.len();
            blind.0.entry(self.subject).or_insert_with(|| failing.why.clone());
            blind.0.len() > before
        });
    }
}

impl Drop for Eye {
    /// Nobody looks there any more, so there is nothing that is not seen.
    fn drop(&mut self) {
        self.sees();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_mins(2);
    const KIND: &str = "operators";

    fn eye() -> (Eye, watch::Receiver<Blind>, Instant) {
        let (lookout, blind) = Lookout::new(PATIENCE);
        (lookout.on_objects(KIND), blind, Instant::now())
    }

    fn why(blind: &watch::Receiver<Blind>) -> Option<String> {
        blind.borrow().why(KIND).map(str::to_owned)
    }

    #[test]
    fn what_was_never_seen_is_not_seen() {
        let (mut eye, blind, now) = eye();
        eye.fails("forbidden".to_owned(), now);
        assert_eq!(why(&blind).as_deref(), Some("forbidden"));
        eye.fails("unavailable".to_owned(), now);
        assert_eq!(why(&blind).as_deref(), Some("forbidden"), "the first reason stays");
        eye.sees();
        assert_eq!(why(&blind), None);
    }

    #[test]
    fn what_was_seen_counts_until_a_new_list_fails_too() {
        let (mut eye, blind, now) = eye();
        eye.sees();
        assert_eq!(eye.anew_at(), None);
        eye.fails("cut".to_owned(), now);
        eye.fails("cut again".to_owned(), now + PATIENCE / 2);
        assert_eq!((why(&blind), eye.anew_at()), (None, Some(now + PATIENCE)));
        eye.begins_anew(now + PATIENCE);
        assert_eq!(why(&blind), None, "it may have worked for long");
        eye.fails("forbidden".to_owned(), now + PATIENCE);
        assert_eq!(why(&blind).as_deref(), Some("forbidden"));
        eye.sees();
        assert_eq!((why(&blind), eye.anew_at()), (None, None));
    }

    #[test]
    fn a_list_that_never_comes_is_one_that_fails() {
        let (mut eye, blind, now) = eye();
        eye.sees();
        eye.fails("cut".to_owned(), now);
        eye.begins_anew(now + PATIENCE);
        eye.begins_anew(now + PATIENCE * 2);
        assert_eq!(why(&blind).as_deref(), Some("cut"));
        drop(eye);
        assert_eq!(why(&blind), None, "nobody looks there any more");
    }

    #[test]
    fn objects_are_not_seen_without_their_definition() {
        let (lookout, blind) = Lookout::new(PATIENCE);
        let (mut objects, mut definition) = (lookout.on_objects(KIND), lookout.on_definition(KIND));
        objects.sees();
        definition.fails("forbidden".to_owned(), Instant::now());
        objects.sees();
        assert_eq!(why(&blind).as_deref(), Some("forbidden"));
    }
}
