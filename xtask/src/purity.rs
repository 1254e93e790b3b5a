//! The sources of core crates: no files, sockets, environment, processes, threads or clock.
//!
//! The check reads tokens, not types. It expands `use` groups and ignores comments, strings and
//! `#[cfg(test)]` items, so neither a nested import nor an unusual layout hides a call.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::lexer::{Lexeme, LexemeKind, lexemes};

/// Modules of `std` that core crates do not name.
const MODULES: [&str; 6] = ["env", "fs", "os", "process", "thread", "*"];

/// Functions and types that core crates do not name, as tokens: they match any module and any alias of
/// the type.
const TOKENS: [&[&str]; 20] = [
    // Sockets. Addresses are values.
    &["TcpListener"],
    &["TcpStream"],
    &["ToSocketAddrs"],
    &["UdpSocket"],
    &["UnixDatagram"],
    &["UnixListener"],
    &["UnixStream"],
    // The clock: `SystemTime::now`, `Instant::now`, `Timestamp::now`, `Zoned::now`, `Utc::now`.
    &["::", "now"],
    &[".", "elapsed", "("],
    // Standard streams.
    &["io", "::", "stderr"],
    &["io", "::", "stdin"],
    &["io", "::", "stdout"],
    // Methods of `Path` that access the file system.
    &[".", "canonicalize", "("],
    &[".", "exists", "("],
    &[".", "read_dir", "("],
    &[".", "read_link", "("],
    &[".", "symlink_metadata", "("],
    &[".", "try_exists", "("],
    // Source that this check does not read.
    &["#", "[", "path"],
    &["include", "!"],
];

/// Every violation in the product sources of crates, as `FILE:LINE: reason`. Directories are
/// relative to the root of the repository.
pub(crate) fn violations<'a>(
    root: &Path,
    directories: impl IntoIterator<Item = &'a Path>,
) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    for directory in directories {
        let files = source_files(&root.join(directory).join("src"))?;
        let mut sources = Vec::new();
        let mut test_modules = Vec::new();
        for file in files {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            test_modules.extend(test_modules_of(&file, &text));
            sources.push((file, text));
        }
        for (file, text) in &sources {
            let is_test = test_modules
                .iter()
                .any(|module| file.starts_with(module) || *file == module.with_extension("rs"));
            if is_test {
                continue;
            }
            let name = file.strip_prefix(root).unwrap_or(file).display();
            let found = impure(text).into_iter();
            violations.extend(found.map(|(line, what)| {
                format!("{name}:{line}: core crates must not do I/O or read a clock: `{what}`")
            }));
        }
    }
    Ok(violations)
}

/// The Rust files below a directory, in the order of their paths.
fn source_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        let unreadable = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(&directory).with_context(unreadable)? {
            let path = entry.with_context(unreadable)?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The modules in other files that a file declares with `#[cfg(test)]`, as paths without `.rs`.
fn test_modules_of(file: &Path, text: &str) -> Vec<PathBuf> {
    let parent = file.parent().unwrap_or(file);
    let directory = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") | None => parent.to_owned(),
        Some(stem) => parent.join(stem),
    };
    let (_, modules) = without_tests(&tokens(text));
    modules.into_iter().map(|module| directory.join(module)).collect()
}

/// The lines of a source that do I/O, with the tokens that match.
fn impure(text: &str) -> Vec<(usize, String)> {
    let (tokens, _) = without_tests(&tokens(text));
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at..];
        if token.text == "std" {
            for path in std_paths(rest) {
                // `std` alone is an alias for all of it.
                if path.get(1).is_none_or(|module| MODULES.contains(module))
                    || TOKENS.iter().any(|rule| is_import_of(&path, rule))
                {
                    found.push((token.line, path.join("::")));
                }
            }
        }
        if let Some(rule) = TOKENS.iter().find(|rule| starts_with(rest, rule)) {
            found.push((token.line, rule.concat()));
        }
    }
    found
}

