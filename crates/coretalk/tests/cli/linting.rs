//! `lint`: files of other tools, one or many, and how it ends.

use super::tool::Tool;

#[test]
fn doubts_are_said_with_their_cells_and_only_strictness_makes_them_a_failure() {
    let tool = Tool::new();
    std::fs::write(tool.path().join("clean.csv"), ",,\n41.5,,\n40.2,40.9,\n").unwrap();
    std::fs::write(tool.path().join("zero.csv"), ",,\n0.0,,\n51.7,53.3,\n").unwrap();
    std::fs::write(tool.path().join("broken.csv"), "1,2,3\n4,5\n").unwrap();
    let clean = tool.done(&["lint", "clean.csv", "--strict"]).out;
    assert!(clean.contains("nothing doubtful found"), "{clean}");
    let both = tool.done(&["lint", "clean.csv", "zero.csv"]).out;
    assert!(both.contains("impossible  CPUs 0 and 1: the value is exactly 0"), "{both}");
    let strict = tool.call(&["lint", "clean.csv", "zero.csv", "--strict"]);
    assert_eq!((strict.code, strict.out.as_str()), (1, both.as_str()));
    assert!(strict.err.contains("1 of 2 matrices are doubtful"), "{}", strict.err);
    let broken = tool.call(&["lint", "clean.csv", "broken.csv"]);
    assert_eq!((broken.code, broken.out.as_str(), broken.err.lines().count()), (4, "", 1), "{}", broken.err);
    assert!(broken.err.contains("broken.csv: failed to read line 2"), "{}", broken.err);
}

/// What a pattern finds first, wherever lines end.
fn part(text: &str, pattern: &str) -> Option<String> {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(regex::Regex::new(pattern).unwrap().captures(&flat)?[1].to_owned())
}

#[test]
fn lint_and_topology_name_the_same_doubts_of_every_published_matrix() {
    let root = format!("{}/../../../shared/data/latency-matrices", env!("CARGO_MANIFEST_DIR"));
    let Ok(machines) = std::fs::read_dir(&root) else {
        println!("skipped: {root} is absent");
        return;
    };
    let tool = Tool::new();
    let mut told = [0; 3];
    for file in machines.flat_map(|machine| std::fs::read_dir(machine.unwrap().path()).unwrap()) {
        let file = file.unwrap().path();
        let name = file.to_str().unwrap();
        let [lint, topology] =
            [&["lint", name][..], &["topology", "--from", name]].map(|words| tool.done(words).out);
        let of = [
            (r" (\d{1,3}(?: \d{3})*) pairs? (?:do|does|is|are) (?:not fit|unlike)", 0),
            (r"the values are multiples of ([\d.]+)", 1),
        ];
        for (pattern, kind) in of {
            let said = [&lint, &topology].map(|text| part(text, pattern));
            assert_eq!(said[0], said[1], "{name}: {lint}{topology}");
            told[kind] += usize::from(said[0].is_some());
        }
        let scatter = part(&lint, r"values vary by ([\d.]+) %");
        if scatter.is_some() {
            assert_eq!(scatter, part(&topology, r"values scatter by ([\d.]+) %"), "{name}: {lint}{topology}");
            told[2] += 1;
        }
    }
    assert!(told[0] > 20 && told[1] > 3 && told[2] > 2, "{told:?}");
}
