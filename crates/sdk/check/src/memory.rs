//! How much memory a check may use.

/// What a check gets.
pub(crate) const LIMIT: u64 = 100 << 20;

/// Where it stops asking for more: a page of objects takes some megabytes before it is looked at.
pub(crate) const GUARD: u64 = LIMIT - LIMIT / 5;

/// The memory that is this process's own, which is what counts against the limit and cannot be
/// given back by the kernel. `None` where the system does not tell.
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
    fn the_kernel_tells_what_is_used() {
        assert_eq!(anonymous("VmRSS:\t 90 kB\nRssAnon:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(anonymous("VmRSS:\t 90 kB\nRssAnon:\t many\n"), None);
        assert_eq!(anonymous(""), None);
    }
}
