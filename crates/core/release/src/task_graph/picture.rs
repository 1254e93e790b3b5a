//! A task graph for people: as text, with all its tasks where the form is `{:#}`, and drawn.

use std::fmt::{self, Write as _};

use super::{ComponentTasks, Node, Task, TaskGraph};

impl fmt::Display for TaskGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, node) in self.nodes.iter().enumerate() {
            write!(f, "{index}: {}", summary(node).join(", "))?;
            if !node.after.is_empty() {
                let after: Vec<String> = node.after.iter().map(usize::to_string).collect();
                write!(f, "; after {}", after.join(", "))?;
            }
            writeln!(f)?;
            if f.alternate() {
                for task in &node.tasks {
                    writeln!(f, "   {task} in {}", task.file)?;
                }
            }
        }
        Ok(())
    }
}

impl TaskGraph {
    /// Draws it in the language of Graphviz.
    pub fn dot(&self) -> String {
        let mut out = "digraph tasks {\n  node [shape=box fontname=\"sans-serif\"];\n".to_owned();
        // Writing to memory cannot fail.
        for (index, node) in self.nodes.iter().enumerate() {
            let border = if node.tasks.iter().any(|task| task.is_barrier) { 2 } else { 1 };
            let _ = if node.tasks.is_empty() {
                writeln!(out, "  {index} [shape=point];")
            } else {
                let label = summary(node).iter().map(|line| escaped(line)).collect::<Vec<_>>();
                let label = label.join("\\n");
                writeln!(out, "  {index} [label=\"{label}\" peripheries={border}];")
            };
        }
        for (index, node) in self.nodes.iter().enumerate() {
            for next in &node.before {
                let _ = writeln!(out, "  {index} -> {next};");
            }
        }
        out.push_str("}\n");
        out
    }
}

impl fmt::Display for ComponentTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, component, manifests, is_barrier } = self;
        if let Some(level) = level {
            write!(f, "{level} ")?;
        }
        write!(f, "{component}: {}", count(*manifests))?;
        if *is_barrier { f.write_str(", Job") } else { Ok(()) }
    }
}

impl TaskGraph {
    /// The steps of the graph as lines of text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        for (number, step) in (1..).zip(self.steps()) {
            let _ = writeln!(out, "step {number}");
            for component in &step.components {
                let _ = writeln!(out, "  {component}");
            }
        }
        out
    }
}

fn count(manifests: usize) -> String {
    match manifests {
        0 => "nothing".to_owned(),
        1 => "1 manifest".to_owned(),
        count => format!("{count} manifests"),
    }
}

/// Whose turn it is, and how much there is to do.
fn summary(node: &Node) -> Vec<String> {
    let whose =
        |task: &Task| task.turn().map_or_else(|| task.file.clone(), |turn| turn.to_string());
    let mut lines: Vec<String> = node.tasks.iter().map(whose).collect();
    lines.dedup();
    lines.push(count(node.tasks.len()));
    lines
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
