//! Which names things can have, in the API server's words.

const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LETTER_FIRST: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

/// Which names objects of a kind can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Labels of lower-case letters, digits and hyphens, joined by dots.
    Subdomain,
    /// One such label.
    Label,
    /// One such label that begins with a letter.
    LetterFirstLabel,
    /// Whatever can be one part of a path.
    PathSegment,
    /// Whatever there is: the name tells something else that has a rule of its own.
    Anything,
}

impl NameRule {
    /// Everything that is wrong with a name.
    pub(crate) fn problems(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::LetterFirstLabel => letter_first_label(name),
            Self::PathSegment => path_segment(name),
            Self::Anything => Vec::new(),
        }
    }

    /// Everything that is wrong with the beginning of a name, to which something is appended.
    pub(super) fn problems_of_prefix(self, prefix: &str) -> Vec<String> {
        match self {
            Self::PathSegment | Self::Anything => self.problems(prefix),
            // A letter after a hyphen makes a whole name of what could be a beginning.
            _ => match prefix.strip_suffix('-') {
                Some(rest) => self.problems(&format!("{rest}a")),
                None => self.problems(prefix),
            },
        }
    }
}

pub(crate) fn subdomain(name: &str) -> Vec<String> {
    problems(name, MAX_SUBDOMAIN, name.split('.').all(is_label), SUBDOMAIN)
}

pub(crate) fn label(name: &str) -> Vec<String> {
    problems(name, MAX_LABEL, is_label(name), LABEL)
}

pub(crate) fn letter_first_label(name: &str) -> Vec<String> {
    let good = is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
    problems(name, MAX_LABEL, good, LETTER_FIRST)
}

fn problems(name: &str, limit: usize, good: bool, otherwise: &str) -> Vec<String> {
    let too_long = (name.len() > limit).then(|| format!("must be no more than {limit} characters"));
    too_long.into_iter().chain((!good).then(|| otherwise.to_owned())).collect()
}

fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    let found = ['/', '%'].into_iter().filter(|&part| name.contains(part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}
