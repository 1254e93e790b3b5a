//! Images of registries and OCI layouts.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use fairway_registry::contents::{NamedImage, ReferenceError};
use fairway_registry::layout::Layout;
use fairway_registry::pull::{self, PullError, PullOptions, PullSecrets};
use fairway_registry::push;
use fairway_registry::releases::{ScanProgress, Source};
use fairway_registry::signature::{Keyring, Store};
use fairway_update_service::source::{GraphDataImage, Repository, SignaturePolicy};
use tokio::time::Instant;

use crate::args::registry::{AccessArgs, GraphDataImageArgs, RegistryArgs, ReleasesArgs};
use crate::errors::WithHint;
use crate::printer::Printer;

/// Interval of progress messages.
const PROGRESS_INTERVAL_SECONDS: u64 = 5;

/// The source of release images in the arguments.
pub(crate) fn releases(
    args: &ReleasesArgs,
    registries: &RegistryArgs,
) -> anyhow::Result<Option<Repository>> {
    let images = if let Some(name) = &args.registry {
        let access = &registries.access;
        let opened = pull::Repository::open(&with_scheme(name, access), &options(access)?);
        let repository = opened.map_err(|error| advise(error, "cannot read releases"))?;
        Source::Registry(Box::new(repository))
    } else if let Some(directory) = &args.oci_layout {
        let layout = Layout::open(directory).with_context(|| WithHint {
            message: "cannot read releases".to_owned(),
            hint: "specify an OCI image layout, such as one that `skopeo copy docker://… \
                   oci:DIR:NAME` writes"
                .to_owned(),
        })?;
        Source::Layout { layout, name: pulled_from(directory, registries) }
    } else {
        return Ok(None);
    };
    Ok(Some(Repository::new(images)))
}

/// The graph-data image of the arguments.
pub(crate) fn graph_data(
    args: &GraphDataImageArgs,
    registries: &RegistryArgs,
) -> anyhow::Result<Option<GraphDataImage>> {
    let Some(name) = &args.image else { return Ok(None) };
    let options = options(&registries.access)?;
    let image = named(name, &registries.access, &options, "cannot read graph-data")?;
    let image = GraphDataImage::new(image);
    let (Some(keyring), Some(place)) = (&args.keyring, &args.signatures) else {
        return Ok(Some(image));
    };
    let hint = || {
        WithHint::new(
            format!("cannot read the keys in {}", keyring.display()),
            "export the keys with `gpg --export KEY > FILE`",
        )
    };
    let keyring = Keyring::parse(&fs::read(keyring).with_context(hint)?).with_context(hint)?;
    let store = Store::open(place, &options)
        .map_err(|error| advise(error, "cannot open the signature store"))?;
    Ok(Some(image.signed(SignaturePolicy { keyring, store })))
}

/// The image of a name in a registry or a layout. `failed` is the message of an error.
pub(crate) fn image(name: &str, access: &AccessArgs, failed: &str) -> anyhow::Result<NamedImage> {
    named(name, access, &options(access)?, failed)
}

fn named(
    name: &str,
    access: &AccessArgs,
    options: &PullOptions,
    failed: &str,
) -> anyhow::Result<NamedImage> {
    NamedImage::open(&with_scheme(name, access), options).map_err(|error| match error {
        ReferenceError::Repository(error) => advise(error, failed),
        other => anyhow::Error::from(other).context(WithHint::new(
            failed,
            "specify an image in a registry, or oci:DIR:NAME in an OCI image layout",
        )),
    })
}

/// Prints the progress of a scan at intervals.
pub(crate) fn scan_progress(printer: Printer) -> impl Fn(ScanProgress) + Send + Sync + 'static {
    let say = at_intervals(printer);
    move |ScanProgress { read, of }| say(&format_args!("{read} of {of} images read"))
}

/// Prints the progress of a push at intervals.
pub(crate) fn push_progress(printer: Printer) -> impl Fn(push::PushProgress) {
    const MEBIBYTE: u64 = 1 << 20;
    let say = at_intervals(printer);
    move |push::PushProgress { sent, of }| {
        say(&format_args!("{} of {} MiB sent", sent / MEBIBYTE, of / MEBIBYTE));
    }
}

fn at_intervals(printer: Printer) -> impl Fn(&dyn Display) + Send + Sync + 'static {
    let (begin, said) = (Instant::now(), AtomicU64::new(0));
    move |text| {
        let due = begin.elapsed().as_secs() / PROGRESS_INTERVAL_SECONDS;
        if said.fetch_max(due, Ordering::Relaxed) < due {
            printer.note(text);
        }
    }
}

/// Adds the scheme http:// to a name if `--plain-http` is set.
pub(crate) fn with_scheme(name: &str, access: &AccessArgs) -> String {
    let has_scheme = name.contains("://") || name.starts_with("oci:");
    if access.plain_http && !has_scheme { format!("http://{name}") } else { name.to_owned() }
}

fn pulled_from(directory: &Path, registries: &RegistryArgs) -> String {
    let called = || directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    registries.pull_from.clone().unwrap_or_else(called)
}

pub(crate) fn options(args: &AccessArgs) -> anyhow::Result<PullOptions> {
    let secrets = args.pull_secret.as_deref().map(pull_secret).transpose()?;
    let ca_bundle = args.registry_ca.as_deref().map(read_ca_bundle).transpose()?;
    Ok(PullOptions {
        secrets: secrets.unwrap_or_default(),
        allow_plain_http: args.plain_http,
        ca_bundle: ca_bundle.unwrap_or_default(),
        ..PullOptions::default()
    })
}

fn pull_secret(path: &Path) -> anyhow::Result<PullSecrets> {
    let hint = || {
        WithHint::new(
            format!("cannot read pull secret {}", path.display()),
            "use a Docker config.json: {\"auths\": {\"registry.example\": {\"auth\": …}}}",
        )
    };
    PullSecrets::parse(&fs::read(path).with_context(hint)?).with_context(hint)
}

fn read_ca_bundle(path: &Path) -> anyhow::Result<Vec<u8>> {
    let hint = || {
        WithHint::new(
            format!("cannot read the CA certificates in {}", path.display()),
            "specify a file with PEM certificates",
        )
    };
    let pem = fs::read(path).with_context(hint)?;
    let begin = b"-----BEGIN CERTIFICATE-----";
    let has_some = pem.windows(begin.len()).any(|window| window == begin);
    if has_some { Ok(pem) } else { Err(anyhow::anyhow!("no PEM certificate in the file")) }
        .with_context(hint)
}

/// Adds a hint to an error.
fn advise(error: PullError, message: &str) -> anyhow::Error {
    let hint = match &error {
        PullError::Plain { .. } => "use --plain-http to connect without TLS",
        PullError::Client { .. } => "check --registry-ca, HTTP_PROXY and HTTPS_PROXY",
        _ => "specify the repository without a tag or password; set credentials with --pull-secret",
    };
    let (message, hint) = (message.to_owned(), hint.to_owned());
    anyhow::Error::from(error).context(WithHint::new(message, hint))
}
