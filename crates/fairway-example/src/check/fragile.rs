//! A check that misbehaves as it is told.

use std::io::{self, Write as _};

use fairway_check::cluster::{Cluster, Patience};
use fairway_check::{CannotTell, Check, Context, Ending, Finding, main_with};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};

use super::Connect;

const NAMESPACE: &str = "openshift-fragile";

/// Where it is told what to do, and by which key.
const BEHAVIOUR: &str = "fragile-behaviour";
const KEY: &str = "preflight";

/// More than is read of what a check says.
const TOO_MUCH: usize = 3 << 19;

/// What it is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misbehaviour {
    /// Nothing.
    None,
    /// To end as a program with a bug does.
    Crash,
    /// Never to end, whatever the deadline is.
    Hang,
    /// To say what nobody understands.
    Rubbish,
    /// To say more than anybody reads.
    Megabyte,
    /// To change the cluster.
    Write,
    /// To read what is none of its business.
    Secrets,
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
            _ => Self::None,
        }
    }
}

/// What helps every check to an answer would help this one, too: so it misbehaves before that.
pub(super) fn main(arguments: Vec<String>, connect: Connect) -> Ending {
    let misbehaviour = told(connect).unwrap_or(Misbehaviour::None);
    match misbehaviour {
        Misbehaviour::Crash => std::process::abort(),
        Misbehaviour::Hang => loop {
            std::thread::park();
        },
        Misbehaviour::Rubbish => say("It will be fine.\n{\"format\":\"preflight-v1-json\",\"ri"),
        Misbehaviour::Megabyte => say(&"It will be fine. ".repeat(TOO_MUCH / 17)),
        _ => main_with(Fragile { misbehaviour, connect }, arguments, connect),
    }
}

fn told(connect: Connect) -> Option<Misbehaviour> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let cluster = Cluster::new(connect(None).await.ok()?, Patience::default());
        let maps = cluster.read::<ConfigMap>().in_namespace(NAMESPACE);
        let data = maps.get(BEHAVIOUR).await.ok()??.data?;
        data.get(KEY).map(|text| Misbehaviour::of(text))
    })
}

fn say(text: &str) -> Ending {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Ending::Answered,
        Err(_) => Ending::NotWritten,
    }
}

/// What is left of it: it looks at nothing, and tries what no check may do.
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
        let (what, tried) = match self.misbehaviour {
            Misbehaviour::Write => ("writing a ConfigMap", write(client).await),
            Misbehaviour::Secrets => ("reading Secrets", read_secrets(client).await),
            _ => return Ok(Vec::new()),
        };
        match tried {
            Ok(()) => {
                let message = format!("A check may do what it should not: {what}.");
                Ok(vec![Finding::critical("FragileCheckMayDoTooMuch", message)])
            }
            Err(kube::Error::Api(status)) => {
                Err(CannotTell::because(format!("{what} was refused: {}", status.message)))
            }
            Err(error) => Err(CannotTell::because(format!("{what} failed: {error}"))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_what_it_is_told_and_nothing_else() {
        assert_eq!(Misbehaviour::of("crash\n"), Misbehaviour::Crash);
        assert_eq!(Misbehaviour::of(""), Misbehaviour::None);
        assert_eq!(Misbehaviour::of("Crash!"), Misbehaviour::None);
    }
}
