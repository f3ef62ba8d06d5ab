//! Membrane: membership filters for hardware.
//!
//! Every filter has three views that must never disagree:
//!
//! 1. **Functional** ([`Filter`]): insert, query and remove keys, as fast as a
//!    CPU can. This is the software emulation of the hardware: same hash, same
//!    bits, same answers.
//! 2. **Clocked** ([`Clocked`]): one call per rising edge, input pins in, output
//!    pins out. It wraps the functional model and adds only time.
//! 3. **RTL**: the Verilog in `rtl/`, with the same pins in the same cycle.
//!
//! Dependence goes one way: [`hash`], [`sram`], [`cam`], [`block_port`] and [`pins`] know nothing of
//! filters; a functional model knows nothing of clocks; [`vectors`] know only
//! pins; [`cosim`] knows only vectors and pins. A filter joins by one line in
//! [`registry`].
//!
//! ```
//! use membrane::{Filter, partitioned::{Config, Partitioned}};
//!
//! let config = Config { banks: 7, rows: 1 << 16, key_w: 64, ..Config::default() };
//! let mut filter = Partitioned::new(&config)?;
//! filter.insert(&[0xfeed]);
//! assert!(filter.contains(&[0xfeed]));
//! # Ok::<(), membrane::ConfigError>(())
//! ```
#![deny(unsafe_code)]

mod ahead;
pub mod analysis;
pub mod balanced;
pub mod batch;
pub mod block_port;
pub mod blocked;
pub mod cam;
pub mod clocked;
#[cfg(feature = "cosim")]
pub mod cosim;
pub mod cpu;
pub mod curves;
pub mod each;
#[cfg(feature = "keys")]
pub mod emulate;
pub mod export;
pub mod filter;
pub mod hash;
pub mod image;
#[cfg(feature = "keys")]
pub mod keys;
pub mod parallel;
pub mod params;
pub mod parity;
pub mod partitioned;
pub mod pins;
pub mod plot;
pub mod registry;
pub mod report;
pub mod repro;
#[cfg(test)]
mod roads;
pub mod size;
pub mod sram;
pub mod stimulus;
pub mod tinyset;
pub mod vectors;
pub mod whole;

pub use clocked::Clocked;
pub use filter::{Answer, Filter, Op, Status};
pub use params::{ConfigError, Params};
pub use registry::Core;
