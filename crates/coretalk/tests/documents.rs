//! Documents and exports. `UPDATE_SCHEMA=1 cargo test -p coretalk --test integration documents` rewrites the committed
//! schema.
#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod schema;

use crate::cli::tool::words;
use crate::samples;

use coretalk_model::latency::{Imitated, ImitatedCell, LatencyResult, MissingReason, PairOutcome};
use coretalk_model::run::RunReport;
use coretalk_model::{CpuId, Flag, Matrix, Protocol, Tool, TrialFailure};
use coretalk_report::Style;
use coretalk_report::document::{Document, Identity};
use coretalk_report::export::{Export, ExportError, Format, export, write_imitations};
use serde_json::{Value, json};

fn json(report: &RunReport, identity: Identity) -> Value {
    let mut bytes = Vec::new();
    Document::from_report(report, identity).write_to(&mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn exported(format: Format, report: &RunReport, protocol: Option<Protocol>) -> Result<String, ExportError> {
    let mut bytes = Vec::new();
    let request = Export {
        report,
        trials: None,
        order: None,
        protocol,
        probe: None,
        identity: Identity::Hidden,
        name: "k3f9",
        style: Style::default(),
        ladder: false,
    };
    export(format, &request, &mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn everything() -> RunReport {
    let mut report = samples::tails();
    let guest = samples::floating_guest().latency.unwrap().result;
    let cells = Matrix::directed(vec![CpuId(0), CpuId(1)], |row, column| match row < column {
        true => Ok(ImitatedCell { value_ns: 45.0, spread_ns: None }),
        false => Err(MissingReason::Failed(TrialFailure::CpuLost { cpu: CpuId(1) })),
    });
    let result = result(&mut report);
    (result.watch, result.maps) = (guest.watch, guest.maps);
    result.imitated = vec![Imitated { tool: Tool::C2clat, cells }];
    report
}

fn result(report: &mut RunReport) -> &mut LatencyResult {
    &mut report.latency.as_mut().unwrap().result
}

#[test]
fn documents_match_the_contract() {
    let document = json(&everything(), Identity::Hidden);
    insta::assert_snapshot!("document", serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn unknown_is_null_and_never_zero() {
    let mut report = samples::still_guest();
    let reason = MissingReason::Failed(TrialFailure::from_reason("interrupted"));
    *result(&mut report).maps[0].cells.get_mut(1, 0).unwrap() = PairOutcome::Missing { reason };
    report.environment.clock.cost_ns = None;
    report.environment.clock.hz = 0.0;
    let document = json(&report, Identity::Hidden);
    let (cell, clock) = (&document["matrices"][0]["cells"][0], &document["environment"]["clock"]);
    for unknown in [&cell["median"], &cell["ci"], &cell["grade"], &clock["cost_ns"], &clock["hz"]] {
        assert_eq!(*unknown, Value::Null, "{cell} {clock}");
    }
    assert_eq!(cell["reason"], "interrupted");
}

#[test]
fn an_infinite_interval_is_null() {
    let mut report = samples::still_guest();
    let Some(PairOutcome::Measured(value)) = result(&mut report).maps[0].cells.get_mut(1, 0) else {
        panic!("the pair is measured")
    };
    value.latency_ns.high = f64::INFINITY;
    value.flags.set(Flag::FewPasses);
    let cell = &json(&report, Identity::Hidden)["matrices"][0]["cells"][0];
    assert_eq!((&cell["ci"], &cell["flags"][0]), (&Value::Null, &Value::from("few-passes")));
}

#[test]
fn private_facts_are_omitted_unless_requested() {
    let mut report = samples::desktop();
    let command = "place --store /home/me/runs --machine=sim:./secret.toml --machine sim:secret.csv -o secret \
                   --export-csv=secret --rate 10k/s --adapter mine=secret_--key=1 --adapter=own=secret \
                   -- tool --key=1";
    report.header.command = words(command).iter().map(|word| word.replace('_', " ")).collect();
    let hidden = json(&report, Identity::Hidden);
    assert_eq!(hidden["environment"]["host"], Value::Null);
    let expected = "place --store PATH --machine=PATH --machine PATH -o PATH --export-csv=PATH --rate 10k/s \
         --adapter mine=COMMAND --adapter=own=COMMAND -- …";
    assert_eq!(hidden["run"]["command"], json!(words(expected)));
    let included = json(&report, Identity::Included);
    assert_eq!(included["environment"]["host"], "secret-host");
    assert_eq!(included["run"]["command"][2], "/home/me/runs");
    for format in [Format::Text, Format::Json, Format::Csv, Format::C2cCsv, Format::Markdown] {
        let text = exported(format, &report, None).unwrap();
        assert!(!text.contains("secret") && !text.contains("/home"), "{format}: {text}");
    }
}

#[test]
fn symmetric_cells_name_the_earlier_cpu_first() {
    let document = json(&samples::laptop(), Identity::Hidden);
    let cells = document["matrices"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 28);
    assert!(cells.iter().all(|cell| cell["from"].as_u64() < cell["to"].as_u64()));
}

#[test]
fn a_stored_histogram_reads_back_in_steps_of_10_ps() {
    use base64::Engine;
    let document = json(&samples::tails(), Identity::Hidden);
    let series = &document["series"][0];
    let text = series["histogram_v2_base64"].as_str().unwrap();
    assert!(text.starts_with("HIST"), "{text}");
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    let histogram: hdrhistogram::Histogram<u64> =
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
    assert_eq!(histogram.len(), 1_000_000);
    assert!(histogram.value_at_quantile(0.5).abs_diff(3000) <= 3);
    assert_eq!(series["percentiles"]["50"], 30.0);
    assert_eq!(series["percentiles"]["100"], 4100.0);
    // 30 ns minus half of the clock read of 9 ns that each round trip contains.
    assert_eq!(series["values"]["net_p50"], 25.5);
}

#[test]
fn a_document_of_1024_cpus_is_written_in_seconds() {
    let report = &*samples::HUGE;
    let begun = std::time::Instant::now();
    let mut bytes = Vec::new();
    Document::from_report(report, Identity::Hidden).write_to(&mut bytes).unwrap();
    println!("{} bytes in {:?}", bytes.len(), begun.elapsed());
    assert!((100..500).contains(&(bytes.len() / 523_776)), "{} bytes", bytes.len());
    // A generous limit that only a wrong order of growth exceeds.
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn our_csv_states_its_kernel_and_reads_back_as_the_same_matrix() {
    let desktop = samples::desktop();
    let csv = exported(Format::Csv, &desktop, None).unwrap();
    assert!(csv.contains("# kernel: cas+pause\n") && csv.contains("# simulated: false\n"), "{csv}");
    let read = coretalk_model::formats::read_matrices(csv.as_bytes()).unwrap();
    for (row, column, cell) in desktop.maps()[0].cells.iter() {
        let value = cell.value().map(|value| value.latency_ns.point);
        assert_eq!(read[0].matrix.get(row, column).copied().flatten(), value, "{row}, {column}");
    }
}

#[test]
fn the_lower_triangle_has_no_header() {
    let csv = exported(Format::C2cCsv, &samples::laptop(), None).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines.len() == 8 && lines[0] == ",,,,,,," && lines[1].ends_with(",,,,,,,"), "{csv}");
}

#[test]
fn markdown_holds_every_map_under_its_title() {
    let mut report = samples::laptop();
    report.environment.label = Some("<b>|*x*".into());
    let text = exported(Format::Markdown, &report, None).unwrap();
    assert!(text.contains("SIMULATED laptop-smt") && text.contains("&lt;b>\\|\\*x\\*"), "{text}");
    insta::assert_snapshot!("markdown", text);
}

#[test]
fn a_single_map_format_requires_a_choice_and_lines_require_a_saved_run() {
    let mut report = samples::laptop();
    let mut second = report.maps()[0].clone();
    second.protocol = Protocol::Store;
    result(&mut report).maps.push(second);
    assert!(exported(Format::Csv, &report, Some(Protocol::Store)).unwrap().contains("protocol: store"));
    for (format, protocol, part) in [
        (Format::Csv, None, "`csv`: it can contain only one map and the run has cas, store; choose one with"),
        (Format::C2cCsv, Some(Protocol::Msg), "`c2c-csv`: the run has no map of msg (it has cas, store)"),
        (Format::Jsonl, None, "--no-save"),
    ] {
        let error = exported(format, &report, protocol).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn imitations_are_formatted_by_the_caller() {
    let mut out = Vec::new();
    write_imitations(&everything(), None, &|imitated| format!("{}\n", imitated.tool), &mut out).unwrap();
    let note = "# ! 1 of 1 pairs have no value like c2clat: CPU 1 was taken away during the run\n";
    assert_eq!(String::from_utf8(out).unwrap(), format!("{note}c2clat\n"));
}

#[test]
fn formats_are_listed_in_their_order() {
    for (index, (format, name, ..)) in Format::ALL.into_iter().enumerate() {
        assert_eq!((format as usize, format.name()), (index, name));
    }
}
