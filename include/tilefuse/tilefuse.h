/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface of tilefuse: convolutional networks compiled into kernels for the devices of this machine.
 *
 *   tf_device *device;  tf_model *model;  tf_compiled *compiled;  tf_run *run;
 *   tf_device_open("cpu", NULL, 0, NULL, &device);
 *   tf_model_read("model.onnx", &model);
 *   tf_compile(model, device, NULL, 0, NULL, NULL, &compiled);
 *   tf_run_create(compiled, &run);
 *   tf_run_input(run, 0, &image);       a DLTensor: memory of yours, which kernels read as it lies where they can
 *   tf_run_execute(run);
 *   tf_run_output(run, 0, &scores);     where the result lies
 *
 * A network learns by a recipe (docs/training.md): tf_train() makes a whole run, a tf_trainer steps when it is told to.
 *
 * Every function that can fail returns a status; tf_error_message() then says in one sentence what is wrong, on the
 * same thread. Handles are checked: one that was released, or that is another kind of thing, is a TF_ARGUMENT. They may
 * be released in any order; what others still need lives on.
 *
 * Threads: any thread may use a device, a model, a compiled model or a trainer; what works with one device waits for
 * what is under way there. A run is for one thread at a time. Devices are independent: threads that are to compute at the same
 * time on the cpu have one each, with the option threads=1.
 *
 * A program with work of its own on a GPU gives its queue (tf_hooks, tf_run_enqueue) and its memory: an address of CUDA,
 * or a cl_mem as the data of a DLTensor of kDLOpenCL. Nothing is copied then, and nothing waits.
 *
 * Texts and lists that are returned through a pointer to const belong to their handle; `char *` is freed by tf_free. A
 * callback must not call into its device, nor release what it is called for. Results are written only on TF_OK.
 */
#ifndef TILEFUSE_TILEFUSE_H
#define TILEFUSE_TILEFUSE_H

#include <stddef.h>
#include <stdint.h>

#define TF_VERSION_MAJOR 0
#define TF_VERSION_MINOR 1
#define TF_VERSION_PATCH 0

#ifndef TF_API
#define TF_API
#endif

/* A tensor as DLPack has it (github.com/dmlc/dlpack, version 0.8 and later), unless its own header came before. */
#ifndef DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4 } DLDeviceType;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 } DLDataTypeCode;
typedef struct {
  int32_t device_type; /* DLDeviceType */
  int32_t device_id;
} DLDevice;
typedef struct {
  uint8_t code; /* DLDataTypeCode */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* elements; NULL: row-major without gaps */
  uint64_t byte_offset;
} DLTensor;
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TF_OK = 0,
  TF_SYNTAX,      /* a text does not parse */
  TF_TYPE,        /* elements of another type */
  TF_SHAPE,       /* sizes that do not fit, or are left open */
  TF_UNSUPPORTED, /* an operator, option or order of calls that is not supported */
  TF_LIMIT,       /* more than can be represented or allocated */
  TF_DEVICE,      /* no such device, or it failed */
  TF_IO,          /* a file cannot be read or written, or is damaged */
  TF_CANCELLED,   /* a callback asked for it */
  TF_ARGUMENT,    /* a null pointer, a handle that is none */
  TF_INTERNAL     /* a fault of the library */
} tf_status;

typedef struct tf_device tf_device;     /* a device with its kernel cache and tuning records */
typedef struct tf_model tf_model;       /* a model that was read; its sizes may be open */
typedef struct tf_compiled tf_compiled; /* a model on a device, compiled per shape at first use */
typedef struct tf_run tf_run;           /* memory for one run at a time, and what it is bound to */
typedef struct tf_trainer tf_trainer;   /* a model that learns on a device, with its pictures */

/* An option: its name and value as text; tf_options() lists them. */
typedef struct {
  const char *key;
  const char *value;
} tf_option;

/* An input or output. */
typedef struct {
  const char *name;
  DLDataType type;            /* bits 0: of any type */
  int32_t rank;               /* -1: of any shape */
  const int64_t *shape;       /* -1: the size is open */
  const char *const *symbols; /* names of open sizes, "" where there is none */
} tf_tensor_info;

typedef enum { TF_LOG_INFO = 0, TF_LOG_WARNING = 1 } tf_log_level;
typedef void (*tf_log)(void *user, tf_log_level level, const char *text);
/* Told how much of a work is done; anything but 0 ends it with TF_CANCELLED. */
typedef int (*tf_progress)(void *user, int done, int total);
/* Called on another thread when a run that was started has ended. */
typedef void (*tf_done)(void *user, tf_status status);

