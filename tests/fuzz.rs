//! Every parser on damaged files: it never panics, never loops, and what a checksum protects
//! is never taken for something else.
#![cfg(feature = "keys")]

mod common;

use std::{fs, path::Path};

use membrane::{
    Params,
    clocked::Clocked,
    curves::Curves,
    image::Image,
    keys::{KeyFormat, KeyReader},
    registry,
    report::{Area, Cosim, Input, Repro},
    stimulus::record,
    vectors::{Case, Recorded},
};
use proptest::{collection::vec, prelude::*, sample::Index};

/// One piece of damage.
#[derive(Clone, Debug)]
enum Damage {
    Flip(Index, u8),
    Set(Index, u8),
    Cut(Index, Index),
    End(Index),
    Insert(Index, Vec<u8>),
    Repeat(Index, Index),
    SwapLines(Index, Index),
    DropLine(Index),
    /// Puts a number that is at the edge of something in place of a digit.
    Number(Index, usize),
}

const NUMBERS: [&str; 8] =
    ["0", "-1", "1e9", "4294967296", "18446744073709551615", "18446744073709551616", "1073741824", "0x"];

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let place = any::<Index>;
    let one = prop_oneof![
        4 => (place(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        2 => (place(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        2 => (place(), place()).prop_map(|(a, b)| Damage::Cut(a, b)),
        1 => place().prop_map(Damage::End),
        2 => (place(), vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        1 => (place(), place()).prop_map(|(a, b)| Damage::Repeat(a, b)),
        2 => (place(), place()).prop_map(|(a, b)| Damage::SwapLines(a, b)),
        1 => place().prop_map(Damage::DropLine),
        3 => (place(), 0..NUMBERS.len()).prop_map(|(at, n)| Damage::Number(at, n)),
    ];
    vec(one, 1..4)
}

fn span(bytes: &[u8], a: Index, b: Index) -> std::ops::Range<usize> {
    let (a, b) = (a.index(bytes.len() + 1), b.index(bytes.len() + 1));
    a.min(b)..a.max(b)
}

fn inflict(bytes: &mut Vec<u8>, damage: &[Damage]) {
    for damage in damage {
        if bytes.is_empty() {
            return;
        }
        match damage {
            Damage::Flip(at, bit) => {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            Damage::Set(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Damage::Cut(a, b) => {
                let span = span(bytes, *a, *b);
                bytes.drain(span);
            }
            Damage::End(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Insert(at, new) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, new.iter().copied());
            }
            Damage::Repeat(a, b) => {
                let span = span(bytes, *a, *b);
                let copy = bytes[span.clone()].to_vec();
                bytes.splice(span.end..span.end, copy);
            }
            Damage::SwapLines(a, b) => {
                let mut lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                let (a, b) = (a.index(lines.len()), b.index(lines.len()));
                lines.swap(a, b);
                *bytes = lines.concat();
            }
            Damage::DropLine(at) => {
                let mut lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                lines.remove(at.index(lines.len()));
                *bytes = lines.concat();
            }
            Damage::Number(at, n) => {
                let digits: Vec<_> = (0..bytes.len()).filter(|i| bytes[*i].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    let at = digits[at.index(digits.len())];
                    bytes.splice(at..=at, NUMBERS[*n].bytes());
                }
            }
        }
    }
}

/// Damages one file of a folder; returns its name, and whether it is another file now.
fn damage_file(folder: &Path, file: Index, damage: &[Damage]) -> (String, bool) {
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one").path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    let path = &files[file.index(files.len())];
    let old = fs::read(path).expect("read");
    let mut new = old.clone();
    inflict(&mut new, damage);
    fs::write(path, &new).expect("written");
    (path.file_name().expect("a name").to_string_lossy().into_owned(), old != new)
}

/// Few bits, so that parameters that were made larger by accident cost no gigabytes.
fn affordable(params: &Params) -> bool {
    params.iter().all(|(name, value)| !["ROWS", "BLOCKS"].contains(&name) || value < 1 << 22)
}

/// A capture as tcpdump writes it: two packets of TCP over IPv4 on Ethernet.
fn pcap() -> Vec<u8> {
    let mut file =
        vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];
    for port in 1..3 {
        let ip = [0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let tcp = [0, port, 1, 187, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 16, 0, 0, 0, 0, 0];
        let packet = [&[2; 6][..], &[4; 6], &[8, 0], &ip, &tcp].concat();
        let size = (packet.len() as u32).to_le_bytes();
        file.extend([&[1, 0, 0, 0, 2, 0, 0, 0][..], &size, &size, &packet].concat());
    }
    file
}

/// The same packets as Wireshark writes them.
fn pcapng() -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let padded = [body, &vec![0; body.len().wrapping_neg() % 4]].concat();
        let size = (padded.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &size, &padded, &size].concat()
    };
    let mut file =
        block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    file.extend(block(1, &[1, 0, 0, 0, 0, 0, 4, 0]));
    let pcap = pcap();
    for packet in pcap[24..].chunks_exact(16 + 54) {
        let data = &packet[16..];
        let size = (data.len() as u32).to_le_bytes();
        file.extend(block(6, &[&[0; 12][..], &size, &size, data].concat()));
    }
    file
}

/// Files of keys and their formats, all legal.
fn key_files() -> Vec<(KeyFormat, Vec<u8>)> {
    vec![
        (KeyFormat::Decimal, b"1\n22\n0x3f\n\n1844674407370955161\n".to_vec()),
        (KeyFormat::Hex, b"1\nff\n0xabcdef\nffffffffffffffff\n".to_vec()),
        (KeyFormat::Text, "one\ntwo words\r\nd\u{fc}nn\n".as_bytes().to_vec()),
        (KeyFormat::Binary, (0..80).collect()),
        (KeyFormat::Pcap, pcap()),
        (KeyFormat::Pcap, pcapng()),
    ]
}

fn read_keys(bytes: &[u8], format: KeyFormat, key_w: u32) -> Result<u64, String> {
    let mut count = 0;
    let reader = KeyReader::new(bytes, "keys", format, key_w);
    let top = u64::MAX >> ((64 - key_w % 64) % 64);
    let result = reader.for_each(|key| {
        assert!(key[key.len() - 1] <= top, "a key beyond KEY_W");
        count += 1;
    });
    result.map_err(|error| error.to_string()).inspect(|total| assert_eq!(*total, count))
}

#[test]
fn key_files_are_legal_before_they_are_damaged() {
    for (format, bytes) in key_files() {
        assert!(read_keys(&bytes, format, 64).expect("legal") > 0, "{format:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys(which in 0..6usize, key_w in prop_oneof![Just(64u32), Just(104), Just(296), 1..200u32], damage in damage()) {
        let (format, mut bytes) = key_files().swap_remove(which);
        inflict(&mut bytes, &damage);
        if let Err(error) = read_keys(&bytes, format, key_w) {
            prop_assert!(error.starts_with("keys:"), "{error} does not name the file");
        }
    }

    #[test]
    fn random_bytes_as_keys(which in 0..6usize, bytes in vec(any::<u8>(), 0..300)) {
        let _ = read_keys(&bytes, key_files()[which].0, 64);
    }

    #[test]
    fn parameters(core in 0..4usize, damage in damage(), values in vec((any::<Index>(), any::<u64>()), 0..4)) {
        let core = registry::CORES[core];
        let preset = &core.presets()[0];
        let mut params = preset.params();
        for (name, value) in preset.values {
            let mut text = format!("{name}={value}").into_bytes();
            inflict(&mut text, &damage);
            let _ = params.parse_set(core.params(), core.name(), &String::from_utf8_lossy(&text));
        }
        for (which, value) in values {
            params.set(core.params()[which.index(core.params().len())].name, value);
        }
        if let Ok(checked) = core.check(&params) {
            prop_assert_eq!(core.check(&checked).expect("checked before"), checked);
        }
    }

    #[test]
    fn report_files(which in 0..3usize, damage in damage()) {
        let texts = [
            r#"{"seed": 1, "cycles": 10, "runs": []}"#,
            r#"{"effort": "quick", "papers": []}"#,
            r#"{"rows": []}"#,
        ];
        let mut bytes = texts[which].as_bytes().to_vec();
        inflict(&mut bytes, &damage);
        let scratch = common::scratch();
        let path = scratch.path().join("file.json");
        fs::write(&path, &bytes).expect("written");
        let name = path.display().to_string();
        let errors = [
            Curves::read(&path).err(), Cosim::read(&path).err(), Repro::read(&path).err(), Area::read(&path).err(),
        ];
        for error in errors.into_iter().flatten() {
            prop_assert!(error.to_string().starts_with(&name), "{error} does not name the file");
        }
    }
}

proptest! {
    // Each writes a folder.
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cases(core in 0..4usize, file in any::<Index>(), damage in damage()) {
        let core = registry::CORES[core];
        let tiny = core.presets().iter().find(|preset| preset.name.starts_with("tiny")).expect("a tiny preset");
        let params = core.check(&tiny.params()).expect("legal");
        let case = record(core, &params, 3, 60).expect("recorded");
        let scratch = common::scratch();
        let folder = scratch.path().join("case");
        case.write(&folder).expect("written");
        let (name, changed) = damage_file(&folder, file, &damage);
        match Case::read(&folder) {
            // The description has no checksum of itself: it may describe another case, which
            // then must be one that can be played, or refused by its core.
            Ok(read) => {
                prop_assert!(name == "case.json" || !changed && read == case, "{name} was damaged, and taken");
                let core = registry::find(&read.core);
                if let Some(Ok(params)) = core.map(|core| core.check(&read.params)) && affordable(&params) {
                    let mut model = core.expect("found").clocked(&params).expect("checked");
                    if *model.pins() == read.pins {
                        let mut outputs = vec![0; read.expected.len()];
                        model.run(&read.stimulus, &mut outputs).expect("runs");
                        let mut recorded = Recorded::new(read.clone());
                        recorded.run(&read.stimulus, &mut outputs).expect("its own inputs");
                    }
                }
            }
            Err(error) => {
                let place = folder.display().to_string();
                prop_assert!(changed && error.to_string().contains(&place), "{error} does not name the file");
            }
        }
        // The same with the lines inside.
        let mut text = case.to_json().into_bytes();
        inflict(&mut text, &damage);
        let path = scratch.path().join("inline.json");
        fs::write(&path, &text).expect("written");
        if let Err(error) = Case::read(&path) {
            prop_assert!(error.to_string().contains("inline.json"), "{error} does not name the file");
        }
    }

    #[test]
    fn images(core in 0..4usize, file in any::<Index>(), damage in damage()) {
        let core = registry::CORES[core];
        let tiny = core.presets().iter().find(|preset| preset.name.starts_with("tiny")).expect("a tiny preset");
        let params = core.check(&tiny.params()).expect("legal");
        let mut filter = core.filter(&params).expect("legal");
        filter.insert(&[5]);
        let image = Image::of(core, &params, filter.as_ref()).expect("an image");
        let scratch = common::scratch();
        let folder = scratch.path().join("image");
        image.write(&folder).expect("written");
        let dumps: Vec<_> = (0..image.memories().len()).map(|i| folder.join(format!("memory{i}.hex"))).collect();
        let (name, changed) = damage_file(&folder, file, &damage);
        match Image::read(&folder) {
            Ok(read) => {
                prop_assert!(!changed || Path::new(&name).extension() != Some("hex".as_ref()) && read == image || name == "image.json",
                    "{name} was damaged, and taken");
                if affordable(read.params()) {
                    let mut filter = read.filter().expect("legal");
                    for key in 0..50 {
                        filter.contains(&vec![key; read.params().at("KEY_W").div_ceil(64) as usize]);
                        filter.insert(&vec![key; read.params().at("KEY_W").div_ceil(64) as usize]);
                    }
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty() && changed, "{error}"),
        }
        // Dumps have no checksum: what is accepted must answer without a panic.
        if let Ok(read) = Image::from_dumps(core, &params, &dumps, Some(0)) {
            let mut filter = read.filter().expect("legal");
            for key in 0..50 {
                filter.contains(&[key]);
                filter.insert(&[key]);
                filter.remove(&[key]);
            }
        }
    }
}
