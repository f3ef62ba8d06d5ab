#!/bin/sh
# Area of a module on an ECP5: LUT4, carry cells, flip-flops and block RAM.
#
#   scripts/area.sh membrane_cam DEPTH=32 KEY_W=32
#
# $YOSYS is the Yosys to run (default: yosys on the PATH). A carry cell (CCU2C)
# takes the place of two LUT4, and is counted as such in the last column.
set -eu

if [ $# -lt 1 ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
module=$1
shift
set_params=""
for param in "$@"; do
  case $param in
    *=*) set_params="$set_params -chparam ${param%%=*} ${param#*=}" ;;
    *) echo "area.sh: $param is not NAME=VALUE" >&2; exit 2 ;;
  esac
done
cd "$(dirname "$0")/.."
yosys=${YOSYS:-yosys}
if ! command -v "$yosys" >/dev/null; then
  echo "area.sh: no $yosys: install Yosys, or name one in \$YOSYS" >&2
  exit 1
fi
# A name below this folder: Yosys from a wheel sees no other, and loses its standard
# output once it has run ABC.
mkdir -p target
report=$(mktemp target/area.XXXXXX)
trap 'rm -f "$report" "$report.log"' EXIT
if ! "$yosys" -q -l "$report.log" -p "read_verilog -defer rtl/*.v
    hierarchy -check -top $module $set_params
    synth_ecp5
    setattr -mod -unset keep_hierarchy *
    flatten
    tee -q -o $report stat" >/dev/null 2>&1 || ! grep -q TRELLIS_FF "$report"; then
  tail -n 20 "$report.log" >&2
  echo "area.sh: Yosys could not synthesize $module $*" >&2
  exit 1
fi
cells() {
  # The last word of the log counts; "LUT4 12" in older versions, "12 LUT4" in newer.
  awk -v cell="$1" '$1 == cell { n = $2 } $2 == cell { n = $1 } END { print n + 0 }' "$report"
}
lut4=$(cells LUT4)
carry=$(cells CCU2C)
printf '%s %s: LUT4 %d, CCU2C %d, TRELLIS_FF %d, DP16KD %d, TRELLIS_DPR16X4 %d; LUT4 with carry %d\n' \
  "$module" "$*" "$lut4" "$carry" "$(cells TRELLIS_FF)" "$(cells DP16KD)" "$(cells TRELLIS_DPR16X4)" \
  $((lut4 + 2 * carry))
