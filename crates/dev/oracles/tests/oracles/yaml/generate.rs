//! Generated inputs: valid documents, random tokens, scalars and mutations of real manifests.

use fairway_fixtures::environment;

/// Number of batches.
pub(crate) fn rounds() -> usize {
    let rounds = std::env::var(environment::SOAK_ROUNDS).ok();
    rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

/// Scalars whose type depends on the reader, and scalars that look like them.
const SCALARS: &[&str] = &[
    "a",
    "b c",
    "é",
    "y",
    "Y",
    "n",
    "yes",
    "No",
    "on",
    "OFF",
    "true",
    "False",
    "null",
    "~",
    "Null",
    "0",
    "-0",
    "1",
    "0644",
    "0o644",
    "0x1F",
    "0b101",
    "0b-1",
    "-0b11",
    "08",
    "0809",
    "1_000",
    "_1",
    "12:30:45",
    "190:20:30",
    "1e3",
    "1.5",
    ".5",
    "-.5",
    "+.5",
    "1.",
    "1e400",
    "0.1e-7",
    "-0.0",
    ".inf",
    "-.inf",
    ".nan",
    "18446744073709551615",
    "-9223372036854775808",
    "9223372036854775808",
    "123456789012345678901234567890",
    "2001-01-01",
    "2001-12-14t21:59:43.10-05:00",
    "1000000",
    "1.5e21",
    "0.000001",
    "<<",
    "=",
    "-",
    "--",
    "a:b",
    "http://x/y",
    "a#b",
    "-a",
    "?a",
    ":a",
    "@a",
    "%a",
    "`a",
    "''",
    "\"\"",
    "'a''b'",
    "\"a\\nb\"",
    "\"\\u00e9\\x41\\U0001F600\"",
    "\"\\/\"",
    "'a\n  b'",
    "\"a\n\n  b\"",
    "\"a\\\n  b\"",
    "'a\nb'",
    "a\n b",
    "a\n\n b",
    "1 2",
    "[]",
    "{}",
    "[a, b]",
    "{a: b}",
    "{a: b, a: c}",
    "[a: b]",
    "{a, b}",
    "{\"a\":b}",
    "{a:b}",
    "[a,\n b]",
];

const TAGS: &[&str] = &[
    "!!str",
    "!!int",
    "!!float",
    "!!bool",
    "!!null",
    "!!binary",
    "!!timestamp",
    "!!map",
    "!!seq",
    "!!merge",
    "!",
    "!local",
    "!e!x",
    "!<tag:yaml.org,2002:int>",
    "!!%73tr",
];

const BLOCKS: &[&str] = &["|", ">", "|-", ">-", "|+", ">+", "|2", ">1-", "|+1", "| # comment"];

const FRAGMENTS: &[&str] = &[
    "a",
    "b",
    "a: ",
    ": ",
    ":",
    "- ",
    "-",
    "? ",
    "?",
    "\n",
    "\n",
    "\n",
    "\n ",
    "\n  ",
    "\n    ",
    " ",
    "  ",
    "\t",
    "'",
    "\"",
    "|",
    ">",
    "|-",
    ">+",
    "|2",
    "#",
    " #",
    "&x ",
    "*x",
    "<<: ",
    "!!str ",
    "!!int ",
    "! ",
    "!f ",
    "!",
    "{",
    "}",
    "[",
    "]",
    ",",
    ", ",
    "---",
    "---\n",
    "...",
    "...\n",
    "%YAML 1.1\n",
    "%TAG ! x\n",
    "%",
    "é",
    "\u{85}",
    "\u{2028}",
    "\u{FEFF}",
    "\r\n",
    "\r",
    "\\",
    "\\n",
    "\\x41",
    "''",
    "@",
    "`",
    "1",
    "0x",
    "yes",
    "~",
    "<<",
    "=",
    "\u{7F}",
    "\u{0}",
];

/// A source of inputs that depends on its seed alone.
pub(crate) struct Generator {
    state: std::cell::Cell<u64>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: std::cell::Cell::new(seed) }
    }

    /// A number below a limit (`SplitMix64`).
    pub(crate) fn below(&self, limit: usize) -> usize {
        let state = self.state.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.state.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).expect("a small number")
    }

    fn one_in(&self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick(&self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    /// A sequence of fragments, most of it invalid.
    pub(crate) fn tokens(&mut self) -> Vec<u8> {
        let count = 1 + self.below(14);
        (0..count).map(|_| self.pick(FRAGMENTS)).collect::<String>().into_bytes()
    }

    /// A scalar in one of the places where it can be.
    pub(crate) fn scalar_document(&mut self) -> Vec<u8> {
        let number: String = (0..=self.below(9))
            .map(|_| {
                self.pick(&[
                    "0", "1", "7", "9", ".", "e", "+", "-", "_", "x", "b", "o", ":", "f", "E", "é",
                    " ",
                ])
            })
            .collect();
        let scalar = if self.one_in(2) { self.pick(SCALARS).to_owned() } else { number };
        let tag = if self.one_in(3) { format!("{} ", self.pick(TAGS)) } else { String::new() };
        let quote = self.pick(&["", "", "", "'", "\""]);
        let scalar = format!("{tag}{quote}{scalar}{quote}");
        match self.below(6) {
            0 => scalar,
            1 => format!("a: {scalar}"),
            2 => format!("{scalar}: a"),
            3 => format!("- {scalar}\n- b\n"),
            4 => format!("[{scalar}, {scalar}]"),
            _ => format!("{{a: {scalar}, {scalar}: b}}"),
        }
        .into_bytes()
    }

    /// A document of nested collections, mostly valid.
    pub(crate) fn document(&mut self) -> Vec<u8> {
        let mut out = String::new();
        if self.one_in(20) {
            out.push_str(self.pick(&[
                "\u{FEFF}",
                "---\n",
                "# comment\n",
                "%YAML 1.1\n---\n",
                "\n\n",
            ]));
        }
        self.collection(&mut out, 0, 4);
        if self.one_in(20) {
            out.push_str(self.pick(&["...\n", "# end", "\n\n", "...\n@", "\t", "]"]));
        }
        let out = match self.below(12) {
            0 => out.replace('\n', "\r\n"),
            1 => out.trim_end().to_owned(),
            _ => out,
        };
        match self.below(60) {
            0 => utf16(&out),
            1 => self.mutated(out.as_bytes()),
            _ => out.into_bytes(),
        }
    }

    fn collection(&mut self, out: &mut String, indent: usize, depth: usize) {
        let is_mapping = !self.one_in(3);
        for entry in 0..=self.below(4) {
            out.push_str(&" ".repeat(indent));
            if is_mapping {
                let key = if self.one_in(4) { self.pick(SCALARS) } else { "k" };
                let number = if self.one_in(6) { String::new() } else { entry.to_string() };
                let key = if key.contains(['\n', '[', '{']) { "key" } else { key };
                match self.below(12) {
                    0 => {
                        let merged = self.pick(&["{m: 1}", "[{m: 1}, {m: 2, n: 3}]", "*x", "1"]);
                        *out += &["<<: ", merged, "\n"].concat();
                        continue;
                    }
                    1 => *out += &["? ", key, &number, "\n", &" ".repeat(indent)].concat(),
                    _ => *out += &[key, &number].concat(),
                }
                out.push(':');
            } else {
                out.push('-');
            }
            self.value(out, indent, depth, is_mapping);
        }
    }

    fn value(&mut self, out: &mut String, indent: usize, depth: usize, is_mapping: bool) {
        if self.one_in(8) {
            out.push_str(self.pick(&[" &x", " &y", " &x", "  "]));
        }
        if self.one_in(30) {
            out.push(' ');
            out.push_str(self.pick(TAGS));
        }
        match self.below(10) {
            0..=2 if depth > 0 => {
                out.push('\n');
                // A sequence may be at the column of its key.
                let deeper = if is_mapping && self.one_in(5) { 0 } else { 1 + self.below(3) };
                self.collection(out, indent + deeper, depth - 1);
            }
            3 => {
                out.push(' ');
                out.push_str(self.pick(BLOCKS));
                out.push('\n');
                for _ in 0..self.below(4) {
                    let line = self.pick(&["text", " more", "", "\ttab", "- item", "#no", "é"]);
                    let deeper = 2 + self.below(2) * self.below(3);
                    *out += &[&" ".repeat(indent + deeper), line, "\n"].concat();
                }
            }
            4 if out.contains("&x") => out.push_str(self.pick(&[" *x\n", " *x\n", " [*x, *x]\n"])),
            5 => out.push_str(self.pick(&["\n", " # comment\n", " *y\n"])),
            _ => {
                let scalar = self.pick(SCALARS).replace('\n', &format!("\n{}", " ".repeat(indent)));
                let space = self.pick(&[" ", " ", " ", "  ", "\t"]);
                let end = self.pick(&["\n", "\n", "\n", " # comment\n", " \n", "\n\n"]);
                *out += &[space, &scalar, end].concat();
            }
        }
    }

    /// A document with a few changes.
    pub(crate) fn mutated(&self, document: &[u8]) -> Vec<u8> {
        let mut bytes = document.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len() + 1);
            let fragment = self.pick(FRAGMENTS).as_bytes();
            match self.below(6) {
                0 if at < bytes.len() => {
                    bytes.remove(at);
                }
                1 if at < bytes.len() => bytes[at] = u8::try_from(self.below(256)).expect("a byte"),
                2 => {
                    let end = bytes.len().min(at + self.below(40));
                    bytes.drain(at..end);
                }
                3 => {
                    let end = bytes.len().min(at + self.below(80));
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                _ => {
                    bytes.splice(at..at, fragment.iter().copied());
                }
            }
        }
        bytes
    }
}

fn utf16(text: &str) -> Vec<u8> {
    let mut bytes = vec![0xFF, 0xFE];
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    bytes
}
