use std::collections::BTreeMap;

/// Which threads communicate, and how much. Edges have no direction; weights are positive and relative to each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    neighbours: Vec<Vec<(u32, f64)>>,
    total: f64,
}

named! {
    /// A common pattern of communication.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Pattern {
        /// Thread 0 with 1, 2 with 3 and so on.
        Pairs = "pairs",
        /// Each thread with the next, the last with the first.
        Ring = "ring",
        /// Each thread with the next.
        Pipeline = "pipeline",
        /// Each thread with every other.
        AllToAll = "all-to-all",
        /// No communication.
        Independent = "independent",
    }
}

/// Maximum number of threads of a graph.
pub const MAX_THREADS: usize = 1 << 16;

/// An error in a file of edges. The message continues "failed to".
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("read {}: {problem}", .line.map_or_else(|| "the graph".to_owned(), |line| format!("line {line}")))]
pub struct GraphError {
    /// The line, counted from 1; `None` if the error concerns the whole file.
    pub line: Option<usize>,
    /// The problem and its solution.
    pub problem: String,
}

impl Graph {
    /// The graph of edges between `threads` threads. Weights of equal pairs are added; edges of weight 0 are ignored.
    ///
    /// # Panics
    /// If an edge names a thread that does not exist or connects a thread with itself. Callers have checked this.
    pub fn new(threads: usize, edges: impl IntoIterator<Item = (u32, u32, f64)>) -> Graph {
        let mut merged: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for (a, b, weight) in edges {
            assert!(a != b && (a.max(b) as usize) < threads, "edge {a}–{b} of {threads} threads");
            *merged.entry((a.min(b), a.max(b))).or_default() += weight;
        }
        let mut neighbours = vec![Vec::new(); threads];
        let mut total = 0.0;
        for ((a, b), weight) in merged.into_iter().filter(|(_, weight)| *weight > 0.0) {
            neighbours[a as usize].push((b, weight));
            neighbours[b as usize].push((a, weight));
            total += weight;
        }
        Graph { neighbours, total }
    }

    /// The graph of a common pattern with `threads` threads.
    ///
    /// ```
    /// # use coretalk_model::advise::{Graph, Pattern};
    /// assert_eq!(Graph::of_pattern(Pattern::Ring, 4).edges().count(), 4);
    /// assert_eq!(Graph::of_pattern(Pattern::Ring, 2).edges().count(), 1);
    /// ```
    pub fn of_pattern(pattern: Pattern, threads: usize) -> Graph {
        let n = threads as u32;
        let chain = (1..n).map(|thread| (thread - 1, thread, 1.0));
        let edges: Vec<(u32, u32, f64)> = match pattern {
            Pattern::Pairs => (1..n).step_by(2).map(|thread| (thread - 1, thread, 1.0)).collect(),
            Pattern::Pipeline => chain.collect(),
            Pattern::Ring if n > 2 => chain.chain([(n - 1, 0, 1.0)]).collect(),
            Pattern::Ring => chain.collect(),
            Pattern::AllToAll => (0..n).flat_map(|b| (0..b).map(move |a| (a, b, 1.0))).collect(),
            Pattern::Independent => Vec::new(),
        };
        Graph::new(threads, edges)
    }

