//! Tests that compare core crates with the implementations that they follow: `fairway-promql` with
//! Prometheus, `fairway-yaml` with Go's `sigs.k8s.io/yaml`.
//!
//! The tests install Debian's packages with `fairway-testbed`. They are in a crate of their own, so
//! that tests of core crates build without it. This library is empty.
