//! Options of IPv4 (RFC 791, section 3.1).

use crate::error::{EmitError, Layer, ParseError, require};

/// The most bytes of options that a header of 60 bytes has.
pub const OPTIONS_BYTES_MAX: usize = 40;

/// One option: its kind, and what follows kind and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderOption<'a> {
    pub kind: u8,
    pub data: &'a [u8],
}

impl HeaderOption<'_> {
    pub const END: u8 = 0;
    pub const NO_OPERATION: u8 = 1;
    pub const TIMESTAMP: u8 = 68;
}

/// The options of a header; ends with the first error or the end of the list.
#[derive(Clone, Debug)]
pub struct OptionsIter<'a> {
    rest: &'a [u8],
}

impl<'a> OptionsIter<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    fn read(&self) -> Result<(HeaderOption<'a>, &'a [u8]), ParseError> {
        let (kind, rest) = (self.rest[0], &self.rest[1..]);
        if kind == HeaderOption::NO_OPERATION {
            return Ok((HeaderOption { kind, data: &[] }, rest));
        }
        require(Layer::Ipv4Option, 2, self.rest.len())?;
        let length = usize::from(rest[0]);
        if length < 2 {
            return Err(ParseError::field(
                Layer::Ipv4Option,
                "length",
                rest[0],
                "2 or more",
            ));
        }
        require(Layer::Ipv4Option, length, self.rest.len())?;
        let data = &self.rest[2..length];
        Ok((HeaderOption { kind, data }, &self.rest[length..]))
    }
}

impl<'a> Iterator for OptionsIter<'a> {
    type Item = Result<HeaderOption<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.rest[0] == HeaderOption::END {
            return None;
        }
        Some(match self.read() {
            Ok((option, rest)) => {
                self.rest = rest;
                Ok(option)
            }
            Err(error) => {
                self.rest = &[];
                Err(error)
            }
        })
    }
}

/// The bytes of all options of a header, padded to whole words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Options {
    bytes: [u8; OPTIONS_BYTES_MAX],
    length: usize,
}

impl Options {
    pub const NONE: Self = Self {
        bytes: [0; OPTIONS_BYTES_MAX],
        length: 0,
    };

    /// These bytes, well-formed or not: routers judge their content. Ends of the list
    /// fill the last word.
    ///
    /// # Errors
    /// [`EmitError::Long`] above 40 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, EmitError> {
        if bytes.len() > OPTIONS_BYTES_MAX {
            return Err(EmitError::Long {
                layer: Layer::Ipv4Option,
                found_bytes: bytes.len(),
                limit_bytes: OPTIONS_BYTES_MAX,
            });
        }
        let mut options = Self::NONE;
        options.bytes[..bytes.len()].copy_from_slice(bytes);
        options.length = bytes.len().next_multiple_of(4);
        Ok(options)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Options({:02x?})", self.as_bytes())
    }
}