/// Whether an expanded path from `std` ends in a forbidden name, such as `std::io::stdin`.
/// One-token rules match the token itself, wherever it is.
fn is_import_of(path: &[&str], rule: &[&str]) -> bool {
    match (path, rule) {
        ([_, path @ ..], [module, "::", name]) => path == [*module, *name],
        _ => false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

fn starts_with(tokens: &[Token<'_>], texts: &[&str]) -> bool {
    tokens.len() >= texts.len() && tokens.iter().zip(texts).all(|(token, text)| token.text == *text)
}

/// Identifiers, `::` and single characters of a source, without comments and literals.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let lexemes = lexemes(source).filter(|it| it.kind == LexemeKind::Token);
    lexemes.map(|Lexeme { text, line, .. }| Token { text, line }).collect()
}

/// The tokens outside of `#[cfg(test)]` items, and the names of test modules in other files.
fn without_tests<'a>(tokens: &[Token<'a>]) -> (Vec<Token<'a>>, Vec<&'a str>) {
    const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if !starts_with(&tokens[at..], &CFG_TEST) {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        let mut item = at + CFG_TEST.len();
        while starts_with(&tokens[item..], &["#", "["]) {
            item = closing(tokens, item + 1) + 1;
        }
        let end = item_end(tokens, item);
        let words = &tokens[item.min(end)..end];
        if let [.., keyword, name, semicolon] = words
            && (keyword.text, semicolon.text) == ("mod", ";")
        {
            modules.push(name.text);
        }
        at = end.max(at + 1);
    }
    (kept, modules)
}

/// The position behind an item: behind its `;`, behind its block, or in front of what ends a field
/// or a variant.
fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    let (mut at, mut angles) = (start, 0_usize);
    while at < tokens.len() {
        match tokens[at].text {
            ";" => return at + 1,
            "{" => return closing(tokens, at) + 1,
            "}" | ")" | "]" => return at,
            "," if angles == 0 => return at,
            "(" | "[" => at = closing(tokens, at),
            "<" => angles += 1,
            // Not the end of `->` or `=>`.
            ">" if at > 0 && !matches!(tokens[at - 1].text, "-" | "=") => {
                angles = angles.saturating_sub(1);
            }
            _ => {}
        }
        at += 1;
    }
    tokens.len()
}

/// The position of the bracket that closes the one at `open`.
fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

/// The paths that begin at a `std` token, with groups expanded: `std::{fs, io::{self, Read}}` is
/// `std::fs`, `std::io` and `std::io::Read`.
fn std_paths<'a>(tokens: &[Token<'a>]) -> Vec<Vec<&'a str>> {
    let mut paths = Vec::new();
    expand(tokens, 0, &[], &mut paths);
    paths
}

