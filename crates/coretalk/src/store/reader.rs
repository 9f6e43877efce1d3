//! Reads measurements, round by round or as the [`Record`] for analysis.

use super::codec::{Damage, Events, Shapes, checksum, decode_recordings, decode_trials, kernel};
use super::error::{Operation, StoreError, sqlite_error};
use super::rows;
use super::run_file::{RunFile, Segment};
use coretalk_measure::probes::GLOSSARY;
use coretalk_model::latency::{
    Counts, Entry, LatencySettings, Purpose, Record, RecordedRound, Reducer, Scale, analyse,
};
use coretalk_model::place::{PlaceSettings, analyse_places};
use coretalk_model::run::{LatencyReport, PlaceReport, RunReport, SeriesReport};
use coretalk_model::series::{SeriesEntry, SeriesRecord, SeriesSettings, analyse_series};
use coretalk_model::{Home, Picos, TickRate, Topology};

/// Raw ticks to read. They are most of the file of a small machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawTicks {
    /// No ticks.
    Leave,
    /// Ticks that results need: tails and imitations of other tools.
    ForResults,
    /// All ticks in the file.
    All,
}

impl RawTicks {
    fn includes(self, purpose: Purpose) -> bool {
        match self {
            RawTicks::Leave => false,
            RawTicks::ForResults => purpose.keeps_recordings(),
            RawTicks::All => true,
        }
    }
}

impl RunFile {
    /// Reads all data for output.
    pub fn report(&self) -> Result<RunReport, StoreError> {
        Ok(self.report_and_record()?.0)
    }

    /// Reads [`report`](RunFile::report) and [`record`](RunFile::record) in one pass.
    pub fn report_and_record(&self) -> Result<(RunReport, Record), StoreError> {
        let header = self.header()?;
        let environment = self.environment()?;
        let findings = self.findings()?;
        let topology = self.topology()?;
        let settings = self.settings()?;
        let record = self.record_of(&topology, settings.as_ref())?;
        let rate = TickRate { hz: environment.clock.hz };
        let latency = settings.map(|settings| {
            let result = analyse(&topology, &settings, rate, &record);
            LatencyReport { settings, result }
        });
        let (mut series, mut place) = (None, None);
        if let Some(settings) = self.series_settings()? {
            let record = self.series_record(&settings)?;
            // A comparison is stored as series, with one trial per workload or command and placement.
            if let Some(settings) = PlaceSettings::of_series(&settings) {
                let result = analyse_places(&settings, &record);
                place = Some(PlaceReport { settings, result });
            } else {
                let result = analyse_series(&topology, &settings, &record);
                series = Some(SeriesReport { settings, result, glossary: GLOSSARY });
            }
        }
        let mut report =
            RunReport { header, environment, doctor: findings, topology, latency, series, place };
        report.complete_the_ladder();
        Ok((report, record))
    }

    /// Reads the settings of series; `None` if the run has none.
    pub fn series_settings(&self) -> Result<Option<SeriesSettings>, StoreError> {
        self.read(rows::read_series_settings)
    }

    /// Calls `take` with each pass of series, in the order performed. After an error, `take` has had the earlier
    /// passes.
    pub fn each_pass(
        &self,
        settings: &SeriesSettings,
        mut take: impl FnMut(SeriesEntry),
    ) -> Result<(), StoreError> {
        let mut counted = rows::Counted::default();
        let error = sqlite_error(Operation::Read, &self.path);
        let mut select = self
            .db
            .prepare(
                "SELECT segment, pass, trial, started, elapsed, said, histograms FROM passes ORDER BY number",
            )
            .map_err(error.clone())?;
        let mut rows = select.query([]).map_err(error.clone())?;
        let mut number = 0u64;
        while let Some(row) = rows.next().map_err(error.clone())? {
            number += 1;
            let entry = rows::read_pass(row, settings, &mut counted)
                .map_err(error.clone())?
                .map_err(|damage| self.damaged(format!("pass {number}: {damage}")))?;
            take(entry);
        }
        Ok(())
    }

    /// Reads all passes of series and how they ended.
    pub fn series_record(&self, settings: &SeriesSettings) -> Result<SeriesRecord, StoreError> {
        let mut record = SeriesRecord::new();
        self.each_pass(settings, |entry| record.push(entry))?;
        record.complete = self.header()?.complete;
        record.budget_ended =
            self.segments()?.last().is_some_and(|last| last.ended.as_deref() == Some("budget"));
        Ok(record)
    }

    /// Reads all visits.
    pub fn record(&self) -> Result<Record, StoreError> {
        self.record_of(&self.topology()?, self.settings()?.as_ref())
    }

    /// Calls `take` with each round and its segment number, in the order performed. Rounds are read one at a time,
    /// because a run over 1,024 CPUs has four million visits. After an error, `take` has received the earlier rounds.
    pub fn each_round(&self, raw: RawTicks, take: impl FnMut(u32, RecordedRound)) -> Result<(), StoreError> {
        let plan = self.plan(&self.topology()?, self.settings()?.as_ref())?;
        self.each_round_of(plan.len() as u32, raw, take)
    }

