//! By which words the program is called.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

/// What stands before a command in our texts.
const CALL: &str = "fairway ";

/// By which words the program is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// By its name.
    Fairway,
    /// As a plugin of kubectl.
    Kubectl,
    /// As a plugin of oc.
    Oc,
}

impl Program {
    /// What the file is called that was started.
    pub(crate) fn of(started: Option<&OsString>) -> Self {
        match started.and_then(|program| Path::new(program).file_stem()?.to_str()) {
            Some("kubectl-fairway") => Self::Kubectl,
            Some("oc-fairway") => Self::Oc,
            _ => Self::Fairway,
        }
    }

    /// What is typed.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Fairway => "fairway",
            Self::Kubectl => "kubectl fairway",
            Self::Oc => "oc fairway",
        }
    }

    /// The line with the commands in it as they are typed. A command begins a line, or stands
    /// between backticks.
    pub(super) fn named_in(self, line: &str) -> Cow<'_, str> {
        if self == Self::Fairway || !line.contains(CALL) {
            return Cow::Borrowed(line);
        }
        let mut named = String::with_capacity(line.len() + 16);
        let mut rest = line;
        while let Some(at) = rest.find(CALL) {
            let (before, call) = rest.split_at(at);
            let after = &call[CALL.len()..];
            named.push_str(before);
            named.push_str(if begins_a_command(&named) && names_one(after) {
                self.words()
            } else {
                CALL.trim_end()
            });
            named.push(' ');
            rest = after;
        }
        named.push_str(rest);
        Cow::Owned(named)
    }
}

fn begins_a_command(before: &str) -> bool {
    before.ends_with('`') || before.trim_start().trim_end_matches(['$', ' ']).is_empty()
}

/// A version, for instance, is no command.
fn names_one(after: &str) -> bool {
    after.starts_with(|char: char| char.is_ascii_lowercase() || char == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named_as_they_are_typed() {
        for (line, named) in [
            ("  fairway upgrade --to=5.1.0", "  kubectl fairway upgrade --to=5.1.0"),
            ("$ fairway upgrade", "$ kubectl fairway upgrade"),
            (
                "see `fairway upgrade` and `fairway -h`",
                "see `kubectl fairway upgrade` and `kubectl fairway -h`",
            ),
            ("fairway 0.1.0", "fairway 0.1.0"),
            ("the file fairway is missing", "the file fairway is missing"),
            ("/usr/bin/fairway upgrade", "/usr/bin/fairway upgrade"),
            ("kubectl fairway upgrade", "kubectl fairway upgrade"),
            ("", ""),
        ] {
            assert_eq!(Program::Kubectl.named_in(line), named);
            assert_eq!(Program::Fairway.named_in(line), line);
        }
    }

    #[test]
    fn the_name_of_the_file_tells() {
        for (file, program) in [
            ("/usr/local/bin/kubectl-fairway", Program::Kubectl),
            ("oc-fairway", Program::Oc),
            ("kubectl-fairway.exe", Program::Kubectl),
            ("fairway", Program::Fairway),
        ] {
            assert_eq!(Program::of(Some(&file.into())), program, "{file}");
        }
        assert_eq!(Program::of(None), Program::Fairway);
    }
}
