//! `fairway install`: installs the operator of a release.

pub(crate) mod progress;
mod report;

use fairway_api::cluster_version::{ClusterVersionSpec, SignatureStore};
use fairway_install::{InstallError, Installation};
use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter};
use tokio::time::timeout;
use url::Url;

use crate::args::install::InstallArgs;
use crate::cluster::{Cluster, block_on};
use crate::commands::release::input::{self, PinnedImage};
use crate::errors::{HintExt as _, WithHint};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use progress::follow;
pub(super) use report::Report;

impl TypedReport for Report {
    const KIND: &'static str = "Installation";
}

pub(crate) fn run(args: &InstallArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let found = input::read(&args.release_image, &args.access)?;
    let pinned = found.image.as_ref().with_hint(
        format!(
            "cannot install from directory {}: clusters cannot pull from a directory",
            args.release_image
        ),
        "create an image with `fairway release new`",
    )?;
    let repository = args.pull_from.as_ref().unwrap_or(&pinned.repository).clone();
    let image = PinnedImage { repository, digest: pinned.digest.clone() }.to_string();
    let release = found.load_as(&image)?;
    let installation = Installation {
        release: &release,
        image: &image,
        filter: ManifestFilter {
            profile: Some(DEFAULT_PROFILE.to_owned()),
            ..ManifestFilter::default()
        },
        spec: spec(args),
    };
    let version = release.metadata.version.to_string();
    let (report, status) = block_on(async {
        let cluster = Cluster::connect(&args.cluster).await?;
        let told = |object: &_| printer.note(format_args!("applying {object}"));
        let done = installation.carry_out(cluster.client(), told).await;
        done.map_err(|error| advise(error, &image))?;
        let complete = timeout(args.timeout, follow(cluster.client(), &image, printer));
        let completed = !args.no_wait && complete.await.is_ok();
        let report = Report { release: version, image: image.clone(), completed };
        let timed_out = !args.no_wait && !completed;
        let status = if timed_out { ExitStatus::TimedOut } else { ExitStatus::Success };
        anyhow::Ok((report, status))
    })?;
    output::report(printer.stdout(), args.output.output, &report)?;
    Ok(status)
}

fn spec(args: &InstallArgs) -> ClusterVersionSpec {
    ClusterVersionSpec {
        cluster_id: args.cluster_id.clone().unwrap_or_default(),
        channel: args.channel.clone(),
        upstream: args.upstream.as_ref().map(ToString::to_string),
        signature_stores: stores(&args.signature_stores),
        ..ClusterVersionSpec::default()
    }
}

/// Signature stores that replace those of the release; `None` keeps those of the release.
fn stores(urls: &[Url]) -> Option<Vec<SignatureStore>> {
    let store = |url: &Url| {
        // Paths are appended to the URL of a store.
        let url = url.as_str().trim_end_matches('/').to_owned();
        SignatureStore { url, ..SignatureStore::default() }
    };
    (!urls.is_empty()).then(|| urls.iter().map(store).collect())
}

fn advise(error: InstallError, image: &str) -> anyhow::Error {
    let hint = match &error {
        InstallError::NoOperator { .. } => {
            "create the release with `fairway release new`, which adds the operator".to_owned()
        }
        InstallError::OtherRelease { .. } => {
            format!("change the release with `fairway upgrade --to-image={image}`")
        }
        InstallError::Apply { .. } | InstallError::ClusterVersion(_) => {
            "rerun the command with cluster-admin permissions; rerunning it is safe".to_owned()
        }
        InstallError::NotEstablished { .. } | InstallError::TooSlow => {
            "check the control plane with `kubectl get --raw='/readyz?verbose'`, then repeat the \
             command"
                .to_owned()
        }
    };
    anyhow::Error::from(error).context(WithHint::new("cannot install", hint))
}
