//! How answers are printed.

use clap::ValueEnum;

#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// How to print the answer
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ReportFormat,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// The same as YAML
    Yaml,
}

impl ReportFormat {
    /// Whether it is a document for programs.
    pub(crate) fn is_document(self) -> bool {
        !matches!(self, Self::Text)
    }
}
