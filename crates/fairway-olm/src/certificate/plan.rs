//! When a certificate is made, renewed and forgotten.
//!
//! API servers have to know an authority before they meet its certificate, and for as long as
//! some guard may still serve it. So a new authority is published first, then its certificate is
//! served, and only then the old authority goes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::stored::Stored;
use crate::settings::CertificateSettings;

/// What is known beside the Secret.
pub(super) struct View<'a> {
    pub(super) now: Timestamp,
    /// What API servers call the webhook.
    pub(super) names: &'a [String],
    /// The authorities that API servers know.
    pub(super) published: &'a str,
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
    if let Some(next) = next.as_ref().filter(|next| next.names == view.names) {
        let settled = next.made.saturating_add(view.settings.settling).unwrap_or(next.expires);
        return if !view.published.contains(&next.authority.certificate) {
            Step::Wait(next.expires)
        } else if settled <= view.now {
            Step::Promote
        } else {
            Step::Wait(settled)
        };
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
