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

struct NameQuery {
  std::string name;        // or a numeric address
  int family = AF_UNSPEC;  // AF_INET or AF_INET6
  friend auto operator<=>(const NameQuery&, const NameQuery&) = default;
};

struct NameAnswer {
  // A numeric address, with the scope if it is link-local. It is empty if there is none.
  std::string address;
  std::string why;  // the error, if there is no address
  std::string hint;
};

struct NameLookupLimits {
  std::size_t threads = 32;                  // more make usual servers drop queries
  std::chrono::milliseconds timeout{15000};  // for all names together
};

// Returns getaddrinfo's first address, which ssh tries first too. It blocks.
NameAnswer look_up_name(const NameQuery& query);

// Returns one answer per query, in the order of the queries. `look_up` is called from several
// threads and must not refer to the caller's local data. Numeric addresses need no name service.
std::vector<NameAnswer> look_up_names(
    const std::vector<NameQuery>& queries, const NameLookupLimits& limits = {},
    const std::function<NameAnswer(const NameQuery&)>& look_up = look_up_name);

}  // namespace scela
