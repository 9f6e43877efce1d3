//! CPUs by name: on simulated and imported machines, in scenarios, and on resuming; and the quietest CPUs.

use super::tool::{Tool, assert_contains, list, words};
use coretalk_model::{CpuId, CpuSet};
use serde_json::{Value, json};

/// Returns the CPUs that `plan` would measure.
fn planned(tool: &Tool, machine: &str, cpus: &str) -> String {
    let document = tool.json(&["plan", "--format", "json", "--machine", machine, "--cpus", cpus]);
    let ids = list(&document["topology"]["cpus"]).iter();
    ids.map(|id| CpuId(id.as_u64().unwrap() as u32)).collect::<CpuSet>().to_string()
}

#[test]
fn names_are_those_of_the_simulated_machine() {
    let tool = Tool::new();
    for (machine, cpus, expected) in [
        ("sim:epyc-2s-192", "l3:1", "8-15"),
        ("sim:epyc-2s-192", "l3:12,core:0-1", "0,1,96-103"),
        ("sim:epyc-2s-192", "package:1,!l3:12-22", "184-191"),
        ("sim:hybrid", "p-cores", "0-11"),
        ("sim:hybrid", "e-cores,!cluster:0", "16-19"),
        ("sim:hybrid", "quiet:7,!12-15", "0,2,4,6,8,10,16"),
        ("sim:chiplet-16-smt", "core:3", "3,19"),
        ("sim:chiplet-16-smt", "!l3:0", "8-15,24-31"),
    ] {
        assert_eq!(planned(&tool, machine, cpus), expected, "{machine}: {cpus}");
    }
    let none = words("plan --machine sim:epyc-2s-192 --cpus 0xff,0x00000000,!l3:4");
    tool.refused(&none, 2, "no CPU is left");
}

#[test]
fn placements_take_names_in_their_order_among_the_chosen_cpus() {
    let tool = Tool::new();
    let placed = "place --workload ring --repeat 2 --machine sim:chiplet-16-smt --cpus 0-19,!core:1 --no-save -q \
                  --format json --placement a=8,core:0 --placement b=core:1-3";
    let document = tool.document(placed);
    let cpus = [0, 1].map(|at| &document["comparisons"][0]["placements"][at]["cpus"]);
    assert_eq!(cpus, [&json!([8, 0, 16]), &json!([2, 3, 18, 19])]);
}

/// Writes a scenario where a program keeps some CPUs busy for a fifth of the time.
fn write_busy_machine(tool: &Tool, cpus: &str) {
    let stall = "per_second = 100.0\nus = [2000.0, 2000.0]\nrhythm = 'random'\nseen_as = 'switch'";
    let text = format!(
        "based_on = 'chiplet-16-smt'\nname = 'busy'\n[[stalls]]\nname = 'x'\n{stall}\ncpus = '{cpus}'\n"
    );
    tool.write("busy.toml", text);
}

#[test]
fn quiet_cpus_have_idle_cores() {
    let tool = Tool::new();
    write_busy_machine(&tool, "core:0,1,!16");
    let quiet = |more: &str| tool.done(&words(&format!("quiet --machine sim:busy.toml {more}")));
    let one = quiet("");
    assert_eq!((one.out.as_str(), one.err.as_str()), ("2\n", ""));
    assert_eq!(quiet("-n 3 --cpus l3:0").out, "2-4\n");
    assert_eq!(quiet("-n 15 --cpus 0-16 -o file").out, "");
    assert_eq!(tool.read("file"), "0,2-15\n");
    assert_eq!(quiet("-n 17 --cpus l3:0,0,24 -q").err, "");
    let busy = quiet("-n 14 --cpus l3:0");
    assert_eq!(busy.out, "0-7,18-23\n");
    assert_contains(&busy.err, &["too few CPUs are quiet", "CPU 0 (20 %)"]);
}

#[test]
fn the_quietest_cpu_of_this_machine_is_allowed() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let allowed: CpuSet = allowed.trim().parse().unwrap();
    let output = Tool::new().out("quiet -n 1");
    let named: CpuSet = output.trim().parse().unwrap();
    assert!(named.len() == 1 && named.is_subset(&allowed), "{output}");
}

#[test]
fn a_resumed_run_keeps_its_quiet_cpus() {
    for command in [
        "latency --cpus quiet:3",
        "wait --strategy busy,pause --cpus quiet:2",
        "place --workload ring --placement a=quiet:2 --placement b=4,5",
        "place --workload ring --placement one-l3 --placement across-l3 --threads 2 --cpus quiet:14",
    ] {
        let tool = Tool::new();
        write_busy_machine(&tool, "core:0-1");
        let common = "--machine sim:busy.toml --format json -q --budget";
        let before = tool.document(&format!("{command} --seed 1 {common} 300ms"));
        // Now other CPUs are quiet.
        write_busy_machine(&tool, "core:2-3");
        let after = tool.document(&format!("--resume latest {common} 2s"));
        let cpus = |document: &Value| -> Vec<String> {
            let series = list(&document["series"]).iter().map(|one| &one["placement"]);
            let compared = document["comparisons"][0]["placements"].as_array();
            let compared = compared.into_iter().flatten().map(|one| &one["cpus"]);
            series.chain(compared).chain([&document["topology"]["cpus"]]).map(Value::to_string).collect()
        };
        assert_eq!(cpus(&before), cpus(&after), "{command}");
    }
}

#[test]
fn names_are_those_of_a_saved_run_or_file() {
    let tool = Tool::new();
    tool.out("latency --machine sim:chiplet-16-smt --seed 1 --name it -q");
    for (options, cpus) in [("--cpus l3:1,!core:8", "9-15"), ("--cpus 0-7 --avoid core:0-2,l3:1", "3-7")] {
        let document = tool.document(&format!("advise -n 4 --format json --from it {options}"));
        assert_eq!(document["advice"][0]["candidates"], cpus, "{options}");
    }
    for option in ["--cpus", "--avoid"] {
        tool.refused(&words(&format!("advise -n 2 --from it {option} quiet:2")), 2, "measured now");
    }
    tool.out("export it --format csv -o matrix.csv");
    tool.refused(&words("advise -n 2 --from matrix.csv --cpus node:1"), 2, "`node:1` names nothing here");
}

#[test]
fn scenarios_name_cpus_of_their_own_structure() {
    let tool = Tool::new();
    let scenario = |allowance: &str| {
        tool.write(
            "a.toml",
            format!("based_on = 'chiplet-16'\nreported = 'nothing'\n[allowance]\n{allowance}\n"),
        );
    };
    scenario("cpuset = 'l3:1,!core:8'\nisolated = '14-15'\nmask = '!isolated,!l3:0'");
    assert_eq!(planned(&tool, "sim:a.toml", "isolated"), "14,15");
    assert_eq!(planned(&tool, "sim:a.toml", "!9"), "10-13", "the mask has no isolated CPU");
    for (allowance, part) in [
        ("cpuset = 'l3:4'", "line 4: `allowance.cpuset` cannot be resolved: there is no l3:4"),
        ("mask = 'l3:'", "line 4: `l3:` names no CPUs"),
        ("mask = 'quiet:2'", "not known how busy"),
        ("isolated = 'isolated'", "no CPU is isolated"),
    ] {
        scenario(allowance);
        tool.refused(&["plan", "--machine", "sim:a.toml"], 4, part);
    }
}
