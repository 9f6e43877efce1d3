//! Invalid command lines: exit code, and one clear message on standard error.

use super::tool::{Tool, assert_contains, words};

/// Command line, exit code, and a part of the message that names the cause.
const REFUSED: &[(&str, i32, &str)] = &[
    ("measure", 2, "unrecognized subcommand 'measure'"),
    ("runs lst", 2, "list"),
    ("queue --machine sim:chiplet-16 --capacity 0", 2, "a queue can hold 1 to 4194302 messages"),
    ("queue --machine sim:chiplet-16 --capacity 99999999999999999999", 2, "99999999999999999999"),
    ("queue --machine sim:chiplet-16 --queue mpmc", 2, "unknown queue `mpmc`: known are semaphore"),
    ("queue --machine sim:chiplet-16 --queue spcs", 2, "a similar name exists: `spsc`"),
    ("contend --machine sim:chiplet-16 --method mutx", 2, "a similar name exists: `std-mutex`"),
    ("latency --machine sim:chiplet-16 -o a.txt --export-json ./a.txt", 2, "overwrite each other in ./a.txt"),
    ("wait --machine sim:chiplet-16 --export-csv a --export-json a", 2, "overwrite each other in a"),
    ("queue --machine sim:chiplet-16 --queue semaphore-spin:0", 2, "N is a number of polls"),
    ("queue --machine sim:chiplet-16 --payload bytes:63", 2, "use 16, 64, 256, 1024"),
    ("queue --machine sim:chiplet-16 --payload float", 2, "unknown payload `float`"),
    ("queue --machine sim:chiplet-16 --queue spsc --producers 2", 2, "allows only one producer"),
    ("queue --machine sim:chiplet-16 --queue spsc,spsc", 2, "listed twice"),
    ("queue --machine sim:chiplet-16 --parallel 9", 2, "at most 8 pairs at the same time"),
    ("queue --machine sim:chiplet-16 --parallel 2 --rate 1k/s", 2, "--parallel"),
    ("queue --machine sim:chiplet-16 --parallel 2 --producers 2", 2, "--parallel"),
    ("queue --machine sim:chiplet-16 --rate 5furlongs", 2, "furlongs"),
    ("queue --machine sim:chiplet-16 --rate 5/s", 2, "at least 10/s"),
    ("queue --machine sim:chiplet-16 --rate-sweep 1..100k/s", 2, "at least 10/s"),
    ("wait --machine sim:chiplet-16 --no-clock --format hgrm", 2, "the run has no distribution"),
    ("wait --machine sim:chiplet-16 --cost --export-hgrm x", 2, "the run has no distribution"),
    ("sharing --machine sim:chiplet-16 --format hgrm", 2, "the run has no distribution"),
    ("queue --machine sim:chiplet-16 --format hgrm -o x", 2, "the run has no distribution"),
    ("wait --machine sim:chiplet-16 --no-save -o x.hgrm", 2, "--format hgrm -o DIR"),
    ("wait --machine sim:chiplet-16 -o x --export-hgrm x.hgrm", 2, "write them to a directory"),
    ("doctor -o x.md", 2, "use text or json (the ending of the -o file chose that format; for text add"),
    ("latency --machine sim:chiplet-16 -o x.hgrm", 2, "ending of the -o file"),
    ("place --machine sim:chiplet-16 --workload pipeline -o x.hgrm", 2, "ending of the -o file"),
    ("wait --store x --no-save", 2, "cannot be used with"),
    ("wait --machine sim:chiplet-16 --strategy pause,,busy", 2, "contains an empty name"),
    ("wait --machine sim:chiplet-16 --strategy BUSY", 2, "a similar name exists: `busy`"),
    ("wake --machine sim:chiplet-16 --primitive mutex", 2, "a similar name exists: `std-mutex`"),
    ("wake --machine sim:chiplet-16 --primitive sem", 2, "a similar name exists: `sem-t`"),
    ("contend --machine sim:chiplet-16 --method mcs-lock", 2, "a similar name exists: `mcs`"),
    ("contend --machine sim:chiplet-16 --method FETCH-ADD", 2, "a similar name exists: `fetch-add`"),
    ("broadcast --machine sim:laptop-smt --cpus 0,1 --readers 2", 2, "there is 1 CPU for readers"),
    ("wake --machine sim:chiplet-16 --cpus 3", 3, "needs two CPUs; `coretalk wait`, `queue`, `contend`"),
    ("wake --machine sim:chiplet-16 -q --primitive eventfs", 2, "a similar name exists: `eventfd`"),
    ("wake --machine sim:chiplet-16 -q --primitive pipe,pipe", 2, "lists pipe twice"),
    ("wake --machine sim:chiplet-16 -q --samples 0", 2, "--samples"),
    ("wake --machine sim:chiplet-16 -q --cpus 3", 3, "only CPU 3 is selected"),
    ("wake --machine sim:chiplet-16 -q --pairs 0-99", 2, "CPU 99 does not exist"),
    ("wake --machine sim:chiplet-16 -q --format c2c-csv", 2, "`c2c-csv` is for latency maps"),
    ("wake --machine sim:chiplet-16 -q --primitive uncontended:pipe", 2, "`pipe` is not a lock"),
    ("wake --machine sim:chiplet-16 -q --primitive notify-all:0", 2, "needs a number of waiters"),
    ("wait --machine sim:chiplet-16 -q --strategy pauze", 2, "a similar name exists: `pause`"),
    ("wait --machine sim:chiplet-16 -q --strategy onspinwait", 2, "a similar name exists: `java:onspinwait`"),
    ("wait --machine sim:chiplet-16 -q --strategy pause:0", 2, "from 1 to"),
    ("wait --machine sim:chiplet-16 -q --strategy pause,pause", 2, "lists pause twice"),
    ("wait --machine sim:chiplet-16 -q --strategy busy --alternate", 2, "name another one"),
    ("wait --machine sim:chiplet-16 -q --strategy clock --cost", 2, "meaningless here"),
    ("wait --machine sim:chiplet-16 -q --asym pause", 2, "A:B"),
    ("wait --machine sim:chiplet-16 -q --asym busy:pauze", 2, "`pause`"),
    ("wait --machine sim:chiplet-16 -q --asym pause:busy,pause:busy", 2, "twice"),
    ("wait --machine sim:chiplet-16 -q --trips 0", 2, "--trips"),
    ("wait --machine sim:chiplet-16 -q --alternate --no-clock", 2, "--no-clock"),
    ("wait --machine sim:chiplet-16 -q --cost --pairs 0-1", 2, "--cost"),
    ("contend --machine sim:chiplet-16 -q --method fetchadd", 2, "a similar name exists: `fetch-add`"),
    ("contend --machine sim:chiplet-16 -q --method mcs,mcs", 2, "lists mcs twice"),
    ("contend --machine sim:chiplet-16 -q --threads 0", 2, "1 to 4096 threads"),
    ("contend --machine sim:chiplet-16 -q --threads 1000000", 2, "1 to 4096 threads"),
    ("contend --machine sim:chiplet-16 -q --arrange compact", 2, "unknown arrangement `compact`"),
    ("contend --machine sim:chiplet-16 -q --read-ratio 90%", 2, "`rwlock` only"),
    ("contend --machine sim:chiplet-16 -q --critical 2s", 2, "at most `1ms`"),
    ("contend --machine sim:chiplet-16 -q --cpus 99", 2, "CPU 99 does not exist"),
    ("contend --machine sim:chiplet-16 -q --format c2c-csv", 2, "`c2c-csv` is for latency maps"),
    ("spawn --machine sim:chiplet-16 -q --kind forks", 2, "a similar name exists: `fork`"),
    ("spawn --machine sim:chiplet-16 -q --kind jthread", 2, "a similar name exists: `cpp:jthread`"),
    ("contend --machine sim:chiplet-16 -q --method flag-notify", 2, "name exists: `cpp:flag-notify`"),
    ("queue --machine sim:chiplet-16 -q --queue channel", 2, "a similar name exists: `sync-channel`"),
    ("wake --machine sim:chiplet-16 -q --primitive counting-semaphore", 2, "`cpp:counting-semaphore`"),
    ("spawn --machine sim:chiplet-16 -q --kind pool,pool", 2, "lists pool twice"),
    ("spawn --machine sim:chiplet-16 -q --samples 0", 2, "--samples"),
    ("spawn --machine sim:chiplet-16 -q --pairs 0-99", 2, "CPU 99 does not exist"),
    ("latency --gap 1ns --machine sim:chiplet-16-smt -q", 2, "a gap must be between `100ns` and `1s`"),
    ("latency --gap 1s..1us --machine sim:chiplet-16-smt -q", 2, "put the shorter gap first"),
    ("latency --gap 1us,1us --machine sim:chiplet-16-smt -q", 2, "--gap lists a gap twice"),
    ("latency --gap 1us --protocol msg --machine sim:chiplet-16-smt -q", 2, "--protocol"),
    ("latency --gap 1us --by core --machine sim:chiplet-16-smt -q", 2, "cannot be used with '--by <WHAT>'"),
    ("--keep-raw latency --gap 1us --machine sim:chiplet-16-smt -q", 2, "cannot be used with '--keep-raw'"),
    ("--by core latency --load compute --machine sim:chiplet-16-smt -q", 2, "cannot be used with '--by"),
    ("latency --load computer --machine sim:chiplet-16-smt -q", 2, "a similar name exists: `compute`"),
    ("latency --load compute,pingpong --cpus 0,1 --machine sim:hybrid", 2, "selected for compute, pingpong"),
    ("sharing --distance 12 --machine sim:chiplet-16-smt -q", 2, "a multiple of 8"),
    ("sharing --distance 8,8 --machine sim:chiplet-16-smt -q", 2, "lists 8 twice"),
    ("broadcast --readers 32 --machine sim:chiplet-16-smt -q", 2, "31 CPUs"),
    ("broadcast --readers 0 --machine sim:chiplet-16-smt -q", 2, "31 CPUs"),
    ("sharing --pairs 0-0 --machine sim:chiplet-16-smt -q", 2, "but `sharing` needs two CPUs"),
    ("jitter --machine sim:noisy-vm -q --for 0s", 2, "--for"),
    ("jitter --machine sim:noisy-vm -q --cpus 99", 2, "CPU 99 does not exist"),
    ("latncy", 2, "latency"),
    ("--nonsense", 2, "--nonsense"),
    ("latency --cpus 0-", 2, "0-"),
    ("latency --cpus ", 2, "lists no CPU"),
    ("latency --cpus 3-1", 2, "ends before it starts"),
    ("latency --cpus 0,0", 2, "CPU 0 is listed twice"),
    ("latency --cpus 0-3,2", 2, "CPU 2 is listed twice"),
    ("latency --cpus 9999999999", 2, "9999999999"),
    ("latency --machine sim:chiplet-16 --cpus 0,16", 2, "CPU 16 does not exist"),
    ("latency --machine sim:chiplet-16 --cpus 3", 3, "only CPU 3 is selected"),
    ("latency --machine sim:chiplet-16 --smt siblings", 3, "SMT siblings"),
    ("latency --machine sim:laptop-smt --smt siblings --pairs all", 2, "--pairs"),
    ("latency --machine sim:nowhere", 2, "chiplet-16-smt"),
    ("latency --machine moon", 2, "host"),
    ("latency --machine sim:missing.toml", 4, "missing.toml"),
    ("latency --machine sim:missing.csv", 4, "missing.csv"),
    ("latency --samples 0 --iterations 1", 2, "--samples"),
    ("latency --samples 5", 2, "--iterations"),
    ("latency --machine sim:chiplet-16 --samples 4000000000 --iterations 4000000000", 2, "1..=1000000"),
    ("latency --samples 99999999999 --iterations 1", 2, "99999999999"),
    ("latency --rate 1k/s", 2, "--tails"),
    ("latency --tails --rate fast", 2, "fast"),
    ("latency --as c2clat --hint pause", 2, "--hint"),
    ("latency --as paint", 2, "c2clat"),
    ("latency --machine sim:chiplet-16 --as c2clat,multichase --format csv", 2, "--as"),
    ("latency --machine sim:chiplet-16 --as c2clat 500", 2, "--samples"),
    ("latency --machine sim:chiplet-16 500", 2, "--as"),
    ("latency --machine sim:chiplet-16 --protocol cas,msg --export-csv x", 2, "--protocol"),
    ("latency --machine sim:chiplet-16 --protocol cas,cas", 2, "twice"),
    ("latency --machine sim:chiplet-16 --protocol xfer --hint pause", 2, "--hint"),
    ("latency --machine sim:chiplet-16 --home 7", 2, "--home 7"),
    ("latency --pairs 0-0", 2, "needs two CPUs"),
    ("latency --pairs 0-1,1-0", 2, "lists 0-1 and 1-0"),
    ("latency --machine sim:chiplet-16 --pairs 0-1 --cpus 2-5", 2, "CPU 0"),
    ("latency --parallel 0", 2, "--parallel"),
    ("latency --machine sim:chiplet-16 --cpus 0-8 --parallel 9999", 2, "9 CPUs allow at most 4 pairs"),
    ("latency --lines 0", 2, "--lines"),
    ("latency --precision 0.05%", 2, "0.1%"),
    ("latency --precision 2", 2, "2%"),
    ("latency --budget 0s", 2, "--budget"),
    ("latency --budget 25h", 2, "a day"),
    ("latency --machine sim:chiplet-16 --as multichase --budget 200ms -q", 2, "multichase takes"),
    ("wake --machine sim:chiplet-16 --gap 1s --budget 2s", 2, "one pass of a trial takes 3.0 s"),
    ("latency --seed -1", 2, "-1"),
    ("latency --nice 20", 2, "20"),
    ("latency --rt 0", 2, "--rt"),
    ("latency --rt 5 --nice 3", 2, "--nice"),
    ("latency --no-save --name x", 2, "--name"),
    ("latency --note alone", 2, "KEY=VALUE"),
    ("latency --quiet --verbose", 2, "--verbose"),
    ("latency --resume nothing", 2, "nothing"),
    ("latency --resume ./missing.coretalk", 4, "missing.coretalk"),
    ("latency --machine sim:chiplet-16 -o no/such/folder/x", 6, "no/such/folder/x"),
    ("runs show latest", 2, "no runs"),
    ("export ./missing.coretalk", 4, "missing.coretalk"),
    ("export latest --format yaml", 2, "yaml"),
    ("import missing.csv", 4, "missing.csv"),
    ("import", 2, "<FILE>"),
    ("topology --from nothing", 2, "nothing"),
    ("advise", 2, "--threads"),
    ("advise -n 0", 2, "--threads"),
    ("advise -n 4 --pattern star", 2, "all-to-all"),
    ("advise --graph missing.txt", 4, "missing.txt"),
    ("advise --graph x --pattern ring", 2, "--pattern"),
    ("advise -n 2 --from nothing", 2, "nothing"),
    ("advise -n 2 --from x.csv --budget 3s", 2, "--budget"),
    ("advise -n 17 --machine sim:chiplet-16", 3, "17 threads need as many CPUs, and 16 (0-15)"),
    ("advise -n 65536 --machine sim:chiplet-16", 3, "65536 threads need as many CPUs, and 16 (0-15)"),
    ("latency --machine sim:chiplet-16 --cpus 0,,1", 2, "failed to read `` as a CPU number"),
    (
        "place --machine sim:chiplet-16 --placement a=0,,1 --placement b=2 --workload ring",
        2,
        "a: failed to read ``",
    ),
    ("place --machine sim:chiplet-16 --placement a=0-1048575 --placement b=1 --workload ring", 2, "CPU 16"),
    ("latency --machine sim:chiplet-16 --cpus l3:7", 2, "--cpus: there is no l3:7; this machine has l3:0"),
    ("latency --machine sim:chiplet-16 --cpus l3:", 2, "`l3:` names no CPUs (expected for example `0-3,8`"),
    ("latency --machine sim:chiplet-16 --cpus core:0-99", 2, "there is no core:16; this machine has core:0"),
    ("latency --machine sim:chiplet-16 --cpus p-cores", 2, "only one kind of core"),
    ("latency --machine sim:chiplet-16 --cpus isolated", 2, "no CPU is isolated"),
    ("latency --machine sim:chiplet-16 --cpus l3:0,!l3:0", 2, "no CPU is left"),
    ("latency --machine sim:chiplet-16 --cpus 0x30000", 2, "CPU 16 does not exist"),
    ("latency --machine sim:chiplet-16 --cpus quiet:17", 3, "`quiet:17` needs more CPUs than the 16"),
    ("quiet -n 17 --machine sim:chiplet-16", 3, "`quiet:17` needs more CPUs than the 16"),
    ("quiet -n 3 --cpus 0-1 --machine sim:chiplet-16", 3, "`quiet:3` needs more CPUs than the 2"),
    ("quiet -n 0", 2, "1..=65536"),
    ("advise -n 2 --machine sim:chiplet-16 --avoid node:0", 2, "--avoid: `node:0` names nothing here"),
    (
        "place --machine sim:chiplet-16 --cpus l3:0 --placement a=l3:1 --placement compact --workload ring",
        3,
        "placement a: `l3:1` is CPUs 8-15, but this process may use only CPUs 0-7",
    ),
    ("advise -n 2 --machine sim:chiplet-16 --cpus 0,99", 2, "CPU 99 does not exist"),
    ("advise -n 2 --machine sim:chiplet-16 --avoid 99", 2, "CPU 99 does not exist"),
    ("advise -n 2 --machine sim:chiplet-16 --avoid 0-14", 3, "1 (15) may be used"),
    ("advise -n 2 --machine sim:hybrid --class Q", 2, "classes here: E and P"),
    ("advise -n 2 --machine sim:chiplet-16 --class P", 2, "all cores are alike"),
    ("advise -n 2 --machine sim:chiplet-16 --node 7", 2, "NUMA node 7"),
    ("advise -n 5 --machine sim:laptop-smt --sharing never", 3, "5 threads need as many cores"),
    ("advise -n 2 --machine sim:chiplet-16 --format csv", 2, "use text or json"),
    ("probes --asm cas+nap", 2, "cas+pause"),
    ("doctor --format csv", 2, "use text or json"),
    ("plan --machine sim:chiplet-16 --format jsonl", 2, "use text or json"),
    ("completions tcsh", 2, "bash"),
];

