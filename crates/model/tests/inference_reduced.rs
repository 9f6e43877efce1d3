//! Inference against planted structures and published matrices, in the time of a plain `cargo test`; `inference.rs` is
//! the acceptance test.

mod machines;

#[test]
fn every_published_level_that_is_clear_is_found_and_none_is_wrong() {
    let Some(files) = machines::all("the published matrices") else { return };
    let (table, row) = machines::published_table(&files);
    println!("{table}\n{row}");
    assert!(row.ours.machines >= 84);
    assert_eq!(row.ours.passed, row.ours.machines, "{table}");
    assert!(row.ours.found > row.plain.found && row.ours.wrong == 0);
}

#[test]
fn disturbed_files_keep_their_levels() {
    let Some(files) = machines::all("the disturbed matrices") else { return };
    let rows = machines::disturbed_rows(&files, 1);
    let sum = |of: fn(&machines::Row) -> usize| rows.iter().map(of).sum::<usize>();
    let (found, clear, plain) =
        (sum(|row| row.ours.found), sum(|row| row.ours.clear), sum(|row| row.plain.found));
    rows.iter().for_each(|row| println!("{row}"));
    assert!(found * 100 >= clear * 96 && found > plain, "{found} of {clear}, plain linkage {plain}");
    assert!(sum(|row| row.ours.wrong) <= 1);
}

#[test]
fn planted_structures_are_found_exactly() {
    for row in machines::planted_rows(25) {
        println!("{row}");
        assert!(row.ours.passed + 1 >= row.ours.machines && row.ours.wrong == 0, "{row}");
    }
}

#[test]
fn machines_without_groups_get_none() {
    let rows = machines::flat_rows(15);
    rows.iter().for_each(|row| println!("{row}"));
    assert!(rows.iter().map(|row| row.ours.invented).sum::<usize>() <= 1);
    assert!(rows.iter().map(|row| row.plain.invented).sum::<usize>() > 50);
}
