//! Placeholders for digests, times, ports and paths.

use std::path::Path;

/// Replaces values that differ between runs.
pub(super) fn redacted(text: &str, directory: &Path) -> String {
    let text = text.replace(&directory.display().to_string(), "~");
    text.lines().map(|line| redacted_line(line) + "\n").collect()
}

/// Beginnings of lines with the progress of an update.
const PROGRESS_LINES: [&str; 2] =
    ["The operator accepted the release. Working towards ", "An update to "];

fn redacted_line(line: &str) -> String {
    if PROGRESS_LINES.iter().any(|beginning| line.starts_with(beginning)) {
        return line.split(": ").next().unwrap_or(line).to_owned();
    }
    if line.starts_with("Pods run as") {
        // Hosts permit different confinements.
        return "Pods run as processes in separate namespaces.".to_owned();
    }
    let line = line.replace(" (rechecking)", "").replace("arm64", "amd64");
    let mut words: Vec<String> = Vec::new();
    let mut blanks = 0;
    for word in line.split(' ') {
        // Keep the columns of tables aligned.
        if word.is_empty() && blanks < 0 {
            blanks += 1;
            continue;
        }
        if word.is_empty() {
            words.extend(std::iter::repeat_n(String::new(), usize::try_from(blanks).unwrap_or(0)));
        }
        let now = redacted_word(word);
        blanks = width(word) - width(&now);
        words.push(now);
    }
    words.join(" ")
}

fn width(text: &str) -> isize {
    isize::try_from(text.chars().count()).unwrap_or(isize::MAX)
}

fn redacted_word(word: &str) -> String {
    let mut word = without_digests(word);
    if let Some(at) = word.find("127.0.0.1:") {
        let begin = at + "127.0.0.1:".len();
        let digits = word[begin..].chars().take_while(char::is_ascii_digit).count();
        word.replace_range(begin..begin + digits, "PORT");
    }
    let inner = word.trim_matches(['(', ')', '.', ',', ';', ':', '"']);
    let replaced = match inner {
        time if is_time(time) => "2026-01-01T00:00:00Z",
        id if is_id(id) => "00000000-0000-4000-8000-000000000000",
        span if is_span(span) => "5s",
        // Milliseconds, such as `(2150 ms)`. A status such as `(403)` stays.
        number if word.starts_with('(') && !word.ends_with(')') && is_number(number) => "800",
        _ => return word,
    };
    word.replacen(inner, replaced, 1)
}

/// Replaces digests, also truncated ones.
fn without_digests(word: &str) -> String {
    let Some((before, after)) = word.split_once("sha256:") else { return word.to_owned() };
    let digits = after.chars().take_while(char::is_ascii_hexdigit).count();
    if digits < 12 {
        return word.to_owned();
    }
    format!("{before}sha256:…{}", &after[digits..])
}

/// For example `2026-11-16T04:31:11Z`.
fn is_time(word: &str) -> bool {
    let (day, time) = word.split_once('T').unwrap_or_default();
    let is_made_of = |text: &str, other: &[char]| {
        !text.is_empty() && text.chars().all(|it| it.is_ascii_digit() || other.contains(&it))
    };
    is_made_of(day, &['-']) && time.ends_with('Z') && is_made_of(time, &[':', '.', 'Z'])
}

/// For example `5a3d5c6e-2f3e-4c5b-9d55-5e2c3f0b7a10`.
fn is_id(word: &str) -> bool {
    let parts: Vec<usize> = word.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && word.chars().all(|it| it.is_ascii_hexdigit() || it == '-')
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|it| it.is_ascii_digit())
}

/// For example `12s` or `1m30s`.
fn is_span(word: &str) -> bool {
    word.starts_with(|it: char| it.is_ascii_digit())
        && word.ends_with(['s', 'm', 'h'])
        && word.chars().all(|it| it.is_ascii_digit() || matches!(it, 's' | 'm' | 'h'))
}

#[test]
fn redacted_replaces_variable_values() {
    let digest = "a".repeat(64);
    let text = format!(
        "ready at https://127.0.0.1:40123 in /tmp/x/sandbox\n\
         since 2026-11-16T04:31:11Z, duration 1m30s.\n\
         ready (2150 ms), not allowed (403)\n\
         5.1.0    12s    registry/release@sha256:{digest}\n\
         5.1.0    –      --wait=20m stays\n\
         The operator accepted the release. Working towards 5.1.0: 3 of 9 done (33% complete)\n"
    );
    insta::assert_snapshot!(redacted(&text, Path::new("/tmp/x")), @"
    ready at https://127.0.0.1:PORT in ~/sandbox
    since 2026-01-01T00:00:00Z, duration 5s.
    ready (800 ms), not allowed (403)
    5.1.0    5s     registry/release@sha256:…
    5.1.0    –      --wait=20m stays
    The operator accepted the release. Working towards 5.1.0
    ");
}
