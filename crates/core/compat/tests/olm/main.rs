//! Decisions of the OLM guard: documented behaviour, and conformance with OLM.

mod documented_behaviour;
mod olm_conformance;
mod other_implementations;
mod report;

use std::collections::BTreeMap;

use fairway_compat::olm::{
    InvalidPolicy, MAXIMUM_ANNOTATION, MinorVersion, MissingPolicy, OlmCheck, OlmOperator,
    OlmPolicy, PROPERTIES_ANNOTATION,
};

/// OLM's policy: declarations are optional, but must be valid.
const AS_OLM: OlmPolicy =
    OlmPolicy { invalid: InvalidPolicy::Block, missing: MissingPolicy::Allow };

/// An operator with the annotation.
fn annotated(name: &str, maximum: &str) -> OlmOperator {
    with(name, MAXIMUM_ANNOTATION, maximum)
}

/// An operator with OLM's property, whose value is JSON.
fn with_property(name: &str, value: &str) -> OlmOperator {
    let property = format!(r#"{{"type":"olm.maxOpenShiftVersion","value":{value}}}"#);
    with(name, PROPERTIES_ANNOTATION, &format!(r#"{{"properties":[{property}]}}"#))
}

/// An operator without a declaration.
fn without_declaration(name: &str) -> OlmOperator {
    OlmOperator::read("namespace", name, &BTreeMap::new())
}

fn with(name: &str, key: &str, value: &str) -> OlmOperator {
    OlmOperator::read("namespace", name, &BTreeMap::from([(key.to_owned(), value.to_owned())]))
}

/// The condition on a cluster version, such as `True AsExpected: Ready for upgrade`.
fn condition_of(operators: Vec<OlmOperator>, cluster: &str, policy: OlmPolicy) -> String {
    let running = MinorVersion::parse(cluster).unwrap();
    let upgradeable = OlmCheck::new(operators, running, policy).published().upgradeable;
    let condition_of = format!(
        "{} {}: {}",
        upgradeable.status.as_str(),
        upgradeable.reason.code,
        upgradeable.message
    );
    condition_of.trim_end().to_owned()
}
