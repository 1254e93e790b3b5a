//! `fairway release sign`: signs a release, for a store or a cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use fairway_clock::now;
use fairway_registry::Digest;
use fairway_registry::signature::{self, ImageSignature};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::Serialize;

use super::input::PinnedImage;
use super::signing;
use crate::args::release::SignArgs;
use crate::args::report::ReportFormat;
use crate::errors::{HintExt as _, WithHint, WrongUsage};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

/// Namespace and label of `ConfigMap`s with signatures.
const NAMESPACE: &str = "openshift-config-managed";
const LABEL: &str = "release.openshift.io/verification-signatures";

/// Maximum number of signatures that clusters read for an image.
const MAX_SIGNATURES: usize = 9;

impl TypedReport for Report {
    const KIND: &'static str = "ReleaseSignature";
}

pub(crate) fn run(args: &SignArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let image = signing::resolve(&args.image, &args.access)?;
    let identity = identity(args)?;
    let signed = sign(args, &image.digest, identity)?;
    match &args.store {
        Some(store) => {
            let file = add(store, &image.digest, &signed.signature)?;
            let report = Report::new(&image, identity, signed, &file);
            output::report(printer.stdout(), args.output.output, &report)?;
        }
        None => print(&config_map(&image.digest, signed), args.output.output, printer)?,
    }
    Ok(ExitStatus::Success)
}

/// Image name in the signature.
fn identity(args: &SignArgs) -> Result<&str, WrongUsage> {
    let given = args.identity.as_deref();
    let called = || {
        let in_registry = !args.image.starts_with("oci:") && !Path::new(&args.image).exists();
        let name = args.image.rsplit_once("://").map_or(args.image.as_str(), |(_, name)| name);
        in_registry.then_some(name)
    };
    given.or_else(called).ok_or_else(|| {
        let why = "an image in an OCI image layout needs --identity";
        WrongUsage(why.to_owned())
    })
}

fn sign(args: &SignArgs, image: &Digest, identity: &str) -> anyhow::Result<ImageSignature> {
    let path = args.key.display();
    let hint = || {
        WithHint::new(
            format!("cannot sign with the key in {path}"),
            "export one key with `gpg --armor --export-secret-keys KEY > FILE`; specify its \
             passphrase with --passphrase-file",
        )
    };
    let key = signing::file(&args.key).with_context(hint)?;
    let passphrase = args.passphrase_file.as_deref().map(passphrase).transpose()?;
    signature::sign(image, identity, &key, passphrase.as_deref(), now()).with_context(hint)
}

fn passphrase(path: &Path) -> anyhow::Result<String> {
    let hint = || {
        WithHint::new(
            format!("cannot read the passphrase in {}", path.display()),
            "specify a file with the passphrase on its first line",
        )
    };
    let text = String::from_utf8(signing::file(path).with_context(hint)?);
    let text = text.context("not valid UTF-8").with_context(hint)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Adds a signature to a store, unless it exists.
fn add(store: &Path, image: &Digest, signature: &[u8]) -> anyhow::Result<PathBuf> {
    let directory = store.join(format!("sha256={}", image.hex()));
    output::directory(&directory)?;
    for number in 1..=MAX_SIGNATURES {
        let path = directory.join(format!("signature-{number}"));
        match File::create_new(&path).and_then(|mut file| file.write_all(signature)) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_hint(
                    format!("cannot write {}", path.display()),
                    "specify a writable directory",
                );
            }
            Err(_) if fs::read(&path).is_ok_and(|known| known == signature) => return Ok(path),
            Err(_) => {}
        }
    }
    Err(anyhow::Error::new(WithHint::new(
        format!("{} already has {MAX_SIGNATURES} signatures", directory.display()),
        "remove obsolete signatures; clusters ignore any further ones",
    )))
}

/// The ConfigMap of a signature. Each signer has its own, so that none replaces another.
fn config_map(image: &Digest, signed: ImageSignature) -> ConfigMap {
    let ImageSignature { signature, signer } = signed;
    let digest = format!("sha256-{}", image.hex());
    let name = format!("{digest}-{}", signer.to_lowercase());
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(NAMESPACE.to_owned()),
            labels: Some(BTreeMap::from([(LABEL.to_owned(), String::new())])),
            ..ObjectMeta::default()
        },
        binary_data: Some(BTreeMap::from([(format!("{digest}-1"), ByteString(signature))])),
        ..ConfigMap::default()
    }
}

fn print(config_map: &ConfigMap, format: ReportFormat, printer: &Printer) -> anyhow::Result<()> {
    let mut stdout = printer.stdout();
    match format {
        ReportFormat::Json => output::json(stdout, config_map),
        ReportFormat::Text | ReportFormat::Yaml => {
            Ok(stdout.write_all(output::yaml(config_map)?.as_bytes())?)
        }
    }
}

/// Signature that was written to a store.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Image, by digest.
    image: String,
    /// Name of the image in the signature.
    identity: String,
    /// Fingerprint of the key.
    signer: String,
    /// File with the signature.
    file: String,
}

impl Report {
    fn new(image: &PinnedImage, identity: &str, signed: ImageSignature, file: &Path) -> Self {
        Self {
            image: image.to_string(),
            identity: identity.to_owned(),
            signer: signed.signer,
            file: file.display().to_string(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { image, identity, signer, file } = self;
        write!(f, "{} is signed by {signer}, as {}", OneLine(image), OneLine(identity))?;
        write!(f, "\nwrote {}", OneLine(file))
    }
}
