//! Pull secrets, in the format of Docker's `config.json`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

/// Longer files are refused. Kubernetes allows secrets of 1 MiB.
const MAX_BYTES: usize = 1 << 20;

/// Who we are, for each registry.
#[derive(Clone, Default)]
pub struct PullSecrets {
    auths: BTreeMap<String, Credentials>,
}

/// What a registry knows us by.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// A user and a password.
    Password { user: String, password: String },
    /// What a registry gave somebody who logged in, to be exchanged for tokens.
    IdentityToken(String),
}

/// Why a pull secret could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// It is too large to be looked at.
    #[error("the pull secret has {0} bytes; the limit is {MAX_BYTES}")]
    TooLarge(usize),
    /// It is not what it should be. What is there is not repeated: it is a secret.
    #[error("the pull secret is not valid JSON with `auths`: line {line}, column {column}")]
    Malformed {
        /// Where.
        line: usize,
        /// Where in the line.
        column: usize,
    },
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
    /// Reads a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, SecretsError> {
        if bytes.len() > MAX_BYTES {
            return Err(SecretsError::TooLarge(bytes.len()));
        }
        let file: File = serde_json::from_slice(bytes).map_err(|error| {
            SecretsError::Malformed { line: error.line(), column: error.column() }
        })?;
        // Tools that keep passwords elsewhere leave empty entries.
        let said = file.auths.into_iter().filter(|(_, entry)| !entry.is_empty());
        let auths = said.map(|(registry, entry)| {
            let credentials = entry.credentials().ok_or(SecretsError::Auth(registry.clone()))?;
            Ok((place(&registry), credentials))
        });
        Ok(Self { auths: auths.collect::<Result<_, _>>()? })
    }

    /// Who we are for a repository: what is said of the longest part of its name.
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
        // Whoever logs in for one leaves a user without a password beside it.
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

/// The name of a registry or of a part of it; old files have whole addresses.
fn place(key: &str) -> String {
    let place = key.split_once("://").map_or(key, |(_, place)| place).trim_end_matches('/');
    let old = ["/v1", "/v2"].iter().find_map(|version| place.strip_suffix(version));
    old.unwrap_or(place).to_owned()
}

// Passwords must not get into logs.
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
    fn the_longest_part_of_a_name_counts() {
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
    fn nothing_secret_is_said() {
        let texts = [
            r#"{"auths": {"registry.example": {"auth": "hunter2!"}}}"#,
            r#"{"auths": {"registry.example": {"auth": "aHVudGVyMg=="}}}"#,
            r#"{"auths": "hunter2"}"#,
            r#"{"auth": {}}"#,
        ];
        let told = texts.map(|text| PullSecrets::parse(text.as_bytes()).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"), @"
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
