//! Snapshots of screens as text for review. `INSTA_UPDATE=always cargo test` rewrites them.
mod states;

use crate::samples;

use coretalk_model::latency::{Counts, PairChoice};
use coretalk_model::plan::LatencyPlan;
use coretalk_model::run::RunReport;
use coretalk_model::stats::Estimate;
use coretalk_model::{ClockFacts, CpuId, Flag, Matrix, Picos, Relation, Topology};
use coretalk_report::blocks::Block;
use coretalk_report::clock::ClockView;
use coretalk_report::document::{SavedRunDoc, SavedRunState};
use coretalk_report::render::terminal;
use coretalk_report::text::{columns, strip};
use coretalk_report::{
    By, ColorDepth, Order, Saved, Screen, Style, facts, latency_screen, plan, runs, topology,
};

const SAVED: Screen<'static> = Screen::Measured(Saved::As("k3f9"));

fn at(width: usize) -> Style {
    Style { width, ..Style::default() }
}

fn screen(report: &RunReport, style: &Style) -> String {
    latency_screen(report, SAVED, style)
}

#[test]
fn screens_read_well_at_100_columns() {
    for (name, report) in samples::all() {
        insta::assert_snapshot!(format!("{name}-100"), screen(&report, &at(100)));
    }
}

#[test]
fn screens_read_well_at_80_and_160_columns() {
    let all = samples::all();
    for wide in ["desktop", "epyc", "floating-guest", "hybrid"] {
        let (name, report) = all.iter().find(|(name, _)| *name == wide).unwrap();
        for width in [80, 160] {
            insta::assert_snapshot!(format!("{name}-{width}"), screen(report, &at(width)));
        }
    }
}

#[test]
fn coloured_screens_are_stable() {
    for (name, report, depth) in [
        ("laptop-true", samples::laptop(), ColorDepth::TrueColor),
        ("laptop-256", samples::laptop(), ColorDepth::Ansi256),
        ("laptop-16", samples::laptop(), ColorDepth::Ansi16),
        ("mesh-16", samples::mesh(), ColorDepth::Ansi16),
    ] {
        insta::assert_snapshot!(name, screen(&report, &Style { depth, ..at(80) }).replace('\x1b', "␛"));
    }
}

#[test]
fn no_line_is_wider_than_the_screen() {
    for (name, report) in samples::all() {
        for width in [40, 61, 80, 100, 131, 160, 250] {
            for depth in [ColorDepth::None, ColorDepth::TrueColor] {
                for (by, order) in [(By::Core, Order::Topology), (By::Thread, Order::Id)] {
                    fitting_screen(name, &report, &Style { width, depth, by, order });
                }
            }
        }
    }
}

fn fitting_screen(name: &str, report: &RunReport, style: &Style) -> String {
    let text = screen(report, style);
    let wide = text.lines().find(|line| columns(line) > style.width);
    assert_eq!(wide, None, "{name}: {style:?}");
    text
}

// A screen of 1,024 CPUs reads half a million cells, so three tests draw only four, which cover each pair of options.

#[test]
fn a_map_of_1024_cpus_fits_and_names_its_caches() {
    let text = fitting_screen("huge", &samples::HUGE, &Style { depth: ColorDepth::TrueColor, ..at(160) });
    assert!(text.contains("128 L3: 0-7, 8-15 … 1016-1023"), "{}", strip(&text));
}

#[test]
fn threads_of_1024_cpus_fit_too() {
    for (width, depth) in [(80, ColorDepth::TrueColor), (160, ColorDepth::None)] {
        fitting_screen("huge", &samples::HUGE, &Style { width, depth, by: By::Thread, order: Order::Id });
    }
}

#[test]
fn every_depth_shows_the_same_numbers() {
    for report in [samples::desktop(), samples::laptop(), samples::hybrid(), samples::floating_guest()] {
        let without = screen(&report, &at(160));
        for depth in [ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor] {
            // A coloured cell keeps its trailing space, which is background.
            let coloured = strip(&screen(&report, &Style { depth, ..at(160) }));
            assert!(coloured.lines().map(str::trim_end).eq(without.lines()), "{depth:?}:\n{coloured}");
        }
    }
}

#[test]
fn without_colour_nothing_but_text_is_printed() {
    for (name, report) in samples::all() {
        let text = screen(&report, &at(100));
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{name}");
        assert!(text.lines().all(|line| line.trim_end() == line), "{name} has blanks at an end of line");
    }
}

