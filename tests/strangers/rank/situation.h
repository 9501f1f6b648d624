// The situation of a rank: its channel, the plan, and the scene that it plays now. It also says
// what is wrong, and ends the process then.
//
// All parts of a rank share it. One thread uses it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <scela/channel.h>

#include "tests/strangers/scenes.h"
#include "tests/strangers/stranger_plan.h"

namespace strangers {

class Situation {
 public:
  Situation(std::unique_ptr<scela::Channel> channel, const Plan& plan,
            std::chrono::seconds patience);

  scela::Channel& channel() { return *channel_; }
  int rank() const { return rank_; }
  // The time after which what is not over is taken for a hang.
  std::chrono::seconds patience() const { return patience_; }
  const std::vector<Scene>& scenes() const { return scenes_; }
  // The scene that is played now. Requires that one was entered.
  const Scene& now() const { return *now_; }
  void enter(const Scene& scene);
  // Returns the ranks that take part in steps of all now, this one included.
  std::vector<int> others() const;

  // Says what is wrong, and ends the process.
  [[noreturn]] void wrong(const std::string& what) const;
  // Does the same after a look at the other ranks. Lets them look too before the process ends.
  [[noreturn]] void hangs(const std::string& what) const;
  void expect(bool holds, const std::string& what) const {
    if (!holds) wrong(what);
  }
  // Closes the channel. Requires that no request and no communicator of it is left.
  void close() { channel_.reset(); }

 private:
  std::unique_ptr<scela::Channel> channel_;
  const Plan& plan_;
  std::chrono::seconds patience_;
  std::vector<Scene> scenes_;
  int rank_;
  const Scene* now_ = nullptr;
};

}  // namespace strangers
