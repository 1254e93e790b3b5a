//! Arguments for file-based catalogs.

use std::path::PathBuf;
use std::str::FromStr;

/// Files of a catalog, and the catalog of the cluster that they replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CatalogFiles {
    /// As `namespace/name`; `None`: every catalog with a package of the files.
    pub(crate) stands_for: Option<String>,
    /// A directory, or a file.
    pub(crate) path: PathBuf,
}

impl FromStr for CatalogFiles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, path)) = text.split_once('=') else {
            return Ok(Self { stands_for: None, path: text.into() });
        };
        match name.split_once('/') {
            Some((namespace, name)) if is_word(namespace) && is_word(name) && !path.is_empty() => {
                Ok(Self { stands_for: Some(format!("{namespace}/{name}")), path: path.into() })
            }
            _ => Err("not of the form NAMESPACE/NAME=DIR, which a path that contains = requires"
                .to_owned()),
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_with_optional_catalog_is_parsed() {
        let read = |text: &str| text.parse::<CatalogFiles>().map(|it| (it.stands_for, it.path));
        assert_eq!(read("catalog"), Ok((None, "catalog".into())));
        let named = (Some("market/main".to_owned()), "./a=b".into());
        assert_eq!(read("market/main=./a=b"), Ok(named));
        for wrong in ["main=catalog", "=catalog", "/=catalog", "market/main=", "a/b/c=d"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
