// SPDX-License-Identifier: Apache-2.0
#include "ort/calls.h"

#include <new>

#include "tilefuse/tilefuse.hpp"

namespace tilefuse::ort {
namespace {

const c::Api *used = nullptr;

c::Status *to_status(int code, const std::string &message) noexcept {
  return used->CreateStatus(code, message.c_str());
}

int code_of(tf_status status) {
  return status == TF_UNSUPPORTED ? c::kNotImplemented
         : status == TF_SYNTAX || status == TF_ARGUMENT || status == TF_SHAPE || status == TF_TYPE
             ? c::kInvalidArgument
             : c::kEpFail;
}

} // namespace

const c::Api &api() { return *used; }

const c::EpApi &ep_api() { return *used->GetEpApi(); }

c::Status *use_api(const c::ApiBase &base) {
  used = base.GetApi(c::kApiVersion);
  if (used != nullptr)
    return nullptr;
  used = base.GetApi(1); // which has statuses
  return to_status(c::kNotImplemented, "tilefuse needs onnxruntime 1." +
                                           std::to_string(c::kApiVersion) + " or later; this is " +
                                           base.GetVersionString());
}

void check(c::Status *status) {
  if (status == nullptr)
    return;
  const std::string message = api().GetErrorMessage(status);
  api().ReleaseStatus(status);
  throw Refused(message);
}

c::Status *status_of_exception() noexcept {
  try {
    throw;
  } catch (const Error &error) {
    return to_status(code_of(error.status()), "tilefuse: " + std::string(error.what()));
  } catch (const std::bad_alloc &) {
    return used->CreateStatus(c::kEpFail, "tilefuse: out of memory");
  } catch (const std::exception &failure) {
    return to_status(c::kEpFail, "tilefuse: " + std::string(failure.what()));
  } catch (...) {
    return used->CreateStatus(c::kEpFail, "tilefuse: an exception of unknown kind");
  }
}

} // namespace tilefuse::ort
