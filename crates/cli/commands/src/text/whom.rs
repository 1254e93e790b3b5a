//! Which cluster was named when the program was called: commands that are shown are about that one.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::Arc;

use fairway_insight::Word;

/// What names a cluster, and as whom it is asked.
const FLAGS: [&str; 4] = ["--kubeconfig", "--context", "--as", "--as-group"];

/// Commands that take them.
const COMMANDS: [&str; 4] = ["fairway upgrade", "fairway olm list", "fairway fleet ", "kubectl "];

/// What was typed to name the cluster, as it is typed once more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whom(Arc<str>);

impl Whom {
    /// What the arguments of this call name.
    pub(crate) fn of(arguments: &[OsString]) -> Self {
        let mut flags = String::new();
        let mut arguments = arguments.iter().filter_map(|argument| argument.to_str());
        while let Some(argument) = arguments.next().filter(|argument| *argument != "--") {
            let (flag, value) = match argument.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (argument, None),
            };
            if FLAGS.contains(&flag)
                && let Some(value) = value.or_else(|| arguments.next())
            {
                // Writing to a string does not fail.
                let _ = write!(flags, " {flag}={}", Word(value));
            }
        }
        Self(flags.into())
    }

    pub(super) fn is_the_usual_one(&self) -> bool {
        self.0.is_empty()
    }

    /// The line with commands that are about the same cluster. A command is a line of its own, or
    /// stands between backticks.
    pub(super) fn named_in<'a>(&self, line: &'a str) -> Cow<'a, str> {
        if self.is_the_usual_one() || !COMMANDS.iter().any(|command| line.contains(command)) {
            return Cow::Borrowed(line);
        }
        let bare = line.trim_start();
        if is_about_a_cluster(bare.strip_prefix("$ ").unwrap_or(bare)) {
            let end = line.find(" | ").unwrap_or(line.len());
            return Cow::Owned(format!("{}{}{}", &line[..end], self.0, &line[end..]));
        }
        let mut named = String::with_capacity(line.len() + self.0.len());
        let pieces = line.split('`').enumerate();
        for (number, piece) in pieces {
            if number > 0 {
                named.push('`');
            }
            named.push_str(piece);
            if number % 2 == 1 && is_about_a_cluster(piece) {
                named.push_str(&self.0);
            }
        }
        Cow::Owned(named)
    }
}

fn is_about_a_cluster(command: &str) -> bool {
    let is_about_files = command.starts_with("kubectl config");
    !is_about_files && COMMANDS.iter().any(|known| command.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whom(arguments: &str) -> Whom {
        Whom::of(&arguments.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn commands_that_are_shown_are_about_the_cluster_that_was_named() {
        let prod = whom("fairway upgrade plan --to=5.3 --context prod --as=me -- --context=lab");
        for (line, named) in [
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
            assert_eq!(prod.named_in(line), named);
            assert_eq!(whom("fairway upgrade").named_in(line), line);
        }
    }

    #[test]
    fn names_are_one_word_for_a_shell() {
        let odd = whom("fairway upgrade --context=a;b'c --kubeconfig=");
        assert_eq!(&*odd.0, r" --context='a;b'\''c' --kubeconfig=''");
        assert_eq!(whom("fairway upgrade --context"), Whom::default());
    }
}
