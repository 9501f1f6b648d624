#include "nla/core/io/terminal_size.h"

namespace scela::nla {

void TerminalSize::on(const event::WindowChanged& event) {
  if (context_.phase == Phase::running) resize(event.size);
}

bool TerminalSize::resize(const WindowSize& size) {
  if (!context_.job->terminal_ranks.intersects(context_.subtree_ranks)) return false;
  size_ = size;
  if (context_.own_ranks.intersects(context_.job->terminal_ranks)) {
    context_.act(action::ResizeTerminal{size});
  }
  for (const Child& child : children_.all())
    send_to(child);
  return true;
}

void TerminalSize::send_to(const Child& child) {
  // A child that is to be adopted is sent the size when it reports that it was adopted, and a late
  // one with the job.
  if (!size_ || !child.serving() || child.state == ChildState::adopting || child.late) return;
  if (!child.ranks.intersects(context_.job->terminal_ranks)) return;
  context_.send(child.link, msg::Resize{*size_});
}

}  // namespace scela::nla
