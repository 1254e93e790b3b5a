//! Memory limit of a check.

/// Memory limit of a check's container.
pub(crate) const LIMIT: u64 = 100 << 20;

/// Usage at which the check requests no further pages. Decoding a page takes several megabytes.
pub(crate) const GUARD: u64 = LIMIT - LIMIT / 5;

/// Anonymous memory of the process, which counts against the limit and cannot be reclaimed. `None`
/// if unknown.
pub(crate) fn used() -> Option<u64> {
    anonymous(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn anonymous(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_returns_memory_of_process() {
        assert_eq!(anonymous("VmRSS:\t 90 kB\nRssAnon:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(anonymous("VmRSS:\t 90 kB\nRssAnon:\t many\n"), None);
        assert_eq!(anonymous(""), None);
    }
}
