//! A journal's lines. One that was cut short, by a kill or a full disk, is told from
//! those that are whole, and the next is found: each begins on a line of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Error;

use super::Entry;

/// The longest line that is written and read, bytes: a device with a thousand
/// settings has a tenth of it.
const LINE_BYTES_MAX: usize = 1 << 20;
/// The largest journal that is read, bytes: some 100,000 lines.
const JOURNAL_BYTES_MAX: u64 = 16 << 20;
/// Of a checksum.
const DIGITS: usize = 8;
/// How lines of the version without checksums begin.
const OLD: [&[u8]; 2] = [
    br#"{"made":{"number":"#.as_slice(),
    br#"{"gone":{"number":"#.as_slice(),
];

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Line {
    Made { number: u64, entry: Entry },
    Gone { number: u64 },
}

impl Line {
    /// In one write, so that a crash leaves it whole, or its beginning.
    pub(super) fn write(&self, file: &mut File) -> io::Result<()> {
        file.write_all(&self.text()?)
    }

    /// Its length and CRC-32 before the JSON, which holds no line feed. The line feed is
    /// at the beginning: it ends what was cut short, and what is whole was written whole.
    fn text(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let sum = crc32fast::hash(&json);
        let mut text = format!("\n{} {sum:08x} ", json.len()).into_bytes();
        text.extend(json);
        if text.len() > LINE_BYTES_MAX {
            let reason = format!(
                "a line has {} bytes, at most {LINE_BYTES_MAX} are read",
                text.len()
            );
            return Err(io::Error::other(reason));
        }
        Ok(text)
    }
}

pub(super) fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > JOURNAL_BYTES_MAX {
        let reason = format!("it has {length} bytes, at most {JOURNAL_BYTES_MAX} are read");
        return Err(io::Error::other(reason));
    }
    let mut text = Vec::new();
    file.take(JOURNAL_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

#[derive(Debug, Default)]
pub struct Left {
    /// Made and not gone, in the order of making.
    pub entries: Vec<Entry>,
    /// Theirs.
    pub(super) numbers: Vec<u64>,
    /// Lines that were neither cut short nor written by us, by number from 1.
    pub damaged: Vec<(usize, Error)>,
}

/// Reads a journal's text. What a line that was cut short names was not made.
pub fn left_in(text: &[u8]) -> Left {
    let mut left = BTreeMap::new();
    let mut damaged = Vec::new();
    let count = text.split(|&byte| byte == b'\n').count();
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let has_end = index + 1 < count;
        match parse(line, has_end) {
            Ok(Some(Line::Made { number, entry })) => {
                left.insert(number, entry);
            }
            Ok(Some(Line::Gone { number })) => {
                left.remove(&number);
            }
            Ok(None) => {}
            Err(error) => damaged.push((index + 1, error)),
        }
    }
    let (numbers, entries) = left.into_iter().unzip();
    Left {
        entries,
        numbers,
        damaged,
    }
}

/// `None` for one that was cut short, or is empty.
fn parse(line: &[u8], has_end: bool) -> Result<Option<Line>, Error> {
    if line.len() > LINE_BYTES_MAX {
        let reason = format!("{} bytes, at most {LINE_BYTES_MAX} are read", line.len());
        return Err(Error::custom(reason));
    }
    if line.first() == Some(&b'{') {
        return match has_end {
            true => parse_old(line).map(Some),
            false => Ok(None),
        };
    }
    let Some((bytes, sum, json)) = split(line)? else {
        return Ok(None);
    };
    if json.len() < bytes {
        return Ok(None);
    }
    if json.len() > bytes || crc32fast::hash(json) != sum {
        return Err(Error::custom("its length and checksum are not its own"));
    }
    serde_json::from_slice(json).map(Some)
}

type Parts<'a> = (usize, u32, &'a [u8]);

