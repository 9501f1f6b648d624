#include "launcher/hosts/host_finder.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/process/blocked_signals.h"

namespace scela {

struct HostFinder::Answers {
  std::mutex mutex;
  std::vector<HostLookup> found;
  Fd doorbell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

HostFinder::HostFinder(boost::asio::io_context& io, Find find, Found found)
    : io_(io), find_(std::move(find)), found_(std::move(found)) {}
HostFinder::~HostFinder() = default;

void HostFinder::find(const std::vector<std::string>& hosts) {
  const auto refused = [&](const std::string& why) {
    std::vector<HostLookup> none;
    for (const std::string& host : hosts)
      none.push_back({host, {}, cat(host, ": look it up: ", why)});
    found_(none);
  };
  if (!doorbell_) {
    answers_ = std::make_shared<Answers>();
    doorbell_ = std::make_unique<Watched>(io_, answers_->doorbell.get());
    if (!answers_->doorbell || !doorbell_->open()) {
      doorbell_.reset();
      return refused("there are no descriptors left");
    }
    listen();
  }
  try {
    // The thread may outlive the session, and must take no signal of a later search for hosts.
    const BlockedSignals blocked;
    std::thread([hosts, find = find_, answers = answers_] {
      std::vector<HostLookup> found = find(hosts);
      {
        const std::lock_guard lock(answers->mutex);
        for (HostLookup& host : found)
          answers->found.push_back(std::move(host));
      }
      const std::uint64_t one = 1;
      static_cast<void>(::write(answers->doorbell.get(), &one, sizeof one));
    }).detach();
  } catch (const std::system_error& error) {
    refused(error.what());
  }
}

void HostFinder::listen() {
  doorbell_->wait_readable([this] {
    std::uint64_t rung = 0;
    static_cast<void>(::read(answers_->doorbell.get(), &rung, sizeof rung));
    std::vector<HostLookup> found;
    {
      const std::lock_guard lock(answers_->mutex);
      found.swap(answers_->found);
    }
    listen();
    found_(found);
  });
}

void HostFinder::close() {
  if (doorbell_) doorbell_->close();
}

}  // namespace scela
