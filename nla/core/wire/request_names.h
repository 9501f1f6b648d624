// The names that the agent uses for requests of ranks (common/core/requests/rank_request.h), and
// the ids and tags that it keeps for itself. Values only, for any thread.
#pragma once

#include <cstdint>

#include "common/core/requests/rank_request.h"

namespace scela::nla {

namespace ask = scela::ask;
using ask::CollectiveKind;
using ask::KeyValues;
using ask::NameAct;
using ask::NameRange;
using ask::Request;
using ask::RequestId;
using ask::Response;
using ask::SpawnProgram;
using ask::SpawnRequest;
using ask::Stops;

// The id of a message that comes without having been asked for.
inline constexpr RequestId kUnasked = 0;
// Messages with this tag or a higher one are for the server of the destination on its node, not for
// the rank itself. They are handed over at once, as a response with the parts source (varint), tag
// (varint) and bytes, even if the rank has ended.
inline constexpr std::uint32_t kServiceTags = 0xfffffff0;

}  // namespace scela::nla
