//! Lists of adapters: the built-in list and the user's list.

use crate::exit::Failure;
use coretalk_measure::adapters::catalogue::{AdapterOrigin, Catalogue};
use coretalk_measure::adapters::sources;
use etcetera::BaseStrategy;
use std::io;
use std::path::{Path, PathBuf};

/// File name of the user's list in the configuration folder.
const LIST: &str = "adapters.toml";

/// Known adapters and their folders.
#[derive(Debug, Clone)]
pub struct AdapterSettings {
    /// All adapters.
    pub catalogue: Catalogue,
    /// Folder of the user's list; may be missing.
    pub users: PathBuf,
    /// Folder for built adapters.
    pub cache: PathBuf,
}

/// Reads both lists. Fails if the user's list cannot be read, or if this user has no home folder.
pub fn settings() -> Result<AdapterSettings, Failure> {
    let places = etcetera::choose_base_strategy().map_err(|_| {
        Failure::Environment(
            "this user has no home folder; set XDG_CONFIG_HOME and XDG_CACHE_HOME to folders for lists and built adapters"
                .into(),
        )
    })?;
    let (users, cache) =
        (places.config_dir().join("coretalk"), places.cache_dir().join("coretalk").join("adapters"));
    let mut catalogue = Catalogue::parse(sources::LIST, AdapterOrigin::Ours)
        .map_err(|error| Failure::Internal(format!("failed to {error}")))?;
    if let Some(list) = read_user_list(&users.join(LIST))? {
        let path = users.join(LIST);
        let failed = |error| Failure::Input(format!("{}: failed to {error}", path.display()));
        catalogue.add(Catalogue::parse(&list, AdapterOrigin::Users).map_err(failed)?).map_err(failed)?;
    }
    Ok(AdapterSettings { catalogue, users, cache })
}

fn read_user_list(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Input(format!("{}: failed to read it: {error}", path.display()))),
    }
}
