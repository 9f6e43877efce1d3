//! [`AdapterBuilder`]: checks the requirements of adapters, and builds them in a cache directory.

use super::Adapter;
use super::catalogue::{AdapterOrigin, AdapterSpec, Places};
use super::sources;
use crate::host::command::watchdog::Watchdog;
use crate::host::command::{Finished, Launch, Printed, RunFailure, run};
use crate::stop::Stop;
use coretalk_model::CpuSet;
use coretalk_model::stats::Key;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

/// Time limit for printing a version. .NET takes long, because it writes files on its first start.
pub const VERSION_LIMIT: Duration = Duration::from_secs(10);
const BUILD_LIMIT: Duration = Duration::from_secs(300);
const MAX_OUTPUT: usize = 400;

/// Environment for preparing adapters.
#[derive(Debug, Clone, Copy)]
pub struct AdapterBuilder<'a> {
    /// Build folder; created if missing.
    pub cache: &'a Path,
    /// Folder of the user's list.
    pub users: Option<&'a Path>,
    /// CPUs for the adapters and their builds.
    pub allowed: &'a CpuSet,
    /// Kills leftover build processes if this process is killed.
    pub watchdog: Option<&'a Watchdog>,
    /// Time limit for printing the version, and for printing the description. [`VERSION_LIMIT`] and
    /// [`START`](super::process::START) apply if they are shorter.
    pub patience: Duration,
}

/// An adapter that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The adapter.
    pub adapter: Adapter,
    /// Version of the compiler or interpreter; `None` if no command prints it.
    pub version: Option<String>,
}

