// SPDX-License-Identifier: Apache-2.0
// The part of onnxruntime's C interface that a plugin execution provider needs, declared here: no
// header of its own is needed to build. Names of members are those of onnxruntime_c_api.h and
// onnxruntime_ep_c_api.h (github.com/microsoft/onnxruntime), where they are explained.
//
// A table of functions grows at its end alone, so the one of kApiVersion is the start of every
// later one. tests/ort/layout_test.py compares all places with the published headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilefuse::ort::c {

constexpr std::uint32_t kApiVersion = 23; // of onnxruntime 1.23, the first that compiles subgraphs

struct Allocator;
struct ComputeContext; // OrtNodeComputeContext
struct DataTransfer;   // OrtDataTransferImpl
struct EpDevice;
struct Graph;
struct GraphSupport; // OrtEpGraphSupportInfo
struct HardwareDevice;
struct KernelContext;
struct KeyValuePairs;
struct Logger;
struct MemoryDevice;
struct MemoryInfo;
struct Node;
struct OpAttr;
struct RunOptions;
struct SessionOptions;
struct Status;     // null: all is well
struct SyncStream; // OrtSyncStreamImpl
struct TensorInfo; // OrtTensorTypeAndShapeInfo
struct TypeInfo;
struct Value;
struct ValueInfo;

// Numbers of onnxruntime.
constexpr int kInvalidArgument = 2; // OrtErrorCode
constexpr int kNotImplemented = 9;
constexpr int kEpFail = 11;
constexpr int kLogInfo = 1; // OrtLoggingLevel
constexpr int kLogWarning = 2;
constexpr int kCpuDevice = 0; // OrtHardwareDeviceType
enum AttributeKind : int {    // OrtOpAttrType
  kInt = 1,
  kInts = 2,
  kFloat = 3,
  kFloats = 4,
  kString = 5,
  kStrings = 6,
  kTensor = 8
};

struct EpApi;
struct Ep;
struct EpFactory;

// clang-format off
struct Api { // OrtApi
  Status *(*CreateStatus)(int code, const char *message);
  void *unused_1[1];
  const char *(*GetErrorMessage)(const Status *);
  void *unused_3[48];
  Status *(*GetTensorMutableData)(Value *, void **);
  void *unused_52[3];
  Status *(*CastTypeInfoToTensorInfo)(const TypeInfo *, const TensorInfo **);
  void *unused_56[4];
  Status *(*GetTensorElementType)(const TensorInfo *, int *);
  Status *(*GetDimensionsCount)(const TensorInfo *, std::size_t *);
  Status *(*GetDimensions)(const TensorInfo *, std::int64_t *, std::size_t);
  void *unused_63[2];
  Status *(*GetTensorTypeAndShape)(const Value *, TensorInfo **);
  void *unused_66[24];
  Status *(*KernelContext_GetInput)(const KernelContext *, std::size_t, const Value **);
  Status *(*KernelContext_GetOutput)(KernelContext *, std::size_t, const std::int64_t *dims, std::size_t rank, Value **);
  void *unused_92[1];
  void (*ReleaseStatus)(Status *);
  void *unused_94[2];
  void (*ReleaseValue)(Value *);
  void *unused_97[2];
  void (*ReleaseTensorTypeAndShapeInfo)(TensorInfo *);
  void *unused_100[147];
  Status *(*Logger_LogMessage)(const Logger *, int level, const char *message, const char *file, int line, const char *function);
  void *unused_248[24];
  Status *(*ReadOpAttr)(const OpAttr *, int kind, void *data, std::size_t bytes, std::size_t *needed);
  void *unused_273[16];
  Status *(*GetValueInfoName)(const ValueInfo *, const char **);
  Status *(*GetValueInfoTypeInfo)(const ValueInfo *, const TypeInfo **);
  void *unused_291[7];
  void (*GetKeyValuePairs)(const KeyValuePairs *, const char *const **keys, const char *const **values, std::size_t *);
  void *unused_299[1];
  void (*ReleaseKeyValuePairs)(KeyValuePairs *);
  void *unused_301[6];
  int (*HardwareDevice_Type)(const HardwareDevice *);
  void *unused_308[9];
  const EpApi *(*GetEpApi)();
  Status *(*GetTensorSizeInBytes)(const Value *, std::size_t *);
  void *unused_319[7];
  Status *(*ValueInfo_GetInitializerValue)(const ValueInfo *, const Value **);
  void *unused_327[4];
  Status *(*ValueInfo_IsConstantInitializer)(const ValueInfo *, bool *);
  void *unused_332[3];
  Status *(*Graph_GetOnnxIRVersion)(const Graph *, std::int64_t *);
  Status *(*Graph_GetNumOperatorSets)(const Graph *, std::size_t *);
  Status *(*Graph_GetOperatorSets)(const Graph *, const char **domains, std::int64_t *versions, std::size_t);
  void *unused_338[2];
  Status *(*Graph_GetNumOutputs)(const Graph *, std::size_t *);
  Status *(*Graph_GetOutputs)(const Graph *, const ValueInfo **, std::size_t);
  void *unused_342[2];
  Status *(*Graph_GetNumNodes)(const Graph *, std::size_t *);
  Status *(*Graph_GetNodes)(const Graph *, const Node **, std::size_t);
  Status *(*Graph_GetParentNode)(const Graph *, const Node **);
  void *unused_347[2];
  Status *(*Node_GetName)(const Node *, const char **);
  Status *(*Node_GetOperatorType)(const Node *, const char **);
  Status *(*Node_GetDomain)(const Node *, const char **);
  void *unused_352[1];
  Status *(*Node_GetNumInputs)(const Node *, std::size_t *);
  Status *(*Node_GetInputs)(const Node *, const ValueInfo **, std::size_t);
  Status *(*Node_GetNumOutputs)(const Node *, std::size_t *);
  Status *(*Node_GetOutputs)(const Node *, const ValueInfo **, std::size_t);
  Status *(*Node_GetNumImplicitInputs)(const Node *, std::size_t *);
  Status *(*Node_GetImplicitInputs)(const Node *, const ValueInfo **, std::size_t);
  Status *(*Node_GetNumAttributes)(const Node *, std::size_t *);
  Status *(*Node_GetAttributes)(const Node *, const OpAttr **, std::size_t);
  void *unused_361[1];
  Status *(*OpAttr_GetTensorAttributeAsOrtValue)(const OpAttr *, Value **);
  Status *(*OpAttr_GetType)(const OpAttr *, int *);
  Status *(*OpAttr_GetName)(const OpAttr *, const char **);
  Status *(*Node_GetNumSubgraphs)(const Node *, std::size_t *);
  void *unused_366[13];
  Status *(*GetSessionOptionsConfigEntries)(const SessionOptions *, KeyValuePairs **);
};

