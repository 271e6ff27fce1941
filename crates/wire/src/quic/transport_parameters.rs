//! Transport parameters (RFC 9000, section 18): what a TLS extension of type 0x39
//! holds.

use std::net::{SocketAddrV4, SocketAddrV6};

use super::header::versions;
use super::varint::{Missing, Reader};
use super::{ConnectionId, Version};
use crate::bytes::{ipv4_at, ipv6_at, u16_at, u32_at};
use crate::error::{Layer, ParseError};

pub const ORIGINAL_DESTINATION_CONNECTION_ID: u64 = 0x00;
pub const PREFERRED_ADDRESS: u64 = 0x0d;
pub const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;
pub const RETRY_SOURCE_CONNECTION_ID: u64 = 0x10;
/// RFC 9368, section 3.
pub const VERSION_INFORMATION: u64 = 0x11;

/// One parameter, as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    pub id: u64,
    pub value: &'a [u8],
}

/// The parameters, in their order; ends with the first error. One may be there twice,
/// though none should.
pub fn parameters(bytes: &[u8]) -> Parameters<'_> {
    let reader = Reader::new(bytes);
    Parameters { reader }
}

/// See [`parameters`].
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Result<Parameter<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.rest().is_empty() {
            return None;
        }
        let parameter = read(&mut self.reader).map_err(missing);
        if parameter.is_err() {
            self.reader = Reader::new(&[]);
        }
        Some(parameter)
    }
}

fn read<'a>(reader: &mut Reader<'a>) -> Result<Parameter<'a>, Missing> {
    Ok(Parameter {
        id: reader.varint()?,
        value: reader.counted()?,
    })
}

/// The parameters by which an observer follows a connection: its versions and
/// connection IDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed<'a> {
    /// What the client's first packet named; of a server.
    pub original_destination: Option<ConnectionId>,
    pub initial_source: Option<ConnectionId>,
    /// Of a server that sent a Retry.
    pub retry_source: Option<ConnectionId>,
    /// Of a server.
    pub preferred_address: Option<PreferredAddress>,
    pub version_information: Option<VersionInformation<'a>>,
}

impl<'a> Observed<'a> {
    /// # Errors
    /// [`ParseError`] if bytes are missing, or one of these parameters is not valid or
    /// there twice (RFC 9000, section 7.4).
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut observed = Self::default();
        for parameter in parameters(bytes) {
            let Parameter { id, value } = parameter?;
            match id {
                ORIGINAL_DESTINATION_CONNECTION_ID => {
                    once(
                        &mut observed.original_destination,
                        id,
                        connection_id(value)?,
                    )?;
                }
                INITIAL_SOURCE_CONNECTION_ID => {
                    once(&mut observed.initial_source, id, connection_id(value)?)?;
                }
                RETRY_SOURCE_CONNECTION_ID => {
                    once(&mut observed.retry_source, id, connection_id(value)?)?;
                }
                PREFERRED_ADDRESS => {
                    let address = PreferredAddress::new(value)?;
                    once(&mut observed.preferred_address, id, address)?;
                }
                VERSION_INFORMATION => {
                    let versions = VersionInformation::new(value)?;
                    once(&mut observed.version_information, id, versions)?;
                }
                _ => {}
            }
        }
        Ok(observed)
    }
}

fn once<T>(place: &mut Option<T>, id: u64, value: T) -> Result<(), ParseError> {
    if place.replace(value).is_some() {
        let id = usize::try_from(id).unwrap_or(usize::MAX);
        return Err(wrong("identifier", id, "there only once"));
    }
    Ok(())
}

fn connection_id(value: &[u8]) -> Result<ConnectionId, ParseError> {
    ConnectionId::new(value).map_err(|_| wrong("connection ID's length", value.len(), "0 to 20"))
}

/// Where a server would rather be (RFC 9000, section 18.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreferredAddress {
    /// 0.0.0.0:0 if there is none.
    pub v4: SocketAddrV4,
    /// `[::]:0` if there is none.
    pub v6: SocketAddrV6,
    /// Not empty; its sequence number is 1.
    pub id: ConnectionId,
    pub reset_token: [u8; 16],
}

impl PreferredAddress {
    /// From the parameter's value.
    ///
    /// # Errors
    /// [`ParseError`] if it is not as long as it says, or the connection ID has not 1
    /// to 20 bytes.
    pub fn new(value: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(value);
        let addresses: [u8; 24] = reader.array().map_err(missing)?;
        let id_bytes = reader.byte().map_err(missing)?;
        let id = connection_id(reader.bytes(id_bytes.into()).map_err(missing)?)?;
        let reset_token = reader.array().map_err(missing)?;
        if id.is_empty() {
            return Err(wrong("connection ID's length", 0, "1 to 20"));
        }
        if !reader.rest().is_empty() {
            let surplus = reader.rest().len();
            return Err(wrong("surplus of a preferred address", surplus, "0"));
        }
        Ok(Self {
            v4: SocketAddrV4::new(ipv4_at(&addresses, 0), u16_at(&addresses, 4)),
            v6: SocketAddrV6::new(ipv6_at(&addresses, 6), u16_at(&addresses, 22), 0, 0),
            id,
            reset_token,
        })
    }
}

/// Which version is used, and which could be (RFC 9368, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionInformation<'a> {
    value: &'a [u8],
}

impl<'a> VersionInformation<'a> {
    /// From the parameter's value.
    ///
    /// # Errors
    /// [`ParseError::Field`] if it is no list of one whole version or more, or one of
    /// them is 0.
    pub fn new(value: &'a [u8]) -> Result<Self, ParseError> {
        if value.is_empty() || !value.len().is_multiple_of(4) {
            let wanted = "a multiple of 4 bytes, above 0";
            return Err(wrong("length of the versions", value.len(), wanted));
        }
        if versions(value).any(|version| version.number() == 0) {
            return Err(wrong("version", 0, "above 0"));
        }
        Ok(Self { value })
    }

    pub fn chosen(&self) -> Version {
        u32_at(self.value, 0).into()
    }

    /// Of a client those that are compatible, the best first; of a server all.
    pub fn available(&self) -> impl Iterator<Item = Version> + use<'a> {
        versions(&self.value[4..])
    }
}

fn missing(missing: Missing) -> ParseError {
    missing.of(Layer::QuicTransportParameter)
}

fn wrong(field: &'static str, found: usize, wanted: &'static str) -> ParseError {
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    ParseError::field(Layer::QuicTransportParameter, field, found, wanted)
}
