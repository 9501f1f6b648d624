// Waits and tests. A message and a collective operation have one kind of request in libscela, so
// one wait serves both.
#include <algorithm>
#include <cstring>

#include "layer.h"

namespace layer {
namespace {

// Words of MPI_Status::MPI_internal: two have the bytes, the third is 1 after a cancelled receive.
constexpr std::size_t kCancelled = 2;

// Returns the result of a request that is complete, and ends the handle.
Result end(MPI_Request* handle, MPI_Status* status) {
  const std::unique_ptr<MPI_ABI_Request> one(std::exchange(*handle, MPI_REQUEST_NULL));
  if (one->is_to_nothing) return write_empty(status, MPI_PROC_NULL), Result{};
  const scela::Status result = one->request.wait();
  if (one->operation == nullptr) {
    write(status, result);
  } else {
    is_complete(one.get());
    if (result.ok()) one->operation->finish();
    write_empty(status);
  }
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error_of(result.code());
  return result_of(result);
}

// Blocks until one of these is complete, and returns its index. The library moves the operations
// that it waits for, so it is given those that are under way as well.
std::size_t wait_any(std::span<const MPI_Request> asked) {
  while (true) {
    std::vector<scela::Request*> all;
    for (const MPI_Request one : asked)
      all.push_back(one == MPI_REQUEST_NULL ? nullptr : &one->request);
    const std::vector<MPI_Request> others = process.under_way;
    for (const MPI_Request other : others)
      if (std::find(asked.begin(), asked.end(), other) == asked.end())
        all.push_back(&other->request);
    const std::size_t found = scela::wait_any(std::span<scela::Request* const>(all));
    if (found < asked.size()) return found;
    // An operation that is complete would be found again; its status stays in the request.
    for (const MPI_Request other : others)
      if (found < all.size() && &other->request == all[found]) is_complete(other);
  }
}

// Runs `call` for a request that may be null, and reports its error by the request's handler.
template <class Call>
int with_request(MPI_Request request, const char* function, Call call) {
  const MPI_Errhandler handler =
      request != MPI_REQUEST_NULL ? request->handler : MPI_ERRORS_ARE_FATAL;
  try {
    const Result result = call();
    return result.ok() ? MPI_SUCCESS : report(handler, function, result);
  } catch (const std::bad_alloc&) {
    return report(handler, function, {MPI_ERR_NO_MEM, "there is no memory for the call"});
  }
}

MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

bool is_over(MPI_Request request) {
  return request == MPI_REQUEST_NULL || request->is_to_nothing || request->request.test();
}

std::span<MPI_Request> list_of(int count, MPI_Request* requests) {
  return {requests, static_cast<std::size_t>(std::max(count, 0))};
}

// Returns the index of the first request that needs no wait; count if there is none.
int find_over(int count, MPI_Request* requests) {
  int i = 0;
  while (i < count && (requests[i] == MPI_REQUEST_NULL || !is_over(requests[i])))
    ++i;
  return i;
}

bool all_null(std::span<const MPI_Request> requests) {
  return std::all_of(requests.begin(), requests.end(),
                     [](MPI_Request one) { return one == MPI_REQUEST_NULL; });
}

}  // namespace

scela::Status wait_for(scela::Request& request) {
  while (!process.under_way.empty() && !request.test()) {
    std::vector<scela::Request*> all = {&request};
    for (const MPI_Request one : process.under_way)
      if (&one->request != &request) all.push_back(&one->request);
    const std::size_t found = scela::wait_any(std::span<scela::Request* const>(all));
    if (found != 0) move_operations();
  }
  return request.wait();
}

void move_operations() {
  const std::vector<MPI_Request> all = process.under_way;
  for (const MPI_Request one : all)
    if (one->request.test()) is_complete(one);
}

void is_complete(MPI_Request request) {
  std::erase(process.under_way, request);
}

void finish_left() {
  for (MPI_Request& one : process.left)
    (void)end(&one, MPI_STATUS_IGNORE);
  process.left.clear();
}

void write(MPI_Status* status, const scela::Status& from) {
  if (status == MPI_STATUS_IGNORE) return;
  write_empty(status, from.source());
  status->MPI_TAG = from.tag();
  const std::uint64_t bytes = from.bytes();
  std::memcpy(status->MPI_internal, &bytes, sizeof bytes);
  status->MPI_internal[kCancelled] = from.code() == scela::Code::cancelled ? 1 : 0;
}

void write_empty(MPI_Status* status, int source) {
  if (status == MPI_STATUS_IGNORE) return;
  *status = {source, MPI_ANY_TAG, MPI_SUCCESS, {}};
}

}  // namespace layer

