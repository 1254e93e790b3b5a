//! Licences, sources and bans of dependencies, as in `deny.toml`.

use anyhow::{Context as _, Result, bail};

use crate::metadata::{Metadata, Package};

/// Licences that a dependency may have. `deny.toml` has the same list.
const LICENSES: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

/// Banned crates, and the reason.
const BANNED: [(&str, &str); 3] = [
    ("native-tls", "TLS is rustls"),
    ("openssl-sys", "TLS is rustls"),
    ("serde_yaml", "it is unmaintained; manifests are read by fairway-yaml"),
];

/// A package of the default registry: every other one must have the same source.
const REGISTRY_PACKAGE: &str = "serde";

/// Checks every dependency.
pub(crate) fn check() -> Result<()> {
    let metadata = Metadata::read()?;
    let registry = metadata.foreign().find(|package| package.name == REGISTRY_PACKAGE);
    let registry = registry.and_then(|package| package.source.as_deref());
    let registry = registry.filter(|source| source.starts_with("registry+"));
    let registry =
        registry.with_context(|| format!("{REGISTRY_PACKAGE} is not from a registry"))?;
    let problems: Vec<String> =
        metadata.foreign().flat_map(|package| problems(package, registry)).collect();
    if problems.is_empty() {
        return Ok(());
    }
    bail!("dependencies that are not allowed:\n  {}", problems.join("\n  "))
}

fn problems(package: &Package, registry: &str) -> Vec<String> {
    let named = |why: String| format!("{} {}: {why}", package.name, package.version);
    let mut problems = Vec::new();
    match package.license.as_deref() {
        None => problems.push(named("it has no licence".to_owned())),
        Some(license) if !is_allowed(license) => {
            problems.push(named(format!("the licence {license} is not allowed")));
        }
        Some(_) => {}
    }
    let source = package.source.as_deref().unwrap_or_default();
    if source != registry {
        problems.push(named(format!("its source is {source:?}, not the package registry")));
    }
    if let Some((_, why)) = BANNED.iter().find(|(name, _)| *name == package.name) {
        problems.push(named(format!("it is banned: {why}")));
    }
    problems
}

/// Whether an SPDX expression can be met with allowed licences. Old packages write `/` for `OR`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let words: Vec<&str> = expression.split_whitespace().collect();
    let expression = words.join(" ").replace('(', "( ").replace(')', " )");
    any_of(&mut expression.split(' ').peekable())
}

type Words<'a> = std::iter::Peekable<std::str::Split<'a, char>>;

fn any_of(words: &mut Words<'_>) -> bool {
    let mut is_met = all_of(words);
    while words.next_if_eq(&"OR").is_some() {
        is_met |= all_of(words);
    }
    is_met
}

fn all_of(words: &mut Words<'_>) -> bool {
    let mut is_met = term(words);
    while words.next_if_eq(&"AND").is_some() {
        is_met &= term(words);
    }
    is_met
}

fn term(words: &mut Words<'_>) -> bool {
    match words.next() {
        Some("(") => {
            let is_met = any_of(words);
            words.next_if_eq(&")").is_some() && is_met
        }
        Some(license) if words.next_if_eq(&"WITH").is_some() => {
            let exception = words.next().unwrap_or_default();
            LICENSES.contains(&format!("{license} WITH {exception}").as_str())
        }
        Some(license) => LICENSES.contains(&license),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "registry+https://registry.example/default";

    #[test]
    fn licence_with_an_allowed_choice_is_allowed() {
        for (expression, allowed) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0", false),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("Apache-2.0 WITH Something-else", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression), allowed, "{expression}");
        }
    }

    #[test]
    fn dependency_from_another_registry_is_refused() {
        let mut package = Package {
            name: "serde".to_owned(),
            version: "1.0.0".to_owned(),
            license: Some("MIT".to_owned()),
            source: Some(REGISTRY.to_owned()),
            ..Package::default()
        };
        assert_eq!(problems(&package, REGISTRY), Vec::<String>::new());
        for source in [Some("registry+https://registry.example/index"), Some(""), None] {
            package.source = source.map(str::to_owned);
            assert_eq!(problems(&package, REGISTRY).len(), 1, "{source:?}");
        }
    }

    #[test]
    fn lists_agree_with_deny_toml() {
        let text = std::fs::read_to_string(crate::cargo::root().join("deny.toml")).unwrap();
        let licenses: Vec<&str> =
            list(&text, "[licenses]", "allow").iter().map(|it| it[0]).collect();
        assert_eq!(licenses, LICENSES);
        let banned: Vec<(&str, &str)> =
            list(&text, "[bans]", "deny").iter().map(|it| (it[0], it[1])).collect();
        assert_eq!(banned, BANNED);
        let sources = section(&text, "[sources]");
        for setting in ["unknown-registry = \"deny\"", "unknown-git = \"deny\""] {
            assert!(sources.contains(setting), "{setting}");
        }
        assert!(!sources.contains("allow-"), "deny.toml allows more sources than the policy");
    }

    /// The lines of a table of `deny.toml`.
    fn section<'a>(text: &'a str, table: &str) -> &'a str {
        let (_, rest) = text.split_once(&format!("\n{table}\n")).unwrap();
        rest.split_once("\n[").map_or(rest, |(section, _)| section)
    }

    /// The items of a list of `deny.toml`, one in each line: the quoted texts of each.
    fn list<'a>(text: &'a str, table: &str, key: &str) -> Vec<Vec<&'a str>> {
        let (_, rest) = section(text, table).split_once(&format!("\n{key} = [\n")).unwrap();
        let (items, _) = rest.split_once("\n]").unwrap();
        items.lines().map(|line| line.split('"').skip(1).step_by(2).collect()).collect()
    }

    #[test]
    fn all_problems_of_a_dependency_are_named() {
        let package = Package {
            name: "openssl-sys".to_owned(),
            version: "0.9.0".to_owned(),
            source: Some("git+https://example.com/x".to_owned()),
            ..Package::default()
        };
        assert_eq!(
            problems(&package, REGISTRY),
            [
                "openssl-sys 0.9.0: it has no licence",
                "openssl-sys 0.9.0: its source is \"git+https://example.com/x\", not the package registry",
                "openssl-sys 0.9.0: it is banned: TLS is rustls",
            ]
        );
    }
}
