//! [`RunReport`]: one run with everything that output needs; [`RunHeader`]: what a run is called and how it went.

use coretalk_model::latency::{
    Imitated, LatencyMap, LatencyResult, LatencySettings, LeftOut, StateWatch, cells,
};
use coretalk_model::place::{PlaceResult, PlaceSettings};
use coretalk_model::series::{Gathering, LoadCurve, SeriesResult, SeriesSettings, rungs};
use coretalk_model::{CpuId, CpuSet, Departure, DoctorFinding, Environment, Picos, Reason, Topology};
use std::hash::{BuildHasher, RandomState};

/// What a run is called, how it came to be and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHeader {
    /// UUID v7, so that ids sort by time.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// The command line as typed, which may hold private parts, program name left out (`["latency", "--cpus", "0,1"]`).
    pub command: Vec<String>,
    /// Every random choice comes from it.
    pub seed: u64,
    /// Whether the machine was simulated.
    pub simulated: bool,
    /// Every planned trial has an outcome, or the budget ended.
    pub complete: bool,
    /// CPUs that went away while its last segment was measured, in the order in which they were missed.
    pub departed: Vec<Departure>,
    /// Names given by the user.
    pub tags: Vec<String>,
    /// Segments: 1, and one more for each resumption.
    pub segments: u32,
    /// Version of the tool that measured.
    pub tool_version: String,
}

impl RunHeader {
    /// A run that begins now.
    pub fn new(command: Vec<String>, seed: u64) -> RunHeader {
        RunHeader {
            id: fresh_id(),
            started: now(),
            command,
            seed,
            simulated: false,
            complete: false,
            departed: Vec::new(),
            tags: Vec::new(),
            segments: 1,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// An id for a new run: UUID v7, so that ids sort by time.
fn fresh_id() -> String {
    let millis = jiff::Timestamp::now().as_millisecond().try_into().unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random()).into_uuid().to_string()
}

/// Bytes from the random keys of hash maps, for which the standard library asks the system by a system call: a library that
/// looks for a function of libc instead finds none in a static binary, and then needs /dev, which containers may lack.
fn random() -> [u8; 10] {
    let hashes = [0, 1].map(|_| RandomState::new().hash_one(std::process::id()).to_ne_bytes());
    std::array::from_fn(|index| hashes[index / 8][index % 8])
}

/// This moment in RFC 3339, UTC, whole milliseconds.
pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// One run with everything that output needs: assembled after measuring, or from a run file.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// What it is called.
    pub header: RunHeader,
    /// What it was measured under.
    pub environment: Environment,
    /// What `doctor` said.
    pub doctor: Vec<DoctorFinding>,
    /// What the machine reported of its structure.
    pub topology: Topology,
    /// The latency between CPUs, where it was asked for.
    pub latency: Option<LatencyReport>,
    /// Series, where they were asked for.
    pub series: Option<SeriesReport>,
    /// Placements against each other, where that was asked for.
    pub place: Option<PlaceReport>,
}

impl RunReport {
    /// Adds the columns of the ladder that are trials: of a run that has both a ladder and such trials.
    pub fn complete_the_ladder(&mut self) {
        let (Some(latency), Some(series)) = (&mut self.latency, &self.series) else { return };
        if latency.settings.ladder {
            let first = latency.result.maps.first();
            let rungs = rungs(&self.topology, &series.settings, &series.result, first);
            latency.result.ladder.extend(rungs);
        }
    }

    /// Adds to the reasons of trials what the programs said that were measured, which may be private.
    pub fn reveal(&mut self) {
        let trials = self.series.iter_mut().flat_map(|series| &mut series.result.trials);
        trials.filter_map(|trial| trial.reason.as_mut()).for_each(Reason::reveal);
    }

    /// What came out of the latencies, where they were asked for.
    pub fn latencies(&self) -> Option<&LatencyResult> {
        self.latency.as_ref().map(|latency| &latency.result)
    }

    /// The maps, one for each protocol; empty where none was asked for.
    pub fn maps(&self) -> &[LatencyMap] {
        self.latencies().map_or(&[], |result| &result.maps)
    }

    /// What other tools would print; empty where nobody asked for it.
    pub fn imitated(&self) -> &[Imitated] {
        self.latencies().map_or(&[], |result| &result.imitated)
    }

