//! Several lists put together, each of them in its order.

/// All that the lists have, once; what stands before something in a list stands before it here.
/// Where lists contradict each other, the first of them counts.
pub(super) fn merged(lists: &[Vec<String>]) -> Vec<String> {
    let mut left: Vec<&String> = Vec::new();
    for mirror in lists.iter().flatten() {
        if !left.contains(&mirror) {
            left.push(mirror);
        }
    }
    let mut merged = Vec::new();
    while !left.is_empty() {
        let waits = |mirror: &&String| {
            let before = lists.iter().filter_map(|list| {
                let place = list.iter().position(|other| other == *mirror)?;
                Some(&list[..place])
            });
            before.flatten().any(|other| left.contains(&other) && other != *mirror)
        };
        let next = left.iter().position(|mirror| !waits(mirror)).unwrap_or_default();
        merged.push(left.remove(next).clone());
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_keeps_its_order() {
        let cases: [(&[&str], &str); 7] = [
            (&[], ""),
            (&["a b c"], "a b c"),
            (&["a b c", "c d e"], "a b c d e"),
            (&["c d e", "a b c"], "a b c d e"),
            (&["a b", "c d"], "a b c d"),
            (&["a b", "b a"], "a b"),
            (&["a a b", "a"], "a b"),
        ];
        for (lists, expected) in cases {
            let split = |list: &&str| list.split(' ').map(str::to_owned).collect();
            let lists: Vec<Vec<String>> = lists.iter().map(split).collect();
            assert_eq!(merged(&lists).join(" "), expected, "{lists:?}");
        }
    }
}
