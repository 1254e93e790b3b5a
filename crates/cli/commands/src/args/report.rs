//! Output format of commands.

use clap::ValueEnum;

#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ReportFormat,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Human-readable text
    Text,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
}

impl ReportFormat {
    /// Whether the output is a JSON or YAML document.
    pub(crate) fn is_document(self) -> bool {
        !matches!(self, Self::Text)
    }
}
