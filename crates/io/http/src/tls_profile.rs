//! TLS security profiles of the platform.

use rustls::crypto::{CryptoProvider, ring};
use rustls::version::{TLS12, TLS13};
use rustls::{ProtocolVersion, SupportedProtocolVersion};
use serde::Deserialize;

/// TLS settings for servers. Empty values leave the choice to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsProfile {
    /// Minimum TLS version, such as `VersionTLS12`.
    pub min_version: String,
    /// Cipher suites by IANA name, in order of preference.
    pub cipher_suites: Vec<String>,
}

/// `spec.tlsSecurityProfile` of `APIServer/cluster`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TlsSecurityProfile {
    #[serde(rename = "type")]
    type_: String,
    custom: Option<Custom>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Custom {
    ciphers: Vec<String>,
    #[serde(rename = "minTLSVersion")]
    min_version: String,
}

const MODERN: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/// Ciphers of `Intermediate` and `Old`, in addition to `MODERN`.
const INTERMEDIATE: [&str; 6] = [
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
];

/// Ciphers of `Old` only.
const OLD: [&str; 12] = [
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA256",
    "AES128-SHA",
    "AES256-SHA",
    "DES-CBC3-SHA",
];

impl TlsProfile {
    /// Cryptography of a server, with the cipher suites of the profile that this server implements.
    /// As in Go servers, a profile that lists none for TLS 1.3 allows all of them.
    pub(crate) fn provider(&self) -> CryptoProvider {
        let mut provider = ring::default_provider();
        if !self.cipher_suites.is_empty() {
            let all = std::mem::take(&mut provider.cipher_suites);
            let is_listed = |suite: &rustls::SupportedCipherSuite| {
                let name = suite.suite().as_str().unwrap_or_default().replace("TLS13_", "TLS_");
                self.cipher_suites.contains(&name)
            };
            let (new, old): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|it| it.version().version == ProtocolVersion::TLSv1_3);
            let listed: Vec<_> = new.iter().copied().filter(is_listed).collect();
            provider.cipher_suites = if listed.is_empty() { new } else { listed };
            provider.cipher_suites.extend(old.into_iter().filter(is_listed));
        }
        provider
    }

    /// TLS versions of a server. Versions before 1.2 are never served, and 1.2 only if the profile
    /// allows one of its cipher suites.
    pub(crate) fn versions(&self) -> &'static [&'static SupportedProtocolVersion] {
        static NEW: [&SupportedProtocolVersion; 1] = [&TLS13];
        static ALL: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
        let has_old_suites = self
            .provider()
            .cipher_suites
            .iter()
            .any(|it| it.version().version == ProtocolVersion::TLSv1_2);
        if self.min_version == "VersionTLS13" || !has_old_suites { &NEW } else { &ALL }
    }
}

impl From<TlsSecurityProfile> for TlsProfile {
    fn from(security: TlsSecurityProfile) -> Self {
        let profile = |min_version: &str, ciphers: &[&[&str]]| Self {
            min_version: min_version.to_owned(),
            cipher_suites: ciphers.concat().into_iter().filter_map(iana).collect(),
        };
        match (security.type_.as_str(), security.custom) {
            ("Old", _) => profile("VersionTLS10", &[&MODERN, &INTERMEDIATE, &OLD]),
            ("Modern", _) => profile("VersionTLS13", &[&MODERN]),
            ("Custom", Some(custom)) => Self {
                cipher_suites: custom.ciphers.iter().filter_map(|cipher| iana(cipher)).collect(),
                min_version: custom.min_version,
            },
            _ => profile("VersionTLS12", &[&MODERN, &INTERMEDIATE]),
        }
    }
}

