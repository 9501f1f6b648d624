// The links there are: one kind, over the kinds of transport (nla/transport.h), and the transport
// that links can change to while they run.
#pragma once

#include <memory>

#include "nla/link/link.h"
#include "nla/link/tls.h"

namespace scela::nla {

struct ReadBuffer;

// `buffer` is scratch space shared by everything that reads in this thread; it outlives the link.
std::unique_ptr<Link> make_stream_link(ReadBuffer& buffer, LinkId id, LinkListener& listener);

}  // namespace scela::nla
