//! Integration tests of the crate.

mod bad_input;
mod crd_schema;
mod recorded_clusters;
mod recorded_versions;
mod unknown_fields;
mod validation;
