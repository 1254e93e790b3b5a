//! Line wrapping.

use anstream::adapter::strip_str;

/// Additional indentation of continuation lines.
const HANGING_INDENT: usize = 2;

/// Breaks a line between words. Words and command lines stay whole, so that they can be copied.
pub(super) fn wrapped(line: &str, width: usize) -> String {
    if columns(line) <= width || is_command(line) {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    // A deeply indented line, such as the end of a table, would have no room left.
    let hanging = (indent + HANGING_INDENT).min(width / 3);
    let mut wrapped = String::with_capacity(line.len() + 16);
    let mut used = 0;
    for (blanks, word) in words(line) {
        let needed = columns(word);
        if used > indent && used + blanks.len() + needed > width {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(hanging));
            used = hanging;
        } else {
            wrapped.push_str(blanks);
            used += blanks.len();
        }
        wrapped.push_str(word);
        used += needed;
    }
    wrapped
}

/// Number of columns without escape sequences.
fn columns(text: &str) -> usize {
    strip_str(text).map(|piece| piece.chars().count()).sum()
}

fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    ["$ ", "fairway ", "kubectl ", "oc "].iter().any(|begin| line.starts_with(begin))
}

/// Words with the spaces before them; trailing spaces come last.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let word = rest.len() - rest.trim_start_matches(' ').len();
        let end = rest[word..].find(' ').map_or(rest.len(), |length| word + length);
        let (this, next) = rest.split_at(end);
        rest = next;
        Some(this.split_at(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words() {
        let lines = [
            "Additional updates which are not recommended are available.",
            "  Message: Nodes with slow disks may miss leases. https://example.com/slow-disks",
            "  5.1.1       registry.example/release@sha256:4ccec3fd47ee5162962804420d4b53c8",
            "    $ kubectl describe clusteroperator network --and-more-than-fits",
            "                                    far in, and long",
        ];
        insta::assert_snapshot!(lines.map(|line| wrapped(line, 40)).join("\n"), @"
        Additional updates which are not
          recommended are available.
          Message: Nodes with slow disks may
            miss leases.
            https://example.com/slow-disks
          5.1.1
            registry.example/release@sha256:4ccec3fd47ee5162962804420d4b53c8
            $ kubectl describe clusteroperator network --and-more-than-fits
                                            far
                     in, and long
        ");
    }

    #[test]
    fn escape_sequences_have_no_width() {
        let error = "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m it takes no more room";
        assert_eq!(wrapped(error, 28), error);
        assert_eq!(wrapped(error, 27), error.replace(" room", "\n  room"));
    }

    #[test]
    fn wrapping_keeps_all_words() {
        let squeezed = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for line in ["", " ", "a  b   c ", "  one two three four five six seven ", "ä ö ü 🦀 end"]
        {
            for width in 1..30 {
                assert_eq!(squeezed(&wrapped(line, width)), squeezed(line), "{line:?} in {width}");
            }
        }
    }
}
