#include "nla/spawn/ssh/ssh_login.h"

#include <fcntl.h>
#include <libssh/libssh.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/process/blocked_signals.h"

namespace scela::nla {

using boost::system::error_code;

// The question to an ssh-agent. libssh reads the agent's socket by blocking calls, which never
// return if the agent does not answer. Then the thread keeps the session, and the last of the two
// to let go frees it.
struct SshLogin::AgentTalk {
  AgentTalk(ssh_session its_session, Fd its_news)
      : session(its_session), news(std::move(its_news)) {}

  void run(long seconds) {
    ::ssh_set_blocking(session, 1);
    ::ssh_options_set(session, SSH_OPTIONS_TIMEOUT, &seconds);
    answer = ::ssh_userauth_agent(session, nullptr);
    ::ssh_set_blocking(session, 0);
    if (let_go.exchange(true)) {
      ::ssh_free(session);
      return;
    }
    const std::uint64_t one = 1;
    static_cast<void>(!::write(news.get(), &one, sizeof one));
  }

  const ssh_session session;
  const Fd news;
  int answer = SSH_AUTH_ERROR;
  std::atomic<bool> let_go{false};
};

SshLogin::Progress SshLogin::answer(int code) {
  if (code == SSH_AUTH_AGAIN) return Progress::waiting;
  if (code == SSH_AUTH_ERROR) return Progress::failed;
  accepted_ = code == SSH_AUTH_SUCCESS;
  gate_.answer(accepted_);
  return accepted_ ? Progress::accepted : Progress::refused;
}

SshLogin::Progress SshLogin::offer_keys(ssh_session_struct* session) {
  while (next_key_ < identities_.keys().size()) {
    const int got =
        ::ssh_userauth_publickey(session, nullptr, identities_.keys()[next_key_].key.get());
    if (got == SSH_AUTH_AGAIN || got == SSH_AUTH_SUCCESS || got == SSH_AUTH_ERROR) {
      return answer(got);
    }
    ++next_key_;
  }
  return identities_.has_agent() ? Progress::asks_agent : answer(SSH_AUTH_DENIED);
}

bool SshLogin::ask_agent(ssh_session_struct* session, std::function<void()> answered) {
  Fd news(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int watched = ::fcntl(news.get(), F_DUPFD_CLOEXEC, 3);
  if (watched < 0) return false;
  watch_.assign(watched);
  talk_ = std::make_shared<AgentTalk>(session, std::move(news));
  const long seconds = std::max<long>(1, limit_.count() / 1000);
  {
    // The thread may outlive the session, and must take no signal that its process waits for.
    const BlockedSignals blocked;
    std::thread([talk = talk_, seconds] { talk->run(seconds); }).detach();
  }
  // The callback checks if this object still exists.
  watch_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [answered = std::move(answered)](const error_code& error) {
                      if (!error) answered();
                    });
  return true;
}

SshLogin::Progress SshLogin::agents_answer() {
  // The thread has set it before it said so. All that it did to the session is seen here then.
  static_cast<void>(talk_->let_go.load());
  // A blocking call does not return "again".
  const int code = talk_->answer == SSH_AUTH_AGAIN ? SSH_AUTH_DENIED : talk_->answer;
  talk_.reset();
  error_code ignored;
  watch_.close(ignored);
  return answer(code);
}

bool SshLogin::let_go() {
  const bool has_session = talk_ && !talk_->let_go.exchange(true);
  talk_.reset();
  error_code ignored;
  watch_.close(ignored);
  return has_session;
}

std::string SshLogin::refusal(const std::string& where, const std::string& user) const {
  std::string tried;
  for (const auto& one : identities_.keys())
    tried += cat(tried.empty() ? "" : ", ", one.file);
  if (identities_.has_agent()) tried += cat(tried.empty() ? "" : ", ", "the ssh-agent");
  const char* advice =
      tried.empty()
          ? "make a key with ssh-keygen and add it there with ssh-copy-id"
          : "is it in authorized_keys there, and may this user log in? its sshd's log says";
  return cat(where, " refuses user ", user, " with ", tried.empty() ? "no key at all" : tried,
             identities_.skipped().empty() ? "" : "; not used: ", identities_.skipped(), " (",
             advice, ")");
}

}  // namespace scela::nla
