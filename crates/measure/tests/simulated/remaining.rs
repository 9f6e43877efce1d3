//! Predictions of the remaining time against the actual machine time.

use crate::trials;
use crate::vocabulary::{builtin, defaults, open};
use coretalk_measure::session::latency::{self, ResumedState};
use coretalk_measure::session::series::{self, SeriesResumedState};
use coretalk_measure::session::{Event, Observer};
use coretalk_measure::{Machine, SimMachine, Stop};
use coretalk_model::Picos;
use coretalk_model::latency::{LatencySettings, Spacing};
use coretalk_model::stats::MAX_ANALYSES;

/// Elapsed seconds, and predicted remaining seconds.
#[derive(Default)]
struct Predictions(Vec<[f64; 2]>);

impl Observer for Predictions {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Committed { progress, left, .. } = event
            && progress < 1.0
        {
            self.0.push([left.secs() * progress / (1.0 - progress), left.secs()]);
        }
    }
}

/// Relative errors of the predictions at 25, 50 and 75 % of a run: 0.1 is a tenth too much.
fn errors(machine: &mut SimMachine, run: impl FnOnce(&mut SimMachine, &mut Predictions)) -> Vec<f64> {
    let (began, mut predictions) = (machine.now(), Predictions::default());
    run(machine, &mut predictions);
    let took = (machine.now() - began).secs();
    let error = |share: f64| {
        let last = predictions.0.iter().rfind(|[at, _]| *at <= share * took);
        last.map_or(f64::INFINITY, |[at, left]| left / (took - at) - 1.0)
    };
    let errors = [0.25, 0.5, 0.75].map(error).to_vec();
    println!("{took:.2} s: {errors:.2?}");
    errors
}

fn errors_of_map(name: &str, change: impl FnOnce(&mut LatencySettings)) -> Vec<f64> {
    let mut machine = open(builtin(name), 1);
    let mut settings = defaults(&machine, 1);
    change(&mut settings);
    errors(&mut machine, |machine, predictions| {
        latency::run(machine, &settings, ResumedState::default(), &mut (), predictions, &Stop::new())
            .unwrap();
    })
}

fn errors_of_trials(name: &str, probe: &str) -> Vec<f64> {
    let mut machine = trials::open(name);
    let settings = trials::settings(&machine, probe, trials::options(""), 10);
    errors(&mut machine, |machine, predictions| {
        let resumed = SeriesResumedState::default();
        series::run(machine, &settings, resumed, &mut (), predictions, &Stop::new()).unwrap();
    })
}

/// Maximum errors for maps: after a quarter of the run the number of second analyses is not known yet.
const MAX_MAP_ERRORS: [f64; 3] = [0.3, 0.2, 0.2];

#[test]
fn a_map_predicts_its_remaining_time_within_a_fifth() {
    for name in ["chiplet-16", "chiplet-16-smt", "hybrid"] {
        let errors = errors_of_map(name, |settings| settings.spacing = Spacing::Brief);
        let is_near = errors.iter().zip(MAX_MAP_ERRORS).all(|(error, most)| error.abs() <= most);
        assert!(is_near, "{name}: {errors:.2?}");
    }
}

/// With further analyses a run takes many times as long, which it predicts early: within a fifth if the budget ends it.
#[test]
fn a_precise_map_predicts_its_remaining_time() {
    for (precision, budget, most) in [(0.003, 10_000, 0.5), (0.001, 20_000, 0.2)] {
        let errors = errors_of_map("laptop-smt", |settings| {
            (settings.spacing, settings.precision) = (Spacing::Brief, precision);
            (settings.analyses, settings.budget) = (MAX_ANALYSES, Picos::from_ms(budget));
        });
        assert!(errors.iter().all(|error| error.abs() <= most), "± {precision}: {errors:.2?}");
    }
}

#[test]
fn a_watch_predicts_its_remaining_time_within_a_tenth() {
    let errors = errors_of_map("noisy-vm", |settings| {
        (settings.spacing, settings.budget) = (Spacing::Watch, Picos::from_ms(27_600));
    });
    assert!(errors.iter().all(|error| error.abs() <= 0.1), "{errors:.2?}");
}

#[test]
fn trials_predict_their_remaining_time_within_a_fifth() {
    for (name, probe) in [("chiplet-16", "wake"), ("chiplet-16-smt", "contend"), ("noisy-vm", "queue")] {
        let errors = errors_of_trials(name, probe);
        assert!(errors.iter().all(|error| error.abs() <= 0.2), "{name} {probe}: {errors:.2?}");
    }
}
