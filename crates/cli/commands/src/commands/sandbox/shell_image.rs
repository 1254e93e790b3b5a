//! The image `shell`: the shell and the basic tools of this host, which pods can run without other
//! images.

use std::path::{Path, PathBuf};

use anyhow::Context;
use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};

/// The name of the image and of its directory.
const NAME: &str = "shell";
const TAG: &str = "latest";

/// The tools of the image. Tools that the host lacks are skipped.
const PROGRAMS: [&str; 22] = [
    "sh", "cat", "cp", "date", "echo", "env", "false", "grep", "head", "hostname", "id", "ls",
    "mkdir", "ps", "rm", "sed", "sleep", "tail", "touch", "true", "uname", "wc",
];

/// Writes the image to a directory of OCI image layouts.
pub(super) fn write(layouts: &Path) -> anyhow::Result<()> {
    let layout = layouts.join(NAME);
    crate::output::directory(&layout)?;
    layout::write(&layout, &image()?, TAG).context("cannot write the image of the shell")
}

fn image() -> anyhow::Result<Image> {
    let mut layer = LayerBuilder::new().directory("/tmp", 0o1777)?;
    for program in PROGRAMS.into_iter().filter_map(find) {
        layer = layer.host_program(&program, &program)?;
    }
    let config = ImageConfig {
        cmd: vec!["sh".to_owned()],
        env: vec!["PATH=/bin:/usr/bin".to_owned()],
        ..ImageConfig::default()
    };
    Ok(Image::new(vec![layer.build_uncompressed()?], &config))
}

fn find(program: &str) -> Option<PathBuf> {
    ["/bin", "/usr/bin"]
        .map(|place| Path::new(place).join(program))
        .into_iter()
        .find(|it| it.exists())
}
