//! Resuming a run.

use super::*;
use crate::store::{Conditions, FailureClass, ResumeError, compatible};
use coretalk_measure::Stop;
use coretalk_model::latency::LatencyResult;

fn conditions(sample: &Sample) -> Conditions {
    Conditions { environment: sample.environment.clone(), allowed: sample.allowed.clone() }
}

#[test]
fn a_resumed_run_continues_in_a_new_segment_with_a_new_budget() {
    let sample = sample("0193-a");
    let (_folder, mut writer) = new_file();
    writer.commit(&slot(0)).unwrap();
    writer.decide(&decision("hint", "1")).unwrap();
    writer.finish(&LatencyResult::default()).unwrap();
    let path = writer.close().unwrap();

    let budget = Picos::from_ms(9000);
    let mut resumed = RunWriter::resume(&path, &conditions(&sample), Some(budget)).unwrap();
    assert_eq!((resumed.header.segments, resumed.header.complete), (2, false));
    assert_eq!(resumed.settings.unwrap().budget, budget);
    assert_eq!((resumed.topology, resumed.environment), (sample.topology, sample.environment));
    assert_eq!(trial_segments(resumed.writer.path()).len(), 3);
    assert_eq!(resumed.record.decision("hint"), Some("1"));
    resumed.writer.commit(&slot(1)).unwrap();
    let done = LatencyResult { complete: true, budget_ended: true, ..LatencyResult::default() };
    resumed.writer.finish(&done).unwrap();

    let file = RunFile::open(&resumed.writer.close().unwrap()).unwrap();
    assert_eq!(file.settings().unwrap().unwrap().budget, budget);
    let ended: Vec<_> = file.segments().unwrap().into_iter().map(|segment| segment.ended.unwrap()).collect();
    assert_eq!(ended, ["interrupted", "budget"]);
    assert_eq!(trial_segments(file.path()), [0, 0, 0, 1, 1, 1]);
    assert!(file.header().unwrap().complete);
}

#[test]
fn the_last_commit_records_an_interruption_of_the_segment() {
    let stop = Stop::new();
    let (_folder, mut writer) = new_file();
    writer.set_stop(&stop);
    let ended =
        |writer: &RunWriter| RunFile::open(writer.path()).unwrap().segments().unwrap().pop().unwrap().ended;
    writer.commit(&slot(0)).unwrap();
    assert_eq!(ended(&writer), None);
    stop.raise();
    writer.commit(&slot(1)).unwrap();
    assert_eq!(ended(&writer).as_deref(), Some("interrupted"));
    writer.interrupt().unwrap();
    assert_eq!(ended(&writer).as_deref(), Some("interrupted"));

    let done = LatencyResult { complete: true, ..LatencyResult::default() };
    writer.finish(&done).unwrap();
    assert_eq!(ended(&writer).as_deref(), Some("complete"));
}

#[test]
fn another_machine_is_refused_and_the_file_is_unchanged() {
    let mut recorded = sample("0193-a");
    recorded.environment.runtimes.insert("java".into(), "OpenJDK 17".into());
    type Change = fn(&mut Conditions);
    let changes: [(Change, &str); 6] = [
        (|here| here.environment.cpu_model = None, "the CPU Example 9000, but here it is unknown"),
        (|here| here.environment.kernel = Some("Linux 7.0".into()), "the kernel Linux 6.12"),
        (|here| here.environment.tool_version = "0.2.0".into(), "coretalk 0.1.0"),
        (|here| here.environment.simulated = Some("hybrid".into()), "sim:hybrid"),
        (|here| here.allowed = "0-2".parse().unwrap(), "the allowed CPUs 0-3, but here it is 0-2"),
        (
            |here| _ = here.environment.runtimes.insert("java".into(), "OpenJDK 21".into()),
            "the runtime java OpenJDK 17, but here it is java OpenJDK 21",
        ),
    ];
    for (change, word) in changes {
        let mut here = conditions(&recorded);
        change(&mut here);
        let refusal = compatible(&conditions(&recorded), &here).unwrap_err();
        assert!(refusal.to_string().contains(word), "{refusal}");
        let folder = tempdir().unwrap();
        let path = recorded.create(folder.path()).close().unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = RunWriter::resume(&path, &here, None).unwrap_err();
        assert!(matches!(error, ResumeError::Refused(_)) && error.class() == FailureClass::Environment);
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    let mut busier = conditions(&recorded);
    busier.environment.load_1min = Some(3.5);
    busier.environment.clock.hz += 10.0;
    // The runtime is no longer installed, so it makes no more passes.
    busier.environment.runtimes.clear();
    assert_eq!(compatible(&conditions(&recorded), &busier), Ok(()));
}

#[test]
fn when_two_processes_resume_a_run_the_earlier_one_fails() {
    let (_folder, writer) = new_file();
    let path = writer.close().unwrap();
    let resume = || RunWriter::resume(&path, &conditions(&sample("0193-a")), None).unwrap().writer;
    let mut first = resume();
    first.commit(&slot(0)).unwrap();
    let mut second = resume();
    let error = first.commit(&slot(1)).unwrap_err();
    assert!(matches!(store_error(&error), StoreError::Overtaken { .. }), "{error}");
    second.commit(&slot(2)).unwrap();
    assert_eq!(RunFile::open(&path).unwrap().rounds().unwrap(), 4);
}

/// The segment number of each trial in a file, in order.
fn trial_segments(path: &std::path::Path) -> Vec<u32> {
    let mut segments = Vec::new();
    let each = |segment, round: RecordedRound| segments.extend(round.trials.iter().map(|_| segment));
    RunFile::open(path).unwrap().each_round(RawTicks::Leave, each).unwrap();
    segments
}
