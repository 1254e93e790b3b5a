//! Placeholder substitution: images and versions in the text of an operator's manifests.
//!
//! The patterns are those of `oc adm release new` (openshift/oc,
//! `pkg/cli/admin/release/image_mapper.go`), so that manifests written for it give the same bytes:
//!
//! * An image is a word of `image-references`, optionally with a tag or a digest behind it. A
//!   non-word character comes before it; white space, a quote or the end of the file comes after it.
//! * A version is `0.0.1-snapshot`, and everything behind it that matches `[a-z0-9-]*`.
//!
//! Text is bytes: files that are not UTF-8 are substituted as well.

use std::collections::BTreeMap;

/// The version that operators write in place of the release's version.
pub const SNAPSHOT: &str = "0.0.1-snapshot";

/// The longest tag that an image can have.
const MAX_TAG_BYTES: usize = 128;

/// The replacements for the placeholders of one operator.
#[derive(Debug)]
pub(super) struct Substitution<'a> {
    /// Images by their words, longest word first: `a/b:v1` is more specific than `a/b`.
    words: Vec<Word<'a>>,
    version: &'a str,
    components: BTreeMap<&'a str, &'a str>,
    /// Bytes with which a word of an image begins.
    first_bytes: [bool; 256],
}

#[derive(Debug)]
struct Word<'a> {
    text: &'a str,
    name: &'a str,
    image: Option<&'a str>,
}

/// A placeholder that stays in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unresolved {
    /// The line, counted from one.
    pub(super) line: u64,
    pub(super) reason: UnresolvedReason,
}

/// Why a placeholder stays in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UnresolvedReason {
    /// The release has no image of that name.
    NoImage { word: String, name: String },
    /// The version of the component is not known.
    NoVersion { component: String },
    /// The placeholder is part of a longer word.
    NotSeparate { word: String },
}

impl<'a> Substitution<'a> {
    /// `words` are names of images by their words in the text, `images` the images by name.
    pub(super) fn new(
        words: &'a BTreeMap<String, String>,
        images: &'a BTreeMap<String, String>,
        version: &'a str,
        components: BTreeMap<&'a str, &'a str>,
    ) -> Self {
        let mut words: Vec<Word<'a>> = words
            .iter()
            .map(|(text, name)| Word { text, name, image: images.get(name).map(String::as_str) })
            .collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.text.len()));
        let mut first_bytes = [false; 256];
        for word in &words {
            if let Some(byte) = word.text.bytes().next() {
                first_bytes[usize::from(byte)] = true;
            }
        }
        Self { words, version, components, first_bytes }
    }

    /// The text with every placeholder replaced, and the placeholders that stay.
    pub(super) fn apply(&self, text: &[u8]) -> (Vec<u8>, Vec<Unresolved>) {
        let begins = |byte: u8| self.first_bytes[usize::from(byte)];
        let (text, mut unresolved) = replaced(text, begins, |text, at| self.image(text, at));
        let begins = |byte: u8| SNAPSHOT.as_bytes().first() == Some(&byte);
        let (text, versions) = replaced(&text, begins, |text, at| self.version(text, at));
        unresolved.extend(versions);
        // Replacements have no line breaks, so both passes count the same lines.
        unresolved.sort_by_key(|found| found.line);
        (text, unresolved)
    }

    fn image(&self, text: &[u8], at: usize) -> Option<Placeholder<'a>> {
        if !is_start(text, at) {
            return None;
        }
        let rest = &text[at..];
        let is_here = |word: &&Word<'_>| rest.starts_with(word.text.as_bytes());
        let found = self.words.iter().filter(is_here).find_map(|word| {
            let length = word.text.len() + locator(&rest[word.text.len()..])?;
            let value = word.image.ok_or_else(|| UnresolvedReason::NoImage {
                word: lossy(&rest[..length]),
                name: word.name.to_owned(),
            });
            Some(Placeholder { end: at + length, value })
        });
        found.or_else(|| {
            let word = self.words.iter().filter(is_here).find(|word| {
                let next = rest.get(word.text.len()).copied();
                next.is_none_or(|byte| !is_name_byte(byte))
            })?;
            let value = Err(UnresolvedReason::NotSeparate { word: word.text.to_owned() });
            Some(Placeholder { end: at + word.text.len(), value })
        })
    }

    fn version(&self, text: &[u8], at: usize) -> Option<Placeholder<'a>> {
        let after = text[at..].strip_prefix(SNAPSHOT.as_bytes())?;
        let not_separate = |end: usize| {
            let value = Err(UnresolvedReason::NotSeparate { word: lossy(&text[at..end]) });
            Some(Placeholder { end, value })
        };
        let begin = at + SNAPSHOT.len();
        if !is_start(text, at) {
            return not_separate(begin);
        }
        let is_key =
            |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let key = &after[..after.iter().take_while(|byte| is_key(byte)).count()];
        let end = begin + key.len();
        let value = match key.strip_prefix(b"-") {
            None if key.is_empty() => Ok(self.version),
            None => return not_separate(end),
            Some(component) => {
                let component = lossy(component);
                let version = self.components.get(component.as_str()).copied();
                version.ok_or(UnresolvedReason::NoVersion { component })
            }
        };
        Some(Placeholder { end, value })
    }
}