    /// How the values changed while they were watched, where that was seen.
    pub fn watch(&self) -> Option<&StateWatch> {
        self.latencies()?.watch.as_ref()
    }

    /// The CPUs that were asked for, in matrix order.
    pub fn cpus(&self) -> Vec<CpuId> {
        let latency = self.latency.as_ref().map(|latency| &latency.settings.cpus);
        let asked = latency.or(self.series.as_ref().map(|series| &series.settings.cpus)).cloned();
        let placed = || self.place.as_ref().map(|place| place.settings.to_series().cpus);
        asked.or_else(placed).unwrap_or_default()
    }

    /// The budget that was asked for: a map and the trials beside it have a part of it each.
    pub fn budget(&self) -> Picos {
        let latency = self.latency.as_ref().map(|latency| &latency.settings);
        let series = self.series.as_ref().map(|series| &series.settings);
        let place = self.place.as_ref().map(|place| &place.settings);
        RunSettings { latency, series, place }.budget()
    }

    /// What its budget left no time for.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let of_latency = |latency: &LatencyReport| {
            latency.result.left_out(&latency.settings, &cells(&self.topology, &latency.settings))
        };
        let mut left: Vec<LeftOut> = self.latency.as_ref().map(of_latency).unwrap_or_default();
        let trials = self.series.as_ref().map_or(0, |series| series.result.left_out());
        left.extend((trials > 0).then_some(LeftOut::Trials(trials)));
        left
    }

    /// Why it holds several probes; `None` where it holds one.
    pub fn gathering(&self) -> Option<Gathering> {
        self.series.as_ref()?.settings.gathering()
    }
}

/// The settings of the parts of a run: at most one part of each kind, and one at least.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunSettings<'a> {
    /// The latency between CPUs.
    pub latency: Option<&'a LatencySettings>,
    /// Series of trials.
    pub series: Option<&'a SeriesSettings>,
    /// Placements against each other.
    pub place: Option<&'a PlaceSettings>,
}

impl RunSettings<'_> {
    /// Whether trials are made, of series or of placements.
    pub fn has_trials(&self) -> bool {
        self.series.is_some() || self.place.is_some()
    }

    /// The budgets of all parts.
    pub fn budget(&self) -> Picos {
        let latency = self.latency.map(|settings| settings.budget);
        let series = self.series.map(|settings| settings.budget);
        let place = self.place.map(|settings| settings.budget);
        [latency, series, place].into_iter().flatten().fold(Picos::ZERO, |sum, part| sum + part)
    }

    /// Every CPU that is measured.
    pub fn cpus(&self) -> CpuSet {
        let latency = self.latency.iter().flat_map(|settings| settings.cpus.clone());
        let series = self.series.iter().flat_map(|settings| settings.cpus.clone());
        let place = self.place.iter().flat_map(|settings| settings.to_series().cpus);
        latency.chain(series).chain(place).collect()
    }

    /// What every random choice comes from.
    pub fn seed(&self) -> u64 {
        let latency = self.latency.map(|settings| settings.seed);
        let series = || self.series.map(|settings| settings.seed);
        latency.or_else(series).or_else(|| self.place.map(|settings| settings.seed)).unwrap_or_default()
    }
}

/// The latency between the CPUs of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyReport {
    /// What was asked.
    pub settings: LatencySettings,
    /// What came out.
    pub result: LatencyResult,
}

/// The comparisons of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceReport {
    /// What was asked.
    pub settings: PlaceSettings,
    /// What came out.
    pub result: PlaceResult,
}

/// The series of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesReport {
    /// What was asked.
    pub settings: SeriesSettings,
    /// What came out.
    pub result: SeriesResult,
}

impl SeriesReport {
    /// How busy the measured threads kept each CPU, of a run of queues alone: elsewhere it says nothing about the answer.
    pub fn load_of_queues(&self) -> Option<&LoadCurve> {
        let of_queues = self.settings.probes == [coretalk_model::queue::names::PROBE];
        self.result.load.as_ref().filter(|_| of_queues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_sort_by_time() {
        let (first, at_once) = (fresh_id(), fresh_id());
        assert_ne!(first, at_once);
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(first < fresh_id());
        let id = uuid::Uuid::parse_str(&first).unwrap();
        assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
    }
}
