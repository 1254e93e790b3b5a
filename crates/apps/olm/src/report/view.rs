//! What is made of what was seen so far.

use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_compat::olm::apis::Needs;
use fairway_compat::olm::{ClusterVersions, Guard, Hindrance, Operator, Policy, Stream};

use crate::catalogs::Shown;
use crate::needs;
use crate::observed::Observed;
use crate::sight::{
    Blind, CATALOGS, CLUSTER_VERSIONS, INSTALLED, Installed, Only, SUBSCRIPTIONS, Subscriptions,
};

/// Why something is not known that was asked for.
const NOT_YET: &str = "no response yet";

/// What was seen so far.
#[derive(Default)]
pub(super) struct View {
    pub(super) version: Option<Arc<Only<ClusterVersion>>>,
    pub(super) version_blind: Blind,
    pub(super) operators: Option<Arc<Installed>>,
    pub(super) subscriptions: Option<Arc<Subscriptions>>,
    pub(super) blind: Blind,
    pub(super) catalogs: Option<Arc<Shown>>,
    pub(super) needs: Option<Arc<needs::Known>>,
    pub(super) observed: Option<Arc<Observed>>,
    /// Whether nobody waits any more for what was not seen.
    pub(super) is_late: bool,
}

impl View {
    /// The operators and the running version, or why they are not known; `None` while it is too
    /// early to say anything, and where the cluster has no version of the platform.
    pub(super) fn judge(self, policy: Policy) -> Option<Result<(Guard, Stream), Hindrance>> {
        if self.version.as_deref().is_some_and(Option::is_none) {
            return None;
        }
        if !self.is_whole() && !self.is_late {
            return None;
        }
        Some(self.running().and_then(|running| {
            let operators = self.operators(running)?;
            Ok((Guard::new(operators, running, policy), running))
        }))
    }

    /// What is not known though operators are, if something is not.
    pub(super) fn unseen(&self) -> Option<String> {
        let of_catalogs = |why| format!("The content of the catalogs is unknown: {why}.");
        let of_needs = |why| format!("The APIs that operators use are unknown: {why}.");
        self.catalogs_unseen().map(of_catalogs).or_else(|| self.needs_unseen().map(of_needs))
    }

    fn catalogs_unseen(&self) -> Option<String> {
        let why = |kind| self.blind.why(kind).map(|why| format!("{kind}: {why}"));
        why(CATALOGS).or_else(|| why(SUBSCRIPTIONS)).or_else(|| match &self.catalogs {
            Some(shown) => shown.unread.clone(),
            None => Some(NOT_YET.to_owned()),
        })
    }

    fn needs_unseen(&self) -> Option<String> {
        match &self.needs {
            Some(known) => known.unread.clone(),
            None => Some(NOT_YET.to_owned()),
        }
    }

    fn is_whole(&self) -> bool {
        let Self { version, operators, catalogs, needs, observed, .. } = self;
        // What was seen long ago may be seen again in a moment.
        let is_seen = self.version_blind.why(CLUSTER_VERSIONS).is_none()
            && self.blind.why(INSTALLED).is_none();
        is_seen
            && version.is_some()
            && operators.is_some()
            && catalogs.as_deref().is_some_and(|shown| !shown.is_partial)
            && needs.as_deref().is_some_and(|known| known.unread.is_none())
            && observed.is_some()
    }

    fn running(&self) -> Result<Stream, Hindrance> {
        if let Some(why) = self.version_blind.why(CLUSTER_VERSIONS) {
            return Err(Hindrance::VersionUnseen(why.to_owned()));
        }
        let version = self.version.as_deref().and_then(Option::as_ref);
        let version = version.ok_or(Hindrance::Waiting)?;
        ClusterVersions::of(version).running().ok_or_else(|| Hindrance::of_version(version))
    }

    fn operators(&self, running: Stream) -> Result<Vec<Operator>, Hindrance> {
        if let Some(why) = self.blind.why(INSTALLED) {
            return Err(Hindrance::Unlisted(why.to_owned()));
        }
        let operators = self.operators.as_deref().ok_or(Hindrance::Waiting)?;
        let catalogs = self.catalogs.as_deref().map(|shown| &shown.catalogs);
        let needs = self.needs.as_deref().map(|known| &known.needs);
        let subscriptions: Vec<_> =
            self.subscriptions.iter().flat_map(|it| it.values().cloned()).collect();
        let told = operators.iter().map(|(place, (_, operator))| {
            let operator = match catalogs {
                Some(catalogs) => catalogs.tell_about(operator.clone(), &subscriptions),
                None => operator.clone(),
            };
            match needs.and_then(|needs| needs.get(place)) {
                Some((_, needs)) => self.using(operator, needs, running),
                None => operator,
            }
        });
        Ok(told.collect())
    }

