//! Screens for the check of an adapter and for the list of adapters.

use coretalk_measure::adapters::conformance::{Conformance, ConformingPasses, Thing, median_of};
use coretalk_measure::adapters::found::AdapterStatus as Listed;
use coretalk_measure::adapters::{AdapterError, AdapterPass, Description, Note, OperationKind, Payload};
use coretalk_model::CpuId;
use coretalk_model::quantity::Unit;
use coretalk_report::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source};
use coretalk_report::blocks::{Block, Cell, Column, Table};
use std::path::Path;

/// Share of a pass. Other threads disturb a thread that waits longer than this for a CPU.
const BUSY: f64 = 0.05;

/// Names a thing that an adapter offers: `queue channel of u64`.
pub fn thing(kind: OperationKind, name: &str, payload: Option<Payload>) -> Sentence {
    let template = match payload {
        _ if kind == OperationKind::Clock => "{name}",
        Some(_) => "{kind} {name} of {payload}",
        None => "{kind} {name}",
    };
    Sentence::new(template)
        .with("kind", kind.word())
        .with_name("name", name)
        .with("payload", payload.map_or("", Payload::word))
}

/// Lists the available adapters with their offers, and why others are unavailable.
pub fn list(found: &[Listed], user_folder: &Path, cache: &Path) -> Vec<Block<'static>> {
    let mut available = Table::new([
        Column::words("adapter"),
        Column::words("runtime").cut(),
        Column::words("built or run by").cut().from_width(100),
    ]);
    let (mut names, mut lacking) = (Vec::new(), Vec::new());
    for adapter in found {
        match &adapter.outcome {
            Ok(offered) => {
                let version = offered.ready.version.as_deref().map(Cell::name);
                available.row([
                    Cell::name(&adapter.name),
                    Cell::name(&offered.description.runtime),
                    Cell::known(version),
                ]);
                names.extend(offers(&adapter.name, &offered.description));
            }
            Err(reason) => {
                let sentence = Sentence::new("{name}: {reason}").with_name("name", &adapter.name);
                lacking.push(Block::Item(sentence.with_name("reason", &reason.to_string())));
            }
        }
    }
    let mut blocks = Vec::new();
    if available.rows.is_empty() {
        blocks.push(Block::Prose(Sentence::new("No adapter can be used here.")));
    } else {
        blocks.extend([Block::Table(available), Block::Gap]);
        blocks
            .push(Block::Prose(Sentence::new("What they offer, beside the names of coretalk in one list:")));
        blocks.extend(names);
    }
    if !lacking.is_empty() {
        blocks.extend([Block::Gap, Block::Prose(Sentence::new("Not here:"))]);
        blocks.extend(lacking);
    }
    let places = Sentence::new(
        "Adapters of your own stand in {users} (docs/adapters.md says how); what was built is kept in {cache}.",
    )
    .with_name("users", &user_folder.join("adapters.toml").display().to_string())
    .with_name("cache", &cache.display().to_string());
    blocks.extend([Block::Gap, Block::Remark(places)]);
    blocks
}

fn offers(name: &str, description: &Description) -> Vec<Block<'static>> {
    let names_of_kind = |kind: OperationKind| {
        let full_name = |offer: &str| {
            Sentence::new("{adapter}:{offer}").with_name("adapter", name).with_name("offer", offer)
        };
        let names: Vec<Sentence> = description.offers(kind).map(|offer| full_name(&offer.name)).collect();
        let option = match kind {
            OperationKind::Queue => "queue --queue",
            OperationKind::Wait | OperationKind::Clock => "wait --strategy",
            OperationKind::Alternate => "wait --alternate --strategy",
            OperationKind::Cost => "wait --cost --strategy",
            OperationKind::Wake => "wake --primitive",
            OperationKind::Contend => "contend --method",
            OperationKind::Spawn => "spawn --kind",
        };
        let sentence = Sentence::new("{option} {names}").with("option", option);
        (!names.is_empty()).then(|| Block::Item(sentence.with("names", Sentence::joined(names, ","))))
    };
    OperationKind::ALL.into_iter().filter_map(names_of_kind).collect()
}

pub fn conformance(name: &str, cpus: [CpuId; 2], found: &Conformance) -> Vec<Block<'static>> {
    let [first, second] = cpus;
    let on = Sentence::new(match first == second {
        true => "both threads on CPU {first}, the only one",
        false => "threads on CPUs {first} and {second}",
    });
    let start = DisplayValue::bare(Number::Duration(found.start.as_secs_f64()), Source::Unrecorded);
    let mut blocks = vec![Block::Title(vec![
        Sentence::name(name),
        Sentence::name(&found.description.runtime),
        Sentence::new("starts in {start}").with("start", start),
        on.with("first", first).with("second", second),
    ])];
    let table = table(&found.things);
    if !table.rows.is_empty() {
        blocks.extend([Block::Table(table), Block::Gap]);
    }
    // Two threads on one CPU always wait for each other.
    blocks.extend(busy(&found.things).filter(|_| first != second).map(Block::Remark));
    let note = |note: &Note| {
        Sentence::new("{name} {text}").with_name("name", &note.name).with_name("text", &note.text)
    };
    let notes: Vec<Sentence> = found.notes().into_iter().map(note).collect();
    if !notes.is_empty() {
        let sentence = Sentence::new("It remarks: {notes}.").with("notes", Sentence::joined(notes, ", "));
        blocks.push(Block::Remark(sentence));
    }
    blocks.extend(verdict(found));
    blocks
}