/// Why an adapter cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum Unready {
    /// Required programs are missing.
    #[error("not installed: {}", .0.join(", "))]
    NotInstalled(Vec<String>),
    /// A command failed.
    #[error("`{command}` {reason}{}", complaint(.said))]
    Command {
        /// The words of the command.
        command: String,
        /// How the command ended.
        reason: String,
        /// Beginning and end of the output.
        said: String,
    },
    /// A file operation failed.
    #[error("failed to {what} {}: {source}", .path.display())]
    File {
        /// The operation: `read`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

impl AdapterBuilder<'_> {
    /// Prepares an adapter. Calls `building` before a build.
    pub fn ready(
        &self,
        spec: &AdapterSpec,
        building: &mut dyn FnMut(),
        stop: &Stop,
    ) -> Result<Ready, Unready> {
        let missing: Vec<String> = spec.needs.iter().filter(|name| find(name).is_none()).cloned().collect();
        if !missing.is_empty() {
            return Err(Unready::NotInstalled(missing));
        }
        let version = self.version(spec, stop)?;
        let files = self.files(spec)?;
        let home = self.cache.join(format!("{}-{:016x}", spec.name, key(spec, &files, version.as_deref())));
        if !home.is_dir() && (spec.origin == AdapterOrigin::Ours || !spec.build.is_empty()) {
            if !spec.build.is_empty() {
                building();
            }
            self.build(spec, &files, &home, stop)?;
        }
        Ok(Ready { adapter: self.with_places(spec, &home, |places| spec.adapter(places)), version })
    }

    fn version(&self, spec: &AdapterSpec, stop: &Stop) -> Result<Option<String>, Unready> {
        if spec.version.is_empty() {
            return Ok(None);
        }
        let command = self.with_places(spec, self.cache, |places| AdapterSpec::filled(&spec.version, places));
        let limit = VERSION_LIMIT.min(self.patience);
        let finished = self.run_command(spec, &command, self.cache, limit, stop)?;
        // Old versions of Java print the version to standard error.
        let outputs = [finished.stdout.cut(MAX_OUTPUT), finished.stderr.cut(MAX_OUTPUT)];
        Ok(outputs
            .iter()
            .flat_map(|output| output.lines())
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_owned))
    }

    fn files(&self, spec: &AdapterSpec) -> Result<Vec<(String, Vec<u8>)>, Unready> {
        let file = |name: &String| {
            let bytes = match spec.origin {
                AdapterOrigin::Ours => {
                    let known = sources::FILES.iter().find(|(known, _)| known == name);
                    known
                        .map(|(_, text)| text.as_bytes().to_vec())
                        .ok_or(io::Error::from(io::ErrorKind::NotFound))
                }
                AdapterOrigin::Users | AdapterOrigin::Typed => fs::read(self.users_folder().join(name)),
            };
            let path = self.users_folder().join(name);
            Ok((name.clone(), bytes.map_err(|source| Unready::File { what: "read", path, source })?))
        };
        spec.files.iter().map(file).collect()
    }

    fn users_folder(&self) -> &Path {
        self.users.unwrap_or(Path::new("."))
    }

    /// Builds in a temporary folder and renames the folder on success, so an aborted build is never used.
    fn build(
        &self,
        spec: &AdapterSpec,
        files: &[(String, Vec<u8>)],
        home: &Path,
        stop: &Stop,
    ) -> Result<(), Unready> {
        let fresh = home.with_extension(format!("new-{}", std::process::id()));
        let built = self.build_in(spec, files, &fresh, stop);
        let built = built.and_then(|()| match fs::rename(&fresh, home) {
            // Another process built it first.
            Err(_) if home.is_dir() => Ok(()),
            moved => moved.map_err(|source| Unready::File { what: "make", path: home.to_owned(), source }),
        });
        let _ = fs::remove_dir_all(&fresh);
        built
    }

    fn build_in(
        &self,
        spec: &AdapterSpec,
        files: &[(String, Vec<u8>)],
        home: &Path,
        stop: &Stop,
    ) -> Result<(), Unready> {
        let write = |path: &Path, bytes: &[u8]| {
            let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
            made.map_err(|source| Unready::File { what: "write", path: path.to_owned(), source })
        };
        let out = home.join(OUT);
        fs::create_dir_all(&out).map_err(|source| Unready::File {
            what: "make",
            path: out.clone(),
            source,
        })?;
        if spec.origin == AdapterOrigin::Ours {
            for (name, bytes) in files {
                write(&home.join(SOURCE).join(name), bytes)?;
            }
        }
        for words in &spec.build {
            let command = self.with_places(spec, home, |places| AdapterSpec::filled(words, places));
            self.run_command(spec, &command, home, BUILD_LIMIT, stop)?;
        }
        Ok(())
    }

    fn with_places<R>(&self, spec: &AdapterSpec, home: &Path, use_places: impl Fn(&Places<'_>) -> R) -> R {
        let source = match spec.origin {
            AdapterOrigin::Ours => home.join(SOURCE),
            AdapterOrigin::Users | AdapterOrigin::Typed => self.users_folder().to_owned(),
        };
        let (source, out) =
            (source.to_string_lossy().into_owned(), home.join(OUT).to_string_lossy().into_owned());
        use_places(&Places { source: &source, out: &out, cpus: self.allowed.len() })
    }

    fn run_command(
        &self,
        spec: &AdapterSpec,
        words: &[String],
        home: &Path,
        limit: Duration,
        stop: &Stop,
    ) -> Result<Finished, Unready> {
        let command = words.join(" ");
        let failed =
            |reason: String, said: String| Unready::Command { command: command.clone(), reason, said };
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let Some((program, arguments)) = words.split_first() else {
            return Err(failed("is empty".to_owned(), String::new()));
        };
        let environment = self.with_places(spec, home, |places| spec.variables(places));
        let launch = Launch {
            program,
            arguments,
            environment: &environment,
            cpus: self.allowed,
            watchdog: self.watchdog,
            launcher: None,
            limit,
            lost: &|| None,
        };
        let output = |stdout: &Printed, stderr: &Printed| match stderr.cut(MAX_OUTPUT) {
            // Some compilers report errors on standard output.
            empty if empty.trim().is_empty() => stdout.cut(MAX_OUTPUT).trim().to_owned(),
            complaint => complaint.trim().to_owned(),
        };
        match run(&launch, stop) {
            Ok(finished) if finished.status.success() => Ok(finished),
            Ok(Finished { status, stdout, stderr, .. }) => {
                let reason = match (status.code(), status.signal()) {
                    (Some(code), _) => format!("ended with exit status {code}"),
                    (None, signal) => format!("ended with signal {}", signal.unwrap_or_default()),
                };
                Err(failed(reason, output(&stdout, &stderr)))
            }
            Err(RunFailure::Interrupted) => Err(Unready::Interrupted),
            Err(RunFailure::TimedOut { limit, stdout, stderr }) => {
                let reason = format!("took longer than {} s", limit.as_secs_f64());
                Err(failed(reason, output(&stdout, &stderr)))
            }
            Err(RunFailure::NotStarted { source, .. }) => {
                Err(failed(format!("could not be started: {source}"), String::new()))
            }
            Err(other) => Err(failed(format!("failed to {other}"), String::new())),
        }
    }
}

const SOURCE: &str = "source";
const OUT: &str = "out";

fn complaint(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!(": {output}") }
}

/// Hash of everything that determines a build.
fn key(spec: &AdapterSpec, files: &[(String, Vec<u8>)], version: Option<&str>) -> u64 {
    let mut text = format!("{spec:?}\n{version:?}\n").into_bytes();
    for (name, bytes) in files {
        text.extend_from_slice(format!("{name} {}\n", bytes.len()).as_bytes());
        text.extend_from_slice(bytes);
    }
    let words = text.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.fold(Key::from_words(&[text.len() as u64]), |key, word| key.with(word)).bits(0)
}

/// Finds a program in `PATH` as a shell does.
pub fn find(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    // The C library's default where `PATH` is unset.
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(is_program)
}