    fn using(&self, operator: Operator, needs: &Needs, running: Stream) -> Operator {
        let Some(observed) = self.observed.as_deref() else {
            return operator.using(needs, running);
        };
        let needs = needs.clone().with_requests(&observed.requests);
        let operator = operator.using(&needs, running);
        match observed.kubernetes {
            Some(kubernetes) => operator.using_on(&needs, kubernetes),
            None => operator,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A view of a cluster of that version that is late, and sees what is needed.
    fn late(version: &str) -> View {
        let cluster = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": { "name": "version" }, "spec": { "clusterID": "" },
            "status": { "desired": { "version": version, "image": "" }, "history": [] },
        });
        let cluster = serde_json::from_value(cluster).unwrap();
        View {
            version: Some(Arc::new(Some(cluster))),
            operators: Some(Arc::default()),
            is_late: true,
            ..View::default()
        }
    }

    fn told(view: View) -> String {
        match view.judge(Policy::default()) {
            None => "nothing".to_owned(),
            Some(Ok((guard, running))) => {
                format!("{} operators on {running}", guard.operators().len())
            }
            Some(Err(hindrance)) => format!("{hindrance:?}"),
        }
    }

    #[test]
    fn the_first_word_is_a_whole_one_or_a_late_one() {
        let catalogs = || Some(Arc::default());
        let needs = || Some(Arc::default());
        let early = || View { is_late: false, observed: Some(Arc::default()), ..late("4.9.0") };
        let whole = || View { catalogs: catalogs(), needs: needs(), ..early() };
        let part = Shown { is_partial: true, ..Shown::default() };
        let unread = needs::Known { unread: Some("a".to_owned()), ..needs::Known::default() };
        let all = [
            told(early()),
            told(View { catalogs: catalogs(), ..early() }),
            told(View { catalogs: catalogs(), needs: needs(), ..early() }),
            told(View { catalogs: catalogs(), needs: needs(), operators: None, ..early() }),
            told(View { catalogs: catalogs(), needs: needs(), version: None, ..early() }),
            told(View { catalogs: catalogs(), needs: needs(), observed: None, ..early() }),
            told(View { catalogs: Some(Arc::new(part)), ..whole() }),
            told(View { needs: Some(Arc::new(unread)), ..whole() }),
            told(View { version_blind: Blind::to(CLUSTER_VERSIONS, "cut"), ..whole() }),
            told(View { blind: Blind::to(INSTALLED, "cut"), ..whole() }),
            told(late("4.9.0")),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        nothing
        nothing
        0 operators on 4.9
        nothing
        nothing
        nothing
        nothing
        nothing
        nothing
        nothing
        0 operators on 4.9
        ");
    }

    #[test]
    fn whoever_cannot_look_says_why() {
        let all = [
            told(late("4.x")),
            told(late("")),
            told(View { operators: None, ..late("4.9.0") }),
            told(View { version: None, ..late("4.9.0") }),
            told(View { blind: Blind::to(INSTALLED, "forbidden"), ..late("4.9.0") }),
            told(View { version_blind: Blind::to(CLUSTER_VERSIONS, "gone"), ..late("4.9.0") }),
            told(View { version: Some(Arc::new(None)), ..late("4.9.0") }),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        VersionInvalid("\"4.x\" is not a version")
        VersionMissing
        Waiting
        Waiting
        Unlisted("forbidden")
        VersionUnseen("gone")
        nothing
        "#);
    }

    #[test]
    fn what_is_not_seen_of_catalogs_and_apis_is_said_and_holds_nothing_up() {
        let unread = || Some("a: forbidden".to_owned());
        let shown = Shown { unread: unread(), is_partial: true, ..Shown::default() };
        let known = needs::Known { unread: unread(), ..needs::Known::default() };
        let (shown, known) = (Some(Arc::new(shown)), Some(Arc::new(known)));
        let read = || View {
            catalogs: Some(Arc::default()),
            needs: Some(Arc::default()),
            ..late("4.9.0")
        };
        let views = [
            read(),
            View { blind: Blind::to(CATALOGS, "forbidden"), ..read() },
            View { catalogs: None, ..read() },
            View { catalogs: shown, ..read() },
            View { needs: None, ..read() },
            View { needs: known, ..read() },
        ];
        let all = views.map(|view| {
            let unseen = view.unseen().unwrap_or_default();
            format!("{} {unseen}", told(view)).trim_end().to_owned()
        });
        insta::assert_snapshot!(all.join("\n"), @"
        0 operators on 4.9
        0 operators on 4.9 The content of the catalogs is unknown: catalogsources.operators.coreos.com: forbidden.
        0 operators on 4.9 The content of the catalogs is unknown: no response yet.
        0 operators on 4.9 The content of the catalogs is unknown: a: forbidden.
        0 operators on 4.9 The APIs that operators use are unknown: no response yet.
        0 operators on 4.9 The APIs that operators use are unknown: a: forbidden.
        ");
    }
}
