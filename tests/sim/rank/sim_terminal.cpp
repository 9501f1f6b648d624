#include "tests/sim/rank/sim_terminal.h"

#include "common/core/text.h"

namespace scela::sim {

void Terminal::on(std::uint32_t index, const nla::action::ResizeTerminal& action) {
  if (!node_jobs_.own(index).intersects(run_.schedule.terminal_ranks)) {
    return run_.fail(nodes_.name(index) + " is to resize a terminal and has none");
  }
  if (action.size.columns > given_ || action.size.columns < shown_) {
    return run_.fail(cat(nodes_.name(index), " sets size ", action.size.columns,
                         " of the terminal after ", shown_, ", of ", given_));
  }
  shown_ = action.size.columns;
}

void Terminal::change() {
  if (!nodes_.running(0)) return;
  WindowSize size;
  size.columns = ++given_;
  run_.schedule.terminal_ranks.for_each([&](Rank rank) {
    if (processes_[rank].life == Life::running) due_ = given_;
  });
  agents_.give(0, nla::event::WindowChanged{size});
}

void Terminal::check_arrived() {
  run_.schedule.terminal_ranks.for_each([&](Rank rank) {
    const std::uint32_t node = processes_[rank].node;
    if (node == kNobody || nodes_.severed(node) || end_.gave_up() || shown_ >= due_) return;
    run_.fail(cat("the terminal of rank ", rank, " has size ", shown_, ", not ", due_));
  });
}

}  // namespace scela::sim
