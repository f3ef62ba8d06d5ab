// Test bench: the three steps of an insert without the registers between them.
`default_nettype none

module tinyset_insert #(
    parameter ARRAY  = 0,
    parameter F_MAX  = 0,
    parameter POS_W  = $clog2(ARRAY + 1),
    parameter S_W    = $clog2(F_MAX + 1),
    parameter DROP_W = $clog2(F_MAX + 2)
) (
    input  wire [DROP_W-1:0] near_count,
    input  wire [ POS_W-1:0] near_first,
    input  wire [DROP_W-1:0] far_count,
    input  wire [ POS_W-1:0] far_base,
    input  wire [   S_W-1:0] s,
    input  wire              freed,
    input  wire [ POS_W-1:0] freed_at,
    input  wire [ ARRAY-1:0] array,
    input  wire [ POS_W-1:0] slot,
    input  wire              last,
    input  wire [ POS_W-1:0] at,
    input  wire [   S_W-1:0] width,
    input  wire [ F_MAX-1:0] remainder,
    output wire [ ARRAY-1:0] drop,
    output wire [ ARRAY-1:0] packed_array
);

  wire [DROP_W*ARRAY-1:0] sums;

  membrane_tinyset_drops #(
      .ARRAY(ARRAY),
      .F_MAX(F_MAX)
  ) drops_unit (
      .near_count(near_count),
      .near_first(near_first),
      .far_count (far_count),
      .far_base  (far_base),
      .s         (s),
      .freed     (freed),
      .freed_at  (freed_at),
      .drop      (drop)
  );

  membrane_tinyset_sums #(
      .ARRAY(ARRAY),
      .SUM_W(DROP_W)
  ) sums_unit (
      .drop(drop),
      .sums(sums)
  );

  membrane_tinyset_repack #(
      .ARRAY(ARRAY),
      .F_MAX(F_MAX),
      .SUM_W(DROP_W)
  ) repack_unit (
      .array       (array),
      .drop        (drop),
      .sums        (sums),
      .slot        (slot),
      .last        (last),
      .at          (at),
      .width       (width),
      .remainder   (remainder),
      .packed_array(packed_array)
  );

endmodule

`default_nettype wire
