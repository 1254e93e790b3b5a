//! What is made of what was seen so far.

use std::sync::Arc;
use std::time::Duration;

use fairway_api::ClusterVersion;
use fairway_compat::olm::catalog::Catalogs;
use fairway_compat::olm::{ClusterVersions, Guard, Hindrance, Policy, Stream};

use crate::needs;
use crate::sight::{Installed, Subscriptions};

/// How long the first word waits for everything that belongs to it. Then what is known is said,
/// and what cannot be seen: an old word must not stand for ever.
pub(super) const FIRST_WORD: Duration = Duration::from_secs(30);

/// What was seen so far.
#[derive(Default)]
pub(super) struct View {
    pub(super) operators: Option<Arc<Installed>>,
    pub(super) subscriptions: Option<Arc<Subscriptions>>,
    pub(super) catalogs: Option<Arc<Catalogs>>,
    pub(super) needs: Option<Arc<needs::Known>>,
    /// Whether nobody waits any more for what was not seen.
    pub(super) is_late: bool,
}

impl View {
    /// The operators and the running version, or why they are not known; `None` while it is too
    /// early to say anything.
    pub(super) fn judge(
        self,
        version: &ClusterVersion,
        policy: Policy,
    ) -> Option<Result<(Guard, Stream), Hindrance>> {
        let is_whole = self.operators.is_some() && self.catalogs.is_some() && self.needs.is_some();
        if !is_whole && !self.is_late {
            return None;
        }
        let Some(running) = ClusterVersions::of(version).running() else {
            return Some(Err(Hindrance::of_version(version)));
        };
        let Some(operators) = self.operators else {
            let why = format!(
                "the guard has not seen them for {} seconds, and its log says why",
                FIRST_WORD.as_secs()
            );
            return Some(Err(Hindrance::Unlisted(why)));
        };
        let catalogs = self.catalogs.unwrap_or_default();
        let subscriptions: Vec<_> =
            self.subscriptions.unwrap_or_default().values().cloned().collect();
        let needs = self.needs.unwrap_or_default();
        let installed = operators.iter().map(|(place, (_, operator))| {
            let operator = catalogs.tell_about(operator.clone(), &subscriptions);
            match needs.get(place) {
                Some((_, needs)) => operator.using(needs, running),
                None => operator,
            }
        });
        Some(Ok((Guard::new(installed, running, policy), running)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(view: View, version: &str) -> String {
        let cluster = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": { "name": "version" }, "spec": { "clusterID": "" },
            "status": { "desired": { "version": version, "image": "" }, "history": [] },
        });
        let cluster = serde_json::from_value(cluster).unwrap();
        match view.judge(&cluster, Policy::default()) {
            None => "nothing yet".to_owned(),
            Some(Ok((guard, running))) => {
                format!("{} operators on {running}", guard.operators().len())
            }
            Some(Err(hindrance)) => format!("{hindrance:?}"),
        }
    }

    #[test]
    fn the_first_word_is_a_whole_one_or_a_late_one() {
        let operators = || Some(Arc::default());
        let catalogs = || Some(Arc::default());
        let needs = Some(Arc::default());
        let whole = View { operators: operators(), catalogs: catalogs(), needs, ..View::default() };
        let all = [
            told(View { operators: operators(), ..View::default() }, "4.9.0"),
            told(View { catalogs: catalogs(), ..View::default() }, "4.9.0"),
            told(View { operators: operators(), catalogs: catalogs(), ..View::default() }, "4.9.0"),
            told(whole, "4.9.0"),
            told(View { operators: operators(), is_late: true, ..View::default() }, "4.9.0"),
            told(View { catalogs: catalogs(), is_late: true, ..View::default() }, "4.9.0"),
            told(View { is_late: true, ..View::default() }, "4.x"),
            told(View { is_late: true, ..View::default() }, ""),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        nothing yet
        nothing yet
        nothing yet
        0 operators on 4.9
        0 operators on 4.9
        Unlisted("the guard has not seen them for 30 seconds, and its log says why")
        VersionInvalid("\"4.x\" is no version")
        VersionMissing
        "#);
    }
}
