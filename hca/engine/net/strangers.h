// The strangers: connections that this node has accepted and that have not proved that they know
// the key, and when they came. Fabric uses it, on the engine's one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "hca/core/model/engine.h"

namespace scela::hca {

// The strangers by their numbers in PeerLinks; times are nanoseconds.
class Strangers {
 public:
  // Adds a connection that came at `now`. Its number is larger than those of earlier ones.
  void add(std::uint32_t id, Moment now) { came_.emplace(id, now); }
  // Removes a connection. Returns when it came, or std::nullopt if it is no stranger (any more).
  std::optional<Moment> remove(std::uint32_t id) {
    const auto found = came_.find(id);
    if (found == came_.end()) return std::nullopt;
    const Moment came = found->second;
    came_.erase(found);
    return came;
  }
  // Returns true if the connection is a stranger.
  bool contains(std::uint32_t id) const { return came_.contains(id); }
  std::size_t size() const { return came_.size(); }

  // A stranger: its number, and when it came.
  struct Stranger {
    std::uint32_t id = 0;
    Moment came = 0;
  };
  // Returns the stranger that came first, or std::nullopt if there is none.
  std::optional<Stranger> oldest() const {
    if (came_.empty()) return std::nullopt;
    return Stranger{came_.begin()->first, came_.begin()->second};
  }

 private:
  std::map<std::uint32_t, Moment> came_;
};

}  // namespace scela::hca
