//! The page and the picture of compared placements, which are simulated.

use crate::samples;

use coretalk_measure::session::place::{self, PlaceJob};
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, Work};
use coretalk_model::CpuSet;
use coretalk_model::place::{PlaceSettings, Placement, Workload};
use coretalk_model::run::{PlaceReport, RunReport};
use coretalk_report::document::Identity;
use coretalk_report::figure::picture_file::picture_file;
use coretalk_report::html::page;
use coretalk_report::input::{Drawing, ReportInput, ScaleChoice};
use coretalk_report::{By, Order};

const DRAWING: Drawing =
    Drawing { order: Order::Topology, by: By::Core, scale: ScaleChoice::Fixed, cdf: None };

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once(close).map(|found| found.0)
}

/// Compares two kinds of work on two placements of a simulated machine.
fn simulated_comparison() -> RunReport {
    let (near, far) = ("0-2,16-18".parse::<CpuSet>().unwrap(), "0-2,8-10".parse::<CpuSet>().unwrap());
    let placements = [("near", near), ("<far>", far)]
        .map(|(name, cpus)| Placement::bound(name, cpus.iter().collect()))
        .to_vec();
    let workloads = ["ring", "integer"].map(|name| name.parse::<Workload>().unwrap());
    let settings = PlaceSettings::usual(&workloads, 6, placements, 1);
    let mut machine = SimMachine::open(Scenario::builtin("chiplet-16-smt").unwrap(), 1);
    let works = workloads.map(Work::Workload);
    let job = PlaceJob { settings: &settings, works: &works, hooks: None };
    let (result, _) = place::run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
    RunReport {
        place: Some(PlaceReport { settings, result }),
        ..samples::report(machine.topology().clone(), Vec::new(), Some("chiplet-16-smt"))
    }
}

#[test]
fn placements_are_drawn_as_bars_with_their_intervals_and_verdicts() {
    let report = simulated_comparison();
    let input = ReportInput::new(&report, "k3f9", Identity::Hidden);
    let page = page(std::slice::from_ref(&input), DRAWING).unwrap();
    let section = between(&page, "<section id=\"placements\"", "</section>").unwrap();
    assert_eq!(section.matches("<figure>").count(), 4, "one for each metric, wide and narrow");
    assert!(
        section.contains("ring: near wins, hops_per_s, higher is better")
            && section.contains("why `near` wins: ")
    );
    assert!(section.contains("taskset -c 0-2,16-18") && section.contains("&lt;far&gt;"));
    assert!(!page.contains("<far>") && !page.contains("This run holds no map"));
    let header = between(&page, "<header>", "</header>").unwrap();
    assert!(header.contains("<dt>ring</dt><dd>`near` wins in hops/s"), "{header}");
    assert!(!page.contains("<section id=\"maps\""));
    let picture = picture_file(&input, DRAWING).unwrap();
    assert!(picture.height > 250.0, "a figure for each piece of work: {}", picture.height);
}
