//! What the API crate promises to those who hold real objects in their hands.

mod bad_input;
mod crd_schema;
mod recorded_clusters;
mod recorded_versions;
mod unknown_fields;
mod validation;
