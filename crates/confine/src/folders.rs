//! Files: Landlock, as much of it as the kernel has.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, PathBeneath, PathFd, PathFdError, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use crate::{ConfineError, Files};

/// The newest that is asked for: what an older kernel lacks is left out.
const NEWEST: ABI = ABI::V7;

/// The folders and what may be done below each; nothing else of files is allowed.
pub(crate) struct Folders(RulesetCreated);

impl Folders {
    /// A folder that is not there holds nothing.
    pub(crate) fn open(files: &Files) -> Result<Self, ConfineError> {
        let made = || -> Result<Self, RulesetError> {
            let mut rules = Ruleset::default()
                .handle_access(AccessFs::from_all(NEWEST))?
                .handle_access(AccessNet::from_all(NEWEST))?
                .scope(Scope::from_all(NEWEST))?
                .create()?;
            let all = [
                (&files.removed_in, AccessFs::RemoveFile),
                (&files.read_in, AccessFs::ReadFile),
            ];
            for (folders, access) in all {
                for folder in folders.iter().filter_map(|folder| open(folder)) {
                    rules = rules.add_rule(PathBeneath::new(folder, access))?;
                }
            }
            Ok(Self(rules))
        };
        made().map_err(|error| ConfineError::Folders(error.to_string()))
    }

    /// Says what holds, or what the kernel lacks.
    pub(crate) fn enter(self) -> Result<Result<String, String>, ConfineError> {
        let status = self.0.restrict_self();
        let status = status.map_err(|error| ConfineError::Folders(error.to_string()))?;
        Ok(match (status.ruleset, status.landlock) {
            (RulesetStatus::NotEnforced, LandlockStatus::NotImplemented) => Err(
                "files are not restricted: this kernel has no Landlock; it takes Linux 5.13 with CONFIG_SECURITY_LANDLOCK"
                    .to_owned(),
            ),
            (RulesetStatus::NotEnforced, _) => Err(
                "files are not restricted: Landlock is off; add `landlock` to the kernel's `lsm=`"
                    .to_owned(),
            ),
            (_, LandlockStatus::Available { effective_abi, .. }) => {
                Ok(format!("no files (Landlock, version {})", effective_abi as i32))
            }
            (..) => Ok("no files (Landlock)".to_owned()),
        })
    }
}

fn open(folder: &Path) -> Option<PathFd> {
    let opened: Result<PathFd, PathFdError> = PathFd::new(folder);
    opened.ok()
}
