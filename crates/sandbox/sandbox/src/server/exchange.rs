//! A request and what is known of it so far.

use http::Request;
use http::header::USER_AGENT;
use jiff::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::attributes::Attributes;
use super::audit::Entry;
use super::identity::{Caller, Identity, Proof};
use super::listener::Connection;
use super::negotiate::Accepted;
use crate::api::Query;
use crate::faults::Subject;
use crate::rbac::User;

/// A request and what is known of it so far.
pub(super) struct Exchange {
    pub(super) parts: http::request::Parts,
    pub(super) query: Query,
    pub(super) accepted: Accepted,
    pub(super) entry: Entry,
}

impl Exchange {
    pub(super) fn begin<B>(request: Request<B>, now: Timestamp) -> (Self, B) {
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let agent = parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
        let peer = parts.extensions.get::<Connection>().map(|it| it.peer.ip().to_string());
        let entry = Entry {
            id: random_id(),
            uri: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            user_agent: agent.unwrap_or_default().to_owned(),
            source: peer.unwrap_or_else(|| "127.0.0.1".to_owned()),
            received: now,
            ..Entry::default()
        };
        (Self { parts, query, accepted: Accepted::default(), entry }, body)
    }

    pub(super) fn attributes(&self) -> &Attributes {
        &self.entry.attributes
    }

    /// Who acts: whoever asks, or whom they act as.
    pub(super) fn actor(&self) -> &Identity {
        self.entry.impersonated.as_ref().unwrap_or(&self.entry.identity)
    }

    pub(super) fn user(&self) -> &User {
        &self.actor().user
    }

    pub(super) fn connection(&self) -> Option<&Connection> {
        self.parts.extensions.get()
    }

    pub(super) fn proof(&self) -> Proof<'_> {
        Proof {
            caller: self.parts.extensions.get::<Caller>().map(|caller| &caller.0),
            certificate: self.connection().and_then(|it| it.certificate.as_ref()),
            headers: &self.parts.headers,
        }
    }

    /// The resource as faults name it, and the rest of what they know.
    pub(super) fn with_subject<T>(&self, use_it: impl FnOnce(&Subject<'_>) -> T) -> T {
        let attributes = self.attributes();
        let objects = attributes.objects.clone().unwrap_or_default();
        let resource = match objects.subresource.as_str() {
            "" => objects.resource,
            subresource => format!("{}/{subresource}", objects.resource),
        };
        use_it(&Subject {
            verb: &attributes.verb,
            resource: &resource,
            namespace: &objects.namespace,
            name: &objects.name,
            user_agent: &self.entry.user_agent,
        })
    }
}

/// A random UUID.
pub(super) fn random_id() -> String {
    let mut bytes = [0; 16];
    // An id that is not unique is a nuisance for readers of the log, and no reason to fail.
    let _ = SystemRandom::new().fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_uuids() {
        let id = random_id();
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert_ne!(id, random_id());
    }
}
