//! Names of architectures in releases and images.

/// The name of an architecture of Rust (`std::env::consts::ARCH`) in images.
pub fn of_machine(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_machine_returns_names_of_images() {
        let names = ["x86_64", "aarch64", "powerpc64", "s390x"].map(of_machine);
        assert_eq!(names, ["amd64", "arm64", "ppc64le", "s390x"]);
    }
}
