//! ServiceAccount tokens: JSON Web Tokens, signed with a key of the sandbox.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rbac::User;

/// Maximum token length. Issued tokens have less than 1 KiB.
const MAX_TOKEN_LENGTH: usize = 16 << 10;

/// Issues and verifies tokens.
pub struct Tokens {
    key: EcdsaKeyPair,
    key_id: String,
    issuer: String,
    random: SystemRandom,
}

/// Why a token cannot be issued or verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The key cannot be created or used.
    #[error("cannot use the token signing key")]
    Key,
    /// It is not a token of this issuer.
    #[error("invalid bearer token")]
    Invalid,
    /// It has expired.
    #[error("token has expired")]
    Expired,
    /// It has other audiences.
    #[error("token audiences is invalid for the target audiences")]
    Audience,
}

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The audiences.
    #[serde(rename = "aud")]
    pub audiences: Vec<String>,
    /// Expiration time in Unix seconds.
    #[serde(rename = "exp")]
    pub expires: i64,
    /// Issue time in Unix seconds.
    #[serde(rename = "iat")]
    pub issued: i64,
    /// The issuer.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// The Kubernetes claims.
    #[serde(rename = "kubernetes.io")]
    pub cluster: ClusterClaims,
    #[serde(rename = "nbf")]
    not_before: i64,
    #[serde(rename = "sub")]
    subject: String,
}

/// The Kubernetes claims of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterClaims {
    /// Namespace of the ServiceAccount.
    pub namespace: String,
    /// The Pod that the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<ObjectIdentity>,
    /// The Secret that the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<ObjectIdentity>,
    /// The ServiceAccount.
    pub serviceaccount: ObjectIdentity,
}

/// Name and UID of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectIdentity {
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
}

impl ClusterClaims {
    /// The user of the token.
    pub fn user(&self) -> User {
        let Self { namespace, serviceaccount, .. } = self;
        User {
            name: format!("system:serviceaccount:{namespace}:{}", serviceaccount.name),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ],
        }
    }
}

impl Tokens {
    /// Creates a signing key. The issuer is the URL of the API server, which is also the default
    /// audience.
    pub fn create(issuer: &str) -> Result<Self, TokenError> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document =
            EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| TokenError::Key)?;
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random)
            .map_err(|_| TokenError::Key)?;
        let fingerprint = digest::digest(&digest::SHA256, key.public_key().as_ref());
        let key_id = URL_SAFE_NO_PAD.encode(fingerprint);
        Ok(Self { key, key_id, issuer: issuer.to_owned(), random })
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Issues a token. Without audiences, it is for the API server.
    pub fn issue(
        &self,
        claims_of_cluster: ClusterClaims,
        audiences: Vec<String>,
        seconds: i64,
        now: Timestamp,
    ) -> Result<String, TokenError> {
        let issued = now.as_second();
        let audiences = if audiences.is_empty() { vec![self.issuer.clone()] } else { audiences };
        let claims = Claims {
            audiences,
            expires: issued.saturating_add(seconds),
            issued,
            issuer: self.issuer.clone(),
            subject: claims_of_cluster.user().name,
            cluster: claims_of_cluster,
            not_before: issued,
        };
        let header = json!({ "alg": "ES256", "kid": self.key_id });
        let text = format!("{}.{}", encode(&header), encode(&json!(claims)));
        let signature =
            self.key.sign(&self.random, text.as_bytes()).map_err(|_| TokenError::Key)?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Verifies a token for one of these audiences, or for the API server if there are none.
    pub fn verify(
        &self,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Claims, TokenError> {
        let claims = self.read(token).ok_or(TokenError::Invalid)?;
        if now.as_second() >= claims.expires {
            return Err(TokenError::Expired);
        }
        let is_meant = |audience: &String| match audiences {
            [] => *audience == self.issuer,
            _ => audiences.contains(audience),
        };
        if claims.audiences.iter().any(is_meant) { Ok(claims) } else { Err(TokenError::Audience) }
    }

    fn read(&self, token: &str) -> Option<Claims> {
        if token.len() > MAX_TOKEN_LENGTH {
            return None;
        }
        let (text, signature) = token.rsplit_once('.')?;
        let (_header, claims) = text.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public_key());
        key.verify(text.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }
}

fn encode(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;

    fn robot() -> ClusterClaims {
        ClusterClaims {
            namespace: "a".to_owned(),
            pod: None,
            secret: None,
            serviceaccount: ObjectIdentity { name: "robot".to_owned(), uid: "u".to_owned() },
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn verify_checks_expiration_and_audience() {
        let tokens = Tokens::create("https://here").unwrap();
        let default = tokens.issue(robot(), vec![], HOUR, at(1000)).unwrap();
        let other = tokens.issue(robot(), vec!["other".to_owned()], HOUR, at(1000)).unwrap();
        for (token, audience, now, expected) in [
            (&default, None, 1000, Ok(())),
            (&default, None, 1000 + HOUR, Err(TokenError::Expired)),
            (&default, Some("https://here"), 1000, Ok(())),
            (&default, Some("other"), 1000, Err(TokenError::Audience)),
            (&other, None, 1000, Err(TokenError::Audience)),
            (&other, Some("other"), 1000, Ok(())),
        ] {
            let audiences: Vec<_> = audience.into_iter().map(str::to_owned).collect();
            let verified = tokens.verify(token, &audiences, at(now));
            assert_eq!(verified.map(|_| ()), expected, "{audience:?} at {now}");
        }
        let claims = tokens.verify(&default, &[], at(1000)).unwrap();
        assert_eq!(claims.cluster.user().name, "system:serviceaccount:a:robot");
    }

    #[test]
    fn verify_refuses_invalid_signatures() {
        let tokens = Tokens::create("https://here").unwrap();
        let others = Tokens::create("https://here").unwrap();
        let token = tokens.issue(robot(), vec![], HOUR, at(1000)).unwrap();
        let tampered = token.replacen('.', ".e", 1);
        let unsigned = &token[..token.rfind('.').unwrap()];
        let huge = "a".repeat(MAX_TOKEN_LENGTH + 1);
        for bad in ["", ".", "..", "a.b.c", &tampered, unsigned, &huge] {
            assert_eq!(tokens.verify(bad, &[], at(1000)), Err(TokenError::Invalid), "{bad:.40}");
        }
        assert_eq!(others.verify(&token, &[], at(1000)), Err(TokenError::Invalid));
    }
}