/// A placeholder in a text: where it ends, and its value.
struct Placeholder<'a> {
    end: usize,
    value: Result<&'a str, UnresolvedReason>,
}

/// Replaces the placeholders that `find` returns. `begins` filters by the first byte, so that large
/// CRDs are skipped quickly.
fn replaced<'a>(
    text: &[u8],
    begins: impl Fn(u8) -> bool,
    find: impl Fn(&[u8], usize) -> Option<Placeholder<'a>>,
) -> (Vec<u8>, Vec<Unresolved>) {
    let mut out = Vec::with_capacity(text.len());
    let mut unresolved = Vec::new();
    let mut lines = Lines { text, counted: 0, line: 1 };
    let (mut at, mut copied) = (0, 0);
    while let Some(skipped) = text[at..].iter().position(|byte| begins(*byte)) {
        at += skipped;
        match find(text, at) {
            Some(Placeholder { end, value: Ok(value) }) => {
                out.extend_from_slice(&text[copied..at]);
                out.extend_from_slice(value.as_bytes());
                (at, copied) = (end, end);
            }
            Some(Placeholder { end, value: Err(reason) }) => {
                // Comments are not applied, so a word in one needs no value.
                if !matches!(reason, UnresolvedReason::NotSeparate { .. })
                    || !is_in_comment(text, at)
                {
                    unresolved.push(Unresolved { line: lines.of(at), reason });
                }
                at = end;
            }
            None => at += 1,
        }
    }
    out.extend_from_slice(&text[copied..]);
    (out, unresolved)
}

/// Numbers of lines for positions in increasing order.
struct Lines<'a> {
    text: &'a [u8],
    counted: usize,
    line: u64,
}

impl Lines<'_> {
    fn of(&mut self, at: usize) -> u64 {
        let breaks = self.text[self.counted..at].split(|byte| *byte == b'\n').count() - 1;
        self.line += breaks as u64;
        self.counted = at;
        self.line
    }
}

/// The components whose versions a text uses.
pub(super) fn wanted_components(text: &[u8]) -> impl Iterator<Item = String> {
    let nothing = BTreeMap::new();
    let substitution = Substitution::new(&nothing, &nothing, "", BTreeMap::new());
    let (_, unresolved) = substitution.apply(text);
    unresolved.into_iter().filter_map(|Unresolved { reason, .. }| match reason {
        UnresolvedReason::NoVersion { component } => Some(component),
        _ => None,
    })
}

/// The length of the tag or digest at the start of a text, if the reference ends behind it.
fn locator(text: &[u8]) -> Option<usize> {
    let length = match text.first() {
        Some(b':') => tag(&text[1..])? + 1,
        Some(b'@') => digest(&text[1..])? + 1,
        _ => 0,
    };
    let is_end = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'"' | b'\'');
    text.get(length).is_none_or(is_end).then_some(length)
}

fn tag(text: &[u8]) -> Option<usize> {
    let is_tag = |byte: &u8| is_word_byte(*byte) || matches!(byte, b'.' | b'-');
    let length = text.iter().take_while(|byte| is_tag(byte)).count();
    let begins = text.first().is_some_and(|byte| is_word_byte(*byte));
    (begins && length <= MAX_TAG_BYTES).then_some(length)
}

/// `sha256:0123…`, where algorithms may have several parts.
fn digest(text: &[u8]) -> Option<usize> {
    let is_algorithm = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_+.".contains(byte);
    let colon = text.iter().take_while(|byte| is_algorithm(byte)).count();
    let is_part = |part: &[u8]| {
        part.first().is_some_and(u8::is_ascii_alphabetic)
            && part.iter().all(u8::is_ascii_alphanumeric)
    };
    let mut parts = text[..colon].split(|byte| matches!(byte, b'-' | b'_' | b'+' | b'.'));
    let digits = text[colon..].strip_prefix(b":")?;
    let digits = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    (parts.all(is_part) && digits >= 2).then_some(colon + 1 + digits)
}

/// Whether a placeholder can begin at a position: no word character is before it.
fn is_start(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_none_or(|before| !is_word_byte(text[before]))
}

/// `\w` of a regular expression.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A byte that makes a longer name of the word before it.
fn is_name_byte(byte: u8) -> bool {
    is_word_byte(byte) || matches!(byte, b'.' | b'-' | b'/')
}

fn is_in_comment(text: &[u8], at: usize) -> bool {
    let line = text[..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    line.trim_ascii_start().starts_with(b"#")
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests;
