//! probe
#![allow(clippy::unwrap_used, dead_code)]
#[path = "../session/vocabulary.rs"]
mod vocabulary;
use vocabulary::*;
use coretalk_measure::Scenario;
use coretalk_model::Flag;

#[test]
fn probe() {
    for name in Scenario::names() {
        if *name == "huge-1024" { continue; }
        for precision in [0.02, 0.01] {
        let t = std::time::Instant::now();
        let p = plan(builtin(name), 3, |s| s.precision = precision);
        let m = open(builtin(name), 3);
        let mut s = defaults(&m, 3);
        s.precision = precision;
        let r = measure(m, s, Default::default());
        let n = r.values().len();
        let wide = r.values().iter().filter(|v| v.1.flags.contains(Flag::WideCi)).count();
        let more = r.values().iter().filter(|v| v.1.passes > 8).count();
        let mut hw: Vec<f64> = r.values().iter().map(|v| v.1.latency_ns.relative_half_width()).collect();
        hw.sort_by(f64::total_cmp);
        let cov = r.values().iter().filter(|(pair, v)| v.latency_ns.contains(r.truth(*pair, v))).count() as f64 / n as f64;
        let by: Vec<(coretalk_model::latency::Purpose, usize)> = coretalk_model::latency::Purpose::ALL.iter().map(|&p| (p, r.kept.trials(p))).filter(|x| x.1 > 0).collect();
        println!("{name} {precision}: {:?} {:?} plan {} took {} ratio {:.3} cells {n} wide {wide} open {more} hw {:.4} cov {cov:.4} passes {} {:?} {:?} {:.1}s {}",
          r.ended, r.result.maps[0].kernel, p.machine_time, r.took, p.machine_time.secs()/r.took.secs(), hw[n/2], r.result.passes, r.relations(), by, t.elapsed().as_secs_f64(), r.result.maps[0].regime.name());
        if more < 20 {
        for (pair, v) in r.values().iter().filter(|v| v.1.passes > 8) {
            println!("   {pair:?} {:?} {:?} {}", v.latency_ns, v.flags, v.passes);
        }}
        }
    }
}
