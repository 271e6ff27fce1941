//! Arms that the program measures inside a guest: how they are asked for and
//! how their answer is read.

use std::time::Duration;

use crate::kspeed::af_alg::{AfAlg, AfAlgType, Direction};
use crate::kspeed::trial_line::TrialLine;
use crate::kspeed::userspace::{LoadMode, UserSpace};

/// The exit code that says: this host lacks it.
const MISSING: i32 = 4;

/// Why an arm in a guest gave no line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArmError {
    /// The guest lacks what the arm needs.
    #[error("{reason}")]
    NotSupported {
        /// What the program said.
        reason: String,
    },
    /// It went wrong.
    #[error("the program in the guest ended with {status}: {reason}")]
    Failed {
        /// Its exit status.
        status: i32,
        /// What it said.
        reason: String,
    },
}

/// The program's arguments that measure `arm` through AF_ALG.
#[must_use]
pub fn af_alg_arguments(arm: &AfAlg) -> Vec<String> {
    let mut arguments = vec![
        "af-alg".to_owned(),
        format!("--type={}", arm.kind.name()),
        format!("--driver={}", arm.driver),
        format!("--size={}", arm.size_bytes),
        format!("--key={}", arm.key_bytes),
        format!("--depth={}", arm.depth),
        format!("--ms={}", ms(arm.time)),
        format!("--warm-up-ms={}", ms(arm.warm_up)),
    ];
    if arm.kind != AfAlgType::Hash && arm.direction == Direction::Decrypt {
        arguments.push("--op=decrypt".to_owned());
    }
    if arm.kind == AfAlgType::Aead {
        arguments.push(format!("--aad={}", arm.aad_bytes));
        arguments.push(format!("--tag={}", arm.tag_bytes));
    }
    arguments
}

/// The program's arguments that measure `arm` in user space.
#[must_use]
pub fn user_space_arguments(arm: &UserSpace) -> Vec<String> {
    let mut arguments = vec![
        "user-space".to_owned(),
        format!("--algorithm={}", arm.algorithm),
        format!("--op={}", arm.operation),
        format!("--size={}", arm.size_bytes),
        format!("--mode={}", arm.mode.name()),
        format!("--backend={}", arm.backend),
        format!("--ms={}", ms(arm.time)),
    ];
    if arm.mode != LoadMode::Sync {
        arguments.push(format!("--depth={}", arm.depth));
    }
    arguments
}

fn ms(time: Duration) -> u128 {
    time.as_millis()
}

/// A line for the guest's shell that runs `program` with `arguments`, both
/// streams together.
#[must_use]
pub fn shell_line(program: &str, arguments: &[String]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    let quoted: Vec<_> = words.map(quote).collect();
    format!("{} 2>&1", quoted.join(" "))
}

/// One word for a POSIX shell: names of drivers have parentheses.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Reads what the program wrote before it ended with `status`.
///
/// # Errors
/// [`ArmError`] with what it said.
pub fn read_line(status: i32, output: &str) -> Result<TrialLine, ArmError> {
    let reason = || {
        let said = output.lines().rev().find(|line| !line.trim().is_empty());
        let said = said.unwrap_or("it said nothing").trim();
        said.strip_prefix("error:")
            .unwrap_or(said)
            .trim()
            .to_owned()
    };
    match status {
        0 => {}
        MISSING => return Err(ArmError::NotSupported { reason: reason() }),
        _ => {
            let reason = reason();
            return Err(ArmError::Failed { status, reason });
        }
    }
    let line = output.lines().find(|line| line.starts_with('{'));
    line.and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| ArmError::Failed {
            status,
            reason: format!("no line of JSON, but: {}", reason()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gcm() -> AfAlg {
        AfAlg {
            kind: AfAlgType::Aead,
            driver: "cryptd(generic-gcm-aesni)".to_owned(),
            direction: Direction::Decrypt,
            size_bytes: 64,
            key_bytes: 16,
            aad_bytes: 16,
            tag_bytes: 16,
            depth: 4,
            warm_up: Duration::from_millis(20),
            time: Duration::from_millis(200),
        }
    }

    #[test]
    fn a_shell_line_keeps_parentheses_and_quotes() {
        let line = shell_line("/bin/lockgate", &af_alg_arguments(&gcm()));
        assert!(line.starts_with("'/bin/lockgate' 'af-alg' '--type=aead'"));
        assert!(line.contains("'--driver=cryptd(generic-gcm-aesni)'"));
        assert!(line.contains("'--op=decrypt' '--aad=16' '--tag=16' 2>&1"));
        assert_eq!(quote("it's"), r"'it'\''s'");
    }

    #[test]
    fn what_the_program_said_is_kept() {
        assert_eq!(
            read_line(4, "warning: x\nerror: no AF_ALG socket\n"),
            Err(ArmError::NotSupported {
                reason: "no AF_ALG socket".to_owned()
            })
        );
        let failed = read_line(127, "sh: lockgate: not found").unwrap_err();
        assert!(failed.to_string().contains("127") && failed.to_string().contains("not found"));
        let nothing = read_line(0, "\n").unwrap_err();
        assert!(nothing.to_string().contains("it said nothing"));
    }
}