fn table(things: &[Thing]) -> Table {
    let mut table = Table::new([
        Column::words("what"),
        Column::numbers("capacity"),
        Column::numbers("ns").meaning("ns: of one operation, the median of some passes"),
        Column::words("of passes").meaning("of passes: the fastest and the slowest of them"),
        Column::numbers("elsewhere")
            .meaning("elsewhere: CPU time used by threads other than the measured ones"),
        Column::numbers("warm after").meaning("warm after: operations until it got no faster"),
    ])
    .about("By the clock of its own runtime");
    for thing in things {
        let Ok(found) = &thing.found else { continue };
        let name = self::thing(thing.kind, &thing.name, thing.payload);
        for (index, (capacity, passes)) in found.passes.iter().enumerate() {
            let is_first = index == 0;
            let ns: Vec<f64> = passes.iter().map(ns_of).collect();
            let Some([least, most]) = range(&ns) else { continue };
            let outside = median_of(passes, |pass| pass.outside);
            table.row([
                if is_first { name.clone().into() } else { Cell::Blank },
                capacity.map_or(Cell::Blank, |capacity| count(capacity).into()),
                Cell::known(median_of(passes, |pass| Some(ns_of(pass))).map(figure)),
                Sentence::new("{least} to {most}")
                    .with("least", figure(least))
                    .with("most", figure(most))
                    .into(),
                Cell::known(outside.map(|share| measured(Number::Point(share)).in_unit(Unit::Share))),
                if is_first { warm(found) } else { Cell::Blank },
            ]);
        }
    }
    table
}

/// Time per operation: the median if each operation was timed, else the mean.
fn ns_of(pass: &AdapterPass) -> f64 {
    let median = pass.events.as_ref().and_then(|events| events.percentile_ns(0.5));
    median.unwrap_or_else(|| pass.ns_per_operation())
}

fn range(values: &[f64]) -> Option<[f64; 2]> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    Some([least, values.iter().copied().max_by(f64::total_cmp)?])
}

/// Warns if other threads used the CPUs of the measured threads, because the numbers then include their time.
fn busy(things: &[Thing]) -> Option<Sentence> {
    // Spawning is excluded, because the creator waits on its own CPU for the created thread.
    let without_spawn = things.iter().filter(|thing| thing.kind != OperationKind::Spawn);
    let passes = without_spawn.filter_map(|thing| thing.found.as_ref().ok());
    let passes = passes.flat_map(|found| &found.passes).flat_map(|(_, passes)| passes);
    let shares: Vec<f64> = passes
        .filter_map(|pass| {
            let delay_ns: u64 = pass.roles.iter().map(|role| role.run_delay_ns).sum::<Option<u64>>()?;
            Some(delay_ns as f64 / pass.roles.len() as f64 / pass.ns as f64)
        })
        .collect();
    let disturbed = shares.iter().filter(|share| **share > BUSY).count();
    (disturbed > 0).then(|| {
        Sentence::new(
            "In {disturbed} of {passes} the measured threads waited for a CPU that others used, for more than {busy} of the \
             time: where they did, the nanoseconds are also of others. Try again when the machine is idle.",
        )
        .with("disturbed", DisplayValue::listed(disturbed))
        .with("passes", Sentence::counted(shares.len() as u64, Source::Listed, ["pass", "passes"]))
        .with("busy", DisplayValue::bare(Number::Point(BUSY), Source::Method).in_unit(Unit::Share))
    })
}

fn warm(found: &ConformingPasses) -> Cell {
    if found.has_settled { count(found.operations).into() } else { Cell::Unknown }
}

fn measured(number: Number) -> DisplayValue {
    DisplayValue::bare(number, Source::Unrecorded)
}

fn count(number: u64) -> DisplayValue {
    measured(Number::Count(number))
}

fn figure(ns: f64) -> DisplayValue {
    DisplayValue { unit: DisplayUnit::Figure, ..measured(Number::Point(ns)) }
}

