# Short names for what CONTRIBUTING.md describes; `just` lists them.

default:
    @just --list

# What the README promises
test:
    cargo test --workspace

# What takes seconds, before each commit
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test -p coretalk --test integration tidy

# The core, and the deep checks that are due
ci:
    .ci/run

# The core, and every deep check
full:
    .ci/run --full

# Deep checks by name; `just deep --list` says which are due
deep *names:
    .ci/deep.py {{names}}

# Accept changed screens, documents, help texts and README output
bless:
    INSTA_UPDATE=always UPDATE_SCHEMA=1 UPDATE_README=1 cargo test --workspace

# How often intervals hold the truth: 10,000 cells per scenario, trials over 200 seeds
acceptance:
    CORETALK_TEST_ACCEPTANCE=1 cargo test --workspace --test coverage --test inference -- --nocapture
    cargo test --workspace --test simulated -- --ignored --nocapture coverage::

# Virtual machines: a choice in six minutes; --all everything, which writes docs/laboratory.md
lab *words:
    lab/run {{words}}

# What is released: static tarballs, wheels, Debian packages, checksums; --twice compares every byte of two builds
dist *words:
    dist/build {{words}}
