//! Contradictions that are planted: true screens with one number or word changed. The reader has to find them.

use super::cases;
use super::reader::{Wrong, read};
use super::run::Run;
use super::said::is_meaning;
use crate::cli::tool::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Lines whose numbers are held against nothing, by how they begin or what they hold, and why.
const UNHELD: &[(&str, &str)] = &[
    ("saved as ", "names of runs"),
    ("(at most 5 % of the differences", "a promise of the method"),
    ("(95 %)", "the confidence of every interval"),
    ("coretalk 0.1.0", "the version; its counts are held, and few"),
    ("reads more than 0.5 µs apart", "a heading"),
    ("correlation with the distance", "in no document"),
    ("is wider than requested", "a reason of a trial, in words of the document"),
    ("only ", "a reason of a trial"),
    ("reported  CPUs ", "CPUs of a typed sentence"),
    ("The pair that changed most", "CPUs of a typed sentence"),
    ("95 % over", "its numbers are held but the 95"),
    (" · 20", "dates"),
    (" metric  ", "the confidence of every interval"),
    (" level  ", "the confidence of every interval"),
    ("95 %  verdict", "the confidence of every interval"),
    ("0 s   ", "an axis of time"),
    ("│ │ ", "CPUs of a picture whose boxes are held"),
];

fn is_unheld(run: &Run, line: &str) -> bool {
    is_meaning(run, line.trim()) || UNHELD.iter().any(|(part, _)| line.contains(part))
}

/// Where numbers stand in a line: digits that are no part of a name.
fn numbers(line: &str) -> Vec<std::ops::Range<usize>> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len()
            && (bytes[at].is_ascii_digit()
                || bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit))
        {
            at += 1;
        }
        let before = line[..start].chars().last();
        let after = line[at..].chars().next();
        let is_name =
            before.is_some_and(|c| c.is_alphabetic()) || after.is_some_and(|c| c.is_alphabetic() && c != 's');
        // What lies below some bound still does with a larger one.
        if !is_name && before != Some('<') {
            found.push(start..at);
        }
    }
    found
}

/// The line with its last digit of a number moved by some.
fn altered(line: &str, number: &std::ops::Range<usize>) -> String {
    let last = number.end - 1;
    let digit = line.as_bytes()[last] - b'0';
    // Far enough for any rounding, and never to a number of other length.
    let other = if digit >= 5 { digit - 3 } else { digit + 4 };
    format!("{}{other}{}", &line[..last], &line[last + 1..])
}

/// What is found for each number of a screen that is changed: how many, which claims, and what is not found.
fn planted(run: &mut Run, claims: &mut BTreeMap<&'static str, usize>) -> (usize, Vec<String>) {
    let screen = run.screen.clone();
    let before: BTreeSet<Wrong> = read(run).0.into_iter().collect();
    let (mut all, mut missed) = (0, Vec::new());
    let lines: Vec<&str> = screen.lines().collect();
    let held: Vec<bool> = lines.iter().map(|line| !is_unheld(run, line)).collect();
    for (index, line) in lines.iter().enumerate().filter(|(index, _)| held[*index]) {
        // Of a row of many, some: another column in each row.
        let all_of_line = numbers(line);
        let step = all_of_line.len() / 2 + 1;
        for number in all_of_line.into_iter().skip(index % step).step_by(step) {
            let changed = altered(line, &number);
            let mut with: Vec<&str> = lines.clone();
            with[index] = &changed;
            run.screen = with.join("\n") + "\n";
            all += 1;
            let found: Vec<Wrong> = read(run).0.into_iter().filter(|wrong| !before.contains(wrong)).collect();
            // The text of a claim holds the number: what was wrong before is wrong with another text now.
            if found.len() > before.iter().filter(|wrong| changed.contains(wrong.why.as_str())).count() {
                found.iter().for_each(|wrong| *claims.entry(wrong.claim).or_default() += 1);
            } else {
                missed.push(changed.clone());
            }
        }
    }
    run.screen = screen;
    (all, missed)
}

