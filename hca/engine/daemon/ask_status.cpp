#include "hca/engine/daemon/ask_status.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "hca/core/wire/engine_messages.h"
#include "hca/engine/daemon/client_connection.h"
#include "hca/engine/daemon/running_engines.h"
#include "hca/engine/daemon/runtime_dir.h"

namespace scela::hca {

namespace {

constexpr timeval kPatience{5, 0};  // for an engine that is stopped or busy

// Receives the file with the answer. The descriptor is invalid if the peer is no engine, has gone,
// or does not answer.
Fd receive_file(int socket) {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (retry([&] { return ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC); }) != 1) return {};
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int)))
    return {};
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
  return Fd(descriptor);
}

Result<std::string> ask(const EngineRuntimeDir& home, bool json) {
  const auto engine = home.connect();
  if (!engine) return fail(engine.error());
  ::setsockopt(engine->get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  const StatusAsk question{.is_json = json ? 1u : 0u};
  const ssize_t sent =
      retry([&] { return ::send(engine->get(), &question, sizeof question, MSG_NOSIGNAL); });
  const Fd file = sent < 0 ? Fd() : receive_file(engine->get());
  if (!file) {
    return fail(Error{ErrorKind::unreachable,
                      cat("ask the engine at '", home.socket(), "' for its status"), "",
                      cat("it has not answered within ", kPatience.tv_sec, " s"), ""});
  }
  std::string text;
  char part[1 << 16];
  for (ssize_t got = 0;
       (got = ::pread(file.get(), part, sizeof part, static_cast<off_t>(text.size()))) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  return text;
}

// Such a socket must not be connected to: its agent would start an engine for any process that
// does.
bool is_agents_without_engine(const std::string& socket) {
  if (!socket.starts_with('/') || !socket.ends_with("/scela-hca.agent")) return false;
  return !std::ranges::any_of(running_engines(),
                              [&](const auto& one) { return one.socket == socket; });
}

Result<std::string> ask_at(const std::string& socket, bool json) {
  if (is_agents_without_engine(socket)) {
    return fail(Error{
        ErrorKind::unreachable, cat("reach the engine at '", socket, "'"), "",
        "none runs there: an agent starts one for the first program that opens a device", ""});
  }
  const auto home = EngineRuntimeDir::at(socket);
  if (!home) return fail(home.error());
  return ask(*home, json);
}

// One line of the list.
struct Line {
  std::string job = "-", node = "-", processes = "does not answer";
};

Line line_of(const std::string& socket) {
  Line line;
  const auto text = ask_at(socket, true);
  const auto status = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  if (!status.is_object()) return line;
  if (const auto fabric = status.find("fabric"); fabric != status.end()) {
    line.job = fabric->value("job", "-");
    line.node = fabric->value("node", "-");
  }
  const auto processes = status.find("processes");
  line.processes = cat(processes != status.end() ? processes->size() : 0, " programs");
  return line;
}

std::string list(const std::vector<RunningEngine>& engines, bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::string text;
  for (const RunningEngine& engine : engines) {
    const Line line = line_of(engine.socket);
    all.push_back(
        {{"pid", engine.pid}, {"job", line.job}, {"node", line.node}, {"socket", engine.socket}});
    text += cat("process ", engine.pid, "  job ", line.job, "  node ", line.node, "  ",
                line.processes, "  ", engine.socket, "\n");
  }
  if (json) return nlohmann::ordered_json{{"engines", all}}.dump(1) + "\n";
  return cat(engines.size(), " engines of this user run here; --socket PATH shows one:\n", text);
}

}  // namespace

Result<std::string> ask_status(const std::string& socket, bool json) {
  if (!socket.empty()) return ask_at(socket, json);
  const std::string usual = default_socket();
  const char* const named = std::getenv("SCELA_HCA_SOCKET");
  if (named != nullptr && *named != '\0') return ask_at(usual, json);
  const std::vector<RunningEngine> engines = running_engines();
  if (engines.empty()) return ask_at(usual, json);  // its error says that none is there
  if (engines.size() == 1) return ask_at(engines[0].socket, json);
  const bool is_of_job = !launchers_job_here().empty();
  if (is_of_job && std::ranges::find(engines, usual, &RunningEngine::socket) != engines.end()) {
    return ask_at(usual, json);
  }
  return list(engines, json);
}

}  // namespace scela::hca
