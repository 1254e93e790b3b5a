//! Evaluation of the latest inputs.

use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_compat::olm::apis::ApiUsage;
use fairway_compat::olm::{
    CheckFailure, ClusterVersions, MinorVersion, OlmCheck, OlmOperator, OlmPolicy,
};

use crate::catalogs::CatalogContents;
use crate::needs::OperatorNeeds;
use crate::observed::ObservedApis;
use crate::watches::{
    CATALOGS, CLUSTER_VERSIONS, INSTALLED, Installed, SUBSCRIPTIONS, Singleton, StaleWatches,
    Subscriptions,
};

/// Reason of an input without a value.
const NOT_YET: &str = "no response yet";

/// Latest inputs.
#[derive(Default)]
pub(super) struct View {
    pub(super) version: Option<Arc<Singleton<ClusterVersion>>>,
    pub(super) version_stale: StaleWatches,
    pub(super) operators: Option<Arc<Installed>>,
    pub(super) subscriptions: Option<Arc<Subscriptions>>,
    pub(super) stale: StaleWatches,
    pub(super) catalogs: Option<Arc<CatalogContents>>,
    pub(super) needs: Option<Arc<OperatorNeeds>>,
    pub(super) observed: Option<Arc<ObservedApis>>,
    /// Whether the wait for missing inputs is over.
    pub(super) is_late: bool,
}

impl View {
    /// The operators and the running version, or why they are unknown. `None` while the guard waits
    /// for inputs, and without a ClusterVersion.
    pub(super) fn evaluate(
        self,
        policy: OlmPolicy,
    ) -> Option<Result<(OlmCheck, MinorVersion), CheckFailure>> {
        if self.version.as_deref().is_some_and(Option::is_none) {
            return None;
        }
        if !self.is_complete() && !self.is_late {
            return None;
        }
        Some(self.running().and_then(|running| {
            let operators = self.operators(running)?;
            Ok((OlmCheck::new(operators, running, policy), running))
        }))
    }

    /// Unknown data about catalogs or APIs.
    pub(super) fn unknown(&self) -> Option<String> {
        let of_catalogs = |why| format!("The content of the catalogs is unknown: {why}.");
        let of_needs = |why| format!("The APIs that operators use are unknown: {why}.");
        self.catalogs_unknown().map(of_catalogs).or_else(|| self.needs_unknown().map(of_needs))
    }

    fn catalogs_unknown(&self) -> Option<String> {
        let why = |kind| self.stale.why(kind).map(|why| format!("{kind}: {why}"));
        why(CATALOGS).or_else(|| why(SUBSCRIPTIONS)).or_else(|| match &self.catalogs {
            Some(shown) => shown.unread.clone(),
            None => Some(NOT_YET.to_owned()),
        })
    }

    fn needs_unknown(&self) -> Option<String> {
        match &self.needs {
            Some(known) => known.unread.clone(),
            None => Some(NOT_YET.to_owned()),
        }
    }

    fn is_complete(&self) -> bool {
        let Self { version, operators, catalogs, needs, observed, .. } = self;
        // A stale watch may recover soon.
        let is_seen = self.version_stale.why(CLUSTER_VERSIONS).is_none()
            && self.stale.why(INSTALLED).is_none();
        is_seen
            && version.is_some()
            && operators.is_some()
            && catalogs.as_deref().is_some_and(|shown| !shown.is_partial)
            && needs.as_deref().is_some_and(|known| known.unread.is_none())
            && observed.is_some()
    }

    fn running(&self) -> Result<MinorVersion, CheckFailure> {
        if let Some(why) = self.version_stale.why(CLUSTER_VERSIONS) {
            return Err(CheckFailure::VersionUnseen(why.to_owned()));
        }
        let version = self.version.as_deref().and_then(Option::as_ref);
        let version = version.ok_or(CheckFailure::Waiting)?;
        ClusterVersions::from_cluster_version(version)
            .running()
            .ok_or_else(|| CheckFailure::from_cluster_version(version))
    }

