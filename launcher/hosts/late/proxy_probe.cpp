#include "launcher/hosts/late/proxy_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <optional>
#include <utility>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "launcher/core/detect/bulk_output.h"
#include "launcher/core/options/host_wait.h"
#include "launcher/io/captured_command.h"

namespace scela {

namespace {

using Clock = std::chrono::steady_clock;

// Proxies at a time. The sshd of a jump host drops logins beyond ten that are under way
// (MaxStartups of sshd_config(5)).
constexpr std::size_t kMaxProxies = 8;
// A server may send lines before "SSH-". More than this is no sshd.
constexpr std::size_t kMaxProxyGreeting = 8192;
// The time in which a proxy that is not needed any more ends by itself.
constexpr std::chrono::milliseconds kProxyPatience{500};

// One proxy that runs. Its standard input stays open: the end of it might end the connection.
struct ProxyProbe {
  std::size_t place = 0;
  Clock::time_point deadline;
  CapturedCommand command;
  Fd input, output;
  std::string greeting;
};

Result<ProxyProbe> start_probe(std::size_t place, const std::string& proxy,
                               Clock::time_point deadline) {
  auto input = make_pipe();
  if (!input) return fail(std::move(input.error()));
  auto output = make_pipe();
  if (!output) return fail(std::move(output.error()));
  CommandSpec spec{
      {"/bin/sh", "-c", cat("exec ", proxy)}, process_environment(), input->read.get(), true};
  spec.output = output->write.get();
  auto command = CapturedCommand::start(std::move(spec));
  if (!command) return fail(std::move(command.error()));
  return ProxyProbe{
      place, deadline, std::move(*command), std::move(input->write), std::move(output->read), {}};
}

void end_proxy(ProxyProbe& probe) {
  probe.command.send(SIGTERM);
  if (!probe.command.wait(kProxyPatience)) probe.command.kill();
}

// Returns why no sshd answers behind a proxy that has ended, or "" if time does not cure it.
std::string why_ended(ProxyProbe& probe) {
  const auto status = probe.command.wait(kProxyPatience);
  end_proxy(probe);
  const std::string errors = probe.command.errors();
  const bool has_code = status && WIFEXITED(*status);
  if (!may_come_up(has_code ? WEXITSTATUS(*status) : 0, errors)) return "";
  std::vector<std::string> lines = bulk_lines(errors);
  // ssh(1) ends with this line, and says why before.
  std::erase_if(
      lines, [](const std::string& line) { return line.starts_with("stdio forwarding failed"); });
  std::string said = telling_line(lines);
  while (said.ends_with('\r') || said.ends_with(' '))
    said.pop_back();
  return said.empty() ? "its proxy ends before an sshd answers" : cat("its proxy says: ", said);
}

// Reads what has come through the proxy. Returns the answer once there is one.
std::optional<std::string> read_proxy(ProxyProbe& probe) {
  char bytes[512];
  const ssize_t got = retry([&] { return ::read(probe.output.get(), bytes, sizeof bytes); });
  if (got <= 0) return why_ended(probe);
  probe.greeting.append(bytes, static_cast<std::size_t>(got));
  const bool answers =
      probe.greeting.starts_with("SSH-") || probe.greeting.find("\nSSH-") != std::string::npos;
  if (!answers && probe.greeting.size() <= kMaxProxyGreeting) return std::nullopt;
  end_proxy(probe);
  return answers ? "" : "it is no sshd";
}

// Waits until a probe has something to read or `end_fd` is readable. Returns false in the second
// case.
bool serve_proxies(std::list<ProxyProbe>& probes, int end_fd, std::vector<std::string>& out) {
  std::vector<pollfd> ready;
  Clock::time_point first = Clock::time_point::max();
  for (const ProxyProbe& probe : probes) {
    ready.push_back({probe.output.get(), POLLIN, 0});
    first = std::min(first, probe.deadline);
  }
  ready.push_back({end_fd, POLLIN, 0});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  retry([&] {
    return ::poll(ready.data(), ready.size(), static_cast<int>(std::max<long>(0, left)));
  });
  if (ready.back().revents != 0) return false;
  auto at = ready.begin();
  std::erase_if(probes, [&](ProxyProbe& probe) {
    std::optional<std::string> answer;
    if ((at++)->revents != 0) answer = read_proxy(probe);
    if (!answer && Clock::now() >= probe.deadline) {
      end_proxy(probe);
      answer = "no answer through its proxy";
    }
    if (answer) out[probe.place] = *answer;
    return answer.has_value();
  });
  return true;
}

}  // namespace

std::vector<std::string> probe_by_proxy(const std::vector<std::string>& commands,
                                        const ProbeLimits& limits) {
  std::vector<std::string> out(commands.size(), "was not asked to the end");
  std::list<ProxyProbe> probes;
  const std::size_t at_once = std::clamp<std::size_t>(limits.at_once, 1, kMaxProxies);
  for (std::size_t next = 0; next < commands.size() || !probes.empty();) {
    while (next < commands.size() && probes.size() < at_once) {
      auto made = start_probe(next, commands[next], Clock::now() + limits.each);
      // The ordinary start says why.
      if (made)
        probes.push_back(std::move(*made));
      else
        out[next].clear();
      ++next;
    }
    if (!probes.empty() && !serve_proxies(probes, limits.end, out)) break;
  }
  for (ProxyProbe& probe : probes)
    end_proxy(probe);
  return out;
}

}  // namespace scela
