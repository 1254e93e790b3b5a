//! Update graph of a plan: from files, an update service, or ClusterVersion.

use std::collections::BTreeSet;
use std::path::Path;

use fairway_api::ClusterVersion;
use fairway_api::cluster_version::{Architecture, ClusterVersionSpec};
use fairway_cincinnati::fetch::FetchTimeouts;
use fairway_cincinnati::fetch_once;
use fairway_cincinnati::query::{RunningRelease, UpdateServices};
use fairway_graph::build::GraphBuilder;
use fairway_graph::{Graph, GraphData, Scope};
use fairway_insight::plan::{ChannelSet, GraphMaintenance, GraphSource, Limitation, PlanInput};

use tokio::time::{Instant, timeout_at};

use super::cluster_state::ClusterInput;
use crate::args::plan::{GraphPlace, PlanArgs};
use crate::commands::graph::{input, view};
use crate::errors::{CannotTell, WrongUsage};
use crate::printer::Printer;
use crate::source::Source;

/// Update graph and its source.
pub(super) struct LoadedGraph {
    graph: Graph,
    graph_source: GraphSource,
    maintenance: Option<(Graph, GraphData, Option<String>)>,
    /// Channels that could not be retrieved, and why.
    missing: Option<(BTreeSet<String>, String)>,
}

impl LoadedGraph {
    /// Loads the graph of the arguments, else that of the update service of the cluster, else the
    /// updates in ClusterVersion.
    pub(super) async fn of(
        args: &PlanArgs,
        source: &Source,
        cluster: &ClusterInput,
        printer: &Printer,
    ) -> anyhow::Result<Self> {
        let loaded = match (&args.graph.graph, source) {
            (Some(GraphPlace::Path(path)), _) => return Self::of_files(path, args, printer),
            (Some(GraphPlace::Service(url)), _) => {
                let services = UpdateServices { instead: Some(url.clone()), default: None };
                return Self::of_service(args, source, cluster, &services).await.map_err(|why| {
                    let hint = "check the address of the update service, and that it is reachable";
                    CannotTell::new(why, hint).into()
                });
            }
            (None, Source::Live(_)) => {
                Self::of_service(args, source, cluster, &services_of(&cluster.cluster_version))
                    .await
            }
            (None, Source::Recorded(_)) => {
                Err("a recorded cluster has no update service; set --graph".to_owned())
            }
        };
        match loaded {
            Ok(graph) => Ok(graph),
            Err(why) => Ok(Self {
                graph: cluster.state().listed().unwrap_or_default(),
                graph_source: GraphSource::ClusterVersion { message: why },
                maintenance: None,
                missing: None,
            }),
        }
    }

    fn of_files(path: &Path, args: &PlanArgs, printer: &Printer) -> anyhow::Result<Self> {
        let graph_source = GraphSource::File { file: path.display().to_string() };
        if !path.is_dir() {
            let whole = input::wire_graph(path, printer)?;
            let architecture = view::usual(&whole, args.graph.arch.as_deref())?;
            let graph = whole.within(Scope { architecture, channel: None });
            return Ok(Self { graph, graph_source, maintenance: None, missing: None });
        }
        let Some(releases) = &args.graph.releases else {
            let why = "graph-data has blocked edges and channels, but no releases; set --releases";
            return Err(WrongUsage(why.to_owned()).into());
        };
        let data = input::graph_data(path, printer)?;
        let declared = input::declared_by(releases, printer)?;
        let whole = input::finish(declared.clone(), &data, printer);
        let architecture = view::usual(&whole, args.graph.arch.as_deref())?;
        let graph = whole.within(Scope { architecture, channel: None });
        let maintenance = Some((declared, data, architecture.map(str::to_owned)));
        Ok(Self { graph, graph_source, maintenance, missing: None })
    }