/* What a device takes from its caller; NULL: it has its own. All of it is there for as long as the device and what was
 * made with it. */
typedef struct {
  size_t size; /* sizeof(tf_hooks) */
  void *user;  /* the first argument of each function */
  /* Told decisions that a user should know of; NULL: warnings go to stderr. */
  tf_log log;
  /* Gives the device memory for weights, activations and kernels' own use: an address that is a multiple of `alignment`,
   * of the host on the cpu, of the device on CUDA; a cl_mem of OpenCL. NULL where there is none: a TF_DEVICE. */
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  void (*release)(void *user, void *memory, size_t bytes);
  /* Where it works: a CUstream, or a cl_command_queue that takes its work in order, whose context is the device's. */
  void *queue;
} tf_hooks;

/* ---- the library */

/* major << 16 | minor << 8 | patch, of the library that is loaded. */
TF_API uint32_t tf_version(void);
/* A word for a status: "shape error". */
TF_API const char *tf_status_name(tf_status status);
/* Of the last call on this thread that failed: one sentence, the place or node that it is about, and lines that say what
 * would make it work. Valid until the next call that fails; "" where there is none. */
TF_API const char *tf_error_message(void);
TF_API const char *tf_error_where(void);
TF_API const char *tf_error_notes(void);
/* Frees a text that a function gave. */
TF_API void tf_free(char *text);
/* Lets a handle of any kind go. What is none, or was let go before, is left alone. */
TF_API void tf_release(void *handle);
/* All options, as JSON: name, whether it is of a device, of compiling or of training, and a sentence. */
TF_API tf_status tf_options(char **json);
/* Devices that were found, and those rejected with the reason, as JSON. */
TF_API tf_status tf_devices(char **json);

/* ---- devices */

/* "cpu", "cpu:avx2" (no more than these instructions), "cuda", "cuda:N", "opencl", "opencl:P:D"; NULL or "": the cpu where code
 * can be generated for it. `hooks` may be NULL. */
TF_API tf_status tf_device_open(const char *selector, const tf_option *options, size_t count,
                                const tf_hooks *hooks, tf_device **device);

/* ---- models */

TF_API tf_status tf_model_read(const char *path, tf_model **model);
/* The bytes of an ONNX file; tensors with data of their own files lie in `folder`, which may be NULL. */
TF_API tf_status tf_model_parse(const void *bytes, size_t size, const char *folder,
                                tf_model **model);
/* A function of a Tile text, the last where `function` is NULL. Its attributes are options attr.NAME. */
TF_API tf_status tf_model_from_tile(const char *text, const char *function, tf_model **model);
/* As the file declares them. */
TF_API tf_status tf_model_inputs(tf_model *model, const tf_tensor_info **infos, size_t *count);
/* What of the model is not supported at the sizes that options bind, as JSON: nodes with the reason, none where all can
 * be compiled. Nodes that read what such a node makes are not looked at. */
TF_API tf_status tf_model_check(tf_model *model, const tf_option *options, size_t count,
                                char **json);
/* Adds the inputs of one run, in order, to those that precision=int8 takes its scales from. They are copied. */
TF_API tf_status tf_model_calibrate(tf_model *model, const DLTensor *inputs, size_t count);

/* ---- compiling */

/* Where every size is known, by the model and by the options dim.NAME, shape.INPUT and value.INPUT, all is compiled now;
 * else for each set of shapes when a run first has it. */
TF_API tf_status tf_compile(tf_model *model, tf_device *device, const tf_option *options,
                            size_t count, tf_progress progress, void *user, tf_compiled **compiled);
TF_API tf_status tf_compiled_inputs(tf_compiled *compiled, const tf_tensor_info **infos,
                                    size_t *count);
/* Where sizes are open, as the file declares them. */
TF_API tf_status tf_compiled_outputs(tf_compiled *compiled, const tf_tensor_info **infos,
                                     size_t *count);

/* ---- runs. What works with a run's shapes needs them: all inputs bound, or none open. */

TF_API tf_status tf_run_create(tf_compiled *compiled, tf_run **run);
/* The tensor's memory is read by every run until another is bound: as it lies on the cpu and, on the device itself, of CUDA
 * (an address) and OpenCL (a cl_mem), where it begins at a multiple of the alignment that tf_info() has; memory of the
 * host is copied to other devices. */
TF_API tf_status tf_run_input(tf_run *run, size_t index, const DLTensor *tensor);
/* The output is written there by every run; NULL: into the run's own memory again. */
TF_API tf_status tf_run_bind_output(tf_run *run, size_t index, const DLTensor *tensor);
/* Compiles for the bound shapes where that was not done, and says how many outputs there are; `outputs` may be NULL.
 * Outputs that are bound to memory of another shape are in the run's own again. */
