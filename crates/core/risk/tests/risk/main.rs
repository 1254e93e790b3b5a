//! Integration tests of the crate.

mod acceptance;
mod evaluations;
mod example_4_7_4;
mod invalid_risks;
mod ledger;
mod openshift;
mod properties;
mod recorded_versions;
mod rules;
mod schedule;
mod sources;
mod support;
mod upgradeable;
mod verdicts;
