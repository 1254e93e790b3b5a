//! Which version of a group is preferred.

use std::cmp::{Ordering, Reverse};

/// The preferred version first: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then all that are not
/// of this form, by name.
pub fn preference(left: &str, right: &str) -> Ordering {
    match (rank(left), rank(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// Stable before beta before alpha; higher numbers first.
fn rank(version: &str) -> Option<(u8, Reverse<u32>, Reverse<u32>)> {
    let rest = version.strip_prefix('v')?;
    let (major, rest) = number(rest)?;
    let (stage, rest) = match rest {
        "" => return Some((0, Reverse(major), Reverse(0))),
        _ => rest
            .strip_prefix("beta")
            .map(|rest| (1, rest))
            .or_else(|| rest.strip_prefix("alpha").map(|rest| (2, rest)))?,
    };
    match number(rest)? {
        (minor, "") => Some((stage, Reverse(major), Reverse(minor))),
        _ => None,
    }
}

/// A number without leading zeros, and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.starts_with('0') { None } else { Some((digits.parse().ok()?, rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_strangers_last() {
        let sorted = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v01",
            "v1beta",
            "v1gamma1",
        ];
        let mut versions = sorted;
        versions.reverse();
        versions.sort_by(|left, right| preference(left, right));
        assert_eq!(versions, sorted);
    }
}
