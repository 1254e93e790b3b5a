//! Whether the release takes the certificate that the cluster serves with.

use fairway_check::{CannotTell, Check, Context, Finding};
use k8s_openapi::api::core::v1::Secret;

use super::certificate::{self, Demands};
use super::wanted;

const NAMESPACE: &str = "openshift-ingress";

/// The Secret of administrators who bring a certificate of their own. Only this one may be read.
const CERTIFICATE: &str = "default-certificate";

/// The check of the ingress operator.
#[derive(Clone, Copy, Debug)]
pub struct Ingress;

impl Check for Ingress {
    fn name(&self) -> &'static str {
        "ingress"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let secrets = context.cluster().read::<Secret>().in_namespace(NAMESPACE);
        // Without one, the operator makes a certificate as it likes it.
        let Some(secret) = secrets.get(CERTIFICATE).await? else { return Ok(Vec::new()) };
        let pem = secret.data.and_then(|mut data| data.remove("tls.crt"));
        let pem = pem.ok_or_else(|| {
            CannotTell::because(format!("Secret {CERTIFICATE} has no key tls.crt"))
        })?;
        let faults = certificate::faults(&pem.0, demands(context)?)?;
        Ok(found(&faults, &context.target().to_string()).into_iter().collect())
    }
}

fn demands(context: &Context) -> Result<Demands, CannotTell> {
    let want = |key| wanted(context, NAMESPACE, "ingress-defaults", key);
    let bits = want("minimum-rsa-bits")?.and_then(|bits| bits.parse().ok());
    Ok(Demands {
        rsa_bits: bits.unwrap_or_default(),
        refuses_sha1: want("refuse-sha1")?.as_deref() == Some("true"),
    })
}

fn found(faults: &[String], target: &str) -> Option<Finding> {
    let message =
        format!("{target} rejects the default serving certificate: {}.", faults.join("; "));
    let remediation = format!(
        "Replace it: `kubectl -n {NAMESPACE} create secret tls {CERTIFICATE} --cert=tls.crt \
         --key=tls.key --dry-run=client -o yaml | kubectl apply -f -`"
    );
    let finding = Finding::critical("IngressCertificateRejected", message)
        .remediation(remediation)
        .url("https://platform.example/ingress/certificate");
    (!faults.is_empty()).then_some(finding)
}
