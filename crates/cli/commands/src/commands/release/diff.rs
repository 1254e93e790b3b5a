//! `fairway release diff`: changes between two releases.

use std::fmt;

use fairway_release::changes::Changes;
use schemars::JsonSchema;
use serde::Serialize;

use super::input;
use crate::args::release::DiffArgs;
use crate::exit::ExitStatus;
use crate::foreign_text;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for Difference {
    const KIND: &'static str = "ReleaseDifference";
}

pub(crate) fn run(args: &DiffArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let release = |name: &str| input::read(name, &args.access)?.load_as(ANY_IMAGE);
    let changes = Difference(Changes::between(&release(&args.from)?, &release(&args.to)?));
    output::report(printer.stdout(), args.output.output, &changes)?;
    let has_changed = args.exit_code && !changes.0.is_empty();
    Ok(if has_changed { ExitStatus::Refused } else { ExitStatus::Success })
}

/// The image of the operator, which is the release image, differs in every release and is no change.
const ANY_IMAGE: &str = "{{.ReleaseImage}}";

/// Differences between two releases.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Difference(Changes);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let lines: Vec<String> = foreign_text::lines(&text).map(|line| line.to_string()).collect();
        f.write_str(&lines.join("\n"))
    }
}