fn verdict(found: &Conformance) -> Vec<Block<'static>> {
    let breaches = found.breaches();
    if breaches.is_empty() {
        let tried = DisplayValue::listed(found.things.len());
        let sentence = Sentence::pluralized("It conforms: {number} thing{s} tried, nothing wrong.", tried);
        return vec![Block::Conclusion(sentence)];
    }
    let sentence = Sentence::pluralized(
        "It does not conform: {number} thing{s} wrong. docs/adapters.md says what is asked.",
        DisplayValue::listed(breaches.len()),
    );
    let breach = |(faulty, error): (Option<&Thing>, &AdapterError)| {
        let name = faulty.map(|faulty| thing(faulty.kind, &faulty.name, faulty.payload));
        let parts = name.into_iter().chain([Sentence::name(&error.to_string())]);
        Block::Item(Sentence::joined(parts, ": "))
    };
    [Block::Conclusion(sentence)].into_iter().chain(breaches.into_iter().map(breach)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_measure::adapters::RoleAccount;
    use coretalk_model::{Flags, Histogram};
    use coretalk_report::Style;
    use coretalk_report::render::terminal;
    use std::time::Duration;

    fn pass(count: u64, ns: u64, outside: Option<f64>, events: Option<Histogram>) -> AdapterPass {
        let notes = vec![Note { name: "gc".into(), text: "0".into() }];
        let late = outside.map(|_| 0.0);
        AdapterPass {
            fork: 0,
            count,
            ns,
            events,
            events_of: Default::default(),
            roles: vec![Default::default(); 2],
            outside,
            late,
            flags: Flags::NONE,
            shares: Vec::new(),
            notes,
            placement_samples: None,
            elapsed: Duration::from_nanos(ns),
        }
    }

    fn thing(kind: OperationKind, name: &str, found: Result<ConformingPasses, AdapterError>) -> Thing {
        let payload = (kind == OperationKind::Queue).then_some(Payload::U64);
        Thing { kind, name: name.into(), payload, found }
    }

    fn screen(things: Vec<Thing>) -> String {
        let text =
            "coretalk-adapter 1\nruntime Go 1.22\nqueue channel payload=u64 capacity=any\nwait yield\n";
        let found = Conformance {
            description: Description::parse(text).unwrap(),
            start: Duration::from_millis(64),
            things,
            refusal: Ok(()),
            end: Ok(()),
        };
        let blocks = conformance("adapter", [CpuId(0), CpuId(1)], &found);
        terminal::screen(&blocks, &Style::of_width(100))
    }

    #[test]
    fn a_conforming_adapter_is_a_short_table() {
        let passes = vec![
            (Some(1), [342_000, 330_000, 360_000].map(|ns| pass(1_000, ns, Some(0.02), None)).to_vec()),
            (Some(1_000), vec![pass(1_000, 61_300, None, None)]),
        ];
        let queue = ConformingPasses { passes, operations: 1_200_000, has_settled: true };
        let mut events = Histogram::new();
        events.record_ns(110.0, 9);
        let passes = vec![(None, vec![pass(9, 2_000, Some(0.6), Some(events))])];
        let wait = ConformingPasses { passes, operations: 300, has_settled: false };
        let screen = screen(vec![
            thing(OperationKind::Queue, "channel", Ok(queue)),
            thing(OperationKind::Wait, "yield", Ok(wait)),
        ]);
        let lines: Vec<String> =
            screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in [
            "adapter · Go 1.22 · starts in 64 ms · threads on CPUs 0 and 1",
            "queue channel of u64 1 342.0 330.0 to 360.0 2 % 1 200 000",
            "1 000 61.30 61.30 to 61.30 ·",
            "wait yield 110.0 110.0 to 110.0 60 % ·",
            "It remarks: gc 0.",
            "→ It conforms: 2 things tried, nothing wrong.",
        ] {
            assert!(lines.contains(&line.to_owned()), "{line}\n{screen}");
        }
    }

    #[test]
    fn waiting_for_a_cpu_is_reported_for_any_number_of_threads() {
        for roles in [1, 2, 5] {
            let mut waited = pass(1_000, 1_000_000, None, None);
            waited.roles = vec![RoleAccount { run_delay_ns: Some(80_000), ..Default::default() }; roles];
            let passes = vec![(None, vec![waited])];
            let cost = ConformingPasses { passes, operations: 1_000, has_settled: true };
            let text = screen(vec![thing(OperationKind::Cost, "yield", Ok(cost))]);
            assert!(text.contains("In 1 of 1 pass the measured threads waited"), "{roles}: {text}");
            assert!(!text.contains("the two"), "{text}");
        }
    }

    #[test]
    fn faults_are_named_with_the_offered_thing() {
        let wrong = AdapterError::WrongCount { asked: 9, said: 8 };
        let screen = screen(vec![thing(OperationKind::Queue, "channel", Err(wrong))]);
        for part in [
            "It does not conform: 1 thing wrong.",
            "queue channel of u64: it counted 8 operations where 9 were asked for",
        ] {
            assert!(screen.contains(part), "{part}\n{screen}");
        }
    }
}
