//! Addresses of the workers of a job, which are loopback addresses of this machine.

use std::net::{IpAddr, Ipv4Addr};

/// Number of worker addresses in a /24 block, with the last byte 1 to 254.
const ROW_LENGTH: u32 = 254;
/// Maximum number of /24 blocks of a job, enough for two thousand workers.
const MAX_ROWS: u8 = 8;

/// Returns the address of a worker: a separate one on Linux, 127.0.0.1 on other systems.
pub(crate) fn address(job_id: &str, index: u32) -> String {
    if !cfg!(target_os = "linux") {
        return "127.0.0.1".to_owned();
    }
    let [high, low] = network(job_id).to_be_bytes();
    // Addresses beyond the first block are in the next blocks.
    let row = (index / ROW_LENGTH % u32::from(MAX_ROWS) + u32::from(low)) % 256;
    format!("127.{high}.{row}.{}", index % ROW_LENGTH + 1)
}

/// Returns the two address bytes that identify a job, or 0 if the system is not Linux.
pub(crate) fn network(job_id: &str) -> u16 {
    if !cfg!(target_os = "linux") {
        return 0;
    }
    // Two bytes of the job id distinguish the addresses of different jobs.
    let byte = |at: usize| {
        job_id.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or(0)
    };
    u16::from_be_bytes([byte(0) % 254 + 1, byte(2)])
}

/// Possible owner of an address: the network of a job and the index of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) network: u16,
    /// Lowest index of a worker to which this address belongs.
    pub(crate) index: u32,
}

impl Host {
    /// Returns the possible owners of an address: several if the blocks of jobs overlap.
    pub(crate) fn all_at(address: IpAddr) -> Vec<Self> {
        let IpAddr::V4(address) = address else {
            return Vec::new();
        };
        if !cfg!(target_os = "linux") {
            let only = (address == Ipv4Addr::LOCALHOST).then_some(Self { network: 0, index: 0 });
            return only.into_iter().collect();
        }
        let [127, high, low, last @ 1..=254] = address.octets() else {
            return Vec::new();
        };
        let host = |row: u8| Self {
            network: u16::from_be_bytes([high, low.wrapping_sub(row)]),
            index: u32::from(row) * ROW_LENGTH + u32::from(last) - 1,
        };
        (0..MAX_ROWS).map(host).collect()
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn all_workers_of_a_large_job_have_an_address_of_their_own() {
        let id = "05ff0000-0000-0000-0000-000000000000";
        assert_eq!(address(id, 0), "127.6.255.1");
        assert_eq!(address(id, 254), "127.6.0.1");
        let addresses: BTreeSet<Ipv4Addr> =
            (0..2000).map(|index| address(id, index).parse().unwrap()).collect();
        assert_eq!(addresses.len(), 2000);
    }
}
