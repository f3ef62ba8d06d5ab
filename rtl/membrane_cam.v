// Overflow list: DEPTH exact keys in registers, all compared with key at once.
//
// Parameters
//   DEPTH   entries
//   KEY_W   bits of a key
//
// Ports
//   key     the key that is searched, inserted or removed
//   hit     key is in the list
//   insert  puts key into the lowest free entry
//   remove  takes key out
//   clear   empties the list
//   full    no entry is free
//   level   entries in use
//
// Behaviour
//   Search:   hit answers key in the same cycle, without a clock edge.
//   Insert:   takes effect at the clock edge. A key that is in the list already
//             (hit) stays there once: no duplicates. A full list without the
//             key refuses: nothing changes. Whoever inserts sees which of these
//             it is by hit and full in the same cycle.
//   Remove:   takes effect at the clock edge; without hit nothing changes. The
//             other keys keep their entries.
//   Together: clear wins over both. insert and remove at once: removes the key
//             if it is there, else inserts it.
//   Reset:    empties the list. Keys are not reset: what is free is not looked at.
`default_nettype none

module membrane_cam #(
    parameter DEPTH   = 0,
    parameter KEY_W   = 0,
    parameter LEVEL_W = $clog2(DEPTH + 1)  // derived: leave it
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [  KEY_W-1:0] key,
    output wire               hit,
    input  wire               insert,
    input  wire               remove,
    input  wire               clear,
    output wire               full,
    output reg  [LEVEL_W-1:0] level
);

  generate
    if (DEPTH < 1 || DEPTH > 1024) begin : g_rule_depth
      membrane_error_DEPTH_must_be_1_to_1024 error ();
    end
    if (KEY_W < 1 || KEY_W > 1024) begin : g_rule_key_w
      membrane_error_KEY_W_must_be_1_to_1024 error ();
    end
  endgenerate

  reg  [DEPTH-1:0] used;
  wire [DEPTH-1:0] match;
  wire [DEPTH-1:0] lowest = ~used & (used + 1'b1);  // the lowest free entry, if any

  assign hit  = |match;
  assign full = &used;

  wire add = insert && !hit && !full;
  wire drop = remove && hit;

  always @(posedge clk) begin
    if (rst || clear) level <= {LEVEL_W{1'b0}};
    else if (add) level <= level + 1'b1;
    else if (drop) level <= level - 1'b1;
  end

  genvar i;
  generate
    for (i = 0; i < DEPTH; i = i + 1) begin : g_entry
      reg [KEY_W-1:0] entry;

      membrane_equal #(
          .WIDTH(KEY_W)
      ) compare (
          .a    (entry),
          .b    (key),
          .en   (used[i]),
          .equal(match[i])
      );

      // A key that is in the list already may be written to a free entry as well:
      // it stays free. So hit is not on the way to the keys.
      always @(posedge clk) if (insert && lowest[i]) entry <= key;

      always @(posedge clk) begin
        if (rst || clear) used[i] <= 1'b0;
        else if (add && lowest[i]) used[i] <= 1'b1;
        else if (remove && match[i]) used[i] <= 1'b0;
      end
    end
  endgenerate

endmodule

`default_nettype wire
