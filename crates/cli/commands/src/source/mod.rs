//! Source of the objects that read-only commands use: a live cluster, or recorded files.

mod recording;

pub(crate) use recording::{CLUSTER_VERSION_FILE, Recording};

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::{Alerts, ObservationTime};
use serde::de::DeserializeOwned;

use crate::args::source::{RecordedArgs, SourceArgs};
use crate::cluster::Cluster;
use crate::cluster::kind::{CLUSTER_OPERATORS, Kind, Selection};

/// Source of cluster objects.
pub(crate) enum Source {
    /// Connection to a cluster.
    Live(Box<Cluster>),
    /// Files of a recorded cluster.
    Recorded(Recording),
}

impl Source {
    /// Opens the source of the arguments.
    pub(crate) async fn open(args: &SourceArgs) -> anyhow::Result<Self> {
        Ok(match Self::recorded(args)? {
            Some(recorded) => recorded,
            None => Self::Live(Box::new(Cluster::connect(&args.cluster).await?)),
        })
    }

    /// Opens recorded files, if the arguments name some. Standard input can be read only once.
    pub(crate) fn recorded(args: &SourceArgs) -> anyhow::Result<Option<Self>> {
        let RecordedArgs { from_file, at } = &args.recorded;
        let recorded = (!from_file.is_empty()).then(|| Recording::open(from_file, *at));
        Ok(recorded.transpose()?.map(Self::Recorded))
    }

    /// Reads ClusterVersion.
    pub(crate) async fn cluster_version(&self) -> anyhow::Result<ClusterVersion> {
        match self {
            Self::Live(cluster) => cluster.cluster_version().await,
            Self::Recorded(recording) => recording.cluster_version(),
        }
    }

    /// ClusterOperators. They only add notes, so users who may not list them in a live cluster get
    /// none.
    pub(crate) async fn components(&self) -> anyhow::Result<Vec<ClusterOperator>> {
        let components = self.every(CLUSTER_OPERATORS.all()).await;
        Ok(match self {
            Self::Live(_) => components.ok().flatten(),
            Self::Recorded(_) => components?,
        }
        .unwrap_or_default())
    }

    /// Alerts of the cluster. A failure is a variant of the result.
    pub(crate) async fn alerts(&self) -> Alerts {
        match self {
            Self::Live(cluster) => cluster.alerts().await,
            Self::Recorded(recording) => recording.alerts(),
        }
    }

    /// Selected objects; `None` if the kind is not served or not recorded.
    pub(crate) async fn every<T: DeserializeOwned>(
        &self,
        wanted: Selection<'_>,
    ) -> anyhow::Result<Option<Vec<T>>> {
        match self {
            Self::Live(cluster) => cluster.every(wanted).await,
            Self::Recorded(recording) => recording.every(wanted),
        }
    }

    /// Selected object of a name; `None` if it or its kind does not exist.
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

    /// Objects of a required kind. A cluster may have none; a recording without the kind is
    /// incomplete.
    pub(crate) async fn needed<T: DeserializeOwned>(&self, kind: &Kind) -> anyhow::Result<Vec<T>> {
        match (self, self.every(kind.all()).await?) {
            (_, Some(objects)) => Ok(objects),
            (Self::Live(_), None) => Ok(Vec::new()),
            (Self::Recorded(recording), None) => Err(recording.missing_kind(kind)),
        }
    }

    /// Observation time of a report that only uses ClusterVersion.
    pub(crate) async fn observation_time_of(
        &self,
        version: &ClusterVersion,
    ) -> anyhow::Result<ObservationTime> {
        Ok(match self {
            Self::Live(_) => self.observation_time(version, &[]),
            Self::Recorded(_) => self.observation_time(version, &self.components().await?),
        })
    }

    /// Observation time of a report.
    pub(crate) fn observation_time(
        &self,
        version: &ClusterVersion,
        components: &[ClusterOperator],
    ) -> ObservationTime {
        match self {
            Self::Live(_) => ObservationTime::Live(fairway_clock::now()),
            Self::Recorded(recording) => recording.observation_time(version, components),
        }
    }
}
