// TinySet, remove: takes one slot out of the array and closes the gap.
//
// Parameters
//   ARRAY      bits of the array
//   F_MAX      longest fingerprint
//   C_MAX      most slots
//
// Ports
//   array      the array before the removal
//   slots      number of slots C; it stays
//   first      first slot of the item's chain
//   at, width  where the item's fingerprint lies, and its bits
//   pad        the item's slot is extended: the slot that moves up into the last
//              extended one is padded with a 0
//   pad_at     where that 0 goes
//   left       the array after the removal
//
// Behaviour
//   Combinational. Of the chain's last bits, zeros and a one, the first goes; zeros
//   move in from above, because slots behind the live ones are 0.
`default_nettype none

module membrane_tinyset_unpack #(
    parameter ARRAY  = 0,
    parameter F_MAX  = 0,
    parameter C_MAX  = 0,
    parameter POS_W  = $clog2(ARRAY + 1),  // derived: leave it
    parameter S_W    = $clog2(F_MAX + 1),  // derived: leave it
    parameter SLOT_W = $clog2(C_MAX + 1)   // derived: leave it
) (
    input  wire [ ARRAY-1:0] array,
    input  wire [SLOT_W-1:0] slots,
    input  wire [SLOT_W-1:0] first,
    input  wire [ POS_W-1:0] at,
    input  wire [   S_W-1:0] width,
    input  wire              pad,
    input  wire [ POS_W-1:0] pad_at,
    output wire [ ARRAY-1:0] left
);

  wire [ARRAY-1:0] flags = ~({ARRAY{1'b1}} << slots);
  wire [ARRAY-1:0] below_first = ~({ARRAY{1'b1}} << first);
  wire [ARRAY-1:0] below_at = ~({ARRAY{1'b1}} << at);
  wire [ARRAY-1:0] below_pad = pad ? ~({ARRAY{1'b1}} << pad_at) : {ARRAY{1'b1}};

  wire [ARRAY-1:0] last = array & flags;
  wire [ARRAY-1:0] closed = (array & below_at) | ((array >> width) & ~below_at);
  wire [ARRAY-1:0] padded = (closed & below_pad) | ((closed & ~below_pad) << 1);

  assign left = (last & below_first) | ((last >> 1) & ~below_first) | (padded & ~flags);

endmodule

`default_nettype wire