#[test]
fn every_invalid_invocation_gets_its_code_and_one_sentence() {
    let tool = Tool::new();
    for (line, code, part) in REFUSED {
        let message = tool.refusal(&line.split(' ').collect::<Vec<_>>(), *code);
        assert!(message.starts_with("coretalk: ") && message.contains(part), "`{line}`, `{part}`: {message}");
        for noise in ["Error", "error:", "panicked", "Some(", "None)"] {
            assert!(!message.contains(noise), "`{line}`: {message}");
        }
    }
    let runs = tool.path().join("runs");
    assert!(!runs.exists() || std::fs::read_dir(runs).unwrap().count() == 0, "a refusal left a run behind");
}

#[test]
fn long_arguments_are_truncated_in_messages() {
    let tool = Tool::new();
    let long = "x".repeat(50_000);
    for line in [
        "latency --cpus LONG",
        "latency --protocol=LONG",
        "queue --machine sim:chiplet-16 --queue spsc,LONG",
        "wait --machine sim:chiplet-16 --strategy LONG",
        "runs show LONG",
        "LONG",
    ] {
        let output = tool.call(&words(&line.replace("LONG", &long)));
        assert_eq!(output.code, 2, "{line}: {}", output.err);
        assert!(output.err.contains("xxx…") && output.err.len() < 1000, "{line}: {}", output.err.len());
    }
}

