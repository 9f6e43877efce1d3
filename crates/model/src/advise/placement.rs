//! [`Assignment`]: threads on CPUs, with what it costs and what a change of it would.

use super::{CpuDistances, Graph};

/// No thread, or no CPU.
pub(super) const NONE: u32 = u32::MAX;

/// Threads on CPUs by position, both ways.
#[derive(Debug, Clone)]
pub(super) struct Assignment<'a> {
    pub graph: &'a Graph,
    pub distances: &'a CpuDistances,
    /// By thread.
    pub cpu_of: Vec<u32>,
    /// By CPU; `NONE` where it is free.
    pub thread_on: Vec<u32>,
}

impl<'a> Assignment<'a> {
    pub fn new(graph: &'a Graph, distances: &'a CpuDistances, cpu_of: Vec<u32>) -> Assignment<'a> {
        let mut thread_on = vec![NONE; distances.len()];
        for (thread, &cpu) in cpu_of.iter().enumerate() {
            thread_on[cpu as usize] = thread as u32;
        }
        Assignment { graph, distances, cpu_of, thread_on }
    }

    /// Σ weight × ns over all pairs that talk.
    pub fn cost(&self) -> f64 {
        self.graph
            .edges()
            .map(|(a, b, weight)| {
                weight * self.distances.ns(self.cpu_of[a] as usize, self.cpu_of[b] as usize)
            })
            .sum()
    }

    /// What a thread's talk would cost on a CPU, leaving out a thread that it may change places with.
    fn cost_of(&self, thread: usize, cpu: usize, but: u32) -> f64 {
        self.graph
            .neighbours(thread)
            .iter()
            .filter(|(other, _)| *other != but)
            .map(|&(other, weight)| weight * self.distances.ns(cpu, self.cpu_of[other as usize] as usize))
            .sum()
    }

    /// By how much the cost falls if a thread moves to a CPU, whose thread, if any, takes its place. Two that talk keep
    /// their distance.
    pub fn gain(&self, thread: usize, to: usize) -> f64 {
        let from = self.cpu_of[thread] as usize;
        let other = self.thread_on[to];
        let mut gain = self.cost_of(thread, from, other) - self.cost_of(thread, to, other);
        if other != NONE {
            let me = thread as u32;
            gain += self.cost_of(other as usize, to, me) - self.cost_of(other as usize, from, me);
        }
        gain
    }

    pub fn exchange(&mut self, thread: usize, to: usize) {
        let from = self.cpu_of[thread] as usize;
        let other = self.thread_on[to];
        self.cpu_of[thread] = to as u32;
        self.thread_on[to] = thread as u32;
        self.thread_on[from] = other;
        if other != NONE {
            self.cpu_of[other as usize] = from as u32;
        }
    }
}
