//! The example platform in the sandbox: releases, update service and installation.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use fairway_api::cluster_version::{ClusterVersionSpec, SignatureStore};
use fairway_example::images::{BuiltRelease, GRAPH_DATA, LAYOUT, RELEASES_FILE, SIGNATURES};
use fairway_example::{OperatorPorts, Platform, adapt_for_sandbox};
use fairway_install::Installation;
use fairway_install::manifests::own_manifests;
use fairway_registry::base::LayerCompression;
use fairway_release::Release;
use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter};
use fairway_sandbox::port::unused_port;
use fairway_sandbox::rbac::User;
use fairway_sandbox::sandbox::Sandbox;
use fairway_update_service::source::{Directory, ReleasesFile};
use fairway_update_service::{
    DEFAULT_PREFIX, PolledSource, Service, ServiceLimits, ServiceOptions,
};
use kube::Client;

use super::tour::Guide;
use crate::commands::install;
use crate::printer::Printer;

/// The directory of the platform, below that of the sandbox.
const DIRECTORY: &str = "platform";

/// The first channel of the cluster, with updates to the next patch and the next minor version.
const CHANNEL: &str = "stable-5.1";

/// The interval at which the update service reads graph-data, which users may edit.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Short settle time: the files are complete before the service starts.
const SETTLE: Duration = Duration::from_millis(100);

/// The releases of the platform.
pub(super) struct PreparedPlatform {
    platform: Platform,
    directory: PathBuf,
}

/// A platform whose operator is deployed.
pub(super) struct RunningPlatform {
    service: Service,
    client: Client,
    image: String,
}

/// The OCI layout with the images of the platform.
pub(super) fn images(sandbox: &Path) -> PathBuf {
    sandbox.join(DIRECTORY).join(LAYOUT)
}

/// Builds the releases from this binary, for the registry of the sandbox.
pub(super) fn prepare(sandbox: &Path, registry: SocketAddr) -> anyhow::Result<PreparedPlatform> {
    let program = std::env::current_exe().context("cannot find the fairway binary")?;
    let port = || unused_port().context("no free port");
    let ports = OperatorPorts { metrics: port()?, probes: port()? };
    let own = adapt_for_sandbox(own_manifests(), ports)?;
    let repository = format!("{registry}/platform");
    let kubernetes = Some(fairway_sandbox::KUBERNETES);
    let platform = Platform::make(&program, &repository, LayerCompression::Plain, &own, kubernetes)
        .context("cannot create the releases of the example platform")?;
    let directory = sandbox.join(DIRECTORY);
    platform.write(&directory)?;
    Ok(PreparedPlatform { platform, directory })
}

impl PreparedPlatform {
    /// Starts the update service and installs the operator of a release.
    pub(super) async fn start(
        self,
        sandbox: &Sandbox,
        version: &str,
    ) -> anyhow::Result<RunningPlatform> {
        let made = self.platform.release(version).context("unknown release")?;
        let service = self.service().await?;
        let root = format!("http://{}{DEFAULT_PREFIX}", service.address());
        let groups = ["system:masters", "system:authenticated"].map(str::to_owned).into();
        let admin = User { name: "fairway-install".to_owned(), groups };
        let client = Client::new(sandbox.client_service(admin), "default");
        install(&client, made, &root).await.context("cannot install the example platform")?;
        Ok(RunningPlatform { service, client, image: made.reference.clone() })
    }

    async fn service(&self) -> anyhow::Result<Service> {
        let file = |name: &str| self.directory.join(name);
        let graph_data = Directory::new(file(GRAPH_DATA)).settle(SETTLE);
        let releases = ReleasesFile::new(file(RELEASES_FILE)).settle(SETTLE);
        let (graph_data, releases) = (
            PolledSource::new(graph_data, POLL_INTERVAL),
            PolledSource::new(releases, POLL_INTERVAL),
        );
        let options = ServiceOptions {
            signatures: Some(file(SIGNATURES)),
            // No load balancer has to be drained.
            limits: ServiceLimits { drain: Duration::ZERO, ..ServiceLimits::default() },
            ..ServiceOptions::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), graph_data, releases)
        };
        Service::start(options).await.context("cannot start the update service")
    }
}

impl RunningPlatform {
    /// Prints the progress of the installation until it is complete.
    pub(super) async fn follow(&self, printer: &Printer) {
        install::progress::follow(&self.client, &self.image, printer).await;
    }

    /// Creates the guide of the tour.
    pub(super) fn guide<'a>(&self, sandbox: &Sandbox, printer: &'a Printer) -> Guide<'a> {
        Guide { client: self.client.clone(), kubeconfig: sandbox.kubeconfig(), printer }
    }

    /// Stops the update service.
    pub(super) async fn stop(self) {
        self.service.stop().await;
    }
}

async fn install(client: &Client, made: &BuiltRelease, root: &str) -> anyhow::Result<()> {
    let release = Release::load(&made.files, &made.reference, DEFAULT_PROFILE)?;
    let store = SignatureStore { url: format!("{root}/signatures"), ..SignatureStore::default() };
    let installation = Installation {
        release: &release,
        image: &made.reference,
        filter: ManifestFilter {
            profile: Some(DEFAULT_PROFILE.to_owned()),
            ..ManifestFilter::default()
        },
        spec: ClusterVersionSpec {
            channel: Some(CHANNEL.to_owned()),
            upstream: Some(format!("{root}/graph")),
            signature_stores: Some(vec![store]),
            ..ClusterVersionSpec::default()
        },
    };
    installation.carry_out(client, |_| {}).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn operator_listens_on_the_given_ports() {
        let before = own_manifests();
        let ports = OperatorPorts { metrics: 40_000, probes: 40_001 };
        let after = adapt_for_sandbox(before.clone(), ports).unwrap();
        let changed: Vec<&String> =
            after.keys().filter(|path| before.get(*path) != after.get(*path)).collect();
        let [path] = changed.as_slice() else { panic!("{changed:?}") };
        let deployment: Value = serde_json::from_str(&after[*path]).unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().unwrap();
        assert!(arguments.contains(&json!("--listen=127.0.0.1:40000")), "{arguments:?}");
        assert!(arguments.contains(&json!("--probe-listen=127.0.0.1:40001")), "{arguments:?}");
        for probe in ["livenessProbe", "readinessProbe"] {
            assert_eq!(container[probe]["httpGet"]["port"], 40_001);
        }
        assert_eq!(container["ports"][0]["containerPort"], 40_000);
        assert_eq!(container["ports"][0]["hostPort"], 40_000);
        assert!(!after[*path].contains("ssl-certs"), "{}", after[*path]);
        assert_eq!(container["image"], "{{.ReleaseImage}}");
    }
}
