// Hosts looked up beside the event loop: the name service may take seconds, and nothing that runs
// must wait for it.
//
// One thread for each question, left behind if the session ends first: it holds nothing of the
// session's. Answers come in the loop's own thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/plan.h"
#include "launcher/watched.h"

namespace scela {

class HostFinder {
 public:
  using Find = std::function<std::vector<FoundHost>(const std::vector<std::string>& hosts)>;
  using Found = std::function<void(const std::vector<FoundHost>& hosts)>;

  HostFinder(boost::asio::io_context& io, Find find, Found found);
  ~HostFinder();
  HostFinder(const HostFinder&) = delete;
  HostFinder& operator=(const HostFinder&) = delete;

  void find(const std::vector<std::string>& hosts);
  void close();  // no answer comes any more

 private:
  struct Answers;
  void listen();

  boost::asio::io_context& io_;
  const Find find_;
  const Found found_;
  std::shared_ptr<Answers> answers_;
  std::unique_ptr<Watched> bell_;
};

}  // namespace scela
