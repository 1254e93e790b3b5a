//! Endpoints.

use serde_json::Value;

use super::check::{Errors, invalid, ip_address, one_of, port_number, unusual_address};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, items, items_mut, text};
use crate::field_error::{FieldError, Path};
use crate::metadata::label;

pub(super) const RULES: Rules = Rules { default: set_defaults, validate, ..NOTHING_SPECIAL };

fn set_defaults(endpoints: &mut Value) {
    for subset in items_mut(endpoints, "subsets") {
        items_mut(subset, "ports").for_each(|port| default(port, "protocol", "TCP"));
    }
}

fn validate(endpoints: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("subsets");
    for (index, subset) in items(endpoints, "subsets").iter().enumerate() {
        let at = path.index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|list| items(subset, list).is_empty()) {
            let why = "must specify `addresses` or `notReadyAddresses`";
            errors.push(FieldError::required(&at, why));
        }
        for list in lists {
            for (index, address) in items(subset, list).iter().enumerate() {
                let at = at.field(list).index(index).field("ip");
                let address = text(address, "ip");
                ip_address(address, &at, &mut errors);
                unusual_address(address, &at, &mut errors);
            }
        }
        ports(items(subset, "ports"), &at.field("ports"), &mut errors);
    }
    errors
}

fn ports(ports: &[Value], path: &Path, errors: &mut Errors) {
    for (index, port) in ports.iter().enumerate() {
        let at = path.index(index);
        match text(port, "name") {
            "" if ports.len() > 1 => errors.push(FieldError::required(at.field("name"), "")),
            "" => {}
            name => invalid(&at.field("name"), name, label(name), errors),
        }
        port_number(&port["port"], &at.field("port"), errors);
        one_of(port, "protocol", &["SCTP", "TCP", "UDP"], &at, errors);
    }
}
