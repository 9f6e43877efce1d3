//! [`Snippet`]: a placement in the syntax of programs that apply it.

use coretalk_model::{CpuId, CpuSet};

/// A placement in the syntax of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// Stable name of the snippet.
    pub name: &'static str,
    /// Whether each thread gets its own CPU; otherwise all threads share the set of CPUs.
    pub each: bool,
    /// Text to type or to write into a file; several lines for XML.
    pub text: String,
}

/// Returns all snippets; `cpus` has one CPU per thread.
pub fn snippets(cpus: &[CpuId]) -> Vec<Snippet> {
    let set: CpuSet = cpus.iter().copied().collect();
    let joined = |separator: &str| cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(separator);
    let n = cpus.len();
    let places: Vec<String> = cpus.iter().map(|cpu| format!("{{{cpu}}}")).collect();
    let pin = |(vcpu, cpu): (usize, &CpuId)| format!("  <vcpupin vcpu='{vcpu}' cpuset='{cpu}'/>\n");
    let pins: String = cpus.iter().enumerate().map(pin).collect();
    let all = |name, text| Snippet { name, each: false, text };
    let each = |name, text| Snippet { name, each: true, text };
    vec![
        all("taskset", format!("taskset -c {set} COMMAND")),
        all("systemd", format!("CPUAffinity={set}")),
        all("container", format!("docker run --cpuset-cpus={set} IMAGE")),
        each(
            "openmp",
            format!("OMP_NUM_THREADS={n} OMP_PROC_BIND=close OMP_PLACES='{}' COMMAND", places.join(",")),
        ),
        each("gomp", format!("OMP_NUM_THREADS={n} GOMP_CPU_AFFINITY='{}' COMMAND", joined(" "))),
        each("slurm", format!("srun --ntasks={n} --cpu-bind=map_cpu:{} COMMAND", joined(","))),
        each("libvirt", format!("<vcpu placement='static'>{n}</vcpu>\n<cputune>\n{pins}</cputune>")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_sets_use_list_syntax_and_orders_are_kept() {
        let found = snippets(&[8, 0, 1].map(CpuId));
        let text = |name: &str| &found.iter().find(|snippet| snippet.name == name).unwrap().text;
        assert_eq!(text("taskset"), "taskset -c 0,1,8 COMMAND");
        assert_eq!(text("systemd"), "CPUAffinity=0,1,8");
        assert_eq!(text("container"), "docker run --cpuset-cpus=0,1,8 IMAGE");
        assert_eq!(text("openmp"), "OMP_NUM_THREADS=3 OMP_PROC_BIND=close OMP_PLACES='{8},{0},{1}' COMMAND");
        assert_eq!(text("gomp"), "OMP_NUM_THREADS=3 GOMP_CPU_AFFINITY='8 0 1' COMMAND");
        assert_eq!(text("slurm"), "srun --ntasks=3 --cpu-bind=map_cpu:8,0,1 COMMAND");
        assert!(text("libvirt").contains("\n  <vcpupin vcpu='0' cpuset='8'/>\n"), "{}", text("libvirt"));
    }
}
