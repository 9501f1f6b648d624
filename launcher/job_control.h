// The signals and the terminal of scela-run while a job runs: what the user sends to scela-run
// passes on to the ranks, and stops or ends this process too. The session uses it, in its one
// thread.
//
// SIGUSR1 and SIGUSR2 go to the ranks. SIGTSTP stops the ranks and then this process, and SIGCONT
// lets both go on. SIGQUIT asks for stacks. Other signals end the job. With --pty the terminal is
// in raw mode from the launch of the ranks to the end of the rank that has a terminal.
#pragma once

#include <functional>
#include <memory>

#include "launcher/io/raw_terminal.h"
#include "launcher/plan/plan.h"
#include "nla/core/tree/events.h"

namespace boost::asio {
class io_context;
}

namespace scela {

// Passes the signals of the user on, and holds the terminal.
class JobControl {
 public:
  // The session's side. All functions are called in the session's thread.
  struct Hooks {
    std::function<void(nla::Event)> post;    // sends an event to the root agent
    std::function<bool()> all_sent;          // no event is on its way to the agents
    std::function<void()> show_stacks;       // of all ranks
    std::function<void(int signo)> end_job;  // a signal asks for the end
    std::function<void(bool raw)> set_raw;   // the terminal has entered or left raw mode
    std::function<void()> before_stop;       // this process stops now, as for ^Z
  };

  // Borrows the plan.
  JobControl(const Plan& plan, Hooks hooks);
  ~JobControl();
  JobControl(const JobControl&) = delete;
  JobControl& operator=(const JobControl&) = delete;

  // Handles signals from now on, on this loop. Throws as Asio does if no descriptor is left.
  void open(boost::asio::io_context& io);
  // The ranks are sent to the nodes: with --pty the terminal enters raw mode.
  void launched();
  // The ranks run: keys that make signals go to the rank with the terminal.
  void ranks_run() { terminal_.give_signals(); }
  // This process has come to the foreground of its terminal.
  void in_foreground() { enter_terminal(Entry::first); }
  // The rank has ended. If the terminal was its own, keys are for scela-run again.
  void rank_over(Rank rank);
  // The job has ended: signals get their usual effect again, but SIGUSR1 and SIGUSR2 none.
  void close();
  // Restores the terminal.
  void leave_terminal();

 private:
  struct Watch;  // of signals; keeps Asio out of this header
  // The course of a job, as far as the terminal is concerned.
  enum class Stage {
    starting,       // no rank was sent to a node
    running,        // the rank with the terminal may read it
    terminal_over,  // that rank has ended, and others may run on
    over,           // the job has ended
  };
  enum class Entry { first, after_stop };

  void wait_signal();
  void on_signal(int signo);
  void suspend(int moments);
  void enter_terminal(Entry entry);
  void window_changed();

  const Plan& plan_;
  const Hooks hooks_;
  RawTerminal terminal_;
  Stage stage_ = Stage::starting;
  std::unique_ptr<Watch> watch_;
};

}  // namespace scela
