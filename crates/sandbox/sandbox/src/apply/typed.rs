//! Sets of fields, as the schema sees them.

use crate::schema::Schema;

use super::element::Element;
use super::fields::{FieldSet, Node};
use super::parts::{fields, items};

/// `set` with every field of a type that has something below it: whoever owns a part of a structure
/// owns that it is there.
pub(super) fn with_structures(set: &FieldSet, schema: &Schema) -> FieldSet {
    let fields = fields(schema);
    set.map_nodes(|at, node| {
        let named =
            matches!((at, fields), (Element::Field(name), Some(fields)) if fields.names(name));
        let below = with_structures(&node.below, inside(at, schema));
        Node { member: node.member || named, below }
    })
}

/// `set` as it has to be read if its schema was another when it was written: who owned something
/// whole that now has parts owns all parts that `live` has, and who owned parts of what is now
/// taken whole owns the whole.
///
/// The API server cannot tell the former from owning a structure and nothing in it, and neither can
/// we: such owners, too, come to own what others set there.
pub(super) fn reconcile(set: &FieldSet, live: Option<&FieldSet>, schema: &Schema) -> FieldSet {
    set.map_nodes(|at, node| {
        let (schema, live) = (inside(at, schema), live.and_then(|live| live.below(at)));
        let has_parts = fields(schema).is_some() || items(schema).is_some();
        let below = match (has_parts, node.below.is_empty()) {
            (true, true) => live.cloned().unwrap_or_default(),
            (true, false) => reconcile(&node.below, live, schema),
            (false, _) => FieldSet::default(),
        };
        Node { member: node.member || !has_parts, below }
    })
}

/// What is at `at` in something of this schema.
fn inside<'a>(at: &Element, schema: &'a Schema) -> &'a Schema {
    match (at, fields(schema), items(schema)) {
        (Element::Field(name), Some(fields), _) => fields.schema(name),
        (Element::Key(_) | Element::Value(_), _, Some(list)) => &list.items,
        _ => &Schema::Deduced,
    }
}
