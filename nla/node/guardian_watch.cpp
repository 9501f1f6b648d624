#include "nla/node/guardian_watch.h"

#include <signal.h>

#include <boost/asio/signal_set.hpp>

#include "nla/guard/guardian.h"

namespace scela::nla {

struct GuardianWatch::Signals {
  boost::asio::signal_set set;
};

GuardianWatch::GuardianWatch(ShellContext& context)
    : context_(context),
      socket_(context.io),
      signals_(new Signals{boost::asio::signal_set(context.io)}) {}

GuardianWatch::~GuardianWatch() {
  if (socket_.is_open()) socket_.release();
}

void GuardianWatch::start() {
  if (!context_.guardian_socket) return;
  socket_.assign(context_.guardian_socket.get());
  for (const int signo : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2})
    signals_->set.add(signo);
  wait();
  wait_for_signal();
}

void GuardianWatch::wait_for_signal() {
  signals_->set.async_wait([this](const boost::system::error_code& error, int signo) {
    if (error) return;
    act_on(signo);
    wait_for_signal();
    context_.pump();
  });
}

void GuardianWatch::act_on(int signo) {
  if (signo == SIGUSR1 || signo == SIGUSR2)
    context_.emit(event::UserSignal{signo});
  else
    context_.emit(event::GuardianLost{true});
}

void GuardianWatch::wait() {
  using Kind = GuardianNews::Kind;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (error) return;
                       const GuardianNews news = read_guardian_socket(context_.guardian_socket);
                       if (news.kind == Kind::end_node) act_on(SIGTERM);
                       if (news.kind == Kind::signal_ranks) act_on(news.signo);
                       if (news.kind != Kind::guardian_gone) {
                         wait();
                         return context_.pump();
                       }
                       socket_.release();
                       context_.guardian_socket.reset();
                       context_.emit(event::GuardianLost{});
                       context_.pump();
                     });
}

}  // namespace scela::nla
