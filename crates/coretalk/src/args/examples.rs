//! Examples below the help of each command. A test runs all of them.

/// Realistic commands and their effects by subcommand. The quick look is first.
pub const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[
            ("coretalk", "measure this machine and save the run"),
            ("coretalk report latest -o report.html", "turn the last run into a page"),
            ("coretalk advise -n 4", "find the best CPUs for four threads"),
        ],
    ),
    (
        "latency",
        &[
            ("coretalk latency", "map of all pairs of CPUs"),
            ("coretalk latency --pairs 0-1,0-2 --tails", "two pairs, with percentiles"),
            ("coretalk latency --as core-to-core-latency,c2clat", "what other tools would print"),
        ],
    ),
    (
        "wait",
        &[
            ("coretalk wait", "all strategies of this CPU"),
            ("coretalk wait --strategy pause,futex --pairs 0-2", "spinning against sleeping"),
            ("coretalk wait --cost", "the cost of a single call of each"),
        ],
    ),
    (
        "wake",
        &[
            ("coretalk wake", "the usual primitives"),
            ("coretalk wake --primitive park,std-mutex --gap 1ms", "two of them, after 1 ms of idling"),
            ("coretalk wake --primitive semaphore --pairs all", "a map of wake-up latencies"),
        ],
    ),
    (
        "queue",
        &[
            ("coretalk queue", "three queues, five capacities"),
            ("coretalk queue --queue spsc,flume --capacity 64", "two queues, one capacity"),
            ("coretalk queue --queue spsc --rate 100k/s", "latency at a fixed rate"),
            (
                "coretalk queue --queue spsc,flume --rate-sweep",
                "the highest rate each keeps, and its latency",
            ),
            ("coretalk queue --queue mutex --producers 1,2,4", "several producers, and how fair"),
            ("coretalk queue --queue spsc,rtrb --batch 1,8,64", "several messages at once"),
        ],
    ),
    (
        "place",
        &[
            ("coretalk place --workload ring,pipeline", "two workloads"),
            ("coretalk place --placement a=0-1 --placement b=0,2 --workload ring", "near against far"),
            ("coretalk place -- ./server --once", "your own program"),
        ],
    ),
    (
        "versus",
        &[
            ("coretalk versus old=./a new=./b", "two builds"),
            ("coretalk versus x=./a y=./a --env y:THREADS=8", "one program, two environments"),
            ("coretalk versus old=./a new=./b --fail-on slower", "for CI: exits with 1 or 7"),
        ],
    ),
    (
        "spawn",
        &[
            ("coretalk spawn", "all kinds of threads and processes"),
            ("coretalk spawn --kind thread,pool", "new threads against a pool"),
            ("coretalk spawn --kind fork,posix-spawn --samples 1000", "two ways to start a process"),
        ],
    ),
    (
        "contend",
        &[
            ("coretalk contend", "the usual methods"),
            ("coretalk contend --method fetch-add,std-mutex --threads 1,2,4", "atomic against mutex"),
            ("coretalk contend --method rwlock --read-ratio 90%", "mostly reads"),
        ],
    ),
    (
        "sharing",
        &[
            ("coretalk sharing", "one pair of each relation"),
            ("coretalk sharing --distance 8,64,128", "same line, next line, line pair"),
            ("coretalk sharing --pairs 0-2,0-4", "two pairs"),
        ],
    ),
    (
        "broadcast",
        &[
            ("coretalk broadcast", "up to one reader per CPU"),
            ("coretalk broadcast --readers 1,3", "one and three readers"),
            ("coretalk broadcast --cpus 0-3", "among four CPUs"),
        ],
    ),
    (
        "jitter",
        &[
            ("coretalk jitter", "watch all CPUs for 5 s"),
            ("coretalk jitter --for 30s", "longer, to catch rare gaps"),
            ("coretalk jitter --cpus 2-5", "only these CPUs"),
        ],
    ),
    (
        "suite",
        &[
            ("coretalk suite", "every probe with its defaults"),
            ("coretalk suite --name before-update", "tag the run to compare it later"),
            ("coretalk suite --cpus 0-3 -o suite.json", "four CPUs, as JSON"),
        ],
    ),
    (
        "runs",
        &[
            ("coretalk runs", "list saved runs"),
            ("coretalk runs show latest", "show the last run again"),
            ("coretalk runs tag latest baseline", "give it a name"),
        ],
    ),
    (
        "export",
        &[
            ("coretalk export latest --format csv", "print the matrix"),
            ("coretalk export baseline -o baseline.json", "everything, as JSON"),
            ("coretalk export latest --format markdown", "a table to paste"),
        ],
    ),
    (
        "report",
        &[
            ("coretalk report latest -o report.html", "an interactive page"),
            ("coretalk report baseline latest -o both.html", "two runs side by side"),
            ("coretalk report latest -o map.png", "a picture to share"),
            (
                "coretalk report Zen3=other.csv Zen2=another.csv -o files.html",
                "files of other tools, with names",
            ),
        ],
    ),
    (
        "import",
        &[
            ("coretalk import other.csv", "draw the matrix of another tool"),
            ("coretalk import other.csv --format markdown", "convert it"),
            ("coretalk import other.csv --order measured", "sort CPUs by latency"),
        ],
    ),
    (
        "view",
        &[
            ("coretalk view tails.hgrm", "draw percentiles in the terminal"),
            ("coretalk view tails.hgrm other.hgrm", "two distributions in one chart"),
            ("coretalk view tails.hgrm other.hgrm -o tails.html", "the same as a page"),
        ],
    ),
    (
        "lint",
        &[
            ("coretalk lint other.csv", "check one matrix"),
            ("coretalk lint other.csv another.csv", "check several"),
            ("coretalk lint --strict other.csv", "fail if it is doubtful, for scripts"),
        ],
    ),
    (
        "compare",
        &[
            ("coretalk compare baseline latest", "two runs"),
            ("coretalk compare baseline latest --fail-on slower", "exit with 1 if it got slower"),
            ("coretalk compare Zen3=other.csv Zen2=another.csv", "two matrix files, with names"),
        ],
    ),
    (
        "doctor",
        &[
            ("coretalk doctor", "check this machine, with suggested fixes"),
            ("coretalk doctor --format json", "for scripts"),
            ("coretalk doctor -o findings.txt", "to a file, to attach to results"),
        ],
    ),
    (
        "topology",
        &[
            ("coretalk topology", "measure for a few seconds and compare"),
            ("coretalk topology --from latest", "use the last run"),
            ("coretalk topology --from other.csv", "groups in the matrix of another tool"),
        ],
    ),
    (
        "quiet",
        &[
            ("coretalk quiet", "the quietest CPU"),
            ("coretalk quiet -n 2", "the two quietest, as for taskset -c"),
            ("coretalk quiet -n 2 --cpus l3:0", "the two quietest that share this cache"),
        ],
    ),
    (
        "advise",
        &[
            ("coretalk advise -n 4", "four threads that all talk to each other"),
            ("coretalk advise -n 4 --pattern pipeline --prove", "check the advice with a workload"),
            ("coretalk advise --graph threads.txt --from latest", "your own pattern, from the last run"),
        ],
    ),
    (
        "selftest",
        &[
            ("coretalk selftest", "can measurements on this machine be trusted?"),
            ("coretalk selftest -o selftest.json", "results to attach to a bug report"),
            ("coretalk selftest -q", "only the results"),
        ],
    ),
    (
        "clock",
        &[
            ("coretalk clock", "the counter and what reading it costs"),
            ("coretalk clock --format json", "for scripts"),
            ("coretalk clock --budget 10s", "compare the counters of more CPUs"),
        ],
    ),
    (
        "adapters",
        &[
            ("coretalk adapters", "what is here, and what is missing"),
            ("coretalk adapters check ./my-adapter", "try everything that a program offers"),
            ("coretalk adapters check --cpus 2,3 ./my-adapter", "on these two CPUs"),
        ],
    ),
    (
        "probes",
        &[
            ("coretalk probes", "list probes, queues, locks and primitives"),
            ("coretalk probes --asm cas+pause", "machine code of a timed loop"),
            ("coretalk probes --format json", "for scripts"),
        ],
    ),
    (
        "plan",
        &[
            ("coretalk plan", "plan the quick look"),
            ("coretalk plan latency --tails", "plan a map with percentiles"),
            ("coretalk plan queue --pairs all", "how long all pairs would take"),
        ],
    ),
    (
        "completions",
        &[
            ("coretalk completions bash", "for bash"),
            ("coretalk completions zsh -o _coretalk", "for zsh, to a file"),
            ("coretalk completions fish", "for fish"),
        ],
    ),
    ("man", &[("coretalk man", "print it"), ("coretalk man -o coretalk.1", "write it to a file")]),
];

/// Formats examples for help. The effect is a trailing comment, so that users can paste a line into a shell.
pub fn help(examples: &[(&str, &str)]) -> String {
    let width = examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let lines = examples.iter().map(|(line, what)| format!("\n  {line:width$}  # {what}"));
    format!("Examples:{}", lines.collect::<String>())
}
