//! Check: the release accepts the ingress certificate of the cluster.

use fairway_check::{CannotTell, Check, Context, Finding};
use k8s_openapi::api::core::v1::ConfigMap;
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::public_key::PublicKey;

use super::release_value;

const NAMESPACE: &str = "openshift-ingress";

/// Secret with the certificate and the key of the administrator. The operator publishes the
/// certificate in a ConfigMap of the same name, so that the check needs no Secret.
const CERTIFICATE: &str = "default-certificate";

/// The check of the ingress operator.
#[derive(Clone, Copy, Debug)]
pub struct Ingress;

impl Check for Ingress {
    fn name(&self) -> &'static str {
        "ingress"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let published = context.cluster().read::<ConfigMap>().in_namespace(NAMESPACE);
        // Without it, the operator generates a certificate that meets its requirements.
        let Some(certificate) = published.get(CERTIFICATE).await? else { return Ok(Vec::new()) };
        let pem = certificate.data.and_then(|mut data| data.remove("tls.crt"));
        let pem = pem.ok_or_else(|| {
            CannotTell::because(format!("ConfigMap {CERTIFICATE} has no key tls.crt"))
        })?;
        let violations = violations(pem.as_bytes(), requirements(context)?)?;
        Ok(finding(&violations, &context.target().to_string()).into_iter().collect())
    }
}

fn requirements(context: &Context) -> Result<CertificateRequirements, CannotTell> {
    let want = |key| release_value(context, NAMESPACE, "ingress-defaults", key);
    let bits = want("minimum-rsa-bits")?.and_then(|bits| bits.parse().ok());
    Ok(CertificateRequirements {
        rsa_bits: bits.unwrap_or_default(),
        refuses_sha1: want("refuse-sha1")?.as_deref() == Some("true"),
    })
}

fn finding(violations: &[String], target: &str) -> Option<Finding> {
    let message =
        format!("{target} rejects the default serving certificate: {}.", violations.join("; "));
    let remediation = format!(
        "Replace it: `kubectl -n {NAMESPACE} create secret tls {CERTIFICATE} --cert=tls.crt \
         --key=tls.key --dry-run=client -o yaml | kubectl apply -f -`"
    );
    let finding = Finding::critical("IngressCertificateRejected", message)
        .remediation(remediation)
        .url("https://platform.example/ingress/certificate");
    (!violations.is_empty()).then_some(finding)
}

/// Signature algorithms with SHA-1: RSA and ECDSA.
const SHA1: [&str; 2] = ["1.2.840.113549.1.1.5", "1.2.840.10045.4.1"];

/// Maximum number of certificates of a chain that are examined; real chains have three or four.
const MAX_CHAIN_LENGTH: usize = 20;

/// Requirements of a release for certificates.
#[derive(Clone, Copy, Debug)]
struct CertificateRequirements {
    /// Minimum size of RSA keys.
    rsa_bits: usize,
    /// Whether signatures with SHA-1 are refused.
    refuses_sha1: bool,
}

/// Violations of the requirements in a PEM chain; the first certificate is the one that is served.
fn violations(
    pem: &[u8],
    requirements: CertificateRequirements,
) -> Result<Vec<String>, CannotTell> {
    let mut violations = Vec::new();
    if Pem::iter_from_buffer(pem).next().is_none() {
        return Err(CannotTell::because("no certificate found"));
    }
    for (index, pem) in Pem::iter_from_buffer(pem).take(MAX_CHAIN_LENGTH).enumerate() {
        let unreadable = || CannotTell::because(format!("cannot parse certificate {}", index + 1));
        let pem = pem.map_err(|_| unreadable())?;
        let certificate = pem.parse_x509().map_err(|_| unreadable())?;
        let whose = if index == 0 { "it".to_owned() } else { certificate.subject().to_string() };
        if let Some(bits) = rsa_bits(&certificate).filter(|bits| *bits < requirements.rsa_bits) {
            let release_value = requirements.rsa_bits;
            violations.push(format!(
                "{whose} has an RSA key of {bits} bits; the minimum is {release_value} bits"
            ));
        }
        if requirements.refuses_sha1 && is_signed_with_sha1(&certificate, index) {
            violations.push(format!("{whose} is signed with SHA-1"));
        }
    }
    Ok(violations)
}

fn rsa_bits(certificate: &X509Certificate<'_>) -> Option<usize> {
    let Ok(PublicKey::RSA(key)) = certificate.public_key().parsed() else { return None };
    let modulus: Vec<u8> = key.modulus.iter().copied().skip_while(|byte| *byte == 0).collect();
    let unused = modulus.first().map_or(0, |first| first.leading_zeros() as usize);
    Some(modulus.len() * 8 - unused)
}

/// Clients do not verify the self-signature of a root certificate, so its algorithm does not
/// matter.
fn is_signed_with_sha1(certificate: &X509Certificate<'_>, index: usize) -> bool {
    let is_root = index > 0 && certificate.subject() == certificate.issuer();
    !is_root && SHA1.contains(&certificate.signature_algorithm.algorithm.to_id_string().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEAK: &str = include_str!("../../tests/data/weak.pem");
    const STRONG: &str = include_str!("../../tests/data/strong.pem");
    const CURVE: &str = include_str!("../../tests/data/curve.pem");

    const STRICT: CertificateRequirements =
        CertificateRequirements { rsa_bits: 2048, refuses_sha1: true };

    #[test]
    fn violations_lists_weak_keys_and_signatures() {
        let configured = |pem: &str| violations(pem.as_bytes(), STRICT).unwrap().join("\n");
        insta::assert_snapshot!(configured(WEAK), @"
        it has an RSA key of 1024 bits; the minimum is 2048 bits
        it is signed with SHA-1
        ");
        assert_eq!(configured(STRONG), "");
        assert_eq!(configured(CURVE), "");
        insta::assert_snapshot!(configured(&format!("{STRONG}{WEAK}")), @"CN=*.apps.platform.example has an RSA key of 1024 bits; the minimum is 2048 bits");
    }

    #[test]
    fn violations_without_certificate_is_unknown() {
        for text in ["", "not in PEM"] {
            let error = violations(text.as_bytes(), STRICT).unwrap_err();
            assert_eq!(error.to_string(), "no certificate found");
        }
    }

    #[test]
    fn violations_without_requirements_is_empty() {
        let lenient = CertificateRequirements { rsa_bits: 0, refuses_sha1: false };
        assert_eq!(violations(WEAK.as_bytes(), lenient), Ok(Vec::new()));
    }

    #[test]
    fn violations_of_malformed_certificate_is_unknown() {
        let broken = WEAK.replace("MII", "AAA");
        let error = violations(broken.as_bytes(), STRICT).unwrap_err();
        insta::assert_snapshot!(error, @"cannot parse certificate 1");
    }
}
