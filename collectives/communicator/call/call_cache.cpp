#include "collectives/communicator/call/call_cache.h"

#include <cstdint>

namespace scela::collectives {

CallSignature::CallSignature(const Collective::Inside& call)
    : operation(call.operation),
      reduction(call.reducer ? call.reducer->op() : ReduceOp::sum),
      input_type(call.input.type()),
      output_type(call.output.type()),
      reduces(call.reducer.has_value()),
      in_place(call.input.is_in_place()),
      has_input(call.input.data() != nullptr),
      has_output(call.output.data() != nullptr),
      root(call.root),
      input_count(call.input.count()),
      input_element(call.input.element_bytes()),
      output_count(call.output.count()),
      output_element(call.output.element_bytes()) {}

std::size_t CallSignature::hash() const {
  std::size_t sum = static_cast<std::size_t>(operation) * 31 + static_cast<std::size_t>(root);
  for (const std::size_t part : {input_count, input_element, output_count, output_element})
    sum = (sum ^ part) * 0x9e37'79b9'7f4a'7c15;
  return sum >> 40;
}

// The sizes are not checked yet, so the end of a buffer may be no valid address.
bool has_signature(const Collective::Inside& call) {
  if (call.has_parts || (call.reducer && call.reducer->function() != nullptr)) return false;
  if (call.input.data() == nullptr || call.output.data() == nullptr) return true;
  const auto in = reinterpret_cast<std::uintptr_t>(call.input.data());
  const auto out = reinterpret_cast<std::uintptr_t>(call.output.data());
  if (in < out) return out - in >= call.input.bytes();
  if (out < in) return in - out >= call.output.bytes();
  return call.input.bytes() == 0 || call.output.bytes() == 0;
}

}  // namespace scela::collectives
