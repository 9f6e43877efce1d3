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