    /// Retrieves the channel of the cluster, and further channels of the releases on the path.
    async fn of_service(
        args: &PlanArgs,
        source: &Source,
        cluster: &ClusterInput,
        services: &UpdateServices,
    ) -> Result<Self, String> {
        let cluster_version = &cluster.cluster_version;
        let from = cluster.state().version().map_err(|error| error.to_string())?;
        let architecture = match &args.graph.arch {
            Some(named) => named.clone(),
            None => architecture(source, cluster_version).await,
        };
        let version = from.to_string();
        let current = RunningRelease { version, architecture, image: String::new() };
        let channel_set: ChannelSet = super::channel_set(cluster, &args.channels, &args.to);
        let timeout = args.source.cluster.request_timeout;
        let usual = FetchTimeouts::default();
        let timeouts = FetchTimeouts {
            connect: usual.connect.min(timeout),
            silence: usual.silence.min(timeout),
            answer: timeout,
        };
        let query = async |channel: &str| {
            let spec = ClusterVersionSpec {
                channel: Some(channel.to_owned()),
                ..cluster_version.spec.clone()
            };
            let response = fetch_once(&spec, &current, services, &timeouts).await;
            response
                .map(|response| (response.service, response.graph))
                .map_err(|error| error.to_string())
        };
        let more =
            |graph: &Graph, queried: &_| channel_set.unqueried(graph, queried, &from, &args.to);
        let end = Instant::now() + timeout;
        let timeout_message = format!(
            "not all channels were retrieved within {timeout:?}; increase --request-timeout"
        );
        let ChannelQuery { address, channels, graph, missing } =
            ChannelQuery::run(channel_set.first(), end, &timeout_message, query, more).await?;
        let architecture = current.architecture.clone();
        let graph_source = GraphSource::UpdateService { url: address, channels, architecture };
        Ok(Self { graph, graph_source, maintenance: None, missing })
    }

    /// Limitation for channels that could not be retrieved.
    pub(super) fn limitation(&self) -> Option<Limitation> {
        let (channels, why) = self.missing.clone()?;
        Some(Limitation::Channels { channels, message: why })
    }

    /// Plans with the graph and its graph-data.
    pub(super) fn with_input<T>(&self, plan: impl FnOnce(PlanInput) -> T) -> T {
        let Self { graph, graph_source, maintenance, .. } = self;
        let Some((declared, data, architecture)) = maintenance else {
            return plan(PlanInput { graph, graph_source, maintenance: None });
        };
        let draft = GraphBuilder::new(declared.clone(), data);
        let architecture = architecture.as_deref();
        let maintenance = Some(GraphMaintenance { draft: &draft, data, architecture });
        plan(PlanInput { graph, graph_source, maintenance })
    }
}

/// Repository of OpenShift releases. Clusters with these releases use the update service of
/// OpenShift by default.
const OPENSHIFT: &str = "quay.io/openshift-release-dev/";

/// Update services of a cluster. A request has the cluster ID, so clusters of other platforms
/// without a configured service query none.
pub(super) fn services_of(cluster_version: &ClusterVersion) -> UpdateServices {
    let image = cluster_version.status.as_ref().map(|status| status.desired.image.as_str());
    let is_openshift = image.is_some_and(|image| image.starts_with(OPENSHIFT));
    let usual = UpdateServices::default();
    UpdateServices { default: usual.default.filter(|_| is_openshift), ..usual }
}

/// Architecture of a cluster, as update services name it.
async fn architecture(source: &Source, cluster_version: &ClusterVersion) -> String {
    let desired = cluster_version.status.as_ref().and_then(|it| it.desired.architecture.as_ref());
    if desired == Some(&Architecture::Multi) {
        return "multi".to_owned();
    }
    let architecture = match source {
        Source::Live(cluster) => cluster.architecture().await,
        Source::Recorded(_) => None,
    };
    architecture.unwrap_or_else(|| view::USUAL_ARCHITECTURE.to_owned())
}

/// Channels per plan: every minor version of ten years.
const MAX_CHANNELS: usize = 40;

/// Releases of all channels: as many as forty of the largest channels have.
const MAX_RELEASES: usize = 100_000;

/// Graphs of several channels from an update service.
#[derive(Debug)]
struct ChannelQuery {
    /// URL of the update service.
    address: String,
    /// Retrieved channels.
    channels: BTreeSet<String>,
    /// Union of their graphs.
    graph: Graph,
    /// Channels that could not be retrieved, and why.
    missing: Option<(BTreeSet<String>, String)>,
}

