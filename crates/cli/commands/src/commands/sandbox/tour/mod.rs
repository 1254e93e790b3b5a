//! `fairway sandbox --tour`: updates with explanations.

mod script;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;

use crate::errors::HintExt as _;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use script::{Action, Step, TOUR, WaitCondition};

/// Timeout of a step, which takes seconds, or longer on a slow host.
const STEP_TIMEOUT: Duration = Duration::from_mins(5);

/// The width of the text.
const COLUMNS: usize = 80;

/// Guide of the tour.
pub(super) struct Guide<'a> {
    pub(super) client: Client,
    pub(super) kubeconfig: PathBuf,
    pub(super) printer: &'a Printer,
}

impl Guide<'_> {
    /// Runs all steps.
    pub(super) async fn lead(&self) -> anyhow::Result<()> {
        for (number, Step { title, explanation, actions }) in (1..).zip(TOUR) {
            self.say(&format!("\n{number}. {title}\n\n{}\n", wrapped(explanation)))?;
            for action in *actions {
                self.act(*action).await.with_hint(
                    format!("cannot complete step {number} of the tour"),
                    "inspect the platform with `fairway sandbox` without --tour",
                )?;
            }
        }
        self.say("\nThe tour is complete. To explore the platform, run `fairway sandbox`.\n")
    }

    fn say(&self, text: &str) -> anyhow::Result<()> {
        let mut out = self.printer.text();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    async fn act(&self, action: Action) -> anyhow::Result<()> {
        match action {
            Action::Run(arguments, expected) => self.run(arguments, expected).await,
            Action::Set { component, map, key, text } => self.set(component, map, key, text).await,
            Action::WaitCondition(until) => self.wait(until).await,
        }
    }

    async fn run(&self, arguments: &[&str], expected: ExitStatus) -> anyhow::Result<()> {
        let command = format!("fairway {}", arguments.join(" "));
        self.say(&format!("\n$ {command}\n"))?;
        let program = std::env::current_exe().context("cannot find the fairway binary")?;
        let output = Command::new(program)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .kill_on_drop(true)
            .output()
            .await
            .with_context(|| format!("cannot start `{command}`"))?;
        // Standard error first, as on a terminal.
        for said in [output.stderr, output.stdout] {
            self.say(&String::from_utf8_lossy(&said))?;
        }
        let code = output.status.code();
        ensure!(
            code == Some(expected.code().into()),
            "`{command}` exited with {code:?} instead of {}",
            expected.code()
        );
        Ok(())
    }

    async fn set(
        &self,
        component: &str,
        map: &str,
        key: &str,
        text: Option<&str>,
    ) -> anyhow::Result<()> {
        let namespace = format!("openshift-{component}");
        let patch = json!({ "data": { key: text } });
        self.say(&format!(
            "\n$ kubectl -n {namespace} patch configmap {map} --type=merge -p '{patch}'\n"
        ))?;
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &namespace);
        maps.patch(map, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn wait(&self, until: WaitCondition) -> anyhow::Result<()> {
        self.printer.note(format_args!("waiting for {until}"));
        let client = self.client.clone();
        let waited = match until {
            WaitCondition::Degraded { component, .. } => {
                let operators: Api<ClusterOperator> = Api::all(client);
                let holds = move |operator: Option<&ClusterOperator>| {
                    operator.is_some_and(|operator| until.holds_for_operator(operator))
                };
                timeout(STEP_TIMEOUT, await_condition(operators, component, holds))
                    .await
                    .map(discard)
            }
            WaitCondition::Completed(_)
            | WaitCondition::Listed(_)
            | WaitCondition::Recommended(_)
            | WaitCondition::LookedAgain => {
                let versions: Api<ClusterVersion> = Api::all(client);
                let holds = move |cluster: Option<&ClusterVersion>| {
                    cluster.is_some_and(|cluster| until.holds_for_cluster(cluster))
                };
                let waiting = await_condition(versions, CLUSTER_VERSION_NAME, holds);
                timeout(STEP_TIMEOUT, waiting).await.map(discard)
            }
        };
        let minutes = STEP_TIMEOUT.as_secs() / 60;
        waited
            .with_context(|| format!("timed out after {minutes} minutes waiting for {until}"))??;
        Ok(())
    }
}

/// Discards the result of a wait; the condition is already evaluated.
fn discard<T, E>(waited: Result<T, E>) -> Result<(), E> {
    waited.map(drop)
}

/// Wraps a text.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= COLUMNS {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_breaks_between_words() {
        let text = "word ".repeat(40) + &"long".repeat(30);
        let wrapped = wrapped(&text);
        let lines: Vec<&str> = wrapped.lines().collect();
        assert!(lines[..lines.len() - 1].iter().all(|line| line.len() <= COLUMNS), "{wrapped}");
        assert_eq!(lines.last(), Some(&"long".repeat(30).as_str()));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&wrapped), words(&text));
    }
}
