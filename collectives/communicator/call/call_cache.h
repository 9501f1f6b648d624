// Remembers data for calls of a signature that was seen before. Communicators use it. Two threads
// must not use a CallCache at once.
//
// The signature of a call is everything except the addresses of its bytes. Calls of the v forms and
// of the program's own operations have none: their parts and functions belong to the caller, and
// may change.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "collectives/communicator/call/collective.h"

namespace scela::collectives {

// The signature of a call, of this rank.
struct CallSignature {
  Operation operation = Operation::barrier;
  ReduceOp reduction = ReduceOp::sum;
  ElementType input_type = ElementType::opaque;
  ElementType output_type = ElementType::opaque;
  bool reduces = false;
  bool in_place = false;
  bool has_input = false;  // the address is not null
  bool has_output = false;
  int root = 0;
  std::size_t input_count = 0;     // elements
  std::size_t input_element = 0;   // bytes of an element
  std::size_t output_count = 0;    // elements
  std::size_t output_element = 0;  // bytes of an element

  // Takes the signature of a call. It stands for the call only if has_signature() is true.
  explicit CallSignature(const Collective::Inside& call);
  friend bool operator==(const CallSignature&, const CallSignature&) = default;
  // Returns a hash of all members.
  std::size_t hash() const;
};

// Returns true if this call has a signature that stands for it. A v form, or a call with the
// program's own operation, has none. A call with overlapping buffers has none either: its error
// depends on their addresses.
bool has_signature(const Collective::Inside& call);

// Values by signature, one for each of 64 hash values. A new signature replaces the old one with
// its hash value.
template <class Value>
class CallCache {
 public:
  // Returns the value that was kept for this signature and `by`, or null. `by` is the name of the
  // algorithm in the call, empty if it names none. The value stays valid until keep() replaces it.
  Value* find(const CallSignature& signature, const std::string& by) const {
    Entry* const entry = entries_[signature.hash() % kEntries].get();
    return entry != nullptr && entry->signature == signature && entry->by == by ? &entry->value
                                                                                : nullptr;
  }
  // Keeps a value for this signature and `by`. It replaces the value of another signature with the
  // same hash value modulo 64.
  void keep(const CallSignature& signature, const std::string& by, Value value) {
    entries_[signature.hash() % kEntries] =
        std::make_unique<Entry>(Entry{signature, by, std::move(value)});
  }

 private:
  static constexpr std::size_t kEntries = 64;
  struct Entry {
    CallSignature signature;
    std::string by;
    Value value;
  };
  std::array<std::unique_ptr<Entry>, kEntries> entries_;
};

}  // namespace scela::collectives
