//! The rows of `cpus`, `domains` and `beside`.

use super::{conversion, named, read_keys, write_keys};
use coretalk_model::topology::{Beside, MemoryNode, Same};
use coretalk_model::{CoreClass, CpuId, CpuSet, Domain, Level, Topology};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Both are there, or neither: files older than schema 4 do not say.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct BesideRow {
    same: Option<BTreeMap<String, String>>,
    memory_nodes: Option<Vec<MemoryRow>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct MemoryRow {
    node: u32,
    memory_bytes: Option<u64>,
    /// From the node of the first number.
    distances: Vec<(u32, u32)>,
}

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
    let Some(beside) = topology.beside() else { return Ok(()) };
    let same = beside.same.iter().map(|(level, same)| (level.name().to_owned(), same.name().to_owned()));
    let memory = beside.memory_nodes.iter().cloned();
    let memory = memory.map(|MemoryNode { number: node, memory_bytes, distances }| MemoryRow {
        node,
        memory_bytes,
        distances,
    });
    let row = BesideRow { same: Some(same.collect()), memory_nodes: Some(memory.collect()) };
    write_keys(db, "beside", &row)
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
            return Err(conversion(0, format!("CPU {id} is larger than on any known machine")));
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
    Ok(Topology::new(cpus, domains, classes).with(read_beside(db)?))
}

fn read_beside(db: &Connection) -> rusqlite::Result<Option<Beside>> {
    let BesideRow { same: Some(same), memory_nodes: Some(memory) } = read_keys(db, "beside")? else {
        return Ok(None);
    };
    let same = same.into_iter().map(|(level, same)| {
        let known = Same::named(&same).ok_or_else(|| conversion(1, format!("`{same}` is not a level")))?;
        Ok((named(&Level::ALL, Level::name, &level)?, known))
    });
    let node =
        |MemoryRow { node: number, memory_bytes, distances }| MemoryNode { number, memory_bytes, distances };
    Ok(Some(Beside {
        same: same.collect::<rusqlite::Result<_>>()?,
        memory_nodes: memory.into_iter().map(node).collect(),
    }))
}