/// Reads one path at a position and returns the position behind it.
fn expand<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    prefix: &[&'a str],
    paths: &mut Vec<Vec<&'a str>>,
) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token<'a>| token.text);
    let mut path = prefix.to_vec();
    loop {
        match text(at) {
            "{" => {
                at += 1;
                while !matches!(text(at), "}" | "") {
                    at = expand(tokens, at, &path, paths).max(at + 1);
                    while !matches!(text(at), "," | "}" | "") {
                        // An alias.
                        at += 1;
                    }
                    if text(at) == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "self" => {}
            word => path.push(word),
        }
        if text(at + 1) != "::" || text(at + 2) == "<" {
            paths.push(path);
            return at + 1;
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        impure(text)
    }

    #[track_caller]
    fn assert_impure(text: &str, what: &str) {
        assert_eq!(found(text), [(1, what.to_owned())], "{text}");
    }

    #[test]
    fn sources_with_io_are_found() {
        for (text, what) in [
            ("use std::fs;", "std::fs"),
            ("use std::fs::File;", "std::fs::File"),
            ("let text = std::fs::read(path);", "std::fs::read"),
            ("let text = ::std::fs::read(path);", "std::fs::read"),
            ("let text = std::r#fs::read(path);", "std::fs::read"),
            ("use std::{fmt, io::{self, Read}, fs as files};", "std::fs"),
            ("use std::{collections::BTreeMap, {env}};", "std::env"),
            ("let home = std::env::var(\"HOME\");", "std::env::var"),
            ("for word in std::env::args() {}", "std::env::args"),
            ("std::process::exit(1);", "std::process::exit"),
            ("std::thread::spawn(work);", "std::thread::spawn"),
            ("std::thread::sleep(pause);", "std::thread::sleep"),
            ("use std::os::unix::net;", "std::os::unix::net"),
            ("use std as s;", "std"),
            ("use std::*;", "std::*"),
            ("use std::net::TcpStream;", "TcpStream"),
            ("let it = net::TcpListener::bind(at);", "TcpListener"),
            ("let it = UdpSocket::bind(at);", "UdpSocket"),
            ("let now = SystemTime::now();", "::now"),
            ("let now = std::time::Instant::now();", "::now"),
            ("let now = Timestamp::now();", "::now"),
            ("let now = jiff::Zoned::now();", "::now"),
            ("let now = <Moment>::now();", "::now"),
            ("let past = start.elapsed();", ".elapsed("),
            ("use std::io::{Read, stdin};", "std::io::stdin"),
            ("io::stdout().write_all(b\"\");", "io::stdout"),
            ("if path.exists() {}", ".exists("),
            ("#[path = \"../other.rs\"] mod other;", "#[path"),
            ("include!(\"other.rs\");", "include!"),
            ("extern crate std as s;", "std"),
            ("let url = \"https://a\"; std::fs::read(url);", "std::fs::read"),
            ("let quote = '\"'; std::fs::read(quote); let quote = '\"';", "std::fs::read"),
            ("let quote = '\\''; std::fs::read(b'\"'); b'\"';", "std::fs::read"),
            ("fn f<'a>(x: &'a str) { std::fs::read(x) }", "std::fs::read"),
            ("/* /* */ */ use std::fs;", "std::fs"),
        ] {
            assert_impure(text, what);
        }
    }

    #[test]
    fn sources_without_io_have_no_violations() {
        for text in [
            "use std::{fmt, io::{self, Read}, net::{IpAddr, Ipv4Addr}, time::Duration};",
            "// std::fs\n/* std::fs\n/* SystemTime::now() */ std::fs */",
            "let text = \"std::fs \\\" std::fs\";",
            "let text = r#\"std::fs \" std::fs\"#;",
            "let bytes = b\"std::fs\"; let text = br\"std::fs\";",
            "fn decide(now: Timestamp) -> bool { now > self.now }",
            "let fs = env!(\"CARGO_PKG_NAME\");",
            "#[cfg(test)]\nmod tests { use std::fs; fn f() { { Timestamp::now(); } } }",
            "#[cfg(test)]\n#[expect(lint)]\npub(crate) mod tests { use std::fs; }",
            "#[cfg(test)]\nfn f<A, B>(a: [A; 2], b: B) -> Vec<B> { std::fs::read(a) }",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn sources_behind_test_items_are_checked() {
        for text in [
            "#[cfg(test)] mod tests { fn f() {} } use std::fs;",
            "#[cfg(test)] mod tests; use std::fs;",
            "#[cfg(test)] use a::{b, c}; use std::fs;",
            "struct S { #[cfg(test)] a: u8, b: u8 } use std::fs;",
            "#[cfg(not(test))] mod product { use std::fs; }",
            "#[cfg(any(test, unix))] mod product { use std::fs; }",
        ] {
            assert_impure(text, "std::fs");
        }
    }

    #[test]
    fn violations_have_file_and_line_and_exclude_test_files() {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("crates/core/bad/src");
        fs::create_dir_all(source.join("rules/tests")).unwrap();
        let write = |name: &str, text: &str| fs::write(source.join(name), text).unwrap();
        write("lib.rs", "//! Docs.\n\nmod rules;\nuse std::{\n    fmt,\n};\nuse std::fs;\n");
        write("rules.rs", "#[cfg(test)]\nmod hostile;\n#[cfg(test)]\nmod tests;\nmod tests_too;\n");
        write("rules/hostile.rs", "use std::fs;\n");
        write("rules/tests/mod.rs", "use std::fs;\n");
        write("rules/tests/more.rs", "use std::fs;\n");
        write("rules/tests_too.rs", "\nfn now() { Timestamp::now(); }\n");
        write("tests.rs", "use std::env;\n");
        let found = violations(root.path(), [Path::new("crates/core/bad")]).unwrap();
        assert_eq!(
            found,
            [
                "crates/core/bad/src/lib.rs:7: core crates must not do I/O or read a clock: `std::fs`",
                "crates/core/bad/src/rules/tests_too.rs:2: core crates must not do I/O or read a clock: `::now`",
                "crates/core/bad/src/tests.rs:1: core crates must not do I/O or read a clock: `std::env`",
            ]
        );
    }
}
