//! Pages and pictures. `crates/coretalk/tests/browser` tests their appearance and behaviour in a browser.
use crate::samples;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coretalk_model::latency::PairOutcome;
use coretalk_model::run::RunReport;
use coretalk_model::{Level, Topology};
use coretalk_report::difference::Differing;
use coretalk_report::document::{Document, Identity};
use coretalk_report::figure::picture_file::{picture_file, picture_file_of_several};
use coretalk_report::html::page;
use coretalk_report::input::{Drawing, ReportInput, ScaleChoice};
use coretalk_report::picture::{Anchor, Medium, Shape, text_width};
use coretalk_report::{By, Order, fmt};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

const DRAWING: Drawing =
    Drawing { order: Order::Topology, by: By::Core, scale: ScaleChoice::Fixed, cdf: None };

fn input(report: &RunReport) -> ReportInput<'_> {
    ReportInput::new(report, "k3f9", Identity::Hidden)
}

fn page_of(report: &RunReport) -> String {
    page(&[input(report)], DRAWING).unwrap()
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| Some(rest.split_once(close)?.0)).collect()
}

fn json_after(page: &str, open: &str) -> Value {
    serde_json::from_str(between(page, open, "</script>")[0]).unwrap()
}

fn hostile() -> RunReport {
    let evil = "</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2J\"'&{script}";
    let mut report = samples::desktop();
    report.environment.label = Some(evil.into());
    report.environment.cpu_model = Some(evil.into());
    report.environment.notes.insert(evil.into(), evil.into());
    report.doctor[0].text = evil.into();
    report.doctor[0].fix = Some(evil.into());
    report.header.tags = vec![evil.into()];
    report.header.command = vec!["latency".into(), evil.into()];
    *samples::cell(&mut report, 5, 1) = samples::failed(evil);
    report
}

fn below_the_diagonal(cpus: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..cpus).flat_map(|row| (0..row).map(move |column| (row, column)))
}

fn svg_of(report: &RunReport) -> String {
    picture_file(&input(report), DRAWING).unwrap().to_svg(Medium::File)
}

fn svg_of_several(inputs: &[ReportInput<'_>]) -> String {
    picture_file_of_several(inputs, DRAWING).unwrap().to_svg(Medium::File)
}

/// 512 CPUs in 4 packages with home penalties, line spread and doubts.
fn large() -> RunReport {
    let levels = [(Level::L3, 8), (Level::Node, 128), (Level::Package, 128)];
    let topology = samples::topology(512, &levels.map(|(level, size)| samples::blocks(level, 512, size)));
    let map = samples::map(512, |a, b| match (a / 8 == b / 8, a / 128 == b / 128) {
        (true, _) => 20.0,
        (_, true) => 120.0,
        _ => 300.0,
    });
    let mut report = samples::report(topology, vec![map], Some("large"));
    for (row, column) in below_the_diagonal(512) {
        let value = samples::cell_value(&mut report, row, column);
        value.home_penalty = Some(1.0 + (row * 7 + column) as f64 % 90.0 / 100.0).into();
        value.line_spread = Some(1.0 + (row + column * 3) as f64 % 40.0 / 100.0).into();
    }
    report
}

#[test]
fn every_sample_becomes_a_page_and_a_picture() {
    for (name, report) in samples::all() {
        let input = input(&report);
        let page = page(std::slice::from_ref(&input), DRAWING).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{name}");
        let picture = picture_file(&input, DRAWING).unwrap();
        assert!(picture.to_svg(Medium::File).ends_with("</svg>"), "{name}");
        assert!(picture.to_png().unwrap().starts_with(b"\x89PNG"), "{name}");
    }
}

#[test]
fn the_policy_allows_exactly_the_scripts_and_style_of_the_page() {
    let page = page_of(&samples::desktop());
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"")[0];
    let allowed: Vec<&str> = between(policy, "'sha256-", "'").into_iter().collect();
    let style = between(&page, "<style>", "</style>");
    let scripts = page.split("<script").skip(1).map(|rest| rest.split_once('>').unwrap().1);
    let mut embedded: Vec<&str> = scripts.map(|rest| rest.split_once("</script>").unwrap().0).collect();
    assert_eq!((style.len(), embedded.len()), (1, 3), "view, document, script");
    embedded.extend(style);
    let hashes: Vec<String> =
        embedded.iter().map(|text| STANDARD.encode(Sha256::digest(text.as_bytes()))).collect();
    assert_eq!(allowed.len(), hashes.len());
    assert!(hashes.iter().all(|hash| allowed.contains(&hash.as_str())), "{policy}");
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
}

