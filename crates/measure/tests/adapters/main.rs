//! Adapters on this machine: conforming ones are accepted, and each misbehaviour is named and leaves nothing behind.
//! Times do not matter, except that limits are met.
// Without the usual harness: this program is also the adapter, and adapters print only their protocol.
#![cfg_attr(not(target_os = "linux"), allow(unused, reason = "threads are bound as Linux does it"))]
#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

#[cfg(target_os = "linux")]
mod builder;
#[cfg(target_os = "linux")]
mod double;
#[cfg(target_os = "linux")]
mod faults;

fn main() {
    #[cfg(target_os = "linux")]
    {
        let words: Vec<String> = std::env::args().collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
            ["double", fault, word] => double::main(fault, word),
            _ => faults::run(&words[1..]),
        }
    }
}