    pub(super) fn shapes(&self) -> Result<Shapes, StoreError> {
        let shapes = self.read(|db| {
            let mut select = db.prepare("SELECT shape, spans, spans_check FROM shapes ORDER BY shape")?;
            let mut rows = select.query([])?;
            let mut shapes = Vec::new();
            while let Some(row) = rows.next()? {
                if row.get::<_, i64>(0)? != shapes.len() as i64 {
                    return Err(rows::conversion(0, "a shape is missing"));
                }
                if row.get::<_, u32>(2)? != checksum(&[row.get_ref(1)?.as_bytes()?]) {
                    return Err(rows::conversion(1, "the checksum of a shape does not match"));
                }
                let spans: Vec<(String, u32)> = rows::json(row, 1)?;
                shapes.push(spans.into_iter().map(|(name, home)| (kernel(name), Home(home))).collect());
            }
            Ok(shapes)
        })?;
        Ok(Shapes::stored(shapes))
    }

    fn record_of(
        &self,
        topology: &Topology,
        settings: Option<&LatencySettings>,
    ) -> Result<Record, StoreError> {
        let cells = self.plan(topology, settings)?.len() as u32;
        let mut record = Record::new();
        for (key, value) in self.decisions()? {
            record.decide(&key, &value);
        }
        self.each_round_of(cells, RawTicks::ForResults, |segment, round| {
            for trial in round.trials {
                let entry = Entry {
                    segment,
                    purpose: round.purpose,
                    pass: round.pass,
                    cell: trial.cell,
                    outcome: trial.outcome,
                };
                record.push(entry, trial.raw.as_deref());
            }
        })?;
        Ok(record)
    }

    fn each_round_of(
        &self,
        cells: u32,
        raw: RawTicks,
        mut take: impl FnMut(u32, RecordedRound),
    ) -> Result<(), StoreError> {
        let error = sqlite_error(Operation::Read, &self.path);
        // A transaction gives a consistent snapshot of a run that is still being measured.
        let snapshot = self.db.unchecked_transaction().map_err(error.clone())?;
        let shapes = self.shapes()?;
        let counts = self.settings()?.map_or(Counts::Adaptive, |settings| settings.counts);
        let scale_of =
            |segment: &Segment| Scale { rate: TickRate { hz: segment.clock_hz }, step_ns: segment.step_ns };
        let mut reducers: Vec<Reducer> =
            self.segments()?.iter().map(|segment| Reducer::new(scale_of(segment), counts)).collect();
        let mut recordings =
            snapshot.prepare("SELECT recordings FROM raw WHERE round = ?1").map_err(error.clone())?;
        let mut select = snapshot
            .prepare(
                "SELECT round, segment, purpose, pass, started, elapsed, trials FROM rounds ORDER BY round",
            )
            .map_err(error.clone())?;
        let mut rows = select.query([]).map_err(error.clone())?;
        let mut events = Events::default();
        while let Some(row) = rows.next().map_err(error.clone())? {
            let number: i64 = row.get(0).map_err(error.clone())?;
            let (key, blob) = (|| {
                let key = RoundKey {
                    segment: row.get(1)?,
                    purpose: row.get(2)?,
                    pass: row.get(3)?,
                    started: rows::time(row, 4)?,
                    elapsed: rows::time(row, 5)?,
                };
                Ok((key, row.get_ref(6)?.as_blob()?))
            })()
            .map_err(error.clone())?;
            let damage = |damage: Damage| self.damaged(format!("round {number}: {damage}"));
            let &purpose = Purpose::ALL
                .get(usize::from(key.purpose))
                .ok_or_else(|| self.damaged(format!("round {number} has the purpose {}", key.purpose)))?;
            let context = key.bytes();
            let started = Picos(key.started);
            let reducer = reducers.get_mut(key.segment as usize);
            let mut trials = decode_trials(blob, started, &shapes, cells, reducer, &mut events, &context)
                .map_err(damage)?;
            if !raw.includes(purpose) {
                trials.iter_mut().for_each(|trial| trial.raw = None);
            } else {
                let mut kept = recordings.query([number]).map_err(error.clone())?;
                if let Some(row) = kept.next().map_err(error.clone())? {
                    let blob =
                        row.get_ref(0).and_then(|value| Ok(value.as_blob()?)).map_err(error.clone())?;
                    for (position, recording) in
                        decode_recordings(blob, started, &shapes, &mut events, &context).map_err(damage)?
                    {
                        let trial = trials.get_mut(position).ok_or_else(|| {
                            self.damaged(format!("round {number} has a recording without a trial"))
                        })?;
                        trial.raw = Some(Box::new(recording));
                    }
                }
            }
            let round =
                RecordedRound { purpose, pass: key.pass, started, elapsed: Picos(key.elapsed), trials };
            take(key.segment, round);
        }
        Ok(())
    }
}

/// Columns of a round except its blob.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundKey {
    pub segment: u32,
    pub purpose: u8,
    pub pass: u32,
    pub started: u64,
    pub elapsed: u64,
}

impl RoundKey {
    /// Returns the columns as bytes, for the checksum of the blob.
    pub fn bytes(&self) -> [u8; 25] {
        let mut bytes = [0; 25];
        bytes[0..4].copy_from_slice(&self.segment.to_le_bytes());
        bytes[4] = self.purpose;
        bytes[5..9].copy_from_slice(&self.pass.to_le_bytes());
        bytes[9..17].copy_from_slice(&self.started.to_le_bytes());
        bytes[17..25].copy_from_slice(&self.elapsed.to_le_bytes());
        bytes
    }
}
