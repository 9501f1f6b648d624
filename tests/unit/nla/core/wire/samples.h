// Generated values of what nla/core writes to wires and logs, for round trips: every alternative of
// Message, with members drawn from a seed so that each takes small, large and empty values.
#pragma once

#include <cstddef>
#include <string>

#include "common/core/random.h"
#include "nla/core/wire/agent_messages.h"
#include "nla/core/wire/job.h"

namespace scela::nla::samples {

std::uint32_t number(Random& random);  // of any magnitude
std::uint64_t large_number(Random& random);
std::string text(Random& random, std::size_t longest = 40);  // any bytes
Chunk chunk(Random& random, std::size_t longest = 200);
RankSet ranks(Random& random);
Outcome outcome(Random& random);
Job job(Random& random);  // valid

// The alternative of Message at `index`.
Message message(Random& random, std::size_t index);

// Equality of messages member by member; LogRecord has no == that Message's own could use.
bool same(const Message& a, const Message& b);

}  // namespace scela::nla::samples
