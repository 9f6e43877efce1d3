//! Killed at any moment, a run file opens and holds every slot whose commit had returned.

use super::*;
use crate::store::{RawTicks, RunFile};
use coretalk_measure::session::Sink;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where the child writes; set for the child only.
const PLACE: &str = "CORETALK_TEST_KILL_PLACE";
const CHILD: &str = "store::tests::kill::the_child_commits_until_it_is_killed";

#[test]
fn the_child_commits_until_it_is_killed() {
    let Some(folder) = std::env::var_os(PLACE) else { return };
    let mut writer = sample("0193-a").create(Path::new(&folder));
    for number in 0..100_000 {
        writer.commit(&slot(number)).unwrap();
        println!("\nkept {number}");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn every_slot_that_was_said_to_be_kept_is_there_after_a_kill() {
    // How many slots to wait for, and how long after that: from before the file has a name to the middle of a slot.
    for (slots, delay_us) in [
        (0, 0),
        (0, 5_000),
        (0, 12_000),
        (0, 20_000),
        (1, 0),
        (1, 700),
        (2, 1_900),
        (3, 150),
        (5, 400),
        (8, 1_100),
        (13, 2_600),
        (21, 90),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", CHILD, "--nocapture"])
            .env(PLACE, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let waited_for = lines.by_ref().filter(|line| line.starts_with("kept")).take(slots).count();
        std::thread::sleep(Duration::from_micros(delay_us));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = waited_for + lines.filter(|line| line.starts_with("kept")).count();
        assert!(said >= slots);

        let path = folder.path().join("0193-a.coretalk");
        if !path.exists() {
            assert_eq!(said, 0, "killed {delay_us} µs after slot {slots}");
            continue;
        }
        let mut rounds = Vec::new();
        RunFile::open(&path).unwrap().each_round(RawTicks::All, |_, round| rounds.push(round)).unwrap();
        assert!(rounds.len() >= 2 * said, "{said} slots were said, {} rounds are there", rounds.len());
        for (number, kept) in rounds.chunks(2).enumerate() {
            assert_eq!(kept, slot(number as u32).rounds, "killed {delay_us} µs after slot {slots}");
        }
    }
}
