//! The environment and findings of a simulated machine. They are plausible, and marked as simulated.

use super::spec::{Spec, Stall, StallEvidence};
use crate::machine::BUSY_SHARE;
use crate::pricing::Arch;
use coretalk_model::environment::DISTURBED_SHARE;
use coretalk_model::selection::CpuUse;
use coretalk_model::{ClockFacts, CpuId, CpuSet, DoctorFinding, Environment, Topology, Verdict};

pub fn environment(spec: &Spec) -> Environment {
    let step_ns = f64::from(spec.counter.step_ticks) * 1e9 / spec.counter.hz;
    Environment {
        simulated: Some(spec.name.clone()),
        cpu_model: Some(Environment::cpu_model_of(&spec.name)),
        arch: Some(arch(spec.arch).to_owned()),
        hypervisor: spec.hypervisor.clone(),
        bare_metal: Some(spec.hypervisor.is_none()),
        platform_evidence: Some("the scenario".to_owned()),
        others_share: Some(spec.failures.others),
        isolated: spec.allowance.as_ref().map_or_else(CpuSet::new, |allowed| allowed.isolated.set.clone()),
        page_bytes: Some(2 << 20),
        clock: ClockFacts {
            source: "simulated".to_owned(),
            hz: spec.counter.hz,
            hz_error_ppm: Some(0.0),
            cost_ns: Some(spec.counter.cost_ns),
            step_ns: Some(step_ns),
            invariant: Some(true),
            kernel_source: None,
            hint_ns: Some(spec.costs.hint_ns),
            hint_cycles: Some(spec.costs.hint_ns * spec.core_clock.ghz),
        },
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Environment::default()
    }
}

/// Use of the CPUs before a run by other programs, and by the stalls that the system counts.
pub fn use_of_cpus(spec: &Spec, cpus: &CpuSet) -> CpuUse {
    let others = if spec.failures.busy { 1.0 } else { spec.failures.others };
    let counted = |stall: &&Stall| {
        stall.from_ms.is_none() && matches!(stall.seen_as, StallEvidence::Switch | StallEvidence::Steal)
    };
    let share = |cpu: CpuId| {
        let concerns = |stall: &&Stall| stall.cpus.as_ref().is_none_or(|affected| affected.contains(cpu));
        let stalls = spec.stalls.iter().filter(counted).filter(concerns);
        let stopped: f64 = stalls.map(|stall| stall.per_second * (stall.us[0] + stall.us[1]) / 2e6).sum();
        (others + stopped).min(1.0)
    };
    cpus.iter().map(|cpu| (cpu, share(cpu))).collect()
}

pub fn findings(spec: &Spec, reported: &Topology) -> Vec<DoctorFinding> {
    let cpus = reported.cpus();
    let mut findings = vec![finding(
        "simulated",
        Verdict::Warn,
        format!(
            "the machine is simulated from the scenario `{}` ({} CPUs): its numbers say nothing about this computer",
            spec.name,
            cpus.len()
        ),
    )];
    findings.push(match &spec.hypervisor {
        Some(name) => finding(
            "hypervisor",
            Verdict::Warn,
            format!("guest of {name}: the host may move its CPUs, and the reported topology may be wrong"),
        ),
        None => finding("hypervisor", Verdict::Ok, "no hypervisor in this scenario".to_owned()),
    });
    let step_ns = f64::from(spec.counter.step_ticks) * 1e9 / spec.counter.hz;
    findings.push(if step_ns > 5.0 {
        finding(
            "clock-step",
            Verdict::Warn,
            format!("the clock advances in steps of {step_ns:.1} ns: batches must be longer"),
        )
    } else {
        finding("clock-step", Verdict::Ok, format!("the clock advances in steps of {step_ns:.2} ns"))
    });
    let others = spec.failures.others;
    findings.push(if others > BUSY_SHARE {
        let text = format!("other programs take {:.0} % of the CPUs: values may be too high", 100.0 * others);
        finding("load", if others > DISTURBED_SHARE { Verdict::Fail } else { Verdict::Warn }, text)
    } else if spec.failures.busy {
        finding(
            "load",
            Verdict::Warn,
            "something else keeps the machine busy: values may be too high".to_owned(),
        )
    } else {
        finding("load", Verdict::Ok, "nothing else runs".to_owned())
    });
    if let Some(sibling) = spec.noise.sibling_share.gt(&0.0).then(|| cpus.first().unwrap_or(CpuId(0))) {
        findings.push(finding(
            "neighbours",
            Verdict::Warn,
            format!("SMT siblings, such as that of CPU {sibling}, are sometimes busy with other work"),
        ));
    }
    findings
}

fn arch(arch: Arch) -> &'static str {
    match arch {
        Arch::X86 => "x86_64",
        Arch::Arm => "aarch64",
    }
}

fn finding(id: &str, verdict: Verdict, text: String) -> DoctorFinding {
    DoctorFinding { id: id.to_owned(), verdict, text, fix: None }
}
