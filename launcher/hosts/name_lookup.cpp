#include "launcher/hosts/name_lookup.h"

#include <netdb.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "common/core/error.h"
#include "common/core/text.h"
#include "common/os/process/blocked_signals.h"

namespace scela {

namespace {

NameAnswer refusal(int error, int number, const std::string& name) {
  NameAnswer answer;
  answer.why = error == EAI_SYSTEM ? errno_text(number) : ::gai_strerror(error);
  if (error == EAI_AGAIN) {
    answer.hint =
        "the name service does not answer: see /etc/resolv.conf, or name the host by its "
        "address";
  } else {
    answer.hint = cat("check the spelling; 'getent hosts ", name,
                      "' shows what this machine's name service knows");
  }
  return answer;
}

std::optional<NameAnswer> resolve(const NameQuery& query, int flags) {
  addrinfo hints{};
  hints.ai_family = query.family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(query.name.c_str(), nullptr, &hints, &found);
  const int number = errno;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  if (error != 0) {
    if ((flags & AI_NUMERICHOST) != 0) return std::nullopt;
    return refusal(error, number, query.name);
  }
  char text[NI_MAXHOST];
  const int told = ::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0,
                                 NI_NUMERICHOST);
  if (told != 0) return refusal(told, errno, query.name);
  return NameAnswer{text, {}, {}};
}

// The data that the threads share. It lives as long as the last thread.
struct Work {
  std::vector<NameQuery> queries;
  std::function<NameAnswer(const NameQuery&)> look_up;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<NameAnswer>> answers;
  std::size_t next = 0;
  std::size_t answered = 0;
  bool over = false;

  void run() {
    std::unique_lock lock(mutex);
    while (!over && next < queries.size()) {
      const std::size_t mine = next++;
      lock.unlock();
      NameAnswer answer = look_up(queries[mine]);
      lock.lock();
      answers[mine] = std::move(answer);
      ++answered;
      changed.notify_one();
    }
  }
};

std::vector<std::thread> start_threads(const std::shared_ptr<Work>& work, std::size_t count) {
  const BlockedSignals blocked;
  std::vector<std::thread> threads;
  try {
    while (threads.size() < count)
      threads.emplace_back([work] { work->run(); });
  } catch (const std::system_error&) {
    // The system allows no more threads. The threads that were started do all the work.
  }
  return threads;
}

// Returns true once all names are answered, or false if that takes too long.
bool wait_for_answers(Work& work, std::unique_lock<std::mutex>& lock,
                      std::chrono::steady_clock::time_point deadline,
                      const std::function<bool()>& stop) {
  const auto is_answered = [&] { return work.answered == work.queries.size(); };
  if (!stop) return work.changed.wait_until(lock, deadline, is_answered);
  while (!work.changed.wait_for(lock, kStopInterval, is_answered)) {
    if (stop() || std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

}  // namespace

NameAnswer look_up_name(const NameQuery& query) {
  return resolve(query, 0).value_or(NameAnswer{});
}

std::vector<NameAnswer> look_up_names(const std::vector<NameQuery>& queries,
                                      const NameLookupLimits& limits,
                                      const std::function<NameAnswer(const NameQuery&)>& look_up) {
  std::vector<NameAnswer> out(queries.size());
  const auto work = std::make_shared<Work>();
  std::vector<std::size_t> asked;  // positions in `queries`
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (auto numeric = resolve(queries[i], AI_NUMERICHOST)) {
      out[i] = std::move(*numeric);
    } else {
      asked.push_back(i);
      work->queries.push_back(queries[i]);
    }
  }
  if (asked.empty()) return out;
  work->look_up = look_up;
  work->answers.resize(asked.size());

  const auto deadline = std::chrono::steady_clock::now() + limits.timeout;
  auto threads = start_threads(work, std::clamp<std::size_t>(limits.threads, 1, asked.size()));
  if (threads.empty()) work->run();
  std::unique_lock lock(work->mutex);
  const bool all = wait_for_answers(*work, lock, deadline, limits.stop);
  work->over = true;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string& name = work->queries[i].name;
    out[asked[i]] = work->answers[i].value_or(
        NameAnswer{{},
                   cat("no answer within ", limits.timeout.count(), " ms"),
                   cat("the name service does not answer for it: see 'getent hosts ", name, "'")});
  }
  lock.unlock();
  for (std::thread& thread : threads) {
    if (all) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  return out;
}

}  // namespace scela
