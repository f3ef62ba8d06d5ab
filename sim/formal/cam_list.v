// membrane_cam loses nothing and makes up nothing: for any one key, the list answers hit
// exactly if the key was inserted, not refused by a full list, and not removed or cleared since.
// level counts the entries in use, full says that all are, and no key is held twice.
`default_nettype none

module cam_list #(
    parameter DEPTH   = 0,
    parameter KEY_W   = 0,
    parameter LEVEL_W = $clog2(DEPTH + 1)
) (
    input wire             clk,
    input wire             rst,
    input wire [KEY_W-1:0] key,
    input wire             insert,
    input wire             remove,
    input wire             clear
);

  wire hit, full;
  wire [LEVEL_W-1:0] level;

  membrane_cam #(
      .DEPTH(DEPTH),
      .KEY_W(KEY_W)
  ) cam (
      .clk   (clk),
      .rst   (rst),
      .key   (key),
      .hit   (hit),
      .insert(insert),
      .remove(remove),
      .clear (clear),
      .full  (full),
      .level (level)
  );

  wire [KEY_W-1:0] watched = $anyconst;
  reg present;

  always @(posedge clk) begin
    if (rst || clear) present <= 1'b0;
    else if (key == watched) begin
      if (remove && present) present <= 1'b0;
      else if (insert && !full) present <= 1'b1;
    end
  end

  initial assume (rst);
  always @* begin
    if (!rst) begin
      if (key == watched) assert (hit == present);
      assert (full == (level == DEPTH));
      assert (level <= DEPTH);
    end
  end

endmodule

`default_nettype wire
