//! Pages of documentation with every command as a new user types it, and what it says.
//!
//! A page is run from its beginning to its end, and what the commands say is compared with what the
//! page has. `UPDATE_DOCS=1` writes it into the page.

mod kubernetes;
mod logs;
mod moment;
mod page;
mod redaction;
mod sandbox;
mod site;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use page::{Line, Page};
use redaction::redacted;
use site::Site;

/// Runs a page, and compares.
async fn take(name: &str, site: &mut Site) -> Result<()> {
    let path = document(name);
    let written = std::fs::read_to_string(&path)?;
    let told = told(&written, site).await?;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return Ok(std::fs::write(path, told)?);
    }
    ensure!(
        told == written,
        "docs/{name} is not what the program says; UPDATE_DOCS=1 writes what it says now:\n{}",
        difference(&written, &told)
    );
    Ok(())
}

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/start").join(name)
}

/// The page with what its commands say now.
async fn told(written: &str, site: &mut Site) -> Result<String> {
    let mut told = String::new();
    for line in Page(written).lines() {
        match line {
            Line::Prose(text) => writeln!(told, "{text}")?,
            Line::Wait { text, until } => {
                site.wait(until).await.with_context(|| format!("after this:\n{told}"))?;
                writeln!(told, "{text}")?;
            }
            Line::Command(command) => {
                let said = redacted(&site.run(command)?, site.directory());
                write!(told, "$ {command}\n{said}")?;
            }
        }
    }
    Ok(told)
}

/// Where two texts begin to differ.
fn difference(written: &str, told: &str) -> String {
    let same = written.lines().zip(told.lines()).take_while(|(one, other)| one == other).count();
    let part = |text: &str| text.lines().skip(same).take(8).collect::<Vec<_>>().join("\n");
    format!("line {}\n--- written\n{}\n--- told\n{}", same + 1, part(written), part(told))
}
