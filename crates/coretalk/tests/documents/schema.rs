//! Every document matches the generated schema, which equals the committed one.

use super::{everything, json};
use crate::samples;
use coretalk_report::document::{Identity, schema, selftest_schema};
use serde_json::Value;
use std::path::PathBuf;

/// Validates a value with the JSON Schema keywords that the generated schema uses; unknown keywords are errors, so
/// nothing is skipped.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(schema) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Ok(()) } else { Err(format!("{at}: no schema")) };
    };
    for (keyword, rule) in schema {
        match keyword.as_str() {
            "$ref" => {
                let name = rule.as_str().and_then(|path| path.strip_prefix("#/")).ok_or("a foreign $ref")?;
                check(root, root.pointer(&format!("/{name}")).ok_or("a dead $ref")?, value, at)?;
            }
            "anyOf" => {
                let check_option = |option| check(root, option, value, at);
                let errors: Vec<String> =
                    rule.as_array().unwrap().iter().filter_map(|option| check_option(option).err()).collect();
                if errors.len() == rule.as_array().unwrap().len() {
                    return Err(errors.join(" and "));
                }
            }
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                let has_type = |name: &Value| match name.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("type {other}"),
                };
                if !types.iter().any(has_type) {
                    return Err(format!("{at}: {value} is not {rule}"));
                }
            }
            "required" if value.is_object() => {
                for name in rule.as_array().unwrap() {
                    if value.get(name.as_str().unwrap()).is_none() {
                        return Err(format!("{at}: no {name}"));
                    }
                }
            }
            "properties" if value.is_object() => {
                for (name, inner) in value.as_object().unwrap() {
                    let schema = rule.get(name).ok_or(format!("{at}: {name} is not in the schema"))?;
                    check(root, schema, inner, &format!("{at}/{name}"))?;
                }
            }
            "additionalProperties" if value.is_object() && !schema.contains_key("properties") => {
                for (name, inner) in value.as_object().unwrap() {
                    check(root, rule, inner, &format!("{at}/{name}"))?;
                }
            }
            "items" if value.is_array() => {
                for (index, inner) in value.as_array().unwrap().iter().enumerate() {
                    check(root, rule, inner, &format!("{at}/{index}"))?;
                }
            }
            "prefixItems" if value.is_array() => {
                for (inner, schema) in value.as_array().unwrap().iter().zip(rule.as_array().unwrap()) {
                    check(root, schema, inner, at)?;
                }
            }
            "minItems" | "maxItems" if value.is_array() => {
                let (length, limit) = (value.as_array().unwrap().len() as u64, rule.as_u64().unwrap());
                if (keyword == "minItems" && length < limit) || (keyword == "maxItems" && length > limit) {
                    return Err(format!("{at}: {length} items"));
                }
            }
            "minimum" if value.is_number() => {
                if value.as_f64() < rule.as_f64() {
                    return Err(format!("{at}: {value} below {rule}"));
                }
            }
            "maximum" if value.is_number() => {
                if value.as_f64() > rule.as_f64() {
                    return Err(format!("{at}: {value} above {rule}"));
                }
            }
            "required"
            | "properties"
            | "additionalProperties"
            | "items"
            | "prefixItems"
            | "minItems"
            | "maxItems"
            | "minimum"
            | "maximum"
            | "$schema"
            | "$defs"
            | "title"
            | "description"
            | "format" => {}
            other => return Err(format!("{at}: the schema uses `{other}`, which this check does not know")),
        }
    }
    Ok(())
}

#[test]
fn every_document_fits_the_schema() {
    let root = schema();
    let mut reports = samples::all();
    reports.push(("everything", everything()));
    for (name, report) in &reports {
        for identity in [Identity::Hidden, Identity::Included] {
            check(&root, &root, &json(report, identity), name).unwrap();
        }
    }
}

