//! `docs/tour.md`: every command as a new user types it, and what it says.
//!
//! The page is run from its beginning to its end, in a sandbox with the example platform, and what
//! the commands say is compared with what the page has. `UPDATE_DOCS=1` writes it into the page.

mod page;
mod redaction;
mod site;

use std::fmt::Write;

use anyhow::{Result, ensure};

use page::{Line, Page};
use redaction::redacted;
use site::Site;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tour.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_says_what_the_program_says() -> Result<()> {
    let written = std::fs::read_to_string(PATH)?;
    let mut site = Site::new()?;
    let mut told = String::new();
    for line in Page(&written).lines() {
        match line {
            Line::Prose(text) => writeln!(told, "{text}")?,
            Line::Wait { text, until } => {
                site.wait(until).await?;
                writeln!(told, "{text}")?;
            }
            Line::Command(command) => {
                let said = redacted(&site.run(command)?, site.directory());
                write!(told, "$ {command}\n{said}")?;
            }
        }
    }
    site.end()?;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PATH, &told)?;
    }
    ensure!(
        told == written || std::env::var_os("UPDATE_DOCS").is_some(),
        "docs/tour.md is not what the program says; UPDATE_DOCS=1 writes what it says now:\n{}",
        difference(&written, &told)
    );
    Ok(())
}

/// Where two texts begin to differ.
fn difference(written: &str, told: &str) -> String {
    let same = written.lines().zip(told.lines()).take_while(|(one, other)| one == other).count();
    let part = |text: &str| text.lines().skip(same).take(8).collect::<Vec<_>>().join("\n");
    format!("line {}\n--- written\n{}\n--- told\n{}", same + 1, part(written), part(told))
}
