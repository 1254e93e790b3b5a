//! Pages of the documentation whose commands are tested.
//!
//! The test runs all commands of a page in order and compares their output with the page.
//! `UPDATE_DOCS=1` writes the output to the page.

mod kubernetes;
mod logs;
mod page;
mod redaction;
mod sandbox;
mod session;
mod wait_condition;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use page::{Line, Page};
use redaction::redacted;
use session::Session;

/// Runs a page and compares its output.
async fn check_page(name: &str, session: &mut Session) -> Result<()> {
    let path = document(name);
    let written = std::fs::read_to_string(&path)?;
    let current = run_page(&written, session).await?;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return Ok(std::fs::write(path, current)?);
    }
    ensure!(
        current == written,
        "docs/{name} differs from the output of its commands; UPDATE_DOCS=1 writes it:\n{}",
        difference(&written, &current)
    );
    Ok(())
}

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/start").join(name)
}

/// The page with the current output of its commands.
async fn run_page(written: &str, session: &mut Session) -> Result<String> {
    let mut current = String::new();
    for line in Page(written).lines() {
        match line {
            Line::Prose(text) => writeln!(current, "{text}")?,
            Line::Wait { text, until } => {
                session.wait(until).await.with_context(|| format!("after this:\n{current}"))?;
                writeln!(current, "{text}")?;
            }
            Line::Command(command) => {
                let output = redacted(&session.run(command)?, session.directory());
                write!(current, "$ {command}\n{output}")?;
            }
        }
    }
    Ok(current)
}

/// The first difference between two texts.
fn difference(written: &str, current: &str) -> String {
    let same = written.lines().zip(current.lines()).take_while(|(one, other)| one == other).count();
    let part = |text: &str| text.lines().skip(same).take(8).collect::<Vec<_>>().join("\n");
    format!("line {}\n--- written\n{}\n--- current\n{}", same + 1, part(written), part(current))
}
