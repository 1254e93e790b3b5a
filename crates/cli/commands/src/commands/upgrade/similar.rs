//! What somebody may have meant.

/// The name that is most like the text, if one is like it at all.
pub(super) fn most_like<'a>(
    text: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted: Vec<char> = text.to_lowercase().chars().collect();
    // A third of the letters may be wrong: with more, names that have little to do with the text
    // come up.
    let most = (wanted.len() / 3).max(1);
    let distances = names.into_iter().map(|name| (distance(&wanted, name), name));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

/// How many letters have to be put in, left out or changed.
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
    fn what_somebody_may_have_meant() {
        let names = ["SlowDisks", "NoisyLogs", "AuthOAuthProxyLeakedConnections", "X"];
        for (text, meant) in [
            ("SlowDisk", Some("SlowDisks")),
            ("slowdisks", Some("SlowDisks")),
            ("SlwoDisks", Some("SlowDisks")),
            ("AuthOAuthProxyLeakedConnection", Some("AuthOAuthProxyLeakedConnections")),
            ("Etcd", None),
            ("Y", Some("X")),
        ] {
            let found = most_like(text, names);
            assert_eq!(found, meant, "{text}");
        }
    }

    #[test]
    fn distances() {
        for (text, name, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
        ] {
            let wanted: Vec<char> = text.chars().collect();
            assert_eq!(distance(&wanted, name), expected, "{text} {name}");
        }
    }
}