#[test]
fn pages_have_no_external_references() {
    for (name, report) in samples::all() {
        let page = page_of(&report);
        let visible = page.split("<script").next().unwrap();
        for link in between(visible, "href=\"", "\"") {
            assert!(link.starts_with('#'), "{name}: {link}");
        }
        for word in [" src=", " style=\"", " onclick", " onload", "<link", "<iframe", "javascript:"] {
            assert!(!visible.contains(word), "{name}: {word}");
        }
    }
}

#[test]
fn hostile_names_are_escaped() {
    let report = hostile();
    let page = page_of(&report);
    assert_eq!(page.matches("<script").count(), 3);
    assert!(!page.contains("<img") && !page.contains('\u{202e}') | page.contains("\\u003c/script>"));
    let visible = page.split("<script").next().unwrap();
    assert!(!visible.contains('\u{202e}') && !visible.contains('\u{1b}'));
    assert!(visible.contains("&lt;img src=x"), "it is shown as it stands");
    let svg = svg_of(&report);
    assert!(!svg.contains("<img") && !svg.contains("<script") && !svg.contains('\u{202e}'), "{svg}");
}

#[test]
fn the_data_are_those_of_the_export_up_to_64_cpus() {
    for report in [samples::desktop(), samples::floating_guest(), hostile()] {
        let page = page_of(&report);
        let mut exported = Vec::new();
        Document::from_report(&report, Identity::Hidden).write_to(&mut exported).unwrap();
        let exported: Value = serde_json::from_slice(&exported).unwrap();
        assert_eq!(json_after(&page, "id=\"data-0\">"), exported);
    }
}

#[test]
fn above_64_cpus_cells_are_columns_of_hundredths() {
    let report = large();
    let page = page_of(&report);
    let view = json_after(&page, "id=\"view\">");
    let columns = &view["runs"][0]["maps"][0]["columns"];
    assert_eq!(columns["cells"], 512 * 511 / 2);
    let cell = 300 * 299 / 2 + 17;
    let Some(PairOutcome::Measured(value)) = report.maps()[0].cells.get(300, 17) else { panic!("measured") };
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // Base-32 digits, lowest first, 32 added to all but the last. 0 means no value; 1, 2, 3, 4 … mean 0, -1, 1, -2 …
    let numbers = |name: &str| {
        let digits = columns[name]["digits"].as_str().unwrap().chars().map(|c| LETTERS.find(c).unwrap());
        let digits: Vec<usize> = digits.collect();
        let number = |digits: &[usize]| digits.iter().rev().fold(0, |sum, digit| 32 * sum + digit % 32);
        digits.split_inclusive(|digit| *digit < 32).map(number).collect::<Vec<_>>()
    };
    assert_eq!(numbers("median").len(), 512 * 511 / 2);
    let hundredths = |name: &str| {
        let number = numbers(name)[cell];
        assert_eq!(number % 2, 1, "known, and not below zero");
        (number / 2) as f64 / 100.0
    };
    assert!((hundredths("median") - value.latency_ns.point).abs() < 0.0051);
    assert!((hundredths("median") - hundredths("below") - value.latency_ns.low).abs() < 0.011);
    assert!((hundredths("home_penalty") - value.home_penalty.get().unwrap()).abs() < 0.0051);
    // Few distinct numbers of passes are encoded as one letter per cell.
    let (values, letters) = (&columns["passes"]["of"], columns["passes"]["letters"].as_str().unwrap());
    assert_eq!(letters.len(), 512 * 511 / 2);
    let at = usize::from(letters.as_bytes()[cell] - b'A');
    assert_eq!(values[at], value.passes);
    assert_eq!(view["runs"][0]["exact"], false);
    assert!(page.contains("rounded to 0.01 ns"));
}

#[test]
fn file_sizes_stay_within_their_limits() {
    let large = large();
    let (small, many) = (page_of(&samples::floating_guest()).len(), page_of(&large).len());
    assert!(small <= 300_000, "{small} bytes for 2 CPUs");
    assert!(many <= 4_000_000, "{many} bytes for 512 CPUs");
    let svg = svg_of_several(&[input(&large)]);
    assert_eq!(svg.matches("<image").count(), 1, "one raster above 64 CPUs");
    assert!(svg.len() < 500_000, "{}", svg.len());
    let svg = svg_of(&large);
    assert!(
        svg.contains("512 CPUs in 64 L3; each square is the median of the pairs between two of them"),
        "{svg}"
    );
    assert!(svg.len() < 700_000, "{}", svg.len());
}

