#include "launcher/hosts/late/join_watch.h"

#include <chrono>
#include <utility>

namespace scela {

JoinWatch::JoinWatch(boost::asio::io_context& io, std::shared_ptr<JoinedAgents> joined,
                     bool takes_late, Hooks hooks)
    : joined_(std::move(joined)), hooks_(std::move(hooks)), ready_(io, joined_->descriptor()) {
  joined_->begin(takes_late);
  joined_->tell_by(hooks_.tell);
  if (ready_.open()) wait();
}

JoinWatch::~JoinWatch() {
  joined_->tell_by({});
}

void JoinWatch::wait() {
  ready_.wait_readable([this] {
    joined_->serve(std::chrono::milliseconds(0));
    for (const HostEntry& host : joined_->late())
      hooks_.came(host);
    wait();
  });
}

}  // namespace scela