/// Length, checksum and JSON; `None` where it ends before.
fn split(line: &[u8]) -> Result<Option<Parts<'_>>, Error> {
    let none = || Error::custom("no length and checksum");
    let end = line.iter().position(|byte| !byte.is_ascii_digit());
    let Some(end) = end else {
        return Ok(None);
    };
    let (length, rest) = line.split_at(end);
    let rest = rest.strip_prefix(b" ").ok_or_else(none)?;
    let (sum, rest) = rest.split_at(rest.len().min(DIGITS));
    let is_hexadecimal = sum.iter().all(u8::is_ascii_hexdigit);
    if length.is_empty() || !is_hexadecimal {
        return Err(none());
    }
    if rest.is_empty() {
        return Ok(None);
    }
    let text = |digits| str::from_utf8(digits).map_err(|_| none());
    let length = text(length)?.parse().map_err(|_| none())?;
    let sum = u32::from_str_radix(text(sum)?, 16).map_err(|_| none())?;
    let json = rest.strip_prefix(b" ").ok_or_else(none)?;
    Ok(Some((length, sum, json)))
}

/// Of the version without checksums. A full disk left the beginning of one before the
/// next, on the same line; no JSON has the beginning of a line inside.
fn parse_old(line: &[u8]) -> Result<Line, Error> {
    serde_json::from_slice(line).or_else(|error| {
        let mut later = (1..line.len()).filter(|&at| {
            let rest = &line[at..];
            OLD.iter().any(|begin| rest.starts_with(begin))
        });
        let last = later.next_back().ok_or(error)?;
        serde_json::from_slice(&line[last..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str) -> Entry {
        Entry::Link { name: name.into() }
    }

    fn made(number: u64, name: &str) -> Vec<u8> {
        let entry = link(name);
        Line::Made { number, entry }.text().unwrap()
    }

    fn damaged(left: &Left) -> Vec<usize> {
        left.damaged.iter().map(|(line, _)| *line).collect()
    }

    #[test]
    fn what_is_left_is_what_was_made_and_not_struck_out() {
        let gone = Line::Gone { number: 0 }.text().unwrap();
        let text = [made(0, "lga"), made(1, "lgb"), gone].concat();
        let left = left_in(&text);
        assert_eq!(left.entries, [link("lgb")]);
        assert_eq!(damaged(&left), [0; 0]);
    }

    #[test]
    fn a_line_that_is_cut_anywhere_hides_no_other() {
        let (before, cut, after) = (made(0, "lga"), made(1, "lgb"), made(2, "lgc"));
        for bytes in 0..=cut.len() {
            let text = [&before[..], &cut[..bytes], &after].concat();
            let left = left_in(&text);
            let mut wanted = vec![link("lga"), link("lgc")];
            if bytes == cut.len() {
                wanted.insert(1, link("lgb"));
            }
            assert_eq!(left.entries, wanted, "cut after {bytes}");
            assert_eq!(damaged(&left), [0; 0], "cut after {bytes}");
            // And where it is the last.
            let left = left_in(&[&before[..], &cut[..bytes]].concat());
            assert_eq!(left.entries[0], link("lga"));
            assert_eq!(damaged(&left), [0; 0], "cut after {bytes}");
        }
    }

    #[test]
    fn a_line_that_another_wrote_into_is_damaged() {
        let whole = made(7, "lga");
        for at in 1..whole.len() {
            for put in [b'x', b'\x07', b'"'] {
                let mut text = whole.clone();
                if text[at] == put {
                    continue;
                }
                text[at] = put;
                let left = left_in(&text);
                assert_eq!(left.entries, [], "{put} at {at}");
                assert_eq!(damaged(&left), [2], "{put} at {at}");
            }
        }
        assert_eq!(damaged(&left_in(b"nonsense")), [1]);
    }

    #[test]
    fn lines_without_checksums_are_read_and_the_next_after_a_cut_one_is_found() {
        let first = br#"{"made":{"number":0,"entry":{"kind":"link","name":"lga"}}}"#;
        let next = br#"{"made":{"number":1,"entry":{"kind":"link","name":"lgb"}}}"#;
        let text = [
            &first[..],
            b"\n",
            next,
            b"\n{\"gone\":{\"number\":0}}\nnonsense\n",
            first,
        ];
        let left = left_in(&text.concat());
        assert_eq!(left.entries, [link("lgb")]);
        assert_eq!(damaged(&left), [4]);
        for bytes in 1..first.len() {
            let text = [&first[..bytes], next, b"\n"].concat();
            let left = left_in(&text);
            assert_eq!(left.entries, [link("lgb")], "cut after {bytes}");
            // Cut twice.
            let text = [&first[..bytes], &first[..bytes], next, b"\n"].concat();
            assert_eq!(left_in(&text).entries, [link("lgb")], "cut after {bytes}");
        }
    }
}