#[test]
fn damaged_files_are_refused_with_the_location() {
    let tool = Tool::new();
    for (name, content, line, part) in [
        ("a.toml", "[noise]\nbatch_ds = 1\n", "latency --machine sim:a.toml", "a.toml"),
        ("b.csv", "cpu,0,1\n0,,soon\n1,5,\n", "latency --machine sim:b.csv", "line"),
        ("c.csv", "1,2,3\n4,5\n", "import c.csv", "line"),
        ("d.coretalk", "no database", "runs show ./d.coretalk", "d.coretalk"),
        ("e.coretalk", "", "latency --resume ./e.coretalk", "e.coretalk"),
    ] {
        tool.write(name, content);
        tool.refused(&words(line), 4, part);
    }
}

#[test]
fn cpus_outside_the_cpuset_or_the_inherited_mask_are_named() {
    let tool = Tool::new();
    for (mask, options, parts) in
        [("", "--cpus 2-5", ["CPU 4", "0-3"]), ("mask = '2'", "", ["only CPU 2", "--cpus 0-3"])]
    {
        tool.write("a.toml", format!("based_on = 'chiplet-16'\n[allowance]\ncpuset = '0-3'\n{mask}\n"));
        let line = format!("latency --machine sim:a.toml {options}");
        assert_contains(&tool.refusal(&words(&line), 3), &parts);
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let tool = Tool::new();
    assert_eq!(tool.out("--version"), format!("coretalk {}\n", env!("CARGO_PKG_VERSION")));
    for line in ["--help", "latency --help", "runs tag -h"] {
        let output = tool.done(&words(line));
        assert!(output.out.contains("Usage:") && output.err.is_empty(), "{line}");
    }
    for (line, same) in [
        ("help", "--help"),
        ("help latency", "latency --help"),
        ("help runs show", "runs show --help"),
        ("runs help show", "runs show --help"),
    ] {
        assert_eq!(tool.done(&words(line)), tool.done(&words(same)), "{line}");
    }
    tool.refusal(&["help", "latncy"], 2);
}

#[test]
fn unsupported_options_are_ignored_with_a_notice() {
    let tool = Tool::new();
    for (command, option, name) in [
        ("plan", "--strict", "--strict"),
        ("plan contend", "--order=id", "--order"),
        ("plan jitter", "--budget 9s", "--budget"),
    ] {
        let sim = "--machine sim:chiplet-16 --seed 1";
        let without = tool.done(&words(&format!("{command} {sim}")));
        let notice = format!("{}coretalk: {name} has no effect on `{command}` and is ignored\n", without.err);
        for line in [format!("{command} {sim} {option}"), format!("{option} {command} {sim}")] {
            let output = tool.done(&words(&line));
            assert_eq!((&output.out, &output.err), (&without.out, &notice), "{line}");
        }
    }
}
