//! Validation of label keys and values, with the messages of the API server.

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
/// Message of the API server for a name that is not an RFC 1123 subdomain.
pub(crate) const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const MAX_NAME: usize = 63;
pub(crate) const MAX_SUBDOMAIN: usize = 253;

/// Validates a label key: a name, optionally with a DNS subdomain and `/` as prefix.
pub fn label_key(key: &str) -> Result<(), String> {
    join_problems(&key_problems(key))
}

/// All problems of a label key.
pub(crate) fn key_problems(key: &str) -> Vec<String> {
    let (prefix, name) = match key.split_once('/') {
        None => (None, key),
        Some((_, name)) if name.contains('/') => {
            let optional =
                "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a qualified name {NAME} {optional}")];
        }
        Some((prefix, name)) => (Some(prefix), name),
    };
    let problems = prefix.into_iter().flat_map(prefix_problems).chain(name_problems(name));
    problems.collect()
}

/// Validates a label value.
pub fn label_value(value: &str) -> Result<(), String> {
    join_problems(&value_problems(value))
}

/// All problems of a label value.
pub(crate) fn value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > MAX_NAME {
        problems.push(format!("must be no more than {MAX_NAME} characters"));
    }
    if !value.is_empty() && !is_name(value) {
        problems.push(VALUE.to_owned());
    }
    problems
}

fn join_problems(problems: &[String]) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

fn prefix_problems(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut problems = Vec::new();
    if prefix.len() > MAX_SUBDOMAIN {
        problems.push(format!("prefix part must be no more than {MAX_SUBDOMAIN} characters"));
    }
    if !prefix.split('.').all(is_dns_label) {
        problems.push(format!("prefix part {SUBDOMAIN}"));
    }
    problems
}

fn name_problems(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    }
    if name.len() > MAX_NAME {
        problems.push(format!("name part must be no more than {MAX_NAME} characters"));
    }
    if !is_name(name) {
        problems.push(format!("name part {NAME}"));
    }
    problems
}

fn is_name(text: &str) -> bool {
    starts_and_ends_with(text, |byte| byte.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether it matches the label pattern of subdomains, which does not limit the length.
pub(crate) fn is_dns_label(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    starts_and_ends_with(text, alphanumeric)
        && text.bytes().all(|byte| alphanumeric(byte) || byte == b'-')
}

fn starts_and_ends_with(text: &str, with: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| with(*byte)) && bytes.last().is_some_and(|byte| with(*byte))
}