#[test]
fn shared_pictures_are_1200_by_630_and_legible_at_half_size() {
    let mut long = samples::desktop();
    long.environment.cpu_model = Some("An Uncommonly Long Brand(R) of Processor(TM) ".repeat(4));
    let mut unbroken = samples::desktop();
    unbroken.environment.cpu_model = Some("X".repeat(200));
    let more = [("long", long), ("unbroken", unbroken), ("large", large())];
    for (name, report) in samples::all().into_iter().chain(more) {
        let picture = picture_file(&input(&report), DRAWING).unwrap();
        let png = picture.to_png().unwrap();
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((side(16), side(20)), (1200, 630), "{name}");
        for shape in &picture.shapes {
            let Shape::Text([x, y], anchor, style, text) = shape else { continue };
            // Numbers in the cells of a map need only be legible at full size.
            let is_number = text.chars().all(|c| c.is_ascii_digit() || "!skM.-+".contains(c));
            assert!(style.size >= if is_number { 4.5 } else { 8.5 }, "{name}: {text} in {}", style.size);
            let length = text_width(text, style.size, style.weight);
            let left = match anchor {
                Anchor::Start => *x,
                Anchor::Middle => x - length / 2.0,
                Anchor::End => x - length,
            };
            let right = left + length;
            assert!(left >= 0.0 && right <= 600.0, "{name}: {text} from {left} to {right}");
            assert!((8.0..=312.0).contains(y), "{name}: {text} at {y}");
        }
    }
}

#[test]
fn private_facts_are_shown_only_on_request() {
    let mut report = samples::desktop();
    report.header.command =
        vec!["latency".into(), "--store".into(), "/home/me/runs".into(), "--".into(), "secret".into()];
    let hidden = page_of(&report);
    for private in ["secret", "/home/me/"] {
        assert!(!hidden.contains(private), "{private}");
    }
    let included = ReportInput::new(&report, "k3f9", Identity::Included);
    assert!(page(&[included], DRAWING).unwrap().contains("secret-host"));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let report = samples::epyc();
    assert_eq!(page_of(&report), page_of(&report));
    let png = || picture_file(&input(&report), DRAWING).unwrap().to_png();
    assert_eq!(png(), png());
}

#[test]
fn runs_without_values_are_reported_as_such() {
    let mut none = samples::desktop();
    let result = samples::result(&mut none);
    result.maps.clear();
    result.ladder.clear();
    assert!(page_of(&none).contains("This run has no map."));
    assert_eq!(picture_file(&input(&none), DRAWING), None);

    let mut missing = samples::laptop();
    for (row, column) in below_the_diagonal(8) {
        *samples::cell(&mut missing, row, column) = samples::failed("no permission");
    }
    samples::result(&mut missing).ladder.clear();
    assert!(page_of(&missing).contains("28 pairs not measured: no permission"), "every reason is told");
    assert!(svg_of(&missing).contains("28 not measured (hatched)"));

    let one = samples::report(Topology::flat("3".parse().unwrap()), vec![samples::map(1, |_, _| 0.0)], None);
    assert!(page_of(&one).contains("No cell has a value"));
}

#[test]
fn one_absurd_value_does_not_change_the_colours_of_others() {
    let drawn = |report: &RunReport, by| {
        let drawing = Drawing { scale: ScaleChoice::Fit, by, ..DRAWING };
        let svg = picture_file(&input(report), drawing).unwrap().to_svg(Medium::File);
        let fills = between(&svg, "fill=\"#", "\"").into_iter().collect::<BTreeSet<_>>().len();
        assert!(fills > 20, "{fills} colours");
        svg
    };
    let mut report = samples::laptop();
    drawn(&report, By::Core);
    samples::cell_value(&mut report, 7, 2).latency_ns = samples::estimate(1e9, 0.1);
    let absurd = drawn(&report, By::Thread);
    assert!(absurd.contains("; above "), "the legend says that something lies beyond");
}

#[test]
fn incomplete_and_simulated_runs_are_marked() {
    let mut incomplete = samples::desktop();
    incomplete.header.complete = false;
    samples::result(&mut incomplete).complete = false;
    let simulated = samples::laptop();
    assert!(page_of(&incomplete).contains("<span>INCOMPLETE</span>"));
    assert!(page_of(&simulated).contains("<span>SIMULATED</span>"));
    let both = [input(&incomplete), input(&simulated)];
    let page = page(&both, DRAWING).unwrap();
    assert!(page.contains("Simulated and real machines are mixed here"));
    assert!(page.contains("<span>INCOMPLETE</span>") && page.contains("<span>SIMULATED</span>"));
    let svg = svg_of_several(&both);
    assert!(svg.contains(">INCOMPLETE<") && svg.contains(">SIMULATED<"));
}

