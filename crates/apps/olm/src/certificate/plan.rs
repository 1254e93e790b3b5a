//! Rotation of the certificate.
//!
//! API servers must trust a CA before a replica serves its certificate, and as long as one still does.
//! The rotation therefore publishes the new CA, then serves its certificate, then removes the old CA.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::generation::Generation;
use super::stored::StoredCertificates;
use crate::settings::CertificateSettings;

/// State of the rotation beside the Secret.
pub(super) struct RotationState<'a> {
    pub(super) now: Timestamp,
    /// Host names of the webhook.
    pub(super) names: &'a [String],
    /// Since when the CA of the next certificate is published.
    pub(super) known_since: Option<Timestamp>,
    /// Fingerprints of the certificates that replicas serve.
    pub(super) served: &'a BTreeMap<&'a str, &'a str>,
    pub(super) settings: CertificateSettings,
}

/// Next step of the rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RotationStep {
    /// Generate a certificate and serve it at once, because there is no valid one.
    Make,
    /// Generate the next certificate and publish its CA.
    Prepare,
    /// Serve the next certificate.
    Promote,
    /// Remove the previous CA.
    Forget,
    /// Wait until then.
    Wait(Timestamp),
}

/// The next step.
pub(super) fn plan(stored: Option<&StoredCertificates>, view: &RotationState<'_>) -> RotationStep {
    let Some(stored) = stored.filter(|it| it.current.expires > view.now) else {
        return RotationStep::Make;
    };
    let StoredCertificates { current, next, previous } = stored;
    let is_usable = |it: &&Generation| it.names == view.names && it.expires > view.now;
    if let Some(next) = next.as_ref().filter(is_usable) {
        let Some(known_since) = view.known_since else { return RotationStep::Wait(next.expires) };
        let settled = known_since.saturating_add(view.settings.settling).unwrap_or(next.expires);
        return if settled <= view.now {
            RotationStep::Promote
        } else {
            RotationStep::Wait(settled)
        };
    }
    let renewal = renewal(current.expires, view.settings);
    if current.names != view.names || renewal <= view.now {
        return RotationStep::Prepare;
    }
    let Some(previous) = previous else { return RotationStep::Wait(renewal) };
    let fingerprint = current.fingerprint();
    let all_replicas = !view.served.is_empty() && view.served.values().all(|it| *it == fingerprint);
    if all_replicas || previous.expires <= view.now {
        return RotationStep::Forget;
    }
    RotationStep::Wait(renewal.min(previous.expires))
}

/// Time of the renewal: when a third of the lifetime is left, so that failures can be noticed.
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
        stored: Option<StoredCertificates>,
        known_since: Option<Timestamp>,
        served: Vec<String>,
    }

    impl Case {
        fn of(stored: StoredCertificates) -> Self {
            Self { stored: Some(stored), known_since: None, served: Vec::new() }
        }

        fn step(&self, now: Timestamp) -> RotationStep {
            self.step_for(&names(), now)
        }

        fn step_for(&self, names: &[String], now: Timestamp) -> RotationStep {
            let served = self.served.iter().map(|it| ("guard", it.as_str())).enumerate();
            let guards: Vec<String> = served.clone().map(|(index, _)| index.to_string()).collect();
            let served = served.map(|(index, (_, it))| (guards[index].as_str(), it)).collect();
            let known_since = self.known_since;
            let view =
                RotationState { now, names, known_since, served: &served, settings: SETTINGS };
            plan(self.stored.as_ref(), &view)
        }
    }

    #[test]
    fn plan_without_valid_certificate_returns_make() {
        let nothing = Case { stored: None, known_since: None, served: Vec::new() };
        assert_eq!(nothing.step(at(0)), RotationStep::Make);
        let expired = Case::of(StoredCertificates::new(made(0)));
        assert_eq!(expired.step(at(30)), RotationStep::Make);
    }

    #[test]
    fn plan_with_third_of_lifetime_left_returns_prepare() {
        let case = Case::of(StoredCertificates::new(made(0)));
        assert_eq!(case.step(at(0)), RotationStep::Wait(at(20)));
        assert_eq!(case.step(at(19)), RotationStep::Wait(at(20)));
        assert_eq!(case.step(at(20)), RotationStep::Prepare);
    }

    #[test]
    fn plan_with_other_names_returns_prepare() {
        let case = Case::of(StoredCertificates::new(made(0)));
        assert_eq!(case.step_for(&["elsewhere".to_owned()], at(1)), RotationStep::Prepare);
    }

    #[test]
    fn plan_with_published_ca_returns_promote() {
        let mut case = Case::of(StoredCertificates {
            next: Some(made(20)),
            ..StoredCertificates::new(made(0))
        });
        assert_eq!(case.step(at(20)), RotationStep::Wait(at(50)), "its CA is not published");
        let settled = at(21) + SETTINGS.settling;
        case.known_since = Some(at(21));
        assert_eq!(
            case.step(at(21)),
            RotationStep::Wait(settled),
            "API servers may not have it yet"
        );
        assert_eq!(case.step(settled), RotationStep::Promote);
    }

    #[test]
    fn plan_with_expired_next_certificate_returns_prepare() {
        let lasting = Generation::make(&names(), at(0), SETTINGS.lifetime * 2).unwrap();
        let case = Case::of(StoredCertificates {
            next: Some(made(10)),
            ..StoredCertificates::new(lasting)
        });
        assert_eq!(case.step(at(45)), RotationStep::Wait(at(50)));
        assert_eq!(case.step(at(50)), RotationStep::Prepare);
    }

    #[test]
    fn plan_with_new_certificate_on_all_replicas_returns_forget() {
        let (old, new) = (made(0), made(20));
        let (before, after) = (old.fingerprint(), new.fingerprint());
        let mut case =
            Case::of(StoredCertificates { previous: Some(old.ca), ..StoredCertificates::new(new) });
        assert!(matches!(case.step(at(21)), RotationStep::Wait(_)), "no replica has reported");
        case.served = vec![after.clone(), before];
        assert!(matches!(case.step(at(21)), RotationStep::Wait(_)), "one still serves the old one");
        assert_eq!(case.step(at(30)), RotationStep::Forget, "the previous CA expired");
        case.served = vec![after.clone(), after];
        assert_eq!(case.step(at(21)), RotationStep::Forget);
    }
}
