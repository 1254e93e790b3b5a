//! Commands in texts, rendered so that users can copy them.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use fairway_insight::ShellWord;

/// Flags that select a cluster, and the identity of requests to it.
const CLUSTER_FLAGS: [&str; 4] = ["--kubeconfig", "--context", "--as", "--as-group"];

/// How the binary was started, which decides how its commands are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// As `fairway`.
    Fairway,
    /// As a plugin of kubectl.
    Kubectl,
    /// As a plugin of oc.
    Oc,
}

impl Invocation {
    /// The invocation by the name of the started file.
    pub(crate) fn of(file: Option<&OsString>) -> Self {
        match file.and_then(|file| Path::new(file).file_stem()?.to_str()) {
            Some("kubectl-fairway") => Self::Kubectl,
            Some("oc-fairway") => Self::Oc,
            _ => Self::Fairway,
        }
    }

    /// The words before the arguments of a command.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Fairway => "fairway",
            Self::Kubectl => "kubectl fairway",
            Self::Oc => "oc fairway",
        }
    }
}

/// Cluster flags of the current command line, quoted for a shell. Shown commands get the same flags,
/// so that they are about the same cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterFlags(Arc<str>);

impl ClusterFlags {
    /// The cluster flags in the arguments of a command.
    pub(crate) fn of(arguments: &[OsString]) -> Self {
        let mut flags = String::new();
        let mut arguments = arguments.iter().filter_map(|argument| argument.to_str());
        while let Some(argument) = arguments.next().filter(|argument| *argument != "--") {
            let (flag, value) = match argument.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (argument, None),
            };
            if CLUSTER_FLAGS.contains(&flag)
                && let Some(value) = value.or_else(|| arguments.next())
            {
                // Writing to a string does not fail.
                let _ = write!(flags, " {flag}={}", ShellWord(value));
            }
        }
        Self(flags.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Command that a text shows: a program and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownCommand<'a> {
    program: ShownProgram,
    arguments: &'a str,
}

/// Programs of shown commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShownProgram {
    Fairway,
    Kubectl,
}

impl<'a> ShownCommand<'a> {
    /// The command that a text consists of, if it is one. `fairway 0.1.0` is a version, not a
    /// command.
    fn parse(text: &'a str) -> Option<Self> {
        let is_argument =
            |text: &str| text.starts_with(|char: char| char.is_ascii_lowercase() || char == '-');
        if let Some(arguments) = text.strip_prefix("kubectl ") {
            return Some(Self { program: ShownProgram::Kubectl, arguments });
        }
        let arguments = text.strip_prefix("fairway ").filter(|rest| is_argument(rest))?;
        Some(Self { program: ShownProgram::Fairway, arguments })
    }

    /// Whether the command reads or changes a cluster.
    fn takes_cluster_flags(&self) -> bool {
        let mut words = self.arguments.split([' ', '\n']);
        match (self.program, words.next().unwrap_or_default()) {
            (ShownProgram::Kubectl, "config") => false,
            (ShownProgram::Kubectl, _) | (ShownProgram::Fairway, "upgrade" | "fleet") => true,
            (ShownProgram::Fairway, "olm") => words.next() == Some("list"),
            (ShownProgram::Fairway, _) => false,
        }
    }

    /// Writes the command as the user types it, with cluster flags before a pipe.
    fn render(&self, invocation: Invocation, flags: &ClusterFlags, out: &mut String) {
        out.push_str(match self.program {
            ShownProgram::Fairway => invocation.words(),
            ShownProgram::Kubectl => "kubectl",
        });
        let end = self.arguments.find(" | ").unwrap_or(self.arguments.len());
        let (arguments, pipe) = self.arguments.split_at(end);
        let flags = if self.takes_cluster_flags() { &*flags.0 } else { "" };
        for part in [" ", arguments, flags, pipe] {
            out.push_str(part);
        }
    }
}

/// Renders the commands of a line. The markup of texts decides what a command is: a line of its own,
/// with or without a `$` prompt, or text between backticks.
pub(super) fn render_commands<'a>(
    line: &'a str,
    invocation: Invocation,
    flags: &ClusterFlags,
) -> Cow<'a, str> {
    if invocation == Invocation::Fairway && flags.is_empty() {
        return Cow::Borrowed(line);
    }
    let bare = line.trim_start();
    let bare = bare.strip_prefix("$ ").unwrap_or(bare);
    let mut rendered = String::with_capacity(line.len() + flags.0.len() + 16);
    if let Some(command) = ShownCommand::parse(bare) {
        rendered.push_str(&line[..line.len() - bare.len()]);
        command.render(invocation, flags, &mut rendered);
        return Cow::Owned(rendered);
    }
    for (index, piece) in line.split('`').enumerate() {
        if index > 0 {
            rendered.push('`');
        }
        match ShownCommand::parse(piece).filter(|_| index % 2 == 1) {
            Some(command) => command.render(invocation, flags, &mut rendered),
            None => rendered.push_str(piece),
        }
    }
    Cow::Owned(rendered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(arguments: &str) -> ClusterFlags {
        ClusterFlags::of(&arguments.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn commands_have_name_of_plugin() {
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
            let rendered = |invocation| render_commands(line, invocation, &ClusterFlags::default());
            assert_eq!(rendered(Invocation::Kubectl), named);
            assert_eq!(rendered(Invocation::Fairway), line);
        }
    }

    #[test]
    fn invocation_follows_file_name() {
        for (file, invocation) in [
            ("/usr/local/bin/kubectl-fairway", Invocation::Kubectl),
            ("oc-fairway", Invocation::Oc),
            ("kubectl-fairway.exe", Invocation::Kubectl),
            ("fairway", Invocation::Fairway),
        ] {
            assert_eq!(Invocation::of(Some(&file.into())), invocation, "{file}");
        }
        assert_eq!(Invocation::of(None), Invocation::Fairway);
    }

    #[test]
    fn commands_have_cluster_flags() {
        let prod = flags("fairway upgrade plan --to=5.3 --context prod --as=me -- --context=lab");
        for (line, expected) in [
            (
                "  $ fairway upgrade --to=5.3.0",
                "  $ fairway upgrade --to=5.3.0 --context=prod --as=me",
            ),
            (
                "hint: `fairway upgrade` and `fairway graph path` tell",
                "hint: `fairway upgrade --context=prod --as=me` and `fairway graph path` tell",
            ),
            (
                "fairway upgrade -o json | jq .",
                "fairway upgrade -o json --context=prod --as=me | jq .",
            ),
            (
                "  fairway fleet report --all-contexts",
                "  fairway fleet report --all-contexts --context=prod --as=me",
            ),
            ("$ kubectl get nodes", "$ kubectl get nodes --context=prod --as=me"),
            ("the release of fairway upgrades", "the release of fairway upgrades"),
            (
                "`kubectl config get-contexts` lists them",
                "`kubectl config get-contexts` lists them",
            ),
            ("nothing", "nothing"),
        ] {
            assert_eq!(render_commands(line, Invocation::Fairway, &prod), expected);
            let none = flags("fairway upgrade");
            assert_eq!(render_commands(line, Invocation::Fairway, &none), line);
        }
    }

    #[test]
    fn flag_values_are_quoted_for_the_shell() {
        let odd = flags("fairway upgrade --context=a;b'c --kubeconfig=");
        assert_eq!(&*odd.0, r" --context='a;b'\''c' --kubeconfig=''");
        assert_eq!(flags("fairway upgrade --context"), ClusterFlags::default());
    }
}
