//! `fairway example-operator`: an operator of the example platform.

use anyhow::Context as _;
use fairway_example::operator::{self, Settings};
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::Client;

use super::stop_signals::StopSignals;
use crate::args::example::ExampleOperatorArgs;
use crate::cluster::{PROGRAM, account, block_on};
use crate::exit::ExitStatus;

pub(crate) fn run(args: &ExampleOperatorArgs) -> anyhow::Result<ExitStatus> {
    block_on(operate(args))
}

async fn operate(args: &ExampleOperatorArgs) -> anyhow::Result<ExitStatus> {
    let mut signals = StopSignals::new()?;
    let mut config = account::infer().await.context("cannot load the cluster configuration")?;
    config.headers.push((USER_AGENT, HeaderValue::from_static(PROGRAM)));
    let client = Client::try_from(config).context("cannot reach the cluster")?;
    let settings = Settings { name: args.name.clone(), version: args.release_version.clone() };
    tokio::select! {
        Err(crash) = operator::run(client, &settings) => Err(crash.into()),
        () = signals.recv() => Ok(ExitStatus::Success),
    }
}