/// IANA name of an OpenSSL cipher; `None` if Go's TLS does not implement it.
fn iana(cipher: &str) -> Option<String> {
    if cipher.starts_with("TLS_") {
        return Some(cipher.to_owned());
    }
    let (exchange, rest) =
        [("ECDHE-ECDSA-", "ECDHE_ECDSA"), ("ECDHE-RSA-", "ECDHE_RSA"), ("", "RSA")]
            .into_iter()
            .find_map(|(prefix, exchange)| Some((exchange, cipher.strip_prefix(prefix)?)))?;
    let rest = match rest {
        "AES128-GCM-SHA256" => "AES_128_GCM_SHA256",
        "AES256-GCM-SHA384" => "AES_256_GCM_SHA384",
        "AES128-SHA256" => "AES_128_CBC_SHA256",
        "AES128-SHA" => "AES_128_CBC_SHA",
        "AES256-SHA" => "AES_256_CBC_SHA",
        "CHACHA20-POLY1305" if exchange != "RSA" => "CHACHA20_POLY1305_SHA256",
        "DES-CBC3-SHA" if exchange == "RSA" => "3DES_EDE_CBC_SHA",
        _ => return None,
    };
    Some(format!("TLS_{exchange}_WITH_{rest}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn profile(security: serde_json::Value) -> TlsProfile {
        serde_json::from_value::<TlsSecurityProfile>(security).unwrap().into()
    }

    #[test]
    fn tls_profile_of_each_type_has_version_and_ciphers() {
        for (security, version, ciphers, last) in [
            (json!({}), "VersionTLS12", 9, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
            (
                json!({"type": "Intermediate"}),
                "VersionTLS12",
                9,
                "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            ),
            (json!({"type": "Old"}), "VersionTLS10", 21, "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
            (json!({"type": "Modern"}), "VersionTLS13", 3, "TLS_CHACHA20_POLY1305_SHA256"),
        ] {
            let profile = profile(security);
            assert_eq!(profile.min_version, version);
            assert_eq!(profile.cipher_suites.len(), ciphers, "{version}");
            assert_eq!(profile.cipher_suites.last().map(String::as_str), Some(last));
        }
    }

    /// TLS versions and cipher suites of a server with a profile.
    fn served(security: serde_json::Value) -> String {
        let profile = profile(security);
        let versions: Vec<_> =
            profile.versions().iter().map(|version| format!("{:?}", version.version)).collect();
        let suites = profile.provider().cipher_suites;
        let suites: Vec<_> = suites.iter().map(|suite| format!("{:?}", suite.suite())).collect();
        format!("{}: {}", versions.join(" "), suites.join(" "))
    }

    #[test]
    fn server_of_each_profile_has_its_versions_and_ciphers() {
        insta::assert_snapshot!(served(json!({"type": "Modern"})), @"TLSv1_3: TLS13_AES_256_GCM_SHA384 TLS13_AES_128_GCM_SHA256 TLS13_CHACHA20_POLY1305_SHA256");
        let intermediate = served(json!({}));
        assert_eq!(intermediate, served(json!({"type": "Old"})), "no weaker suites exist");
        insta::assert_snapshot!(intermediate, @"TLSv1_3 TLSv1_2: TLS13_AES_256_GCM_SHA384 TLS13_AES_128_GCM_SHA256 TLS13_CHACHA20_POLY1305_SHA256 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256");
        let custom = |ciphers: &[&str]| {
            let custom = json!({"ciphers": ciphers, "minTLSVersion": "VersionTLS12"});
            served(json!({"type": "Custom", "custom": custom}))
        };
        insta::assert_snapshot!(custom(&["ECDHE-RSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"]), @"TLSv1_3 TLSv1_2: TLS13_AES_128_GCM_SHA256 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
        insta::assert_snapshot!(custom(&["AES128-SHA"]), @"TLSv1_3: TLS13_AES_256_GCM_SHA384 TLS13_AES_128_GCM_SHA256 TLS13_CHACHA20_POLY1305_SHA256");
    }

    #[test]
    fn tls_profile_custom_keeps_order_and_known_ciphers() {
        let ciphers = ["AES128-SHA", "DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"];
        let custom = json!({"ciphers": ciphers, "minTLSVersion": "VersionTLS11"});
        let expected = TlsProfile {
            min_version: "VersionTLS11".to_owned(),
            cipher_suites: vec![
                "TLS_RSA_WITH_AES_128_CBC_SHA".to_owned(),
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned(),
            ],
        };
        assert_eq!(profile(json!({"type": "Custom", "custom": custom})), expected);
    }
}
