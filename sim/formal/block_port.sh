#!/bin/sh
# Bounded proofs of membrane_block_port's order (block_port_order.v), by the SAT solver
# built into Yosys; then the same with the port broken on purpose, which must fail.
# Needs yosys on the PATH, or YOSYS. Exit code 0: all as expected.
set -u
cd "$(dirname "$0")/../.." || exit 2
YOSYS=${YOSYS:-yosys}
work=$(mktemp -d ./formal.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
port=rtl/membrane_block_port.v
bad=0

# prove STAGES MASKED DEPTH FILE -> proven, refuted, or the tool's last words
prove() {
  "$YOSYS" -p "read_verilog -formal -defer $4 rtl/membrane_sram_1p.v \
      tests/rtl/block_port_user.v sim/formal/block_port_order.v; \
    hierarchy -check -top block_port_order -chparam STAGES $1 -chparam MASKED $2; \
    proc; flatten; opt_clean; memory; async2sync; chformal -lower; opt -full; \
    sat -seq $3 -set-at 1 rst 1 -prove-asserts -prove-skip 1 -set-assumes block_port_order" \
    >"$work/log" 2>&1
  if grep -q 'no model found: SUCCESS' "$work/log"; then echo proven
  elif grep -q 'model found: FAIL' "$work/log"; then echo refuted
  else tail -3 "$work/log"; fi
}

expect() { # WANTED GOT WHAT
  if [ "$1" = "$2" ]; then echo "ok: $3: $2"; else echo "NOT AS EXPECTED: $3: $2"; bad=1; fi
}

for case in "0 0 16" "0 1 14" "1 0 14" "1 1 14" "2 0 13" "2 1 13" "3 0 13" "3 1 13"; do
  set -- $case
  expect proven "$(prove "$1" "$2" "$3" $port)" "STAGES $1, MASKED $2, $3 cycles"
done

# Each line: a sed expression that breaks the port.
while read -r broken; do
  sed "$broken" $port >"$work/port.v"
  if cmp -s $port "$work/port.v"; then echo "NOT AS EXPECTED: nothing to replace: $broken"; bad=1; continue; fi
  expect refuted "$(prove 2 1 12 "$work/port.v")" "$broken"
done <<'MUTATIONS'
s/wire hazard = |hazards;/wire hazard = 1'b0;/
s/assign hazards\[s\] = valid\[s\]/assign hazards[s] = s > 0 \&\& valid[s]/
s/(write_back || hazard)/(hazard)/
s/modify\[STAGES\] && wb_write/modify[STAGES]/
s/!cleared && valid == 0/!cleared/
s/write_back ? rows\[STAGES\*ROW_W+:ROW_W\]/write_back ? rows[0+:ROW_W]/
s/{WIDTH{1'b1}} : op_wmask/{WIDTH{1'b1}} : {WIDTH{1'b1}}/
MUTATIONS
exit $bad
