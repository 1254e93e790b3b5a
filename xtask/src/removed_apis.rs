//! Generates the table of APIs that Kubernetes removes.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

/// The source of the table.
pub(crate) const SOURCE: &str = "crates/core/compat/removed-apis.csv";

/// The generated file.
pub(crate) const TABLE: &str = "crates/core/compat/src/removed_apis/table.rs";

const HEAD: &str = "\
//! Table of removed APIs, generated from `removed-apis.csv` by `cargo xtask gen`.

use super::{RemovedApi, api};
use crate::KubernetesMinor;

";

/// The content of the generated file.
pub(crate) fn table(source: &str) -> Result<String> {
    let lines = source.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (_, first) = lines.next().context("it is empty")?;
    let known = first.strip_prefix("known up to,").context("it has no `known up to` line")?;
    let known = minor(known)?;
    let mut rows = BTreeSet::new();
    for (number, line) in lines {
        let row = Row::read(line, known).with_context(|| format!("line {number}: {line}"))?;
        ensure!(rows.insert(row), "line {number}: duplicate: {line}");
    }
    Ok(format!(
        "{HEAD}/// The last Kubernetes version whose removed APIs the table contains.\n\
         pub const KNOWN_UP_TO: KubernetesMinor = KubernetesMinor::one({known});\n\n\
         /// All removed APIs, sorted by Kubernetes version, group, version and resource.\n\
         #[rustfmt::skip]\n\
         pub(super) const TABLE: &[RemovedApi] = &[\n{}];\n",
        rows.iter().map(Row::rust).collect::<String>()
    ))
}

/// A line of the source. The order of fields is the sort order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row<'a> {
    removed: u32,
    group: &'a str,
    version: &'a str,
    resource: &'a str,
    kind: &'a str,
    replacement: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str, known: u32) -> Result<Self> {
        let [removed, group, version, resource, kind, replacement] =
            line.split(',').collect::<Vec<_>>()[..]
        else {
            bail!("it does not have six fields");
        };
        let is_plain =
            |text: &str| text.chars().all(|it| it.is_ascii_alphanumeric() || "./-".contains(it));
        ensure!(
            line.split(',').all(is_plain),
            "it contains characters that are invalid in API names"
        );
        let removed = minor(removed)?;
        ensure!(removed <= known, "its removal is later than the end of the table");
        Ok(Self { removed, group, version, resource, kind, replacement })
    }

    fn rust(&self) -> String {
        let Self { removed, group, version, resource, kind, replacement } = self;
        format!(
            "    api({removed}, {group:?}, {version:?}, {resource:?}, {kind:?}, {replacement:?}),\n"
        )
    }
}

/// The second number of `1.N`.
fn minor(version: &str) -> Result<u32> {
    let minor = version.strip_prefix("1.").with_context(|| format!("{version:?} is not 1.N"))?;
    minor.parse().with_context(|| format!("{version:?} is not 1.N"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted() -> Result<()> {
        let table = table(
            "# about\n\nknown up to,1.32\n1.25,policy,v1beta1,podsecuritypolicies,PodSecurityPolicy,\n\
             1.25,batch,v1beta1,cronjobs,CronJob,batch/v1\n",
        )?;
        let lines: Vec<&str> =
            table.lines().filter(|line| line.contains("one(") || line.contains("api(")).collect();
        assert_eq!(
            lines,
            [
                "pub const KNOWN_UP_TO: KubernetesMinor = KubernetesMinor::one(32);",
                r#"    api(25, "batch", "v1beta1", "cronjobs", "CronJob", "batch/v1"),"#,
                r#"    api(25, "policy", "v1beta1", "podsecuritypolicies", "PodSecurityPolicy", ""),"#,
            ]
        );
        Ok(())
    }

    #[test]
    fn committed_table_is_current() -> Result<()> {
        let source = include_str!("../../crates/core/compat/removed-apis.csv");
        let committed = include_str!("../../crates/core/compat/src/removed_apis/table.rs");
        assert_eq!(table(source)?, committed, "`cargo xtask gen` writes it");
        Ok(())
    }

    #[test]
    fn table_of_invalid_source_fails_with_its_line() {
        let row = "1.25,batch,v1beta1,cronjobs,CronJob,batch/v1";
        for (source, why) in [
            (String::new(), "it is empty"),
            (row.to_owned(), "it has no `known up to` line"),
            (format!("known up to,1.24\n{row}"), "line 2"),
            (format!("known up to,1.32\n{row}\n{row}"), "line 3: duplicate"),
            ("known up to,1.32\n1.25,batch".to_owned(), "line 2"),
            ("known up to,1.32\n1.25,a\"b,v1,as,A,".to_owned(), "line 2"),
        ] {
            let error = table(&source).unwrap_err().to_string();
            assert!(error.starts_with(why), "{source}: {error}");
        }
    }
}
