//! Keys and certificates of a cluster.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

/// DNS names of the API server.
const API_SERVER_NAMES: [&str; 4] =
    ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/// A certificate and its key as PEM.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// All certificates. Components read them from `<name>.crt` and `<name>.key` in the directory.
#[derive(Debug)]
pub(super) struct Pki {
    directory: PathBuf,
    pub(super) ca: String,
    pub(super) admin: Identity,
    pub(super) controller_manager: Identity,
    pub(super) scheduler: Identity,
    pub(super) kubelet: Identity,
}

impl Pki {
    /// Creates and writes the certificates of a cluster.
    pub(super) fn create(directory: &Path, address: Ipv4Addr) -> Result<Self> {
        fs::create_dir_all(directory)?;
        let authority = CertificateAuthority::create()?;
        let server = |name: &str| authority.issue(name, None, &server_names(address));
        let user = |name: &str, group: Option<&str>| authority.issue(name, group, &[]);
        let node = authority.issue(
            &format!("system:node:{address}"),
            Some("system:nodes"),
            &server_names(address),
        )?;
        let pki = Self {
            directory: directory.to_owned(),
            ca: authority.certificate.clone(),
            admin: user("admin", Some("system:masters"))?,
            controller_manager: user("system:kube-controller-manager", None)?,
            scheduler: user("system:kube-scheduler", None)?,
            kubelet: node,
        };
        let key = authority.issuer.key().serialize_pem();
        pki.write("ca", &Identity { certificate: authority.certificate.clone(), key })?;
        pki.write("apiserver", &server("kube-apiserver")?)?;
        pki.write("etcd", &server("etcd")?)?;
        pki.write("admin", &pki.admin)?;
        pki.write("kubelet", &pki.kubelet)?;
        // Both keys: Kubernetes 1.20 does not derive the public key from a private key in this format.
        let tokens = KeyPair::generate()?;
        fs::write(directory.join("sa.key"), tokens.serialize_pem())?;
        fs::write(directory.join("sa.pub"), tokens.public_key_pem())?;
        Ok(pki)
    }

    /// The path of a file.
    pub(super) fn path(&self, file: &str) -> String {
        self.directory.join(file).display().to_string()
    }

    /// A kubeconfig with embedded credentials.
    pub(super) fn kubeconfig(&self, server: &str, user: &Identity) -> String {
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: fairway\n  cluster:\n    server: {server}\n    certificate-authority-data: {}\n\
             users:\n\
             - name: fairway\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n\
             contexts:\n\
             - name: fairway\n  context:\n    cluster: fairway\n    user: fairway\n\
             current-context: fairway\n",
            base64(self.ca.as_bytes()),
            base64(user.certificate.as_bytes()),
            base64(user.key.as_bytes()),
        )
    }

    fn write(&self, name: &str, identity: &Identity) -> Result<()> {
        fs::write(self.directory.join(format!("{name}.crt")), &identity.certificate)?;
        fs::write(self.directory.join(format!("{name}.key")), &identity.key)?;
        Ok(())
    }
}

fn server_names(address: Ipv4Addr) -> Vec<SanType> {
    let names = API_SERVER_NAMES.iter().filter_map(|name| (*name).try_into().ok());
    let addresses = [address, Ipv4Addr::LOCALHOST].map(|ip| SanType::IpAddress(ip.into()));
    names.map(SanType::DnsName).chain(addresses).collect()
}

struct CertificateAuthority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl CertificateAuthority {
    fn create() -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "fairway-testbed");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    fn issue(&self, name: &str, group: Option<&str>, names: &[SanType]) -> Result<Identity> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.subject_alt_names = names.to_vec();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // etcd and the kubelet use one certificate as servers and clients.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= chunk.len() { char::from(ALPHABET[index]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_incomplete_group_is_padded() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn created_certificates_are_valid() {
        let directory = tempfile::tempdir().unwrap();
        let pki = Pki::create(directory.path(), Ipv4Addr::new(127, 96, 0, 1)).unwrap();
        let Identity { certificate, key } = &pki.admin;
        crate::http::TlsClient::new(&pki.ca, certificate, key).unwrap();
        assert!(directory.path().join("apiserver.key").exists());
        let public = fs::read_to_string(directory.path().join("sa.pub")).unwrap();
        assert!(public.starts_with("-----BEGIN PUBLIC KEY-----"));
    }
}
