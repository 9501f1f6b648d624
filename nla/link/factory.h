// The kinds of link there are. A socket pair's end is a stream like any other connected descriptor.
#pragma once

#include <memory>

#include "nla/link/link.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

struct ReadBuffer;

// `buffer` is scratch space shared by everything that reads in this thread; both outlive the link.
std::unique_ptr<Link> make_stream_link(boost::asio::io_context& io, ReadBuffer& buffer, LinkId id,
                                       LinkListener& listener);

}  // namespace scela::nla
