//! The OLM guard's decisions: what its documents promise, and what OLM itself does.

mod conformance;
mod peers;
mod promises;
mod report;

use std::collections::BTreeMap;

use fairway_compat::olm::{
    Guard, InvalidPolicy, MAXIMUM_ANNOTATION, MissingPolicy, Operator, PROPERTIES_ANNOTATION,
    Policy, Stream,
};

/// What OLM does: nobody has to declare anything, but whoever does has to do it right.
const AS_OLM: Policy = Policy { invalid: InvalidPolicy::Block, missing: MissingPolicy::Allow };

/// An operator with the annotation.
fn annotated(name: &str, maximum: &str) -> Operator {
    with(name, MAXIMUM_ANNOTATION, maximum)
}

/// An operator with OLM's property, whose value is JSON.
fn with_property(name: &str, value: &str) -> Operator {
    let property = format!(r#"{{"type":"olm.maxOpenShiftVersion","value":{value}}}"#);
    with(name, PROPERTIES_ANNOTATION, &format!(r#"{{"properties":[{property}]}}"#))
}

/// An operator that declares nothing.
fn silent(name: &str) -> Operator {
    Operator::read("namespace", name, &BTreeMap::new())
}

fn with(name: &str, key: &str, value: &str) -> Operator {
    Operator::read("namespace", name, &BTreeMap::from([(key.to_owned(), value.to_owned())]))
}

/// What a cluster of that version says about them: `True AsExpected: Ready for upgrade`.
fn told(operators: Vec<Operator>, cluster: &str, policy: Policy) -> String {
    let running = Stream::parse(cluster).unwrap();
    let upgradeable = Guard::new(operators, running, policy).published().upgradeable;
    let told = format!(
        "{} {}: {}",
        upgradeable.status.as_str(),
        upgradeable.reason.code,
        upgradeable.message
    );
    told.trim_end().to_owned()
}
