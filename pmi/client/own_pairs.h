// The key-value space of a process that no launcher has started, for the two client libraries.
// Several threads may use it at the same time, as they may use a connection.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace scela::pmi::client {

class OwnPairs {
 public:
  using Map = std::map<std::string, std::string, std::less<>>;

  // Adds the pair, or replaces the value of its key.
  void put(std::string key, std::string value) {
    const std::lock_guard lock(turn());
    pairs_.insert_or_assign(std::move(key), std::move(value));
  }
  // Returns a copy of the value, or std::nullopt if no such pair was put.
  std::optional<std::string> find(std::string_view key) const {
    const std::lock_guard lock(turn());
    const auto at = pairs_.find(key);
    if (at == pairs_.end()) return std::nullopt;
    return at->second;
  }
  // Returns all pairs and leaves the space empty.
  Map take() {
    const std::lock_guard lock(turn());
    return std::exchange(pairs_, {});
  }

 private:
  // Returns the mutex of all objects. It is no member, because the libraries reset their state by
  // assigning a new one.
  static std::mutex& turn() {
    static std::mutex one;
    return one;
  }
  Map pairs_;
};

}  // namespace scela::pmi::client
