//! Texts without what differs from run to run.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What is different in every run, and what stands for it.
static DIFFERENT: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let table = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z", "TIME"),
        (r#""(resourceVersion|continue)":"[^"]+""#, r#""$1":"…""#),
        (r"in record \([0-9]+\)", "in record (…)"),
    ];
    table.map(|(pattern, name)| (Regex::new(pattern).expect("a pattern"), name)).into()
});

/// The names that one run was given, and what stands for them.
#[derive(Clone)]
pub(crate) struct Names {
    namespace: Regex,
}

impl Names {
    pub(crate) fn of(namespace: &str) -> Self {
        let pattern = regex::escape(namespace);
        Self { namespace: Regex::new(&pattern).expect("an escaped text") }
    }

    /// The text as it would be in any run.
    pub(crate) fn forget(&self, text: &str) -> String {
        let named = self.namespace.replace_all(text, |_: &Captures<'_>| "NS");
        DIFFERENT.iter().fold(named.into_owned(), |text, (pattern, name)| {
            pattern.replace_all(&text, *name).into_owned()
        })
    }
}
