// SPDX-License-Identifier: Apache-2.0
// Objects of the caller's: a queue that a device works in, with its context, and buffers. Each is
// retained for as long as it is used; an address that is no such object is not told from one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/opencl/opencl_build.h"

namespace tilefuse::runtime {

// The context of a queue, with its device. Error{Device} for a device that cannot be used, or is not
// one that `selector` means.
std::shared_ptr<OpenclContext> context_of_queue(const OpenclApi &api, cl_command_queue queue,
                                                const std::string &selector);
// Error{Device} where it is not of that context and device, or takes its work in any order.
QueueHandle retain_queue(const OpenclContext &cx, cl_command_queue queue);
// Error{Device} where it is not of that context, is smaller or a part of another.
MemHandle retain_memory(const OpenclContext &cx, cl_mem memory, std::int64_t bytes);

// Behind all that was queued.
std::unique_ptr<Mark> mark_queue(std::shared_ptr<OpenclContext> cx, cl_command_queue queue);
// What is queued from now on begins once a mark of mark_queue() is reached.
void queue_behind(const OpenclContext &cx, cl_command_queue queue, Mark &mark);

} // namespace tilefuse::runtime