#[test]
fn hostile_names_cannot_steer_the_terminal() {
    let mut report = samples::desktop();
    let hostile = "x\x1b[2J\x1b]0;y\x07\u{202e}z\nnew line".to_owned();
    report.environment.cpu_model = Some(hostile.clone());
    report.environment.label = Some(hostile.clone());
    report.environment.kernel = Some(hostile.clone());
    report.doctor[0].text = hostile.clone();
    report.doctor[0].fix = Some(hostile.clone());
    *samples::cell(&mut report, 1, 0) = samples::failed(&hostile);
    let text = latency_screen(&report, Screen::Shown(Saved::As(&hostile)), &at(100));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
}

#[test]
fn simulated_machines_are_labelled_in_the_first_line() {
    for (name, report) in samples::all().iter().filter(|(_, report)| report.header.simulated) {
        let text = screen(report, &at(80));
        assert!(text.lines().next().unwrap().contains("SIMULATED"), "{name}");
    }
}

#[test]
fn without_colour_separate_levels_have_their_own_glyphs_and_ranges() {
    let text = fitting_screen("huge", &samples::HUGE, &at(80));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("a character may contain several L3"), "{text}");
    let legend = text.lines().find(|line| line.trim_start().starts_with("ns:")).unwrap();
    let steps = legend.split("  ").map(str::trim).filter(|part| part.len() > "ns:".len());
    let (glyphs, ranges): (Vec<&str>, Vec<&str>) = steps.map(|step| step.split_once(' ').unwrap()).unzip();
    assert_eq!(glyphs, [":", "▒", "█"], "{legend}");
    // The ranges of levels do not overlap.
    for (range, level) in ranges.iter().zip([60.0, 120.0, 300.0]) {
        for end in range.split('–') {
            let end: f64 = end.parse().unwrap();
            assert!((end / level - 1.0).abs() < 0.05, "{legend}");
        }
    }
}

#[test]
fn groups_that_only_values_show_are_labelled_so() {
    let mut report = samples::desktop();
    report.topology = Topology::flat("0-31".parse().unwrap());
    let text = screen(&report, &at(100));
    assert!(text.contains("3 latency levels (the system reports no groups)"), "{text}");
}

#[test]
fn reported_groups_without_contrast_are_not_called_faster() {
    let mut report = samples::desktop();
    samples::result(&mut report).maps =
        vec![samples::map(32, |a, b| if a % 16 == b % 16 { 7.8 } else { 40.0 })];
    let text = screen(&report, &at(100));
    assert!(text.contains("no visible difference") && !text.contains("× faster"), "{text}");
}

#[test]
fn only_the_kernel_of_the_map_gets_ladder_intervals() {
    let ladder_of = |report: &RunReport| -> Vec<String> {
        let text = screen(report, &at(160));
        text.lines().skip_while(|line| !line.contains("ladder, ns")).take(4).map(str::to_owned).collect()
    };
    let is_line = |kernel: &str| kernel == "cas+pause";
    // Tools come first, and siblings lack the kernel of the map.
    let mut report = samples::laptop();
    let ladder = &mut samples::result(&mut report).ladder;
    ladder.reverse();
    ladder.retain(|row| row.relation != Relation::Smt || !is_line(row.kernel.as_str()));
    let [heading, _, threads, same_l3] = &ladder_of(&report)[..] else { panic!("{report:?}") };
    assert_eq!(heading.matches("line").count(), 1, "{heading}");
    let words: Vec<&str> = threads.split_whitespace().collect();
    assert_eq!(words[..6], ["threads", "of", "a", "core", "4", "·"], "{threads}");
    assert!(same_l3.contains("24.0 ±0.2") && same_l3.contains("23–25"), "{same_l3}");

    samples::result(&mut report).ladder.retain(|row| !is_line(row.kernel.as_str()));
    let [heading, _, threads, _] = &ladder_of(&report)[..] else { panic!("{report:?}") };
    assert!(!heading.contains("line") && heading.contains("~core-to-"), "{heading}");
    assert!(!threads.contains('±') && !threads.contains('–'), "{threads}");
}

#[test]
fn one_pass_has_no_interval() {
    let mut report = samples::still_guest();
    let value = samples::cell_value(&mut report, 1, 0);
    (value.passes, value.batches, value.latency_ns.confidence) = (1, 1, 0.0);
    value.cycles = value.cycles.map(|cycles| Estimate { confidence: 0.0, ..cycles });
    let result = samples::result(&mut report);
    result.watch = None;
    for row in &mut result.ladder {
        row.latency_ns.as_mut().unwrap().confidence = 0.0;
    }
    let text = screen(&report, &at(100));
    assert!(text.contains("interval  none: 1 batch in one pass") && !text.contains('±'), "{text}");
    let mut report = samples::desktop();
    report.latency.as_mut().unwrap().settings.pairs = PairChoice::Listed(vec![[CpuId(0), CpuId(1)]]);
    let value = samples::cell_value(&mut report, 1, 0);
    (value.passes, value.latency_ns.confidence) = (1, 0.0);
    let text = screen(&report, &at(100));
    let row = text.lines().find(|line| line.contains("0 ↔ 1")).unwrap();
    assert!(row.contains("one pass, no interval") && !row.contains('±'), "{row}");
}

