//! The greeting of a ready sandbox.

use std::fmt;
use std::time::Duration;

use fairway_sandbox::sandbox::Sandbox;

/// The command of an example Deployment that prints lines.
const HELLO: &str = "kubectl create deployment hello --image=shell -- sh -c 'while :; do echo hello from $HOSTNAME; sleep 5; done'";

pub(super) struct Greeting<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(super) took: Duration,
    /// The release of the installed platform, if there is one.
    pub(super) release: Option<&'a str>,
    /// Whether the files remain.
    pub(super) kept: bool,
}

impl fmt::Display for Greeting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sandbox, took, release, kept } = self;
        writeln!(f, "A Kubernetes API is ready at {} ({} ms).", sandbox.url(), took.as_millis())?;
        if let Some(nodes) = sandbox.nodes() {
            writeln!(f, "{}", nodes.mode())?;
        }
        if let Some(release) = release {
            writeln!(f, "Installing release {release} of the example platform.")?;
        }
        writeln!(f, "\nIn another terminal:\n")?;
        writeln!(f, "  export KUBECONFIG={}", sandbox.kubeconfig().display())?;
        let commands: &[&str] = match release {
            Some(_) => &[
                "kubectl get clusterversion,clusteroperators",
                "fairway upgrade",
                "fairway upgrade --to=5.0.1",
            ],
            None => &[
                "kubectl get crd,clusterversion",
                HELLO,
                "kubectl rollout status deployment hello",
                "kubectl logs deployment/hello",
            ],
        };
        for command in commands {
            writeln!(f, "  {command}")?;
        }
        let files = if *kept {
            "Stopping keeps the pod files and the audit log."
        } else {
            "Stopping removes all files."
        };
        writeln!(f, "\nPress Ctrl-C to stop the sandbox. {files}")
    }
}
