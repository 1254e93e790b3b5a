//! Where a command looks that changes nothing: at a cluster that can be asked, or at files that
//! somebody wrote down.

mod recording;

pub(crate) use recording::{CLUSTER_VERSION_FILE, Recording};

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::{Alerts, Moment};
use serde::de::DeserializeOwned;

use crate::args::source::{RecordedArgs, SourceArgs};
use crate::cluster::Cluster;
use crate::cluster::kind::{CLUSTER_OPERATORS, Kind, Selection};

/// What a cluster says about itself, live or from files.
pub(crate) enum Source {
    /// It is asked now.
    Live(Box<Cluster>),
    /// Somebody wrote it down.
    Recorded(Recording),
}

impl Source {
    /// What the arguments name.
    pub(crate) async fn open(args: &SourceArgs) -> anyhow::Result<Self> {
        Ok(match Self::recorded(args)? {
            Some(recorded) => recorded,
            None => Self::Live(Box::new(Cluster::connect(&args.cluster).await?)),
        })
    }

    /// The files that the arguments name, if they do. What comes from standard input comes once.
    pub(crate) fn recorded(args: &SourceArgs) -> anyhow::Result<Option<Self>> {
        let RecordedArgs { from_file, at } = &args.recorded;
        let recorded = (!from_file.is_empty()).then(|| Recording::open(from_file, *at));
        Ok(recorded.transpose()?.map(Self::Recorded))
    }

    /// The cluster's version, and what is asked for.
    pub(crate) async fn cluster_version(&self) -> anyhow::Result<ClusterVersion> {
        match self {
            Self::Live(cluster) => cluster.cluster_version().await,
            Self::Recorded(recording) => recording.cluster_version(),
        }
    }

    /// What components say about themselves. Updates can be told without it, so whoever may not
    /// look at them goes without.
    pub(crate) async fn components(&self) -> anyhow::Result<Vec<ClusterOperator>> {
        let components = self.every(CLUSTER_OPERATORS.all()).await;
        Ok(match self {
            Self::Live(_) => components.ok().flatten(),
            Self::Recorded(_) => components?,
        }
        .unwrap_or_default())
    }

    /// What is firing. That it cannot be read is part of the answer.
    pub(crate) async fn alerts(&self) -> Alerts {
        match self {
            Self::Live(cluster) => cluster.alerts().await,
            Self::Recorded(recording) => recording.alerts(),
        }
    }

    /// The objects that are wanted; none where nobody knows the kind, or no file has any.
    pub(crate) async fn every<T: DeserializeOwned>(
        &self,
        wanted: Selection<'_>,
    ) -> anyhow::Result<Option<Vec<T>>> {
        match self {
            Self::Live(cluster) => cluster.every(wanted).await,
            Self::Recorded(recording) => recording.every(wanted),
        }
    }

    /// The one of them that has that name; none where it or its kind is not there.
    pub(crate) async fn one<T: DeserializeOwned>(
        &self,
        wanted: Selection<'_>,
        name: &str,
    ) -> anyhow::Result<Option<T>> {
        match self {
            Self::Live(cluster) => cluster.one(&format!("{}/{name}", wanted.path())).await,
            Self::Recorded(recording) => recording.one(wanted, name),
        }
    }

    /// The objects of a kind without which there is no answer. A cluster may have none; a
    /// recording without them is not all of one.
    pub(crate) async fn needed<T: DeserializeOwned>(&self, kind: &Kind) -> anyhow::Result<Vec<T>> {
        match (self, self.every(kind.all()).await?) {
            (_, Some(objects)) => Ok(objects),
            (Self::Live(_), None) => Ok(Vec::new()),
            (Self::Recorded(recording), None) => Err(recording.lacks(kind)),
        }
    }

    /// The time that an answer is about which needs ClusterVersion alone.
    pub(crate) async fn moment_of(&self, version: &ClusterVersion) -> anyhow::Result<Moment> {
        Ok(match self {
            Self::Live(_) => self.moment(version, &[]),
            Self::Recorded(_) => self.moment(version, &self.components().await?),
        })
    }

    /// The time that an answer is about.
    pub(crate) fn moment(
        &self,
        version: &ClusterVersion,
        components: &[ClusterOperator],
    ) -> Moment {
        match self {
            Self::Live(_) => Moment::Live(fairway_clock::now()),
            Self::Recorded(recording) => recording.moment(version, components),
        }
    }
}
