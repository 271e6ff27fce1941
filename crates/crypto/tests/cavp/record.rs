//! CAVP's response files: `name = value` lines in blocks between blank lines,
//! in sections that `[headings]` open.

use std::collections::BTreeMap;

use crate::published::unhex;

/// The fields of one vector, with what its section says before it.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// `[a = b]` as its name and value, `[A]` as its name and nothing.
    pub headings: BTreeMap<String, String>,
    fields: BTreeMap<String, String>,
}

impl Record {
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    pub fn text(&self, name: &str) -> &str {
        let text = self.fields.get(name);
        text.unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    pub fn number(&self, name: &str) -> usize {
        self.text(name).parse().expect("a decimal number")
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        unhex(self.text(name))
    }

    /// A number of hexadecimal digits, maybe an odd count of them, big-endian
    /// in `bytes` bytes.
    pub fn integer(&self, name: &str, bytes: usize) -> Vec<u8> {
        let digits = self.text(name).trim_start_matches('0');
        unhex(&format!("{digits:0>width$}", width = 2 * bytes))
    }

    /// Whether the signature is right, says the field `Result`.
    pub fn passes(&self) -> bool {
        match self.text("Result").as_bytes()[0] {
            b'P' => true,
            b'F' => false,
            _ => panic!("neither pass nor fail: {self:?}"),
        }
    }
}

/// The records of a file: the blocks with a field `marker`.
pub fn records(text: &str, marker: &str) -> Vec<Record> {
    let (mut records, mut section) = (Vec::new(), Record::default());
    for block in blocks(text) {
        let headings: Vec<&str> = block.iter().filter_map(|line| heading(line)).collect();
        if !headings.is_empty() {
            section = Record::default();
        }
        let named = headings.into_iter().map(pair);
        section.headings.extend(named);
        let mut record = section.clone();
        let fields = block.iter().filter(|line| heading(line).is_none());
        record.fields.extend(fields.map(|line| pair(line)));
        if record.has(marker) {
            records.push(record);
        } else {
            section = record;
        }
    }
    records
}

fn blocks(text: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let blocks = lines.split(|line| line.trim().is_empty());
    blocks
        .filter(|block| !block.is_empty())
        .map(<[&str]>::to_vec)
        .collect()
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

fn pair(line: &str) -> (String, String) {
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    (name.trim().to_owned(), value.trim().to_owned())
}

#[test]
fn a_section_speaks_for_its_records() {
    let text = "# c\n\n[a = 1]\nn = 05\n\nS = 1\nF\n\nS =\n\n[b]\n\nS = 3\n";
    let records = records(text, "S");
    let values: Vec<&str> = records.iter().map(|record| record.text("S")).collect();
    assert_eq!(values, ["1", "", "3"]);
    assert_eq!(records[1].integer("n", 2), [0, 5]);
    assert!(records[0].has("F") && !records[1].has("F") && !records[2].has("n"));
    assert_eq!(records[0].headings["a"], "1");
    assert!(records[2].headings.contains_key("b"));
}
