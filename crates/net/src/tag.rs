//! Names that no other process and no other part of this one uses.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// The longest name of an interface, bytes: `IFNAMSIZ` less its final zero.
pub const INTERFACE_NAME_BYTES_MAX: usize = 15;

/// The longest part that a caller may add to an interface's name, bytes.
const ROLE_BYTES_MAX: usize = 5;

const PROCESS_LETTERS: usize = 5;
const COUNT_LETTERS: usize = 3;

/// Distinguishes what one owner makes from what every other makes: five letters for
/// the process, three for a counter, base 36.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    process: u32,
    count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{role}' cannot be part of a name: use 1 to {max} lower-case letters, digits or '-'")]
pub struct TagError {
    role: String,
    max: usize,
}

impl Tag {
    /// A tag that this process has not used before; after 46,656 they repeat.
    pub fn fresh() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self {
            process: std::process::id(),
            count: COUNT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The number of the process whose tag a text is.
    pub(crate) fn process_in(text: &str) -> Option<i32> {
        let is_one =
            text.len() == PROCESS_LETTERS + COUNT_LETTERS && text.bytes().all(is_of_a_name);
        let process = text.get(..PROCESS_LETTERS).filter(|_| is_one)?;
        i32::from_str_radix(process, 36).ok()
    }

    /// `lockgate-<tag>-<role>`: the name of a namespace, a container, a control
    /// group.
    ///
    /// # Errors
    /// [`TagError`] for a role of other than 1 to 24 letters, digits or `-`.
    pub fn name(&self, role: &str) -> Result<String, TagError> {
        Ok(format!("lockgate-{self}-{}", checked(role, 24)?))
    }

    /// `lg<tag><role>`: the name of an interface, unique in the host, so that the
    /// kernel's threads named after it can be distinguished.
    ///
    /// # Errors
    /// [`TagError`] for a role of other than 1 to 5 letters, digits or `-`.
    pub fn interface(&self, role: &str) -> Result<String, TagError> {
        Ok(format!("lg{self}{}", checked(role, ROLE_BYTES_MAX)?))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The kernel's largest process number, 2^22, has five digits.
        text.write_str(&base_36(self.process, PROCESS_LETTERS))?;
        text.write_str(&base_36(self.count, COUNT_LETTERS))
    }
}

fn base_36(mut value: u32, digits: usize) -> String {
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(value % 36) as usize];
        value /= 36;
    }
    text.into_iter().map(char::from).collect()
}

fn checked(role: &str, max: usize) -> Result<&str, TagError> {
    if (1..=max).contains(&role.len()) && role.bytes().all(is_of_a_name) {
        Ok(role)
    } else {
        Err(TagError {
            role: role.to_owned(),
            max,
        })
    }
}

pub(crate) fn is_of_a_name(letter: u8) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_differ() {
        let (one, other) = (Tag::fresh(), Tag::fresh());
        let name = one.interface("v1234").unwrap();
        assert_eq!(name.len(), INTERFACE_NAME_BYTES_MAX);
        assert_ne!(name, other.interface("v1234").unwrap());
        assert!(one.name("dut").unwrap().starts_with("lockgate-"));
    }

    #[test]
    fn a_tag_names_its_process() {
        let own = std::process::id().cast_signed();
        assert_eq!(Tag::process_in(&Tag::fresh().to_string()), Some(own));
        for text in ["dead", "test-123", "ABCDEFGH", "a.b.c.d.", ""] {
            assert_eq!(Tag::process_in(text), None, "{text}");
        }
    }

    #[test]
    fn the_largest_process_number_is_told_from_others() {
        assert_eq!(base_36(1 << 22, 5), "2hwcg");
        assert_eq!(base_36(46_656 + 35, 3), "00z");
    }

    #[test]
    fn what_is_no_part_of_a_name_is_refused() {
        for role in ["", "toolong", "a/b", "A", "a b"] {
            assert!(Tag::fresh().interface(role).is_err(), "{role}");
        }
        assert!(Tag::fresh().name("../../etc").is_err());
    }
}