#[test]
fn several_runs_share_a_table_of_machines_and_relations() {
    let reports = [samples::desktop(), samples::laptop(), samples::epyc(), samples::mesh()];
    let inputs: Vec<ReportInput<'_>> = reports.iter().map(input).collect();
    let page = page(&inputs, DRAWING).unwrap();
    assert!(page.contains("id=\"relations\"") && page.contains("id=\"data-3\""));
    let ids = between(&page, "<section id=\"", "\"");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    let picture = picture_file_of_several(&inputs, DRAWING).unwrap();
    assert!(picture.width > 1_200.0 && picture.height > 900.0, "three in a row, the fourth below");
}

/// The laptop with one pair missing and its first pair 20 % slower, in ns and in cycles, as the clocks may differ.
fn altered() -> RunReport {
    let mut report = samples::laptop();
    let value = samples::cell_value(&mut report, 1, 0);
    value.latency_ns = value.latency_ns.scaled(1.2);
    value.cycles = value.cycles.map(|cycles| cycles.scaled(1.2));
    *samples::cell(&mut report, 2, 0) = samples::failed("left out");
    report
}

#[test]
fn the_difference_of_two_runs_is_a_map_with_its_verdicts() {
    let reports = [samples::laptop(), altered()];
    let inputs: Vec<ReportInput<'_>> = reports.iter().map(input).collect();
    let differing = Differing::from_inputs(&inputs).unwrap();
    assert_eq!(differing.refusal(), None);
    let map = &differing.maps()[0];
    let columns = &map.columns;
    let [slower, missing, same] =
        [1, 2, 3].map(|row| columns.positions.iter().position(|position| *position == [row, 0]).unwrap());
    assert!((columns.median[slower].unwrap() - 20.0).abs() < 0.01, "{:?}", columns.median[slower]);
    let [low, high] = columns.interval[slower].unwrap();
    assert!(low > 10.0 && high < 30.0, "{low} … {high}");
    assert_eq!((map.shown[slower], map.verdicts[slower].as_str()), (true, "SLOWER"));
    assert_eq!((columns.median[missing], map.shown[missing]), (None, false));
    assert_eq!(map.verdicts[missing], "not compared, or not measured in both runs");
    assert_eq!((columns.median[same], map.shown[same]), (Some(0.0), false));
    let page = page(&inputs, DRAWING).unwrap();
    assert!(page.contains("<section id=\"difference\"") && page.contains("\"differences\":[{"));
    let threads = Drawing { by: By::Thread, ..DRAWING };
    let drawn = |inputs: &[ReportInput<'_>]| picture_file_of_several(inputs, threads).unwrap();
    let svg = drawn(&inputs).to_svg(Medium::File);
    assert!(svg.contains(">Difference: ") && svg.contains(">+20<"), "the third map and its one number");
    let mirrored: Vec<_> = reports.iter().rev().map(input).collect();
    assert!(drawn(&mirrored).to_svg(Medium::File).contains(">-17<"), "B is the second");
}

#[test]
fn different_experiments_have_no_difference() {
    let reports = [samples::desktop(), samples::laptop()];
    let inputs: Vec<ReportInput<'_>> = reports.iter().map(input).collect();
    let refusal = fmt::sentence(&Differing::from_inputs(&inputs).unwrap().refusal().unwrap());
    assert!(refusal.contains("simulated (no and yes)"), "{refusal}");
    let page = page(&inputs, DRAWING).unwrap();
    assert!(page.contains("No difference is shown") && page.contains("\"differences\":[]"));
    assert!(!svg_of_several(&inputs).contains("Difference: "));
    for count in [1, 3] {
        let inputs: Vec<ReportInput<'_>> = (0..count).map(|_| input(&reports[0])).collect();
        assert!(Differing::from_inputs(&inputs).is_none(), "{count} runs");
    }
}

#[test]
fn sections_without_content_are_omitted() {
    let [tails, desktop, guest] =
        [samples::tails(), samples::desktop(), samples::floating_guest()].map(|report| page_of(&report));
    for (page, id, is_present) in [
        (&tails, "distributions", true),
        (&desktop, "distributions", false),
        (&guest, "states", true),
        (&desktop, "states", false),
        (&desktop, "maps", true),
        (&guest, "maps", false),
        (&guest, "data", true),
        (&desktop, "placements", false),
    ] {
        assert_eq!(page.contains(&format!("<section id=\"{id}\"")), is_present, "{id}");
    }
}
