/* SPDX-License-Identifier: MIT
 *
 * kernels/dnnl_api.h - oneDNN's functions, for dnnl.c alone.
 */
#ifndef TP_KERNELS_DNNL_API_H
#define TP_KERNELS_DNNL_API_H

#ifdef TP_HAVE_DNNL
#include <dnnl.h>
#endif

#if defined(TP_HAVE_DNNL) && DNNL_VERSION_MAJOR == 2
#define TP_USE_DNNL

/* clang-format off */
#define TP_DNNL_FUNCTIONS(X)                                                                           \
    X(dnnl_dilated_convolution_forward_desc_init)                                              \
    X(dnnl_engine_create)                                                                      \
    X(dnnl_matmul_desc_init)                                                                   \
    X(dnnl_memory_create)                                                                      \
    X(dnnl_memory_desc_equal)                                                                  \
    X(dnnl_memory_desc_get_size)                                                               \
    X(dnnl_memory_desc_init_by_strides)                                                        \
    X(dnnl_memory_desc_init_by_tag)                                                            \
    X(dnnl_memory_destroy)                                                                     \
    X(dnnl_memory_set_data_handle)                                                             \
    X(dnnl_primitive_attr_create)                                                              \
    X(dnnl_primitive_attr_destroy)                                                             \
    X(dnnl_primitive_attr_set_scratchpad_mode)                                                 \
    X(dnnl_primitive_create)                                                                   \
    X(dnnl_primitive_desc_create)                                                              \
    X(dnnl_primitive_desc_destroy)                                                             \
    X(dnnl_primitive_desc_query_md)                                                            \
    X(dnnl_primitive_destroy)                                                                  \
    X(dnnl_primitive_execute)                                                                  \
    X(dnnl_reorder_primitive_desc_create)                                                      \
    X(dnnl_stream_create)                                                                      \
    X(dnnl_stream_destroy)                                                                     \
    X(dnnl_stream_wait)
/* clang-format on */

struct tp_dnnl_api {
#define X(name) __typeof__(name) *name;
    TP_DNNL_FUNCTIONS(X)
#undef X
    int (*omp_get_max_threads)(void); /* NULL without OpenMP */
    void (*omp_set_num_threads)(int);
    dnnl_engine_t engine;
};

/* The functions, or NULL without the library. Opened once and never closed. */
const struct tp_dnnl_api *tp_dnnl_open(void);
/* oneDNN would use OpenMP's threads: the calling thread has one from here to tp_dnnl_leave,
 * which takes what this returned and brings back what the caller had set. */
int tp_dnnl_enter(const struct tp_dnnl_api *api);
void tp_dnnl_leave(const struct tp_dnnl_api *api, int threads);

#endif
#endif
