//! When a certificate is made, renewed and forgotten.
//!
//! API servers have to know an authority before they meet its certificate, and for as long as
//! some guard may still serve it. So a new authority is published first, then its certificate is
//! served, and only then the old authority goes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::generation::Generation;
use super::stored::Stored;
use crate::settings::CertificateSettings;

/// What is known beside the Secret.
pub(super) struct View<'a> {
    pub(super) now: Timestamp,
    /// What API servers call the webhook.
    pub(super) names: &'a [String],
    /// Since when the authority of the next certificate is published, if it is.
    pub(super) known_since: Option<Timestamp>,
    /// Which certificates guards serve.
    pub(super) served: &'a BTreeMap<&'a str, &'a str>,
    pub(super) settings: CertificateSettings,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There is nothing that could be used: a certificate is made and served at once.
    Make,
    /// The next one is made, and its authority published.
    Prepare,
    /// The next one is served.
    Promote,
    /// The authority before is known no more.
    Forget,
    /// Nothing, until then.
    Wait(Timestamp),
}

/// What comes next.
pub(super) fn plan(stored: Option<&Stored>, view: &View<'_>) -> Step {
    let Some(stored) = stored.filter(|it| it.current.expires > view.now) else { return Step::Make };
    let Stored { current, next, previous } = stored;
    let is_usable = |it: &&Generation| it.names == view.names && it.expires > view.now;
    if let Some(next) = next.as_ref().filter(is_usable) {
        let Some(known_since) = view.known_since else { return Step::Wait(next.expires) };
        let settled = known_since.saturating_add(view.settings.settling).unwrap_or(next.expires);
        return if settled <= view.now { Step::Promote } else { Step::Wait(settled) };
    }
    let renewal = renewal(current.expires, view.settings);
    if current.names != view.names || renewal <= view.now {
        return Step::Prepare;
    }
    let Some(previous) = previous else { return Step::Wait(renewal) };
    let fingerprint = current.fingerprint();
    let everybody = !view.served.is_empty() && view.served.values().all(|it| *it == fingerprint);
    if everybody || previous.expires <= view.now {
        return Step::Forget;
    }
    Step::Wait(renewal.min(previous.expires))
}

/// When a third of its life is left, so that there is time to notice when it fails.
fn renewal(expires: Timestamp, settings: CertificateSettings) -> Timestamp {
    expires.saturating_sub(settings.lifetime / 3).unwrap_or(expires)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SETTINGS: CertificateSettings = CertificateSettings {
        lifetime: Duration::from_hours(30 * 24),
        settling: Duration::from_secs(30),
    };

    fn at(days: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + days * 86_400).unwrap()
    }

    fn names() -> Vec<String> {
        vec!["127.0.0.1".to_owned(), "guard.ns.svc".to_owned()]
    }

    fn made(days: i64) -> Generation {
        Generation::make(&names(), at(days), SETTINGS.lifetime).unwrap()
    }

    struct Case {
        stored: Option<Stored>,
        known_since: Option<Timestamp>,
        served: Vec<String>,
    }

    impl Case {
        fn of(stored: Stored) -> Self {
            Self { stored: Some(stored), known_since: None, served: Vec::new() }
        }

        fn step(&self, now: Timestamp) -> Step {
            self.step_for(&names(), now)
        }

        fn step_for(&self, names: &[String], now: Timestamp) -> Step {
            let served = self.served.iter().map(|it| ("guard", it.as_str())).enumerate();
            let guards: Vec<String> = served.clone().map(|(index, _)| index.to_string()).collect();
            let served = served.map(|(index, (_, it))| (guards[index].as_str(), it)).collect();
            let known_since = self.known_since;
            let view = View { now, names, known_since, served: &served, settings: SETTINGS };
            plan(self.stored.as_ref(), &view)
        }
    }

    #[test]
    fn a_certificate_is_made_where_there_is_none_that_counts() {
        let nothing = Case { stored: None, known_since: None, served: Vec::new() };
        assert_eq!(nothing.step(at(0)), Step::Make);
        let expired = Case::of(Stored::new(made(0)));
        assert_eq!(expired.step(at(30)), Step::Make);
    }

    #[test]
    fn it_is_renewed_when_a_third_of_its_life_is_left() {
        let case = Case::of(Stored::new(made(0)));
        assert_eq!(case.step(at(0)), Step::Wait(at(20)));
        assert_eq!(case.step(at(19)), Step::Wait(at(20)));
        assert_eq!(case.step(at(20)), Step::Prepare);
    }

    #[test]
    fn other_names_need_another_certificate() {
        let case = Case::of(Stored::new(made(0)));
        assert_eq!(case.step_for(&["elsewhere".to_owned()], at(1)), Step::Prepare);
    }

    #[test]
    fn a_new_certificate_is_served_when_its_authority_is_known() {
        let mut case = Case::of(Stored { next: Some(made(20)), ..Stored::new(made(0)) });
        assert_eq!(case.step(at(20)), Step::Wait(at(50)), "nobody knows its authority");
        let settled = at(21) + SETTINGS.settling;
        case.known_since = Some(at(21));
        assert_eq!(case.step(at(21)), Step::Wait(settled), "not everybody may know it");
        assert_eq!(case.step(settled), Step::Promote);
    }

    #[test]
    fn a_next_certificate_that_has_expired_is_none() {
        let lasting = Generation::make(&names(), at(0), SETTINGS.lifetime * 2).unwrap();
        let case = Case::of(Stored { next: Some(made(10)), ..Stored::new(lasting) });
        assert_eq!(case.step(at(45)), Step::Wait(at(50)));
        assert_eq!(case.step(at(50)), Step::Prepare);
    }

    #[test]
    fn the_old_authority_goes_when_every_guard_serves_the_new_certificate() {
        let (old, new) = (made(0), made(20));
        let (before, after) = (old.fingerprint(), new.fingerprint());
        let mut case = Case::of(Stored { previous: Some(old.authority), ..Stored::new(new) });
        assert!(matches!(case.step(at(21)), Step::Wait(_)), "nobody has said anything");
        case.served = vec![after.clone(), before];
        assert!(matches!(case.step(at(21)), Step::Wait(_)), "one still serves the old one");
        assert_eq!(case.step(at(30)), Step::Forget, "that one is dead: the authority expired");
        case.served = vec![after.clone(), after];
        assert_eq!(case.step(at(21)), Step::Forget);
    }
}
