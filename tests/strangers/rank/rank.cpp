#include "tests/strangers/rank/rank.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace strangers {

Rank::Rank(std::unique_ptr<scela::Channel> channel, const Plan& plan, std::chrono::seconds patience)
    : situation_(std::move(channel), plan, patience),
      mailbox_(situation_),
      requests_(situation_),
      waits_(situation_, requests_),
      messages_(situation_, requests_, mailbox_),
      operations_(situation_, communicators_, requests_) {}

int Rank::play() {
  for (const Scene& scene : situation_.scenes()) {
    situation_.enter(scene);
    if (scene.has_ended(situation_.rank())) {
      const auto leaver =
          std::find_if(scene.leavers.begin(), scene.leavers.end(),
                       [&](const Leaver& each) { return each.rank == situation_.rank(); });
      return end_by(leaver->ending);
    }
    if (scene.takes_place) carry_out(scene);
  }
  requests_.finish_all();
  mailbox_.check_empty();
  std::printf("strangers: rank %d went well\n", situation_.rank());
  std::fflush(stdout);
  communicators_.drop_all();
  situation_.close();
  return 0;
}

void Rank::carry_out(const Scene& scene) {
  switch (scene.step->kind) {
    case Kind::message:
      return messages_.message(scene);
    case Kind::burst:
      return messages_.burst(scene);
    case Kind::collective:
      return operations_.collective(scene);
    case Kind::wait:
      return waits_.wait(scene);
    case Kind::cancel:
      return messages_.cancel(scene);
    case Kind::reserve:
      return messages_.reserve(scene);
    case Kind::agree:
      return operations_.agree(scene);
    case Kind::end:
      return messages_.meet();
    case Kind::recover:
      return operations_.recover(scene);
    case Kind::free:
      return operations_.free(scene);
    default:
      return operations_.make(scene);
  }
}

int Rank::end_by(Ending ending) {
  switch (ending) {
    case Ending::kill:
      ::kill(::getpid(), SIGKILL);
      break;
    case Ending::exit:
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): the channel stays open
    case Ending::quick_exit:
      ::_exit(1);
    case Ending::leave:
      break;
  }
  requests_.finish_all();
  communicators_.clear();
  situation_.close();
  return 0;
}

}  // namespace strangers
