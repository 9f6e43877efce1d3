//! The readers on small samples written for this test, one per format.

use coretalk_model::formats::FormatId::{self, *};
use coretalk_model::formats::{
    ImportError, ImportedMatrix, Labels, Printed, Problem, Unit, Warning, read_matrices,
};
use coretalk_model::infer::{InferError, Observation, infer};
use coretalk_model::{CpuId, Matrix};
use serde_json::{Value, json};

macro_rules! sample {
    ($name:literal) => {
        include_bytes!(concat!("samples/", $name)).as_slice()
    };
}

/// Name, content, format, and the expected CPUs and rows (those below the diagonal if symmetric).
pub(super) type Sample = (&'static str, &'static [u8], FormatId, &'static str);

/// The first matrix of each sample; `-` is unknown.
pub(super) const SAMPLES: &[Sample] = &[
    ("A", sample!("core-to-core.csv"), BareCsv, "0 1 2 3 | 7.25 | 20.125 21.5 | 22 19.75 6.875"),
    ("A-crlf", sample!("core-to-core-crlf.csv"), BareCsv, "0 1 2 3 | 7.25 | 20.125 21.5 | 22 19.75 6.875"),
    ("A-text", sample!("core-to-core-report.txt"), CoreToCoreReport, "0 1 2 | 52 | 138 139"),
    ("A-text-1.2", sample!("core-to-core-report-1.2.txt"), CoreToCoreReport, "0 1 2 | 10 | 30 31"),
    ("list", sample!("pair-list.txt"), PairList, "0 1 2 | 19.5 | 46 46.5"),
    ("bars", sample!("bars.md"), BarTable, "0 1 2 | 5.5 | 35.7 36.1"),
    ("json", sample!("coretalk.json"), CoretalkJson, "0 4 1 | 6.5 | 23.5 -"),
    ("multichase", sample!("multichase.txt"), Multichase, "0 1 2 | 53.5 | 64.5 76.5"),
    ("B", sample!("soilros.csv"), BareCsv, "0 1 2 | - 6.5 27.75 | 6.25 - 23.5 | 22.125 26.875 -"),
    ("C", sample!("mctop.mct"), Mctop, "0 1 2 | 28 | 104 104"),
    ("D", sample!("pivot.log"), Pivot, "0 1 4102 | - 25 81 | 26 - 84 | 78 83 -"),
    (
        "D-long",
        sample!("aggregates.log"),
        Aggregates,
        "0 1 4101 | - 37.5 150.25 | 52.75 - 145.5 | 153.75 146.5 -",
    ),
    ("E", sample!("fixed-width.txt"), FixedWidth, "0 1 2 | - 39 13 | 38 - 40 | 12 37 -"),
    ("F", sample!("inter-processor.json"), IpcJson, "0 1 2 | 27.125 | 108.5 105.75"),
    ("G", sample!("c2clat.txt"), C2clat, "0 1 2 | 92 | 16 54"),
    ("G-sub", sample!("c2clat-subset.txt"), C2clat, "10 11 | 52"),
    ("G -p", sample!("c2clat.gnuplot"), C2clatGnuplot, "0 1 2 | 92 | 16 54"),
    ("G -j", sample!("c2clat.json"), C2clatJson, "0 1 10 | 92 | 16 54"),
    ("G -c", sample!("c2clat.csv"), LabelledCsv, "0 1 10 | 92 | 16 54"),
    ("H", sample!("long.csv"), LongCsv, "0 1 2 | - 45 60 | 46 - 61 | 62 63 -"),
    ("H2", sample!("long-percentiles.csv"), LongCsv, "0 1 2 | 45.5 | 60.5 61.5"),
    (
        "CoherencyLatency",
        sample!("coherency-latency.txt"),
        CoherencyLatency,
        "0 1 2 | - 57.3125 61.25 | 58.125 - 60.5 | 61.75 59.875 -",
    ),
    ("csv", sample!("coretalk.csv"), CoretalkCsv, "0 1 10 | - 92.5 16.25 | 92.5 - - | 16.25 54.125 -"),
];

fn shown(matrix: &Matrix<Option<f64>>) -> String {
    let cell = |row, column| match matrix.get(row, column).copied().flatten() {
        Some(value) => format!(" {value}"),
        None => " -".to_owned(),
    };
    let mut text: Vec<String> = matrix.cpus().iter().map(|cpu| cpu.to_string()).collect();
    for row in matrix.is_symmetric() as usize..matrix.len() {
        let columns = if matrix.is_symmetric() { row } else { matrix.len() };
        text.push(format!("|{}", (0..columns).map(|column| cell(row, column)).collect::<String>()));
    }
    text.join(" ")
}

pub(super) fn one(bytes: &[u8]) -> ImportedMatrix {
    let mut matrices = read_matrices(bytes)
        .unwrap_or_else(|error| panic!("failed to {error}\n{}", String::from_utf8_lossy(bytes)));
    assert_eq!(matrices.len(), 1, "from {}", String::from_utf8_lossy(bytes));
    matrices.remove(0)
}

#[test]
fn each_format_is_recognised_and_read() {
    for (name, bytes, format, expected) in SAMPLES {
        let matrices = read_matrices(bytes).unwrap_or_else(|error| panic!("{name}: failed to {error}"));
        assert_eq!(matrices[0].format, *format, "{name}");
        assert_eq!(shown(&matrices[0].matrix), *expected, "{name}");
        let unit = if *format == Mctop { Unit::Cycles } else { Unit::Ns };
        assert_eq!(matrices[0].unit, unit, "{name}");
        let labels =
            expected.starts_with("0 1 2") && name.starts_with(['A', 'B']) || *name == "CoherencyLatency";
        let labels = labels && !name.starts_with("A-text");
        let expected_labels = if labels { Labels::RowNumbers } else { Labels::FromFile };
        assert_eq!(matrices[0].labels, expected_labels, "{name}");
        let printed = if expected.contains('.') { Printed::Decimals } else { Printed::WholeNumbers };
        assert_eq!(matrices[0].printed, printed, "{name}");
    }
}

#[test]
fn each_format_has_a_sample() {
    for format in FormatId::ALL {
        assert!(SAMPLES.iter().any(|sample| sample.2 == format), "write a sample of {format}");
    }
}

#[test]
fn each_format_survives_other_encodings_and_line_ends() {
    for (name, bytes, _, expected) in SAMPLES {
        let text = std::str::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for variant in [
            ["\u{feff}", &text].concat().into_bytes(),
            text.replace('\n', "\r\n").into_bytes(),
            text.replace('\n', "\r").into_bytes(),
            text.trim_end_matches('\n').as_bytes().to_vec(),
            [b"\xff\xfe", &utf16(&text)[..]].concat(),
        ] {
            let matrices =
                read_matrices(&variant).unwrap_or_else(|error| panic!("{name}: failed to {error}"));
            assert_eq!(shown(&matrices[0].matrix), *expected, "{name} as {variant:?}");
        }
    }
}

#[test]
fn text_around_a_table_is_ignored() {
    let report = std::str::from_utf8(sample!("core-to-core-report-1.2.txt")).unwrap();
    let each_line = |to: &dyn Fn(&str) -> String| report.lines().map(to).collect::<Vec<_>>().join("\n");
    let posted = [
        // Quoted in a mail, indented as code, and in the terminal colours that the tool writes even to files.
        each_line(&|line| format!("> {line}")),
        each_line(&|line| format!(">> {line}").trim_end().to_owned()),
        each_line(&|line| format!("    {line}")),
        report.replace("10±0", "\u{1b}[1;37m  10\u{1b}[0m\u{1b}[2;37m±0 \u{1b}[0m"),
    ];
    let below = [
        "[user@host ~]$ cat result.csv",
        "$ ./run -c 0,1,2",
        "[root@host ~]# ./run -c 0,1,2",
        "user@host:~$ ./run -c 0,1,2",
        "(env) user@host:~$ ./run -c 0,1,2",
        "bash-5.1$ ./run -c 0,1,2",
        "user@host ~ % ./run",
    ]
    .map(|prompt| format!("{prompt}\n,,\n10,,\n30,31,\n"));
    for text in posted.iter().chain(&below) {
        let matrices = read_matrices(text.as_bytes()).unwrap_or_else(|error| panic!("{error} from\n{text}"));
        assert_eq!(shown(&matrices[0].matrix), "0 1 2 | 10 | 30 31", "from\n{text}");
    }
    // Inside a cell, these characters are no prompt.
    let cells = "src,dst,model,median_ns\n0,1,A @ 2.3GHz,50\n0,2,B@2:1,60\n1,2,$5,61\n";
    assert_eq!(shown(&one(cells.as_bytes()).matrix), "0 1 2 | 50 | 60 61");
    let gaps = "1) CAS\n\n           0       1      10   \n      0\n      1\n     10  111±1    52±0 \n";
    assert_eq!(shown(&one(gaps.as_bytes()).matrix), "0 1 10 | - | 111 52");
}

#[test]
fn tables_that_people_write_by_hand_are_read() {
    for (text, expected) in [
        // Bars with and without a rule, around rows or only between them, and box drawing.
        ("|  |0 |1 |\n|0 |0.0|35.7|\n|1 |35.7|0.0|\n", "0 1 | 35.7"),
        ("| cpu | 4 | 6 |\n|-|-|-|\n| 4 | | 35.7 |\n| 6 | 35.7 | |\n", "4 6 | 35.7"),
        (
            "+---+----+----+\n|   | c0 | c1 |\n+===+====+====+\n| c0|    | 5  |\n| c1| 5  |    |\n+---+----+----+\n",
            "0 1 | 5",
        ),
        ("   | 0 | 1\n---+---+---\n 0 | - | 5\n 1 | 5 | -\n", "0 1 | 5"),
        ("│ │ 0 │ 1 │\n├─┼───┼───┤\n│0│   │ 5 │\n│1│ 5 │   │\n", "0 1 | 5"),
        ("Results:\n\n|0.0|35.7|36.1|\n|35.7|0.0|5.5|\n|36.1|5.5|0.0|\n", "0 1 2 | 35.7 | 36.1 5.5"),
        // Ids above and at the left, without a corner.
        ("core0 core1\ncore0 0 35.7\ncore1 35.7 0\n", "0 1 | 35.7"),
        ("core0,core1,core2\ncore0,0,5,6\ncore1,5,0,7\ncore2,6,7,0\n", "0 1 2 | 5 | 6 7"),
        ("4 6 8\n4 0 35.7 6.5\n6 35.7 0 7.5\n8 6.5 7.5 0\n", "4 6 8 | 35.7 | 6.5 7.5"),
        ("0 <-> 1 : 19 ns\n0 <-> 2 : 46 ns\n1 <-> 2 : 47 ns\n", "0 1 2 | 19 | 46 47"),
        ("CPU 0 -> CPU 1: 19ns\nCPU 1 -> CPU 0: 20ns\n", "0 1 | - 19 | 20 -"),
        ("core0 ↔ core4 = 19.5 ± 0.4 cycles\n", "0 4 | 19.5"),
        ("0 <-> 1 : 19 ns\n0 <-> 2 : n/a\n1 <-> 2 : 47 ns\n", "0 1 2 | 19 | - 47"),
        ("0 <-> 1 : - ns\n0 <-> 2 : 46 ns\n1 <-> 2 : 47 ns\n", "0 1 2 | - | 46 47"),
        ("From 0:\n0 <-> 1 : 19 ns\n0 <-> 2 : 46 ns\n\nFrom 1:\n1 <-> 2 : 47 ns\n", "0 1 2 | 19 | 46 47"),
        // Columns with other names; the median, else the mean.
        ("LocalCore,RemoteCore,MinCycles,AverageCycles,MaxCycles\n0,1,40,52,900\n", "0 1 | 52"),
        ("source;target;p90_ns;median_ns\n0;1;9,5;7,5\n", "0 1 | 7.5"),
        // Columns about the measurement also have units.
        ("src,dst,timestamp_ns,latency_ns\n0,1,1700000000,50\n", "0 1 | 50"),
        ("src,dst,stderr_ns,latency_ns\n0,1,2,50\n", "0 1 | 50"),
        ("src,dst,total_cycles,latency_ns\n0,1,90000,50\n", "0 1 | 50"),
        ("src,dst,elapsed_ms,latency_ns\n0,1,7,50\n", "0 1 | 50"),
        ("src,dst,warmup_ms,latency_max_ns\n0,1,7,50\n", "0 1 | 50"),
        ("src,dst,latency_ns,avg_mhz\n0,1,50,3000\n", "0 1 | 50"),
        // Row numbers written by pandas and R.
        (",core1,core2,latency_ns\n0,0,1,19.5\n1,0,2,40\n2,1,2,41\n", "0 1 2 | 19.5 | 40 41"),
        ("\"\",\"src\",\"dst\",\"ns\"\n\"1\",0,1,19.5\n\"2\",0,4,40\n\"3\",1,4,41\n", "0 1 4 | 19.5 | 40 41"),
        ("Unnamed: 0,core1,core2,latency_ns\n0,0,1,19.5\n", "0 1 | 19.5"),
    ] {
        assert_eq!(shown(&one(text.as_bytes()).matrix), expected, "from\n{text}");
    }
    assert_eq!(one(b"core0 -> core4 : 19.5 cycles\n").unit, Unit::Cycles);
    assert_eq!(one(b"LocalCore,RemoteCore,AverageCycles\n0,1,52\n").unit, Unit::Cycles);
    for rows in [",\n52,\n", "cpu,0,1\n0,,52\n1,52,\n", "core1,core2,latency\n0,1,52\n"] {
        let imported = one(format!("# machine A\n# latency in cycles\n\n{rows}").as_bytes());
        assert_eq!((imported.unit, imported.warnings), (Unit::Cycles, vec![]), "above {rows}");
    }
    let lists = read_matrices(b"CAS\n0 <-> 1 : 19 ns\nStore\n0 <-> 1 : 25 ns\n").unwrap();
    assert_eq!([0, 1].map(|index: usize| shown(&lists[index].matrix)), ["0 1 | 19", "0 1 | 25"]);
}

#[test]
fn a_column_that_distinguishes_lines_of_one_pair_separates_matrices() {
    let long = "src,dst,lines,median_ns\n0,1,1,50\n0,1,64,40\n0,2,1,60\n0,2,64,45\n1,2,1,61\n1,2,64,46\n";
    let matrices = read_matrices(long.as_bytes()).unwrap();
    let titles: Vec<_> = matrices.iter().filter_map(|one| one.title.as_deref()).collect();
    assert_eq!(titles, ["median_ns, lines 1", "median_ns, lines 64"]);
    let [one, many] = [0, 1].map(|index| shown(&matrices[index].matrix));
    assert_eq!([one, many], ["0 1 2 | 50 | 60 61", "0 1 2 | 40 | 45 46"]);
    // No column distinguishes these lines.
    let twice = read_matrices(b"src,dst,lines,median_ns\n0,1,1,50\n0,1,1,40\n").unwrap_err();
    assert!(matches!(twice.problem, Problem::DuplicatePair { .. }), "{twice}");
}

#[test]
fn files_without_latencies_between_cpus_are_refused_by_name() {
    let mlc = "Intel(R) Memory Latency Checker - v3.11\nMeasuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t     0\t     1\n       0\t  80.3\t 140.2\n       1\t 140.4\t  80.1\n";
    let rates = "spsc, u64, capacity 1: million messages per second, the row produces\n\n| CPU | 0 | 1 |\n|---:|---:|---:|\n| 0 | 5 | 6 |\n| 1 | 7 | 8 |\n";
    let table = "Numa node\t0\t1\n0\t80.3\t140.2\n1\t140.4\t80.1\n";
    let numactl = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n";
    for (text, sentence) in [
        (mlc, "Intel MLC, which compares NUMA nodes, not CPUs"),
        (table, "Intel MLC"),
        ("\t\tReader Numa Node\nWriter Numa Node  0\t1\n0\t-\t118.9\n1\t119.0\t-\n", "Intel MLC"),
        (numactl, "numactl"),
        (rates, "messages per second"),
        // Output of coretalk without a latency map.
        (r#"{"schema":"coretalk.trial/1","from":0,"to":1}"#, "a line per trial"),
        ("{\"schema\":\"coretalk.pass/1\"}\n{\"schema\":\"coretalk.pass/1\"}\n", "a line per trial"),
        (r#"{"schema":"coretalk.run/1","matrices":[]}"#, "no latency map"),
    ] {
        let error = read_matrices(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
    let compared = "# compared with Intel Memory Latency Checker\n";
    for matrix in [",\n5.5,\n", "src,dst,median_ns\n0,1,5.5\n", " CPU 0 1\n 0 0 5.5\n 1 5.5 0\n"] {
        assert_eq!(shown(&one([compared, matrix].concat().as_bytes()).matrix), "0 1 | 5.5", "from {matrix}");
    }
}

#[test]
fn simulated_matrices_are_recognised() {
    for text in [
        "# SIMULATED laptop-smt: these numbers say nothing about this computer\n,\n5.5,\n",
        "SIMULATED laptop-smt · 1 core\n\n|ns|0|1|\n|-|-|-|\n|0||5|\n|1|5||\n",
    ] {
        assert_eq!(one(text.as_bytes()).simulated(), Some("laptop-smt"), "from {text}");
    }
    assert_eq!(one(sample!("coretalk.json")).simulated(), Some("laptop-smt"));
    assert_eq!(one(sample!("soilros.csv")).simulated(), None);
}

#[test]
fn several_matrices_in_one_file_stay_apart() {
    let coherency = read_matrices(sample!("coherency-latency.txt")).unwrap();
    let titles: Vec<_> = coherency.iter().filter_map(|one| one.title.as_deref()).collect();
    assert_eq!(titles, ["Cache line offset: 0", "Cache line offset: 64"]);
    assert_eq!(shown(&coherency[1].matrix), "0 1 2 | 47.3125 | 51.25 50.5");

    let report = read_matrices(sample!("core-to-core-report-1.2.txt")).unwrap();
    let title = "3) Message passing. One writer and one reader on many cache line";
    assert_eq!(report[1].title.as_deref(), Some(title));
    assert_eq!(shown(&report[1].matrix), "0 1 2 | - 21 22 | 23 - 24 | 25 26 -");
    assert_eq!(report[0].metadata[0], ("CPU".to_owned(), "Example CPU".to_owned()));
    assert_eq!(report[1].metadata, report[0].metadata);

    // Neither `bare` nor `coherency` names its CPUs.
    let (bare, coherency) = (&b",,\n5.5,,\n6.5,7.5,\n"[..], &b"Cache line offset: 0\nx,5.5\n5.5,x\n"[..]);
    let (pivot, aggregates, c2clat) =
        (sample!("pivot.log"), sample!("aggregates.log"), sample!("c2clat.txt"));
    for (parts, formats) in [
        (&[pivot, aggregates, c2clat][..], &[Pivot, Aggregates, C2clat][..]),
        (&[bare, bare], &[BareCsv, BareCsv]),
        (&[bare, coherency], &[BareCsv, CoherencyLatency]),
        (&[coherency, bare], &[CoherencyLatency, BareCsv]),
        (&[coherency, coherency], &[CoherencyLatency, CoherencyLatency]),
        (&[c2clat, bare], &[C2clat, BareCsv]),
    ] {
        let found: Vec<FormatId> =
            read_matrices(&parts.concat()).unwrap().iter().map(|one| one.format).collect();
        assert_eq!(found, formats, "{parts:?}");
    }
}

#[test]
fn metadata_of_a_file_are_kept() {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let report = one(sample!("core-to-core-report.txt"));
    assert_eq!(report.metadata[..2], [pair("CPU", "Example CPU"), pair("Num cores", "3")]);
    assert_eq!(one(sample!("mctop.mct")).metadata, [pair("machine", "example")]);
    assert_eq!(one(sample!("inter-processor.json")).metadata[0], pair("cpuid", "Example CPU"));
    let expected = [pair("probe", "cas"), pair("cpu", "Example: 3 cores")];
    assert_eq!(one(sample!("coretalk.csv")).metadata, expected);
    assert_eq!(one(sample!("long-percentiles.csv")).title.as_deref(), Some("latency_ns_med"));
    assert_eq!(one(sample!("pivot.log")).title.as_deref(), Some("Median Core-to-core latency (ns)"));
}

#[test]
fn tables_of_values_are_read_in_all_their_forms() {
    for (text, expected) in [
        // Triangles, with and without padding and diagonal.
        (",,\n5.5,,\n6.5,7.5,\n", "0 1 2 | 5.5 | 6.5 7.5"),
        (",5.5,6.5\n,,7.5\n,,\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("\n5.5\n6.5,7.5\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("0\n5.5,0\n6.5,7.5,0\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("\n5.5,\n6.5,7.5,\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("x,5.5,6.5\nx,7.5\nx\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("5.5,6.5\n7.5\n", "0 1 2 | 5.5 | 6.5 7.5"),
        // A trailing separator in each row.
        ("0,5.5,6.5,\n5.5,0,7.5,\n6.5,7.5,0,\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("0,1,2,\n0,5.5,6.5,\n5.5,0,7.5,\n6.5,7.5,0,\n", "0 1 2 | 5.5 | 6.5 7.5"),
        // Zeros in the unmeasured half.
        ("0,0,0\n5.5,0,0\n6.5,7.5,0\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("0 5.5 6.5\n0 0 7.5\n0 0 0\n", "0 1 2 | 5.5 | 6.5 7.5"),
        // Ids above, at the left, or both; rows in another order; gaps.
        ("CPU 1,CPU 7\n,5.5\n5.5,\n", "1 7 | 5.5"),
        ("CPU 1,,5.5\nCPU 7,5.5,\n", "1 7 | 5.5"),
        ("10,11\n0,52\n52,0\n", "10 11 | 52"),
        ("10,0,52\n11,52,0\n", "10 11 | 52"),
        (",CPU 1,CPU 7\nCPU 7,5.5,\nCPU 1,,6.5\n", "1 7 | - 6.5 | 5.5 -"),
        ("cpu,4,8\n4,0,5\n8,5,0\n", "4 8 | 5"),
        (",0,1\n0,0,5\n1,5,0\n", "0 1 | 5"),
        (",4,6,8\n4,,5.5,6.5\n6,5.5,,7.5\n8,6.5,7.5,\n", "4 6 8 | 5.5 | 6.5 7.5"),
        // Whole numbers that cannot be ids, or need not be ids.
        (",92,66\n92,,50\n66,50,\n", "0 1 2 | 92 | 66 50"),
        (",52\n52,\n", "0 1 | 52"),
        ("0,50,66\n50,0,92\n66,92,0\n", "0 1 2 | 50 | 66 92"),
        // Truncated before the last row, which the last column contains.
        ("0,5.5,6.5,8.5\n5.5,0,7.5,9.5\n6.5,7.5,0,1.5\n", "0 1 2 3 | 5.5 | 6.5 7.5 | 8.5 9.5 1.5"),
        (",5.5,6.5,8.5\n,,7.5,9.5\n,,,1.5\n", "0 1 2 3 | 5.5 | 6.5 7.5 | 8.5 9.5 1.5"),
        ("0 5.5 6.5\n5.5 0 7.5\n6.5 7.5 0\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("\t\t\n5.5\t\t\n6.5\t7.5\t\n", "0 1 2 | 5.5 | 6.5 7.5"),
        ("# a\n,\n# b\n0.0,\n", "0 1 | 0"),
    ] {
        assert_eq!(shown(&one(text.as_bytes()).matrix), expected, "from\n{text}");
    }
}

/// Whether the problem has this name and, if `expected` has any, these values.
pub(super) fn is_problem(error: &ImportError, expected: &str) -> bool {
    let found = format!("{:?}", error.problem);
    found == expected || found.split(' ').next() == Some(expected)
}

#[test]
fn refusals_name_the_place_and_the_reason() {
    let given_twice = "#m #HWCs 2 #Nodes 1 SMT 0\n0 0 0\n0 1 9\n0 1 9\n";
    let rates = "# coretalk matrix: directed, messages/s\n# capacity: 1\ncpu,0,1\n0,5,5\n1,6,\n";
    let c2clat = r#"{"d0": 2, "d1": 2, "row_label": [0, 1], "column_label": [0, 1], "values": [0, 1, 2]}"#;
    // Content, line, column, and problem (without its values if they are in the content).
    let table: &[(&str, Option<usize>, Option<usize>, &str)] = &[
        (" \n\n", None, None, "Blank"),
        ("nothing to see here\n", None, None, "NotAMatrix"),
        ("52\n", None, None, "OneCpu"),
        ("10,20\n52,0\n0,52\n", None, None, "NotSquare { rows: 3, columns: 2 }"),
        // Without a diagonal, the position of the rows is unknown.
        ("4,5,6,8\n5,4,7,9\n6,7,4,1\n", None, None, "NotSquare { rows: 3, columns: 4 }"),
        ("# Notes\n\nThe 3 latencies, as read, were fine.\n", None, None, "NotAMatrix"),
        (",20,30\n20,,35\n30,35,\n", Some(1), None, "AmbiguousLabels"),
        (",5.5\n\"5.5,\n", Some(2), Some(1), "Quote"),
        ("cpu,0,1\n0,,5\n2,5,\n", Some(3), Some(1), "UnknownRow { cpu: CpuId(2) }"),
        ("cpu,0,1\n0,,5\n0,5,\n", Some(3), Some(1), "DuplicateCpu { cpu: CpuId(0) }"),
        ("cpu,0,one\n0,,5\n1,5,\n", Some(1), Some(3), "NotACpu"),
        (" CPU 0 1\n 0 0 5\n", Some(3), None, "MissingRows { found: 1, expected: 2 }"),
        (" CPU 0 1\n 0 0 5\n 1 5\n", Some(3), None, "Ragged { cells: 1, expected: 2 }"),
        (" CPU 0 1\n 0 0 5\n 1 5 0\n 2 5 0\n", Some(4), None, "ExtraRow"),
        (" CPU 0 1\n 0 0 5\n 1 e 0\n", Some(3), Some(2), "NotANumber"),
        ("      0     1\n0           87\n1   87\n", Some(3), Some(2), "Misaligned"),
        ("toCore 0 ... 9\nfromCore\n", Some(1), Some(3), "Shortened"),
        (given_twice, Some(4), None, "DuplicatePair { from: CpuId(0), to: CpuId(1) }"),
        ("#m #HWCs 3 #Nodes 1 SMT 0\n0 1 9\n1 0 9\n", Some(1), None, "MissingRows { found: 2, expected: 3 }"),
        ("core1,core2,latency_us\n0,1,5\n", Some(1), Some(3), "Unit"),
        ("# Latency in us\n,\n5,\n", Some(1), None, "Unit"),
        ("# Latency in us\ncpu,0,1\n0,,5\n1,5,\n", Some(1), None, "Unit"),
        ("us,0,1\n0,,5\n1,5,\n", Some(1), None, "Unit"),
        ("# Latency in us\ncore1,core2,latency\n0,1,5\n", Some(1), None, "Unit"),
        // Implausibly large, and not a quotation.
        ("0,5,6\n>1000,0,7\n6,7,0\n", Some(2), Some(1), "NotANumber"),
        ("0 <-> 1 : 19 ns\n0 <-> 2 : inf ns\n", Some(2), Some(3), "Infinite"),
        ("0 <-> 1 : 19 ns\n0 <-> 2 : -inf\n", Some(2), Some(3), "Infinite"),
        ("0 <-> 1 : 19 ns\n0 <-> 2 : error\n", Some(2), None, "NotANumber"),
        ("0 <-> 1 : 19 ns\n0 <-> 2 : 22\n", Some(2), None, "NoUnit"),
        ("0 <-> 1 : 19\n0 <-> 2 : 22 ns\n", Some(1), None, "NoUnit"),
        ("0 <-> 1 : 19 ns\n0 <-> 2 : 22 cycles\n", Some(2), None, "Unit"),
        // Units in titles above tables, and in a corner.
        ("Latency in us:\n\n|  |0 |1 |\n|0 |0|5|\n|1 |5|0|\n", Some(1), None, "Unit"),
        ("| us | 0 | 1 |\n|-|-|-|\n| 0 | 0 | 5 |\n| 1 | 5 | 0 |\n", Some(1), None, "Unit"),
        ("# run\nLatency (us):\n      0     1\n0     0    87\n1    87     0\n", Some(2), None, "Unit"),
        ("Latency (ms):\n\nmin median\nfromCore toCore\n0 1 4 5\n", Some(1), None, "Unit"),
        ("core1,core2,latency_ns\n0,1\n", Some(2), None, "Ragged { cells: 2, expected: 3 }"),
        ("core1,core2,latency_ns\n0,1,-4\n", Some(2), Some(3), "Negative"),
        ("# coretalk matrix: symmetric, ns\ncpu,0,1\n0,,5\n1,6,\n", None, None, "HalvesDiffer"),
        ("# coretalk matrix: round, ns\ncpu,0,1\n0,,5\n1,6,\n", Some(1), None, "OwnHeader"),
        (rates, Some(1), None, "Rates"),
        ("{\"0\": ", Some(1), Some(6), "JsonSyntax"),
        ("[1, 2]", None, None, "JsonShape"),
        (r#"{"0": {"1": "fast"}}"#, None, None, "JsonShape"),
        (c2clat, None, None, "JsonShape"),
    ];
    for (text, line, column, problem) in table {
        let error = read_matrices(text.as_bytes()).expect_err(text);
        assert_eq!((error.line, error.column), (*line, *column), "failed to {error}, from\n{text}");
        assert!(is_problem(&error, problem), "failed to {error}, from\n{text}");
    }
    let error = read_matrices(b",,\nfast,,\n53,54,\n").unwrap_err();
    let sentence =
        "read line 2, column 1: `fast` is not a latency (leave the cell empty if the pair was not measured)";
    assert_eq!(error.to_string(), sentence);
}

#[test]
fn a_matrix_without_values_is_named_and_the_others_are_read() {
    let empty = "Cache line offset: 64\nx,x\nx,x\n\n";
    let full = "Cache line offset: 0\nx,9.5\n9.5,x\n\n";
    let json = |cells: &Value| {
        let (parameters, cpus) = (json!({"as": "c2clat"}), [0, 1]);
        json!({"probe": "latency", "unit": "ns", "symmetric": true, "parameters": parameters, "cpus": cpus,
            "cells": cells})
    };
    let document = |first: &Value, second: &Value| {
        json!({"schema": "coretalk.run/1", "matrices": [json(first), json(second)]}).to_string()
    };
    let [cell, null] = [json!(9.5), Value::Null].map(|ns| json!([{"from": 0, "to": 1, "median": ns}]));
    let none = json!([]);
    let tables = "| ns | 0 | 1 |\n| 0 | | 9.5 |\n| 1 | 9.5 | |\n\n| ns | 2 | 3 |\n| 2 | | |\n| 3 | | |\n";
    let name = |text: &str| Some(text.to_owned());
    for (text, number, name) in [
        ([full, empty].concat(), 2, name("Cache line offset: 64")),
        ([empty, full].concat(), 1, name("Cache line offset: 64")),
        (document(&cell, &null), 2, name("c2clat")),
        (document(&none, &cell), 1, name("c2clat")),
        (tables.into(), 2, None),
    ] {
        let read = one(text.as_bytes());
        assert_eq!(read.matrix.get(1, 0), Some(&Some(9.5)), "{text}");
        assert!(read.warnings.contains(&Warning::Empty { number, of: 2, name }), "{:?}", read.warnings);
    }
    for text in [[empty, empty].concat(), document(&null, &none)] {
        assert_eq!(read_matrices(text.as_bytes()).unwrap_err().problem, Problem::NoValues, "{text}");
    }
}

#[test]
fn a_coretalk_square_without_ids_is_numbered_by_row() {
    let read = one(b"# coretalk matrix: symmetric, ns\n# probe: cas\n,52.5\n52.5,\n");
    assert_eq!((read.labels, read.matrix.get(1, 0)), (Labels::RowNumbers, Some(&Some(52.5))));
}

#[test]
fn doubts_become_warnings() {
    let doubts = |text: &str| one(text.as_bytes()).warnings;
    let unit = Warning::UnitAssumed { unit: Unit::Ns };
    let first = [CpuId(1), CpuId(0)];
    assert_eq!(doubts(",\n0,\n"), [unit.clone(), Warning::Zero { cells: 1, first }]);
    assert_eq!(doubts(",,\n,,\n1.5,2.5,\n"), [unit.clone(), Warning::Missing { cells: 1, of: 3, first }]);
    let cut = Warning::LastRow { rows: 3, cpu: CpuId(3) };
    assert_eq!(doubts("0,5.5,6.5,8.5\n5.5,0,7.5,9.5\n6.5,7.5,0,1.5\n"), [unit.clone(), cut.clone()]);
    // If other pairs have two different directions, one direction of the last CPU stays unknown.
    let first = [CpuId(3), CpuId(0)];
    let missing = Warning::Missing { cells: 3, of: 12, first };
    assert_eq!(doubts("0,5.5,6.5,8.5\n5.0,0,7.5,9.5\n6.5,7.0,0,1.5\n"), [unit.clone(), missing, cut]);
    assert_eq!(doubts(",10.5\n31.5,\n"), [unit, Warning::Asymmetric { ratio_p50: 3.0 }]);
    assert_eq!(doubts(" CPU 0 1\n 0 0 9\n 1 9 0\n"), []);
}

#[test]
fn a_long_table_of_many_columns_is_read_in_time() {
    let names: String = (0..8_000).map(|column| format!(",x{column}")).collect();
    let row = |from, to| format!("{from},{to},5{}\n", ",1".repeat(8_000));
    let long = format!("src,dst,ns{names}\n{}", [row(0, 1), row(0, 1), row(1, 0), row(1, 0)].concat());
    let began = std::time::Instant::now();
    assert!(read_matrices(long.as_bytes()).is_err());
    assert!(began.elapsed().as_secs() < 2, "{:?}", began.elapsed());
}

#[test]
fn a_small_file_cannot_ask_for_a_large_table() {
    let header: String = (0..8000).map(|cpu| format!(" {cpu}")).collect();
    let pairs: String = (1..8000).map(|cpu| format!("0,{cpu},5\n")).collect();
    for text in [
        format!(" CPU{header}\n"),
        format!("Showing latency=x\n{header}\n"),
        format!("core1,core2,latency_ns\n{pairs}"),
        format!("src,dst,key,ns\n{}", (0..50_000).map(|key| format!("0,1,{key},5\n")).collect::<String>()),
        format!("1) x\n\n{header}\n{}", (0..8000).map(|cpu| format!("{cpu}\n")).collect::<String>()),
        format!("{}\n", ",".repeat(20_000)),
        ",\n".repeat(20_000),
        "\n".repeat(1_000_000),
        "[".repeat(1_000_000),
        "\"".repeat(1_000_000),
        " 1\n\n".repeat(100_000),
        format!("Showing latency=x\n{}", " ".repeat(1_000_000)),
    ] {
        assert!(read_matrices(text.as_bytes()).is_err(), "{} … was accepted", &text[..40]);
    }
}

#[test]
fn implausible_values_are_refused_with_their_position() {
    for value in ["1e-320", "0.0099", "1.01e11", "9e307"] {
        let error = read_matrices(format!(",5,5\n5,,5\n5,{value},\n").as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 3, column 2: no latency can be"), "{error}");
        let json = format!("{{\"0\": {{\"1\": {value}}}, \"1\": {{\"0\": 5}}}}");
        let error = read_matrices(json.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("`0`.`1`: no latency can be"), "{error}");
    }
    // Values not from a file are rejected, too; a mean of both directions would be infinite.
    let cpus = (0..3).map(CpuId).collect();
    let bad = Matrix::directed(cpus, |row, column| (row != column).then_some(9e307))
        .map(|cell| cell.map(Observation::bare));
    assert!(matches!(infer(&bad), Err(InferError::Impossible { .. })));
}
