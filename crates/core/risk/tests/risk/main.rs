//! What the ledger decides, and what it says.

mod acceptance;
mod advice;
mod evaluations;
mod gate;
mod ledger;
mod platform;
mod properties;
mod recorded_versions;
mod rules;
mod schedule;
mod sources;
mod stand_ins;
mod story;
mod support;
mod upgradeable;
mod verdicts;
