//! Suggestions for misspelled names.

/// The most similar name, if one is close enough.
pub(super) fn most_similar<'a>(
    text: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted: Vec<char> = text.to_lowercase().chars().collect();
    // Up to a third of the letters may differ; with more, unrelated names match.
    let most = (wanted.len() / 3).max(1);
    let distance_counts_edits = names.into_iter().map(|name| (distance(&wanted, name), name));
    distance_counts_edits.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

/// Levenshtein distance.
fn distance(wanted: &[char], name: &str) -> usize {
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    for (index, letter) in name.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, other) in wanted.iter().enumerate() {
            let changed = diagonal + usize::from(*other != letter);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[wanted.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_similar_returns_close_names() {
        let names = ["SlowDisks", "NoisyLogs", "AuthOAuthProxyLeakedConnections", "X"];
        for (text, meant) in [
            ("SlowDisk", Some("SlowDisks")),
            ("slowdisks", Some("SlowDisks")),
            ("SlwoDisks", Some("SlowDisks")),
            ("AuthOAuthProxyLeakedConnection", Some("AuthOAuthProxyLeakedConnections")),
            ("Etcd", None),
            ("Y", Some("X")),
        ] {
            let found = most_similar(text, names);
            assert_eq!(found, meant, "{text}");
        }
    }
}