#[test]
fn the_legend_counts_in_plain_english_and_promises_marks_only_where_they_fit() {
    let counted = |mut report: RunReport, samples, iterations, width| {
        report.latency.as_mut().unwrap().settings.counts = Counts::Fixed { samples, iterations };
        screen(&report, &at(width))
    };
    let one = counted(samples::laptop(), 1, 1, 160);
    assert!(one.contains("fixed counts: 1 sample of 1 round trip; !: may be wrong"), "{one}");
    let many = counted(samples::laptop(), 300, 1000, 160);
    assert!(many.contains("300 samples of 1 000 round trips"), "{many}");
    for text in [screen(&samples::mesh(), &at(100)), counted(samples::mesh(), 1, 1, 100)] {
        assert!(!text.contains('!'), "{text}");
    }
}

#[test]
fn simulated_runs_do_not_recommend_doctor() {
    let mut report = samples::laptop();
    report.doctor = samples::desktop().doctor;
    for screen in [SAVED, Screen::Shown(Saved::As("k3f9")), Screen::Measured(Saved::Not)] {
        assert!(!latency_screen(&report, screen, &at(100)).contains("doctor"));
        assert!(latency_screen(&samples::desktop(), screen, &at(100)).contains("coretalk doctor"));
    }
}

#[test]
fn doubtful_and_missing_cells_are_marked_and_explained() {
    let text = screen(&samples::desktop(), &Style { by: By::Thread, ..at(250) });
    assert!(text.contains("! 1 of 495 pairs may be wrong: drift 1 pair"), "{text}");
    assert!(text.contains("1 pair not measured: CPU 9 was taken away during the run"), "{text}");
    for mark in ['!', '·'] {
        assert!(text.lines().any(|line| line.contains('│') && line.contains(mark)), "{mark}: {text}");
    }
}

#[test]
fn isolated_cpus_come_with_the_command_that_measures_them() {
    let mut report = samples::laptop();
    report.environment.isolated = "3,7,9-12".parse().unwrap();
    let text = screen(&report, &at(100));
    assert!(
        text.contains("CPUs 9-12 are isolated and were left out: coretalk latency --cpus 9-12"),
        "{text}"
    );
}

#[test]
fn a_few_pairs_are_a_list() {
    let mut report = samples::desktop();
    report.latency.as_mut().unwrap().settings.pairs =
        PairChoice::Listed(vec![[CpuId(0), CpuId(1)], [CpuId(8), CpuId(9)]]);
    let text = screen(&report, &at(100));
    assert!(text.contains("0 ↔ 1") && text.contains("8 ↔ 9") && !text.contains("core CPUs"), "{text}");
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let mut report = samples::laptop();
    samples::result(&mut report).complete = false;
    assert!(screen(&report, &at(100)).contains("coretalk --resume k3f9"));
}

#[test]
fn every_command_that_a_screen_names_exists() {
    let known = [
        "latency", "advise", "runs", "export", "report", "import", "doctor", "topology", "clock", "probes",
        "plan",
    ];
    for (name, report) in samples::all() {
        let text = screen(&report, &at(250));
        for after in text.split("coretalk ").skip(1) {
            let word = after.split([' ', '\n']).next().unwrap();
            assert!(known.contains(&word) || word.starts_with("0.1"), "{name}: `coretalk {word}`");
        }
    }
}

#[test]
fn the_measured_order_brings_fast_pairs_together() {
    let mut report = samples::desktop();
    report.topology = Topology::flat("0-31".parse().unwrap());
    let text = screen(&report, &Style { order: Order::Measured, ..at(250) });
    let head = text.lines().find(|line| line.trim_start().starts_with("CPU ")).unwrap();
    let ids: Vec<&str> = head.split_whitespace().skip(1).take(2).collect();
    assert_eq!(ids, ["0", "16"], "{head}");
}

#[test]
fn informational_flags_leave_no_mark() {
    let mut report = samples::laptop();
    samples::cell_value(&mut report, 1, 0).flags.set(Flag::HomeSpread);
    assert!(!screen(&report, &at(100)).contains(" ! "));
}

