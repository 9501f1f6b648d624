// Names of hosts turned into addresses, many at a time.
//
// The name service answers one name at a time and may take seconds for each: a bounded number of
// threads ask it, and what has not answered by the deadline is an error. Blocks until all are
// answered or the time is over. Threads that still wait then are left behind; they hold nothing of
// the caller's and end with the process.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace scela {

struct NameQuery {
  std::string name;        // or a numeric address, which asks nobody
  int family = AF_UNSPEC;  // AF_INET, AF_INET6
  friend auto operator<=>(const NameQuery&, const NameQuery&) = default;
};

struct NameAnswer {
  std::string address;  // numeric, with the scope of a link-local one; empty: none
  std::string why;      // of none: what the name service said
  std::string hint;
};

struct NameLookupLimits {
  std::size_t threads = 32;                  // beyond that, usual name servers drop questions
  std::chrono::milliseconds timeout{15000};  // for all of them together
};

// getaddrinfo's first address, which is the one that ssh tries first.
NameAnswer look_up_name(const NameQuery& query);

// One answer per query, in their order. `look_up` is called from several threads.
std::vector<NameAnswer> look_up_names(
    const std::vector<NameQuery>& queries, const NameLookupLimits& limits = {},
    const std::function<NameAnswer(const NameQuery&)>& look_up = look_up_name);

}  // namespace scela
