//! `fairway release verify`: verifies the signatures of a release.

use std::fmt;
use std::time::Duration;

use anyhow::Context;
use fairway_clock::now;
use fairway_registry::signature::{SignatureSources, StoreAddress, Unverified, Verified, Verifier};
use fairway_release::Verification;
use schemars::JsonSchema;
use serde::Serialize;

use super::{input, signing};
use crate::args::registry::AccessArgs;
use crate::args::release::VerifyArgs;
use crate::commands::registry;
use crate::errors::WithHint;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

/// Timeout of signature stores.
const STORE_TIMEOUT: Duration = Duration::from_mins(1);

impl TypedReport for Report {
    const KIND: &'static str = "ReleaseVerification";
}

pub(crate) fn run(args: &VerifyArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let verifier = verifier(args)?;
    let image = signing::resolve(&args.image, &args.access)?;
    let stores = args.stores.iter().map(|url| StoreAddress { url, ca_bundle: &[] }).collect();
    let stores = Some(stores).filter(|stores: &Vec<_>| !stores.is_empty());
    let options = registry::options(&args.access)?;
    let sources =
        SignatureSources { cluster: Vec::new(), stores, options: &options, timeout: STORE_TIMEOUT };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let verdict = runtime.block_on(verifier.verify(&image.digest, &sources, now()));
    let status = match &verdict {
        Ok(_) => ExitStatus::Success,
        Err(unverified) if unverified.is_transient() => ExitStatus::Unknown,
        Err(_) => ExitStatus::Refused,
    };
    let report = Report { image: image.to_string(), verdict: verdict.into() };
    output::report(printer.stdout(), args.output.output, &report)?;
    Ok(status)
}

/// Creates the verifier from the arguments.
fn verifier(args: &VerifyArgs) -> anyhow::Result<Verifier> {
    let VerifyArgs { keyrings, from_release, access, .. } = args;
    let trusted = from_release.as_deref().map(|name| trusted_by(name, access)).transpose()?;
    let mut verification = trusted.unwrap_or_default();
    for path in keyrings {
        let keyring = signing::file(path)
            .with_context(|| hint(format!("cannot read the keys in {}", path.display())))?;
        verification.keyrings.insert(path.display().to_string(), keyring);
    }
    Verifier::new(&verification).with_context(|| hint("cannot verify signatures".to_owned()))
}

fn hint(message: String) -> WithHint {
    WithHint::new(message, "export the keys with `gpg --armor --export KEY > FILE`")
}

/// Verification settings of a cluster that runs the release.
fn trusted_by(name: &str, access: &AccessArgs) -> anyhow::Result<Verification> {
    let release = input::read(name, access)?.load()?;
    let hint = || {
        WithHint::new(
            format!("{name} does not configure signature verification"),
            "add a ConfigMap with the annotation release.openshift.io/verification-config-map to \
             its manifests, or specify keys with --keyring",
        )
    };
    let verification = Verification::from_manifests(&release.manifests).with_context(hint)?;
    verification.context("no ConfigMap with this annotation").with_context(hint)
}

/// Result of a signature verification.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Report {
    /// Image, by digest.
    image: String,
    #[serde(flatten)]
    verdict: VerificationResult,
}

/// Whether the signatures of an image satisfy all keyrings.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "verdict")]
enum VerificationResult {
    Verified(Verified),
    Unverified(Unverified),
}

impl From<Result<Verified, Unverified>> for VerificationResult {
    fn from(verdict: Result<Verified, Unverified>) -> Self {
        match verdict {
            Ok(verified) => Self::Verified(verified),
            Err(unverified) => Self::Unverified(unverified),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { image, verdict } = self;
        let image = OneLine(image);
        match verdict {
            VerificationResult::Verified(Verified { digest: _, signatures }) => {
                write!(f, "{image} is verified")?;
                listed(f, signatures)
            }
            VerificationResult::Unverified(Unverified { digest: _, keyrings, findings }) => {
                let keyrings = keyrings.join(" or ");
                write!(f, "{image} is not verified: no valid signature for {keyrings}")?;
                listed(f, findings)
            }
        }
    }
}

fn listed(f: &mut fmt::Formatter<'_>, found: &[impl ToString]) -> fmt::Result {
    found.iter().try_for_each(|one| write!(f, "\n  {}", OneLine(&one.to_string())))
}
