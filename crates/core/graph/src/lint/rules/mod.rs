//! The rules: a file each.

mod ambiguous;
mod extension;
mod feeder;
mod keys;
mod matcher;
mod name;
mod number;
mod outcome;
mod pattern;
mod query;
mod schema;
mod stranded;
mod target;
mod tombstone;
mod unexplained;
mod url;

use super::{Context, Finding, Rule};

/// Rules of one file, and what finds their violations.
type Check = (&'static [&'static Rule], fn(&Context<'_>) -> Vec<Finding>);

/// All rules.
pub(super) const ALL: [Check; 16] = [
    (&[&schema::RULE], schema::check),
    (&[&keys::RULE], keys::check),
    (&[&number::RULE], number::check),
    (&[&unexplained::RULE], unexplained::check),
    (&[&url::RULE], url::check),
    (&[&name::RULE], name::check),
    (&[&ambiguous::RULE], ambiguous::check),
    (&[&target::RULE], target::check),
    (&[&pattern::IDLE, &pattern::LOOSE], pattern::check),
    (&[&query::RULE], query::check),
    (&[&outcome::RESULT, &outcome::SERIES, &outcome::VALUES, &outcome::COVERAGE], outcome::check),
    (&[&matcher::RULE], matcher::check),
    (&[&extension::RULE], extension::check),
    (&[&feeder::RULE], feeder::check),
    (&[&tombstone::RULE], tombstone::check),
    (&[&stranded::RULE], stranded::check),
];
