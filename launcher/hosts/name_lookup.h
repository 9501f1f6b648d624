// Resolves host names to addresses, many at a time. ssh_hosts.cpp uses it.
//
// The name service answers one name at a time and may take seconds for each, so a bounded number of
// threads ask it. A name without an answer by the deadline gets an error. look_up_names() blocks
// until all names are answered or the time is over. Threads that still wait then are left behind;
// they hold no reference to the caller's data and end with the process.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace scela {

// A question to the name service.
struct NameQuery {
  std::string name;        // a host name or a numeric address
  int family = AF_UNSPEC;  // or AF_INET, AF_INET6
  friend auto operator<=>(const NameQuery&, const NameQuery&) = default;
};

// The answer to one NameQuery: an address, or the reason why there is none.
struct NameAnswer {
  // A numeric address (IPv4 or IPv6), with the scope if it is link-local. It is empty if there is
  // none.
  std::string address;
  std::string why;   // the error, if there is no address
  std::string hint;  // what to do about the error; may be empty
};

// The interval at which NameLookupLimits::stop is asked. ^C would seem to have no effect if it were
// longer.
inline constexpr std::chrono::milliseconds kStopInterval{100};

// The limits of one call of look_up_names().
struct NameLookupLimits {
  std::size_t threads = 32;                  // more make usual servers drop queries
  std::chrono::milliseconds timeout{15000};  // for all names together
  // Asked now and then by the caller's thread, if it is set: the time is over once it returns true.
  std::function<bool()> stop = {};
};

// Returns the first address that getaddrinfo reports, which ssh tries first too. It blocks.
NameAnswer look_up_name(const NameQuery& query);

// Returns one answer per query, in the order of the queries. Blocks until all queries are answered
// or limits.timeout is over; queries without an answer then get an error. Numeric addresses need no
// name service. The other queries are passed to `look_up`, from several threads. It must not refer
// to the caller's local data.
std::vector<NameAnswer> look_up_names(
    const std::vector<NameQuery>& queries, const NameLookupLimits& limits = {},
    const std::function<NameAnswer(const NameQuery&)>& look_up = look_up_name);

}  // namespace scela
