#include "launcher/hosts/node_losses.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/requests/resource_text.h"
#include "common/core/text.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "launcher/core/detect/bulk_output.h"
#include "launcher/core/detect/detect.h"
#include "launcher/core/detect/readers.h"
#include "launcher/core/report/report_text.h"

namespace scela {
namespace {

// A line has at most this many bytes; names are shorter. A longer one is no line of scela-pmix.
constexpr std::size_t kMaxLossLine = 1024;

std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry)
    out.emplace_back(*entry);
  return out;
}

}  // namespace

std::string pmix_tool() {
  const char* const path = std::getenv("PATH");
  const std::string places = cat(own_directory(), ":", path == nullptr ? kUsualPath : path);
  const auto found = find_program(kPmixTool, places, "/");
  return found ? *found : std::string(kPmixTool);
}

void NodeLosses::open(boost::asio::io_context& io) {
  const auto failed = [&](std::string_view why) {
    hooks_.say(cat("losses of nodes are not heard from a PMIx server: ", why));
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return failed(errno_text(errno));
  lines_ = Fd(ends[0]);
  const Fd written(ends[1]);
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CommandSpec spec{{pmix_tool(), "--lost-nodes"}, own_environment(), nothing.get(), true};
  spec.output = written.get();
  auto command = CapturedCommand::start(std::move(spec));
  if (!command) return failed(command.error().why);
  command_ = std::move(*command);
  watched_ = std::make_unique<Watched>(io, lines_.get());
  if (!watched_->open()) return failed("there are no descriptors left");
  wait();
}

void NodeLosses::wait() {
  watched_->wait_readable([this] {
    if (read()) return wait();
    const std::string said = telling_line(bulk_lines(command_->errors()));
    hooks_.say(cat("losses of nodes are not heard from a PMIx server (any more): ",
                   said.empty() ? "scela-pmix has ended" : printable(said)));
  });
}

bool NodeLosses::read() {
  char buffer[4096];
  const ssize_t got = retry([&] { return ::read(lines_.get(), buffer, sizeof buffer); });
  if (got < 0 && errno == EAGAIN) return true;
  if (got <= 0) return false;
  partial_.append(buffer, static_cast<std::size_t>(got));
  for (std::size_t at = 0; (at = partial_.find('\n')) != std::string::npos;) {
    const std::string line = partial_.substr(0, at);
    partial_.erase(0, at + 1);
    take(line);
  }
  return partial_.size() <= kMaxLossLine;
}

void NodeLosses::take(const std::string& line) {
  if (line == "listening") return hooks_.say("losses of nodes are heard from a PMIx server");
  const auto lost = read_lost_node(line);
  if (!lost) return;
  hooks_.say(cat("the resource manager says that ", lost->name, " is lost: ", lost->event));
  for (std::uint32_t node = 0; node < hosts_.size(); ++node) {
    if (!is_same_machine(hosts_[node], lost->name)) continue;
    hooks_.down({node, cat("the resource manager says that its node is lost (", lost->event, ")")});
  }
}

void NodeLosses::close() {
  if (watched_) watched_->close();
  if (command_) command_->kill();
  command_.reset();
}

}  // namespace scela
