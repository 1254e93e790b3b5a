//! What is made of what was seen so far.

use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_compat::olm::apis::Needs;
use fairway_compat::olm::catalog::Catalogs;
use fairway_compat::olm::{ClusterVersions, Guard, Hindrance, Operator, Policy, Stream};

use crate::needs;
use crate::observed::Observed;
use crate::sight::{
    Blind, CATALOGS, CLUSTER_VERSIONS, INSTALLED, Installed, Only, SUBSCRIPTIONS, Subscriptions,
};

/// What was seen so far.
#[derive(Default)]
pub(super) struct View {
    pub(super) version: Option<Arc<Only<ClusterVersion>>>,
    pub(super) version_blind: Blind,
    pub(super) operators: Option<Arc<Installed>>,
    pub(super) subscriptions: Option<Arc<Subscriptions>>,
    pub(super) blind: Blind,
    pub(super) catalogs: Option<Arc<Catalogs>>,
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

    /// What of the catalogs is not seen, if something is not.
    pub(super) fn unseen(&self) -> Option<String> {
        let why = |kind| self.blind.why(kind).map(|why| format!("{kind}: {why}"));
        why(CATALOGS).or_else(|| why(SUBSCRIPTIONS))
    }

    fn is_whole(&self) -> bool {
        let Self { version, operators, catalogs, needs, observed, .. } = self;
        let is_listed = version.is_some() && operators.is_some();
        is_listed && catalogs.is_some() && needs.is_some() && observed.is_some()
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
        let (catalogs, needs) = (self.catalogs.as_deref(), self.needs.as_deref());
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
        let all = [
            told(early()),
            told(View { catalogs: catalogs(), ..early() }),
            told(View { catalogs: catalogs(), needs: needs(), ..early() }),
            told(View { catalogs: catalogs(), needs: needs(), operators: None, ..early() }),
            told(View { catalogs: catalogs(), needs: needs(), version: None, ..early() }),
            told(View { catalogs: catalogs(), needs: needs(), observed: None, ..early() }),
            told(late("4.9.0")),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        nothing
        nothing
        0 operators on 4.9
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
        VersionInvalid("\"4.x\" is no version")
        VersionMissing
        Waiting
        Waiting
        Unlisted("forbidden")
        VersionUnseen("gone")
        nothing
        "#);
    }

    #[test]
    fn catalogs_that_are_not_seen_hold_nothing_up() {
        let view = View { blind: Blind::to(CATALOGS, "forbidden"), ..late("4.9.0") };
        assert_eq!(
            view.unseen().as_deref(),
            Some("catalogsources.operators.coreos.com: forbidden")
        );
        assert_eq!(told(view), "0 operators on 4.9");
    }
}
