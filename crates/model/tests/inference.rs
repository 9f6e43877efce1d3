//! The acceptance test of inference: in release, `--features acceptance --test inference`. `tests/inference_reduced.rs`
//! runs the same with fewer machines.

mod machines;

#[test]
fn planted_structures_are_found_exactly() {
    for row in machines::planted_rows(400) {
        println!("{row}");
        assert!(row.ours.passed * 100 >= row.ours.machines * 99, "{row}");
        assert_eq!(row.ours.wrong, 0, "{row}");
    }
}

#[test]
fn machines_without_groups_get_none() {
    let rows = machines::flat_rows(150);
    rows.iter().for_each(|row| println!("{row}"));
    let (invented, all) =
        rows.iter().fold((0, 0), |sum, row| (sum.0 + row.ours.invented, sum.1 + row.ours.machines));
    // Noise of a quarter on a few CPUs looks like anything now and then.
    assert!(invented * 400 <= all, "{invented} of {all}");
}

#[test]
fn published_levels_are_found() {
    let Some(files) = machines::all("the published matrices") else { return };
    let (table, row) = machines::published_table(&files);
    println!("{table}\n{row}");
    assert!(row.ours.passed == row.ours.machines && row.ours.found > row.plain.found, "{table}");
}

#[test]
fn disturbed_files_keep_their_levels() {
    let Some(files) = machines::all("the disturbed matrices") else { return };
    let (mut found, mut clear, mut plain, mut wrong) = (0, 0, 0, 0);
    for row in machines::disturbed_rows(&files, 5) {
        println!("{row}");
        found += row.ours.found;
        clear += row.ours.clear;
        plain += row.plain.found;
        wrong += row.ours.wrong;
    }
    println!("{found} of {clear} levels, plain linkage {plain}; {wrong} files with a wrong group");
    assert!(found * 100 >= clear * 97 && found > plain && wrong * 500 <= clear);
}