    fn operators(&self, running: MinorVersion) -> Result<Vec<OlmOperator>, CheckFailure> {
        if let Some(why) = self.stale.why(INSTALLED) {
            return Err(CheckFailure::Unlisted(why.to_owned()));
        }
        let operators = self.operators.as_deref().ok_or(CheckFailure::Waiting)?;
        let catalogs = self.catalogs.as_deref().map(|shown| &shown.catalogs);
        let needs = self.needs.as_deref().map(|known| &known.needs);
        let subscriptions: Vec<_> =
            self.subscriptions.iter().flat_map(|it| it.values().cloned()).collect();
        let evaluated = operators.iter().map(|(place, (_, operator))| {
            let operator = match catalogs {
                Some(catalogs) => catalogs.apply_to(operator.clone(), &subscriptions),
                None => operator.clone(),
            };
            match needs.and_then(|needs| needs.get(place)) {
                Some((_, needs)) => self.using(operator, needs, running),
                None => operator,
            }
        });
        Ok(evaluated.collect())
    }

    fn using(&self, operator: OlmOperator, needs: &ApiUsage, running: MinorVersion) -> OlmOperator {
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

    /// A late view of a cluster at that version, with an empty list of operators.
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

    fn text(view: View) -> String {
        match view.evaluate(OlmPolicy::default()) {
            None => "nothing".to_owned(),
            Some(Ok((guard, running))) => {
                format!("{} operators on {running}", guard.operators().len())
            }
            Some(Err(hindrance)) => format!("{hindrance:?}"),
        }
    }

    #[test]
    fn judge_requires_all_inputs_or_lateness() {
        let catalogs = || Some(Arc::default());
        let needs = || Some(Arc::default());
        let early = || View { is_late: false, observed: Some(Arc::default()), ..late("4.9.0") };
        let whole = || View { catalogs: catalogs(), needs: needs(), ..early() };
        let part = CatalogContents { is_partial: true, ..CatalogContents::default() };
        let unread = OperatorNeeds { unread: Some("a".to_owned()), ..OperatorNeeds::default() };
        let all = [
            text(early()),
            text(View { catalogs: catalogs(), ..early() }),
            text(View { catalogs: catalogs(), needs: needs(), ..early() }),
            text(View { catalogs: catalogs(), needs: needs(), operators: None, ..early() }),
            text(View { catalogs: catalogs(), needs: needs(), version: None, ..early() }),
            text(View { catalogs: catalogs(), needs: needs(), observed: None, ..early() }),
            text(View { catalogs: Some(Arc::new(part)), ..whole() }),
            text(View { needs: Some(Arc::new(unread)), ..whole() }),
            text(View { version_stale: StaleWatches::of(CLUSTER_VERSIONS, "cut"), ..whole() }),
            text(View { stale: StaleWatches::of(INSTALLED, "cut"), ..whole() }),
            text(late("4.9.0")),
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
    fn judge_without_required_input_returns_reason() {
        let all = [
            text(late("4.x")),
            text(late("")),
            text(View { operators: None, ..late("4.9.0") }),
            text(View { version: None, ..late("4.9.0") }),
            text(View { stale: StaleWatches::of(INSTALLED, "forbidden"), ..late("4.9.0") }),
            text(View {
                version_stale: StaleWatches::of(CLUSTER_VERSIONS, "gone"),
                ..late("4.9.0")
            }),
            text(View { version: Some(Arc::new(None)), ..late("4.9.0") }),
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
    fn unseen_catalogs_and_apis_do_not_block() {
        let unread = || Some("a: forbidden".to_owned());
        let shown =
            CatalogContents { unread: unread(), is_partial: true, ..CatalogContents::default() };
        let known = OperatorNeeds { unread: unread(), ..OperatorNeeds::default() };
        let (shown, known) = (Some(Arc::new(shown)), Some(Arc::new(known)));
        let read = || View {
            catalogs: Some(Arc::default()),
            needs: Some(Arc::default()),
            ..late("4.9.0")
        };
        let views = [
            read(),
            View { stale: StaleWatches::of(CATALOGS, "forbidden"), ..read() },
            View { catalogs: None, ..read() },
            View { catalogs: shown, ..read() },
            View { needs: None, ..read() },
            View { needs: known, ..read() },
        ];
        let all = views.map(|view| {
            let unknown = view.unknown().unwrap_or_default();
            format!("{} {unknown}", text(view)).trim_end().to_owned()
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
