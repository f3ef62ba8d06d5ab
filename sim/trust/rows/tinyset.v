// TinySet: the blocks that requests can leave in a row, or a few more.
//
// As many last bits as chains that are not empty, and zeros behind the live slots: in the last bits
// up to C, and in the fingerprints. The parameters are those of the core.
`default_nettype none

module row_rule #(
    parameter CHAINS = 0,
    parameter ARRAY = 0,
    parameter F_MAX = 0,
    parameter C_MAX = 0,
    parameter REMOVALS = 0,
    parameter WIDTH = 0
) (
    input  wire [WIDTH-1:0] row,
    output wire             legal
);

  function integer root(input integer n);
    begin
      root = 1;
      while ((root + 1) * (root + 1) <= n) root = root + 1;
    end
  endfunction

  localparam LONGEST = (F_MAX == 0) ? root(ARRAY) : F_MAX;
  localparam SLOTS = (C_MAX == 0) ? ARRAY / 2 : C_MAX;
  localparam SLOT_W = $clog2(SLOTS + 1);

  // Where slot i of c begins; that of no slots at all is 0.
  function integer place(input integer i, input integer c);
    integer size;
    begin
      size  = (c == 0) ? 0 : ARRAY / c - 1;
      place = c + i * ((size > LONGEST) ? LONGEST : size);
      if (c > 0 && size < LONGEST) place = place + ((i < ARRAY % c) ? i : ARRAY % c);
    end
  endfunction

  wire [CHAINS-1:0] index = row[CHAINS-1:0];
  wire [ARRAY-1:0] array = row[CHAINS+:ARRAY];

  // A bit for each pair of C slots and live ones among them.
  wire [(SLOTS+1)*(SLOTS+1)-1:0] fits;
  assign legal = |fits;

  genvar c, l;
  generate
    for (c = 0; c <= SLOTS; c = c + 1) begin : g_slots
      for (l = 0; l <= SLOTS; l = l + 1) begin : g_live
        if (l > c || (REMOVALS == 0 && l != c)) begin : g_never
          assign fits[c*(SLOTS+1)+l] = 1'b0;
        end else begin : g_maybe
          reg same, empty, counted;
          always @* begin : check
            integer i;
            reg [7:0] chains, lasts;
            chains = 8'd0;
            lasts  = 8'd0;
            empty  = 1'b1;
            for (i = 0; i < CHAINS; i = i + 1) chains = chains + {7'd0, index[i]};
            for (i = 0; i < l; i = i + 1) lasts = lasts + {7'd0, array[i]};
            for (i = l; i < c; i = i + 1) if (array[i]) empty = 1'b0;
            for (i = place(l, c); i < ARRAY; i = i + 1) if (array[i]) empty = 1'b0;
            same    = chains == lasts && (l == 0 || array[(l==0)?0 : l-1]);
            counted = REMOVALS == 0 || (row >> (CHAINS + ARRAY)) == c;
          end
          assign fits[c*(SLOTS+1)+l] = same && empty && counted;
        end
      end
    end
  endgenerate

endmodule

`default_nettype wire
