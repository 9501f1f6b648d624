// The key-value space of a process that no launcher has started. Threads may use it at once, as
// they may a connection.
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

  void put(std::string key, std::string value) {
    const std::lock_guard lock(turn());
    pairs_.insert_or_assign(std::move(key), std::move(value));
  }
  std::optional<std::string> find(std::string_view key) const {
    const std::lock_guard lock(turn());
    const auto at = pairs_.find(key);
    if (at == pairs_.end()) return std::nullopt;
    return at->second;
  }
  // Leaves none.
  Map take() {
    const std::lock_guard lock(turn());
    return std::exchange(pairs_, {});
  }

 private:
  // Not a member: what a library knows is forgotten by an assignment.
  static std::mutex& turn() {
    static std::mutex one;
    return one;
  }
  Map pairs_;
};

}  // namespace scela::pmi::client
