//! Keys from packet captures: who talks to whom.

use std::{
    io::Read,
    net::{IpAddr, Ipv6Addr},
};

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::{
    Block, Linktype, PcapBlockOwned, PcapError, create_reader,
    traits::{PcapNGPacketBlock, PcapReaderIterator},
};

use super::{Trouble, fold};

/// The 5-tuple of an IP packet; ports are 0 where the protocol has none, or where the
/// packet is a later fragment.
///
/// As a key, from bit 0 on: source address, destination address, source port, destination
/// port, protocol, each with its most significant byte highest. IPv4 at `KEY_W` 104; at
/// `KEY_W` 296, IPv6, and IPv4 as IPv4-mapped IPv6 addresses. At any other `KEY_W` the 37
/// bytes of the latter, lowest first, are folded ([`fold`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// Who sent the packet.
    pub source: IpAddr,
    /// Who it is for.
    pub destination: IpAddr,
    /// Of TCP or UDP.
    pub source_port: u16,
    /// Of TCP or UDP.
    pub destination_port: u16,
    /// Number of the protocol inside IP.
    pub protocol: u8,
}

impl FiveTuple {
    /// Writes the key, unless it has no place for an IPv6 address.
    pub fn to_key(&self, key_w: u32, key: &mut [u64]) -> bool {
        let ports = u64::from(self.source_port) | u64::from(self.destination_port) << 16;
        let rest = ports | u64::from(self.protocol) << 32;
        if key_w == 104 {
            let (IpAddr::V4(source), IpAddr::V4(destination)) = (self.source, self.destination) else {
                return false;
            };
            key[0] = u64::from(source.to_bits()) | u64::from(destination.to_bits()) << 32;
            key[1] = rest;
            return true;
        }
        let v6 = |address| match address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let halves = |address: Ipv6Addr| [address.to_bits() as u64, (address.to_bits() >> 64) as u64];
        let ([a, b], [c, d]) = (halves(v6(self.source)), halves(v6(self.destination)));
        let whole = [a, b, c, d, rest];
        if key_w == 296 {
            key.copy_from_slice(&whole);
        } else {
            let bytes: Vec<u8> = whole.iter().flat_map(|word| word.to_le_bytes()).take(37).collect();
            fold(&bytes, key_w, key);
        }
        true
    }

    /// Of a packet as it was captured, perhaps cut short, unless it is not IP.
    fn of(packet: &[u8], link: Linktype) -> Option<Self> {
        let packet = match link {
            Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(packet).ok()?,
            Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => LaxSlicedPacket::from_ip(packet).ok()?,
            _ => return None,
        };
        let (source, destination, protocol) = match packet.net? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let protocol = ip.payload().ip_number;
                (header.source_addr().into(), header.destination_addr().into(), protocol)
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let protocol = ip.payload().ip_number;
                (header.source_addr().into(), header.destination_addr().into(), protocol)
            }
            LaxNetSlice::Arp(_) => return None,
        };
        let (source_port, destination_port) = match packet.transport {
            Some(TransportSlice::Tcp(tcp)) => (tcp.source_port(), tcp.destination_port()),
            Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port()),
            _ => (0, 0),
        };
        Some(Self { source, destination, source_port, destination_port, protocol: protocol.0 })
    }
}

pub struct Packets<'a> {
    /// Not opened yet, so that a file that is no capture is reported like any other trouble.
    input: Option<Box<dyn Read + Send + 'a>>,
    reader: Option<Box<dyn PcapReaderIterator + Send + 'a>>,
    /// Of each interface; a plain pcap file has one.
    links: Vec<Linktype>,
    number: u64,
    passed_over: u64,
}

/// A packet and its header must fit.
const BUFFER: usize = 1 << 20;

impl<'a> Packets<'a> {
    pub fn new(input: Box<dyn Read + Send + 'a>) -> Self {
        Self { input: Some(input), reader: None, links: Vec::new(), number: 0, passed_over: 0 }
    }

    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// The key of the next IP packet, unless the file is over.
    pub fn next(&mut self, key_w: u32, key: &mut [u64]) -> Result<bool, Trouble> {
        if let Some(input) = self.input.take() {
            self.reader = Some(create_reader(BUFFER, input).map_err(|error| trouble(&error, 0))?);
        }
        let Some(reader) = &mut self.reader else { return Ok(false) };
        loop {
            match reader.next() {
                Ok((size, block)) => {
                    let packet = match &block {
                        PcapBlockOwned::LegacyHeader(header) => {
                            self.links = vec![header.network];
                            None
                        }
                        PcapBlockOwned::Legacy(packet) => Some((0, packet.data)),
                        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
                            self.links.clear();
                            None
                        }
                        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                            self.links.push(interface.linktype);
                            None
                        }
                        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                            Some((packet.if_id as usize, packet.packet_data()))
                        }
                        PcapBlockOwned::NG(Block::SimplePacket(packet)) => Some((0, packet.packet_data())),
                        PcapBlockOwned::NG(_) => None,
                    };
                    let mut found = false;
                    if let Some((interface, data)) = packet {
                        self.number += 1;
                        let link = self.links.get(interface).copied();
                        let tuple = link.and_then(|link| FiveTuple::of(data, link));
                        found = tuple.is_some_and(|tuple| tuple.to_key(key_w, key));
                        self.passed_over += u64::from(!found);
                    }
                    reader.consume(size);
                    if found {
                        return Ok(true);
                    }
                    continue;
                }
                Err(PcapError::Eof) => return Ok(false),
                Err(PcapError::Incomplete(_)) => {}
                Err(error) => return Err(trouble(&error, self.number)),
            }
            if reader.reader_exhausted() {
                return Err(trouble(&PcapError::<()>::UnexpectedEof, self.number));
            }
            reader.refill().map_err(|error| trouble(&error, self.number))?;
        }
    }
}

