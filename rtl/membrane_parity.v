// Remembers that a memory row with wrong parity was read: a soft error that showed.
//
// Ports
//   read      the memory reads in this cycle; it shows the row in the next
//   bad       what the memory shows has wrong parity
//   error     a row with wrong parity was read
//
// Behaviour
//   Parity:   rows are stored with one bit more on top, so that the number of ones is
//             even: bad is the exclusive or of all bits that the memory shows.
//   Read:     of a row read in cycle t, bad counts in t + 1, and error is high from
//             t + 2 on until reset. In other cycles bad does not count: a memory that
//             was not read yet shows anything.
//   Reset:    error is low after it; a read in its cycle is not checked.
`default_nettype none

module membrane_parity (
    input  wire clk,
    input  wire rst,
    input  wire read,
    input  wire bad,
    output reg  error
);

  reg fresh;  // the memory shows what it read in the last cycle

  always @(posedge clk) begin
    if (rst) begin
      fresh <= 1'b0;
      error <= 1'b0;
    end else begin
      fresh <= read;
      if (fresh && bad) error <= 1'b1;
    end
  end

endmodule

`default_nettype wire
