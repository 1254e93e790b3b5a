use proptest::prelude::*;

use super::*;

/// A length-delimited field.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    bytes.extend(varint(content.len() as u64));
    bytes.extend_from_slice(content);
    bytes
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn number_field(field: u8, number: u64) -> Vec<u8> {
    [vec![field << 3], varint(number)].concat()
}

fn object(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_ = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &type_), field(2, raw)].concat()
}

#[test]
fn decode_of_config_map_equals_its_json() {
    let label = [field(1, b"a"), field(2, b"b")].concat();
    // Go encodes unset strings and times as empty values.
    let metadata =
        [field(1, b"x"), field(2, b""), field(3, b""), field(8, b""), field(11, &label)].concat();
    let data = [field(1, b"key"), field(2, b"text")].concat();
    let binary = [field(1, b"key"), field(2, &[0, 255])].concat();
    let raw =
        [field(1, &metadata), field(2, &data), field(3, &binary), number_field(4, 1)].concat();
    let decoded = decode(&object("v1", "ConfigMap", &raw)).unwrap();
    assert_eq!(
        decoded,
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": "x", "labels": { "a": "b" }, "creationTimestamp": null },
            "data": { "key": "text" },
            "binaryData": { "key": "AP8=" },
            "immutable": true,
        })
    );
}

#[test]
fn decode_inlines_embedded_messages() {
    let path = field(1, b"/tmp");
    let volume = [field(1, b"v"), field(2, &field(1, &path))].concat();
    let volume = message(&volume, "core.v1.Volume", MAX_DEPTH).unwrap();
    assert_eq!(Value::Object(volume), json!({ "name": "v", "hostPath": { "path": "/tmp" } }));
}

#[test]
fn decode_of_special_types() {
    let as_text = [number_field(1, 1), field(3, b"http")].concat();
    let minus_one = number_field(1, u64::MAX);
    for (type_, bytes, expected) in [
        ("Time", [number_field(1, 3), number_field(2, 5)].concat(), json!("1970-01-01T00:00:03Z")),
        ("MicroTime", number_field(1, 3), json!("1970-01-01T00:00:03.000000Z")),
        ("Time", vec![], Value::Null),
        ("Time", minus_one, json!("1969-12-31T23:59:59Z")),
        ("Quantity", field(1, b"5Gi"), json!("5Gi")),
        ("IntOrString", as_text, json!("http")),
        ("IntOrString", number_field(2, 80), json!(80)),
        ("Json", field(1, br#"{"f:a":{}}"#), json!({ "f:a": {} })),
        ("Texts", [field(1, b"a"), field(1, b"b")].concat(), json!(["a", "b"])),
    ] {
        assert_eq!(value(FieldContent::Bytes(&bytes), type_, 1), Ok(expected), "{type_}");
    }
    assert_eq!(values(FieldContent::Bytes(&[1, 2]), "int64", 1), Ok(vec![json!(1), json!(2)]));
    assert_eq!(values(FieldContent::Number(7), "int64", 1), Ok(vec![json!(7)]));
}

#[test]
fn decode_of_invalid_message_is_refused() {
    let unknown = object("example.com/v1", "Widget", b"");
    assert!(matches!(decode(&unknown), Err(ProtobufError::Unknown { .. })));
    let valid = object("v1", "ConfigMap", &field(1, &field(1, b"x")));
    // A message that ends after its type is an object without content.
    let type_alone = object("v1", "ConfigMap", b"").len() - field(2, b"").len();
    for length in (0..valid.len()).filter(|length| *length != type_alone) {
        assert!(decode(&valid[..length]).is_err(), "{length}");
    }
    for bytes in [&b"{}"[..], b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"k8s\0\x0b"] {
        assert_eq!(decode(bytes), Err(ProtobufError::Malformed));
    }
}

#[test]
fn table_defines_every_type_it_uses() {
    let scalars = ["string", "bytes", "bool", "int32", "int64", "double"];
    let special = ["Time", "MicroTime", "Quantity", "IntOrString", "Json", "Texts"];
    for text in MESSAGE_TABLE.lines().filter(|line| !line.starts_with('#')) {
        let (name, message) = parse_message(text).unwrap();
        assert_eq!(message.len(), text.split(',').count(), "{name}");
        for MessageField { type_, .. } in message.values() {
            let known = scalars.contains(type_) || special.contains(type_);
            assert!(known || find_message(type_).is_some(), "{name}: {type_}");
        }
    }
}

proptest! {
    #[test]
    fn decode_of_any_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
        let _ = decode(&object("v1", "Pod", &bytes));
        let _ = message(&bytes, "core.v1.PodSpec", MAX_DEPTH);
    }
}
