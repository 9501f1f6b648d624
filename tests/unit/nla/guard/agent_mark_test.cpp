// Tests which processes are agents: those that show a mark which only the job's agents can make.
#include "nla/guard/agent_mark.h"

#include <sys/wait.h>

#include <catch2/catch.hpp>

#include "common/os/process/child.h"
#include "common/os/process/process_tree.h"
#include "nla/core/wire/link_frames.h"
#include "tests/support/eventually.h"
#include "tests/unit/common/os/child_run.h"

namespace agent_mark_test {

using namespace scela;
using namespace scela::nla;
using namespace scela::test;

namespace {

const std::string kKey(kCommonKeyBytes, 'k');

// A process that sleeps, with these words at the end of its command line.
class Sleeper {
 public:
  explicit Sleeper(const std::vector<std::string>& more,
                   ChildGroup group = ChildGroup::own_session) {
    std::vector<std::string> words = {"/bin/sh", "-c", "sleep 1000; exit 0", "scela-nla"};
    words.insert(words.end(), more.begin(), more.end());
    Command command(std::move(words));
    command.spec.group = group;
    const auto started = start_child(command.spec);
    REQUIRE(started);
    pid_ = *started;
  }
  ~Sleeper() {
    for (const pid_t below : children_of(pid_))
      ::kill(below, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("a mark is of one process and of one key") {
  const AgentMarks marks(kKey), others(std::string(kCommonKeyBytes, 'o'));
  const Sleeper one({}), two({});
  const std::string mark = marks.mark_of(one.pid());
  CHECK(mark.size() == kMarkLength);
  CHECK(mark.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(mark == marks.mark_of(one.pid()));
  CHECK(mark != marks.mark_of(two.pid()));
  CHECK(mark != others.mark_of(one.pid()));
  CHECK(marks.mark_of(-1).empty());
  CHECK(AgentMarks().mark_of(one.pid()).empty());
}

TEST_CASE("a rank is no agent, whatever it writes into its command line") {
  const AgentMarks marks(kKey);
  const Sleeper agent({kMarkOption, room_for_mark()});
  CHECK_FALSE(marks.is_agent(agent.pid()));  // it has not written its mark yet
  const Sleeper copied({kMarkOption, marks.mark_of(agent.pid())});
  CHECK_FALSE(marks.is_agent(copied.pid()));
  const Sleeper none({kMarkOption});
  CHECK_FALSE(marks.is_agent(none.pid()));
  CHECK_FALSE(AgentMarks().is_agent(agent.pid()));
}

TEST_CASE("a process that has written its mark is an agent if it leads a session") {
  const AgentMarks marks(kKey);
  const bool leads = GENERATE(true, false);
  Command command(
      {"/bin/sh", "-c",
       "read -r mark; exec /bin/sh -c 'sleep 1000; exit 0' scela-nla --mark \"$mark\""});
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const int descriptors[] = {ends[0], 1, 2};
  command.spec.descriptors = descriptors;
  command.spec.group = leads ? ChildGroup::own_session : ChildGroup::own_group;
  const auto started = start_child(command.spec);
  REQUIRE(started);
  // execve changes neither the number nor the moment of the start.
  const std::string mark = marks.mark_of(*started) + "\n";
  REQUIRE(::write(ends[1], mark.data(), mark.size()) == static_cast<ssize_t>(mark.size()));
  ::close(ends[0]);
  ::close(ends[1]);
  REQUIRE(eventually([&] { return !children_of(*started).empty(); }));
  CHECK(marks.is_agent(*started) == leads);
  for (const pid_t below : children_of(*started))
    ::kill(below, SIGKILL);
  ::kill(*started, SIGKILL);
  ::waitpid(*started, nullptr, 0);
}

TEST_CASE("a mark is written over the room that there is for it") {
  std::string room = room_for_mark();
  show_mark(room.data(), "too short");
  CHECK(room == room_for_mark());
  show_mark(room.data(), std::string(kMarkLength, 'a'));
  CHECK(room == std::string(kMarkLength, 'a'));
  show_mark(nullptr, std::string(kMarkLength, 'a'));
}

}  // namespace agent_mark_test
