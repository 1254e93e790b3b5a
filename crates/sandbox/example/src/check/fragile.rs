//! A check that misbehaves as configured, to test the isolation of checks.

use std::io::{self, Write as _};

use fairway_check::cluster::{Cluster, RequestPolicy};
use fairway_check::{CannotTell, Check, Context, Ending, Finding, main_with};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::Client;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};

use super::Connect;

const NAMESPACE: &str = "openshift-fragile";

/// ConfigMap and key with the behaviour.
const BEHAVIOUR: &str = "fragile-behaviour";
const KEY: &str = "preflight";

/// More output than the preflight reads.
const OVERSIZED_OUTPUT_BYTES: usize = 3 << 19;

/// Configured behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misbehaviour {
    /// No misbehaviour.
    None,
    /// Exits with an error.
    Crash,
    /// Ignores its deadline.
    Hang,
    /// Prints an invalid report.
    Rubbish,
    /// Prints more than the preflight reads.
    Megabyte,
    /// Writes to the cluster.
    Write,
    /// Reads Secrets.
    Secrets,
    /// Attempts exec, attach, port-forward and similar requests.
    Trespass,
}

impl Misbehaviour {
    fn of(text: &str) -> Self {
        match text.trim() {
            "crash" => Self::Crash,
            "hang" => Self::Hang,
            "rubbish" => Self::Rubbish,
            "megabyte" => Self::Megabyte,
            "write" => Self::Write,
            "secrets" => Self::Secrets,
            "trespass" => Self::Trespass,
            _ => Self::None,
        }
    }
}

/// Misbehaves before the SDK runs, which would otherwise produce a valid report.
pub(super) fn main(arguments: Vec<String>, connect: Connect) -> Ending {
    let misbehaviour = configured(connect).unwrap_or(Misbehaviour::None);
    match misbehaviour {
        Misbehaviour::Crash => std::process::abort(),
        Misbehaviour::Hang => loop {
            std::thread::park();
        },
        Misbehaviour::Rubbish => print("It will be fine.\n{\"format\":\"preflight-v1-json\",\"ri"),
        Misbehaviour::Megabyte => print(&"It will be fine. ".repeat(OVERSIZED_OUTPUT_BYTES / 17)),
        _ => main_with(Fragile { misbehaviour, connect }, arguments, connect),
    }
}

fn configured(connect: Connect) -> Option<Misbehaviour> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let cluster = Cluster::new(connect(None).await.ok()?, RequestPolicy::default());
        let maps = cluster.read::<ConfigMap>().in_namespace(NAMESPACE);
        let data = maps.get(BEHAVIOUR).await.ok()??.data?;
        data.get(KEY).map(|text| Misbehaviour::of(text))
    })
}

fn print(text: &str) -> Ending {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Ending::Answered,
        Err(_) => Ending::NotWritten,
    }
}

/// The regular check: examines nothing and attempts forbidden requests.
struct Fragile {
    misbehaviour: Misbehaviour,
    connect: Connect,
}

impl Check for Fragile {
    fn name(&self) -> &'static str {
        "fragile"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let kubeconfig = context.settings().kubeconfig.clone();
        let client = (self.connect)(kubeconfig).await;
        let client = client.map_err(|error| CannotTell::because(error.to_string()))?;
        let attempts = match self.misbehaviour {
            Misbehaviour::Write => &[Attempt::Write][..],
            Misbehaviour::Secrets => &[Attempt::Secrets],
            Misbehaviour::Trespass => &Attempt::ALL,
            _ => return Ok(Vec::new()),
        };
        let (mut done, mut refused) = (Vec::new(), Vec::new());
        let mut words = String::new();
        for attempt in attempts {
            let what = attempt.name();
            match attempt.send(client.clone()).await {
                Ok(()) => done.push(what),
                Err(kube::Error::Api(status)) => {
                    refused.push(format!("{what} was refused"));
                    words = status.message;
                }
                Err(error) => refused.push(format!("{what} failed ({error})")),
            }
        }
        if done.is_empty() {
            return Err(CannotTell::because(format!("{}: {words}", refused.join(", "))));
        }
        let message =
            format!("The check has more permissions than it should have: {}.", done.join(", "));
        Ok(vec![Finding::critical("FragileCheckMayDoTooMuch", message)])
    }
}

/// A request that no check is allowed to send.
#[derive(Clone, Copy)]
enum Attempt {
    Write,
    Secrets,
    Exec,
    Attach,
    PortForward,
    Proxy,
}

impl Attempt {
    const ALL: [Self; 6] =
        [Self::Write, Self::Secrets, Self::Exec, Self::Attach, Self::PortForward, Self::Proxy];

    fn name(self) -> &'static str {
        match self {
            Self::Write => "writing a ConfigMap",
            Self::Secrets => "reading Secrets",
            Self::Exec => "exec",
            Self::Attach => "attach",
            Self::PortForward => "port-forward",
            Self::Proxy => "proxy",
        }
    }

    async fn send(self, client: Client) -> Result<(), kube::Error> {
        match self {
            Self::Write => write(client).await,
            Self::Secrets => read_secrets(client).await,
            Self::Exec => connect_to_pod(client, "exec").await,
            Self::Attach => connect_to_pod(client, "attach").await,
            Self::PortForward => connect_to_pod(client, "portforward").await,
            Self::Proxy => connect_to_pod(client, "proxy").await,
        }
    }
}

async fn write(client: Client) -> Result<(), kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let metadata = ObjectMeta { name: Some("written".to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    maps.create(&PostParams::default(), &map).await.map(drop)
}

async fn read_secrets(client: Client) -> Result<(), kube::Error> {
    let secrets: Api<Secret> = Api::all(client);
    secrets.list(&ListParams::default().limit(1)).await.map(drop)
}

/// The Pod need not exist: authorization is checked first.
async fn connect_to_pod(client: Client, way: &str) -> Result<(), kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    pods.get_subresource(way, "fragile").await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misbehaviour_parses_known_words_only() {
        assert_eq!(Misbehaviour::of("crash\n"), Misbehaviour::Crash);
        assert_eq!(Misbehaviour::of(""), Misbehaviour::None);
        assert_eq!(Misbehaviour::of("Crash!"), Misbehaviour::None);
    }
}