TF_API tf_status tf_run_prepare(tf_run *run, tf_progress progress, void *user, size_t *outputs);
TF_API tf_status tf_run_execute(tf_run *run);
/* Begins a run on another thread. `done` may be NULL. */
TF_API tf_status tf_run_start(tf_run *run, tf_done done, void *user);
/* Queues a run in `queue`, a CUstream or cl_command_queue of the device's context, NULL: the device's, behind what the run
 * was queued for before in any queue. Nothing in these queues is waited for. Shapes that tf_run_prepare has not seen, or
 * that the option kept has let go, are compiled and loaded first, which works in the device's queue and waits for that
 * alone. What kept has let go keeps its memory until the run is next waited for or executed. All in- and outputs are
 * memory of the device. `event`, which may be NULL, gets a CUevent or cl_event of the caller's that the run's end reaches.
 * CUDA's legacy stream is (CUstream)1. Not on the cpu. */
TF_API tf_status tf_run_enqueue(tf_run *run, void *queue, void **event);
/* Waits for a run that was started or queued, and gives its status. */
TF_API tf_status tf_run_wait(tf_run *run);
/* Where an output lies, after tf_run_prepare; its elements are there after a run. The shape belongs to the run and is
 * valid until its shapes change. */
TF_API tf_status tf_run_output(tf_run *run, size_t index, DLTensor *tensor);
/* Of the last run: seconds, and what was copied between the caller's memory and the device. Any of them may be NULL. */
TF_API tf_status tf_run_statistics(tf_run *run, double *seconds, int64_t *copies,
                                   int64_t *copied_bytes);

/* ---- training. A recipe is a file of TOML, a model's (.onnx), or NULL; options are its keys (optimizer.rate) and fuse */

/* Reads model and pictures, and compiles a step. Where the recipe has no data.train, all that can be done is evaluating. */
TF_API tf_status tf_trainer_create(tf_device *device, const char *recipe, const tf_option *options,
                                   size_t count, tf_progress progress, void *user,
                                   tf_trainer **trainer);
/* Makes so many steps, fewer where the run ends: loss, share that was right, rate and the like, as JSON. What was made
 * before it is cancelled stays made. */
TF_API tf_status tf_trainer_step(tf_trainer *trainer, int64_t steps, tf_progress progress,
                                 void *user, char **json);
/* Loss and share of the recipe's data.test that is right, as JSON. */
TF_API tf_status tf_trainer_evaluate(tf_trainer *trainer, tf_progress progress, void *user,
                                     char **json);
/* To NAME.onnx the model with what it has learned; to NAME.safetensors a checkpoint, all that the steps to come depend
 * on. A file appears whole or not at all. */
TF_API tf_status tf_trainer_save(tf_trainer *trainer, const char *path);
/* Goes on from a checkpoint. Where it is of another model or optimiser nothing changes. */
TF_API tf_status tf_trainer_restore(tf_trainer *trainer, const char *path);
/* A whole run in the option `folder`, with log, checkpoints and models, as the command line makes it; resume=true takes
 * one up again, with force=true also by another recipe. What is told of it goes to the device's log; losses before and
 * after it come as JSON. Cancelled, it ends behind a step with a checkpoint. */
TF_API tf_status tf_train(tf_device *device, const char *recipe, const tf_option *options,
                          size_t count, tf_progress progress, void *user, char **json);

/* ---- work with what is compiled: a model at the shapes of a run, or a trainer's step */

/* As JSON, of a run: kernels, memory, seconds of compiling; of a trainer: steps and memory; of a device: name, driver
 * and target. */
TF_API tf_status tf_info(void *handle, char **json);
/* Of a run on random input, or of a trainer's steps, of which nothing is kept: seconds, and every kernel by the device's
 * clock, as JSON. */
TF_API tf_status tf_time(void *handle, int repeat, tf_progress progress, void *user, char **json);
/* Why a kernel is what it is; `layer` is its number or a node's name, NULL for a list of them. */
TF_API tf_status tf_explain(tf_run *run, const char *layer, char **text);
/* Every kernel against the reference, of a run on random input, of a trainer on its first pictures. `samples` results of
 * each are compared, 0: all. */
TF_API tf_status tf_verify(void *handle, int64_t samples, tf_progress progress, void *user,
                           char **text);
/* Measures schedules for so many seconds and records the best, which everything compiled afterwards takes. */
TF_API tf_status tf_tune(tf_run *run, double seconds, tf_progress progress, void *user,
                         char **text);

#ifdef __cplusplus
}
#endif

#endif