struct NodeFusionOptions { // OrtNodeFusionOptions
  std::uint32_t ort_version_supported;
  bool drop_constant_initializers;
};

struct EpApi { // OrtEpApi
  Status *(*CreateEpDevice)(EpFactory *, const HardwareDevice *, const KeyValuePairs *metadata, const KeyValuePairs *options, EpDevice **);
  void (*ReleaseEpDevice)(EpDevice *);
  Status *(*EpGraphSupportInfo_AddNodesToFuse)(GraphSupport *, const Node *const *, std::size_t, const NodeFusionOptions *);
};

struct ApiBase { // OrtApiBase
  const Api *(*GetApi)(std::uint32_t version); // null: older than that
  const char *(*GetVersionString)();
};

// What a plugin gives. Members that are null are not called, but for those of memory and streams: set them.

struct NodeComputeInfo { // OrtNodeComputeInfo
  std::uint32_t ort_version_supported;
  Status *(*CreateState)(NodeComputeInfo *, ComputeContext *, void **);
  Status *(*Compute)(NodeComputeInfo *, void *, KernelContext *);
  void (*ReleaseState)(NodeComputeInfo *, void *);
};

struct Ep { // OrtEp
  std::uint32_t ort_version_supported;
  const char *(*GetName)(const Ep *);
  Status *(*GetCapability)(Ep *, const Graph *, GraphSupport *);
  Status *(*Compile)(Ep *, const Graph **, const Node **fused, std::size_t count, NodeComputeInfo **, Node **contexts);
  void (*ReleaseNodeComputeInfos)(Ep *, NodeComputeInfo **, std::size_t);
  Status *(*GetPreferredDataLayout)(Ep *, int *);
  Status *(*ShouldConvertDataLayoutForOp)(Ep *, const char *domain, const char *type, int layout, int *);
  Status *(*SetDynamicOptions)(Ep *, const char *const *keys, const char *const *values, std::size_t);
  Status *(*OnRunStart)(Ep *, const RunOptions *);
  Status *(*OnRunEnd)(Ep *, const RunOptions *, bool sync);
  Status *(*CreateAllocator)(Ep *, const MemoryInfo *, Allocator **);
  Status *(*CreateSyncStreamForDevice)(Ep *, const MemoryDevice *, SyncStream **);
  const char *(*GetCompiledModelCompatibilityInfo)(Ep *, const Graph *);
};

struct EpFactory { // OrtEpFactory
  std::uint32_t ort_version_supported;
  const char *(*GetName)(const EpFactory *);
  const char *(*GetVendor)(const EpFactory *);
  Status *(*GetSupportedDevices)(EpFactory *, const HardwareDevice *const *, std::size_t count, EpDevice **, std::size_t most, std::size_t *given);
  Status *(*CreateEp)(EpFactory *, const HardwareDevice *const *, const KeyValuePairs *const *metadata, std::size_t count,
                      const SessionOptions *, const Logger *, Ep **);
  void (*ReleaseEp)(EpFactory *, Ep *);
  std::uint32_t (*GetVendorId)(const EpFactory *);
  const char *(*GetVersion)(const EpFactory *);
  Status *(*ValidateCompiledModelCompatibilityInfo)(EpFactory *, const HardwareDevice *const *, std::size_t, const char *, int *);
  Status *(*CreateAllocator)(EpFactory *, const MemoryInfo *, const KeyValuePairs *, Allocator **);
  void (*ReleaseAllocator)(EpFactory *, Allocator *);
  Status *(*CreateDataTransfer)(EpFactory *, DataTransfer **);
  bool (*IsStreamAware)(const EpFactory *);
  Status *(*CreateSyncStreamForDevice)(EpFactory *, const MemoryDevice *, const KeyValuePairs *, SyncStream **);
};
// clang-format on

} // namespace tilefuse::ort::c
