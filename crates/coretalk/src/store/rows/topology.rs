//! The rows of `cpus` and `domains`.

use super::{conversion, named};
use coretalk_model::{CoreClass, CpuId, CpuSet, Domain, Level, Topology};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Writes what the machine reported of its structure.
pub fn write_topology(db: &Connection, topology: &Topology) -> rusqlite::Result<()> {
    let mut insert = db.prepare("INSERT INTO cpus (cpu, class_rank, class) VALUES (?1, ?2, ?3)")?;
    for cpu in topology.cpus().iter() {
        let class = topology.class_of(cpu);
        insert.execute((cpu.0, class.map(|class| class.rank), class.map(|class| &class.name)))?;
    }
    let mut insert = db.prepare("INSERT INTO domains (level, cpus, os_id) VALUES (?1, ?2, ?3)")?;
    for domain in topology.domains() {
        insert.execute((domain.level.name(), domain.cpus.to_string(), domain.os_id))?;
    }
    Ok(())
}

/// Reads what the machine reported of its structure.
pub fn read_topology(db: &Connection) -> rusqlite::Result<Topology> {
    let mut cpus = CpuSet::new();
    let mut classes = BTreeMap::new();
    let mut select = db.prepare("SELECT cpu, class_rank, class FROM cpus ORDER BY cpu")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let id: u32 = row.get(0)?;
        if id > coretalk_model::cpu::HIGHEST_CPU {
            return Err(conversion(0, format!("CPU {id} is beyond every known machine")));
        }
        let cpu = CpuId(id);
        cpus.insert(cpu);
        if let (Some(rank), Some(name)) = (row.get(1)?, row.get(2)?) {
            classes.insert(cpu, CoreClass { rank, name });
        }
    }
    let mut select = db.prepare("SELECT level, cpus, os_id FROM domains ORDER BY domain")?;
    let domains = select.query_map([], |row| {
        let (level, cpus): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(Domain {
            level: named(&Level::ALL, Level::name, &level)?,
            cpus: cpus.parse().map_err(|error| conversion(1, error))?,
            os_id: row.get(2)?,
        })
    })?;
    let domains = domains.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(Topology::new(cpus, domains, classes))
}
