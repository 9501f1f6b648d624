#include "launcher/hosts/node_losses.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
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

// The word by which scela-pmix listens, alone or after the allocation.
constexpr std::string_view kListens = "--lost-nodes";

Result<LossTool> start_tool(const std::vector<std::string>& words,
                            const std::vector<std::string>& environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Error{ErrorKind::launch, "make a pipe", "", errno_text(errno), ""});
  Fd lines(ends[0]);
  // The tool's end must block, since an allocation may be larger than the pipe.
  ::fcntl(lines.get(), F_SETFL, O_NONBLOCK);
  const Fd written(ends[1]);
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CommandSpec spec{words, environment, nothing.get(), true};
  spec.output = written.get();
  auto command = CapturedCommand::start(std::move(spec));
  if (!command) return fail(std::move(command.error()));
  LossTool tool{{}, std::move(lines), {}};
  tool.command.reset(std::make_unique<CapturedCommand>(std::move(*command)).release());
  return tool;
}

// Reads what the tool has written. Returns false at its end.
bool read_piece(LossTool& tool) {
  char buffer[4096];
  const ssize_t got = retry([&] { return ::read(tool.lines.get(), buffer, sizeof buffer); });
  if (got < 0 && errno == EAGAIN) return true;
  if (got <= 0) return false;
  tool.partial.append(buffer, static_cast<std::size_t>(got));
  return true;
}

}  // namespace

std::string pmix_tool() {
  const char* const path = std::getenv("PATH");
  const std::string places = cat(own_directory(), ":", path == nullptr ? kUsualPath : path);
  const auto found = find_program(kPmixTool, places, "/");
  return found ? *found : std::string(kPmixTool);
}

Result<std::string> ask_and_listen(const std::vector<std::string>& words,
                                   const std::vector<std::string>& environment,
                                   std::chrono::milliseconds limit, std::optional<LossTool>& tool) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::vector<std::string> all = words;
  all.emplace_back(kListens);
  auto started = start_tool(all, environment);
  if (!started) return fail(command_error(words, cat("cannot be run: ", started.error().why)));
  constexpr std::string_view kEnd = "\nend\n";  // of an allocation
  for (std::size_t searched = 0;;) {
    const auto end = started->partial.find(kEnd, searched);
    if (end != std::string::npos) {
      std::string text = started->partial.substr(0, end + kEnd.size());
      started->partial.erase(0, text.size());
      tool = std::move(*started);
      return text;
    }
    // The next bytes may complete an end that has begun.
    searched = started->partial.size() - std::min(started->partial.size(), kEnd.size() - 1);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{started->lines.get(), POLLIN, 0};
    const bool is_late =
        left.count() <= 0 || started->partial.size() > CapturedCommand::kMaxOutput ||
        retry([&] { return ::poll(&ready, 1, static_cast<int>(left.count())); }) == 0;
    if (!is_late && read_piece(*started)) continue;
    const auto status = is_late ? std::nullopt : started->command->wait(limit);
    if (status) return fail(command_error(words, failure_text(*started->command, *status)));
    return fail(command_error(words, late_text(limit)));
  }
}

void NodeLosses::open(boost::asio::io_context& io, std::optional<LossTool> tool) {
  const auto failed = [&](std::string_view why) {
    hooks_.say(cat("losses of nodes are not heard from a PMIx server: ", why));
  };
  if (!tool) {
    auto started = start_tool({pmix_tool(), std::string(kListens)}, process_environment());
    if (!started) return failed(started.error().why);
    tool = std::move(*started);
  }
  tool_ = std::move(*tool);
  watched_ = std::make_unique<Watched>(io, tool_->lines.get());
  if (!watched_->open()) return failed("there are no descriptors left");
  take_lines();
  wait();
}

void NodeLosses::wait() {
  watched_->wait_readable([this] {
    if (read()) return wait();
    const std::string said = telling_line(bulk_lines(tool_->command->errors()));
    hooks_.say(cat("losses of nodes are not heard from a PMIx server (any more): ",
                   said.empty() ? "scela-pmix has ended" : printable(said)));
  });
}

bool NodeLosses::read() {
  if (!read_piece(*tool_)) return false;
  take_lines();
  return tool_->partial.size() <= kMaxLossLine;
}

void NodeLosses::take_lines() {
  std::string& partial = tool_->partial;
  for (std::size_t at = 0; (at = partial.find('\n')) != std::string::npos;) {
    const std::string line = partial.substr(0, at);
    partial.erase(0, at + 1);
    take(line);
  }
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
  tool_.reset();
}

}  // namespace scela
