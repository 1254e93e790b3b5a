//! `fairway example-platform`: the releases of the example platform, for clusters that pull images.

use std::io::Write as _;

use anyhow::Context as _;
use fairway_example::Platform;
use fairway_install::manifests::own_manifests;
use fairway_registry::base::LayerCompression;

use crate::args::example::ExamplePlatformArgs;
use crate::cluster::block_on;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;

/// Repository of the images without `--push`.
const DEFAULT_REPOSITORY: &str = "localhost/platform";

pub(crate) fn run(args: &ExamplePlatformArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let program = std::env::current_exe().context("cannot find the fairway binary")?;
    let repository = args.push.as_deref().unwrap_or(DEFAULT_REPOSITORY);
    let platform =
        Platform::make(&program, repository, LayerCompression::Compressed, &own_manifests(), None)?;
    if let Some(directory) = &args.dir {
        output::directory(directory)?;
        platform.write(directory)?;
    }
    if args.push.is_some() {
        block_on(async { platform.push().await.context("cannot push the example platform") })?;
    }
    for made in &platform.releases {
        writeln!(printer.stdout(), "{} {}", made.release.version, made.reference)?;
    }
    Ok(ExitStatus::Success)
}