#[test]
fn a_number_that_is_changed_is_found() {
    let tool = Tool::new();
    let small = ["--cpus", "0,1,8,16"];
    let mut runs = cases::runs(
        &tool,
        "chiplet-16-smt",
        1,
        &[
            &["--cpus", "0-2,8,9", "--budget", "3s"],
            &["--cpus", "0,8", "--budget", "3s"],
            &["latency", "--protocol", "cas,store", "--cpus", "0-2,8,9", "--budget", "3s"],
            &[&["queue", "--budget", "2s"][..], &small].concat(),
            &[&["wait", "--budget", "2s"][..], &["--cpus", "0,16"]].concat(),
            &[&["contend", "--budget", "2s"][..], &["--cpus", "0,1"]].concat(),
            &[&["spawn", "--budget", "2s"][..], &["--cpus", "0,1"]].concat(),
            &["sharing", "--cpus", "0,1", "--budget", "2s"],
            &["jitter", "--cpus", "0-2"],
            &["place", "--workload", "ring,integer", "--threads", "4", "--budget", "300s"],
        ],
    );
    runs.extend(cases::runs(
        &tool,
        "noisy-vm",
        1,
        &[&["--budget", "3s"], &["--cpus", "0,1", "--budget", "3s"]],
    ));
    runs.extend(cases::runs(&tool, "hybrid", 1, &[&["--cpus", "0-2,12,13", "--budget", "3s"]]));
    // Pairs beside each other, and everything in short.
    runs.extend(cases::runs(
        &tool,
        "epyc-2s-192",
        1,
        &[&["latency", "--cpus", "0-11", "--parallel", "4", "--budget", "2s"]],
    ));
    runs.extend(cases::runs(&tool, "laptop-smt", 1, &[&["suite", "--cpus", "0,4", "--budget", "4s"]]));
    runs.extend(cases::comparisons(&tool).into_iter().take(2));
    runs.extend(cases::advice(&tool).into_iter().take(1));
    runs.extend(cases::structures(&tool).into_iter().take(1));
    // Every number is a screen to read, and when this test runs, late in the alphabet, most others have ended.
    let (left, found) = (Mutex::new(runs.iter_mut()), Mutex::new((BTreeMap::new(), 0, Vec::new())));
    let plant = || {
        loop {
            let Some(run) = left.lock().unwrap().next() else { return };
            let mut of_run = BTreeMap::new();
            let (tried, not_found) = planted(run, &mut of_run);
            println!("{:?}: {} of {tried} not found", run.words, not_found.len());
            let (claims, all, missed) = &mut *found.lock().unwrap();
            of_run.into_iter().for_each(|(claim, count)| *claims.entry(claim).or_insert(0) += count);
            *all += tried;
            missed.extend(not_found);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(plant))));
    let (claims, all, missed) = found.into_inner().unwrap();
    println!("{claims:#?}\n{}", missed.join("\n"));
    assert!(
        missed.len() * 20 < all,
        "{} of {all} changed numbers are not found:\n{}",
        missed.len(),
        missed.join("\n")
    );
    // A number that is changed is found by what is claimed of it.
    let expected = [
        "advice",
        "answer",
        "budget",
        "compare",
        "count",
        "execution",
        "groups",
        "load",
        "map",
        "place",
        "place reason",
        "precision",
        "queue",
        "size",
        "states",
        "structure",
        "time",
        "title",
        "to type",
    ];
    let absent: Vec<&&str> = expected.iter().filter(|claim| !claims.contains_key(**claim)).collect();
    assert!(absent.is_empty(), "no plant of these kinds is found: {absent:?}");
}

/// What a word that is changed makes of a screen: the words of the call, what to change, and the kind of claim.
const WORDS: &[(&[&str], &str, &str, &str)] = &[
    (FEW, "from latencies alone: 2 groups of", "from latencies alone: 3 groups of", "structure"),
    (FEW, "CAS with 1 pause", "CAS without pause", "question"),
    (FEW, "one pair at a time", "up to 2 pairs at the same time", "question"),
    (PLACE, "`smt-packed` wins in hops/s: `across-l3`", "`across-l3` wins in hops/s: `smt-packed`", "place"),
    (PLACE, "none of its 4 hops", "2 of its 4 hops", "place reason"),
    (PLACE, "taskset -c 0,1,16,17", "taskset -c 0,1,2,3", "place"),
];

const FEW: &[&str] = &["--cpus", "0,1,8,16,24", "--budget", "3s"];
const PLACE: &[&str] = &["place", "--workload", "ring", "--threads", "4", "--budget", "300s"];

#[test]
fn a_word_that_is_changed_is_found() {
    let tool = Tool::new();
    let mut runs = cases::runs(&tool, "chiplet-16-smt", 1, &[FEW, PLACE]);
    for (words, from, to, claim) in WORDS {
        let run = runs.iter_mut().find(|run| {
            run.words.starts_with(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        });
        let run = run.unwrap();
        let screen = run.screen.clone();
        assert!(screen.contains(from), "`{from}` is not in\n{screen}");
        run.screen = screen.replace(from, to);
        let found: Vec<Wrong> = read(run).0.into_iter().filter(|wrong| wrong.claim == *claim).collect();
        assert!(!found.is_empty(), "`{to}` is not found");
        run.screen = screen;
    }
}

#[test]
fn a_sentence_that_nobody_knows_is_found() {
    let tool = Tool::new();
    let mut runs = cases::runs(&tool, "chiplet-16", 1, &[&["--cpus", "0,8", "--budget", "2s"]]);
    runs[0].screen.push_str(" Some new sentence speaks of 7 CPUs.\n");
    assert!(read(&runs[0]).0.iter().any(|wrong| wrong.claim == "unread"));
}