fn trouble<I>(error: &PcapError<I>, after: u64) -> Trouble {
    let reason = match error {
        PcapError::Eof => "is empty: give a pcap or pcapng file",
        PcapError::HeaderNotRecognized => "is neither pcap nor pcapng: give the file's --format",
        PcapError::Incomplete(_) | PcapError::UnexpectedEof => "ends within a packet: cut short?",
        PcapError::BufferTooSmall => "has a packet of more than a mebibyte: damaged?",
        PcapError::ReadError => "cannot be read",
        PcapError::NomError(..) | PcapError::OwnedNomError(..) => "is damaged",
    };
    Trouble::Bad { place: format!("packet {}", after + 1), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{KeyFormat, KeyReader, tests::read},
        *,
    };
    use etherparse::PacketBuilder;

    const HOSTS: ([u8; 4], [u8; 4]) = ([10, 1, 2, 3], [192, 168, 0, 254]);

    fn tcp() -> Vec<u8> {
        let mut packet = Vec::new();
        let builder =
            PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4(HOSTS.0, HOSTS.1, 64).tcp(0x1234, 443, 0, 9);
        builder.write(&mut packet, b"payload").unwrap();
        packet
    }

    fn udp6() -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([0xfd; 16], [0xfe; 16], 64).udp(53, 5353);
        builder.write(&mut packet, b"x").unwrap();
        packet
    }

    /// Ethernet without IP.
    fn other() -> Vec<u8> {
        [vec![3; 12], vec![0x88, 0xcc], vec![0; 40]].concat()
    }

    /// A pcap file in either byte order; packets are captured up to `snap` bytes.
    fn pcap(packets: &[Vec<u8>], snap: usize, big: bool) -> Vec<u8> {
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = [word(0xa1b2_c3d4).to_vec(), [half(2), half(4)].concat()].concat();
        file.extend([word(0), word(0), word(65_535), word(1)].concat());
        for packet in packets {
            let kept = packet.len().min(snap);
            file.extend([word(1), word(2), word(kept as u32), word(packet.len() as u32)].concat());
            file.extend(&packet[..kept]);
        }
        file
    }

    /// A pcapng file of one section, an interface of another kind, and an Ethernet one.
    fn pcapng(packets: &[Vec<u8>]) -> Vec<u8> {
        let block = |kind: u32, body: Vec<u8>| {
            let body = [body.clone(), vec![0; body.len().wrapping_neg() % 4]].concat();
            let size = (body.len() as u32 + 12).to_le_bytes();
            [&kind.to_le_bytes()[..], &size, &body, &size].concat()
        };
        let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        let interface = |link: u16| [&link.to_le_bytes()[..], &[0; 2], &[0; 4]].concat();
        let mut file =
            [block(0x0a0d_0d0a, section), block(1, interface(147)), block(1, interface(1))].concat();
        for packet in packets {
            let size = (packet.len() as u32).to_le_bytes();
            file.extend(block(6, [&[1, 0, 0, 0], &[0; 8][..], &size, &size, packet].concat()));
        }
        file
    }

    #[test]
    fn tuples_of_both_versions_in_both_formats() {
        let v4 = vec![0xc0a8_00fe_0a01_0203, 0x06_01bb_1234];
        let packets = [tcp(), other(), udp6(), tcp()];
        for file in [pcap(&packets, 2000, false), pcap(&packets, 2000, true), pcapng(&packets)] {
            assert_eq!(read(&file, KeyFormat::Pcap, 104).unwrap(), [v4.clone(), v4.clone()]);
            let mut reader = KeyReader::new(&*file, "capture", KeyFormat::Pcap, 104);
            assert_eq!(reader.batch(&mut Vec::new()).unwrap(), 2);
            assert_eq!(reader.passed_over(), 2);

            let wide = read(&file, KeyFormat::Pcap, 296).unwrap();
            assert_eq!(wide.len(), 3);
            assert_eq!(wide[0], [0xffff_0a01_0203, 0, 0xffff_c0a8_00fe, 0, 0x06_01bb_1234]);
            let (fd, fe) = (0xfdfd_fdfd_fdfd_fdfd, 0xfefe_fefe_fefe_fefe);
            assert_eq!(wide[1], [fd, fd, fe, fe, 0x11_14e9_0035]);

            let folded = read(&file, KeyFormat::Pcap, 64).unwrap();
            assert_eq!(folded[0], folded[2]);
            assert_ne!(folded[0], folded[1]);
            let bytes: Vec<u8> = wide[0].iter().flat_map(|word| word.to_le_bytes()).take(37).collect();
            let mut key = [0];
            fold(&bytes, 64, &mut key);
            assert_eq!(folded[0], key);
        }
    }

    #[test]
    fn headers_are_enough() {
        // Ethernet, IPv4 and TCP headers: 14 + 20 + 20 bytes.
        assert_eq!(read(&pcap(&[tcp()], 54, false), KeyFormat::Pcap, 104).unwrap().len(), 1);
    }

    #[test]
    fn damage_is_named() {
        let error = |file: &[u8]| read(file, KeyFormat::Pcap, 104).unwrap_err().to_string();
        let file = pcap(&[tcp(), tcp()], 2000, false);
        assert_eq!(error(&file[..file.len() - 1]), "keys:packet 2: ends within a packet: cut short?");
        assert!(error(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n").contains("is neither pcap nor pcapng"));
        assert!(error(b"").contains("is empty"));
    }
}
