//! Problems in graph-data, with their location and effect.

use std::fmt;

use fairway_api::read::ReadError;
use schemars::JsonSchema;
use serde::Serialize;

/// Location in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct FileLocation {
    /// Path of the file, relative to the graph-data directory.
    pub file: String,
    /// Position in the file, if known.
    #[serde(flatten)]
    pub position: Option<Position>,
}

/// Position in a file, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Position {
    /// Line number.
    pub line: u64,
    /// Column number.
    pub column: u64,
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match self.position {
            Some(Position { line, column }) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

impl<T> From<&serde_saphyr::Spanned<T>> for Position {
    fn from(spanned: &serde_saphyr::Spanned<T>) -> Self {
        Self { line: spanned.referenced.line(), column: spanned.referenced.column() }
    }
}

/// A problem in graph-data and its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataFinding {
    /// Location of the problem.
    #[serde(flatten)]
    pub place: FileLocation,
    /// The problem.
    #[serde(flatten)]
    pub problem: DataProblem,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Informational.
    Note,
    /// Probably a mistake.
    Warning,
    /// A mistake that blocks too many updates rather than too few.
    Error,
    /// A mistake that may leave an update unblocked.
    Open,
}

/// A problem in a file of graph-data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "problem")]
pub enum DataProblem {
    /// A file in a directory of YAML files has another extension.
    NotYaml,
    /// The extension is `yml`, which other readers skip.
    Yml,
    /// The schema version is newer than the supported one.
    NewerSchema {
        /// Schema version.
        schema: String,
    },
    /// A blocked-edges file is invalid and has no usable target.
    Unreadable {
        /// Parse error.
        why: String,
    },
    /// A blocked-edges file is invalid, but has a usable target.
    Salvaged {
        /// Parse error.
        why: String,
        /// Target version.
        to: String,
    },
    /// A blocked-edges file has no `to`.
    NoTarget {
        /// Version in the file name, which is used instead.
        taken_as: Option<String>,
    },
    /// `to` is not a version.
    BadTarget {
        /// Value of `to`.
        to: String,
        /// Version that is used instead.
        taken_as: Option<String>,
    },
    /// A blocked-edges file has no `from`.
    NoSource,
    /// `from` is not a valid regular expression.
    BadSource {
        /// Parse error.
        why: String,
    },
    /// A blocked-edges file has some fields of a risk, but not all.
    Incomplete {
        /// Missing fields.
        missing: Vec<&'static str>,
    },
    /// `matchingRules` is empty.
    NoRules,
    /// A matching rule has no type.
    RuleWithoutType,
    /// A channel file is invalid.
    UnreadableChannel {
        /// Parse error.
        why: String,
    },
    /// A channel has no name.
    UnnamedChannel,
    /// A channel name has characters that clients cannot request.
    BadChannelName {
        /// The name.
        name: String,
    },
    /// Another file defines the same channel.
    ChannelTwice {
        /// Name of the channel.
        name: String,
    },
    /// A channel lists a string that is not a version.
    BadVersion {
        /// The string.
        text: String,
    },
}

impl DataProblem {
    /// Severity of the problem.
    pub fn severity(&self) -> Severity {
        match self {
            Self::NotYaml | Self::NewerSchema { .. } => Severity::Note,
            Self::Yml | Self::ChannelTwice { .. } => Severity::Warning,
            Self::Unreadable { .. }
            | Self::NoTarget { taken_as: None }
            | Self::BadTarget { taken_as: None, .. } => Severity::Open,
            Self::NoTarget { .. }
            | Self::BadTarget { .. }
            | Self::Salvaged { .. }
            | Self::NoSource
            | Self::BadSource { .. }
            | Self::Incomplete { .. }
            | Self::NoRules
            | Self::RuleWithoutType
            | Self::UnreadableChannel { .. }
            | Self::UnnamedChannel
            | Self::BadChannelName { .. }
            | Self::BadVersion { .. } => Severity::Error,
        }
    }

    pub(crate) fn at(self, file: &str, position: Option<Position>) -> DataFinding {
        DataFinding { place: FileLocation { file: file.to_owned(), position }, problem: self }
    }
}

impl fmt::Display for DataFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl fmt::Display for DataProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYaml => f.write_str("skipped: not a .yaml file"),
            Self::Yml => f.write_str("rename the file to .yaml: other tools skip .yml files"),
            Self::NewerSchema { schema } => {
                write!(
                    f,
                    "schema {schema} is newer than the supported schema; unknown fields are \
                    ignored"
                )
            }
            Self::Unreadable { why } => write!(f, "invalid: {why}; no update is blocked"),
            Self::Salvaged { why, to } => {
                write!(f, "invalid: {why}; all updates to {to} are blocked for all clusters")
            }
            Self::NoTarget { taken_as: None } => f.write_str("no `to`; no update is blocked"),
            Self::NoTarget { taken_as: Some(version) } => {
                write!(f, "no `to`; assuming {version}, from the file name")
            }
            Self::BadTarget { to, taken_as: None } => {
                write!(f, "`to` is not a version: {to:?}; no update is blocked")
            }
            Self::BadTarget { to, taken_as: Some(version) } => {
                write!(f, "`to` is not a version: {to:?}; assuming {version}")
            }
            Self::NoSource => f.write_str("no `from`; all updates to this version are blocked"),
            Self::BadSource { why } => {
                write!(f, "invalid `from`: {why}; all updates to this version are blocked")
            }
            Self::Incomplete { missing } => {
                write!(f, "no {}; the update is blocked for all clusters", listed(missing))
            }
            Self::NoRules => {
                f.write_str("`matchingRules` is empty; the update is blocked for all clusters")
            }
            Self::RuleWithoutType => f.write_str(
                "a rule in `matchingRules` has no `type`; the update is blocked for all clusters",
            ),
            Self::UnreadableChannel { why } => write!(f, "skipped: {why}"),
            Self::UnnamedChannel => f.write_str("skipped: the channel has no name"),
            Self::BadChannelName { name } => write!(
                f,
                "skipped: invalid channel name {name:?}; use lowercase letters, digits, dots and \
                hyphens"
            ),
            Self::ChannelTwice { name } => {
                write!(f, "another file also defines channel {name}; the versions are merged")
            }
            Self::BadVersion { text } => write!(f, "{text:?} is not a version; skipped"),
        }
    }
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Message of a read error without the file name, and its position.
pub(super) fn error_message(error: ReadError) -> (String, Option<Position>) {
    match error {
        ReadError::Malformed { place, field, problem } => {
            let position = place.position.map(|(line, column)| Position { line, column });
            // `Spanned` values add a `.value` segment to the field path.
            let field = field.replace(".value", "");
            let field = if matches!(field.as_str(), "" | "." | "?") {
                String::new()
            } else {
                format!("field {field}: ")
            };
            (format!("{field}{problem}"), position)
        }
        error @ ReadError::TooLarge { .. } => (error.to_string(), None),
    }
}
