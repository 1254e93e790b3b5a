//! Pull secrets, in the format of Docker's `config.json`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

/// Maximum size of a pull secret. Kubernetes allows Secrets of 1 MiB.
const MAX_BYTES: usize = 1 << 20;

/// Registry credentials by registry or repository.
#[derive(Clone, Default)]
pub struct PullSecrets {
    auths: BTreeMap<String, Credentials>,
}

/// Credentials for a registry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// A user and a password.
    Password { user: String, password: String },
    /// A token from `docker login`, which is exchanged for access tokens.
    IdentityToken(String),
}

/// An invalid pull secret.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum SecretsError {
    /// The file exceeds the size limit.
    #[error("the pull secret has {0} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge(usize),
    /// The file is malformed. The error has only a position, because the content is secret.
    #[error("the pull secret is not valid JSON with `auths`: line {line}, column {column}")]
    Malformed { line: usize, column: usize },
    /// The credentials of a registry cannot be read.
    #[error(
        "the pull secret has an invalid `auth` for {0}: expected the base64 encoding of \
         USER:PASSWORD"
    )]
    Auth(String),
}

#[derive(Deserialize)]
struct File {
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl PullSecrets {
    /// Parses a Docker `config.json`.
    pub fn parse(bytes: &[u8]) -> Result<Self, SecretsError> {
        if bytes.len() > MAX_BYTES {
            return Err(SecretsError::TooLarge(bytes.len()));
        }
        let file: File = serde_json::from_slice(bytes).map_err(|error| {
            SecretsError::Malformed { line: error.line(), column: error.column() }
        })?;
        // Credential helpers leave empty entries.
        let entries = file.auths.into_iter().filter(|(_, entry)| !entry.is_empty());
        let auths = entries.map(|(registry, entry)| {
            let credentials = entry.credentials().ok_or(SecretsError::Auth(registry.clone()))?;
            Ok((registry_key(&registry), credentials))
        });
        Ok(Self { auths: auths.collect::<Result<_, _>>()? })
    }

    /// Credentials for a repository: the entry with the longest matching prefix.
    pub(crate) fn find(&self, repository: &str) -> Option<&Credentials> {
        let mut name = repository;
        loop {
            if let Some(found) = self.auths.get(name) {
                return Some(found);
            }
            (name, _) = name.rsplit_once('/')?;
        }
    }
}

impl Entry {
    fn is_empty(&self) -> bool {
        let Self { auth, username, password, identitytoken } = self;
        let all = [auth, username, password, identitytoken];
        all.into_iter().all(|text| text.as_deref().is_none_or(str::is_empty))
    }

    fn credentials(self) -> Option<Credentials> {
        // `docker login` writes a user without a password beside an identity token.
        if let Some(token) = self.identitytoken.filter(|token| !token.is_empty()) {
            return Some(Credentials::IdentityToken(token));
        }
        if let (Some(user), Some(password)) = (self.username, self.password) {
            return Some(Credentials::Password { user, password });
        }
        let decoded = String::from_utf8(BASE64_STANDARD.decode(self.auth?).ok()?).ok()?;
        let (user, password) = decoded.split_once(':')?;
        Some(Credentials::Password { user: user.to_owned(), password: password.to_owned() })
    }
}

/// The registry or repository of a key. Old files have URLs.
fn registry_key(key: &str) -> String {
    let name = key.split_once("://").map_or(key, |(_, name)| name).trim_end_matches('/');
    let old = ["/v1", "/v2"].iter().find_map(|version| name.strip_suffix(version));
    old.unwrap_or(name).to_owned()
}

// Omits passwords, which must not appear in logs.
impl fmt::Debug for PullSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.auths.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> PullSecrets {
        PullSecrets::parse(
            br#"{"auths": {
                "registry.example": {"auth": "dXNlcjpwYXNz", "email": "x@example"},
                "registry.example/team": {"username": "team", "password": "a:b"},
                "https://old.example/v1/": {"auth": "b2xkOnA6cQ=="},
                "token.example": {"auth": "PHRva2VuPjo=", "identitytoken": "t0ken"},
                "empty.example": {}
            }, "credsStore": "x"}"#,
        )
        .unwrap()
    }

    #[test]
    fn find_returns_longest_matching_prefix() {
        let cases = [
            ("registry.example/other/a", Some("user pass")),
            ("registry.example/team/a", Some("team a:b")),
            ("registry.example/teams", Some("user pass")),
            ("old.example/a", Some("old p:q")),
            ("token.example/a", Some("t0ken")),
            ("registry.example.evil/a", None),
            ("empty.example/a", None),
        ];
        for (name, expected) in cases {
            let secrets = secrets();
            let found = secrets.find(name).map(|credentials| match credentials {
                Credentials::Password { user, password } => format!("{user} {password}"),
                Credentials::IdentityToken(token) => token.clone(),
            });
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn parse_errors_and_debug_omit_secrets() {
        let texts = [
            r#"{"auths": {"registry.example": {"auth": "hunter2!"}}}"#,
            r#"{"auths": {"registry.example": {"auth": "aHVudGVyMg=="}}}"#,
            r#"{"auths": "hunter2"}"#,
            r#"{"auth": {}}"#,
        ];
        let errors = texts.map(|text| PullSecrets::parse(text.as_bytes()).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"), @"
        the pull secret has an invalid `auth` for registry.example: expected the base64 encoding of USER:PASSWORD
        the pull secret has an invalid `auth` for registry.example: expected the base64 encoding of USER:PASSWORD
        the pull secret is not valid JSON with `auths`: line 1, column 19
        the pull secret is not valid JSON with `auths`: line 1, column 12
        ");
        let debug = format!("{:?}", secrets());
        assert_eq!(
            debug,
            r#"{"old.example", "registry.example", "registry.example/team", "token.example"}"#
        );
    }
}
