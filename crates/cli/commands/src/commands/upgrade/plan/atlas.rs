//! Where it is known from which updates there are.

use std::collections::BTreeSet;
use std::path::Path;

use fairway_api::ClusterVersion;
use fairway_api::cluster_version::{Architecture, ClusterVersionSpec};
use fairway_cincinnati::ask_once;
use fairway_cincinnati::fetch::Patience;
use fairway_cincinnati::question::{Current, Services};
use fairway_graph::build::Draft;
use fairway_graph::{Graph, GraphData, Scope};
use fairway_insight::plan::{Chart, GraphSource, Lanes, Limitation, Maintained};

use tokio::time::Instant;

use super::look::Look;
use super::survey::Survey;
use crate::args::plan::{GraphPlace, PlanArgs};
use crate::commands::graph::{input, view};
use crate::errors::{CannotTell, WrongUsage};
use crate::printer::Printer;
use crate::source::Source;

/// The updates that there are.
pub(super) struct Atlas {
    graph: Graph,
    graph_source: GraphSource,
    maintained: Option<(Graph, GraphData, Option<String>)>,
    /// The channels that nothing is known about, and why.
    untold: Option<(BTreeSet<String>, String)>,
}

impl Atlas {
    /// What the arguments name, else what the update service of the cluster says, else what the
    /// cluster lists.
    pub(super) async fn of(
        args: &PlanArgs,
        source: &Source,
        look: &Look,
        printer: &Printer,
    ) -> anyhow::Result<Self> {
        let asked = match (&args.graph.graph, source) {
            (Some(GraphPlace::Path(path)), _) => return Self::of_files(path, args, printer),
            (Some(GraphPlace::Service(url)), _) => {
                let services = Services { instead: Some(url.clone()), default: None };
                return Self::of_service(args, source, look, &services).await.map_err(|why| {
                    let hint = "check the address of the update service, and that it is reachable";
                    CannotTell { message: why, hint: hint.to_owned() }.into()
                });
            }
            (None, Source::Live(_)) => {
                Self::of_service(args, source, look, &services_of(&look.cluster_version)).await
            }
            (None, Source::Recorded(_)) => {
                Err("a recorded cluster has no update service; set --graph".to_owned())
            }
        };
        match asked {
            Ok(atlas) => Ok(atlas),
            Err(why) => Ok(Self {
                graph: look.outlook().listed().unwrap_or_default(),
                graph_source: GraphSource::ClusterVersion { message: why },
                maintained: None,
                untold: None,
            }),
        }
    }

    fn of_files(path: &Path, args: &PlanArgs, printer: &Printer) -> anyhow::Result<Self> {
        let graph_source = GraphSource::File { file: path.display().to_string() };
        if !path.is_dir() {
            let whole = input::wire_graph(path, printer)?;
            let architecture = view::usual(&whole, args.graph.arch.as_deref())?;
            let graph = whole.within(Scope { architecture, channel: None });
            return Ok(Self { graph, graph_source, maintained: None, untold: None });
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
        let maintained = Some((declared, data, architecture.map(str::to_owned)));
        Ok(Self { graph, graph_source, maintained, untold: None })
    }

    /// Asks for the channel of the cluster, and for those that releases on the way are in.
    async fn of_service(
        args: &PlanArgs,
        source: &Source,
        look: &Look,
        services: &Services,
    ) -> Result<Self, String> {
        let cluster_version = &look.cluster_version;
        let from = look.outlook().version().map_err(|error| error.to_string())?;
        let architecture = match &args.graph.arch {
            Some(named) => named.clone(),
            None => architecture(source, cluster_version).await,
        };
        let version = from.to_string();
        let current = Current { version, architecture, image: String::new() };
        let lanes: Lanes = super::lanes(look, &args.channels, &args.to);
        let timeout = args.source.cluster.request_timeout;
        let usual = Patience::default();
        let patience = Patience {
            connect: usual.connect.min(timeout),
            silence: usual.silence.min(timeout),
            answer: timeout,
        };
        let ask = async |channel: &str| {
            let spec = ClusterVersionSpec {
                channel: Some(channel.to_owned()),
                ..cluster_version.spec.clone()
            };
            let told = ask_once(&spec, &current, services, &patience).await;
            told.map(|told| (told.service, told.graph)).map_err(|error| error.to_string())
        };
        let more = |graph: &Graph, asked: &_| lanes.unasked(graph, asked, &from, &args.to);
        let end = Instant::now() + timeout;
        let late = format!(
            "not all channels were retrieved within {timeout:?}; increase --request-timeout"
        );
        let Survey { address, channels, graph, untold } =
            Survey::of(lanes.first(), end, &late, ask, more).await?;
        let architecture = current.architecture.clone();
        let graph_source = GraphSource::UpdateService { url: address, channels, architecture };
        Ok(Self { graph, graph_source, maintained: None, untold })
    }

    /// What is not known about updates.
    pub(super) fn gap(&self) -> Option<Limitation> {
        let (channels, why) = self.untold.clone()?;
        Some(Limitation::Channels { channels, message: why })
    }

    /// The updates, with what their maintainers know about them.
    pub(super) fn with_chart<T>(&self, plan: impl FnOnce(Chart) -> T) -> T {
        let Self { graph, graph_source, maintained, .. } = self;
        let Some((declared, data, architecture)) = maintained else {
            return plan(Chart { graph, graph_source, maintained: None });
        };
        let draft = Draft::new(declared.clone(), data);
        let architecture = architecture.as_deref();
        let maintained = Some(Maintained { draft: &draft, data, architecture });
        plan(Chart { graph, graph_source, maintained })
    }
}

/// Where releases of OpenShift are: clusters that run them ask its update service by default.
const OPENSHIFT: &str = "quay.io/openshift-release-dev/";

/// The services of a cluster. Whoever runs another platform and names none asks nobody, or one that
/// only its operator knows: the identity of the cluster is not for strangers.
pub(super) fn services_of(cluster_version: &ClusterVersion) -> Services {
    let image = cluster_version.status.as_ref().map(|status| status.desired.image.as_str());
    let is_openshift = image.is_some_and(|image| image.starts_with(OPENSHIFT));
    let usual = Services::default();
    Services { default: usual.default.filter(|_| is_openshift), ..usual }
}

/// The architecture of a cluster, as update services call it.
async fn architecture(source: &Source, cluster_version: &ClusterVersion) -> String {
    let desired = cluster_version.status.as_ref().and_then(|it| it.desired.architecture.as_ref());
    if desired == Some(&Architecture::Multi) {
        return "multi".to_owned();
    }
    let told = match source {
        Source::Live(cluster) => cluster.architecture().await,
        Source::Recorded(_) => None,
    };
    told.unwrap_or_else(|| view::USUAL_ARCHITECTURE.to_owned())
}
