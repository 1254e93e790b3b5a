//! What releases may read that are asked about the cluster, beside what Fairway lets them read: a
//! platform adds cluster roles to that, by a label.

use fairway_findings::labels::AGGREGATE;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::watch;

use super::follow::{Following, Objects};

/// The role that the others are added to.
const SUM: &str = "preflight-reader-of-the-platform";

/// The cluster roles that are added, and what they add up to.
#[derive(Clone)]
pub struct ReaderRoles {
    added: watch::Receiver<Option<Objects<ClusterRole>>>,
    sum: watch::Receiver<Option<Objects<ClusterRole>>>,
}

pub(super) fn follow(client: &Client, follow: &Following) -> ReaderRoles {
    let added = watcher::Config::default().labels(&format!("{AGGREGATE}=true"));
    let sum = watcher::Config::default().fields(&format!("metadata.name={SUM}"));
    let roles = |config| follow.objects(Api::<ClusterRole>::all(client.clone()), config);
    ReaderRoles { added: roles(added), sum: roles(sum) }
}

impl ReaderRoles {
    /// Those that are added, before what they add up to; nothing before all of them were seen.
    pub(crate) fn look(&mut self) -> Option<[Objects<ClusterRole>; 2]> {
        let added = self.added.borrow_and_update().clone();
        let sum = self.sum.borrow_and_update().clone();
        added.zip(sum).map(Into::into)
    }

    /// Waits for something new; `false` when there is nobody left to say something.
    pub(crate) async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.added.changed() => changed.is_ok(),
            changed = self.sum.changed() => changed.is_ok(),
        }
    }
}
