//! Every document matches the generated schema, which equals the committed one.

use super::{everything, json};
use crate::cli::tool::{Tool, words};
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
    let (object, array) = (value.as_object(), value.as_array());
    for (keyword, rule) in schema {
        let rules = || rule.as_array().unwrap();
        let is_satisfied = match keyword.as_str() {
            "$ref" => {
                let name = rule.as_str().and_then(|path| path.strip_prefix("#/")).ok_or("a foreign $ref")?;
                check(root, root.pointer(&format!("/{name}")).ok_or("a dead $ref")?, value, at)?;
                true
            }
            "anyOf" => {
                let check_option = |option| check(root, option, value, at).err();
                let errors: Vec<String> = rules().iter().filter_map(check_option).collect();
                if errors.len() == rules().len() {
                    return Err(errors.join(" and "));
                }
                true
            }
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                types.iter().any(|name| match name.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "array" => array.is_some(),
                    "object" => object.is_some(),
                    other => panic!("type {other}"),
                })
            }
            "required" => {
                let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                object.is_none() || rules().iter().all(has)
            }
            "properties" => {
                for (name, inner) in object.into_iter().flatten() {
                    let schema = rule.get(name).ok_or(format!("{at}: {name} is not in the schema"))?;
                    check(root, schema, inner, &format!("{at}/{name}"))?;
                }
                true
            }
            "additionalProperties" => {
                for (name, inner) in
                    object.filter(|_| !schema.contains_key("properties")).into_iter().flatten()
                {
                    check(root, rule, inner, &format!("{at}/{name}"))?;
                }
                true
            }
            "items" => {
                for (index, inner) in array.into_iter().flatten().enumerate() {
                    check(root, rule, inner, &format!("{at}/{index}"))?;
                }
                true
            }
            "prefixItems" => {
                for (inner, schema) in array.into_iter().flatten().zip(rules()) {
                    check(root, schema, inner, at)?;
                }
                true
            }
            "minItems" => array.is_none_or(|all| all.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => array.is_none_or(|all| all.len() as u64 <= rule.as_u64().unwrap()),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "$schema" | "$defs" | "title" | "description" | "format" => true,
            other => return Err(format!("{at}: the schema uses `{other}`, which this check does not know")),
        };
        if !is_satisfied {
            return Err(format!("{at}: {value} violates `{keyword}`: {rule}"));
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

fn document_of(tool: &Tool, line: &str) -> Value {
    tool.json(&words(&format!("{line} --format json")))
}

#[test]
fn commands_that_make_no_run_print_documents_of_the_same_schema() {
    let root = schema();
    let tool = Tool::new();
    tool.write("theirs.csv", ",,\n22.5,,\n90,91,\n");
    let [doctor, topology, clock, probes, plan, import, _] = [
        "doctor --machine sim:hybrid",
        "topology --machine sim:hybrid",
        "clock --machine sim:hybrid",
        "probes",
        "plan --seed 1 --machine sim:hybrid",
        "import theirs.csv -q",
        "advise -n 3 -q --machine sim:hybrid",
    ]
    .map(|line| {
        let document = document_of(&tool, line);
        check(&root, &root, &document, line).unwrap();
        let heading = (&document["schema"], &document["run"]);
        assert_eq!(heading, (&"coretalk.run/1".into(), &Value::Null), "{line}");
        document
    });
    assert_eq!(doctor["environment"]["simulated"], "hybrid");
    assert!(!doctor["environment"]["doctor"].as_array().unwrap().is_empty());
    assert_eq!(topology["topology"]["reported"]["classes"][1]["cpus"], "0-11");
    assert!(clock["environment"]["clock"]["hz"].as_f64().unwrap() > 1e6);
    assert!(probes["probes"].as_array().unwrap().iter().any(|probe| probe["kernel"] == "cas+pause"));
    assert_eq!(plan["plan"]["pairs"], 190);
    let cells = import["matrices"][0]["cells"].as_array().unwrap();
    assert_eq!((cells.len(), &cells[0]["median"], &cells[0]["ci"]), (3, &Value::from(22.5), &Value::Null));
}

#[cfg(target_os = "linux")]
#[test]
fn the_clock_of_this_machine_is_a_series_of_costs_and_a_matrix_of_offsets() {
    let root = schema();
    let document = document_of(&Tool::new(), "clock");
    check(&root, &root, &document, "clock").unwrap();
    let series = &document["series"][0];
    assert_eq!((&series["probe"], &series["unit"]), (&"clock".into(), &"ns".into()));
    assert!(series["count"].as_u64() > Some(0), "{series}");
    assert!(series["percentiles"]["50"].as_f64() > Some(0.0), "{series}");
    let offsets = &document["matrices"][0];
    assert_eq!((&offsets["quantity"], &offsets["regime"]), (&"clock_offset".into(), &Value::Null));
    for cell in offsets["cells"].as_array().unwrap() {
        let numbers = [&cell["ci"][0], &cell["median"], &cell["ci"][1]].map(Value::as_f64);
        assert!(cell["median"].is_null() || numbers.is_sorted(), "{cell}");
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
        let is_current = std::fs::read_to_string(&path).unwrap_or_default() == current;
        assert!(is_current, "{name}: UPDATE_SCHEMA=1 cargo test -p coretalk --test integration documents");
    }
}
