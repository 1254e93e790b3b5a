//! The parameters of a request.

use std::borrow::Cow;

use url::form_urlencoded;

use super::refusal::Refusal;

/// The architecture of clusters that do not say theirs.
const DEFAULT_ARCHITECTURE: &str = "amd64";

/// The parameters that mean something; of repeated ones the last counts, others are ignored.
#[derive(Debug, Default)]
pub(super) struct Query<'a> {
    channel: Option<Cow<'a, str>>,
    arch: Option<Cow<'a, str>>,
    version: Option<Cow<'a, str>>,
}

impl<'a> Query<'a> {
    pub(super) fn parse(query: Option<&'a str>) -> Self {
        let mut parsed = Self::default();
        for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match key.as_ref() {
                "channel" => parsed.channel = Some(value),
                "arch" => parsed.arch = Some(value),
                "version" => parsed.version = Some(value),
                _ => {}
            }
        }
        parsed
    }

    pub(super) fn channel(&self) -> Result<&str, Refusal> {
        let channel = self.channel.as_deref().ok_or(Refusal::Missing("channel"))?;
        let allowed = |byte: u8| is_plain(byte) || byte == b'-' || byte == b'.';
        check("channel", channel, allowed, r"^[0-9a-z\-\.]+$")
    }

    /// The architecture, or the one that goes without saying.
    pub(super) fn architecture(&self) -> Result<&str, Refusal> {
        Ok(self.given_architecture()?.unwrap_or(DEFAULT_ARCHITECTURE))
    }

    pub(super) fn given_architecture(&self) -> Result<Option<&str>, Refusal> {
        let given = self.arch.as_deref();
        given.map(|arch| check("arch", arch, is_plain, "^[0-9a-z]+$")).transpose()
    }

    pub(super) fn version(&self) -> Result<&str, Refusal> {
        self.version.as_deref().ok_or(Refusal::Missing("version"))
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn check<'a>(
    name: &'static str,
    value: &'a str,
    allowed: impl Fn(u8) -> bool,
    pattern: &'static str,
) -> Result<&'a str, Refusal> {
    if !value.is_empty() && value.bytes().all(allowed) {
        return Ok(value);
    }
    Err(Refusal::Invalid { name, value: value.to_owned(), pattern })
}
