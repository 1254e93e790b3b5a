//! What a release says that it takes.

use std::collections::BTreeMap;

use fairway_findings::{Finding, Severity};

use super::number::Number;
use super::{Machine, meaningless};
use crate::check::Answer;
use crate::wording::{are, listed};

/// The oldest kernel that the release runs on, such as `5.14`.
const KERNEL: &str = "fairway.dev/minimum-kernel";

/// The oldest container runtimes, such as `cri-o=1.28,containerd=1.7`. One that is not named is not
/// compared.
const RUNTIME: &str = "fairway.dev/minimum-container-runtime";

/// What a release says that it takes, in its metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Minimums {
    kernel: Option<Number>,
    runtimes: BTreeMap<String, Number>,
}

impl Minimums {
    /// What makes no sense there says nothing.
    pub(super) fn read(metadata: &BTreeMap<String, String>) -> Self {
        let runtimes = metadata.get(RUNTIME).into_iter().flat_map(|list| list.split(','));
        let runtime = |pair: &str| {
            let (name, version) = pair.split_once('=')?;
            Some((name.trim().to_owned(), Number::read(version)?))
        };
        Self {
            kernel: metadata.get(KERNEL).and_then(|text| Number::read(text)),
            runtimes: runtimes.filter_map(runtime).collect(),
        }
    }

    pub(super) fn kernels(&self, machines: &[Machine], answer: &mut Answer) {
        let Some(minimum) = &self.kernel else { return };
        let (mut old, mut unknown) = (Vec::new(), Vec::new());
        for Machine { node, kernel, .. } in machines {
            match Number::read(kernel) {
                None => unknown.push(format!("{node} ({kernel:?})")),
                Some(runs) if runs < *minimum => old.push(format!("{node} ({kernel})")),
                Some(_) => {}
            }
        }
        answer.unknown.extend(meaningless("kernels", &unknown));
        answer.findings.extend((!old.is_empty()).then(|| Finding {
            name: "KernelsTooOld".to_owned(),
            message: format!(
                "The target release requires kernel {minimum} or later. {} older: {}.",
                are(old.len(), "node"),
                listed(&old),
            ),
            severity: Severity::Critical,
            remediation: REMEDY.to_owned(),
            ..Finding::default()
        }));
    }

    pub(super) fn runtimes(&self, machines: &[Machine], answer: &mut Answer) {
        if self.runtimes.is_empty() {
            return;
        }
        let (mut old, mut unknown) = (Vec::new(), Vec::new());
        for Machine { node, runtime, .. } in machines {
            let read = runtime.split_once("://");
            match read.and_then(|(name, version)| Some((name, Number::read(version)?))) {
                None => unknown.push(format!("{node} ({runtime:?})")),
                Some((name, runs)) if self.runtimes.get(name).is_some_and(|it| runs < *it) => {
                    old.push(format!("{node} ({runtime})"));
                }
                Some(_) => {}
            }
        }
        answer.unknown.extend(meaningless("container runtimes", &unknown));
        let wanted: Vec<String> =
            self.runtimes.iter().map(|(name, version)| format!("{name} {version}")).collect();
        answer.findings.extend((!old.is_empty()).then(|| Finding {
            name: "ContainerRuntimesTooOld".to_owned(),
            message: format!(
                "The target release requires container runtime {} or later. {} older: {}.",
                wanted.join(" or "),
                are(old.len(), "node"),
                listed(&old),
            ),
            severity: Severity::Critical,
            remediation: REMEDY.to_owned(),
            ..Finding::default()
        }));
    }
}

/// Both come with the system of a node.
const REMEDY: &str = "Update the operating system of these nodes first. `kubectl get nodes -o \
                      wide` shows the versions of each node.";