fn document_of_command(words: &[&str]) -> Value {
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("coretalk"))
        .args(words)
        .args(["--format", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn commands_that_make_no_run_print_documents_of_the_same_schema() {
    let root = schema();
    let sim = ["--machine", "sim:hybrid"];
    let folder = tempfile::tempdir().unwrap();
    let matrix = folder.path().join("theirs.csv");
    std::fs::write(&matrix, ",,\n22.5,,\n90,91,\n").unwrap();
    let imported = matrix.to_string_lossy().into_owned();
    let documents = [
        ("doctor", document_of_command(&[&["doctor"][..], &sim].concat())),
        ("topology", document_of_command(&[&["topology"][..], &sim].concat())),
        ("advise", document_of_command(&[&["advise", "-n", "3", "-q"][..], &sim].concat())),
        ("clock", document_of_command(&[&["clock"][..], &sim].concat())),
        ("probes", document_of_command(&["probes"])),
        ("plan", document_of_command(&[&["plan", "--seed", "1"][..], &sim].concat())),
        ("import", document_of_command(&["import", &imported, "-q"])),
    ];
    for (name, document) in &documents {
        check(&root, &root, document, name).unwrap();
        assert_eq!(
            (&document["schema"], &document["run"]),
            (&"coretalk.run/1".into(), &Value::Null),
            "{name}"
        );
    }
    let document_of = |name: &str| &documents.iter().find(|(known, _)| *known == name).unwrap().1;
    assert_eq!(document_of("doctor")["environment"]["simulated"], "hybrid");
    assert!(!document_of("doctor")["environment"]["doctor"].as_array().unwrap().is_empty());
    assert_eq!(document_of("topology")["topology"]["reported"]["classes"][1]["cpus"], "0-11");
    assert!(document_of("clock")["environment"]["clock"]["hz"].as_f64().unwrap() > 1e6);
    assert!(
        document_of("probes")["probes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|probe| probe["kernel"] == "cas+pause")
    );
    assert_eq!(document_of("plan")["plan"]["pairs"], 190);
    let cells = document_of("import")["matrices"][0]["cells"].as_array().unwrap();
    assert_eq!((cells.len(), &cells[0]["median"], &cells[0]["ci"]), (3, &Value::from(22.5), &Value::Null));
}

#[cfg(target_os = "linux")]
#[test]
fn the_clock_of_this_machine_is_a_series_of_costs_and_a_matrix_of_offsets() {
    let root = schema();
    let document = document_of_command(&["clock"]);
    check(&root, &root, &document, "clock").unwrap();
    let series = &document["series"][0];
    assert_eq!((&series["probe"], &series["unit"]), (&"clock".into(), &"ns".into()));
    assert!(
        series["count"].as_u64() > Some(0) && series["percentiles"]["50"].as_f64() > Some(0.0),
        "{series}"
    );
    let offsets = &document["matrices"][0];
    assert_eq!((&offsets["quantity"], &offsets["regime"]), (&"clock_offset".into(), &Value::Null));
    for cell in offsets["cells"].as_array().unwrap() {
        let within = |ends: &Value| {
            ends[0].as_f64() <= cell["median"].as_f64() && cell["median"].as_f64() <= ends[1].as_f64()
        };
        assert!(cell["median"].is_null() || within(&cell["ci"]), "{cell}");
    }
}

#[test]
fn the_schema_check_finds_violations() {
    let root = schema();
    let good = json(&everything(), Identity::Hidden);
    type Damage = fn(&mut Value);
    let damages: [(&str, Damage); 4] = [
        ("a number as text", |document| document["run"]["seed"] = "one".into()),
        ("a field too few", |document| drop(document["run"].as_object_mut().unwrap().remove("id"))),
        ("a field too many", |document| document["run"]["extra"] = 1.into()),
        ("half an interval", |document| document["matrices"][0]["cells"][0]["ci"] = vec![1.0].into()),
    ];
    for (damage, apply) in damages {
        let mut bad = good.clone();
        apply(&mut bad);
        assert!(check(&root, &root, &bad, "").is_err(), "{damage}");
    }
}

#[test]
fn the_committed_schema_is_current() {
    for (name, schema) in [("run", schema()), ("selftest", selftest_schema())] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("schema/coretalk.{name}.v1.json"));
        let current = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &current).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == current,
            "{} is old: UPDATE_SCHEMA=1 cargo test -p coretalk --test integration documents",
            path.display()
        );
    }
}
