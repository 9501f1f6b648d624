#include "nla/spawn/ssh/ssh_proxy.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "common/core/text.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"

namespace scela::nla {

Result<Proxy> start_proxy(const std::string& command) {
  Result<SocketPair> pair = make_socket_pair(SOCK_STREAM);
  if (!pair) return fail(pair.error());
  Result<Pipe> errors = make_pipe();
  if (!errors) return fail(errors.error());
  std::string words[] = {"sh", "-c", cat("exec ", command)};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  const int descriptors[] = {pair->theirs.get(), pair->theirs.get(), errors->write.get()};
  ChildSpec spec;
  spec.program = "/bin/sh";
  spec.argv = argv;
  spec.envp = environ;
  spec.descriptors = descriptors;
  spec.group = ChildGroup::own_session;
  const tl::expected<pid_t, ChildError> pid = start_child(spec);
  if (pid) return Proxy{std::move(pair->ours), std::move(errors->read)};
  return fail(Error{ErrorKind::launch, "start a proxy", {}, text_of(pid.error(), "/bin/sh"), {}});
}

}  // namespace scela::nla
