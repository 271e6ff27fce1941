use lockgate_wire::quic::transport_parameters::{
    INITIAL_SOURCE_CONNECTION_ID, ORIGINAL_DESTINATION_CONNECTION_ID, Observed, PREFERRED_ADDRESS,
    Parameter, RETRY_SOURCE_CONNECTION_ID, VERSION_INFORMATION, parameters,
};
use lockgate_wire::quic::{ConnectionId, Version, varint};
use proptest::prelude::*;

use super::{any_bytes, hex, id};

/// Of RFC 9001, A.2: the client's.
const CLIENT: &str = "0408ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f\
                      088394c8f03e51570806048000ffff";

/// Two addresses, four bytes of connection ID, a token.
const ADDRESS: &str = "c0000201 01bb 20010db8000000000000000000000001 01bc 04 0a0b0c0d \
                       000102030405060708090a0b0c0d0e0f";

fn list(all: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (id, value) in all {
        varint::append(*id, &mut bytes).expect("small");
        varint::append(value.len() as u64, &mut bytes).expect("small");
        bytes.extend(value);
    }
    bytes
}

#[test]
fn a_clients_parameters_are_those_of_the_appendix() {
    let bytes = hex(&CLIENT.replace(' ', ""));
    let all: Vec<_> = parameters(&bytes).map(|one| one.expect("whole")).collect();
    let ids: Vec<_> = all.iter().map(|one| one.id).collect();
    assert_eq!(ids, [4, 5, 7, 8, 1, 9, 15, 6]);
    assert_eq!(
        all[3],
        Parameter {
            id: 8,
            value: &[0x10]
        }
    );
    let observed = Observed::parse(&bytes).expect("valid");
    let wanted = Observed {
        initial_source: Some(id("8394c8f03e515708")),
        ..Observed::default()
    };
    assert_eq!(observed, wanted);
}

#[test]
fn a_servers_parameters_are_typed() {
    let bytes = list(&[
        (ORIGINAL_DESTINATION_CONNECTION_ID, hex("0102")),
        (INITIAL_SOURCE_CONNECTION_ID, Vec::new()),
        (RETRY_SOURCE_CONNECTION_ID, hex("03")),
        (PREFERRED_ADDRESS, hex(ADDRESS)),
        (VERSION_INFORMATION, hex("6b3343cf 6b3343cf 00000001")),
        (0x1b3, vec![7; 70]),
    ]);
    let observed = Observed::parse(&bytes).expect("valid");
    assert_eq!(observed.original_destination, Some(id("0102")));
    assert_eq!(observed.initial_source, Some(ConnectionId::EMPTY));
    assert_eq!(observed.retry_source, Some(id("03")));
    let address = observed.preferred_address.expect("there");
    assert_eq!(address.v4.to_string(), "192.0.2.1:443");
    assert_eq!(address.v6.to_string(), "[2001:db8::1]:444");
    assert_eq!((address.id, address.reset_token[15]), (id("0a0b0c0d"), 15));
    let versions = observed.version_information.expect("there");
    assert_eq!(versions.chosen(), Version::V2);
    let available: Vec<_> = versions.available().collect();
    assert_eq!(available, [Version::V2, Version::V1]);
}

#[test]
fn what_is_not_valid_is_refused() {
    let address = |from: &str, to: &str| hex(&ADDRESS.replace(from, to));
    let long = [&hex(ADDRESS)[..24], &[21], &[0; 37]].concat();
    let cases = [
        (
            ORIGINAL_DESTINATION_CONNECTION_ID,
            vec![0; 21],
            "connection ID's length is 21, not 0 to 20",
        ),
        (
            PREFERRED_ADDRESS,
            address("04 0a0b0c0d", "00"),
            "connection ID's length is 0, not 1 to 20",
        ),
        (
            PREFERRED_ADDRESS,
            long,
            "connection ID's length is 21, not 0 to 20",
        ),
        (
            PREFERRED_ADDRESS,
            address("0e0f", "0e0f00"),
            "surplus of a preferred address is 1, not 0",
        ),
        (
            VERSION_INFORMATION,
            vec![],
            "length of the versions is 0, not a multiple of 4 bytes, above 0",
        ),
        (
            VERSION_INFORMATION,
            vec![1; 5],
            "length of the versions is 5, not a multiple of 4 bytes, above 0",
        ),
        (VERSION_INFORMATION, vec![0; 4], "version is 0, not above 0"),
    ];
    for (id, value, message) in cases {
        let error = Observed::parse(&list(&[(id, value)]))
            .map(|_| ())
            .expect_err(message);
        assert_eq!(
            error.to_string(),
            format!("QUIC transport parameter: {message}")
        );
    }
    let twice = list(&[
        (INITIAL_SOURCE_CONNECTION_ID, vec![1]),
        (INITIAL_SOURCE_CONNECTION_ID, vec![2]),
    ]);
    let error = Observed::parse(&twice).expect_err("twice").to_string();
    assert_eq!(
        error,
        "QUIC transport parameter: identifier is 15, not there only once"
    );
    for end in 0..hex(ADDRESS).len() {
        let cut = list(&[(PREFERRED_ADDRESS, hex(ADDRESS)[..end].to_vec())]);
        assert!(Observed::parse(&cut).is_err());
    }
}

#[test]
fn a_list_that_is_cut_ends_with_an_error() {
    let bytes = hex(&CLIENT.replace(' ', ""));
    let ends: Vec<_> = parameters(&bytes)
        .scan(0, |at, one| {
            *at += 2 + one.expect("whole").value.len();
            Some(*at)
        })
        .collect();
    for end in 1..bytes.len() {
        let all: Vec<_> = parameters(&bytes[..end]).collect();
        let is_whole = all.last().is_some_and(|last| last.is_ok());
        assert_eq!(is_whole, ends.contains(&end), "{end}");
        assert_eq!(Observed::parse(&bytes[..end]).is_ok(), is_whole);
    }
}

proptest! {
    #[test]
    fn parameters_are_read_as_written(
        all in prop::collection::vec((super::integer(), any_bytes(80)), 0..9),
    ) {
        let bytes = list(&all);
        let read: Vec<_> = parameters(&bytes)
            .map(|one| one.expect("whole"))
            .map(|one| (one.id, one.value.to_vec()))
            .collect();
        prop_assert_eq!(read, all);
    }

    #[test]
    fn bytes_of_anybody_are_parameters_or_errors(data in any_bytes(200)) {
        prop_assert!(parameters(&data).count() <= data.len());
        let _ = Observed::parse(&data);
    }
}
