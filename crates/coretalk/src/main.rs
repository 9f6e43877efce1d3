//! coretalk: measures how fast the CPUs of a machine communicate.

use coretalk::{commands, exit};

fn main() -> std::process::ExitCode {
    exit::end_on_panic();
    commands::run(std::env::args_os()).into()
}