#[test]
fn small_views_read_well() {
    let narrow = |blocks: &[Block<'_>]| terminal::screen(blocks, &at(80));
    insta::assert_snapshot!("doctor", narrow(&facts::doctor(&samples::desktop().doctor)));
    for (name, topology) in [
        ("huge", &samples::HUGE.topology),
        ("desktop", &samples::desktop().topology),
        ("epyc", &samples::epyc().topology),
        ("hybrid", &samples::hybrid().topology),
        ("nested", &samples::nested()),
    ] {
        let text = terminal::screen(&topology::blocks(topology), &at(100));
        insta::assert_snapshot!(format!("topology-{name}"), text);
    }
    let cpus = (0..4).map(CpuId).collect();
    let clocks = ClockView {
        facts: ClockFacts { hz_error_ppm: Some(0.4), ..samples::desktop().environment.clock },
        cost: vec![(16.9, 120), (17.3, 4800), (17.7, 71_000), (18.1, 900), (42.0, 3)],
        offsets: Some(Matrix::directed(cpus, |row, column| Some([-12.0, 9.0 + (row + column) as f64]))),
        departed: Vec::new(),
        left_out: 48,
    };
    insta::assert_snapshot!("clock", narrow(&facts::clock(&clocks)));
    let planned = LatencyPlan {
        cells: 496,
        relations: vec![(Relation::Smt, 16), (Relation::L3, 224), (Relation::Package, 256)],
        passes: [6, 50],
        rounds_per_pass: 496,
        parallel: 1,
        kernels: vec!["cas+pause".into(), "cas".into()],
        machine_time: Picos::from_secs(6.4),
        basis: "a pilot of 12 pairs".into(),
        file_bytes: 730_000,
    };
    insta::assert_snapshot!("plan", narrow(&[plan::plan(&planned, &samples::desktop().topology, true)]));
    let row = SavedRunDoc {
        name: "k3f9".into(),
        started: Some("2026-11-21T03:23:58Z".into()),
        tags: vec!["before".into()],
        command: ["latency", "--machine", "sim:x", "--cpus", "0-31", "--name=before", "--budget", "10s"]
            .map(str::to_owned)
            .to_vec(),
        machine: Some("AMD Ryzen 9 5950X".into()),
        cpus: Some(32),
        state: SavedRunState::Complete,
        bytes: Some(730_000),
        ..SavedRunDoc::default()
    };
    let partial =
        SavedRunDoc { name: "7hq2".into(), tags: vec![], state: SavedRunState::Partial, ..row.clone() };
    let rows = [row, partial];
    let screens = [100, 80].map(|width| terminal::screen(&runs::blocks(&rows), &at(width)));
    insta::assert_snapshot!("runs", screens.join("\n"));
    assert!(narrow(&runs::blocks(&[])).starts_with("No runs here yet"));
    let probe = facts::ProbeRow {
        id: "latency".into(),
        unit: "ns".into(),
        question: "how soon does another core have my cache line?".into(),
        kernels: ["cas", "cas+pause", "ring+pause", "one-way", "as:c2clat"].map(str::to_owned).to_vec(),
        variants: Vec::new(),
    };
    let of_names = facts::ProbeRow {
        id: "contend".into(),
        question: "what does it cost when many threads update one counter?".into(),
        kernels: Vec::new(),
        variants: vec![("fetch-add".into(), "one atomic addition".into())],
        ..probe.clone()
    };
    let of_places = facts::ProbeRow { id: "jitter".into(), variants: Vec::new(), ..of_names.clone() };
    insta::assert_snapshot!("probes", narrow(&facts::probes(&[probe, of_names, of_places])));
}

#[test]
fn screens_state_what_a_sample_shows_and_nothing_more() {
    let (guest, mesh) = (samples::still_guest(), samples::mesh());
    for (name, report, width, parts, absent) in [
        (
            "one pair",
            guest,
            100,
            &["23.2 ±0.3 ns between CPUs 0 and 1: stable for 24 s", "ladder, ns"][..],
            &[" CPU    0", "range", "23–23"][..],
        ),
        ("a mesh", mesh, 100, &["no groups: values range from 29.1 to 56.3 ns"], &["× faster"]),
        (
            "kinds of cores",
            samples::hybrid(),
            100,
            &["P–P, same L3 ", "P–E, same L3 ", "E–E, same cluster ", "E–E, other cluster "],
            &[],
        ),
        (
            "a pair that changed level",
            samples::floating_guest(),
            160,
            &[
                "ns between CPUs 0 and 1 most of the time, up to 116 otherwise: plan for 116",
                "cannot tell how they are connected",
                "state B contradicts it",
            ],
            &[],
        ),
    ] {
        let text = screen(&report, &at(width));
        parts.iter().for_each(|part| assert!(text.contains(part), "{name}, {part}:\n{text}"));
        absent.iter().for_each(|part| assert!(!text.contains(part), "{name}, {part}:\n{text}"));
    }
}
