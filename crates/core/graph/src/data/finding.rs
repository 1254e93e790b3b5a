//! What is wrong in graph-data, where, and what came of it.

use std::fmt;

use fairway_api::read::ReadError;
use schemars::JsonSchema;
use serde::Serialize;

/// Location in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Place {
    /// Path of the file below the graph-data directory.
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

impl Place {
    /// A file as a whole.
    pub fn file(file: &str) -> Self {
        Self { file: file.to_owned(), position: None }
    }

    /// A position in a file.
    pub fn at(file: &str, position: Position) -> Self {
        Self { file: file.to_owned(), position: Some(position) }
    }
}

impl fmt::Display for Place {
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

/// Something wrong in graph-data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What.
    #[serde(flatten)]
    pub problem: Problem,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably not what was meant.
    Warning,
    /// Not what was meant; what came of it is on the safe side.
    Error,
    /// Not what was meant, and it may leave an edge open that somebody wanted to close.
    Open,
}

/// What is wrong in a file of graph-data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "problem")]
pub enum Problem {
    /// A file in a directory of YAML files is not one.
    NotYaml,
    /// The name ends in `yml`, which other readers skip.
    Yml,
    /// The schema is newer than this program.
    NewerSchema {
        /// The version of the schema.
        schema: String,
    },
    /// A block cannot be read, not even its target.
    Unreadable {
        /// Why.
        why: String,
    },
    /// A block cannot be read as a whole; its target could.
    Salvaged {
        /// Why it cannot be read.
        why: String,
        /// The target that could be read.
        to: String,
    },
    /// A block names no target.
    NoTarget {
        /// The version in the name of its file.
        taken_as: Option<String>,
    },
    /// The target of a block is not a version.
    BadTarget {
        /// What is there.
        to: String,
        /// The version that was probably meant.
        taken_as: Option<String>,
    },
    /// A block does not say from where.
    NoSource,
    /// A block's `from` is not a regular expression.
    BadSource {
        /// Why.
        why: String,
    },
    /// A block has some of the properties of a risk, but not all.
    Incomplete {
        /// Those it lacks.
        missing: Vec<&'static str>,
    },
    /// A block has a list of rules with nothing in it.
    NoRules,
    /// A block has a rule that does not say what it is.
    RuleWithoutType,
    /// A channel cannot be read.
    UnreadableChannel {
        /// Why.
        why: String,
    },
    /// A channel has no name.
    UnnamedChannel,
    /// A channel has a name that nobody can ask for.
    BadChannelName {
        /// The name.
        name: String,
    },
    /// Another file has a channel of that name.
    ChannelTwice {
        /// The name.
        name: String,
    },
    /// A channel lists something that is not a version.
    BadVersion {
        /// What is there.
        text: String,
    },
}

impl Problem {
    /// How much it matters.
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

    pub(crate) fn at(self, file: &str, position: Option<Position>) -> Finding {
        Finding { place: Place { file: file.to_owned(), position }, problem: self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYaml => f.write_str("skipped: not a .yaml file"),
            Self::Yml => f.write_str("other tools skip .yml files; rename it to .yaml"),
            Self::NewerSchema { schema } => {
                write!(
                    f,
                    "schema {schema} is newer than the supported schema; unknown fields are \
                    ignored"
                )
            }
            Self::Unreadable { why } => write!(f, "invalid, no update is blocked: {why}"),
            Self::Salvaged { why, to } => {
                write!(f, "invalid, all updates to {to} are blocked for all clusters: {why}")
            }
            Self::NoTarget { taken_as: None } => f.write_str("no `to`, no update is blocked"),
            Self::NoTarget { taken_as: Some(version) } => {
                write!(f, "no `to`; assuming {version}, from the file name")
            }
            Self::BadTarget { to, taken_as: None } => {
                write!(f, "`to` is not a version: {to:?}; no update is blocked")
            }
            Self::BadTarget { to, taken_as: Some(version) } => {
                write!(f, "`to` is not a version: {to:?}; assuming {version}")
            }
            Self::NoSource => f.write_str("no `from`, all updates to this version are blocked"),
            Self::BadSource { why } => {
                write!(f, "invalid `from`, all updates to this version are blocked: {why}")
            }
            Self::Incomplete { missing } => {
                write!(f, "no {}, the update is blocked for all clusters", listed(missing))
            }
            Self::NoRules => {
                f.write_str("`matchingRules` is empty, the update is blocked for all clusters")
            }
            Self::RuleWithoutType => f.write_str(
                "a rule in `matchingRules` has no `type`, the update is blocked for all clusters",
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

/// What a reading error says, without the name of the file, and where.
pub(super) fn reason(error: ReadError) -> (String, Option<Position>) {
    match error {
        ReadError::Malformed { place, field, problem } => {
            let position = place.position.map(|(line, column)| Position { line, column });
            // A value with its position is a structure of the parser's.
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
