//! Netlink attributes (`struct nlattr`), for the messages that
//! `netlink-packet-route` does not know: ethtool's, and the kernel's reasons.

/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;
/// The bits of a type that are flags.
const FLAGS: u16 = 0xc000;
const HEADER_BYTES: usize = 4;

/// Attributes one after the other, each padded to four bytes.
#[derive(Debug, Default)]
pub(super) struct Attributes(Vec<u8>);

impl Attributes {
    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(HEADER_BYTES + value.len()).expect("values are short");
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub fn text(self, kind: u16, value: &str) -> Self {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    pub fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// Adds a flag, which is true where it is present.
    pub fn flag(self, kind: u16, value: bool) -> Self {
        if value { self.bytes(kind, &[]) } else { self }
    }

    pub fn nested(self, kind: u16, value: &Self) -> Self {
        self.bytes(kind | NESTED, &value.0)
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Types and values of attributes, until their end or the first that is
/// malformed.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (&[low, high], rest) = bytes.split_first_chunk()?;
        let (&kind, _) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let value = bytes.get(HEADER_BYTES..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((u16::from_ne_bytes(kind) & !FLAGS, value))
    })
}

pub(super) fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(found, value)| (found == kind).then_some(value))
}

pub(super) fn text(value: &[u8]) -> String {
    let end = value
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let inner = Attributes::default()
            .flag(1, true)
            .flag(2, false)
            .number(3, 7);
        let bytes = Attributes::default()
            .text(4, "lockgate")
            .nested(5, &inner)
            .into_bytes();
        assert_eq!(find(&bytes, 4).map(text).as_deref(), Some("lockgate"));
        let inside = find(&bytes, 5).unwrap();
        assert_eq!(find(inside, 1), Some(&[][..]));
        assert_eq!(find(inside, 2), None);
        assert_eq!(find(inside, 3), Some(&7_u32.to_ne_bytes()[..]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let read: usize = attributes(&bytes).map(|(_, value)| value.len() + HEADER_BYTES).sum();
            prop_assert!(read <= bytes.len());
        }
    }
}
