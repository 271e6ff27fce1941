//! `lockgate disk` on images that cryptsetup and the kernel wrote: what it writes, what
//! it says, and what it refuses.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assert_cmd::Command;
use flate2::read::GzDecoder;

use crate::common::{Desk, Ended, PATIENCE};

const PASSPHRASE: &str = "first passphrase";

/// A desk with the images, their passphrases and a key.
fn desk() -> Desk {
    let desk = Desk::new();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../disk/tests/images");
    for name in ["luks1.img", "luks2.img"] {
        let packed = fs::read(images.join(format!("{name}.gz"))).unwrap();
        let mut image = Vec::new();
        GzDecoder::new(&*packed).read_to_end(&mut image).unwrap();
        fs::write(desk.path().join(name), image).unwrap();
    }
    for name in ["plain.img", "skipped.img"] {
        fs::copy(images.join(name), desk.path().join(name)).unwrap();
    }
    desk.write("first", PASSPHRASE);
    desk.write("second", "second\nwith a newline");
    desk.write("empty", "");
    let mut mkfifo = std::process::Command::new("mkfifo");
    assert!(
        mkfifo
            .arg(desk.path().join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    desk
}

/// What the guest wrote into each image.
fn text(bytes: usize) -> Vec<u8> {
    let byte = |at: usize| (at * 31 + at / 4096 * 7 + 5) as u8;
    (0..bytes).map(byte).collect()
}

/// Runs a line with something on standard input.
fn with_input(desk: &Desk, line: &str, input: &str) -> Ended {
    let mut command = Command::from_std(desk.command());
    let arguments = line.split_whitespace();
    command.args(arguments).write_stdin(input).timeout(PATIENCE);
    Ended::from(command.output().unwrap())
}

#[test]
fn every_image_is_opened_as_cryptsetup_would() {
    let desk = desk();
    let xts = "--cipher aes-xts-plain64 --key-size 512 --hash sha512 --offset 8 --skip 1000 --sector-size 4096 --iv-large-sectors";
    let lines = [
        ("luks1.img".to_owned(), PASSPHRASE, 16384),
        (
            "luks1.img --type luks1 --key-slot 0".to_owned(),
            "first passphrase\nmore",
            16384,
        ),
        ("luks2.img --key-file first".to_owned(), "", 16384),
        (
            "luks2.img --type luks2 --key-file second".to_owned(),
            "",
            16384,
        ),
        (
            "luks2.img --key-file - --keyfile-size 16".to_owned(),
            "first passphrase, and more",
            16384,
        ),
        (
            "luks2.img --key-file - --keyfile-offset 3".to_owned(),
            "...first passphrase",
            16384,
        ),
        ("luks2.img --header luks2.img".to_owned(), PASSPHRASE, 16384),
        (
            "plain.img --type plain --size 8".to_owned(),
            PASSPHRASE,
            4096,
        ),
        (format!("skipped.img --type plain {xts}"), PASSPHRASE, 4096),
        (
            format!("skipped.img --type plain {xts} --key-file -"),
            PASSPHRASE,
            4096,
        ),
    ];
    for (line, input, bytes) in lines {
        let ended = with_input(
            &desk,
            &format!("disk open --force --output out {line}"),
            input,
        );
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        let out = desk.path().join("out");
        assert_eq!(fs::read(&out).unwrap()[..bytes], text(bytes), "{line}");
        assert_eq!(
            out.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{line}"
        );
        assert!(
            !ended.stderr.contains("passphrase"),
            "{line}: {}",
            ended.stderr
        );
    }
}

#[test]
fn what_goes_to_stdout_is_the_data_alone() {
    let desk = desk();
    let mut command = Command::from_std(desk.command());
    command.args(["disk", "open", "luks1.img", "--output", "-"]);
    let ended = command
        .write_stdin(PASSPHRASE)
        .timeout(PATIENCE)
        .output()
        .unwrap();
    assert!(ended.status.success());
    assert_eq!(ended.stdout.len(), 32768);
    assert_eq!(ended.stdout[..16384], text(16384));
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_written() {
    let desk = desk();
    fs::write(desk.path().join("there"), "mine").unwrap();
    fs::write(desk.path().join("zeros"), vec![0; 5000]).unwrap();
    for (name, of, bytes) in [
        ("short.img", "luks2.img", 557_056 + 100),
        ("no-data.img", "luks2.img", 557_056),
        ("no-slots.img", "luks1.img", 60_000),
        ("no-copy.img", "luks2.img", 5_000),
        ("begin.img", "luks1.img", 300),
        ("nothing.img", "luks1.img", 0),
    ] {
        let image = fs::read(desk.path().join(of)).unwrap();
        fs::write(desk.path().join(name), &image[..bytes]).unwrap();
    }
    fs::write(desk.path().join("wrong"), "wrong").unwrap();
    let rows = "
        disk                                                        => open | info
        disk open luks1.img                                         => --output
        disk open no.img --output out                               => 'no.img' | No such file
        disk open luks1.img --output there                          => there | it exists | --force
        disk open luks1.img --output . --force                      => no file
        disk open luks1.img --output luks1.img --force              => the same file
        disk open luks1.img --output first --force --key-file first => the same file
        disk open luks1.img --output out --key-file wrong           => no key slot opens | tried: 0
        disk open luks1.img --output out --key-file empty           => is empty | passphrase
        disk open luks1.img --output out --key-file no              => key file 'no'
        disk open luks1.img --output out --key-file first --keyfile-size 99 => 16 bytes | 99
        disk open luks1.img --output out --keyfile-size 9           => --key-file
        disk open luks1.img --output out --key-file first --key-slot 5 => key slot 5 is empty
        disk open luks2.img --output out --key-file first --key-slot 2 => key slot 2 | bound to no data
        disk open luks1.img --output out --type luks2               => LUKS1, not LUKS2
        disk open luks1.img --output out --type tcrypt              => tcrypt | luks2, plain
        disk open luks1.img --output out --cipher aes-cbc-plain     => --cipher | --type plain
        disk open short.img --output out --key-file first           => 100 bytes | whole sectors
        disk open no-data.img --output out --key-file first         => byte 557056 | truncated
        disk open no-slots.img --output out --key-file first        => byte 528384 | 60000 | truncated
        disk open no-copy.img --output out --key-file first         => neither copy | ends before
        disk info no-copy.img                                       => neither copy | ends before
        disk open begin.img --output out --key-file first           => ends inside the LUKS1 header
        disk info begin.img                                         => ends inside the LUKS1 header
        disk open nothing.img --output out                          => no LUKS header
        disk info nothing.img                                       => no LUKS header
        disk open zeros --output out                                => no LUKS header | --type plain
        disk open pipe --output out                                 => 'pipe' | neither a file nor a block device
        disk open zeros --output out --type plain --key-file first  => 5000 bytes | whole sectors
        disk open plain.img --output out --type plain --header first => --header
        disk open plain.img --output out --type plain --cipher aes-gcm-plain64 => 'gcm' | xts
        disk open plain.img --output out --type plain --cipher aes-xts-plain64 --key-size 128 => 256, 384 or 512
        disk open plain.img --output out --type plain --key-size 100 => 128, 192 or 256
        disk open plain.img --output out --type plain --key-size 256 --key-file first => 16 bytes | 32
        disk open plain.img --output out --type plain --hash md5    => 'md5' | ripemd160
        disk open plain.img --output out --type plain --sector-size 520 --key-file first --key-size 128 => 520 | 4096
        disk open plain.img --output out --type plain --offset 99 --key-file first --key-size 128 => 50688 | 8192
        disk open nothing.img --output out --type plain --key-file first --key-size 128 => truncated
        disk open plain.img --output out --type plain --size 0 --key-file first --key-size 128 => one sector at least
        disk open plain.img --output out --type plain --size 9 --sector-size 4096 --key-file first --key-size 128 => 4608 bytes | whole sectors of 4096
        disk open plain.img --output out --type plain --size 17 --key-file first --key-size 128 => 8704 bytes | 8192 | truncated
        disk open plain.img --output out --type plain --size 99999999999999999 --key-file first --key-size 128 => --size 99999999999999999
        disk open plain.img --output out --type plain --skip 1001 --sector-size 4096 --key-file first --key-size 128 => 1001 | multiple of 8
        disk open plain.img --output out --type plain --cipher twofish-xts-plain64 => 'twofish-xts-plain64' | aes-MODE-IV
        disk open plain.img --output out --type plain --cipher aes-cbc-lmk => 'lmk' | essiv:sha256
        disk open plain.img --output out --type plain --cipher aes-xts => names no IV
        disk open plain.img --output out --type plain --cipher aes-lrw-benbi --key-size 128 => 256, 320 or 384
        disk info zeros                                             => no LUKS header
    ";
    desk.refuses(rows, &[]);
    assert!(!desk.path().join("out").exists());
    assert_eq!(fs::read(desk.path().join("there")).unwrap(), b"mine");
    let hidden = fs::read_dir(desk.path()).unwrap();
    let names = hidden.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with('.')).count(), 0);
}

#[test]
fn info_shows_what_the_header_says_and_no_secret() {
    let desk = desk();
    let ended = desk.line("disk info luks2.img");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let expected = "\
format     LUKS2
uuid       66666666-2222-3333-4444-555555555555
label      small
subsystem  test
cipher     aes-cbc-essiv:sha256
sector     4096 bytes
data       32768 bytes from byte 557056
slot 0     Argon2id, 4 passes over 32 KiB, lanes: 1; aes-cbc-essiv:sha256, 128 bits
slot 2     cannot be used: it is bound to no data (it holds a key of another use)
slot 4     PBKDF2-sha512, 1000 iterations; aes-cbc-essiv:sha256, 128 bits; tried first
token 3    luks2-keyring
";
    assert_eq!(ended.stdout, expected);
    let first = desk.line("disk info luks1.img").stdout;
    assert!(
        first.contains("slot 0     PBKDF2-sha256, 1000 iterations"),
        "{first}"
    );
}
