#include "nla/node/guardian_watch.h"

#include "nla/guard/guardian.h"

namespace scela::nla {

GuardianWatch::~GuardianWatch() {
  if (socket_.is_open()) socket_.release();
}

void GuardianWatch::start() {
  if (!context_.guardian_socket) return;
  socket_.assign(context_.guardian_socket.get());
  wait();
}

void GuardianWatch::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (error) return;
                       switch (read_guardian_socket(context_.guardian_socket)) {
                         case GuardianNews::nothing:
                           break;
                         case GuardianNews::end_node:
                           context_.emit(event::GuardianLost{});
                           break;
                         case GuardianNews::guardian_gone:
                           socket_.release();
                           context_.guardian_socket.reset();
                           context_.emit(event::GuardianLost{});
                           return context_.pump();
                       }
                       wait();
                       context_.pump();
                     });
}

}  // namespace scela::nla
