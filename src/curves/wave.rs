//! A few requests at the pins of a clocked model.

use super::{CurvesError, Wave};
use crate::{
    filter::Op,
    pins::{FilterPins, Inputs},
    plot::Signal,
    registry::Core,
    size::ForecastError,
};

/// The preset that is small enough to follow by hand.
const PRESET: &str = "tiny";
const SCRIPT: &str = "a query that misses, an insert of the same key, a query that hits, and a query of \
                      another key, offered without a pause; the first response is taken two cycles late";
const REQUESTS: [(Op, u64); 4] =
    [(Op::Query, 0x2a), (Op::Insert, 0x2a), (Op::Query, 0x2a), (Op::Query, 0x63)];
/// Cycles for which the first response waits.
const HELD: u64 = 2;

/// From the cycle before the first request to the one after the last response.
pub fn record(core: &dyn Core) -> Result<Wave, CurvesError> {
    let presets = core.presets();
    let preset = presets.iter().find(|preset| preset.name == PRESET).unwrap_or(&presets[0]);
    let params = core.check(&preset.params()).map_err(ForecastError::from)?;
    let mut model = core.clocked(&params).map_err(ForecastError::from)?;
    let pins = FilterPins::of(model.pins()).expect("the model of a filter core");
    let mut row = vec![0; pins.map().input_words()];
    let mut output = [0];

    // The start-up sweep is not shown.
    let idle = Inputs { rsp_ready: true, ..Inputs::default() };
    pins.write_inputs(&idle, &vec![0; pins.key_words()], &mut row);
    loop {
        model.clock(&row, &mut output)?;
        if pins.read_outputs(&output).req_ready {
            break;
        }
    }

    let names = ["req_valid", "req_ready", "req_op", "req_key", "req_tag"].into_iter();
    let names = names.chain(["rsp_valid", "rsp_ready", "rsp_hit", "rsp_status", "rsp_tag", "busy"]);
    let signal = |name: &str| Signal { name: name.into(), values: Vec::new() };
    let mut signals: Vec<_> = names.map(signal).collect();
    let (mut sent, mut answered, mut held) = (0, 0, 0);
    // The last two cycles show that nothing follows.
    let mut rest = 2;
    let mut first = true;
    while rest > 0 {
        let request = REQUESTS.get(sent).filter(|_| !first);
        first = false;
        let (op, low) = request.copied().unwrap_or_default();
        let mut key = vec![0; pins.key_words()];
        key[0] = low;
        let waits = answered == 0 && held < HELD;
        let inputs =
            Inputs { req_valid: request.is_some(), op, tag: sent as u64, rsp_ready: !waits, rst: false };
        pins.write_inputs(&inputs, &key, &mut row);
        model.clock(&row, &mut output)?;
        let outputs = pins.read_outputs(&output);

        let bit = |bit: bool| Some(u8::from(bit).to_string());
        let asked = |text: String| request.map(|_| text);
        let answer = |text: String| outputs.rsp_valid.then_some(text);
        let values = [
            bit(inputs.req_valid),
            bit(outputs.req_ready),
            asked(format!("{op:?}").to_uppercase()),
            asked(format!("{low:x}")),
            asked(inputs.tag.to_string()),
            bit(outputs.rsp_valid),
            bit(inputs.rsp_ready),
            answer(u8::from(outputs.hit).to_string()),
            answer(outputs.status.to_string()),
            answer(outputs.tag.to_string()),
            bit(outputs.busy),
        ];
        for (signal, value) in signals.iter_mut().zip(values) {
            signal.values.push(value);
        }
        sent += usize::from(inputs.req_valid && outputs.req_ready);
        answered += usize::from(outputs.rsp_valid && inputs.rsp_ready);
        held += u64::from(outputs.rsp_valid && waits);
        rest -= u32::from(answered == REQUESTS.len());
    }
    Ok(Wave { preset: preset.name.into(), script: SCRIPT.into(), signals })
}