impl ChannelQuery {
    /// Retrieves channels, and those that `more` finds in their graphs, until `end`;
    /// `timeout_message` is the error of later ones. A failed channel does not discard the others;
    /// the error is that of the first if all fail.
    async fn run(
        mut wanted: BTreeSet<String>,
        end: Instant,
        timeout_message: &str,
        query: impl AsyncFn(&str) -> Result<(String, Graph), String>,
        more: impl Fn(&Graph, &BTreeSet<String>) -> BTreeSet<String>,
    ) -> Result<Self, String> {
        let (mut address, mut graphs) = (String::new(), Vec::new());
        let (mut queried, mut missing) = (BTreeSet::new(), BTreeSet::new());
        let (mut releases, mut why) = (0, None);
        while let Some(channel) = wanted.pop_first() {
            let response = if queried.len() >= MAX_CHANNELS || releases > MAX_RELEASES {
                Err("too many channels or releases".to_owned())
            } else {
                let response = timeout_at(end, query(&channel)).await;
                response.unwrap_or_else(|_| Err(timeout_message.to_owned()))
            };
            queried.insert(channel.clone());
            match response {
                Ok((service, graph)) => {
                    address = service;
                    wanted.extend(more(&graph, &queried));
                    releases += graph.nodes().len();
                    graphs.push(graph);
                }
                Err(error) => {
                    missing.insert(channel);
                    why.get_or_insert(error);
                }
            }
        }
        if graphs.is_empty() {
            let no_channel = || "the cluster has no channel; set one with --channel".to_owned();
            return Err(why.unwrap_or_else(no_channel));
        }
        let channels = queried.difference(&missing).cloned().collect();
        let missing = why.map(|why| (missing, why));
        Ok(Self { address, channels, graph: Graph::union(graphs), missing })
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::Version;
    use fairway_graph::Node;

    use super::*;

    /// A service whose channel 5.x has the release 5.x.0, and leads to 5.(x+1) up to `last`. It is
    /// silent about one of them, and refuses another.
    async fn survey(
        first: &[&str],
        last: u64,
        silent: &str,
        refused: &str,
    ) -> Result<ChannelQuery, String> {
        let minor = |channel: &str| channel["stable-5.".len()..].parse::<u64>().unwrap();
        let query = async |channel: &str| match channel {
            _ if channel == silent => std::future::pending().await,
            _ if channel == refused => Err("it answers 404".to_owned()),
            _ => {
                let here = Node::without_release(Version::new(5, minor(channel), 0));
                Ok(("https://updates.example".to_owned(), Graph::from_updates(&here, [])))
            }
        };
        let more = |graph: &Graph, queried: &BTreeSet<String>| {
            let next = graph.nodes()[0].version.minor() + 1;
            let next = (next <= last).then(|| format!("stable-5.{next}"));
            next.into_iter().filter(|next| !queried.contains(next)).collect()
        };
        let first = first.iter().map(|channel| (*channel).to_owned()).collect();
        ChannelQuery::run(first, Instant::now(), "too late", query, more).await
    }

    #[tokio::test]
    async fn query_keeps_channels_after_failures() {
        let query_channels = async |first: &[&str], silent: &str, refused: &str| {
            let survey = survey(first, 3, silent, refused).await?;
            assert_eq!(survey.graph.nodes().len(), survey.channels.len());
            let channels: Vec<String> = survey.channels.into_iter().collect();
            Ok::<_, String>((channels.join(" "), survey.missing.map(|(_, why)| why)))
        };
        let all = "stable-5.1 stable-5.2 stable-5.3".to_owned();
        assert_eq!(query_channels(&["stable-5.1"], "", "").await, Ok((all, None)));
        let late = Some("too late".to_owned());
        assert_eq!(
            query_channels(&["stable-5.1"], "stable-5.2", "").await,
            Ok(("stable-5.1".into(), late))
        );
        let refused = Some("it answers 404".to_owned());
        let others = ["stable-5.1", "stable-5.3"];
        assert_eq!(
            query_channels(&others, "", "stable-5.1").await,
            Ok(("stable-5.3".into(), refused))
        );
        assert_eq!(query_channels(&["stable-5.1"], "stable-5.1", "").await, Err("too late".into()));
        let no_channel = "the cluster has no channel; set one with --channel";
        assert_eq!(query_channels(&[], "", "").await, Err(no_channel.into()));
    }

    #[tokio::test]
    async fn query_stops_at_max_channels() {
        let survey = survey(&["stable-5.1"], u64::MAX, "", "").await.unwrap();
        assert_eq!(survey.channels.len(), MAX_CHANNELS);
        let (missing, why) = survey.missing.unwrap();
        assert_eq!((missing.len(), why.as_str()), (1, "too many channels or releases"));
    }
}
