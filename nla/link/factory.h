// The links there are: one kind, over the kinds of transport (nla/io/transport.h). Also the
// transport to which links can change while they run (tls.h). Used by the shell, on its loop.
#pragma once

#include <memory>

#include "nla/link/link.h"
#include "nla/link/tls.h"

namespace scela::nla {

struct ReadBuffer;

// `buffer` is scratch space shared by everything that reads in this thread; it must outlive the
// link.
std::unique_ptr<Link> make_stream_link(ReadBuffer& buffer, LinkId id, LinkListener& listener);

}  // namespace scela::nla
