//! SVG drawing.
//!
//! Every minor version is a row, with later releases to the right. Circles are releases with a
//! recommended update to them, diamonds those with conditional updates only, crosses those without
//! updates. A ring marks releases from which all updates are conditional. Tooltips name the risks.

use std::fmt;

use fairway_api::Version;

use super::layout::Layout;
use super::{
    CONDITIONAL_COLOUR, RECOMMENDED_COLOUR, Reachability, Summary, UNREACHABLE_COLOUR, essential,
    is_stranded, reachability,
};
use crate::graph::{Edge, Graph, NodeId};

/// Width of a column: fits a patch version below a release.
const COLUMN_WIDTH: usize = 24;

/// Height of a row: fits arcs above a release and its label below.
const ROW_HEIGHT: usize = 130;

/// Left margin, for the names of rows.
const LEFT_MARGIN: usize = 90;

/// Top margin, for the title and arcs.
const TOP_MARGIN: usize = 120;

/// Bottom margin, for labels and the legend.
const BOTTOM_MARGIN: usize = 120;

/// Radius of a release.
const RADIUS: usize = 6;

/// Maximum height of an arc, which grows with its length, so that it stays below the previous row.
const MAX_ARC_HEIGHT: usize = 60;

/// Characters of a label; a longer one would reach the next row.
const MAX_LABEL_CHARS: usize = 10;

/// Approximate width of a character.
const CHARACTER_WIDTH: usize = 6;

/// Minimum width, for the legend.
const MIN_WIDTH: usize = 1000;

/// Renders a graph as SVG.
pub fn svg(graph: &Graph, title: &str) -> String {
    let layout = Layout::new(graph);
    let width = (LEFT_MARGIN + (layout.columns + 1) * COLUMN_WIDTH).max(MIN_WIDTH);
    let height = row_y(layout.rows.len().saturating_sub(1)) + BOTTOM_MARGIN;
    let mut drawing = Drawing { graph, layout, out: String::new() };
    drawing.add(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">"
    ));
    drawing.add(format_args!("<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>"));
    drawing.heading(title);
    drawing.rows(width);
    for edge in essential(graph) {
        drawing.edge(edge);
    }
    for ((id, _), reachability) in graph.node_ids().zip(reachability(graph)) {
        drawing.release(id, reachability);
    }
    drawing.legend(height - 44);
    drawing.add(format_args!("</svg>"));
    drawing.out
}

struct Drawing<'a> {
    graph: &'a Graph,
    layout: Layout,
    out: String,
}

