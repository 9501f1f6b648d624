// A program of a user's that links libscela. Started alone, it is a job of one rank.
#include <scela/channel.h>
#include <scela/communicator.h>

#include <iostream>

int main() {
  const auto opened = scela::Channel::open();
  if (!opened.channel) {
    std::cout << opened.status.message() << '\n';
    return 1;
  }
  const scela::Communicator world = scela::Communicator::world(*opened.channel);
  std::cout << "rank " << world.rank() << " of " << world.size() << '\n';
}
