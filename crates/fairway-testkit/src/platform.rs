//! The releases and the graph-data of a whole platform: real ones where `FAIRWAY_DATA` names them,
//! otherwise generated ones of the same size and shape.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::environment::DATA;
use crate::measure::Figure;

/// The names of both in their directory.
const GRAPH_DATA: &str = "graph-data-2026-08";
const RELEASES: &str = "releases-2026-08.json";

/// Files of a platform.
#[derive(Debug)]
pub struct Platform {
    directory: PathBuf,
    /// Removed with this value.
    generated: Option<tempfile::TempDir>,
}

impl Platform {
    /// The real one where there is one, otherwise a generated one.
    pub fn find() -> Result<Self> {
        match std::env::var_os(DATA) {
            Some(data) => Ok(Self { directory: data.into(), generated: None }),
            None => Self::generate(),
        }
    }

    fn generate() -> Result<Self> {
        let generated = tempfile::tempdir().context("no place for generated data")?;
        let directory = generated.path().to_owned();
        let platform = Self { directory, generated: Some(generated) };
        fs::write(platform.releases(), releases().to_string())?;
        write_graph_data(&platform.graph_data())?;
        Ok(platform)
    }

    /// Where all of it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory with graph-data.
    pub fn graph_data(&self) -> PathBuf {
        self.directory.join(GRAPH_DATA)
    }

    /// The list of releases.
    pub fn releases(&self) -> PathBuf {
        self.directory.join(RELEASES)
    }

    /// A channel with a short answer.
    pub fn small(&self) -> &'static str {
        if self.is_real() { "stable-4.1" } else { "stable-5.0" }
    }

    /// A channel with a long answer.
    pub fn large(&self) -> &'static str {
        if self.is_real() { "stable-4.18" } else { "stable-5.18" }
    }

    fn is_real(&self) -> bool {
        self.generated.is_none()
    }

    /// A figure that was measured with the real platform, for that one alone.
    pub fn known(&self, figure: Figure) -> Option<Figure> {
        self.is_real().then_some(figure)
    }

    /// Where the data is from, for the heading of a table.
    pub fn origin(&self) -> String {
        if self.is_real() {
            format!("{DATA}={}", self.directory.display())
        } else {
            format!("generated data, for {DATA} is not set")
        }
    }
}

/// The shape of the platform that existed in August 2026: 5,743 releases for five architectures,
/// 297,000 updates that they declare, 76 channels, and 1,717 block files.
const ARCHITECTURES: [&str; 5] = ["amd64", "arm64", "multi", "ppc64le", "s390x"];
const MINORS: u32 = 22;
const PATCHES: u32 = 52;
/// From so many of the minor version before, one can update.
const FROM_BEFORE: u32 = 26;
/// Risks of one minor version, and how many of its releases have each.
const RISKS: u32 = 5;
const RISKY_RELEASES: u32 = 15;

fn releases() -> Value {
    let mut releases = Vec::new();
    for arch in ARCHITECTURES {
        for (minor, patch) in versions(0..MINORS) {
            let within = (0..patch).map(|patch| version((minor, patch)));
            let before = PATCHES - FROM_BEFORE..PATCHES;
            let before = before.filter(|_| minor > 0).map(|patch| version((minor - 1, patch)));
            releases.push(json!({
                "image": format!("registry.example/release@sha256:{arch}{minor:030}{patch:026}"),
                "arch": arch,
                "release-metadata": {
                    "kind": "cincinnati-metadata-v0",
                    "version": version((minor, patch)),
                    "previous": within.chain(before).collect::<Vec<_>>(),
                    "metadata": {"url": format!("https://example.com/errata/{minor}/{patch}")},
                },
            }));
        }
    }
    Value::Array(releases)
}

fn write_graph_data(root: &Path) -> Result<()> {
    for directory in ["channels", "blocked-edges"] {
        fs::create_dir_all(root.join(directory))?;
    }
    fs::write(root.join("version"), "1.1.0\n")?;
    for minor in 0..MINORS {
        for kind in ["candidate", "fast", "stable"] {
            let name = format!("{kind}-5.{minor}");
            fs::write(root.join(format!("channels/{name}.yaml")), channel(&name, minor))?;
        }
        for risk in 0..RISKS {
            for patch in PATCHES - RISKY_RELEASES..PATCHES {
                let name = format!("blocked-edges/5.{minor}.{patch}-Risk{risk}.yaml");
                fs::write(root.join(name), block((minor, patch), risk))?;
            }
        }
    }
    Ok(())
}

/// A channel has the releases of its minor version, and those from which one gets there.
fn channel(name: &str, minor: u32) -> String {
    let mut text = format!("name: {name}\nversions:\n");
    for release in versions(minor.saturating_sub(2)..minor + 1) {
        writeln!(text, "- {}", version(release)).expect("writing to memory");
    }
    text
}

fn block(to: (u32, u32), risk: u32) -> String {
    let before = to.0.saturating_sub(1);
    format!(
        "to: {}\nfrom: ^5[.]({before}|{})[.].*[+].*$\nurl: https://example.com/issues/{}-{risk}\n\
         name: MinorRisk{}X{risk}\nmessage: Clusters with many nodes may lose some of them for the \
         time of the update, until somebody restarts the network of that node.\nmatchingRules:\n\
         - type: PromQL\n  promql:\n    promql: |\n      topk(1,\n        label_replace(group(\
         cluster_nodes_total{{role=\"worker\"}} > 10{risk}), \"large\", \"yes\", \"\", \"\")\n        \
         or\n        0 * label_replace(group(cluster_nodes_total), \"large\", \"no\", \"\", \"\")\n      )\n",
        version(to),
        to.0,
        to.0,
        to.0,
    )
}

fn versions(minors: std::ops::Range<u32>) -> impl Iterator<Item = (u32, u32)> {
    minors.flat_map(|minor| (0..PATCHES).map(move |patch| (minor, patch)))
}

fn version((minor, patch): (u32, u32)) -> String {
    format!("5.{minor}.{patch}")
}