impl Drawing<'_> {
    fn add(&mut self, element: fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.out, element);
        self.out.push('\n');
    }

    fn heading(&mut self, title: &str) {
        let (title, summary) = (escaped(title), Summary::new(self.graph));
        self.add(format_args!("<text x=\"20\" y=\"32\" font-size=\"20\">{title}</text>"));
        self.add(format_args!("<text x=\"20\" y=\"54\" fill=\"#555\">{summary}</text>"));
    }

    fn rows(&mut self, width: usize) {
        for number in 0..self.layout.rows.len() {
            let (y, name) = (row_y(number), escaped(&self.layout.rows[number].name));
            self.add(format_args!(
                "<path d=\"M{} {y}H{width}\" stroke=\"#e4e4e4\" stroke-width=\"14\"/>",
                LEFT_MARGIN - COLUMN_WIDTH
            ));
            self.add(format_args!(
                "<text x=\"20\" y=\"{}\" font-size=\"16\" font-weight=\"bold\">{name}</text>",
                y + 5
            ));
        }
    }

    fn edge(&mut self, edge: Edge) {
        let risks: Vec<&str> = self.graph.risks(edge).map(|risk| risk.name.as_str()).collect();
        let (from, to) = (self.graph.node(edge.from), self.graph.node(edge.to));
        let hint = escaped(&format!("{} to {} {}", from.version, to.version, risks.join(", ")));
        let look = if risks.is_empty() {
            format!("stroke=\"{RECOMMENDED_COLOUR}\"")
        } else {
            format!("stroke=\"{CONDITIONAL_COLOUR}\" stroke-dasharray=\"5 3\"")
        };
        let path = self.path(edge);
        self.add(format_args!(
            "<path d=\"{path}\" fill=\"none\" {look} stroke-width=\"1.2\" opacity=\"0.75\">\
             <title>{}</title></path>",
            hint.trim_end()
        ));
    }

    /// SVG path of an edge: a line to the next release of a row, an arc over other releases, or a
    /// curve to another row.
    fn path(&self, edge: Edge) -> String {
        let ((from_lane, from), (to_lane, to)) =
            (self.layout.position(edge.from), self.layout.position(edge.to));
        let (x1, y1, x2, y2) = (column_x(from), row_y(from_lane), column_x(to), row_y(to_lane));
        if from_lane != to_lane {
            let middle = y1.midpoint(y2);
            return format!("M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}");
        }
        let neighbours =
            self.layout.rows[from_lane].nodes.windows(2).any(|pair| pair == [edge.from, edge.to]);
        if neighbours {
            return format!("M{x1} {y1}H{x2}");
        }
        let height = (12 + 3 * from.abs_diff(to)).min(MAX_ARC_HEIGHT);
        format!("M{x1} {y1}Q{} {} {x2} {y2}", x1.midpoint(x2), y1 - height)
    }

    fn release(&mut self, id: NodeId, reachability: Reachability) {
        let (row, column) = self.layout.position(id);
        let (x, y) = (column_x(column), row_y(row));
        let version = &self.graph.node(id).version;
        let hint = escaped(&version.to_string());
        let name = label(version);
        if is_stranded(self.graph, id) {
            let radius = RADIUS + 4;
            self.add(format_args!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"none\" stroke=\"{CONDITIONAL_COLOUR}\" stroke-width=\"2\"/>"
            ));
        }
        let shape = shape(x, y, reachability);
        self.add(format_args!("<g>{shape}<title>{hint}</title></g>"));
        let (x, y) = (x - 3, y + RADIUS + 14);
        self.add(format_args!("<text transform=\"translate({x} {y})rotate(45)\" paint-order=\"stroke\" stroke=\"white\" stroke-width=\"3\">{name}</text>"));
    }

    fn legend(&mut self, y: usize) {
        let release = |reachability| shape(0, 0, reachability);
        let ring = format!(
            "<circle r=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>{}",
            RADIUS + 4,
            CONDITIONAL_COLOUR,
            shape(0, 0, Reachability::Recommended)
        );
        let line = |colour, dashes| {
            format!(
                "<path d=\"M-12 0H12\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>"
            )
        };
        let rows = [
            vec![
                (release(Reachability::Recommended), "reached by a recommended update"),
                (release(Reachability::Conditional), "reached by conditional updates only"),
                (release(Reachability::Unreachable), "not reached by any update"),
                (ring, "only conditional updates from this release"),
            ],
            vec![
                (line(RECOMMENDED_COLOUR, "none"), "recommended"),
                (line(CONDITIONAL_COLOUR, "5 3"), "conditional"),
                (String::new(), "Updates implied by other paths are omitted."),
            ],
        ];
        for (row, y) in rows.into_iter().zip([y, y + 24]) {
            let mut x = 34;
            for (picture, words) in row {
                self.add(format_args!(
                    "<g transform=\"translate({x} {y})\">{picture}<text x=\"20\" y=\"4\">{words}</text></g>"
                ));
                x += 60 + CHARACTER_WIDTH * words.len();
            }
        }
    }
}

/// Label of a release: the part of the version that its row does not name, truncated.
fn label(version: &Version) -> String {
    let whole = match version.pre_release() {
        "" => version.patch().to_string(),
        pre => format!("{}-{pre}", version.patch()),
    };
    if whole.len() <= MAX_LABEL_CHARS {
        return whole;
    }
    whole.chars().take(MAX_LABEL_CHARS - 1).chain(['…']).collect()
}

fn shape(x: usize, y: usize, reachability: Reachability) -> String {
    match reachability {
        Reachability::Recommended => {
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{RADIUS}\" fill=\"{RECOMMENDED_COLOUR}\"/>")
        }
        Reachability::Conditional => {
            let side = RADIUS + 2;
            format!(
                "<path transform=\"translate({x} {y})\" d=\"M-{side} 0L0 -{side}L{side} 0L0 {side}Z\" fill=\"{CONDITIONAL_COLOUR}\"/>"
            )
        }
        Reachability::Unreachable => {
            let half = RADIUS - 1;
            format!(
                "<path transform=\"translate({x} {y})\" d=\"M-{half} -{half}L{half} {half}M-{half} {half}L{half} -{half}\" \
                 stroke=\"{UNREACHABLE_COLOUR}\" stroke-width=\"2.5\"/>"
            )
        }
    }
}

fn column_x(column: usize) -> usize {
    LEFT_MARGIN + column * COLUMN_WIDTH
}

fn row_y(row: usize) -> usize {
    TOP_MARGIN + row * ROW_HEIGHT
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
