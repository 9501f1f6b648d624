#include <vector>

#include "capi/handles.h"

using namespace scela::capi;
using scela::Code;
using scela::Status;

namespace {

constexpr const char* kNoRequest = "the request is NULL";

std::vector<scela::Request*> list_of(scela_request* const* requests, size_t count) {
  std::vector<scela::Request*> list(count);
  for (size_t i = 0; i < count; ++i)
    if (requests[i] != nullptr) list[i] = &requests[i]->request;
  return list;
}

}  // namespace

int scela_request_test(scela_request* request) {
  return request == nullptr ? 1 : guarded_flag([&] { return request->request.test(); });
}

scela_code scela_request_wait(scela_request* request, int64_t timeout, scela_received* received) {
  if (request == nullptr) {
    give({}, received);
    return SCELA_OK;
  }
  return guarded([&] {
    const Status status = request->request.wait(timeout_of(timeout));
    give(status, received);
    return report(status);
  });
}

scela_code scela_request_wait_any(scela_request* const* requests, size_t count, int64_t timeout,
                                  size_t* index) {
  if (index == nullptr || (requests == nullptr && count != 0))
    return refuse(Code::bad_argument, "wait for any request: `requests` or `index` is NULL");
  return guarded([&] {
    const std::vector<scela::Request*> list = list_of(requests, count);
    const std::span<scela::Request* const> all(list);
    *index = scela::wait_any(all, timeout_of(timeout));
    if (*index < count) return SCELA_OK;
    for (scela::Request* const one : list)
      if (one != nullptr && !one->test())
        return refuse(Code::timed_out, "wait for any request: none is complete before the timeout");
    // One of them may have become complete since.
    *index = scela::wait_any(all, std::chrono::nanoseconds(0));
    return *index < count ? SCELA_OK
                          : refuse(Code::bad_request, "wait for any request: none is under way");
  });
}

scela_code scela_request_wait_all(scela_request* const* requests, size_t count, int64_t timeout) {
  if (requests == nullptr && count != 0)
    return refuse(Code::bad_argument, "wait for all requests: `requests` is NULL");
  return guarded([&] {
    const std::vector<scela::Request*> list = list_of(requests, count);
    return scela::wait_all(std::span<scela::Request* const>(list), timeout_of(timeout))
               ? SCELA_OK
               : refuse(Code::timed_out, "wait for all requests: the timeout is over before");
  });
}

int scela_request_cancel(scela_request* request) {
  return request == nullptr ? 0 : guarded_flag([&] { return request->request.cancel(); });
}

scela_code scela_request_start(scela_request* request) {
  if (request == nullptr) return refuse(Code::bad_request, kNoRequest);
  return guarded([&] { return report(request->request.start()); });
}

scela_code scela_request_detach(scela_request* request) {
  if (request == nullptr) return SCELA_OK;
  return guarded([&] {
    const Status status = request->request.detach();
    if (status.ok()) delete request;
    return report(status);
  });
}

void scela_request_free(scela_request* request) {
  delete request;
}
