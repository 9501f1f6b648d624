// Hears from the PMIx server of a resource manager that nodes of the job are lost. scela-pmix
// listens as a tool, as long as a session (launcher/session.h) lasts, and writes lines
// (common/core/requests/resource_text.h). Without it the job runs as it would without such a
// server. If the server has told the job's hosts, the same scela-pmix listens from then on, so that
// no loss is missed; a further start of the job has another one.
//
// One thread uses an object, that of the event loop. Only close() blocks, until scela-pmix is
// killed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "launcher/io/captured_command.h"
#include "launcher/io/watched.h"
#include "nla/core/tree/events.h"

namespace scela {

// Returns the path of scela-pmix: beside this program, or in PATH. Returns the bare name if there
// is none.
std::string pmix_tool();

// A scela-pmix that listens. It is killed, and reaped, with this object: as a child that is not
// wanted any more it would keep the root agent from ending what ranks leave behind
// (nla/process/shell.cpp).
struct LossTool {
  struct Kill {
    void operator()(CapturedCommand* dropped) const {
      const std::unique_ptr<CapturedCommand> owned(dropped);
      owned->kill();
    }
  };
  std::unique_ptr<CapturedCommand, Kill> command;
  Fd lines;             // what it writes
  std::string partial;  // what was read, and is not used yet
};

// Has scela-pmix ask its server for the allocation by these words, and go on to listen. Returns the
// allocation's text, and puts the program into `tool`. Errors are those of output_of(). Blocks, at
// most for `limit`.
Result<std::string> ask_and_listen(const std::vector<std::string>& words,
                                   const std::vector<std::string>& environment,
                                   std::chrono::milliseconds limit, std::optional<LossTool>& tool);

class NodeLosses {
 public:
  struct Hooks {
    std::function<void(nla::event::NodeDown down)> down;
    std::function<void(const std::string& note)> say;  // a line for --verbose
  };

  // `hosts` are those of the job by the numbers of their nodes. It is borrowed, and may grow.
  NodeLosses(const std::vector<std::string>& hosts, Hooks hooks)
      : hosts_(hosts), hooks_(std::move(hooks)) {}
  ~NodeLosses() { close(); }
  NodeLosses(const NodeLosses&) = delete;
  NodeLosses& operator=(const NodeLosses&) = delete;

  // Hears `tool`, or starts one if there is none. `io` must outlive close(). If scela-pmix cannot
  // be started, or ends, `say` is told why, and no loss is heard from then on.
  void open(boost::asio::io_context& io, std::optional<LossTool> tool);
  // Ends scela-pmix. No hook is called any more.
  void close();

 private:
  void wait();
  // Takes what scela-pmix has written. Returns false at its end.
  bool read();
  void take_lines();
  void take(const std::string& line);

  const std::vector<std::string>& hosts_;
  Hooks hooks_;
  std::optional<LossTool> tool_;
  std::unique_ptr<Watched> watched_;
};

}  // namespace scela