using namespace layer;

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return with_request(*request, "MPI_Wait", [&]() -> Result {
    if (*request == MPI_REQUEST_NULL) return write_empty(status), Result{};
    if (!(*request)->is_to_nothing) (void)wait_for((*request)->request);
    return end(request, status);
  });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return with_request(*request, "MPI_Test", [&]() -> Result {
    *flag = is_over(*request) ? 1 : 0;
    if (*flag == 0) return move_operations(), Result{};
    if (*request == MPI_REQUEST_NULL) return write_empty(status), Result{};
    return end(request, status);
  });
}

// The handler of the first request that has failed gets the error.
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  int result = MPI_SUCCESS;
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  for (int i = 0; i < count; ++i) {
    MPI_Request& one = requests[i];
    const MPI_Errhandler own = one != MPI_REQUEST_NULL ? one->handler : MPI_ERRORS_RETURN;
    if (one != MPI_REQUEST_NULL && !one->is_to_nothing) (void)wait_for(one->request);
    Result ended;
    if (one == MPI_REQUEST_NULL)
      write_empty(status_at(statuses, i));
    else
      ended = end(&one, status_at(statuses, i));
    if (ended.ok() || result != MPI_SUCCESS) continue;
    result = MPI_ERR_IN_STATUS;
    handler = own;
    if (handler != MPI_ERRORS_RETURN) report(handler, "MPI_Waitall", ended);
  }
  return result;
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  *flag = 1;
  for (const MPI_Request one : list_of(count, requests))
    if (!is_over(one)) *flag = 0;
  move_operations();
  return *flag != 0 ? MPI_Waitall(count, requests, statuses) : MPI_SUCCESS;
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  *index = MPI_UNDEFINED;
  if (all_null(list_of(count, requests))) return write_empty(status), MPI_SUCCESS;
  int found = find_over(count, requests);
  if (found == count) found = static_cast<int>(wait_any(list_of(count, requests)));
  *index = found;
  return with_request(requests[found], "MPI_Waitany",
                      [&] { return end(&requests[found], status); });
}

int MPI_Cancel(MPI_Request* request) {
  if (*request == MPI_REQUEST_NULL || (*request)->operation != nullptr)
    return report(process.self->handler, "MPI_Cancel",
                  {MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL or no message"});
  (void)(*request)->request.cancel();  // a send goes on, which MPI allows
  return MPI_SUCCESS;
}

int MPI_Test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status->MPI_internal[kCancelled];
  return MPI_SUCCESS;
}

// A message goes on without its request. MPI forbids this call for a collective operation, which
// goes on all the same: the layer keeps its request until MPI_Finalize.
int MPI_Request_free(MPI_Request* request) {
  if (*request == MPI_REQUEST_NULL)
    return report(process.self->handler, "MPI_Request_free",
                  {MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL"});
  std::unique_ptr<MPI_ABI_Request> one(std::exchange(*request, MPI_REQUEST_NULL));
  if (one->operation != nullptr) {
    process.left.push_back(one.release());
    return MPI_SUCCESS;
  }
  return with_request(one.get(), "MPI_Request_free",
                      [&] { return result_of(one->request.detach()); });
}