    /// Reads lines `a b weight`. Threads are counted from 0; weights are at least 0. Blank lines and comments after `#`
    /// are ignored. Without `threads`, the number of threads follows from the edges.
    ///
    /// # Errors
    /// [`GraphError`]: no three fields, no number, a thread that does not exist or communicates with itself, a weight
    /// that is negative or infinite, or no communication at all.
    pub fn parse(text: &str, threads: Option<usize>) -> Result<Graph, GraphError> {
        let mut edges = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let at = |problem: String| GraphError { line: Some(index + 1), problem };
            let line = line.split('#').next().unwrap_or_default();
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [a, b, weight] = fields[..] else {
                if fields.is_empty() {
                    continue;
                }
                return Err(at(format!(
                    "it has {} fields; expected `a b weight`, such as `0 3 1.5`",
                    fields.len()
                )));
            };
            let thread = |text: &str| match text.parse::<u32>() {
                Ok(id) if (id as usize) < threads.unwrap_or(MAX_THREADS) => Ok(id),
                Ok(id) => Err(at(match threads {
                    Some(threads) => {
                        format!("there is no thread {id}: the {threads} threads are counted from 0")
                    }
                    None => format!("thread {id} is beyond the maximum of {MAX_THREADS} threads"),
                })),
                Err(_) => Err(at(format!("`{}` is not a thread; threads are counted from 0", excerpt(text)))),
            };
            let (a, b) = (thread(a)?, thread(b)?);
            if a == b {
                return Err(at(format!("thread {a} talks to itself; remove the line")));
            }
            let weight = match weight.parse::<f64>() {
                Ok(weight) if weight.is_finite() && weight >= 0.0 => weight,
                Ok(weight) if weight < 0.0 => {
                    return Err(at(format!(
                        "the weight {weight} is negative; write how much the two threads exchange"
                    )));
                }
                _ => {
                    return Err(at(format!(
                        "`{}` is not a weight; write a number from 0 up",
                        excerpt(weight)
                    )));
                }
            };
            edges.push((a, b, weight));
        }
        let needed = edges.iter().map(|(a, b, _)| *a.max(b) as usize + 1).max().unwrap_or(0);
        let graph = Graph::new(threads.unwrap_or(needed), edges);
        if graph.total <= 0.0 {
            let problem = "no threads talk to each other; write lines `a b weight`".to_owned();
            return Err(GraphError { line: None, problem });
        }
        Ok(graph)
    }

    /// Number of threads.
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// Whether there are no threads.
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// Sum of all weights; 0 without communication.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The threads with which a thread communicates, with the weights.
    pub fn neighbours(&self, thread: usize) -> &[(u32, f64)] {
        &self.neighbours[thread]
    }

    /// Every communicating pair once, the smaller thread first.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.neighbours.iter().enumerate().flat_map(|(a, others)| {
            others
                .iter()
                .filter(move |(b, _)| a < *b as usize)
                .map(move |&(b, weight)| (a, b as usize, weight))
        })
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_their_edges() {
        let edges = |pattern, threads| Graph::of_pattern(pattern, threads).edges().count();
        let found = Pattern::ALL.map(|pattern| [1, 2, 3, 6].map(|threads| edges(pattern, threads)));
        assert_eq!(found, [[0, 1, 1, 3], [0, 1, 3, 6], [0, 1, 2, 5], [0, 1, 3, 15], [0; 4]]);
    }

    #[test]
    fn files_of_edges_are_read_and_equal_pairs_add_up() {
        let graph = Graph::parse("# a comment\n0 1 2\n\n1 0 3.5 # again\n4 2 0\n", None).unwrap();
        assert_eq!((graph.len(), graph.edges().collect::<Vec<_>>()), (5, vec![(0, 1, 5.5)]));
        assert_eq!(Graph::parse("0 1 1", Some(9)).unwrap().len(), 9);
    }

    #[test]
    fn errors_state_their_line() {
        for (text, threads, part) in [
            ("0 1", None, "line 1: it has 2 fields"),
            ("0 1 1\n0 x 1", None, "line 2: `x` is not a thread"),
            ("0 -1 1", None, "`-1` is not a thread"),
            ("0 4 1", Some(4), "line 1: there is no thread 4: the 4 threads are counted from 0"),
            ("0 99999999 1", None, "beyond the maximum"),
            ("3 3 1", None, "thread 3 talks to itself"),
            ("0 1 -2", None, "the weight -2 is negative"),
            ("0 1 nan", None, "`nan` is not a weight"),
            ("0 1 inf", None, "`inf` is not a weight"),
            ("", None, "no threads talk"),
            ("0 1 0", None, "no threads talk"),
        ] {
            let message = Graph::parse(text, threads).unwrap_err().to_string();
            assert!(message.contains(part), "{text:?}: {message}");
        }
    }
}
