//! Run Verilog designs from Rust.
//!
//! Given Verilog sources, a top module and parameters, this crate runs
//! [Verilator](https://verilator.org), builds a shared library around the
//! design, keeps it in a cache and loads it. A call to [`Model::run`] moves
//! packed pins in and out for many clock cycles, so that the cost of crossing
//! the language border does not count.
//!
//! ```no_run
//! use verilated::{Builder, Init, Source, Toolchain};
//!
//! let text = "module count #(parameter STEP = 1) (input clk, input rst, output reg [7:0] n);
//!                 always @(posedge clk) n <= rst ? 8'd0 : n + STEP[7:0];
//!             endmodule";
//! let tools = Toolchain::find(&[])?;
//! let library = Builder::new("count")
//!     .source(Source::new("count.v", text))
//!     .param("STEP", 3)
//!     .build(&tools)?;
//! let mut model = library.instantiate(Init::Zero)?;
//!
//! // One word per cycle on either side: `rst` at bit 0 in, `n` at bits 0..8 out.
//! let inputs = [1, 0, 0, 0];
//! let mut outputs = [0; 4];
//! model.run(4, &inputs, &mut outputs)?;
//! assert_eq!(outputs[1..], [0, 3, 6]);
//! # Ok::<(), verilated::Error>(())
//! ```
//!
//! # What a cycle is
//!
//! Row `t` of the inputs is applied with the clock low, the design settles, the
//! outputs are sampled into row `t`, and the clock rises. Outputs are so those
//! that a flip-flop outside the design, on the same clock, would capture at
//! that edge: a registered output shows what was loaded the cycle before, a
//! combinational one already sees the inputs of its own row. The falling edge
//! comes together with the next row's inputs.
//!
//! # Packing
//!
//! A row is [`Layout::words`] words of 64 bits. Pins lie next to each other with
//! no gaps, the first at bit 0 of word 0, and may straddle words; the [`Layout`]
//! of either side gives each pin's place, and [`Layout::get`] and
//! [`Layout::set`] move single pins.
//!
//! # Versions
//!
//! Verilator 5.006 and later, and any C++17 compiler. Neither make, Perl nor
//! Python is run.
#![deny(unsafe_code)]

mod build;
mod builder;
mod cache;
mod error;
#[allow(unsafe_code)] // calls into the built model: the one module that needs it
mod ffi;
mod layout;
mod library;
mod memories;
mod model;
mod ports;
mod shim;
mod source;
mod toolchain;
mod trace;
mod vcd;

pub use builder::{Builder, Opt};
pub use error::Error;
pub use layout::{Layout, PinSlot};
pub use library::Library;
pub use model::{Init, MemoryInfo, Model};
pub use source::{Param, Source};
pub use toolchain::Toolchain;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
