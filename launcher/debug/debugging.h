// The session's part for debuggers and for users of a job that hangs: the MPIR table of a job that
// a debugger starts (mpir.h), the stacks of all ranks, and the answers to other processes
// (attach_socket.h).
//
// A part of the session, in the thread of its loop. Nothing in it blocks, except that a debugger
// stops the process in MPIR_Breakpoint().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/core/debug/process_table.h"
#include "launcher/debug/attach_socket.h"
#include "launcher/debug/inspections.h"
#include "launcher/io/stderr_writer.h"
#include "launcher/plan/plan.h"

namespace scela {

// The requests of other processes (AttachSocket). kAskStacks is followed by a blank and the time
// for gdb in milliseconds. The answer to kAskProcesses is the job's name and the lines of
// table_text(). kAskTool is followed by the words of a debugger's program, each behind
// kToolSeparator; the answer says on which nodes it was not started.
inline constexpr std::string_view kAskProcesses = "processes";
inline constexpr std::string_view kAskStacks = "stacks";
inline constexpr std::string_view kAskTool = "tool";
inline constexpr char kToolSeparator = '\x1f';

class Debugging {
 public:
  // All references must outlive this object. `failed` has the numbers of the nodes without an
  // agent. `person` takes the stacks. `post` sends an event to the root agent.
  Debugging(const Plan& plan, const RankSet& failed, StderrWriter& person,
            std::function<void(nla::Event)> post);

  // Must be called once, before the other functions. From now on other processes may ask.
  void open(boost::asio::io_context& io);
  // Call it when the job has ended: nothing is answered any more.
  void close();

  // Call it when ranks may run that do not wait for others: questions are answered from now on.
  void ranks_run();
  // Call it when all ranks have been started; it includes ranks_run(). If the ranks are held for a
  // debugger, it gets the table, and they then go on.
  void launched();
  // Takes a piece of an answer of a node.
  void on(const nla::action::Inspected& piece);
  // Call it if a node has no agent any more.
  void node_failed(std::uint32_t node);
  // Reads the stacks of all ranks and writes them. `limit` is the time that each node gets. Then
  // calls `then`, if it is not empty, but not after close().
  void show_stacks(std::chrono::milliseconds limit, std::function<void()> then = {});

 private:
  // Collect the table of processes, or the report on stacks, and hand it on.
  void collect_processes(std::function<void(std::vector<TableEntry>, RankSet silent)> done);
  void collect_stacks(std::chrono::milliseconds limit, std::function<void(std::string)> done);
  // Starts a debugger's program once on each node with ranks. Hands on what has failed: a line for
  // each node.
  void start_tool(std::vector<std::string> words, std::function<void(std::string)> done);
  // Gives the debugger the table, and lets the ranks go on after that.
  void give_table();
  // Answers a request, once the ranks run.
  void answer(std::string_view request, const AttachSocket::Answer& reply);
  // Returns the ranks of these nodes.
  RankSet ranks_on(const RankSet& nodes) const;

  const Plan& plan_;
  const RankSet& failed_;
  StderrWriter& stderr_;
  const std::function<void(nla::Event)> post_;
  bool ranks_run_ = false, showing_ = false;
  std::vector<std::pair<std::string, AttachSocket::Answer>> early_;  // asked before the ranks run
  std::unique_ptr<Inspections> inspections_;                         // while the job runs
  std::unique_ptr<AttachSocket> socket_;
};

}  // namespace scela
